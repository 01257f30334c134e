//! Maintenance commands: `cargo xtask --help`.
#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line program prints to standard output and error"
)]

mod bench_memory;
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
    /// Compare the allocator with VMA and gpu-allocator by held memory and modelled time (requires a C++ compiler).
    BenchMemory(bench_memory::Args),
    /// Compare the suballocators with those of other projects (requires a C++ compiler).
    BenchTable(bench_table::Args),
    /// Generate crates/d3d12/src/bindings from the Windows metadata.
    Bindings {
        /// Change nothing, and fail if the existing files are outdated.
        #[arg(long)]
        check: bool,
    },
    /// Measure and write the tables of README.md.
    Figures(figures::Args),
    /// Run the fuzz targets with nightly Rust and AddressSanitizer.
    Fuzz {
        /// Target to run [default: all].
        target: Option<String>,
        /// Seconds for each target.
        #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
        seconds: u32,
    },
    /// Run the tests of crates/core in Miri with nightly Rust.
    Miri {
        /// Run only a selection that takes half a minute.
        #[arg(long)]
        short: bool,
    },
    /// Replay traces and similar workloads through the placement policy with variations of its settings.
    Placement(placement::Args),
    /// Build for Windows, and run tests, conformance, a replay and C and C++ programs in Wine, on the runtime and on Wine's
    /// Direct3D 12.
    TestWine(test_wine::Args),
}

fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = match args.command {
        Command::BenchMemory(args) => bench_memory::run(&workspace_root(), &args),
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
