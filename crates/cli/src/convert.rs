//! `heapwright convert`: converts traces and sessions between formats.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use heapwright_report::Visible;
use heapwright_trace::gpgmm::CaptureWriter;
use heapwright_trace::session::{Action, Record, SessionWriter, WriteError};
use heapwright_trace::{Format, RecordReader, Trace, TraceError, UnknownWorkload};

use crate::exit::Exit;
use crate::format;
use crate::input;
use crate::output::{Output, OutputError};
use crate::output_file::{OutputFile, OutputFileError};

/// Convert traces and sessions between formats
///
/// Reads CSV files, captures of GPGMM (Chrome trace events as JSON) and sessions, plain or gzip, recognized by their
/// content. Writes CSV files, which hold allocations and frees, and sessions, which also hold heaps, placements, contents,
/// residency sets, submissions and GPU addresses, and Chrome traces for Perfetto, with the events of GPGMM's captures. The
/// input is checked before the output is changed, unless it is standard input or a pipe, which can be read only once.
///
/// A generated workload, workload:SHAPE:SEED, is the allocation trace of a typical program: streaming, levels, frame-graph,
/// serving, training, editor or sequence (docs/formats.md). The same name is the same trace on every machine.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ConvertArgs {
    /// CSV file, capture of GPGMM (.json) or session (.hws), plain or gzip; - for standard input; or a generated workload
    /// (workload:SHAPE:SEED)
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
  heapwright convert --to csv session.hws allocations
  heapwright convert workload:streaming:7 streaming.csv
  heapwright convert session.hws trace.json

Exit codes: 0 success; 1 an error occurred while writing; 2 invalid input, such as a corrupted
session, or a path that cannot be written. A session without an end, as after a crash, is converted
up to its last complete block, with a warning.";

/// Error that prevents a conversion.
#[derive(Debug, thiserror::Error)]
enum ConvertError {
    #[error("{path}: cannot read: {reason}", path = .path.display())]
    Open { path: PathBuf, reason: String },
    #[error(transparent)]
    Input(#[from] TraceError),
    #[error(transparent)]
    Workload(#[from] UnknownWorkload),
    #[error("{path}: unknown extension; use .csv, .hws, .json, or --to", path = .path.display())]
    UnknownExtension { path: PathBuf },
    #[error(transparent)]
    Output(#[from] OutputFileError),
}

impl ConvertError {
    fn exit(&self) -> Exit {
        match self {
            Self::Output(error) => error.exit(),
            _ => Exit::BadInput,
        }
    }
}

/// The summary of a conversion.
struct Converted {
    from: Format,
    records: u64,
    /// Number of allocations and frees.
    events: u64,
    truncated_at: Option<u64>,
}

/// Runs the command.
pub(crate) fn run(args: &ConvertArgs, output: &mut Output) -> Result<Exit, OutputError> {
    let (converted, to) = match target(args).and_then(|to| Ok((convert(args, to)?, to))) {
        Ok(converted) => converted,
        Err(error) => {
            output.error(&error);
            return Ok(error.exit());
        }
    };
    let Converted { from, records, events, truncated_at } = converted;
    if let Some(offset) = truncated_at {
        output.warning(&truncated(&args.input, offset));
    }
    let path = args.output.display().to_string();
    let path = Visible(&path);
    output.result(&match to {
        ConvertTo::Csv => format!("{path}: {} events from {from}", format::count(events)),
        ConvertTo::Session | ConvertTo::Chrome => {
            format!(
                "{path}: {} records, {} of them events, from {from}",
                format::count(records),
                format::count(events)
            )
        }
    })?;
    Ok(Exit::Success)
}

/// Returns the warning for a session that a crash has truncated.
pub(crate) fn truncated(path: &Path, offset: u64) -> String {
    format!(
        "{}: byte {offset}: the session has no end, as after a crash; only the complete blocks before it were read",
        path.display()
    )
}

fn target(args: &ConvertArgs) -> Result<ConvertTo, ConvertError> {
    if let Some(to) = args.to {
        return Ok(to);
    }
    let path = &args.output;
    let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
    match extension.as_deref().and_then(OsStr::to_str) {
        Some("csv") => Ok(ConvertTo::Csv),
        Some("hws") => Ok(ConvertTo::Session),
        Some("json") => Ok(ConvertTo::Chrome),
        _ => Err(ConvertError::UnknownExtension { path: path.clone() }),
    }
}

fn convert(args: &ConvertArgs, to: ConvertTo) -> Result<Converted, ConvertError> {
    let generated = input::generated_csv(&args.input)?;
    let open_bytes = |path: &Path| match &generated {
        Some(csv) => Ok(Box::new(&**csv) as Box<dyn Read + '_>),
        None => open_bytes(path),
    };
    let open = |path: &Path| -> Result<_, ConvertError> {
        Ok(RecordReader::new(input::name(path), open_bytes(path)?)?)
    };
    // A file is checked completely before the output is changed.
    if to != ConvertTo::Csv && !input::is_stream(&args.input) {
        open(&args.input)?.try_for_each(|record| record.map(drop))?;
    }
    let inputs = [&*args.input];
    match to {
        ConvertTo::Csv => {
            let trace = Trace::from_reader(input::name(&args.input), open_bytes(&args.input)?)?;
            let file = OutputFile::open("trace", &args.output, inputs)?;
            file.write(|writer| trace.write(writer))?;
            let events = trace.events().len() as u64;
            let (from, truncated_at) = (trace.format(), trace.truncated_at());
            Ok(Converted { from, records: events, events, truncated_at })
        }
        ConvertTo::Session | ConvertTo::Chrome => {
            let mut reader = open(&args.input)?;
            let file = OutputFile::open(
                if to == ConvertTo::Chrome { "trace" } else { "session" },
                &args.output,
                inputs,
            )?;
            let (mut records, mut events) = (0, 0);
            let mut invalid = None;
            file.write(|writer| {
                let mut writer = RecordWriter::new(to, writer)?;
                for record in reader.by_ref() {
                    let record = match record {
                        Ok(record) => record,
                        Err(error) => {
                            invalid = Some(error);
                            return Ok(());
                        }
                    };
                    writer.write(&record)?;
                    records += 1;
                    events += u64::from(is_event(&record));
                }
                writer.finish()
            })?;
            match invalid {
                Some(error) => Err(error.into()),
                None => {
                    let (from, truncated_at) = (reader.format(), reader.truncated_at());
                    Ok(Converted { from, records, events, truncated_at })
                }
            }
        }
    }
}

/// A writer of all records.
enum RecordWriter<W: io::Write> {
    Session(Box<SessionWriter<W>>),
    Chrome(Box<CaptureWriter<W>>),
}

impl<W: io::Write> RecordWriter<W> {
    fn new(to: ConvertTo, output: W) -> io::Result<Self> {
        Ok(match to {
            ConvertTo::Chrome => Self::Chrome(Box::new(CaptureWriter::new(output)?)),
            _ => Self::Session(Box::new(SessionWriter::new(output)?)),
        })
    }

    fn write(&mut self, record: &Record) -> io::Result<()> {
        match self {
            Self::Chrome(writer) => writer.write(record),
            Self::Session(writer) => writer.write(record).map_err(|error| match error {
                WriteError::Io(error) => error,
                error => io::Error::other(error),
            }),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Chrome(writer) => writer.finish().map(drop),
            Self::Session(writer) => writer.finish().map(drop),
        }
    }
}

fn is_event(record: &Record) -> bool {
    matches!(record.action, Action::Allocate(_) | Action::Free { .. })
}

fn open_bytes(path: &Path) -> Result<Box<dyn Read>, ConvertError> {
    input::open(path).map_err(|error| ConvertError::Open {
        path: path.to_owned(),
        reason: input::reason(&error, "no such file"),
    })
}
