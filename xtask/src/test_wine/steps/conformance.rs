//! The conformance suite on Wine's Direct3D 12.

use std::time::Duration;

use serde_json::Value;

use super::super::process;
use super::super::summary::Counts;
use super::Place;

const LIMIT: Duration = Duration::from_secs(1800);

/// Runs the suite with the list of known gaps.
pub(super) fn run(place: &Place<'_>) -> Result<Counts, String> {
    let gaps = place.known_gaps("conformance.txt");
    let gaps = gaps.to_str().ok_or("the repository's path is not valid UTF-8")?;
    let mut command = place.wine.command(place.built.program()?);
    command.args(["conformance", "--json", "--device", "d3d12", "--known-gaps", gaps]);
    let run = place.run(command, LIMIT, "conformance")?;
    // Failed checks are in the report. Without a report, the program itself failed.
    let report = report(&run).ok_or_else(|| format!("heapwright conformance: {}", run.describe()))?;
    let mut counts = read(&report)?;
    if counts.failed.is_empty() != run.is_success() {
        counts.failed.push(format!("heapwright conformance: {}", run.describe()));
    }
    Ok(counts)
}

fn report(run: &process::Run) -> Option<Value> {
    serde_json::from_str(&run.stdout).ok()
}

fn read(report: &Value) -> Result<Counts, String> {
    let count = |key: &str| {
        let number = report[key].as_u64().and_then(|number| usize::try_from(number).ok());
        number.ok_or_else(|| format!("the report of heapwright conformance has no number {key}"))
    };
    let list = |key: &str| {
        let list = report[key].as_array();
        list.ok_or_else(|| format!("the report of heapwright conformance has no list {key}"))
    };
    let failed = list("checks")?.iter().filter(|check| check["result"] == "fail");
    let mut failed: Vec<String> =
        failed.map(|check| format!("{}: {}", text(&check["id"]), text(&check["detail"]))).collect();
    for (key, is) in [("no_longer_failing", "passes"), ("known_but_skipped", "is skipped")] {
        failed.extend(list(key)?.iter().map(|id| format!("{} is listed as a known gap, but {is}", text(id))));
    }
    Ok(Counts { passed: count("passed")?, known_gaps: count("known")?, skipped: count("skipped")?, failed })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_counted_and_failures_named() {
        let report = serde_json::json!({
            "passed": 3, "failed": 1, "known": 2, "skipped": 1,
            "no_longer_failing": ["a/b"], "known_but_skipped": ["a/c"],
            "checks": [
                {"id": "a/b", "result": "pass", "detail": "fine"},
                {"id": "a/d", "result": "fail", "detail": "it is 7"},
                {"id": "a/e", "result": "known", "detail": "it is 8"},
            ],
        });
        let counts = read(&report).unwrap();
        assert_eq!((counts.passed, counts.known_gaps, counts.skipped), (3, 2, 1));
        let expected = [
            "a/d: it is 7",
            "a/b is listed as a known gap, but passes",
            "a/c is listed as a known gap, but is skipped",
        ];
        assert_eq!(counts.failed, expected);
    }

    #[test]
    fn an_unexpected_report_is_an_error() {
        let message = read(&serde_json::json!({"checks": []})).unwrap_err();
        assert_eq!(message, "the report of heapwright conformance has no list no_longer_failing");
    }
}
