//! The page of a trace, a capture or a session.

use std::io::Read;
use std::path::{Path, PathBuf};

use heapwright_report::Visible;
use heapwright_report::session::{
    HistoryBuilder, HistoryError, PlacementSource, SessionHistory, SessionSummary, SessionTitle,
    write_session_html,
};
use heapwright_trace::{RecordReader, TraceError, UnknownWorkload};
use serde::Serialize;

use super::args::ReportArgs;
use super::placements::{self, CannotReplay};
use super::source::{CannotOpenPage, Source};
use crate::convert;
use crate::exit::Exit;
use crate::format;
use crate::input;
use crate::output::{Output, OutputError};
use crate::output_file::OutputFileError;

/// Error that prevents the page from being written.
#[derive(Debug, thiserror::Error)]
enum CannotReport {
    #[error(transparent)]
    Input(#[from] TraceError),
    #[error(transparent)]
    Workload(#[from] UnknownWorkload),
    #[error("{name}: {error}")]
    History { name: String, error: HistoryError },
    #[error("{name}: {error}")]
    Replay { name: String, error: CannotReplay },
    #[error(transparent)]
    Page(#[from] CannotOpenPage),
    #[error(transparent)]
    Output(#[from] OutputFileError),
}

impl CannotReport {
    fn exit(&self) -> Exit {
        match self {
            Self::Input(_) | Self::Workload(_) | Self::History { .. } => Exit::BadInput,
            Self::Replay { .. } => Exit::Failure,
            Self::Page(error) => error.exit(),
            Self::Output(error) => error.exit(),
        }
    }
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

/// Summary of a session. The JSON form is stable and described by docs/output.schema.json.
#[derive(Clone, Debug, Serialize)]
struct Summary {
    page: String,
    session: String,
    placements: &'static str,
    events: u64,
    duration_us: u64,
    allocations: u64,
    heaps: u64,
    submissions: u64,
    peak_used_bytes: u64,
    peak_event: u64,
    peak_reserved_bytes: u64,
    end_used_bytes: u64,
    end_reserved_bytes: u64,
    unknown_references: u64,
    failures: u64,
}

/// Converts the input to a page and prints the summary. `bytes` are those of a file; without them, the input is a
/// generated workload.
pub(super) fn run(
    source: &Source,
    bytes: Option<Box<dyn Read>>,
    args: &ReportArgs,
    output: &mut Output,
) -> Result<Exit, OutputError> {
    let (session, page) = match make(source, bytes, args) {
        Ok(made) => made,
        Err(error) => {
            output.error(&error);
            return Ok(error.exit());
        }
    };
    if let Some(offset) = session.truncated_at {
        output.warning(&convert::truncated(source.path(), offset));
    }
    if session.failures > 0 {
        output.warning(&format_args!(
            "{}: allocations that failed in the replay and are shown outside of heaps: {}",
            session.name,
            format::count(session.failures)
        ));
    }
    let summary = Summary::of(&session, &page);
    if args.json {
        // Only maps with keys that are not strings can fail.
        output.result(&serde_json::to_string(&summary).expect("a summary has no maps"))?;
    } else {
        output.result(&summary.to_text())?;
    }
    Ok(Exit::Success)
}

/// Reads the session and writes its page. Returns the session and the page's path.
fn make(
    source: &Source,
    bytes: Option<Box<dyn Read>>,
    args: &ReportArgs,
) -> Result<(Session, PathBuf), CannotReport> {
    // The page is opened first because reading the session may take long.
    let page = source.open_page(args.output.as_deref())?;
    let session = read(source, bytes)?;
    let Session { history, .. } = &session;
    let path = page.path().to_owned();
    let title = SessionTitle {
        name: &session.name,
        format: &session.format,
        placements: &session.placements,
        is_truncated: session.truncated_at.is_some(),
        facts: &[],
    };
    page.write(|file| write_session_html(&title, history, file))?;
    Ok((session, path))
}

fn read(source: &Source, bytes: Option<Box<dyn Read>>) -> Result<Session, CannotReport> {
    let name = source.name();
    let csv = input::generated_csv(source.path())?;
    let bytes = match (bytes, &csv) {
        (Some(bytes), _) => bytes,
        (None, csv) => Box::new(csv.as_deref().unwrap_or_default()) as Box<dyn Read>,
    };
    let path = input::name(source.path());
    let mut reader = RecordReader::new(path, bytes)?;
    let mut builder = HistoryBuilder::new();
    let too_long = |error| CannotReport::History { name: name.clone(), error };
    for record in reader.by_ref() {
        builder.push(&record?).map_err(too_long)?;
    }
    let format = if source.workload().is_some() {
        "generated workload".to_owned()
    } else {
        reader.format().to_string()
    };
    let truncated_at = reader.truncated_at();
    let history = builder.finish();
    let title = path.file_name().map_or_else(|| name.clone(), |name| name.to_string_lossy().into_owned());
    if history.has_placements || !history.heaps.is_empty() || history.blocks.is_empty() {
        let placements = PlacementSource::Recorded;
        return Ok(Session { name: title, format, history, placements, truncated_at, failures: 0 });
    }
    let replayed = placements::replay(&title, &history);
    let replayed = replayed.map_err(|error| CannotReport::Replay { name: name.clone(), error })?;
    let placements = PlacementSource::Replayed { device: replayed.device };
    let (history, failures) = (replayed.history, replayed.failures);
    Ok(Session { name: title, format, history, placements, truncated_at, failures })
}

impl Summary {
    fn of(session: &Session, page: &Path) -> Self {
        let sums = session.history.summary();
        let SessionSummary { moment_count, allocation_count, heap_count, duration_us, .. } = sums;
        Self {
            page: page.display().to_string(),
            session: session.name.clone(),
            placements: match session.placements {
                PlacementSource::Recorded => "recorded",
                PlacementSource::Replayed { .. } => "replayed",
                PlacementSource::Report { .. } => "reported",
            },
            events: moment_count,
            duration_us,
            allocations: allocation_count,
            heaps: heap_count,
            submissions: sums.submission_count,
            peak_used_bytes: sums.peak_used,
            peak_event: if moment_count == 0 { 0 } else { sums.peak_moment + 1 },
            peak_reserved_bytes: sums.peak_reserved,
            end_used_bytes: sums.end_used,
            end_reserved_bytes: sums.end_reserved,
            unknown_references: session.history.unknown_references,
            failures: session.failures,
        }
    }

    fn to_text(&self) -> String {
        let bold = anstyle::Style::new().bold();
        let mut text = format!("{bold}{}{bold:#}", Visible(&self.session));
        let lines = [
            (
                "events",
                format!(
                    "{} in {}",
                    format::count(self.events),
                    format::duration(microseconds(self.duration_us))
                ),
            ),
            (
                "used",
                format!(
                    "at most {}, at event {}; {} at the end",
                    format::size(self.peak_used_bytes),
                    format::count(self.peak_event),
                    format::size(self.end_used_bytes)
                ),
            ),
            (
                "heaps",
                format!(
                    "{} ({}), at most {} reserved; {} at the end",
                    format::count(self.heaps),
                    self.placements,
                    format::size(self.peak_reserved_bytes),
                    format::size(self.end_reserved_bytes)
                ),
            ),
            ("allocations", format::count(self.allocations)),
        ];
        for (label, line) in lines {
            text.push_str(&format!("\n  {label:<11} {line}"));
        }
        text.push('\n');
        text.push_str(&format!("\npage: {}", Visible(&self.page)));
        text
    }
}

/// Returns nanoseconds for [`format::duration`].
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn microseconds(us: u64) -> f64 {
    us as f64 * 1e3
}
