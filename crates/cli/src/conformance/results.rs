//! Files of earlier results: comparison with one of them, and a table of several.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use heapwright_conformance::Check;
use heapwright_report::Visible;
use serde::Deserialize;

use super::report::{CheckLine, CheckResult, ConformanceReport};
use crate::exit::Failed;
use crate::input;

/// The results of an earlier run, as `--results` wrote or `--json` printed them.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Results {
    device: String,
    checks: Vec<EarlierCheck>,
}

#[derive(Clone, Debug, Deserialize)]
struct EarlierCheck {
    id: String,
    result: CheckResult,
}

/// Returns the results as JSON with a line for each check, without what varies between runs.
pub(super) fn render(report: &ConformanceReport) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let lines = report.checks.iter().map(|CheckLine { id, result, .. }| {
        format!("{{\"id\":{},\"result\":\"{}\"}}", quoted(id), result.name())
    });
    let lines = lines.collect::<Vec<_>>().join(",\n");
    format!("{{\"device\":{},\"checks\":[\n{lines}\n]}}\n", quoted(&report.device))
}

/// The checks whose result is not the earlier one. Its `Display` form has a line for each of them.
#[derive(Debug, Default)]
pub(super) struct Changes {
    device: String,
    /// Ids with the earlier and the present result, and the detail of the present one.
    changed: Vec<(&'static str, CheckResult, CheckResult, String)>,
    /// Ids of checks without an earlier result.
    added: Vec<&'static str>,
}

impl Results {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Self, Failed> {
        serde_json::from_str(&input::read_text(path, "a file of `heapwright conformance --results`")?)
            .map_err(|error| {
                let rule = format!("is no file of `heapwright conformance --results`: {error}");
                Failed::bad_input(rule).of(path.display())
            })
    }

    fn by_id(&self) -> BTreeMap<&str, CheckResult> {
        self.checks.iter().map(|check| (check.id.as_str(), check.result)).collect()
    }

    /// Compares the checks that ran with these results. Checks that did not run are left out.
    pub(super) fn changes(&self, now: &[CheckLine]) -> Changes {
        let earlier = self.by_id();
        let mut changes = Changes { device: self.device.clone(), ..Changes::default() };
        for CheckLine { id, result, detail, .. } in now {
            match earlier.get(id) {
                None => changes.added.push(id),
                Some(before) if before != result => {
                    changes.changed.push((id, *before, *result, detail.clone()));
                }
                Some(_) => {}
            }
        }
        changes
    }
}

impl Changes {
    /// Returns whether a check that passed fails.
    pub(super) fn has_regressions(&self) -> bool {
        self.changed.iter().any(|&(_, before, now, _)| {
            matches!((before, now), (CheckResult::Pass | CheckResult::Differ, CheckResult::Fail))
        })
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (id, before, now, detail) in &self.changed {
            writeln!(f, "changed {id}: {} -> {}: {}", before.name(), now.name(), Visible(detail))?;
        }
        for id in &self.added {
            writeln!(f, "new {id}")?;
        }
        let (changed, added) = (self.changed.len(), self.added.len());
        write!(f, "since {}: {changed} changed, {added} new", Visible(&self.device))
    }
}

/// Returns a Markdown table: the number of passed, failed and skipped checks of each result, then a row for each check
/// that some result does not pass.
pub(super) fn table(checks: &[&Check], results: &[Results]) -> String {
    let ends: Vec<BTreeMap<&str, CheckResult>> = results.iter().map(Results::by_id).collect();
    let mut rows = vec![
        format!(
            "| check | {} |",
            results.iter().map(|result| cell(&result.device)).collect::<Vec<_>>().join(" | ")
        ),
        format!("|---|{}", "---|".repeat(results.len())),
    ];
    for (title, wanted) in [
        ("passed", CheckResult::Pass),
        ("failed", CheckResult::Fail),
        ("known gaps", CheckResult::Known),
        ("skipped", CheckResult::Skip),
        ("differ", CheckResult::Differ),
    ] {
        let is_selected = |id: &str| checks.iter().any(|check| check.id == id);
        let count = |ends: &BTreeMap<&str, CheckResult>| {
            ends.iter().filter(|&(&id, &end)| end == wanted && is_selected(id)).count().to_string()
        };
        rows.push(format!("| **{title}** | {} |", ends.iter().map(count).collect::<Vec<_>>().join(" | ")));
    }
    for check in checks {
        let found: Vec<_> = ends.iter().map(|ends| ends.get(check.id).copied()).collect();
        if found.iter().all(|&end| end == Some(CheckResult::Pass)) {
            continue;
        }
        let cells: Vec<&str> = found.into_iter().map(|end| end.map_or("-", CheckResult::name)).collect();
        rows.push(format!("| {} | {} |", check.id, cells.join(" | ")));
    }
    rows.join("\n")
}

/// Returns text for a cell of a Markdown table.
fn cell(text: &str) -> String {
    Visible(text).to_string().replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use heapwright_conformance::checks;

    use super::*;

    fn results(device: &str, checks: &[(&str, CheckResult)]) -> Results {
        let checks = checks.iter().map(|&(id, result)| EarlierCheck { id: id.to_owned(), result }).collect();
        Results { device: device.to_owned(), checks }
    }

    #[test]
    fn the_table_has_the_checks_that_some_device_does_not_pass() {
        let checks: Vec<&Check> = checks::all().take(3).collect();
        let [one, two, three] = [checks[0].id, checks[1].id, checks[2].id];
        let all = [
            results("x|y", &[(one, CheckResult::Pass), (two, CheckResult::Skip), (three, CheckResult::Pass)]),
            results("z", &[(one, CheckResult::Pass), (two, CheckResult::Pass)]),
        ];
        let expected = format!(
            "| check | x\\|y | z |\n|---|---|---|\n| **passed** | 2 | 2 |\n| **failed** | 0 | 0 |\n\
             | **known gaps** | 0 | 0 |\n| **skipped** | 1 | 0 |\n| **differ** | 0 | 0 |\n| {two} | skip | pass |\n| {three} | pass | - |"
        );
        assert_eq!(table(&checks, &all), expected);
    }
}
