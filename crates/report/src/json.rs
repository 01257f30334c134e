//! Reading reports from JSON.

use std::io::{self, Read};

use heapwright::report::AllocatorReport;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::ReportError;
use crate::check::{check, check_version};

/// JSON Schema (draft 2020-12) of reports.
///
/// It defines keys and types. It cannot express all [rules](crate#rules), such as that allocations do not overlap.
pub const JSON_SCHEMA: &str = include_str!("report.schema.json");

/// Parses a report and [checks](check()) it. Takes O(bytes) time.
///
/// Unknown keys are ignored.
///
/// # Errors
///
/// Returns an error if the text is not valid JSON, is not a report of this version, or violates a
/// [rule](crate#rules).
pub fn from_json(json: &[u8]) -> Result<AllocatorReport, ReportError> {
    let json = json.strip_prefix(BYTE_ORDER_MARK).unwrap_or(json);
    // The version is checked first because other versions may define keys differently.
    let Header { schema, version } = parse(json)?;
    check_version(schema.as_deref(), version)?;
    let report = parse(json)?;
    check(&report)?;
    Ok(report)
}

/// Maximum size that [`read`] accepts, in bytes. It is sufficient for more than a million allocations.
pub const MAX_JSON_LEN: u64 = 256 << 20;

/// Reads a report from a file or a pipe and [checks](check()) it. Takes O(bytes) time.
///
/// A leading byte order mark is skipped. At most [`MAX_JSON_LEN`] bytes are read, and only the first 4 KiB if they do
/// not begin with a JSON object, so endless input does not block.
///
/// # Errors
///
/// Returns the errors of [`from_json`], [`ReadReportError::Io`] if the reader fails, [`ReadReportError::NoObject`] if
/// the input does not begin with `{`, and [`ReadReportError::TooLong`] if it exceeds [`MAX_JSON_LEN`].
pub fn read(mut reader: impl Read) -> Result<AllocatorReport, ReadReportError> {
    let mut json = Vec::new();
    let mut first = reader.by_ref().take(FIRST_LEN);
    first.read_to_end(&mut json)?;
    // Input that cannot be a report is not read to its end.
    let text = json.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&json);
    if !text.trim_ascii_start().starts_with(b"{") {
        return Err(ReadReportError::NoObject);
    }
    let mut rest = reader.take(MAX_JSON_LEN + 1 - FIRST_LEN);
    rest.read_to_end(&mut json)?;
    if rest.limit() == 0 {
        return Err(ReadReportError::TooLong);
    }
    Ok(from_json(&json)?)
}

/// Byte order mark (U+FEFF) in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Number of bytes that are read before checking that the input begins with `{`.
const FIRST_LEN: u64 = 4096;

/// Error of [`read`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadReportError {
    /// The reader returned an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The input is no JSON object.
    #[error("not a report: a report is a JSON object, which begins with {{")]
    NoObject,
    /// The input exceeds [`MAX_JSON_LEN`].
    #[error("report is larger than the limit of {} bytes", MAX_JSON_LEN)]
    TooLong,
    /// The input is not a valid report.
    #[error(transparent)]
    Report(#[from] ReportError),
}

#[derive(Deserialize)]
struct Header {
    schema: Option<String>,
    version: Option<u64>,
}

pub(crate) fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, ReportError> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let value = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| ReportError::from_json(&error.path().to_string(), &error.into_inner()))?;
    reader.end().map_err(|error| ReportError::from_json("", &error))?;
    Ok(value)
}
