//! The page of an allocator's report.

use std::io::Read;
use std::path::{Path, PathBuf};

use heapwright::report::AllocatorReport;
use heapwright_report::{ReadReportError, read, write_html};

use super::args::ReportArgs;
use super::source::Source;
use super::summary::Summary;
use super::table;
use crate::exit::Exit;
use crate::input;
use crate::output::{Output, OutputError};
use crate::output_file::{OutputFile, OutputFileError};

/// Converts the report to a page and prints the summary.
pub(super) fn run(
    source: &Source,
    bytes: impl Read,
    args: &ReportArgs,
    output: &mut Output,
) -> Result<Exit, OutputError> {
    if args.svg.is_some() || args.png.is_some() {
        output.error(&CannotReport::NoChart { report: source.name() });
        return Ok(Exit::BadInput);
    }
    match make_page(source, bytes, args.output.as_deref()) {
        Ok((report, page)) => {
            let summary = Summary::of(&report, &page);
            if args.json {
                output.result(&summary.to_json())?;
            } else {
                output.result(&table::render(&report, &summary))?;
            }
            Ok(Exit::Success)
        }
        Err(error) => {
            output.error(&error);
            Ok(error.exit())
        }
    }
}

/// Error that prevents the page from being written.
#[derive(Debug, thiserror::Error)]
enum CannotReport {
    #[error("{report}: {reason}")]
    Read { report: String, reason: String },
    #[error("{report}: is an allocator's report of one moment; --svg and --png need a trace or a session")]
    NoChart { report: String },
    #[error("{0}; choose another path with -o")]
    IsReport(OutputFileError),
    #[error(transparent)]
    Page(#[from] OutputFileError),
}

impl CannotReport {
    fn exit(&self) -> Exit {
        match self {
            Self::Read { .. } | Self::NoChart { .. } => Exit::BadInput,
            Self::IsReport(error) | Self::Page(error) => error.exit(),
        }
    }
}

/// Reads the report and writes its page. Returns the report and the page's path.
fn make_page(
    source: &Source,
    bytes: impl Read,
    page: Option<&Path>,
) -> Result<(AllocatorReport, PathBuf), CannotReport> {
    let cannot_read = |reason| CannotReport::Read { report: source.name(), reason };
    let page = page.map_or_else(|| source.page_path(), Path::to_owned);
    // The page is opened first because reading the report may take long.
    let page = OutputFile::open("page", &page, source.input()).map_err(|error| match error {
        OutputFileError::IsInput { .. } => CannotReport::IsReport(error),
        _ => error.into(),
    })?;
    let report = read(bytes).map_err(|error| match error {
        ReadReportError::NoObject => cannot_read(
            "expected a session, a capture of GPGMM, a CSV trace or an allocator's report (JSON)".to_owned(),
        ),
        ReadReportError::Io(error) => cannot_read(input::reason(&error, "no such file")),
        error => cannot_read(error.to_string()),
    })?;
    let path = page.path().to_owned();
    page.write(|file| write_html(&report, file))?;
    Ok((report, path))
}
