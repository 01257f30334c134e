//! C and C++ programs that use the runtime's DLL.

use std::process::Command;
use std::time::Duration;

use super::super::process::Run;
use super::super::summary::Counts;
use super::Place;
use crate::command;

const LIMIT: Duration = Duration::from_secs(600);

/// Runs the C program, which has its own declarations.
pub(super) fn c(place: &Place<'_>) -> Result<Counts, String> {
    let options = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1"];
    run(place, "x86_64-w64-mingw32-gcc", &options, "program.c")
}

/// Runs the C++ programs, which use Debian's package of the official headers: one uses memory, the other contains
/// startup code of applications.
pub(super) fn cpp(place: &Place<'_>) -> Result<Counts, String> {
    let options = [
        "-std=c++17",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-O1",
        "-static",
        "-isystem",
        "/usr/include/directx",
        "-isystem",
        "/usr/include/dxguids",
    ];
    let mut passed = 0;
    for source in ["program.cpp", "startup.cpp"] {
        passed += run(place, "x86_64-w64-mingw32-g++", &options, source)?.passed;
    }
    Ok(Counts { passed, ..Counts::default() })
}

/// Compiles a program of crates/runtime-cdylib/tests and runs it with the DLL's path. Its output has the number of
/// checks.
fn run(place: &Place<'_>, compiler: &str, options: &[&str], source: &str) -> Result<Counts, String> {
    let program = place.folder.join(source).with_added_extension("exe");
    let mut command = Command::new(compiler);
    command.args(options).arg("-o").arg(&program);
    command::output(command.arg(place.root.join("crates/runtime-cdylib/tests").join(source)))?;
    let mut command = place.wine.command(&program);
    command.arg(place.built.runtime()?);
    let run = place.run(command, LIMIT, source)?;
    checks(&run).ok_or_else(|| format!("{source}: {}", run.describe()))
}

/// Returns the number of checks that a C or C++ program made, if all is well.
pub(super) fn checks(run: &Run) -> Option<Counts> {
    let count =
        run.stdout.lines().find_map(|line| line.strip_prefix("all is well: ")?.strip_suffix(" checks"))?;
    let passed = count.parse().ok().filter(|_| run.is_success())?;
    Some(Counts { passed, ..Counts::default() })
}
