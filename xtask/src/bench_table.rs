//! Runs the comparison of `bench/`, a package of its own that is built here and by nothing else.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What `bench-table` is told, under the same names.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where the traces are that are not in the repository [default: ../shared/traces beside the repository].
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    /// Fewer operations, less than a minute; the table is printed, but written only where --output says.
    #[arg(long)]
    quick: bool,
    /// Time nothing; check that no answer overlaps another, is misaligned, or is beyond the capacity, and that nobody
    /// refuses what others serve.
    #[arg(long)]
    verify: bool,
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
    /// The date to write [default: that of the commit].
    #[arg(long)]
    date: Option<String>,
    /// The markdown file to write [default: bench/TABLE.md, unless --quick].
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Builds and runs it.
pub(crate) fn run(root: &Path, args: &Args) -> Result<(), String> {
    let mut command = Command::new("cargo");
    command.args(["run", "--release", "--quiet", "--bin", "bench-table", "--manifest-path"]);
    command.arg(root.join("bench/Cargo.toml")).arg("--");
    for (flag, is_set) in [("--quick", args.quick), ("--verify", args.verify), ("--json", args.json)] {
        if is_set {
            command.arg(flag);
        }
    }
    if let Some(date) = &args.date {
        command.arg("--date").arg(date);
    }
    for (flag, path) in [("--traces", &args.traces), ("--output", &args.output)] {
        if let Some(path) = path {
            command.arg(flag).arg(path);
        }
    }
    let status = command.status().map_err(|error| format!("starting cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err("bench-table failed".to_owned()) }
}
