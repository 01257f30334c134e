//! The conformance suite on Wine's D3D12.

use std::time::Duration;

use serde_json::Value;

use super::super::known_gaps::KnownGaps;
use super::super::process;
use super::super::summary::Counts;
use super::Place;

const LIMIT: Duration = Duration::from_secs(300);

/// Runs the suite, which is told what is known to fail; and alone each check that is known to end the process.
pub(super) fn run(place: &Place<'_>) -> Result<Counts, String> {
    let crashes = KnownGaps::read(&place.known_gaps("conformance_crashes.txt"))?;
    let crashes: Vec<&str> = crashes.names().collect();
    let gaps = place.known_gaps("conformance.txt");
    let gaps = gaps.to_str().ok_or("the repository's path is no text")?;
    let mut arguments = vec!["--known-gaps", gaps];
    let list = crashes.join(",");
    if !crashes.is_empty() {
        arguments.extend(["--skip", &list]);
    }
    let run = start(place, &arguments, "conformance")?;
    // What is wrong with single checks is in the report; without one, the program failed as such.
    let report = report(&run).ok_or_else(|| format!("heapwright conformance: {}", run.why_not()))?;
    let mut counts = read(&report)?;
    if counts.failed.is_empty() != run.is_success() {
        counts.failed.push(format!("heapwright conformance: {}", run.why_not()));
    }
    for &id in &crashes {
        // The filter takes parts of ids: what else it takes, and is known to crash, must not be the one that does.
        let others: Vec<&str> = crashes.iter().copied().filter(|&other| other != id).collect();
        let run = start(place, &["--filter", id, "--skip", &others.join(",")], &id.replace('/', "-"))?;
        if run.was_ended() || report_or_message(&run) {
            counts.failed.push(format!(
                "{id} is listed as one that ends the process, but does not: {}",
                run.why_not()
            ));
        } else {
            counts.known_gaps += 1;
        }
    }
    Ok(counts)
}

fn start(place: &Place<'_>, arguments: &[&str], log: &str) -> Result<process::Run, String> {
    let mut command = place.wine.command(place.built.program()?);
    // With -vv the log ends with the check that ended the process.
    command.args(["conformance", "-vv", "--json", "--device", "d3d12"]).args(arguments);
    place.run(command, LIMIT, log)
}

fn report(run: &process::Run) -> Option<Value> {
    serde_json::from_str(&run.stdout).ok()
}

/// Whether the program came to its end: with a report, or an error of its own.
fn report_or_message(run: &process::Run) -> bool {
    report(run).is_some() || run.stderr.lines().any(|line| line.starts_with("error: "))
}

fn read(report: &Value) -> Result<Counts, String> {
    let count = |key: &str| {
        let number = report[key].as_u64().and_then(|number| usize::try_from(number).ok());
        number.ok_or_else(|| format!("heapwright conformance reports no number {key}"))
    };
    let list = |key: &str| {
        let list = report[key].as_array();
        list.ok_or_else(|| format!("heapwright conformance reports no list {key}"))
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
    fn a_report_is_counted_and_what_is_wrong_is_named() {
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
    fn a_report_of_another_shape_is_an_error() {
        let message = read(&serde_json::json!({"checks": []})).unwrap_err();
        assert_eq!(message, "heapwright conformance reports no list no_longer_failing");
    }
}
