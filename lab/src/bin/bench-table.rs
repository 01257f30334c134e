//! `bench-table`: compares suballocators. `cargo lab bench-table` runs it.
#![forbid(unsafe_code)]

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use heapwright_lab::random::SEED;
use heapwright_lab::report::machine::{Machine, clock_nanoseconds};
use heapwright_lab::report::text::render;
use heapwright_lab::report::{Report, Section};
use heapwright_lab::suite::Suite;
use heapwright_lab::workload::Effort;

/// Compares heapwright's suballocators with those of other projects, in one process and on the same operations.
#[derive(Parser)]
#[command(name = "bench-table")]
struct Args {
    /// Run fewer operations, in less than a minute; the table is printed, but written only with --output.
    #[arg(long)]
    quick: bool,
    /// The date to write [default: that of the commit].
    #[arg(long)]
    date: Option<String>,
    /// The markdown file to write [default: lab/TABLE.md, unless --quick].
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Prints a line to standard error. If that is closed, nobody reads it.
fn say(line: &str) {
    let _ = writeln!(anstream::stderr(), "{line}");
}

fn run(args: Args) -> Result<(), Box<dyn Error>> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = package.parent().unwrap_or(package);
    let effort = if args.quick { Effort::Quick } else { Effort::Full };
    let suite = Suite::new(effort, &root.join("traces"))?;
    let machine = Machine::here(root, args.date);
    let clock_nanoseconds = clock_nanoseconds();
    let sections = suite.run(|workload| say(&format!("measuring {workload}")));
    // Times that include refusals are not comparable, so no table is written.
    let differences: Vec<String> = sections.iter().flat_map(Section::differences).collect();
    if !differences.is_empty() {
        let lines = differences.join("\n  ");
        return Err(format!(
            "not all rivals did the same work, so their times are no comparison:\n  {lines}"
        )
        .into());
    }
    let report = Report { machine, seed: SEED, is_quick: args.quick, clock_nanoseconds, sections };
    let text = render(&report);
    if let Some(file) = args.output.or_else(|| (!args.quick).then(|| package.join("TABLE.md"))) {
        fs::write(&file, &text).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    anstream::stdout().write_all(text.as_bytes())?;
    Ok(())
}
