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
        let name = trace.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let report = first_line(&output.stdout)?;
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

/// Parses the first line of a program's output.
fn first_line(output: &[u8]) -> Result<serde_json::Value> {
    let text = String::from_utf8_lossy(output);
    Ok(text.lines().next().map(serde_json::from_str).transpose()?.unwrap_or_default())
}

/// The cost model's prediction for a trace.
#[derive(Debug)]
pub struct Prediction {
    /// Time for heaps, per operation, in microseconds.
    pub heaps_us: f64,
    /// Number of operations whose time for heaps is above 0.25 ms.
    pub hitches: u64,
    /// Mean and peak of the memory held, in bytes.
    pub held: [f64; 2],
}

/// Has the program replay a trace on a simulated GPU with the cost model of `replay`.
///
/// # Errors
///
/// Returns an error if the program cannot be run or its output lacks a figure.
pub fn predict(program: &Path, trace: &Path) -> Result<Prediction> {
    let output = Command::new(program).args(["replay", "--json"]).arg(trace).output()?;
    let report = first_line(&output.stdout)?;
    let figure = |key: &str| {
        report.get(key).and_then(serde_json::Value::as_f64).ok_or_else(|| format!("replay reports no {key}"))
    };
    Ok(Prediction {
        heaps_us: figure("modelled_ms")? * 1000.0 / figure("events")?,
        hitches: report
            .get("hitches")
            .and_then(serde_json::Value::as_u64)
            .ok_or("replay reports no hitches")?,
        held: [figure("mean_reserved_bytes")?, figure("peak_reserved_bytes")?],
    })
}
