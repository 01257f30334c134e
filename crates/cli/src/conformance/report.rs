//! What `heapwright conformance` prints.

use std::collections::BTreeMap;
use std::fmt;

use heapwright_conformance::{CheckReport, Outcome, Report};
use serde::Serialize;

use super::table::{self, Area};
use crate::format;

/// All checks of one device; its JSON form is stable and documented in the help of `heapwright conformance`.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ConformanceReport {
    /// What `--device` takes.
    device: String,
    passed: usize,
    failed: usize,
    skipped: usize,
    checks: Vec<CheckLine>,
}

/// One check.
#[derive(Clone, Debug, Serialize)]
struct CheckLine {
    id: &'static str,
    /// The place in the specification.
    spec: &'static str,
    result: CheckResult,
    /// The figures, what was expected and found, or why the check does not apply.
    detail: String,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CheckResult {
    Pass,
    Fail,
    Skip,
}

impl ConformanceReport {
    pub(super) fn new(device: String, report: &Report) -> Self {
        Self {
            device,
            passed: report.passed().count(),
            failed: report.failed().count(),
            skipped: report.skipped().count(),
            checks: report.checks.iter().map(CheckLine::new).collect(),
        }
    }

    pub(super) fn failed(&self) -> usize {
        self.failed
    }

    /// One line.
    pub(super) fn to_json(&self) -> String {
        // It has no map whose keys could fail, and no floats.
        serde_json::to_string(self).expect("a report is plain numbers and names")
    }

    /// Failed checks, the table of areas, and what was skipped: by reason, or one by one.
    pub(super) fn for_people(&self, lists_skipped: bool) -> impl fmt::Display {
        ForPeople { report: self, lists_skipped }
    }

    fn ended(&self, result: CheckResult) -> impl Iterator<Item = &CheckLine> {
        self.checks.iter().filter(move |check| check.result == result)
    }

    /// In the order in which the areas are checked.
    fn areas(&self) -> Vec<Area<'_>> {
        let mut areas: Vec<Area<'_>> = Vec::new();
        for check in &self.checks {
            let name = check.id.split_once('/').map_or(check.id, |(area, _)| area);
            if areas.last().is_none_or(|area| area.name != name) {
                areas.push(Area { name, passed: 0, failed: 0, skipped: 0 });
            }
            if let Some(area) = areas.last_mut() {
                match check.result {
                    CheckResult::Pass => area.passed += 1,
                    CheckResult::Fail => area.failed += 1,
                    CheckResult::Skip => area.skipped += 1,
                }
            }
        }
        areas
    }
}

impl CheckLine {
    fn new(report: &CheckReport) -> Self {
        Self {
            id: report.check.id,
            spec: report.check.spec,
            result: match report.outcome {
                Outcome::Passed => CheckResult::Pass,
                Outcome::Failed => CheckResult::Fail,
                Outcome::Skipped => CheckResult::Skip,
            },
            detail: report.detail.clone(),
        }
    }
}

struct ForPeople<'a> {
    report: &'a ConformanceReport,
    lists_skipped: bool,
}

impl fmt::Display for ForPeople<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { report, lists_skipped } = *self;
        let red = anstyle::AnsiColor::Red.on_default().bold();
        for check in report.ended(CheckResult::Fail) {
            writeln!(f, "{red}failed{red:#} {}: {} [{}]", check.id, check.detail, check.spec)?;
        }
        if report.failed > 0 {
            writeln!(f)?;
        }
        writeln!(f, "{}", table::render(&report.areas()))?;
        if lists_skipped {
            writeln!(f)?;
            for check in report.ended(CheckResult::Skip) {
                writeln!(f, "skipped {}: {}", check.id, check.detail)?;
            }
        } else if report.skipped > 0 {
            writeln!(f)?;
            for (reason, count) in report.skips_by_reason() {
                writeln!(f, "skipped {count:>3}: {reason}")?;
            }
        }
        let count = |number: usize| format::count(u64::try_from(number).unwrap_or(u64::MAX));
        write!(
            f,
            "\n{}: {} passed, {} failed, {} skipped",
            report.device,
            count(report.passed),
            count(report.failed),
            count(report.skipped)
        )
    }
}

impl ConformanceReport {
    /// Reasons and how often each was given, the most frequent first.
    fn skips_by_reason(&self) -> Vec<(&str, usize)> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for check in self.ended(CheckResult::Skip) {
            *counts.entry(&check.detail).or_default() += 1;
        }
        let mut reasons: Vec<(&str, usize)> = counts.into_iter().collect();
        reasons.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        reasons
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &'static str, result: CheckResult, detail: &str) -> CheckLine {
        CheckLine { id, spec: "TIGHT, somewhere", result, detail: detail.to_owned() }
    }

    fn report() -> ConformanceReport {
        ConformanceReport {
            device: "host:discrete".to_owned(),
            passed: 1,
            failed: 1,
            skipped: 3,
            checks: vec![
                line("heap/size", CheckResult::Pass, "64 KiB"),
                line("heap/flags", CheckResult::Fail, "expected E_INVALIDARG, found S_OK"),
                line("tiles/one", CheckResult::Skip, "no tiles"),
                line("tiles/two", CheckResult::Skip, "no adapter"),
                line("tiles/three", CheckResult::Skip, "no tiles"),
            ],
        }
    }

    fn plain(text: &impl fmt::Display) -> String {
        anstream::adapter::strip_str(&text.to_string()).to_string()
    }

    #[test]
    fn failures_come_first_and_skips_are_counted_by_reason() {
        let expected = "\
failed heap/flags: expected E_INVALIDARG, found S_OK [TIGHT, somewhere]

area   checks  passed  failed  skipped
heap        2       1       1        -
tiles       3       -       -        3

skipped   2: no tiles
skipped   1: no adapter

host:discrete: 1 passed, 1 failed, 3 skipped";
        assert_eq!(plain(&report().for_people(false)), expected);
    }

    #[test]
    fn skips_are_listed_on_demand() {
        let text = plain(&report().for_people(true));
        assert!(text.contains("\nskipped tiles/two: no adapter\n"), "{text}");
        assert!(!text.contains("  1: no adapter"), "{text}");
    }
}
