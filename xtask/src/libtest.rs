//! Output of test programs, which are built with the standard library's test harness, libtest.

use std::time::Instant;

/// The numbers of a `test result:` line, and the names of failed tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TestResult {
    pub(crate) passed: usize,
    pub(crate) ignored: usize,
    pub(crate) failed: Vec<String>,
}

/// Parses the standard output of a test program. Returns `None` if it is incomplete.
pub(crate) fn read(output: &str) -> Option<TestResult> {
    let summary = output.lines().rev().find_map(|line| line.strip_prefix("test result: "))?;
    let count = |what: &str| {
        let words: Vec<&str> = summary.split([' ', ';', '.']).collect();
        let place = words.iter().position(|&word| word == what)?;
        words[place.checked_sub(1)?].parse::<usize>().ok()
    };
    let (passed, failed, ignored) = (count("passed")?, count("failed")?, count("ignored")?);
    // The last section "failures:" has the names; the section before it has the output of the tests.
    let names: Vec<String> = match output.rfind("\nfailures:\n") {
        Some(place) if failed > 0 => output[place..]
            .lines()
            .skip(2)
            .map_while(|line| line.strip_prefix("    "))
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    };
    // If the number of names differs, the output was not parsed correctly.
    (names.len() == failed).then_some(TestResult { passed, ignored, failed: names })
}

/// Tests that the harness reported because they run for more than 60 seconds, and that have not ended since.
#[derive(Debug, Default)]
pub(crate) struct LongRunning {
    tests: Vec<(String, Instant)>,
}

impl LongRunning {
    /// Reads a line of standard output that was printed at `now`.
    pub(crate) fn add_line(&mut self, line: &str, now: Instant) {
        let Some(line) = line.strip_prefix("test ") else { return };
        if let Some(test) = line.strip_suffix(" has been running for over 60 seconds") {
            self.tests.push((test.to_owned(), now));
        } else if let Some((ended, _)) = line.split_once(" ... ") {
            // The name may be followed by spaces, and by " - should panic" and the like.
            self.tests.retain(|(test, _)| {
                ended
                    .strip_prefix(test.as_str())
                    .is_none_or(|rest| !rest.is_empty() && !rest.starts_with(' '))
            });
        }
    }

    /// Returns the test that was reported first, and when it was.
    pub(crate) fn first(&self) -> Option<(&str, Instant)> {
        self.tests.first().map(|(test, since)| (test.as_str(), *since))
    }

    /// Returns the tests that run at the end of a program's output.
    pub(crate) fn at_end_of(output: &str) -> Vec<String> {
        let (mut running, now) = (Self::default(), Instant::now());
        output.lines().for_each(|line| running.add_line(line, now));
        running.tests.into_iter().map(|(test, _)| test).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_runs_until_its_result() {
        let output = "\nrunning 5 tests\ntest a::b has been running for over 60 seconds\ntest a ... ok\n\
                      test c has been running for over 60 seconds\n\
                      test d has been running for over 60 seconds\ntest a::bc ... ok\n";
        assert_eq!(LongRunning::at_end_of(output), ["a::b", "c", "d"]);
        let more = format!("{output}test a::b ... FAILED\ntest c - should panic ... ok\n");
        assert_eq!(LongRunning::at_end_of(&more), ["d"]);
        assert!(LongRunning::at_end_of(&format!("{more}test d   ... ok\n")).is_empty());
    }

    #[test]
    fn a_result_without_failures() {
        let output = "\nrunning 3 tests\ntest a ... ok\ntest b ... ignored\ntest c ... ok\n\n\
                      test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.10s\n\n";
        let expected = TestResult { passed: 2, ignored: 1, failed: vec![] };
        assert_eq!(read(output), Some(expected));
    }

    #[test]
    fn failures_are_named() {
        let output = "\nrunning 3 tests\ntest a ... ok\ntest b::c ... FAILED\ntest d ... FAILED\n\nfailures:\n\n\
                      ---- b::c stdout ----\nassertion failed\n\nfailures:\n    b::c\n    d\n\n\
                      test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s\n\n";
        let expected = TestResult { passed: 1, ignored: 0, failed: vec!["b::c".to_owned(), "d".to_owned()] };
        assert_eq!(read(output), Some(expected));
    }

    #[test]
    fn a_program_that_ended_early_has_no_result() {
        assert_eq!(read("\nrunning 3 tests\ntest a ... ok\n"), None);
        assert_eq!(read(""), None);
        assert_eq!(read("test result: something else\n"), None);
        let cut = "test a ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured\n";
        assert_eq!(read(cut), None, "the failed test is not named");
    }
}
