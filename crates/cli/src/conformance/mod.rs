//! `heapwright conformance`: checks a device's conformance to Direct3D 12's memory rules.
//!
//! - [`args`]: the arguments.
//! - [`known_gaps`]: the file of `--known-gaps`.
//! - [`isolation`]: runs checks in separate processes and finds the cause of a crash.
//! - [`process`], [`worker`]: the parent's and the child's side of such a process.
//! - [`memory`]: the memory of such a process.
//! - [`report`]: the results, as JSON and as text.
//! - [`results`]: files of earlier results: comparison with one, and a table of several.

mod args;
mod isolation;
mod known_gaps;
mod memory;
mod process;
mod report;
mod results;
mod worker;

use std::io::Write as _;
use std::time::Duration;

use heapwright_conformance::{Check, Filter};

pub(crate) use self::args::ConformanceArgs;
use self::known_gaps::KnownGaps;
use self::process::{Limits, WorkerProcesses};
use self::report::{ConformanceReport, failure};
use self::results::Results;
use crate::device::DeviceChoice;
use crate::exit::{Exit, Failed};
use crate::output::Output;
use crate::output_file::OutputFile;

/// Runs the command. With a `verbosity` above 0, each skipped check is listed.
pub(crate) fn run(args: &ConformanceArgs, verbosity: u8, output: &mut Output) -> Result<Exit, Failed> {
    if args.list || !args.table.is_empty() {
        output.result(&print_without_running(args)?)?;
        return Ok(Exit::Success);
    }
    let baseline = args.baseline.as_deref().map(Results::read).transpose()?;
    let choice = DeviceChoice::find(&args.device)?;
    if args.worker {
        return worker::run(&choice, output);
    }
    // The file is opened before the checks run, so that errors are reported at once.
    let results = args.results.as_deref().map(|path| OutputFile::open("results", path, [])).transpose()?;
    let report = check(args, &choice, verbosity, output)?;
    let changes = baseline.map(|earlier| earlier.changes(&report.checks));
    if let Some(file) = results {
        file.write(|writer| writer.write_all(results::render(&report).as_bytes()))?;
    }
    if args.json {
        output.json(&report)?;
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
fn print_without_running(args: &ConformanceArgs) -> Result<String, Failed> {
    let (checks, _) = selected(args)?;
    if args.list {
        let lines = checks.iter().map(|check| {
            let differs = check.differs.map(|who| format!(" Differing: {who}.")).unwrap_or_default();
            format!("{}  {}  {}: {}{differs}", check.id, check.class.name(), check.spec, check.rule())
        });
        return Ok(lines.collect::<Vec<_>>().join("\n"));
    }
    let results = args.table.iter().map(|path| Results::read(path)).collect::<Result<Vec<_>, _>>()?;
    Ok(results::table(&checks, &results))
}

/// Runs the selected checks. Failures are printed as they occur, unless the result is printed as JSON.
fn check(
    args: &ConformanceArgs,
    choice: &DeviceChoice,
    verbosity: u8,
    output: &mut Output,
) -> Result<ConformanceReport, Failed> {
    let (checks, known_gaps) = selected(args)?;
    let name = &choice.name;
    let limits = Limits {
        time: Duration::from_secs(args.check_timeout.into()),
        memory: args.check_memory.unwrap_or_else(memory::half_of_the_machine),
    };
    let mut processes = WorkerProcesses::new(name, verbosity, limits).map_err(|error| {
        Failed::failure(format_args!("cannot determine the path of this program: {error}"))
    })?;
    let bar = output.progress(!args.json, name, u64::try_from(checks.len()).unwrap_or(u64::MAX));
    let mut printed = Ok(());
    let result = isolation::run(&checks, &mut processes, &mut |ended| {
        bar.inc(1);
        if let Some(failure) = failure(ended, &known_gaps)
            && !args.json
            && printed.is_ok()
        {
            printed = bar.suspend(|| output.result(&failure));
        }
    });
    bar.finish_and_clear();
    printed?;
    let report = result.map_err(Failed::failure)?;
    Ok(ConformanceReport::new(name.clone(), &report, &known_gaps))
}

/// Where all ids are.
const LISTS_ALL: &str = "`heapwright conformance --list` lists all ids";

/// Returns the checks that the arguments select, and the known gaps.
fn selected(args: &ConformanceArgs) -> Result<(Vec<&'static Check>, KnownGaps), Failed> {
    let text = args.filter.as_deref();
    let filter = text.map_or_else(Filter::default, Filter::new);
    let checks: Vec<&'static Check> = filter.checks().collect();
    let is_none = |text: &&str| checks.is_empty() || text.split(',').all(|part| part.trim().is_empty());
    if let Some(text) = text.filter(is_none) {
        return Err(Failed::bad_input(format_args!(
            "--filter: no check's id contains {text:?}; {LISTS_ALL}"
        )));
    }
    let known_gaps = match &args.known_gaps {
        Some(path) => KnownGaps::read(path).map_err(|failed| failed.of("--known-gaps"))?,
        None => KnownGaps::default(),
    };
    Ok((checks, known_gaps))
}
