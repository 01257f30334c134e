//! Maintenance commands: `cargo xtask --help`.
#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line program prints to standard output and error"
)]

mod bindings;
mod check;
mod command;
mod fuzz;
mod items;
mod libtest;
mod limited;
mod miri;
mod out_pointers;
mod struct_returns;
mod test;
mod test_wine;
mod walks;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The nightly Rust of Miri and of the fuzz targets. `.ci/install` installs it.
const NIGHTLY: &str = include_str!("../../.ci/nightly-toolchain").trim_ascii_end();

/// Maintenance commands of the heapwright workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Generate crates/d3d12/src/bindings from the Windows metadata.
    #[command(after_help = "Example:\n  cargo xtask bindings --check")]
    Bindings {
        /// Change nothing, and fail if the existing files are outdated.
        #[arg(long)]
        check: bool,
    },
    /// Check formatting, and run clippy and the tests of the packages that differ from another commit, and of those
    /// that depend on them. Installs nothing.
    #[command(after_help = "Example:\n  cargo xtask check --since main")]
    Check {
        /// Commit to compare with: the newest one that it and the current branch have in common.
        #[arg(long, value_name = "COMMIT", default_value = "main")]
        since: String,
    },
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
        /// Run each target once on each input of `fuzz/corpus` and on generated ones, without nightly Rust and
        /// sanitizer.
        #[arg(long, conflicts_with_all = ["seconds", "no_run"])]
        corpus: bool,
    },
    /// Run the tests of crates/core in Miri with nightly Rust.
    #[command(after_help = "Example:\n  cargo xtask miri --short")]
    Miri {
        /// Run only a selection that takes half a minute.
        #[arg(long)]
        short: bool,
    },
    /// Run `cargo test`, and kill a test program in which a test takes longer than 15 minutes. For example,
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
    /// Build for Windows, and run tests, conformance, a replay and C and C++ programs in Wine, on the runtime and on
    /// Wine's Direct3D 12.
    TestWine(test_wine::Args),
    /// Count the functions and files that requests pass through, with valgrind's callgrind.
    #[command(after_help = "Example:\n  cargo xtask walks")]
    Walks {
        /// Print the functions, too.
        #[arg(long, short)]
        verbose: bool,
    },
    /// Build the program of interop/wgpu with wgpu as it is and with heapwright as its allocator, run both in Wine,
    /// compare their results, and print their figures.
    Wgpu(test_wine::WgpuArgs),
}

fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = match args.command {
        Command::Bindings { check } => bindings::run(&workspace_root(), check),
        Command::Check { since } => check::run(&workspace_root(), &since),
        Command::Fuzz { target, corpus: true, .. } => fuzz::run_corpus(&workspace_root(), target.as_deref()),
        Command::Fuzz { target, no_run: true, .. } => fuzz::build(&workspace_root(), target.as_deref()),
        Command::Fuzz { target, seconds, .. } => fuzz::run(&workspace_root(), target.as_deref(), seconds),
        Command::Miri { short } => miri::run(&workspace_root(), short),
        Command::Test { arguments } => test::run(&workspace_root(), &arguments),
        Command::TestProgram { program, arguments } => test::run_program(&program, &arguments),
        Command::TestWine(args) => test_wine::run(&workspace_root(), &args),
        Command::Walks { verbose } => walks::run(&workspace_root(), verbose),
        Command::Wgpu(args) => test_wine::run_wgpu(&workspace_root(), &args),
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

#[cfg(test)]
mod tests {
    #[test]
    fn the_readme_has_the_program_that_wine_runs() {
        let (readme, program) =
            (include_str!("../../README.md"), include_str!("../../interop/program/readme.rs"));
        assert!(readme.contains(program), "README.md differs from interop/program/readme.rs");
    }
}
