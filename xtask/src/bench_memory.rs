//! `cargo xtask bench-memory`: builds and runs the comparison of device memory in `bench/`, a separate package.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Arguments of `cargo xtask bench-memory`, which are passed to the program.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directory of the traces that are not in the repository [default: ../shared/traces beside the repository].
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    /// Write nothing, and fail if the file has other figures for the traces in the repository or for some workloads.
    #[arg(long)]
    verify: bool,
    /// Markdown file to write or to verify [default: bench/MEMORY.md].
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Builds and runs the program.
pub(crate) fn run(root: &Path, args: &Args) -> Result<(), String> {
    let mut command = Command::new("cargo");
    // The times in the file are modelled. A verification has fewer of them to compute, so that compiling is what takes long.
    let profile = if args.verify { "verify" } else { "release" };
    command.args(["run", "--profile", profile, "--quiet", "--bin", "bench-memory", "--manifest-path"]);
    command.arg(root.join("bench/Cargo.toml"));
    command.arg("--target-dir").arg(crate::target_folder(root)).arg("--");
    if args.verify {
        command.arg("--verify");
    }
    for (flag, path) in [("--traces", &args.traces), ("--output", &args.output)] {
        if let Some(path) = path {
            command.arg(flag).arg(path);
        }
    }
    let status = command.status().map_err(|error| format!("starting cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err("bench-memory failed".to_owned()) }
}
