//! Output of test programs.

/// The numbers of a `test result:` line, and the names of failed tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TestResult {
    pub(super) passed: usize,
    pub(super) ignored: usize,
    pub(super) failed: Vec<String>,
}

/// Parses the standard output of a test program. Returns `None` if it is incomplete.
pub(super) fn read(output: &str) -> Option<TestResult> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
