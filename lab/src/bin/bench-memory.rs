//! `bench-memory`: compares allocators by the device memory that they take. `cargo lab bench-memory` runs it.
#![forbid(unsafe_code)]

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use heapwright_lab::memory::comparison::{Group, compare};
use heapwright_lab::memory::curves::curves;
use heapwright_lab::memory::devices::compare_devices;
use heapwright_lab::memory::table::{EACH_TRACE, Results, render, verify};
use heapwright_lab::workload::Part;
use heapwright_simulation::GeneratedTrace;
use heapwright_trace::Trace;

/// Compares heapwright with VMA and gpu-allocator by the device memory that they hold and the calls that they make.
#[derive(Parser)]
#[command(name = "bench-memory")]
struct Args {
    /// Write nothing; replay the traces in the repository and some workloads, and check that the file has their
    /// figures.
    #[arg(long)]
    verify: bool,
    /// Write only lab/plots/curves.csv, the held memory over time on two recorded traces.
    #[arg(long, conflicts_with_all = ["verify", "output"])]
    curves: bool,
    /// The markdown file to write or to verify [default: lab/MEMORY.md].
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed, the error cannot be reported anywhere.
            let _ = writeln!(anstream::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> Result<(), Box<dyn Error>> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = package.parent().unwrap_or(package);
    let file = args.output.unwrap_or_else(|| package.join("MEMORY.md"));
    if args.verify {
        return check(&file, &root.join("traces"));
    }
    let folder = root.join("traces");
    if args.curves {
        return write_curves(&folder, &package.join("plots/curves.csv"));
    }
    let mut results = Vec::new();
    let mut devices = Vec::new();
    for group in Group::ALL {
        let traces = group.traces(&folder)?;
        let rows = traces.iter().map(compare).collect::<Result<_, _>>()?;
        if !group.is_for_tuning() {
            devices.push((group, compare_devices(&traces)?));
        }
        results.push(Results { group, rows });
    }
    let text = render(&results, &devices);
    fs::write(&file, &text).map_err(|error| format!("{}: {error}", file.display()))?;
    // Without the lines of each trace, of which there are many.
    let summary = text.split(EACH_TRACE).next().unwrap_or_default();
    anstream::stdout().write_all(summary.as_bytes())?;
    Ok(())
}

/// The traces whose curves are plotted: the one on which heapwright holds the most over its mean, and one that grows.
const CURVES: [&str; 2] = ["resnet50_train", "gpt2_generate"];

fn write_curves(folder: &Path, file: &Path) -> Result<(), Box<dyn Error>> {
    let mut text = "trace,name,seconds,mib\n".to_owned();
    for name in CURVES {
        text += &curves(&Trace::read(folder.join(format!("{name}.csv.gz")))?)?;
    }
    Ok(fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))?)
}

/// Replays the recorded traces of the repository and the first evaluation workload of each shape.
fn check(file: &Path, folder: &Path) -> Result<(), Box<dyn Error>> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut traces = Group::Recorded.traces(folder)?;
    traces.extend(Part::Evaluation.traces().step_by(3).map(GeneratedTrace::generate));
    let mut differences = String::new();
    for trace in &traces {
        differences.extend(verify(&text, &compare(trace)?).err());
    }
    if !differences.is_empty() {
        let command = "cargo lab bench-memory";
        return Err(format!("{} is outdated; {command} writes it again:{differences}", file.display()).into());
    }
    let names: Vec<&str> = traces.iter().map(Trace::name).collect();
    writeln!(anstream::stdout(), "{} has the figures of {}", file.display(), names.join(", "))?;
    Ok(())
}
