//! Starts the benches of `bench/`, which compare our suballocators with those of other projects.
//!
//! They are not here themselves: what a package's benches depend on, its tests depend on too, and nobody who tests heapwright should
//! have to build the rivals, of which one is C++. So `bench/` is a package of its own, and this builds it when benches are run, and only then.
//! Arguments are handed on: `cargo bench -p heapwright-core -- S1`.
#![allow(clippy::print_stderr, reason = "a program that talks to whoever runs benches")]

use std::path::Path;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    // Cargo says --bench to benches that it runs as such; `cargo test --benches` does not, and there is nothing to test.
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
