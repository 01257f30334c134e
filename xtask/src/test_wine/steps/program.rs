//! heapwright.exe: `devices` and `replay`.

use std::time::Duration;

use serde_json::Value;

use super::super::summary::Counts;
use super::Place;

/// A trace whose replay takes seconds.
const TRACE: &str = "traces/vision_serving.csv.gz";

const LIMIT: Duration = Duration::from_secs(1800);

/// Lists the devices, which must include `device`, and replays a trace on it without failures.
pub(super) fn run(place: &Place<'_>, device: &str) -> Result<Counts, String> {
    let mut counts =
        Counts::one(devices(place, device).map_err(|error| format!("heapwright devices: {error}")));
    counts.add(Counts::one(
        replay(place, device).map_err(|error| format!("heapwright replay {TRACE}: {error}")),
    ));
    Ok(counts)
}

fn devices(place: &Place<'_>, device: &str) -> Result<(), String> {
    let lines = json_lines(place, &["devices", "--json"], device)?;
    // A name without suffix is that of the default profile or of adapter 0.
    let prefix = format!("{device}:");
    let is_it = |line: &Value| line["device"].as_str().is_some_and(|name| name.starts_with(&prefix));
    let line = lines.iter().find(|line| is_it(line)).ok_or_else(|| format!("{device} is not listed"))?;
    match line["local"]["budget_bytes"].as_u64() {
        Some(1..) => Ok(()),
        _ => Err(format!("{device} has no budget of local memory: {line}")),
    }
}

fn replay(place: &Place<'_>, device: &str) -> Result<(), String> {
    let lines = json_lines(place, &["replay", "--json", TRACE, "--device", device], device)?;
    let [line] = &lines[..] else { return Err(format!("{} results for one trace", lines.len())) };
    eprintln!("{line}");
    match (line["failures"].as_u64(), line["allocations"].as_u64()) {
        (Some(0), Some(1..)) => Ok(()),
        _ => Err(format!("not all allocations succeeded: {line}")),
    }
}

/// Runs heapwright.exe, which must succeed, and parses each line of its output as JSON.
fn json_lines(place: &Place<'_>, arguments: &[&str], device: &str) -> Result<Vec<Value>, String> {
    let mut command = place.wine.command(place.built.program()?);
    command.args(arguments).current_dir(place.root);
    let run = place.run(command, LIMIT, &format!("heapwright-{}-{device}", arguments[0]))?;
    if !run.is_success() {
        return Err(run.describe());
    }
    let parse = |line: &str| serde_json::from_str(line).map_err(|error| format!("{error}: {line}"));
    run.stdout.lines().map(parse).collect()
}
