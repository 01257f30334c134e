//! Runs the benches of `bench/`, which compare the suballocators with those of other projects.
//!
//! The benches are in a package of their own, because a package's tests share the dependencies of its
//! benches, and testing heapwright must not require building the other projects, one of which is C++. This
//! program builds that package, and only when benches are run. It forwards its arguments: `cargo bench -p
//! heapwright-core -- S1`.
#![allow(clippy::print_stderr, reason = "a program that talks to whoever runs benches")]

use std::path::Path;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    // Cargo passes --bench only to `cargo bench`. `cargo test --benches` has nothing to run here.
    let (modes, arguments): (Vec<_>, Vec<_>) =
        std::env::args_os().skip(1).partition(|argument| argument == "--bench");
    if modes.is_empty() {
        return ExitCode::SUCCESS;
    }
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/Cargo.toml");
    if !manifest.exists() {
        eprintln!(
            "error: there is no {}; the benches are in heapwright's repository only",
            manifest.display()
        );
        return ExitCode::FAILURE;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["bench", "--bench", "suballoc", "--manifest-path"])
        .arg(manifest)
        .arg("--")
        .args(arguments)
        .status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: starting cargo: {error}");
            ExitCode::FAILURE
        }
    }
}
