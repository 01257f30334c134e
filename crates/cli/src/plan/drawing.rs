//! The SVG: memory over time, with a rectangle for each lifetime of a buffer.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use heapwright_core::aliasing::Interval;
use heapwright_report::Visible;

/// A heap to be drawn.
pub(super) struct DrawnHeap<'a> {
    pub(super) name: &'a str,
    pub(super) height: u64,
    pub(super) proved: bool,
    pub(super) buffers: Vec<DrawnBuffer<'a>>,
}

/// A buffer with its place.
pub(super) struct DrawnBuffer<'a> {
    pub(super) label: &'a str,
    /// The class that decides about its colour.
    pub(super) category: Option<&'a str>,
    pub(super) size: u64,
    pub(super) offset: u64,
    pub(super) lives: Vec<Interval>,
}

const WIDTH: f64 = 1400.0;
const HEIGHT: f64 = 760.0;
const MARGIN: f64 = 24.0;
/// Above each heap, for its heading.
const HEADING: f64 = 40.0;

/// Categories that have a colour; all others share one.
const CATEGORIES: [&str; 3] = ["rt_ds", "non_rt_ds", "buffer"];

/// Width of a letter.
const LETTER: f64 = 6.5;

const STYLE: &str = "<style>text{font:11px sans-serif;fill:#1b1b1b}.h{font-size:15px}rect{stroke:#fff;stroke-width:.5}\
.paper{fill:#fff;stroke:none}.rt_ds{fill:#5b8bd0}.non_rt_ds{fill:#63b27f}.buffer{fill:#dd9a4e}.other{fill:#9a8bc4}\
.frame{fill:none;stroke:#8c8c8c;stroke-width:1}@media (prefers-color-scheme: dark){text{fill:#e6e6e6}\
.paper{fill:#161616}rect{stroke:#161616}.label{fill:#111}}.label{pointer-events:none;fill:#111}</style>";

/// Draws the heaps one below the other.
pub(super) fn draw(heaps: &[DrawnHeap<'_>]) -> String {
    let each = HEIGHT + HEADING + MARGIN;
    let total = MARGIN + each * count(heaps.len());
    let width = WIDTH + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {total}\" width=\"{width}\" height=\"{total}\" \
         style=\"max-width:100%;height:auto\">\n{STYLE}\n<rect class=\"paper\" width=\"{width}\" height=\"{total}\"/>\n"
    );
    for (number, heap) in heaps.iter().enumerate() {
        draw_heap(&mut svg, heap, MARGIN + each * count(number));
    }
    svg.push_str("</svg>\n");
    svg
}

#[expect(clippy::cast_precision_loss, reason = "positions on a drawing")]
fn count(number: usize) -> f64 {
    number as f64
}

/// Draws a heap: time from left to right, offsets from the bottom up.
#[expect(clippy::cast_precision_loss, reason = "positions on a drawing")]
fn draw_heap(svg: &mut String, heap: &DrawnHeap<'_>, top: f64) {
    let lives = || heap.buffers.iter().flat_map(|buffer| &buffer.lives);
    let first = lives().map(|life| life.lower).min().unwrap_or(0) as f64;
    let last = lives().map(|life| life.upper).max().unwrap_or(1) as f64;
    let height = (heap.height as f64).max(1.0);
    let x = |time: i64| MARGIN + (time as f64 - first) / (last - first).max(1.0) * WIDTH;
    let bottom = top + HEADING + HEIGHT;
    let proof = if heap.proved { "proved optimal" } else { "not proved optimal" };
    let class = |buffer: &DrawnBuffer<'_>| {
        CATEGORIES.into_iter().find(|&category| buffer.category == Some(category)).unwrap_or("other")
    };
    let classes: BTreeSet<&str> = heap.buffers.iter().map(class).collect();
    let legend: String = (classes.iter().filter(|_| classes.len() > 1))
        .map(|class| format!("<tspan dx=\"16\" class=\"{class}\">\u{25a0}</tspan> {class}"))
        .collect();
    // Writing to a string cannot fail.
    let _ = writeln!(
        svg,
        "<text class=\"h\" x=\"{MARGIN}\" y=\"{}\">{}: {} buffers, {} bytes, {proof}; time {first} to {last}{legend}</text>",
        top + HEADING - 14.0,
        escaped(heap.name),
        heap.buffers.len(),
        heap.height,
    );
    for buffer in &heap.buffers {
        let class = class(buffer);
        let tall = buffer.size as f64 / height * HEIGHT;
        let y = bottom - buffer.offset as f64 / height * HEIGHT - tall;
        for life in &buffer.lives {
            let (left, wide) = (x(life.lower), x(life.upper) - x(life.lower));
            let label = escaped(buffer.label);
            let _ = writeln!(
                svg,
                "<rect class=\"{class}\" x=\"{left:.2}\" y=\"{y:.2}\" width=\"{wide:.2}\" height=\"{tall:.2}\"><title>{label}\n\
                 {} bytes at {}, time {} to {}</title></rect>",
                buffer.size, buffer.offset, life.lower, life.upper
            );
            // As much of the name as fits, from its end, where names of passes differ.
            let length = buffer.label.chars().count();
            let letters = (0..=length).rev().find(|&letters| count(letters) * LETTER <= wide).unwrap_or(0);
            if tall >= 12.0 && letters >= length.min(3) {
                let text: String = buffer.label.chars().skip(length.saturating_sub(letters)).collect();
                let _ = writeln!(
                    svg,
                    "<text class=\"label\" x=\"{:.2}\" y=\"{:.2}\">{}</text>",
                    left + 2.0,
                    y + tall / 2.0 + 4.0,
                    escaped(&text)
                );
            }
        }
    }
    let _ = writeln!(
        svg,
        "<rect class=\"frame\" x=\"{MARGIN}\" y=\"{}\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>",
        top + HEADING
    );
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in Visible(text).to_string().chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            character => escaped.push(character),
        }
    }
    escaped
}
