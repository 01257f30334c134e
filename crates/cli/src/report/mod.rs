//! `heapwright report`: converts a session, a trace or an allocator's report to an HTML page.
//!
//! - [`args`]: the arguments.
//! - [`source`]: the input, what it contains, and the path of its page.
//! - [`follow`]: the page of a session that is still recorded.
//! - [`placements`]: heaps and placements for files without them.
//! - [`summary`]: what is printed.

mod args;
mod follow;
mod placements;
mod source;
mod summary;

use std::io::{self, Read};
use std::path::Path;

use heapwright::report::AllocatorReport;
use heapwright_report::session::{
    HistoryBuilder, PlacementSource, SessionHistory, SessionTitle, history_of, write_session_html,
};
use heapwright_report::{JSON_SCHEMA, MAX_JSON_LEN, ReadReportError, from_dump, write_html};
use heapwright_trace::{DumpedBy, Input, RecordReader};

pub(crate) use self::args::ReportArgs;
use self::source::{Content, EXPECTED};
use self::summary::Summary;
use crate::convert;
use crate::exit::{Exit, Failed};
use crate::format;
use crate::input;
use crate::output::Output;
use crate::output_file::OutputFile;

/// Runs the command.
pub(crate) fn run(args: &ReportArgs, output: &mut Output) -> Result<Exit, Failed> {
    let Some(path) = &args.report else {
        output.result(&JSON_SCHEMA.trim_end())?;
        return Ok(Exit::Success);
    };
    if args.follow {
        return follow::follow(path, output);
    }
    let content = source::open(path)?;
    // The page is opened first because reading may take long.
    let page = source::open_page(path, args.output.as_deref())?;
    let page_path = page.path().display().to_string();
    let summary = match content {
        Content::AllocatorReport(bytes) => of_report(&read_report(path, bytes)?, page)?,
        Content::Dump(library, input) => of_report(&read_dump(path, library, input)?, page)?,
        Content::Session(reader) => {
            let session = Session::read(path, *reader)?;
            page.write(|file| session.write(false, file))?;
            session.warn(path, output);
            let Session { name, placements, history, .. } = &session;
            let mut summary = Summary::new(page_path, name.clone(), placements, history);
            summary.failures = session.failures;
            summary
        }
    };
    if args.json {
        output.json(&summary)?
    } else {
        output.result(&summary)?
    }
    Ok(Exit::Success)
}

/// Writes the page of a report.
fn of_report(report: &AllocatorReport, page: OutputFile) -> Result<Summary, Failed> {
    let page_path = page.path().display().to_string();
    page.write(|file| write_html(report, file))?;
    let placements = PlacementSource::Report { device: String::new() };
    Ok(Summary::new(page_path, report.device.description.clone(), &placements, &history_of(report)))
}

/// Reads the dump of another allocator as a report.
fn read_dump(path: &Path, library: DumpedBy, input: Input<impl Read>) -> Result<AllocatorReport, Failed> {
    let named = |failed: Failed| failed.of(input::name(path).display());
    let json = input.into_text(MAX_JSON_LEN).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => {
            named(Failed::bad_input(format_args!("dump is larger than the limit of {MAX_JSON_LEN} bytes")))
        }
        _ => input::cannot_read(path, &error),
    })?;
    from_dump(&json, library).map_err(|error| named(Failed::bad_input(error)))
}

fn read_report(path: &Path, bytes: impl Read) -> Result<AllocatorReport, Failed> {
    heapwright_report::read(bytes).map_err(|error| match error {
        ReadReportError::NoObject => {
            Failed::bad_input(format_args!("expected {EXPECTED}")).of(input::name(path).display())
        }
        ReadReportError::Io(error) => input::cannot_read(path, &error),
        error => Failed::bad_input(error).of(input::name(path).display()),
    })
}

/// A session that was read.
struct Session {
    name: String,
    format: String,
    history: SessionHistory,
    placements: PlacementSource,
    truncated_at: Option<u64>,
    /// Number of allocations that failed in the replay.
    failures: u64,
}

impl Session {
    /// Reads a session. One without heaps is replayed.
    fn read(path: &Path, mut reader: RecordReader<Box<dyn Read>>) -> Result<Self, Failed> {
        let named = input::name(path);
        let mut builder = HistoryBuilder::new();
        for record in reader.by_ref() {
            builder.push(&record?).map_err(|error| Failed::bad_input(error).of(named.display()))?;
        }
        let name = named.file_name().unwrap_or(named.as_os_str()).to_string_lossy().into_owned();
        let format = match reader.format() {
            _ if input::is_generated(path) => "generated trace".to_owned(),
            format => format.to_string(),
        };
        let truncated_at = reader.truncated_at();
        let history = builder.finish();
        let placements = PlacementSource::Recorded;
        let session = Self { name, format, history, placements, truncated_at, failures: 0 };
        let SessionHistory { has_placements, heaps, blocks, .. } = &session.history;
        if *has_placements || !heaps.is_empty() || blocks.is_empty() {
            return Ok(session);
        }
        let replayed = placements::replay(&session.name, &session.history);
        let replayed = replayed.map_err(|failed| failed.of(named.display()))?;
        let placements = PlacementSource::Replayed { device: replayed.device };
        Ok(Self { history: replayed.history, failures: replayed.failures, placements, ..session })
    }

    fn write(&self, is_followed: bool, file: &mut impl io::Write) -> io::Result<()> {
        let title = SessionTitle {
            name: &self.name,
            format: &self.format,
            placements: &self.placements,
            is_truncated: self.truncated_at.is_some(),
            is_followed,
            facts: &[],
        };
        write_session_html(&title, &self.history, file)
    }

    fn warn(&self, path: &Path, output: &mut Output) {
        if let Some(offset) = self.truncated_at {
            output.warning(&convert::truncated(path, offset));
        }
        if self.failures > 0 {
            output.warning(&format_args!(
                "{}: allocations that failed in the replay and are shown outside of heaps: {}",
                self.name,
                format::count(self.failures)
            ));
        }
    }
}
