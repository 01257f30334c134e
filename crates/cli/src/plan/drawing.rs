//! The SVG: memory over time, with a rectangle for each lifetime of a buffer.

use std::fmt::Write as _;

use super::Heap;
use super::table::{Row, Table};

const WIDTH: f64 = 1400.0;
const HEIGHT: f64 = 760.0;
const MARGIN: f64 = 24.0;
/// Above each heap, for its heading.
const HEADING: f64 = 40.0;

/// Width of a letter.
const LETTER: f64 = 6.5;

const STYLE: &str = "<style>text{font:11px sans-serif;fill:#1b1b1b}.h{font-size:15px}rect{stroke:#fff;stroke-width:.5}\
.paper{fill:#fff;stroke:none}.rt_ds{fill:#5b8bd0}.non_rt_ds{fill:#63b27f}.buffer{fill:#dd9a4e}.other{fill:#9a8bc4}\
.frame{fill:none;stroke:#8c8c8c;stroke-width:1}@media (prefers-color-scheme: dark){text{fill:#e6e6e6}\
.paper{fill:#161616}rect{stroke:#161616}.label{fill:#111}}.label{pointer-events:none;fill:#111}</style>";

/// Draws the heaps one below the other.
pub(super) fn draw(table: &Table, heaps: &[Heap]) -> String {
    let each = HEIGHT + HEADING + MARGIN;
    let total = MARGIN + each * count(heaps.len());
    let width = WIDTH + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {total}\" width=\"{width}\" height=\"{total}\">\n\
         {STYLE}\n<rect class=\"paper\" width=\"{width}\" height=\"{total}\"/>\n"
    );
    for (number, heap) in heaps.iter().enumerate() {
        draw_heap(&mut svg, table, heap, MARGIN + each * count(number));
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
fn draw_heap(svg: &mut String, table: &Table, heap: &Heap, top: f64) {
    let rows: Vec<&Row> = heap.rows.iter().map(|&row| &table.rows[row]).collect();
    let lives = || rows.iter().flat_map(|row| &row.lives);
    let first = lives().map(|life| life.lower).min().unwrap_or(0) as f64;
    let last = lives().map(|life| life.upper).max().unwrap_or(1) as f64;
    let height = (heap.packing.height.get() as f64).max(1.0);
    let x = |time: i64| MARGIN + (time as f64 - first) / (last - first).max(1.0) * WIDTH;
    let bottom = top + HEADING + HEIGHT;
    let proof = if heap.packing.proved { "proved optimal" } else { "not proved optimal" };
    let name = heap.category.as_deref().unwrap_or("heap");
    // Writing to a string cannot fail.
    let _ = writeln!(
        svg,
        "<text class=\"h\" x=\"{MARGIN}\" y=\"{}\">{}: {} buffers, {} bytes, {proof}; time {first} to {last}</text>",
        top + HEADING - 14.0,
        escaped(name),
        rows.len(),
        heap.packing.height.get(),
    );
    for (row, offset) in rows.iter().zip(&heap.packing.offsets) {
        let known =
            row.category.as_deref().filter(|category| ["rt_ds", "non_rt_ds", "buffer"].contains(category));
        let class = known.unwrap_or("other");
        let tall = row.size as f64 / height * HEIGHT;
        let y = bottom - offset.get() as f64 / height * HEIGHT - tall;
        for life in &row.lives {
            let (left, wide) = (x(life.lower), x(life.upper) - x(life.lower));
            let label = escaped(&row.label);
            let _ = writeln!(
                svg,
                "<rect class=\"{class}\" x=\"{left:.2}\" y=\"{y:.2}\" width=\"{wide:.2}\" height=\"{tall:.2}\"><title>{label}\n\
                 {} bytes at {}, time {} to {}</title></rect>",
                row.size,
                offset.get(),
                life.lower,
                life.upper
            );
            // As much of the name as fits, from its end, where names of passes differ.
            let length = row.label.chars().count();
            let letters = (0..=length).rev().find(|&letters| count(letters) * LETTER <= wide).unwrap_or(0);
            if tall >= 12.0 && letters >= length.min(3) {
                let text: String = row.label.chars().skip(length.saturating_sub(letters)).collect();
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
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // XML has no other control characters.
            character if character.is_control() => escaped.push('\u{fffd}'),
            character => escaped.push(character),
        }
    }
    escaped
}
