//! `heapwright report`: converts an allocator's report to an HTML page.
//!
//! - [`summary`]: the summary that is printed.
//! - [`table`]: the summary as text.

mod summary;
mod table;

use std::path::{Path, PathBuf};

use heapwright::report::AllocatorReport;
use heapwright_report::{JSON_SCHEMA, ReadReportError, read, write_html};

use self::summary::Summary;
use crate::args::ReportArgs;
use crate::exit::Exit;
use crate::input;
use crate::output::{Output, OutputError};
use crate::output_file::{OutputFile, OutputFileError};

/// Runs the command.
pub(crate) fn run(args: &ReportArgs, output: &mut Output) -> Result<Exit, OutputError> {
    let Some(source) = &args.report else {
        output.result(&JSON_SCHEMA.trim_end())?;
        return Ok(Exit::Success);
    };
    match make_page(source, args.output.as_deref()) {
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
    #[error("{0}; choose another path with -o")]
    IsReport(OutputFileError),
    #[error(transparent)]
    Page(#[from] OutputFileError),
}

impl CannotReport {
    fn exit(&self) -> Exit {
        match self {
            Self::Read { .. } => Exit::BadInput,
            Self::IsReport(error) | Self::Page(error) => error.exit(),
        }
    }
}

/// Reads the report and writes its page. Returns the report and the page's path.
fn make_page(source: &Path, page: Option<&Path>) -> Result<(AllocatorReport, PathBuf), CannotReport> {
    let is_stdin = input::is_stdin(source);
    let name = if is_stdin { input::STDIN_NAME.to_owned() } else { source.display().to_string() };
    let cannot_read = |reason| CannotReport::Read { report: name.clone(), reason };
    let cannot_open = |error| cannot_read(input::reason(&error, "no such file"));
    let reader = input::open(source).map_err(cannot_open)?;
    let page = match page {
        Some(page) => page.to_owned(),
        None if is_stdin => PathBuf::from("report.html"),
        None => source.with_extension("html"),
    };
    // The page is opened first because reading the report may take long.
    let inputs = (!is_stdin).then_some(source);
    let page = OutputFile::open("page", &page, inputs).map_err(|error| match error {
        OutputFileError::IsInput { .. } => CannotReport::IsReport(error),
        _ => error.into(),
    })?;
    let report = read(reader).map_err(|error| match error {
        ReadReportError::Io(error) => cannot_open(error),
        error => cannot_read(error.to_string()),
    })?;
    let path = page.path().to_owned();
    page.write(|file| write_html(&report, file))?;
    Ok((report, path))
}
