//! Isolation of checks in separate processes, so that a check that crashes or hangs fails and the remaining checks run.
//!
//! Checks run in batches, one process each. If a process crashes or hangs, its current check runs again alone. If that
//! fails too, the check is the cause. Otherwise the cause is an earlier check of the batch, which a binary search
//! finds.

use heapwright_conformance::{Check, CheckReport, Outcome, Report};

/// Number of checks per process.
const BATCH: usize = 64;

/// Runs checks in separate processes.
pub(super) trait Processes {
    /// Runs checks in order in a new process, and calls `each` with each check's report.
    fn run(&mut self, checks: &[&'static Check], each: &mut dyn FnMut(CheckReport)) -> End;
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The process ran all checks and exited successfully.
    Done,
    /// The process crashed or exceeded the time limit.
    Broken {
        /// The check that was running, or `None` after the last check that the process finished.
        during: Option<&'static str>,
        /// A description such as "the process was terminated by signal 11".
        how: String,
    },
    /// The device could not be opened, or the process could not be started.
    CannotRun(String),
}

/// Runs checks, and calls `each` with each check's report. It is called again for a check that made a later one crash.
///
/// # Errors
///
/// Returns an error if the device cannot be opened or a process cannot be started.
pub(super) fn run(
    checks: &[&'static Check],
    processes: &mut impl Processes,
    each: &mut dyn FnMut(&CheckReport),
) -> Result<Report, String> {
    let mut runner = Runner { processes, each, report: Report::default() };
    for batch in checks.chunks(BATCH) {
        let mut rest = batch;
        while !rest.is_empty() {
            rest = runner.run(rest)?;
        }
    }
    let Runner { mut report, .. } = runner;
    report.checks.sort_by_key(|ended| checks.iter().position(|check| check.id == ended.check.id));
    Ok(report)
}

struct Runner<'a, P> {
    processes: &'a mut P,
    each: &'a mut dyn FnMut(&CheckReport),
    report: Report,
}

impl<P: Processes> Runner<'_, P> {
    /// Runs checks in a process, and returns the checks that did not run because the process crashed.
    fn run<'c>(&mut self, checks: &'c [&'static Check]) -> Result<&'c [&'static Check], String> {
        let (report, each) = (&mut self.report, &mut *self.each);
        let end = self.processes.run(checks, &mut |ended| {
            each(&ended);
            report.checks.push(ended);
        });
        let position = |id: &str| checks.iter().position(|check| check.id == id);
        match end {
            End::CannotRun(reason) => Err(reason),
            End::Done => {
                self.fail_missing(checks);
                Ok(&[])
            }
            End::Broken { during: Some(id), how } => {
                let Some((before, [suspect, rest @ ..])) = position(id).map(|at| checks.split_at(at)) else {
                    return Err(how);
                };
                self.fail_missing(before);
                self.rerun(before, suspect, &how)?;
                Ok(rest)
            }
            End::Broken { during: None, how } => {
                // After the last check that finished.
                let ended = self.report.checks.iter().filter_map(|ended| position(ended.check.id)).max();
                let Some((before, rest)) = ended.map(|last| checks.split_at(last + 1)) else {
                    return Err(how);
                };
                self.fail_missing(before);
                self.find_cause(before, None, &how)?;
                Ok(rest)
            }
        }
    }

    /// Fails the checks without a report. A line of the output is lost if the device's library writes into it.
    fn fail_missing(&mut self, checks: &[&'static Check]) {
        let is_reported =
            |check: &&&'static Check| self.report.checks.iter().any(|ended| ended.check.id == check.id);
        let missing: Vec<&'static Check> =
            checks.iter().filter(|check| !is_reported(check)).copied().collect();
        for check in missing {
            self.fail(check, "the process did not report a result".to_owned());
        }
    }

    /// Runs a check in which a process crashed again, alone, to tell whether it or an earlier check is the cause.
    fn rerun(&mut self, before: &[&'static Check], suspect: &'static Check, how: &str) -> Result<(), String> {
        let mut alone = None;
        match self.processes.run(&[suspect], &mut |ended| alone = Some(ended)) {
            End::CannotRun(reason) => Err(reason),
            End::Broken { how, .. } => {
                self.fail(suspect, how);
                Ok(())
            }
            End::Done => {
                let is_found = self.find_cause(before, Some(suspect), how)?;
                match alone.filter(|_| is_found) {
                    Some(ended) => {
                        (self.each)(&ended);
                        self.report.checks.push(ended);
                    }
                    None => self.fail(suspect, format!("{how}; not reproduced when the check ran again")),
                }
                Ok(())
            }
        }
    }

    /// Searches `before` for the check that makes the process crash, in `suspect` or after all checks, and fails it.
    /// Returns whether there is one; a crash may not be reproducible.
    fn find_cause(
        &mut self,
        before: &[&'static Check],
        suspect: Option<&'static Check>,
        how: &str,
    ) -> Result<bool, String> {
        if !self.breaks(before, suspect)? {
            if let (None, Some(last)) = (suspect, before.last()) {
                self.fail(last, format!("after the check, {how}; not reproduced when the checks ran again"));
            }
            return Ok(false);
        }
        // Invariant: the process crashes when started with `first`, and not when started with `end`.
        let (mut first, mut end) = (0, before.len());
        while end - first > 1 {
            let middle = first + (end - first) / 2;
            if self.breaks(&before[middle..], suspect)? { first = middle } else { end = middle }
        }
        let Some(culprit) = before.get(first) else { return Ok(false) };
        let place =
            suspect.map_or_else(|| "after the check".to_owned(), |later| format!("later, in {}", later.id));
        self.fail(culprit, format!("{place}, {how}"));
        Ok(true)
    }

    fn breaks(&mut self, before: &[&'static Check], suspect: Option<&'static Check>) -> Result<bool, String> {
        let checks: Vec<&'static Check> = before.iter().copied().chain(suspect).collect();
        match self.processes.run(&checks, &mut |_| ()) {
            End::Done => Ok(false),
            End::Broken { .. } => Ok(true),
            End::CannotRun(reason) => Err(reason),
        }
    }

    /// Reports a check as failed, replacing an earlier result.
    fn fail(&mut self, check: &'static Check, detail: String) {
        let failed = CheckReport { check, outcome: Outcome::Failed, detail };
        (self.each)(&failed);
        self.report.checks.retain(|ended| ended.check.id != check.id);
        self.report.checks.push(failed);
    }
}

#[cfg(test)]
mod tests {
    use heapwright_conformance::checks;

    use super::*;

    /// A device that some checks crash.
    #[derive(Default)]
    struct Fragile {
        /// Checks that crash the process.
        crashes: Vec<usize>,
        /// Two checks; the second crashes the process if the first ran before it.
        poisons: Option<(usize, usize)>,
        /// A check that makes the process crash after all checks.
        crashes_at_exit: Option<usize>,
        /// A check that crashes the process the first time.
        once: Option<usize>,
        /// A check whose result is not reported.
        unreported: Option<usize>,
        runs: usize,
    }

    fn index(check: &Check) -> usize {
        checks::all().position(|one| one.id == check.id).expect("a registered check")
    }

    impl Processes for Fragile {
        fn run(&mut self, checks: &[&'static Check], each: &mut dyn FnMut(CheckReport)) -> End {
            self.runs += 1;
            let mut ran = Vec::new();
            for check in checks {
                let at = index(check);
                let is_poisoned =
                    self.poisons.is_some_and(|(first, then)| at == then && ran.contains(&first));
                let is_once = self.once == Some(at) && self.once.take().is_some();
                if self.crashes.contains(&at) || is_poisoned || is_once {
                    return End::Broken { during: Some(check.id), how: "it crashed".to_owned() };
                }
                ran.push(at);
                let (outcome, detail) = (Outcome::Passed, "fine".to_owned());
                if self.unreported != Some(at) {
                    each(CheckReport { check, outcome, detail });
                }
            }
            match self.crashes_at_exit {
                Some(at) if ran.contains(&at) => End::Broken { during: None, how: "it crashed".to_owned() },
                _ => End::Done,
            }
        }
    }

    /// Runs the first 200 checks and returns indices and details of those that failed. Each must be reported once.
    fn failed(mut device: Fragile) -> Vec<(usize, String)> {
        let requested: Vec<&'static Check> = checks::all().take(200).collect();
        let mut streamed = Vec::new();
        let report =
            run(&requested, &mut device, &mut |ended| streamed.push((ended.check.id, ended.outcome)));
        let report = report.expect("the device opens");
        let ids: Vec<&str> = report.checks.iter().map(|ended| ended.check.id).collect();
        assert_eq!(ids, requested.iter().map(|check| check.id).collect::<Vec<_>>(), "each once, in order");
        assert!(device.runs <= 4 + 12, "{} processes", device.runs);
        for ended in report.failed() {
            assert!(
                streamed.contains(&(ended.check.id, Outcome::Failed)),
                "{} was not streamed",
                ended.check.id
            );
        }
        report.failed().map(|ended| (index(ended.check), ended.detail.clone())).collect()
    }

    #[test]
    fn checks_that_crash_fail_and_the_others_run() {
        assert_eq!(failed(Fragile::default()), []);
        let crashed = "it crashed".to_owned();
        for crashes in [vec![0], vec![63], vec![64], vec![199], vec![5, 6, 7]] {
            let expected: Vec<_> = crashes.iter().map(|&at| (at, crashed.clone())).collect();
            assert_eq!(failed(Fragile { crashes, ..Fragile::default() }), expected);
        }
    }

    #[test]
    fn a_check_that_makes_a_later_one_crash_is_found() {
        let ids: Vec<&str> = checks::all().map(|check| check.id).collect();
        for poisons in [(0, 1), (0, 63), (20, 41), (62, 63), (70, 100)] {
            let device = Fragile { poisons: Some(poisons), ..Fragile::default() };
            let expected = format!("later, in {}, it crashed", ids[poisons.1]);
            assert_eq!(failed(device), [(poisons.0, expected)], "{poisons:?}");
        }
    }

    #[test]
    fn a_check_that_makes_the_process_crash_at_exit_is_found() {
        for at in [0, 13, 63, 64, 199] {
            let device = Fragile { crashes_at_exit: Some(at), ..Fragile::default() };
            assert_eq!(failed(device), [(at, "after the check, it crashed".to_owned())]);
        }
    }

    #[test]
    fn a_crash_that_is_not_reproduced_fails_the_check() {
        let device = Fragile { once: Some(30), ..Fragile::default() };
        assert_eq!(failed(device), [(30, "it crashed; not reproduced when the check ran again".to_owned())]);
    }

    #[test]
    fn a_check_without_result_fails() {
        let unreported = (70, "the process did not report a result".to_owned());
        let device = Fragile { unreported: Some(70), ..Fragile::default() };
        assert_eq!(failed(device), std::slice::from_ref(&unreported));
        let device = Fragile { unreported: Some(70), crashes: vec![72], ..Fragile::default() };
        assert_eq!(failed(device), [unreported, (72, "it crashed".to_owned())]);
    }

    #[test]
    fn without_a_device_nothing_runs() {
        struct Nothing;
        impl Processes for Nothing {
            fn run(&mut self, _: &[&'static Check], _: &mut dyn FnMut(CheckReport)) -> End {
                End::CannotRun("no device".to_owned())
            }
        }
        let requested: Vec<&'static Check> = checks::all().take(2).collect();
        assert_eq!(run(&requested, &mut Nothing, &mut |_| ()).err(), Some("no device".to_owned()));
    }
}
