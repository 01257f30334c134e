//! `cargo lab figures`: measures and writes the tables of docs/performance.md, and draws its charts.
//!
//! The table of residency policies is measured, and is the same on every machine. The tables of heaps and of suballocators are
//! taken from `lab/MEMORY.md` and `lab/TABLE.md`, which `cargo lab bench-memory` and `cargo lab bench-table` write.

#![forbid(unsafe_code)]
#![allow(clippy::print_stderr, reason = "a program that reports errors")]

mod charts;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Parser;
use serde_json::Value;

/// Measures and writes the tables of docs/performance.md, and draws its charts.
#[derive(Parser)]
#[command(name = "figures")]
struct Args {
    /// Directory of the traces that are not in the repository [default: ../shared/traces beside the repository].
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    /// Change nothing, and fail if docs/performance.md is outdated. Missing traces are skipped.
    #[arg(long)]
    check: bool,
}

/// Time per operation in microseconds, mean held over mean live bytes, and peak held over peak live bytes.
#[derive(Clone, Copy)]
struct Cost {
    micros: f64,
    mean: f64,
    peak: f64,
}

impl Cost {
    /// Returns the cell of a table.
    fn cell(self) -> String {
        format!("{:.2} / {:.2} / {:.3}", self.micros, self.mean, self.peak)
    }

    fn geometric_mean(costs: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| geometric_mean(&costs.iter().map(of).collect::<Vec<_>>());
        Self { micros: mean(|cost| cost.micros), mean: mean(|cost| cost.mean), peak: mean(|cost| cost.peak) }
    }
}

/// The page that has the tables.
const PAGE: &str = "docs/performance.md";

/// The folder that has the charts.
const CHARTS: &str = "docs/performance";

/// The recorded traces.
const RECORDED: [&str; 5] =
    ["bert_finetune", "gpt2_generate", "resnet50_train", "unet_diffusion", "vision_serving"];

/// The traces that the eviction policy `next-use` was developed on.
const TUNED_ON: [&str; 2] = ["vision_serving", "unet_diffusion"];

/// A table, with rows for single traces and a summary of all.
struct Figures {
    name: &'static str,
    heading: Vec<String>,
    rows: Vec<String>,
    /// Summary rows. Empty if traces are missing.
    summary: Vec<String>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Measures the figures, and writes or compares the tables.
fn run(args: &Args) -> Result<(), String> {
    let root = &root();
    let elsewhere = args.traces.clone().unwrap_or_else(|| root.join("../shared/traces"));
    let mut traces = Vec::new();
    for recorded in RECORDED {
        let file = format!("{recorded}.csv.gz");
        let found = [root.join("traces").join(&file), elsewhere.join(&file)];
        match found.into_iter().find(|path| path.exists()) {
            Some(path) => traces.push((recorded, path)),
            None if args.check => eprintln!("skipped missing trace {file}"),
            None => return Err(format!("{file} not found in traces or {}", elsewhere.display())),
        }
    }
    let tables = [heaps(root)?, residency(root, &traces)?, suballocators(root)?];

    let path = root.join(PAGE);
    let page = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    if args.check {
        let mut missing = Vec::new();
        for table in &tables {
            let (_, old, _) = split(&page, table.name)?;
            let lines = table.heading.iter().chain(&table.rows).chain(&table.summary);
            missing.extend(lines.filter(|line| !old.lines().any(|old| old == *line)).cloned());
        }
        return match &missing[..] {
            [] => charts::draw_all(&page, &root.join(CHARTS), true),
            missing => Err(format!(
                "{PAGE} is outdated; run `cargo lab figures`. Missing lines:\n{}",
                missing.join("\n")
            )),
        };
    }
    let mut written = page;
    for table in &tables {
        let (before, _, after) = split(&written, table.name)?;
        let lines: Vec<&str> =
            table.heading.iter().chain(&table.rows).chain(&table.summary).map(String::as_str).collect();
        written = format!("{before}\n{}\n{after}", lines.join("\n"));
    }
    fs::write(&path, &written).map_err(|error| format!("{}: {error}", path.display()))?;
    charts::draw_all(&written, &root.join(CHARTS), false)
}

/// Returns the repository's folder.
fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

/// Splits the text into the parts before, between and after the comments around a table.
fn split<'a>(text: &'a str, name: &str) -> Result<(&'a str, &'a str, &'a str), String> {
    let (begin, end) = (format!("<!-- figures: {name} -->"), format!("<!-- end: {name} -->"));
    let missing = |comment: &str| format!("{PAGE} lacks {comment}");
    let begins = text.find(&begin).ok_or_else(|| missing(&begin))? + begin.len();
    let ends = begins + text[begins..].find(&end).ok_or_else(|| missing(&end))?;
    Ok((&text[..begins], &text[begins..ends], &text[ends..]))
}

/// Runs the program with `--json` and parses each line of its output.
fn program(root: &Path, args: &[&str], paths: &[&Path]) -> Result<Vec<Value>, String> {
    let mut command = Command::new("cargo");
    command.args(["run", "--release", "--quiet", "-p", "heapwright-cli", "--"]).args(args).args(paths);
    let output = command.current_dir(root).output().map_err(|error| format!("starting cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("heapwright {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let lines =
        text.lines().map(|line| serde_json::from_str(line).map_err(|error| format!("{error}: {line}")));
    lines.collect()
}

fn number(object: &Value, key: &str) -> Result<f64, String> {
    object[key].as_f64().ok_or_else(|| format!("missing key {key} in {object}"))
}

fn find<'a>(objects: &'a [Value], facts: &[(&str, &str)]) -> Result<&'a Value, String> {
    let is_it = |object: &&Value| facts.iter().all(|(key, value)| object[*key] == *value);
    objects.iter().find(is_it).ok_or_else(|| format!("heapwright printed no result for {facts:?}"))
}

fn geometric_mean(ratios: &[f64]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "they are few")]
    let count = ratios.len() as f64;
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / count).exp()
}

/// Reads time and memory of allocators from `lab/MEMORY.md`.
fn heaps(root: &Path) -> Result<Figures, String> {
    const ALLOCATORS: [&str; 4] = ["heapwright", "like GPGMM", "VMA", "gpu-allocator"];
    const SECTION: &str = "Each trace: recorded traces";
    let path = root.join("lab/MEMORY.md");
    let table = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let figure = |trace, allocator, column| {
        cell(&table, SECTION, &[trace, allocator], column)
            .ok_or_else(|| format!("lab/MEMORY.md has no figure {column} of {allocator} on {trace}"))
    };
    let (mut rows, mut all) = (Vec::new(), [const { Vec::new() }; 4]);
    for trace in RECORDED {
        let mut cells = Vec::new();
        for (list, allocator) in all.iter_mut().zip(ALLOCATORS) {
            let of = |column| figure(trace, allocator, column);
            let cost = Cost { micros: of("time, us/op")?, mean: of("mean")?, peak: of("peak")? };
            cells.push(cost.cell());
            list.push(cost);
        }
        let [ours, vmas] =
            [ALLOCATORS[0], ALLOCATORS[2]].map(|allocator| figure(trace, allocator, "hitches"));
        rows.push(format!("| {trace} | {} | {} / {} |", cells.join(" | "), ours?, vmas?));
    }
    let cells = all.map(|costs| Cost::geometric_mean(&costs).cell());
    let summary = vec![format!("| **geometric mean** | {} | |", cells.join(" | "))];
    let heading = [
        "| trace | heapwright | like GPGMM | VMA 3 | gpu-allocator 0.28 | hitches: heapwright / VMA |",
        "|---|---|---|---|---|---|",
    ];
    Ok(Figures { name: "heaps", heading: heading.map(str::to_owned).into(), rows, summary })
}

/// Measures the bytes that policies page in, relative to the bound.
fn residency(root: &Path, traces: &[(&str, PathBuf)]) -> Result<Figures, String> {
    let args = ["residency", "--json", "--policy", "adaptive", "--policy", "lru"];
    let paths: Vec<&Path> = traces.iter().map(|(_, path)| path.as_path()).collect();
    let objects = program(root, &args, &paths)?;
    let mut rows = Vec::new();
    // Indexed by whether the policy was tuned on the workload, then by policy.
    let mut ratios = [[Vec::new(), Vec::new()], [Vec::new(), Vec::new()]];
    for &(name, _) in traces {
        let is_tuned_on = TUNED_ON.contains(&name);
        let ratio = |policy| number(find(&objects, &[("workload", name), ("policy", policy)])?, "ratio");
        let of_both = [ratio("adaptive")?, ratio("lru")?];
        for (list, ratio) in ratios[usize::from(is_tuned_on)].iter_mut().zip(of_both) {
            list.push(ratio);
        }
        let tuned = if is_tuned_on { "yes" } else { "no" };
        rows.push(format!("| {name} | {:.2} | {:.2} | {tuned} |", of_both[0], of_both[1]));
    }
    let mut summary = Vec::new();
    if traces.len() == RECORDED.len() {
        for (place, name, tuned) in [(1, "those tuned on", "yes"), (0, "those not", "no")] {
            let [adaptive, lru] = [0, 1].map(|policy: usize| geometric_mean(&ratios[place][policy]));
            summary.push(format!(
                "| **geometric mean of {name}** | **{adaptive:.2}** | **{lru:.2}** | {tuned} |"
            ));
        }
    }
    let heading =
        ["| trace | adaptive (default) | LRU | `next-use` was developed on it |", "|---|---|---|---|"];
    Ok(Figures { name: "residency", heading: heading.map(str::to_owned).into(), rows, summary })
}

/// Reads the times of suballocators from `lab/TABLE.md`.
fn suballocators(root: &Path) -> Result<Figures, String> {
    const RIVALS: [&str; 3] = ["heapwright TLSF, values", "VMA default", "offset-allocator"];
    const WORKLOADS: [(&str, &str); 3] = [
        ("S1, alignment 1", "free and allocate 1 to 2,056 B, 7,200 live"),
        ("S1, alignment 256", "the same in units of 256 B, at alignment 256"),
        ("S3", "256 B to 64 KiB in units of 256 B, 4,000 live"),
    ];
    let path = root.join("lab/TABLE.md");
    let table = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut rows = Vec::new();
    for (section, shown) in WORKLOADS {
        let mut cells = vec![shown.to_owned()];
        for rival in RIVALS {
            let nanoseconds = cell(&table, section, &[rival], "pair, ns")
                .ok_or_else(|| format!("lab/TABLE.md has no figure of {rival} in {section}"))?;
            cells.push(format!("{nanoseconds:.0} ns"));
        }
        rows.push(format!("| {} |", cells.join(" | ")));
    }
    let heading = ["| | `Tlsf` with values | VMA | offset-allocator |", "|---|---|---|---|"];
    Ok(Figures {
        name: "suballocators",
        heading: heading.map(str::to_owned).into(),
        rows,
        summary: Vec::new(),
    })
}

/// Returns the number in a section of a markdown file, in the row that begins with the given cells and in the column with the
/// given heading, without the ratio in parentheses after it.
fn cell(text: &str, section: &str, row: &[&str], column: &str) -> Option<f64> {
    let lines = text.lines().skip_while(|line| line.strip_prefix("## ") != Some(section)).skip(1);
    let mut lines = lines.take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with('|'));
    let split = |line: &str| line.split('|').skip(1).map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let place = split(lines.next()?).iter().position(|cell| cell == column)?;
    let found = lines.map(split).find(|cells| cells.iter().zip(row).all(|(cell, wanted)| cell == wanted))?;
    found.get(place)?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_found_by_section_rival_and_column() {
        let table = "## A\n\n| rival | early pair, ns | pair, ns |\n|---|---|---|\n| x | 1.0 (0.1) | 2.5 (1.00) |\n\n\
                     ## A, B\n\nAbout.\n\n| rival | pair, ns |\n|---|---|\n| x | 7.0 (1.0) |\n| y | 8 (2) |\n";
        assert_eq!(cell(table, "A", &["x"], "pair, ns"), Some(2.5));
        assert_eq!(cell(table, "A, B", &["y"], "pair, ns"), Some(8.0));
        assert_eq!(cell(table, "A", &["y"], "pair, ns"), None);
        assert_eq!(cell(table, "B", &["x"], "pair, ns"), None);
    }

    #[test]
    fn a_table_is_between_its_comments() {
        let text = "a\n<!-- figures: x -->\nold\n<!-- end: x -->\nb";
        assert_eq!(split(text, "x"), Ok(("a\n<!-- figures: x -->", "\nold\n", "<!-- end: x -->\nb")));
        assert_eq!(split(text, "y"), Err("docs/performance.md lacks <!-- figures: y -->".to_owned()));
    }
}
