//! `heapwright report`: converts a session, a trace or an allocator's report to an HTML page.
//!
//! - [`args`]: the arguments.
//! - [`source`]: the input, what it contains, and the path of its page.
//! - [`placements`]: heaps and placements for files without them.
//! - [`summary`]: what is printed.

mod args;
mod placements;
mod source;
mod summary;

use std::io::Read;
use std::path::Path;

use heapwright_report::session::{
    HistoryBuilder, PlacementSource, SessionHistory, SessionTitle, history_of, write_session_html,
};
use heapwright_report::{JSON_SCHEMA, ReadReportError, write_html};
use heapwright_trace::RecordReader;

pub(crate) use self::args::ReportArgs;
use self::source::Content;
use self::summary::Summary;
use crate::convert;
use crate::exit::{Exit, Failed};
use crate::format;
use crate::input;
use crate::output::Output;

/// Runs the command.
pub(crate) fn run(args: &ReportArgs, output: &mut Output) -> Result<Exit, Failed> {
    let Some(path) = &args.report else {
        output.result(&JSON_SCHEMA.trim_end())?;
        return Ok(Exit::Success);
    };
    let content = source::open(path)?;
    // The page is opened first because reading may take long.
    let page = source::open_page(path, args.output.as_deref())?;
    let page_path = page.path().display().to_string();
    let summary = match content {
        Content::AllocatorReport(bytes) => {
            let report = read_report(path, bytes)?;
            page.write(|file| write_html(&report, file))?;
            let name = report.device.description.clone();
            Summary::new(
                page_path,
                name,
                &PlacementSource::Report { device: String::new() },
                &history_of(&report),
            )
        }
        Content::Session(reader) => {
            let session = Session::read(path, *reader)?;
            page.write(|file| session.write(file))?;
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

fn read_report(path: &Path, bytes: impl Read) -> Result<heapwright::report::AllocatorReport, Failed> {
    heapwright_report::read(bytes).map_err(|error| match error {
        ReadReportError::NoObject => Failed::bad_input(
            "expected a session, a capture of GPGMM, a CSV trace or an allocator's report (JSON)",
        )
        .of(input::name(path).display()),
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

    fn write(&self, file: &mut impl std::io::Write) -> std::io::Result<()> {
        let title = SessionTitle {
            name: &self.name,
            format: &self.format,
            placements: &self.placements,
            is_truncated: self.truncated_at.is_some(),
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
