//! `cargo xtask miri`: runs tests of `crates/core` in Miri, which detects undefined behaviour and data races.
//!
//! The crate has no `unsafe`, so Miri checks its dependencies, and the use of memory orderings independently of a processor.

use std::path::Path;
use std::process::Command;

/// Tests that take half a minute in total: threads that share a set of heaps, and the slots of slabs.
const SHORT: &[&str] = &["threads_share_slabs", "suballoc::slab::slots"];

/// Runs all tests of the crate, or those in [`SHORT`].
pub(crate) fn run(root: &Path, is_short: bool) -> Result<(), String> {
    install()?;
    let filters = if is_short { SHORT } else { &[""] };
    for filter in filters {
        let mut command = Command::new("cargo");
        command.args(["+nightly", "miri", "test", "-p", "heapwright-core"]);
        if is_short {
            command.args(["--lib", filter]);
        }
        let status =
            command.current_dir(root).status().map_err(|error| format!("starting cargo miri: {error}"))?;
        if !status.success() {
            return Err("a test failed in Miri".to_owned());
        }
    }
    Ok(())
}

fn install() -> Result<(), String> {
    let status = Command::new("rustup")
        .args(["component", "add", "--toolchain", "nightly", "miri", "rust-src"])
        .status()
        .map_err(|error| format!("starting rustup: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err("rustup could not add miri to the nightly toolchain".to_owned())
    }
}
