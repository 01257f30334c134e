//! `cargo lab plots`: draws the plots of the documents from results that are checked in. With `--check`, it fails if a
//! plot is outdated.
//!
//! The plots have no background and colours that can be read on white and on black.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use plotters::style::RGBColor;

use bars::Bar;
use lines::{Axis, Line, Panel};

mod bars;
mod lines;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const TEXT: RGBColor = RGBColor(0x7d, 0x88, 0x98);
const OURS: RGBColor = RGBColor(0x3f, 0x8f, 0xe8);
const PEERS: RGBColor = RGBColor(0xa9, 0xa2, 0x8c);
/// The width of all plots.
const WIDTH: i32 = 860;

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
    let read = |name: &str| {
        let path = root.join("lab").join(name);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let plots = [
        ("allocators.svg", allocators(&read("MEMORY.md")?)?),
        ("measured.svg", measured_beside_peers(&read("plots/measured.csv")?)?),
        ("memory.svg", memory_over_time(&read("plots/curves.csv")?)?),
        ("paging.svg", paging_over_budget(&read("plots/paging.csv")?)?),
        ("growth.svg", growth(&read("plots/growth.csv")?)?),
    ];
    for (name, svg) in plots {
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

/// Returns the fields of the lines of a CSV file after its header.
fn rows<const FIELDS: usize>(csv: &str) -> Result<Vec<[&str; FIELDS]>> {
    let fields = |line: &str| format!("{line}: expected {FIELDS} fields");
    csv.lines()
        .skip(1)
        .map(|line| line.split(',').collect::<Vec<_>>().try_into().map_err(|_| fields(line).into()))
        .collect()
}

/// Collects points in lines by their label, in order of appearance.
fn add<'a>(lines: &mut Vec<Line<'a>>, label: &'a str, x: &str, y: &str) -> Result<()> {
    let point = (x.parse()?, y.parse()?);
    match lines.iter_mut().find(|line| line.label == label) {
        Some(line) => line.points.push(point),
        None => lines.push(Line { label, points: vec![point] }),
    }
    Ok(())
}

/// The live and the held memory on recorded traces: columns trace, allocator, seconds, MiB.
fn memory_over_time(csv: &str) -> Result<String> {
    let mut panels: Vec<Panel<'_>> = Vec::new();
    for [trace, label, seconds, mib] in rows(csv)? {
        if panels.last().is_none_or(|panel| panel.title != trace) {
            panels.push(Panel {
                title: trace,
                x: Axis { name: "seconds", is_logarithmic: false },
                y: Axis { name: "MiB", is_logarithmic: false },
                lines: Vec::new(),
            });
        }
        let Some(panel) = panels.last_mut() else { continue };
        add(&mut panel.lines, label, seconds, mib)?;
    }
    lines::draw("Memory held over time on two recorded traces", &panels)
}

/// Bytes paged in by budget: columns policy, budget in percent of the peak, GiB.
fn paging_over_budget(csv: &str) -> Result<String> {
    let mut lines = Vec::new();
    for [policy, budget, gib] in rows(csv)? {
        add(&mut lines, policy, budget, gib)?;
    }
    let panel = Panel {
        title: "GiB paged in on the five recorded traces",
        x: Axis { name: "budget in % of the peak", is_logarithmic: false },
        y: Axis { name: "GiB", is_logarithmic: false },
        lines,
    };
    lines::draw("Paging over budget", &[panel])
}

/// Times by number of live buffers: columns measurement, allocator, live, microseconds.
fn growth(csv: &str) -> Result<String> {
    let axes =
        || (Axis { name: "live buffers", is_logarithmic: true }, Axis { name: "µs", is_logarithmic: true });
    let mut panels = [
        ("replacement", "replacing a buffer, after 50 000 replacements"),
        ("defragmentation", "longest step of a defragmentation"),
    ]
    .map(|(measurement, title)| {
        let (x, y) = axes();
        (measurement, Panel { title, x, y, lines: Vec::new() })
    });
    for [measurement, allocator, live, microseconds] in rows(csv)? {
        let panel = panels.iter_mut().find(|(name, _)| *name == measurement);
        let (_, panel) = panel.ok_or_else(|| format!("no plot of {measurement}"))?;
        add(&mut panel.lines, allocator, live, microseconds)?;
    }
    lines::draw("Times over the number of live buffers", &panels.map(|(_, panel)| panel))
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
    bars::draw(
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
    for [panel, label, value, text] in rows(csv)? {
        let bar = Bar { label: label.to_owned(), value: value.parse()?, text: text.to_owned() };
        match panels.last_mut().filter(|(last, _)| *last == panel) {
            Some((_, bars)) => bars.push(bar),
            None => panels.push((panel, vec![bar])),
        }
    }
    bars::draw("Measured beside peers; less is better", &panels)
}

/// Returns the cells of the table under a heading, without its two lines of headings.
fn table_under<'a>(text: &'a str, heading: &str) -> Result<Vec<Vec<&'a str>>> {
    let section =
        text.split(&format!("{heading}\n")).nth(1).ok_or_else(|| format!("no section {heading}"))?;
    let lines =
        section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    Ok(lines.skip(2).map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect())
}
