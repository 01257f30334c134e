//! `heapwright conformance`: whether a device keeps D3D12's rules of memory.
//!
//! - [`known_gaps`]: the file of `--known-gaps`.
//! - [`report`]: what is printed, as JSON and for people.
//! - [`table`]: how the summary looks to people.

mod known_gaps;
mod report;
mod table;

use heapwright_conformance::{CannotRun, Filter, Options, Target, checks, run as run_checks};

use self::known_gaps::{KnownGaps, KnownGapsError};
use self::report::ConformanceReport;
use crate::args::ConformanceArgs;
use crate::device::{DeviceChoice, NoDevice};
use crate::exit::Exit;
use crate::output::{Output, OutputError};

/// Runs the command. `verbosity` above 0 lists what was skipped.
pub(crate) fn run(args: &ConformanceArgs, verbosity: u8, output: &mut Output) -> Result<Exit, OutputError> {
    let report = match check(args, output) {
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
    Ok(if report.is_as_expected() { Exit::Done } else { Exit::No })
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
    #[error(transparent)]
    CannotRun(#[from] CannotRun),
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

fn check(args: &ConformanceArgs, output: &Output) -> Result<ConformanceReport, ConformanceError> {
    let choice = DeviceChoice::find(&args.device)?;
    let text = args.filter.as_deref();
    let filter = text.map_or_else(Filter::default, Filter::new);
    if let Some(text) = text.filter(|text| filter.checks().next().is_none() || text.trim().is_empty()) {
        return Err(ConformanceError::NothingMatches(text.to_owned()));
    }
    let is_known = |id: &str| checks::all().any(|check| check.id == id);
    if let Some(unknown) = args.skip.iter().find(|id| !is_known(id)) {
        return Err(ConformanceError::NoCheck(unknown.clone()));
    }
    let options = Options { filter: filter.without(&args.skip), ..Options::default() };
    let count = options.filter.checks().count();
    if count == 0 {
        return Err(ConformanceError::NothingLeft);
    }
    let known_gaps = match &args.known_gaps {
        Some(path) => KnownGaps::read(path)?,
        None => KnownGaps::default(),
    };
    let name = choice.name();
    let bar = output.progress(!args.json, &name, u64::try_from(count).unwrap_or(u64::MAX));
    let open = || {
        let gpu = choice.open().map_err(|error| error.to_string())?;
        Ok(Target { device: gpu.device, adapter: gpu.adapter, device_factory: choice.device_factory() })
    };
    let report = run_checks(open, &options, |_| bar.inc(1));
    bar.finish_and_clear();
    Ok(ConformanceReport::new(name, &report?, &known_gaps))
}
