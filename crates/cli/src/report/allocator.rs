//! The page of an allocator's report.

use std::io::Read;
use std::path::{Path, PathBuf};

use heapwright::report::AllocatorReport;
use heapwright_report::{ReadReportError, read, write_html};

use super::args::ReportArgs;
use super::source::{CannotOpenPage, Source};
use super::summary::Summary;
use super::table;
use crate::exit::Exit;
use crate::input;
use crate::output::{Output, OutputError};
use crate::output_file::OutputFileError;

/// Converts the report to a page and prints the summary.
pub(super) fn run(
    source: &Source,
    bytes: impl Read,
    args: &ReportArgs,
    output: &mut Output,
) -> Result<Exit, OutputError> {
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
    #[error(transparent)]
    Page(#[from] CannotOpenPage),
    #[error(transparent)]
    Output(#[from] OutputFileError),
}

impl CannotReport {
    fn exit(&self) -> Exit {
        match self {
            Self::Read { .. } => Exit::BadInput,
            Self::Page(error) => error.exit(),
            Self::Output(error) => error.exit(),
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
    // The page is opened first because reading the report may take long.
    let page = source.open_page(page)?;
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
