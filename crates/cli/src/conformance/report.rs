//! Results of `heapwright conformance`.

use std::collections::BTreeMap;
use std::fmt;

use heapwright_conformance::{CheckReport, Class, Outcome, Report};
use heapwright_report::Visible;
use serde::{Deserialize, Serialize};

use super::known_gaps::KnownGaps;
use crate::format;
use crate::table::{self, Column};

/// Results of all checks of a device. The JSON form is stable and described by docs/output.schema.json.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ConformanceReport {
    /// Value for `--device`.
    pub(super) device: String,
    #[serde(flatten)]
    all: Totals,
    /// Ids of known gaps that passed.
    no_longer_failing: Vec<&'static str>,
    /// Ids of known gaps that were skipped.
    known_but_skipped: Vec<&'static str>,
    classes: ClassTotals,
    pub(super) checks: Vec<CheckLine>,
}

/// Totals of each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct ClassTotals {
    behaviour: Totals,
    validation: Totals,
    documented: Totals,
}

/// Number of checks with each result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Totals {
    passed: usize,
    /// Number of failed checks that are not known gaps.
    failed: usize,
    known: usize,
    skipped: usize,
    /// Number of checks of class documented whose document the device does not follow.
    differ: usize,
}

impl Totals {
    fn of<'a>(checks: impl Iterator<Item = &'a CheckLine>) -> Self {
        let mut totals = Self::default();
        checks.for_each(|check| totals.add(check.result));
        totals
    }

    fn add(&mut self, result: CheckResult) {
        *match result {
            CheckResult::Pass => &mut self.passed,
            CheckResult::Fail => &mut self.failed,
            CheckResult::Known => &mut self.known,
            CheckResult::Skip => &mut self.skipped,
            CheckResult::Differ => &mut self.differ,
        } += 1;
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |number: usize| format::count(u64::try_from(number).unwrap_or(u64::MAX));
        let [passed, failed, known, skipped, differ] =
            [self.passed, self.failed, self.known, self.skipped, self.differ].map(count);
        write!(f, "{passed} passed, {failed} failed, {known} known, {skipped} skipped, {differ} differ")
    }
}

/// Returns the line that is printed for a check, or `None` if it did not fail or is a known gap.
pub(super) fn failure(report: &CheckReport, known_gaps: &KnownGaps) -> Option<String> {
    let CheckReport { check, outcome, detail } = report;
    if *outcome != Outcome::Failed || known_gaps.reason(check.id).is_some() {
        return None;
    }
    let red = anstyle::AnsiColor::Red.on_default().bold();
    let (source, rule, class) = (check.spec, check.rule(), check.class.name());
    Some(format!("{red}failed{red:#} {}: {detail} [{source}: {rule} {class}]", check.id))
}

/// Result of a check.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CheckLine {
    pub(super) id: &'static str,
    /// Reference to the specification.
    spec: &'static str,
    /// The meaning of that place, in a sentence.
    rule: &'static str,
    /// Name of the class: behaviour, validation or documented.
    class: &'static str,
    /// For class documented: who else does not follow the document, and what they do.
    differs: Option<&'static str>,
    pub(super) result: CheckResult,
    /// Measured values, expected and actual results, or the reason for skipping.
    pub(super) detail: String,
    /// Reason if the check is a known gap.
    known_gap: Option<String>,
}

/// Kind of a check's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CheckResult {
    Pass,
    Fail,
    /// The check failed and is a known gap.
    Known,
    Skip,
    /// The check is of class documented, and the device does not follow the document.
    Differ,
}

impl CheckResult {
    /// Returns the name in files.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Known => "known",
            Self::Skip => "skip",
            Self::Differ => "differ",
        }
    }
}

impl CheckLine {
    fn new(report: &CheckReport, known_gaps: &KnownGaps) -> Self {
        let CheckReport { check, outcome, detail } = report;
        let known_gap = known_gaps.reason(check.id);
        Self {
            id: check.id,
            spec: check.spec,
            rule: check.rule(),
            class: check.class.name(),
            differs: check.differs,
            result: match outcome {
                Outcome::Passed => CheckResult::Pass,
                Outcome::Failed if known_gap.is_some() => CheckResult::Known,
                Outcome::Failed => CheckResult::Fail,
                Outcome::Skipped => CheckResult::Skip,
                Outcome::Differs => CheckResult::Differ,
            },
            detail: detail.clone(),
            known_gap: known_gap.map(str::to_owned),
        }
    }

    fn is_known_gap_that(&self, result: CheckResult) -> bool {
        self.result == result && self.known_gap.is_some()
    }
}

impl ConformanceReport {
    pub(super) fn new(device: String, report: &Report, known_gaps: &KnownGaps) -> Self {
        let checks = report.checks.iter().map(|report| CheckLine::new(report, known_gaps)).collect();
        Self::of_checks(device, checks)
    }

    fn of_checks(device: String, checks: Vec<CheckLine>) -> Self {
        let of_class = |class: Class| Totals::of(checks.iter().filter(|check| check.class == class.name()));
        let listed = |result| {
            let listed = checks.iter().filter(|check| check.is_known_gap_that(result));
            listed.map(|check| check.id).collect()
        };
        Self {
            device,
            all: Totals::of(checks.iter()),
            no_longer_failing: listed(CheckResult::Pass),
            known_but_skipped: listed(CheckResult::Skip),
            classes: ClassTotals {
                behaviour: of_class(Class::Behaviour),
                validation: of_class(Class::Validation),
                documented: of_class(Class::Documented),
            },
            checks,
        }
    }

    /// Returns whether, in these classes, all failures are known gaps and no known gap passed.
    pub(super) fn is_as_expected(&self, classes: &[Class]) -> bool {
        let is_asked = |check: &&CheckLine| classes.iter().any(|class| class.name() == check.class);
        !self
            .checks
            .iter()
            .filter(is_asked)
            .any(|check| check.result == CheckResult::Fail || check.is_known_gap_that(CheckResult::Pass))
    }

    /// Returns the summary: the table of areas, the checks that differ and the skipped checks. `lists_all` adds how
    /// each differs, and lists each skipped check instead of the reasons. Failures have been printed before.
    pub(super) fn for_people(&self, lists_all: bool) -> String {
        let mut text = String::new();
        let mut line = |line: fmt::Arguments<'_>| text.extend([&*line.to_string(), "\n"]);
        let ended = |result| self.checks.iter().filter(move |check| check.result == result);
        let red = anstyle::AnsiColor::Red.on_default().bold();
        for id in &self.no_longer_failing {
            line(format_args!("{red}no longer fails{red:#} {id}: remove it from the list of known gaps"));
        }
        if self.all.failed > 0 || !self.no_longer_failing.is_empty() {
            line(format_args!(""));
        }
        line(format_args!("{}", self.table()));
        if self.all.known > 0 || !self.known_but_skipped.is_empty() {
            line(format_args!(""));
        }
        for check in ended(CheckResult::Known) {
            let reason = check.known_gap.as_deref().unwrap_or_default();
            line(format_args!("known {}: {}", check.id, Visible(reason)));
        }
        for id in &self.known_but_skipped {
            line(format_args!("known {id}: skipped"));
        }
        if self.all.differ > 0 {
            line(format_args!(""));
        }
        for check in ended(CheckResult::Differ) {
            let CheckLine { id, detail, spec, rule, .. } = check;
            match check.differs.filter(|_| lists_all) {
                Some(who) => line(format_args!("differs {id}: {detail} [{spec}: {rule} differing: {who}]")),
                None => line(format_args!("differs {id}")),
            }
        }
        if lists_all || self.all.skipped > 0 {
            line(format_args!(""));
        }
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for check in ended(CheckResult::Skip) {
            if lists_all {
                line(format_args!("skipped {}: {}", check.id, check.detail));
            } else {
                *reasons.entry(&check.detail).or_default() += 1;
            }
        }
        let mut reasons: Vec<(&str, usize)> = reasons.into_iter().collect();
        reasons.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        for (reason, count) in reasons {
            line(format_args!("skipped {count:>3}: {reason}"));
        }
        let ClassTotals { behaviour, validation, documented } = self.classes;
        let (device, all) = (Visible(&self.device), self.all);
        line(format_args!(
            "\nbehaviour: {behaviour}\nvalidation: {validation}\ndocumented: {documented}\n{device}: {all}"
        ));
        text.truncate(text.trim_end().len());
        text
    }

    /// Returns a table with a row for each area, in the order of their checks.
    fn table(&self) -> String {
        let mut areas: Vec<(&str, Totals)> = Vec::new();
        for check in &self.checks {
            let name = check.id.split_once('/').map_or(check.id, |(area, _)| area);
            match areas.last_mut() {
                Some((last, totals)) if *last == name => totals.add(check.result),
                _ => areas.push((name, Totals::of(std::iter::once(check)))),
            }
        }
        let number = |number: usize| if number == 0 { "-".to_owned() } else { number.to_string() };
        let rows = areas.iter().map(|&(name, Totals { passed, failed, known, skipped, differ })| {
            let all = passed + failed + known + skipped + differ;
            let numbers = [all, passed, failed, known, skipped, differ].map(number);
            std::iter::once(name.to_owned()).chain(numbers).collect()
        });
        let numbers = ["checks", "passed", "failed", "known", "skipped", "differ"].map(Column::number);
        let columns: Vec<Column<'_>> = std::iter::once(Column::text("area")).chain(numbers).collect();
        table::render(&columns, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::super::results::Results;
    use super::*;

    fn line(id: &'static str, result: CheckResult, detail: &str) -> CheckLine {
        let class = if id.starts_with("heap/f") { "validation" } else { "behaviour" };
        CheckLine {
            id,
            spec: "TIGHT, somewhere",
            rule: "so it is.",
            class,
            differs: None,
            result,
            detail: detail.to_owned(),
            known_gap: None,
        }
    }

    fn gap(id: &'static str, result: CheckResult, reason: &str) -> CheckLine {
        CheckLine { known_gap: Some(reason.to_owned()), ..line(id, result, "the detail") }
    }

    fn lines() -> Vec<CheckLine> {
        vec![
            line("heap/size", CheckResult::Pass, "64 KiB"),
            line("heap/flags", CheckResult::Fail, "expected E_INVALIDARG, found S_OK"),
            line("tiles/one", CheckResult::Skip, "no tiles"),
            line("tiles/two", CheckResult::Skip, "no adapter"),
            line("tiles/three", CheckResult::Skip, "no tiles"),
        ]
    }

    fn report(lines: Vec<CheckLine>) -> ConformanceReport {
        ConformanceReport::of_checks("host:discrete".to_owned(), lines)
    }

    fn plain(text: &impl fmt::Display) -> String {
        anstream::adapter::strip_str(&text.to_string()).to_string()
    }

    #[test]
    fn failures_are_described_and_skips_counted_by_reason() {
        let check = heapwright_conformance::checks::all().next().expect("there are checks");
        let failed = CheckReport { check, outcome: Outcome::Failed, detail: "found S_OK".to_owned() };
        let failure = failure(&failed, &KnownGaps::default()).expect("it failed");
        let (source, rule) = (check.spec, check.rule());
        let expected = format!("failed {}: found S_OK [{source}: {rule} behaviour]", check.id);
        assert_eq!(plain(&failure), expected);
        let passed = CheckReport { outcome: Outcome::Passed, ..failed };
        assert_eq!(super::failure(&passed, &KnownGaps::default()), None);
        let expected = "
area   checks  passed  failed  known  skipped  differ
heap        2       1       1      -        -       -
tiles       3       -       -      -        3       -

skipped   2: no tiles
skipped   1: no adapter

behaviour: 1 passed, 0 failed, 0 known, 3 skipped, 0 differ
validation: 0 passed, 1 failed, 0 known, 0 skipped, 0 differ
documented: 0 passed, 0 failed, 0 known, 0 skipped, 0 differ
host:discrete: 1 passed, 1 failed, 0 known, 3 skipped, 0 differ";
        let report = report(lines());
        assert_eq!(plain(&report.for_people(false)), expected);
        assert!(!report.is_as_expected(&Class::ALL) && !report.is_as_expected(&[Class::Validation]));
        assert!(report.is_as_expected(&[Class::Behaviour]));
    }

    #[test]
    fn a_document_that_is_not_followed_is_reported_with_who_else_does_not() {
        let who = Some("Windows, which takes it");
        let other = CheckLine {
            class: "documented",
            differs: who,
            ..line("tight/flag", CheckResult::Differ, "S_OK")
        };
        let report = report(vec![other]);
        assert!(report.is_as_expected(&Class::ALL));
        assert!(plain(&report.for_people(false)).contains("\n\ndiffers tight/flag\n\n"));
        let text = plain(&report.for_people(true));
        let expected = "\n\ndiffers tight/flag: S_OK [TIGHT, somewhere: so it is. differing: Windows, which takes it]\n\n";
        assert!(text.contains(expected), "{text}");
        assert!(text.ends_with("host:discrete: 0 passed, 0 failed, 0 known, 0 skipped, 1 differ"), "{text}");
    }

    #[test]
    fn skips_are_listed_on_demand() {
        let text = plain(&report(lines()).for_people(true));
        assert!(text.contains("\nskipped tiles/two: no adapter\n"), "{text}");
        assert!(!text.contains("  1: no adapter"), "{text}");
    }

    #[test]
    fn known_gaps_are_as_expected_where_they_fail_or_are_skipped() {
        let expected = "\
area   checks  passed  failed  known  skipped  differ
heap        2       1       -      1        -       -
tiles       1       -       -      -        1       -

known heap/flags: it takes all of them
known tiles/one: skipped

skipped   1: the detail

behaviour: 1 passed, 0 failed, 0 known, 1 skipped, 0 differ
validation: 0 passed, 0 failed, 1 known, 0 skipped, 0 differ
documented: 0 passed, 0 failed, 0 known, 0 skipped, 0 differ
host:discrete: 1 passed, 0 failed, 1 known, 1 skipped, 0 differ";
        let report = report(vec![
            line("heap/size", CheckResult::Pass, "64 KiB"),
            gap("heap/flags", CheckResult::Known, "it takes all of them"),
            gap("tiles/one", CheckResult::Skip, "it has none"),
        ]);
        assert_eq!(plain(&report.for_people(false)), expected);
        assert!(report.is_as_expected(&Class::ALL));
    }

    #[test]
    fn a_known_gap_that_passes_is_not_as_expected() {
        let report = report(vec![
            gap("heap/size", CheckResult::Pass, "too small"),
            gap("heap/flags", CheckResult::Known, "it takes all of them"),
        ]);
        assert!(!report.is_as_expected(&Class::ALL) && !report.is_as_expected(&[Class::Behaviour]));
        assert!(report.is_as_expected(&[Class::Validation]), "the gap that is closed is one of behaviour");
        let text = plain(&report.for_people(false));
        let start = "no longer fails heap/size: remove it from the list of known gaps\n\narea";
        assert!(text.starts_with(start), "{text}");
        assert!(text.ends_with("host:discrete: 1 passed, 0 failed, 1 known, 0 skipped, 0 differ"), "{text}");
    }

    #[test]
    fn changes_name_what_is_new_and_what_ends_otherwise() {
        let check = |(id, result)| format!(r#"{{"id":"{id}","result":"{result}"}}"#);
        let checks = [("a/b", "pass"), ("a/c", "skip"), ("a/d", "pass")].map(check).join(",");
        let earlier: Results =
            serde_json::from_str(&format!(r#"{{"device":"old","checks":[{checks}]}}"#)).unwrap();
        let now = [
            line("a/b", CheckResult::Fail, "found 3"),
            line("a/c", CheckResult::Pass, "fine"),
            line("a/d", CheckResult::Pass, "fine"),
            line("a/e", CheckResult::Pass, "fine"),
        ];
        let changes = earlier.changes(&now);
        let expected = "changed a/b: pass -> fail: found 3\nchanged a/c: skip -> pass: fine\nnew a/e\nsince old: 2 changed, 1 new";
        assert_eq!(changes.to_string(), expected);
        assert!(changes.has_regressions() && !earlier.changes(&now[1..]).has_regressions());
    }
}
