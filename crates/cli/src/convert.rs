//! `heapwright convert`: converts traces and sessions between formats.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use heapwright_report::Visible;
use heapwright_trace::Trace;
use heapwright_trace::gpgmm::CaptureWriter;
use heapwright_trace::session::{Action, SessionWriter, WriteError};

use crate::exit::{Exit, Failed};
use crate::format;
use crate::input;
use crate::output::Output;
use crate::output_file::OutputFile;

/// Convert traces and sessions between formats
///
/// Reads CSV files, captures of GPGMM (Chrome trace events as JSON), sessions and memory snapshots of PyTorch (pickle
/// or JSON), plain or gzip, recognized by their content. Writes CSV files, which hold allocations and frees, and
/// sessions, which also hold heaps, placements, contents, residency sets, submissions and GPU addresses, and Chrome
/// traces for Perfetto, with the events of GPGMM's captures. The input is checked before the output is changed, unless
/// it is standard input or a pipe, which can be read only once.
///
/// A generated workload, workload:SHAPE:SEED, is the allocation trace of a typical program: streaming, levels,
/// frame-graph, serving, training, editor or sequence (docs/formats.md). The same name is the same trace on every
/// machine.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ConvertArgs {
    /// CSV file, capture of GPGMM (.json), session (.hws) or memory snapshot of PyTorch (.pickle, .json), plain or
    /// gzip; - for standard input; or a generated workload (workload:SHAPE:SEED)
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,

    /// Path of the CSV file (.csv), session (.hws) or Chrome trace (.json)
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Format of the output [default: by the extension of OUT]
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) to: Option<ConvertTo>,
}

/// Values of `heapwright convert --to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConvertTo {
    /// Allocations and frees, with the columns time_us,event,id,size_bytes
    Csv,
    /// Binary session
    Session,
    /// Chrome trace (JSON), for Perfetto and GPGMM's capture replay
    Chrome,
}

const HELP: &str = "\
Examples:
  heapwright convert traces/vision_serving.csv.gz vision.hws
  heapwright convert capture.json capture.hws
  heapwright convert snapshot.pickle trace.csv
  heapwright convert --to csv session.hws allocations
  heapwright convert workload:streaming:7 streaming.csv
  heapwright convert session.hws trace.json

Exit codes: 0 success; 1 an error occurred while writing; 2 invalid input, such as a corrupted
session, or a path that cannot be written. A session without an end, as after a crash, is converted
up to its last complete block, with a warning.";

/// Runs the command.
pub(crate) fn run(args: &ConvertArgs, output: &mut Output) -> Result<Exit, Failed> {
    let to = target(args)?;
    let is_csv = to == ConvertTo::Csv;
    // A file is checked completely before the output is changed.
    if !is_csv && !input::is_stream(&args.input) {
        input::records(&args.input)?.try_for_each(|record| record.map(drop))?;
    }
    let mut reader = input::records(&args.input)?;
    let from = reader.format();
    let what = if to == ConvertTo::Session { "session" } else { "trace" };
    let path = args.output.display().to_string();
    let path = Visible(&path);
    let (summary, truncated_at) = if is_csv {
        let trace = Trace::from_records(reader, |_, _| ())?;
        OutputFile::open(what, &args.output, [&*args.input])?.write(|writer| trace.write(writer))?;
        let events = format::count(trace.events().len() as u64);
        (format!("{path}: {events} events from {from}"), trace.truncated_at())
    } else {
        let file = OutputFile::open(what, &args.output, [&*args.input])?;
        let (mut records, mut events) = (0, 0);
        let mut read = Ok(());
        let mut next = reader.by_ref().map(|record| {
            let record = record.map_err(|error| {
                read = Err(error);
                io::Error::other("the input cannot be read")
            })?;
            records += 1;
            events += u64::from(matches!(record.action, Action::Allocate(_) | Action::Free { .. }));
            Ok::<_, io::Error>(record)
        });
        let written = file.write(|output| {
            if to == ConvertTo::Chrome {
                let mut writer = CaptureWriter::new(output)?;
                next.try_for_each(|record| writer.write(&record?))?;
                return writer.finish().map(drop);
            }
            let mut writer = SessionWriter::new(output)?;
            next.try_for_each(|record| writer.write(&record?)).map_err(|error| match error {
                WriteError::Io(error) => error,
                error => io::Error::other(error),
            })?;
            writer.finish().map(drop)
        });
        read?;
        written?;
        let (records, events) = (format::count(records), format::count(events));
        let summary = format!("{path}: {records} records, {events} of them events, from {from}");
        (summary, reader.truncated_at())
    };
    if let Some(offset) = truncated_at {
        output.warning(&truncated(&args.input, offset));
    }
    output.result(&summary)?;
    Ok(Exit::Success)
}

/// Returns the warning for a session that a crash has truncated.
pub(crate) fn truncated(path: &Path, offset: u64) -> String {
    format!(
        "{}: byte {offset}: the session has no end, as after a crash; only the complete blocks before it were read",
        path.display()
    )
}

fn target(args: &ConvertArgs) -> Result<ConvertTo, Failed> {
    let extension = args.output.extension().map(|extension| extension.to_ascii_lowercase());
    match (args.to, extension.as_deref().and_then(OsStr::to_str)) {
        (Some(to), _) => Ok(to),
        (None, Some("csv")) => Ok(ConvertTo::Csv),
        (None, Some("hws")) => Ok(ConvertTo::Session),
        (None, Some("json")) => Ok(ConvertTo::Chrome),
        _ => Err(Failed::bad_input(format_args!(
            "{}: unknown extension; use .csv, .hws, .json, or --to",
            args.output.display()
        ))),
    }
}
