//! The program `heapwright`: conformance, and replays of the traces.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Result;
use super::table::Row;

/// Runs the conformance checks.
///
/// # Errors
///
/// Returns an error if the program cannot be run.
pub fn conformance(program: &Path, device: &str) -> Result<Vec<Row>> {
    let output = Command::new(program).args(["conformance", "--device", device]).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().rfind(|line| line.contains(" passed, ")).unwrap_or("no result");
    Ok(vec![Row::required("conformance", last, "0 failed", output.status.success())])
}

/// Replays traces, and checks contents.
///
/// # Errors
///
/// Returns an error if the program cannot be run.
pub fn replay(program: &Path, device: &str, traces: &[PathBuf]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for trace in traces {
        let arguments = ["replay", "--verify", "--json", "--device", device];
        let output = Command::new(program).args(arguments).arg(trace).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let name = trace.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let report: serde_json::Value =
            text.lines().next().map(serde_json::from_str).transpose()?.unwrap_or_default();
        let figure = |key: &str| report.get(key).map_or_else(|| "?".to_owned(), ToString::to_string);
        rows.push(Row::required(
            format!("replay --verify {name}"),
            format!("{} failed, overhead {}", figure("failures"), figure("overhead")),
            "0 failed",
            output.status.success(),
        ));
    }
    Ok(rows)
}
