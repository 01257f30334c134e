//! Reading reports from JSON.

use std::io::{self, Read};

use heapwright::report::AllocatorReport;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::ReportError;
use crate::check::{check, check_version};

/// What a report looks like, for tools: a JSON Schema, draft 2020-12.
///
/// It tells keys and types. That allocations do not overlap and sums agree it cannot tell; the
/// [rules](crate#rules) do.
pub const JSON_SCHEMA: &str = include_str!("report.schema.json");

/// Reads a report, and [checks](check()) it. O(bytes).
///
/// Keys that are not known are ignored.
///
/// # Errors
///
/// What is not JSON, is not a report, is of another version, or breaks a [rule](crate#rules), with the place.
pub fn from_json(json: &[u8]) -> Result<AllocatorReport, ReportError> {
    let json = json.strip_prefix(BYTE_ORDER_MARK).unwrap_or(json);
    // First of all, and of any version: the rest may have another meaning there.
    let Header { schema, version } = parse(json)?;
    check_version(schema.as_deref(), version)?;
    let report = parse(json)?;
    check(&report)?;
    Ok(report)
}

/// The most bytes that [`read`] reads: 256 MiB, the report of more than a million allocations.
pub const MAX_JSON_LEN: u64 = 256 << 20;

/// Reads a report from a file or a pipe, and [checks](check()) it. O(bytes).
///
/// What cannot be a report is refused after its first bytes, and what is longer than [`MAX_JSON_LEN`] after that many, so that
/// input without an end ends. A byte order mark before the JSON is skipped.
///
/// # Errors
///
/// As [`from_json`]; [`ReadReportError::Io`] if the reader fails, and [`ReadReportError::TooLong`].
pub fn read(mut reader: impl Read) -> Result<AllocatorReport, ReadReportError> {
    let mut json = Vec::new();
    let mut first = reader.by_ref().take(FIRST_LEN);
    first.read_to_end(&mut json)?;
    // Nothing else is worth reading to its end, if it has one.
    let is_cut = first.limit() == 0;
    let text = json.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&json);
    if is_cut && !text.trim_ascii_start().starts_with(b"{") {
        let rule = "it is no report: a report is a JSON object, which begins with {";
        return Err(ReportError::at("", rule).into());
    }
    let mut rest = reader.take(MAX_JSON_LEN + 1 - FIRST_LEN);
    rest.read_to_end(&mut json)?;
    if rest.limit() == 0 {
        return Err(ReadReportError::TooLong);
    }
    Ok(from_json(&json)?)
}

/// U+FEFF in UTF-8, which some programs write before text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes by which a report is told from what is none.
const FIRST_LEN: u64 = 4096;

/// Why a report could not be read from a file or a pipe.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadReportError {
    /// The reader failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// There are more bytes than are read.
    #[error("the report is longer than {} bytes, the most that is read", MAX_JSON_LEN)]
    TooLong,
    /// It is no report, or breaks a rule.
    #[error(transparent)]
    Report(#[from] ReportError),
}

#[derive(Deserialize)]
struct Header {
    schema: Option<String>,
    version: Option<u64>,
}

fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, ReportError> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let value = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| ReportError::from_json(&error.path().to_string(), &error.into_inner()))?;
    reader.end().map_err(|error| ReportError::from_json("", &error))?;
    Ok(value)
}
