//! `heapwright report`: an allocator's report as an HTML page.
//!
//! - [`summary`] is what is printed, [`table`] how it looks to people.

mod summary;
mod table;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

use heapwright::report::{AllocatorReport, JSON_SCHEMA, ReportError};

use self::summary::Summary;
use crate::args::ReportArgs;
use crate::exit::Exit;
use crate::output::{Output, OutputError};

/// Runs the command.
pub(crate) fn run(args: &ReportArgs, output: &mut Output) -> Result<Exit, OutputError> {
    let Some(source) = &args.report else {
        output.result(&JSON_SCHEMA.trim_end())?;
        return Ok(Exit::Done);
    };
    match make_page(source, args.output.as_deref()) {
        Ok((report, page)) => {
            let summary = Summary::of(&report, &page);
            if args.json {
                output.result(&summary.to_json())?;
            } else {
                output.result(&table::render(&report, &summary))?;
            }
            Ok(Exit::Done)
        }
        Err(error) => {
            output.error(&error);
            Ok(error.exit())
        }
    }
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
enum CannotReport {
    #[error("{report}: {reason}")]
    Read { report: String, reason: String },
    #[error("{report}: {error}")]
    Wrong { report: String, error: ReportError },
    #[error("{page}: the page would take the place of the report; -o says where else it goes")]
    SameFile { page: String },
    #[error("{page}: {reason}")]
    Create { page: String, reason: String },
    #[error("{page}: the page could not be written: {error}")]
    Write { page: String, error: io::Error },
}

impl CannotReport {
    fn exit(&self) -> Exit {
        match self {
            Self::Read { .. } | Self::Wrong { .. } | Self::SameFile { .. } | Self::Create { .. } => {
                Exit::BadInput
            }
            Self::Write { .. } => Exit::No,
        }
    }
}

/// Reads the report and writes its page; answers both.
fn make_page(source: &Path, page: Option<&Path>) -> Result<(AllocatorReport, PathBuf), CannotReport> {
    let is_stdin = source == OsStr::new("-");
    let name = if is_stdin { "standard input".to_owned() } else { source.display().to_string() };
    let mut json = Vec::new();
    let read =
        if is_stdin { io::stdin().read_to_end(&mut json).map(drop) } else { read_file(source, &mut json) };
    read.map_err(|error| CannotReport::Read {
        report: name.clone(),
        reason: reason(&error, "no such file"),
    })?;
    let report =
        AllocatorReport::from_json(&json).map_err(|error| CannotReport::Wrong { report: name, error })?;

    let page = match page {
        Some(page) => page.to_owned(),
        None if is_stdin => PathBuf::from("report.html"),
        None => source.with_extension("html"),
    };
    let name = || page.display().to_string();
    if !is_stdin && is_same_file(source, &page) {
        return Err(CannotReport::SameFile { page: name() });
    }
    let file = create_file(&page)
        .map_err(|error| CannotReport::Create { page: name(), reason: reason(&error, "no such folder") })?;
    let mut writer = BufWriter::new(file);
    report
        .to_html_writer(&mut writer)
        .and_then(|()| writer.flush())
        .map_err(|error| CannotReport::Write { page: name(), error })?;
    Ok((report, page))
}

fn read_file(path: &Path, json: &mut Vec<u8>) -> io::Result<()> {
    no_directory(path)?;
    *json = fs::read(path)?;
    Ok(())
}

fn create_file(path: &Path) -> io::Result<File> {
    no_directory(path)?;
    File::create(path)
}

/// Systems differ in what they say of a directory, and when.
fn no_directory(path: &Path) -> io::Result<()> {
    if path.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { Ok(()) }
}

fn is_same_file(report: &Path, page: &Path) -> bool {
    report == page
        || matches!((report.canonicalize(), page.canonicalize()), (Ok(left), Ok(right)) if left == right)
}

/// An error of the file system in a few words.
fn reason(error: &io::Error, not_found: &str) -> String {
    match error.kind() {
        // Windows has names that no file can have, as those with a line break.
        io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename => not_found.to_owned(),
        io::ErrorKind::IsADirectory => "is a directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}
