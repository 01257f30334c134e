//! `cargo lab plots`: draws the plots of the documents from results that are checked in. With `--check`, it fails if a
//! plot is outdated.
//!
//! The plots have no background and colours that can be read on white and on black.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use plotters::prelude::*;
use plotters::style::FontTransform;
use plotters::style::text_anchor::{HPos, Pos, VPos};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const TEXT: RGBColor = RGBColor(0x7d, 0x88, 0x98);
const OURS: RGBColor = RGBColor(0x3f, 0x8f, 0xe8);
const PEERS: RGBColor = RGBColor(0xa9, 0xa2, 0x8c);

fn main() -> ExitCode {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let is_check = std::env::args().skip(1).any(|argument| argument == "--check");
    match draw_all(root, is_check) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn draw_all(root: &Path, is_check: bool) -> Result<()> {
    let memory = fs::read_to_string(root.join("lab/MEMORY.md"))?;
    let measured = fs::read_to_string(root.join("lab/plots/measured.csv"))?;
    for (name, svg) in
        [("allocators.svg", allocators(&memory)?), ("measured.svg", measured_beside_peers(&measured)?)]
    {
        let path = root.join("docs/plots").join(name);
        let svg = svg + "\n";
        if !is_check {
            fs::write(&path, svg)?;
        } else if fs::read_to_string(&path).ok().as_ref() != Some(&svg) {
            return Err(format!("{} is outdated; run `cargo lab plots`", path.display()).into());
        }
    }
    Ok(())
}

/// A bar with its label. Ours are emphasized.
struct Bar {
    label: String,
    value: f64,
    text: String,
}

/// Time, mean and peak of the allocators on the recorded traces, from MEMORY.md.
fn allocators(memory: &str) -> Result<String> {
    let rows = table_under(memory, "### Recorded traces: heaps that are dedicated memory")?;
    let shown = ["heapwright", "VMA", "D3D12MA", "gpu-allocator"];
    let panel = |title: &'static str, column: usize, unit: &str| -> Result<(&'static str, Vec<Bar>)> {
        let bars = shown.iter().map(|&label| {
            let row = rows.iter().find(|row| row[0] == label).ok_or_else(|| format!("no row {label}"))?;
            let value: f64 = row[column].parse()?;
            Ok(Bar { label: label.to_owned(), value, text: format!("{}{unit}", row[column]) })
        });
        Ok((title, bars.collect::<Result<_>>()?))
    };
    draw(
        "Five recorded traces of neural networks, heaps at the price of dedicated memory on an H200",
        &[
            panel("time of an operation", 1, " µs")?,
            panel("mean held / mean live", 4, "")?,
            panel("peak held / peak live", 3, "")?,
        ],
    )
}

/// What was measured beside peers: columns panel, allocator, value, text.
fn measured_beside_peers(csv: &str) -> Result<String> {
    let mut panels: Vec<(&str, Vec<Bar>)> = Vec::new();
    for line in csv.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let &[panel, label, value, text] = &fields[..] else {
            return Err(format!("{line}: expected 4 fields").into());
        };
        let bar = Bar { label: label.to_owned(), value: value.parse()?, text: text.to_owned() };
        match panels.last_mut().filter(|(last, _)| *last == panel) {
            Some((_, bars)) => bars.push(bar),
            None => panels.push((panel, vec![bar])),
        }
    }
    draw("Measured beside peers; less is better", &panels)
}

/// Returns the cells of the table under a heading, without its two lines of headings.
fn table_under<'a>(text: &'a str, heading: &str) -> Result<Vec<Vec<&'a str>>> {
    let section =
        text.split(&format!("{heading}\n")).nth(1).ok_or_else(|| format!("no section {heading}"))?;
    let lines =
        section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    Ok(lines.skip(2).map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect())
}

const WIDTH: i32 = 860;
const LABELS: i32 = 110;
const GAP: i32 = 24;
const ROW: i32 = 24;
const TOP: i32 = 66;

/// Draws panels of horizontal bars beside each other, each on its own scale. Panels with other labels have their own.
fn draw(title: &str, panels: &[(&str, Vec<Bar>)]) -> Result<String> {
    let rows = panels.iter().map(|(_, bars)| bars.len()).max().unwrap_or(0);
    let height = TOP + ROW * i32::try_from(rows)? + 8;
    let labels = |bars: &[Bar]| bars.iter().map(|bar| bar.label.clone()).collect::<Vec<_>>();
    let share_labels = panels.windows(2).all(|pair| labels(&pair[0].1) == labels(&pair[1].1));
    let count = i32::try_from(panels.len())?;
    let label_columns = if share_labels { 1 } else { count };
    let wide = (WIDTH - LABELS * label_columns - GAP * (count - 1)) / count;
    let mut svg = String::new();
    {
        let area =
            SVGBackend::with_string(&mut svg, (WIDTH.try_into()?, height.try_into()?)).into_drawing_area();
        let style = |size: i32, colour: RGBColor, at: HPos| {
            let font = ("sans-serif", size).into_font().transform(FontTransform::None);
            font.color(&colour).pos(Pos::new(at, VPos::Center))
        };
        area.draw(&Text::new(title.to_owned(), (0, 14), style(15, TEXT, HPos::Left)))?;
        let mut left = 0;
        for (number, (name, bars)) in panels.iter().enumerate() {
            let has_labels = number == 0 || !share_labels;
            if has_labels {
                left += LABELS;
            }
            area.draw(&Text::new((*name).to_owned(), (left, 48), style(13, TEXT, HPos::Left)))?;
            let most = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
            for (row, bar) in (0..).zip(bars) {
                let top = TOP + ROW * row;
                let is_ours = bar.label == "heapwright";
                let colour = if is_ours { OURS } else { PEERS };
                // The text is beside the longest bar.
                #[expect(clippy::cast_possible_truncation, reason = "a number of pixels")]
                let long = (f64::from(wide - 62) * bar.value / most).round().max(1.0) as i32;
                area.draw(&Rectangle::new([(left, top), (left + long, top + ROW - 6)], colour.filled()))?;
                let middle = top + (ROW - 6) / 2 + 1;
                area.draw(&Text::new(
                    bar.text.clone(),
                    (left + long + 6, middle),
                    style(12, TEXT, HPos::Left),
                ))?;
                if has_labels {
                    let colour = if is_ours { OURS } else { TEXT };
                    area.draw(&Text::new(
                        bar.label.clone(),
                        (left - 8, middle),
                        style(12, colour, HPos::Right),
                    ))?;
                }
            }
            left += wide + GAP;
        }
        area.present()?;
    }
    Ok(svg)
}
