//! `cargo xtask test-wine`: builds everything for Windows and runs it in Wine, on the runtime and on Wine's Direct3D
//! 12.
//!
//! - [`build`]: the build for all steps.
//! - [`wine`]: a Wine prefix and a display.
//! - [`process`]: programs with a time limit.
//! - [`tests`]: test programs.
//! - [`known_gaps`]: tests that are known to fail on Wine's Direct3D 12.
//! - [`steps`]: the steps.
//! - [`summary`]: the results.
//! - [`wgpu`]: `cargo xtask wgpu`, wgpu on heapwright beside wgpu as it is.

mod build;
mod known_gaps;
mod process;
mod steps;
mod summary;
mod tests;
mod wgpu;
mod wine;

use std::cell::OnceCell;
use std::fs;
use std::path::Path;
use std::time::Instant;

use self::steps::{Place, Step};
use self::summary::{Row, Summary};
pub(crate) use self::wgpu::{Args as WgpuArgs, run as run_wgpu};
use self::wine::Wine;

/// Target of the build.
const TARGET: &str = "x86_64-pc-windows-gnu";

/// Arguments of `cargo xtask test-wine`.
#[derive(clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    /// Run only this step; may be repeated.
    #[arg(long, value_name = "STEP", value_enum)]
    only: Vec<Step>,
    /// Leave out what takes long and hardly depends on the system, as `.ci/run` does.
    #[arg(long)]
    short: bool,
    /// Build only.
    #[arg(long, conflicts_with = "only")]
    no_run: bool,
}

const HELP: &str = "\
Requires Wine, Xvfb, lavapipe (Vulkan on the CPU), mingw, clang, the D3D12 headers, and Rust's target
x86_64-pc-windows-gnu: `.ci/install` installs them on Debian. Everything that is written stays below
target/wine: a new Wine prefix, and what each program wrote, in logs/. Nothing that was started
outlives the command.

A step fails if a test or check fails, if a program does not end in its time, or if something that is
listed as a known gap of Wine's is none (any more). The lists, with the reasons, are
xtask/src/test_wine/known_gaps/*.txt.

Exit codes: 0 success; 1 a step failed or could not be run.

Example:
  cargo xtask test-wine --only tests";

/// Builds everything, runs the steps and prints the results.
pub(crate) fn run(root: &Path, args: &Args) -> Result<(), String> {
    if args.no_run {
        build::build(root)?;
        return build::build_interop(root, &crate::target_folder(root)).map(drop);
    }
    require_programs()?;
    let start = Instant::now();
    eprintln!("building for {TARGET}");
    let built = build::build(root)?;
    let mut summary = Summary { build: start.elapsed(), ..Summary::default() };

    let target_folder = crate::target_folder(root);
    let folder = target_folder.join("wine");
    let logs = folder.join("logs");
    fs::create_dir_all(&logs).map_err(|error| format!("{}: {error}", logs.display()))?;
    let wine = Wine::start(&folder)?;
    wine::add_shim(&wine, &folder)?;

    let place = Place {
        root,
        target_folder: &target_folder,
        folder: &folder,
        logs: &logs,
        wine: &wine,
        built: &built,
        is_short: args.short,
        gpgmm_programs: OnceCell::new(),
    };
    steps::remove(&place.device_tests())?;
    for step in Step::all().filter(|step| args.only.is_empty() || args.only.contains(step)) {
        eprintln!("running: {}", step.name());
        let start = Instant::now();
        let counts = step.run(&place);
        for failure in &counts.failed {
            eprintln!("failed: {failure}");
        }
        summary.rows.push(Row { step: step.name(), device: step.device(), counts, took: start.elapsed() });
    }
    println!("{summary}");
    match summary.failed() {
        0 => Ok(()),
        failed => Err(format!("{failed} failed in Wine")),
    }
}

/// Returns an error that names the programs that are missing.
fn require_programs() -> Result<(), String> {
    const PROGRAMS: [&str; 5] = ["wine", "Xvfb", "cc", "clang++", "x86_64-w64-mingw32-g++"];
    let is_there = |program: &str| {
        std::env::var_os("PATH")
            .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
    };
    let missing: Vec<&str> = PROGRAMS.into_iter().filter(|program| !is_there(program)).collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(format!("programs not found: {}; `.ci/install` installs them on Debian", missing.join(", ")))
    }
}
