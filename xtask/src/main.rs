//! Maintenance commands: `cargo xtask --help`.
#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line program talks through its streams"
)]

mod bench_table;
mod bindings;
mod figures;
mod fuzz;
mod items;
mod limited;
mod miri;
mod placement;
mod struct_returns;
mod test_wine;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Maintenance commands of the heapwright workspace.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compare our suballocators with those of other projects, which are built for it (one needs a C++ compiler).
    BenchTable(bench_table::Args),
    /// Generate crates/d3d12/src/bindings from the Windows metadata.
    Bindings {
        /// Change nothing; fail when the checked-in file differs from what would be generated.
        #[arg(long)]
        check: bool,
    },
    /// Measure what README.md's tables say, and write them.
    Figures(figures::Args),
    /// Run the fuzz targets, with nightly Rust and AddressSanitizer.
    Fuzz {
        /// One target instead of all.
        target: Option<String>,
        /// Seconds for each target; one that does not end some minutes later is killed.
        #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
        seconds: u32,
    },
    /// Run the tests of crates/core in Miri, with nightly Rust.
    Miri {
        /// Half a minute of them.
        #[arg(long)]
        short: bool,
    },
    /// Replay traces, and workloads like them, through the placement policy alone, with each of its settings varied.
    Placement(placement::Args),
    /// Build for Windows and run it in Wine: tests, conformance, a replay, programs in C and C++; on our runtime and on
    /// Wine's own D3D12.
    TestWine(test_wine::Args),
}

fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = match args.command {
        Command::BenchTable(args) => bench_table::run(&workspace_root(), &args),
        Command::Bindings { check } => bindings::run(&workspace_root(), check),
        Command::Figures(args) => figures::run(&workspace_root(), &args),
        Command::Fuzz { target, seconds } => fuzz::run(&workspace_root(), target.as_deref(), seconds),
        Command::Miri { short } => miri::run(&workspace_root(), short),
        Command::Placement(args) => placement::run(&args),
        Command::TestWine(args) => test_wine::run(&workspace_root(), &args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn workspace_root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}
