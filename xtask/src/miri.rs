//! Runs tests of `crates/core` in Miri, which finds undefined behaviour, data races among it.
//!
//! The crate has no `unsafe`, so what Miri could find is in what it rests on; and its threads are tested with the memory
//! orders of no particular processor.

use std::path::Path;
use std::process::Command;

/// What takes half a minute: threads with a set of heaps, and the records of slots.
const SHORT: &[&str] = &["threads_get_ranges_of_their_own", "suballoc::slab::slots"];

/// Runs all of the crate's tests, as long as Miri takes, or a few that are quick.
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
