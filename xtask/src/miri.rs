//! `cargo xtask miri`: runs tests of `crates/core` in Miri, which detects undefined behaviour and data races.
//!
//! The crate has no `unsafe`, so Miri checks its dependencies, and the use of memory orderings independently of a
//! processor.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command;

/// Tests that take half a minute in total: threads that share a set of heaps, and the slots of slabs.
const SHORT: &[&str] = &["threads_share_slabs", "suballoc::slab::slots"];

/// Runs all tests of the crate, or those in [`SHORT`].
pub(crate) fn run(root: &Path, is_short: bool) -> Result<(), String> {
    install()?;
    let filters = if is_short { SHORT } else { &[""] };
    for filter in filters {
        let mut command = Command::new("cargo");
        command.arg(format!("+{}", crate::NIGHTLY)).args(["miri", "test", "-p", "heapwright-core"]);
        if is_short {
            command.args(["--lib", filter]);
        }
        let failed = |error| format!("running cargo miri: {error}");
        let mut child = command.current_dir(root).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let mut count = 0;
        for line in child.stdout.take().into_iter().flat_map(|stdout| BufReader::new(stdout).lines()) {
            let line = line.map_err(failed)?;
            println!("{line}");
            count += passed(&line);
        }
        if !child.wait().map_err(failed)?.success() {
            return Err("a test failed in Miri".to_owned());
        }
        if count == 0 {
            return Err(format!("no test of heapwright-core matches the filter {filter:?}"));
        }
    }
    Ok(())
}

/// Returns the number of passed tests that the last line of a test program states; zero for any other line.
fn passed(line: &str) -> u32 {
    let count = line.strip_prefix("test result: ok. ").and_then(|rest| rest.split_once(" passed"));
    count.and_then(|(count, _)| count.parse().ok()).unwrap_or(0)
}

fn install() -> Result<(), String> {
    let mut rustup = Command::new("rustup");
    rustup.args(["component", "add", "--toolchain", crate::NIGHTLY, "miri", "rust-src"]);
    command::run(&mut rustup)
}

#[cfg(test)]
mod tests {
    use super::passed;

    #[test]
    fn passed_tests_are_counted() {
        let line = |count| {
            format!("test result: ok. {count} passed; 0 failed; 0 ignored; 7 filtered out; finished in 1.2s")
        };
        assert_eq!([0, 1, 31].map(|count| passed(&line(count))), [0, 1, 31]);
        assert_eq!(passed("test suballoc::slab::slots::tests::slots_are_used_again ... ok"), 0);
    }
}
