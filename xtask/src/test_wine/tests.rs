//! Running test programs.

use std::path::Path;
use std::time::Duration;

use super::build::TestProgram;
use super::known_gaps::KnownGaps;
use super::process;
use super::summary::Counts;
use super::wine::Wine;
use crate::libtest::{self, LongRunning};

/// Time limit of a test program.
const LIMIT: Duration = Duration::from_secs(1800);

/// Time limit of a single test that is known to fail.
const LIMIT_OF_ONE: Duration = Duration::from_secs(600);

/// Text in the output of a test for which Wine failed to start a process (`ERROR_INTERNAL_ERROR`).
///
/// This happens in about one of twenty runs of all tests and is not caused by the test.
const NOT_STARTED: &str = "Os { code: 1359,";

/// Common settings for running test programs.
pub(super) struct Runner<'a> {
    pub(super) wine: &'a Wine,
    /// Directory for their output.
    pub(super) logs: &'a Path,
    /// Prefix of the names of the files.
    pub(super) step: &'static str,
    pub(super) environment: Vec<(&'static str, String)>,
}

impl Runner<'_> {
    /// Runs the tests of `program`, except those with one of `without` in their names. Known gaps run one at a time,
    /// because they may crash.
    pub(super) fn run(&self, program: &TestProgram, gaps: &KnownGaps, without: &[&str]) -> Counts {
        let skipped: Vec<&str> = without.iter().flat_map(|name| ["--skip", name]).collect();
        self.run_with(program, gaps, &skipped, false)
    }

    /// Runs the known gaps of `program`, and of its other tests those with these names, or all if there are none.
    pub(super) fn run_only(&self, program: &TestProgram, gaps: &KnownGaps, only: &[&str]) -> Counts {
        self.run_with(program, gaps, only, !only.is_empty())
    }

    fn run_with(
        &self,
        program: &TestProgram,
        gaps: &KnownGaps,
        arguments: &[&str],
        is_exact: bool,
    ) -> Counts {
        let mut arguments = arguments.to_vec();
        let gaps: Vec<&str> = gaps.of(&program.name).collect();
        if !gaps.is_empty() || is_exact {
            arguments.push("--exact");
        }
        for &test in &gaps {
            arguments.extend(["--skip", test]);
        }
        let mut counts = self.run_together(program, &arguments).unwrap_or_else(Counts::failure);
        for test in gaps {
            match self.still_fails(program, test) {
                Ok(()) => counts.known_gaps += 1,
                Err(message) => counts.failed.push(message),
            }
        }
        counts
    }

    fn run_together(&self, program: &TestProgram, arguments: &[&str]) -> Result<Counts, String> {
        let name = &program.name;
        let start = || self.start(program, arguments, LIMIT, "").map_err(|error| format!("{name}: {error}"));
        let mut run = start()?;
        if !run.is_success() && run.stdout.contains(NOT_STARTED) {
            eprintln!("running {name} again, because Wine failed to start a process for a test");
            run = start()?;
        }
        if run.was_ended() {
            let tests = LongRunning::at_end_of(&run.stdout);
            if !tests.is_empty() {
                return Err(format!("{name}: {} did not end; {}", tests.join(", "), run.describe()));
            }
        }
        let Some(result) = libtest::read(&run.stdout) else {
            return Err(format!("{name}: {}", run.describe()));
        };
        if run.is_success() != result.failed.is_empty() {
            return Err(format!("{name}: {} tests failed, but it {}", result.failed.len(), run.describe()));
        }
        let mut failed: Vec<String> = result.failed.iter().map(|test| format!("{name}::{test}")).collect();
        if let Some(last) = failed.last_mut() {
            last.push_str(&format!(": {name} {}", run.describe()));
        }
        // Printed by tests whose requirements the device does not meet.
        let skipped = run.stderr.lines().filter(|line| line.contains(": skipped: ")).count();
        Ok(Counts { passed: result.passed, skipped: result.ignored + skipped, known_gaps: 0, failed })
    }

    /// Checks that a known gap still fails. Returns an error if it passes or the test does not exist.
    fn still_fails(&self, program: &TestProgram, test: &str) -> Result<(), String> {
        let name = format!("{}::{test}", program.name);
        let file = format!("-{}", test.replace("::", "-"));
        let run = self.start(program, &["--exact", test], LIMIT_OF_ONE, &file);
        let run = run.map_err(|error| format!("{name}: {error}"))?;
        match libtest::read(&run.stdout) {
            Some(result) if result.passed > 0 => Err(format!("{name} is listed as a known gap, but passes")),
            Some(result) if result.failed.is_empty() => {
                Err(format!("{name} is listed as a known gap, but does not run"))
            }
            _ => Ok(()),
        }
    }

    fn start(
        &self,
        program: &TestProgram,
        arguments: &[&str],
        limit: Duration,
        suffix: &str,
    ) -> Result<process::Run, String> {
        let mut command = self.wine.command(&program.path);
        command.args(arguments).current_dir(&program.folder);
        for (name, value) in &self.environment {
            command.env(name, value);
        }
        let output = self.logs.join(format!("{}-{}{suffix}", self.step, program.name.replace('/', "-")));
        let run = process::run(command, limit, &output)?;
        if run.was_ended() {
            self.wine.end_programs();
        }
        Ok(run)
    }
}
