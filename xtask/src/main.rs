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
mod libtest;
mod limited;
mod miri;
mod placement;
mod struct_returns;
mod test;
mod test_wine;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Maintenance commands of the heapwright workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compare the allocator with VMA and gpu-allocator by held memory and modelled time (requires a C++ compiler).
    #[command(after_help = "Example:\n  cargo xtask bench-memory --verify")]
    BenchMemory(bench_memory::Args),
    /// Compare the suballocators with those of other projects (requires a C++ compiler).
    #[command(after_help = "Example:\n  cargo xtask bench-table --quick")]
    BenchTable(bench_table::Args),
    /// Generate crates/d3d12/src/bindings from the Windows metadata.
    #[command(after_help = "Example:\n  cargo xtask bindings --check")]
    Bindings {
        /// Change nothing, and fail if the existing files are outdated.
        #[arg(long)]
        check: bool,
    },
    /// Measure and write the tables of README.md.
    #[command(after_help = "Example:\n  cargo xtask figures --check")]
    Figures(figures::Args),
    /// Run the fuzz targets with nightly Rust and AddressSanitizer.
    #[command(after_help = "Example:\n  cargo xtask fuzz suballoc --seconds 60")]
    Fuzz {
        /// Target to run [default: all].
        target: Option<String>,
        /// Seconds for each target [default: as in CI, 10 to 60].
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
        seconds: Option<u32>,
        /// Build only.
        #[arg(long, conflicts_with = "seconds")]
        no_run: bool,
    },
    /// Run the tests of crates/core in Miri with nightly Rust.
    #[command(after_help = "Example:\n  cargo xtask miri --short")]
    Miri {
        /// Run only a selection that takes half a minute.
        #[arg(long)]
        short: bool,
    },
    /// Replay traces and similar workloads through the placement policy with variations of its settings.
    #[command(after_help = "Example:\n  cargo xtask placement traces/vision_serving.csv.gz")]
    Placement(placement::Args),
    /// Run `cargo test`, and kill a test program in which a test takes longer than three minutes. For example,
    /// `cargo xtask test -p heapwright-core tlsf`.
    #[command(disable_help_flag = true)]
    Test {
        /// Arguments of `cargo test`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run a test program with that limit; `test` makes cargo start the programs like this.
    #[command(hide = true, disable_help_flag = true)]
    TestProgram {
        program: OsString,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
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
        Command::Fuzz { target, no_run: true, .. } => fuzz::build(&workspace_root(), target.as_deref()),
        Command::Fuzz { target, seconds, .. } => fuzz::run(&workspace_root(), target.as_deref(), seconds),
        Command::Miri { short } => miri::run(&workspace_root(), short),
        Command::Placement(args) => placement::run(&args),
        Command::Test { arguments } => test::run(&workspace_root(), &arguments),
        Command::TestProgram { program, arguments } => test::run_program(&program, &arguments),
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

/// Returns cargo's target directory, which the packages outside of the workspace share.
fn target_folder(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder))
}

fn workspace_root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}
