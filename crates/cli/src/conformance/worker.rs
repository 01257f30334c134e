//! `--worker`: runs the checks whose ids come on standard input, and says on standard output what becomes of each.

use std::io::BufRead as _;

use heapwright_conformance::{CheckReport, Filter, Options, Outcome, Target, run as run_checks};
use serde::{Deserialize, Serialize};

use crate::device::DeviceChoice;
use crate::exit::Exit;
use crate::output::{Output, OutputError};

/// A line on the standard output of a process that runs checks, as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Message {
    /// A check begins. Where nothing else follows, it is the one that the process ended in.
    Begins { id: String },
    /// It has ended.
    Ended { id: String, result: Ended, detail: String },
    /// There is no device to run it on.
    CannotRun { reason: String },
    /// All have ended, and the device is gone.
    Done,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ended {
    Passed,
    Failed,
    Skipped,
}

impl From<Outcome> for Ended {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Passed => Self::Passed,
            Outcome::Failed => Self::Failed,
            Outcome::Skipped => Self::Skipped,
        }
    }
}

impl From<Ended> for Outcome {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Passed => Self::Passed,
            Ended::Failed => Self::Failed,
            Ended::Skipped => Self::Skipped,
        }
    }
}

/// Runs the checks. One device is for all, until a check fails: the next has a fresh one.
#[expect(unsafe_code, reason = "runs checks on any device")]
pub(super) fn run(choice: &DeviceChoice, output: &mut Output) -> Result<Exit, OutputError> {
    let ids: Vec<String> = std::io::stdin().lock().lines().collect::<Result<_, _>>()?;
    let mut held: Option<Target> = None;
    for id in ids {
        say(output, &Message::Begins { id: id.clone() })?;
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
        // SAFETY: this process is for the checks alone: the one that started it hears of each as it ends, and blames the one that breaks it.
        let report = match unsafe { run_checks(open, &options, |_| ()) } {
            Ok(report) => report,
            Err(error) => {
                say(output, &Message::CannotRun { reason: error.0 })?;
                return Ok(Exit::No);
            }
        };
        for CheckReport { check, outcome, detail } in report.checks {
            if outcome == Outcome::Failed {
                held = None;
            }
            say(output, &Message::Ended { id: check.id.to_owned(), result: outcome.into(), detail })?;
        }
    }
    drop(held);
    say(output, &Message::Done)?;
    Ok(Exit::Done)
}

fn say(output: &mut Output, message: &Message) -> Result<(), OutputError> {
    // Plain names and text: no map whose keys could fail.
    output.result(&serde_json::to_string(message).expect("a message is plain text"))
}
