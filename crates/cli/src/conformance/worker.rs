//! `--worker`: runs the checks whose ids are read from standard input, and reports the results on standard output.

use std::io::BufRead as _;

use heapwright_conformance::{CheckReport, Filter, Options, Outcome, Target, run as run_checks};
use serde::{Deserialize, Serialize};

use crate::device::DeviceChoice;
use crate::exit::{Exit, Failed};
use crate::output::{Output, cannot_write};

/// A message of a process that runs checks: a JSON object on a line of standard output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Message {
    /// A check begins. If this is the last message, the process crashed in this check.
    Begins { id: String },
    /// A check ended.
    Ended {
        id: String,
        #[serde(with = "Ended")]
        result: Outcome,
        detail: String,
    },
    /// The device cannot be opened.
    CannotRun { reason: String },
    /// All checks have ended, and the device was released.
    Done,
}

/// Result of a check.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Outcome", rename_all = "snake_case")]
enum Ended {
    Passed,
    Failed,
    Skipped,
    Differs,
}

/// Runs the checks. They share a device, which is replaced after a check that fails.
#[expect(unsafe_code, reason = "runs checks on any device")]
pub(super) fn run(choice: &DeviceChoice, output: &mut Output) -> Result<Exit, Failed> {
    let ids: Vec<String> =
        std::io::stdin().lock().lines().collect::<Result<_, _>>().map_err(|error| cannot_write(&error))?;
    let mut held: Option<Target> = None;
    for id in ids {
        output.json(&Message::Begins { id: id.clone() })?;
        if output.is_closed() {
            // The parent process has ended.
            return Ok(Exit::Failure);
        }
        let options = Options { filter: Filter::of_ids([id]), ..Options::default() };
        let open = || match &held {
            Some(target) => Ok(target.clone()),
            None => {
                let gpu = choice.open().map_err(|error| error.to_string())?;
                let device_factory = choice.device_factory();
                let target = Target { device: gpu.device, adapter: gpu.adapter, device_factory };
                Ok(held.insert(target).clone())
            }
        };
        // SAFETY: this process only runs checks. If a check corrupts it, the parent process finds and fails that check.
        let report = match unsafe { run_checks(open, &options, |_| ()) } {
            Ok(report) => report,
            Err(error) => {
                output.json(&Message::CannotRun { reason: error.0 })?;
                return Ok(Exit::Failure);
            }
        };
        for CheckReport { check, outcome, detail } in report.checks {
            if outcome == Outcome::Failed {
                held = None;
            }
            output.json(&Message::Ended { id: check.id.to_owned(), result: outcome, detail })?;
        }
    }
    drop(held);
    output.json(&Message::Done)?;
    Ok(Exit::Success)
}
