//! `cargo xtask bench-table`: builds and runs the comparison in `bench/`, a separate package.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Arguments of `cargo xtask bench-table`, which are passed to the program.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directory of the traces that are not in the repository [default: ../shared/traces beside the repository].
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    /// Run fewer operations, for less than a minute, and write no file unless --output is given.
    #[arg(long)]
    quick: bool,
    /// Check the allocators instead of measuring them: ranges must be aligned, within the capacity and must not overlap, and
    /// no allocator may fail a request that others serve.
    #[arg(long)]
    verify: bool,
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
    /// Date of the table [default: date of the commit].
    #[arg(long)]
    date: Option<String>,
    /// Markdown file to write [default: bench/TABLE.md, or none with --quick].
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Builds and runs the program.
pub(crate) fn run(root: &Path, args: &Args) -> Result<(), String> {
    let mut command = Command::new("cargo");
    // A verification measures no time, so that it is built with the profile that compiles faster.
    let profile = if args.verify { "verify" } else { "release" };
    command.args(["run", "--profile", profile, "--quiet", "--bin", "bench-table", "--manifest-path"]);
    command.arg(root.join("bench/Cargo.toml"));
    command.arg("--target-dir").arg(crate::target_folder(root)).arg("--");
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
