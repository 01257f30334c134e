//! Checks in processes of their own: one that ends its process, or does not end, fails with its name, and the rest goes on.
//!
//! Checks run in batches, one process each. Where a process breaks, the check that it was in is run again alone. If that breaks,
//! too, it is to blame; if not, one of those before it is, which is found by running fewer and fewer of them before it.

use heapwright_conformance::{Check, CheckReport, Outcome, Report};

/// Checks in one process.
const BATCH: usize = 64;

/// Runs checks in a process of their own.
pub(super) trait Processes {
    /// Runs checks in their order, and hands each report on as it comes.
    fn run(&mut self, checks: &[&'static Check], each: &mut dyn FnMut(CheckReport)) -> End;
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It did all that it was asked for.
    Done,
    /// It broke, in a check or behind the last that it ended.
    Broken {
        /// In which check.
        during: Option<&'static str>,
        /// What happened: "the process was ended by signal 11".
        how: String,
    },
    /// No device opens, or no process starts.
    CannotRun(String),
}

/// Runs checks, and hands each report on as it comes; one that turns out to have broken a later check comes again.
///
/// # Errors
///
/// No device opens, or no process starts.
pub(super) fn run(
    checks: &[&'static Check],
    processes: &mut impl Processes,
    each: &mut dyn FnMut(&CheckReport),
) -> Result<Report, String> {
    let mut judge = Judge { processes, each, report: Report::default() };
    for batch in checks.chunks(BATCH) {
        let mut rest = batch;
        while !rest.is_empty() {
            rest = judge.run(rest)?;
        }
    }
    let Judge { mut report, .. } = judge;
    report.checks.sort_by_key(|ended| checks.iter().position(|check| check.id == ended.check.id));
    Ok(report)
}

struct Judge<'a, P> {
    processes: &'a mut P,
    each: &'a mut dyn FnMut(&CheckReport),
    report: Report,
}

impl<P: Processes> Judge<'_, P> {
    /// Runs checks, and answers those that are left because the process broke.
    fn run<'c>(&mut self, checks: &'c [&'static Check]) -> Result<&'c [&'static Check], String> {
        let (report, each) = (&mut self.report, &mut *self.each);
        let end = self.processes.run(checks, &mut |ended| {
            each(&ended);
            report.checks.push(ended);
        });
        let place = |id: &str| checks.iter().position(|check| check.id == id);
        match end {
            End::CannotRun(reason) => Err(reason),
            End::Done => {
                self.fail_missing(checks);
                Ok(&[])
            }
            End::Broken { during: Some(id), how } => {
                let Some((before, [suspect, rest @ ..])) = place(id).map(|at| checks.split_at(at)) else {
                    return Err(how);
                };
                self.fail_missing(before);
                self.again(before, suspect, &how)?;
                Ok(rest)
            }
            End::Broken { during: None, how } => {
                // Behind the last that ended.
                let ended = self.report.checks.iter().filter_map(|ended| place(ended.check.id)).max();
                let Some((before, rest)) = ended.map(|last| checks.split_at(last + 1)) else {
                    return Err(how);
                };
                self.fail_missing(before);
                self.blame(before, None, &how)?;
                Ok(rest)
            }
        }
    }

    /// Fails the checks of which nothing was said: a device's library may have talked into a line.
    fn fail_missing(&mut self, checks: &[&'static Check]) {
        let is_said =
            |check: &&&'static Check| self.report.checks.iter().any(|ended| ended.check.id == check.id);
        let missing: Vec<&'static Check> = checks.iter().filter(|check| !is_said(check)).copied().collect();
        for check in missing {
            self.fails(check, "the process did not say how the check ended".to_owned());
        }
    }

    /// Runs a check that a process broke in alone: it is to blame, or one before it.
    fn again(&mut self, before: &[&'static Check], suspect: &'static Check, how: &str) -> Result<(), String> {
        let mut alone = None;
        match self.processes.run(&[suspect], &mut |ended| alone = Some(ended)) {
            End::CannotRun(reason) => Err(reason),
            End::Broken { how, .. } => {
                self.fails(suspect, how);
                Ok(())
            }
            End::Done => {
                let is_found = self.blame(before, Some(suspect), how)?;
                match alone.filter(|_| is_found) {
                    Some(ended) => {
                        (self.each)(&ended);
                        self.report.checks.push(ended);
                    }
                    None => self.fails(suspect, format!("{how}, and did not when the check ran again")),
                }
                Ok(())
            }
        }
    }

    /// Finds the check of those before after which a process breaks, in `suspect` or behind all of them. Answers whether there is
    /// one: what broke once need not break again.
    fn blame(
        &mut self,
        before: &[&'static Check],
        suspect: Option<&'static Check>,
        how: &str,
    ) -> Result<bool, String> {
        if !self.breaks(before, suspect)? {
            if let (None, Some(last)) = (suspect, before.last()) {
                self.fails(last, format!("behind the check {how}, and did not when the checks ran again"));
            }
            return Ok(false);
        }
        // From the first one on it breaks, from behind the last it does not.
        let (mut first, mut end) = (0, before.len());
        while end - first > 1 {
            let middle = first + (end - first) / 2;
            if self.breaks(&before[middle..], suspect)? { first = middle } else { end = middle }
        }
        let Some(culprit) = before.get(first) else { return Ok(false) };
        let place =
            suspect.map_or_else(|| "behind the check".to_owned(), |later| format!("later, in {},", later.id));
        self.fails(culprit, format!("{place} {how}"));
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

    /// A check has failed, whatever was said of it before.
    fn fails(&mut self, check: &'static Check, detail: String) {
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

    /// A device that some checks break, at once or later.
    #[derive(Default)]
    struct Fragile {
        /// Checks that end the process.
        crashes: Vec<usize>,
        /// After the first the second ends the process.
        poisons: Option<(usize, usize)>,
        /// After it the process ends badly, when all have ended.
        spoils_the_end: Option<usize>,
        /// The process ends in it once.
        once: Option<usize>,
        /// The process does not say how it ended.
        unsaid: Option<usize>,
        runs: usize,
    }

    fn place(check: &Check) -> usize {
        checks::all().position(|one| one.id == check.id).expect("a check that there is")
    }

    impl Processes for Fragile {
        fn run(&mut self, checks: &[&'static Check], each: &mut dyn FnMut(CheckReport)) -> End {
            self.runs += 1;
            let mut ran = Vec::new();
            for check in checks {
                let at = place(check);
                let is_poisoned =
                    self.poisons.is_some_and(|(first, then)| at == then && ran.contains(&first));
                let is_once = self.once == Some(at) && self.once.take().is_some();
                if self.crashes.contains(&at) || is_poisoned || is_once {
                    return End::Broken { during: Some(check.id), how: "it broke".to_owned() };
                }
                ran.push(at);
                let (outcome, detail) = (Outcome::Passed, "fine".to_owned());
                if self.unsaid != Some(at) {
                    each(CheckReport { check, outcome, detail });
                }
            }
            match self.spoils_the_end {
                Some(at) if ran.contains(&at) => End::Broken { during: None, how: "it broke".to_owned() },
                _ => End::Done,
            }
        }
    }

    /// Places and details of what failed of the first 200 checks, all of which must be judged once.
    fn failed(mut device: Fragile) -> Vec<(usize, String)> {
        let asked: Vec<&'static Check> = checks::all().take(200).collect();
        let mut heard = Vec::new();
        let report = run(&asked, &mut device, &mut |ended| heard.push((ended.check.id, ended.outcome)));
        let report = report.expect("devices open");
        let ids: Vec<&str> = report.checks.iter().map(|ended| ended.check.id).collect();
        assert_eq!(ids, asked.iter().map(|check| check.id).collect::<Vec<_>>(), "each once, in their order");
        assert!(device.runs <= 4 + 12, "{} processes", device.runs);
        for ended in report.failed() {
            assert!(
                heard.contains(&(ended.check.id, Outcome::Failed)),
                "{} was not streamed",
                ended.check.id
            );
        }
        report.failed().map(|ended| (place(ended.check), ended.detail.clone())).collect()
    }

    #[test]
    fn checks_that_end_their_process_fail_and_the_rest_goes_on() {
        assert_eq!(failed(Fragile::default()), []);
        let broke = "it broke".to_owned();
        for crashes in [vec![0], vec![63], vec![64], vec![199], vec![5, 6, 7]] {
            let expected: Vec<_> = crashes.iter().map(|&at| (at, broke.clone())).collect();
            assert_eq!(failed(Fragile { crashes, ..Fragile::default() }), expected);
        }
    }

    #[test]
    fn a_check_that_breaks_a_later_one_is_found() {
        let ids: Vec<&str> = checks::all().map(|check| check.id).collect();
        for poisons in [(0, 1), (0, 63), (20, 41), (62, 63), (70, 100)] {
            let device = Fragile { poisons: Some(poisons), ..Fragile::default() };
            let expected = format!("later, in {}, it broke", ids[poisons.1]);
            assert_eq!(failed(device), [(poisons.0, expected)], "{poisons:?}");
        }
    }

    #[test]
    fn a_check_after_which_the_process_ends_badly_is_found() {
        for at in [0, 13, 63, 64, 199] {
            let device = Fragile { spoils_the_end: Some(at), ..Fragile::default() };
            assert_eq!(failed(device), [(at, "behind the check it broke".to_owned())]);
        }
    }

    #[test]
    fn what_broke_once_is_told() {
        let device = Fragile { once: Some(30), ..Fragile::default() };
        assert_eq!(failed(device), [(30, "it broke, and did not when the check ran again".to_owned())]);
    }

    #[test]
    fn a_check_of_which_nothing_is_said_fails() {
        let unsaid = (70, "the process did not say how the check ended".to_owned());
        let device = Fragile { unsaid: Some(70), ..Fragile::default() };
        assert_eq!(failed(device), std::slice::from_ref(&unsaid));
        let device = Fragile { unsaid: Some(70), crashes: vec![72], ..Fragile::default() };
        assert_eq!(failed(device), [unsaid, (72, "it broke".to_owned())]);
    }

    #[test]
    fn without_a_device_nothing_runs() {
        struct Nothing;
        impl Processes for Nothing {
            fn run(&mut self, _: &[&'static Check], _: &mut dyn FnMut(CheckReport)) -> End {
                End::CannotRun("no device".to_owned())
            }
        }
        let asked: Vec<&'static Check> = checks::all().take(2).collect();
        assert_eq!(run(&asked, &mut Nothing, &mut |_| ()).err(), Some("no device".to_owned()));
    }
}
