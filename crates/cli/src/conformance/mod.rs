//! `heapwright conformance`: whether a device keeps D3D12's rules of memory.
//!
//! - [`known_gaps`]: the file of `--known-gaps`.
//! - [`isolation`]: checks in processes of their own, and which check is to blame where one breaks.
//! - [`process`], [`worker`]: such a process, from outside and from inside.
//! - [`report`]: what is printed, as JSON and for people.
//! - [`table`]: how the summary looks to people.

mod isolation;
mod known_gaps;
mod process;
mod report;
mod table;
mod worker;

use std::time::Duration;

use heapwright_conformance::{Check, Filter, checks};

use self::known_gaps::{KnownGaps, KnownGapsError};
use self::process::WorkerProcesses;
use self::report::{ConformanceReport, Failure};
use crate::args::ConformanceArgs;
use crate::device::{DeviceChoice, NoDevice};
use crate::exit::Exit;
use crate::output::{Output, OutputError};

/// Runs the command. `verbosity` above 0 lists what was skipped.
pub(crate) fn run(args: &ConformanceArgs, verbosity: u8, output: &mut Output) -> Result<Exit, OutputError> {
    let result = match DeviceChoice::find(&args.device) {
        Ok(choice) if args.worker => return worker::run(&choice, output),
        Ok(choice) => check(args, &choice, verbosity, output)?,
        Err(error) => Err(error.into()),
    };
    let report = match result {
        Ok(report) => report,
        Err(error) => {
            output.error(&error);
            return Ok(error.exit());
        }
    };
    if args.json {
        output.result(&report.to_json())?;
    } else {
        output.result(&report.for_people(verbosity > 0))?;
    }
    Ok(if report.is_as_expected(args.require.classes()) { Exit::Done } else { Exit::No })
}

/// Why nothing was checked.
#[derive(Debug, thiserror::Error)]
enum ConformanceError {
    #[error("--device: {0}")]
    NoDevice(#[from] NoDevice),
    #[error("--filter: no check has {0:?} in its id; `heapwright conformance -v` lists what there is")]
    NothingMatches(String),
    #[error("--skip: no check has the id {0:?}; `heapwright conformance --json` lists what there is")]
    NoCheck(String),
    #[error("--skip leaves no check to run")]
    NothingLeft,
    #[error("--known-gaps: {0}")]
    KnownGaps(#[from] KnownGapsError),
    #[error("{0}")]
    CannotRun(String),
}

impl ConformanceError {
    fn exit(&self) -> Exit {
        match self {
            Self::NoDevice(error) => error.exit(),
            Self::NothingMatches(_) | Self::NoCheck(_) | Self::NothingLeft | Self::KnownGaps(_) => {
                Exit::BadInput
            }
            Self::CannotRun(_) => Exit::No,
        }
    }
}

/// Runs the checks that are asked for. Failures are printed as they come, unless the result is JSON.
fn check(
    args: &ConformanceArgs,
    choice: &DeviceChoice,
    verbosity: u8,
    output: &mut Output,
) -> Result<Result<ConformanceReport, ConformanceError>, OutputError> {
    let (checks, known_gaps) = match asked_for(args) {
        Ok(asked) => asked,
        Err(error) => return Ok(Err(error)),
    };
    let name = choice.name();
    let limit = Duration::from_secs(args.check_timeout.into());
    let mut processes = match WorkerProcesses::new(&name, verbosity, limit) {
        Ok(processes) => processes,
        Err(error) => {
            let reason = format!("the system does not say where the program is: {error}");
            return Ok(Err(ConformanceError::CannotRun(reason)));
        }
    };
    let bar = output.progress(!args.json, &name, u64::try_from(checks.len()).unwrap_or(u64::MAX));
    let mut printed = Ok(());
    let result = isolation::run(&checks, &mut processes, &mut |ended| {
        bar.inc(1);
        if let Some(failure) = Failure::of(ended, &known_gaps)
            && !args.json
            && printed.is_ok()
        {
            printed = bar.suspend(|| output.result(&failure));
        }
    });
    bar.finish_and_clear();
    printed?;
    let report = result.map_err(ConformanceError::CannotRun);
    Ok(report.map(|report| ConformanceReport::new(name, &report, &known_gaps)))
}

/// The checks that the arguments take, and the known gaps.
fn asked_for(args: &ConformanceArgs) -> Result<(Vec<&'static Check>, KnownGaps), ConformanceError> {
    let text = args.filter.as_deref();
    let filter = text.map_or_else(Filter::default, Filter::new);
    if let Some(text) = text.filter(|text| filter.checks().next().is_none() || text.trim().is_empty()) {
        return Err(ConformanceError::NothingMatches(text.to_owned()));
    }
    let is_known = |id: &str| checks::all().any(|check| check.id == id);
    if let Some(unknown) = args.skip.iter().find(|id| !is_known(id)) {
        return Err(ConformanceError::NoCheck(unknown.clone()));
    }
    let checks: Vec<&'static Check> = filter.without(&args.skip).checks().collect();
    if checks.is_empty() {
        return Err(ConformanceError::NothingLeft);
    }
    let known_gaps = match &args.known_gaps {
        Some(path) => KnownGaps::read(path)?,
        None => KnownGaps::default(),
    };
    Ok((checks, known_gaps))
}
