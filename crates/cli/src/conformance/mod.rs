//! `heapwright conformance`: checks a device's conformance to Direct3D 12's memory rules.
//!
//! - [`args`]: the arguments.
//! - [`known_gaps`]: the file of `--known-gaps`.
//! - [`isolation`]: runs checks in separate processes and finds the cause of a crash.
//! - [`process`], [`worker`]: the parent's and the child's side of such a process.
//! - [`report`]: the results, as JSON and as text.
//! - [`table`]: the summary as a table.
//! - [`results`]: files of earlier results: comparison with one, and a table of several.
//! - [`junit`]: the results as JUnit XML.

mod args;
mod isolation;
mod junit;
mod known_gaps;
mod process;
mod report;
mod results;
mod table;
mod worker;

use std::path::PathBuf;
use std::time::Duration;

use heapwright_conformance::{Check, Filter, checks};

pub(crate) use self::args::ConformanceArgs;
use self::known_gaps::{KnownGaps, KnownGapsError};
use self::process::WorkerProcesses;
use self::report::{ConformanceReport, Failure};
use self::results::{Results, ResultsError};
use crate::device::{DeviceChoice, NoDevice};
use crate::exit::Exit;
use crate::input;
use crate::output::{Output, OutputError};

/// Runs the command. With a `verbosity` above 0, each skipped check is listed.
pub(crate) fn run(args: &ConformanceArgs, verbosity: u8, output: &mut Output) -> Result<Exit, OutputError> {
    if args.list || !args.table.is_empty() {
        return match print_without_running(args) {
            Ok(text) => output.result(&text).map(|()| Exit::Success),
            Err(error) => {
                output.error(&error);
                Ok(error.exit())
            }
        };
    }
    let baseline = match args.baseline.as_deref().map(Results::read).transpose() {
        Ok(baseline) => baseline,
        Err(error) => {
            let error = ConformanceError::Results(error);
            output.error(&error);
            return Ok(error.exit());
        }
    };
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
    let changes = baseline.map(|earlier| report.since(&earlier));
    let files = [
        (&args.junit, "--junit", junit::render as fn(&ConformanceReport) -> String),
        (&args.results, "--results", results::render),
    ];
    for (path, option, render) in files {
        if let Some(path) = path
            && let Err(error) = std::fs::write(path, render(&report))
        {
            let (path, reason) = (path.clone(), input::reason(&error, "no such folder"));
            let error = ConformanceError::Write { option, path, reason };
            output.error(&error);
            return Ok(error.exit());
        }
    }
    if args.json {
        output.result(&report.to_json())?;
    } else {
        output.result(&report.for_people(verbosity > 0))?;
        if let Some(changes) = &changes {
            output.result(changes)?;
        }
    }
    let is_worse = changes.is_some_and(|changes| changes.has_regressions());
    let is_good = report.is_as_expected(args.require.classes()) && !is_worse;
    Ok(if is_good { Exit::Success } else { Exit::Failure })
}

/// Returns the list of the selected checks, or the table of earlier results.
fn print_without_running(args: &ConformanceArgs) -> Result<String, ConformanceError> {
    if args.list {
        let (checks, _) = selected(args)?;
        let lines = checks
            .iter()
            .map(|check| format!("{}  {}  {}: {}", check.id, check.class.name(), check.spec, check.rule()));
        return Ok(lines.collect::<Vec<_>>().join("\n"));
    }
    let read = args.table.iter().map(|path| Results::read(path));
    let results = read.collect::<Result<Vec<_>, _>>().map_err(ConformanceError::Results)?;
    let (checks, _) = selected(args)?;
    Ok(results::table(&checks, &results))
}

/// Error that prevents the checks from running.
#[derive(Debug, thiserror::Error)]
enum ConformanceError {
    #[error("--device: {0}")]
    NoDevice(#[from] NoDevice),
    #[error("--filter: no check's id contains {0:?}; `heapwright conformance --json` lists all ids")]
    NothingMatches(String),
    #[error("--skip: unknown check id {0:?}; `heapwright conformance --json` lists all ids")]
    NoCheck(String),
    #[error("--skip excludes all selected checks")]
    NothingLeft,
    #[error("--known-gaps: {0}")]
    KnownGaps(#[from] KnownGapsError),
    #[error("{0}")]
    Results(#[from] ResultsError),
    #[error("{option}: {path}: {reason}", path = .path.display())]
    Write { option: &'static str, path: PathBuf, reason: String },
    #[error("{0}")]
    CannotRun(String),
}

impl ConformanceError {
    fn exit(&self) -> Exit {
        match self {
            Self::NoDevice(error) => error.exit(),
            Self::NothingMatches(_)
            | Self::NoCheck(_)
            | Self::NothingLeft
            | Self::KnownGaps(_)
            | Self::Results(_)
            | Self::Write { .. } => Exit::BadInput,
            Self::CannotRun(_) => Exit::Failure,
        }
    }
}

/// Runs the selected checks. Failures are printed as they occur, unless the result is printed as JSON.
fn check(
    args: &ConformanceArgs,
    choice: &DeviceChoice,
    verbosity: u8,
    output: &mut Output,
) -> Result<Result<ConformanceReport, ConformanceError>, OutputError> {
    let (checks, known_gaps) = match selected(args) {
        Ok(selected) => selected,
        Err(error) => return Ok(Err(error)),
    };
    let name = choice.name();
    let limit = Duration::from_secs(args.check_timeout.into());
    let mut processes = match WorkerProcesses::new(&name, verbosity, limit) {
        Ok(processes) => processes,
        Err(error) => {
            let reason = format!("cannot determine the path of this program: {error}");
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

/// Returns the checks that the arguments select, and the known gaps.
fn selected(args: &ConformanceArgs) -> Result<(Vec<&'static Check>, KnownGaps), ConformanceError> {
    let text = args.filter.as_deref();
    let filter = text.map_or_else(Filter::default, Filter::new);
    if let Some(text) = text
        .filter(|text| filter.checks().next().is_none() || text.split(',').all(|part| part.trim().is_empty()))
    {
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
