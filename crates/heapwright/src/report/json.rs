//! Reports as JSON.

use std::io::{self, Write};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::allocator_report::AllocatorReport;
use super::check::check_version;
use super::error::ReportError;

/// `schema` of every report.
pub const SCHEMA: &str = "heapwright.report";

/// `version` of the reports that this version of the crate writes and reads.
pub const VERSION: u64 = 1;

/// What a report looks like, for tools: a JSON Schema, draft 2020-12.
///
/// It tells keys and types. That allocations do not overlap and sums agree it cannot tell; the
/// [rules](super#rules) do.
pub const JSON_SCHEMA: &str = include_str!("report.schema.json");

impl AllocatorReport {
    /// Writes the report as JSON, in one line without an end, piece by piece as it goes. O(allocations).
    ///
    /// The writer gets many small pieces: a file wants a [`BufWriter`](io::BufWriter). Nothing is
    /// [checked](Self::check).
    ///
    /// # Errors
    ///
    /// What the writer answers.
    pub fn to_json_writer(&self, writer: impl Write) -> io::Result<()> {
        serde_json::to_writer(writer, self).map_err(io::Error::from)
    }

    /// The report as JSON, in one line. O(allocations).
    #[must_use]
    pub fn to_json(&self) -> String {
        // It has no map whose keys could fail, and no floats.
        serde_json::to_string(self).expect("a report is plain numbers and names")
    }

    /// Reads a report, and [checks](Self::check) it. O(bytes).
    ///
    /// Keys that are not known are ignored.
    ///
    /// # Errors
    ///
    /// What is not JSON, is not a report, is of another version, or breaks a [rule](super#rules), with the place.
    pub fn from_json(json: &[u8]) -> Result<Self, ReportError> {
        // First of all, and of any version: the rest may have another meaning there.
        let Header { schema, version } = read(json)?;
        check_version(schema.as_deref(), version)?;
        let report: Self = read(json)?;
        report.check()?;
        Ok(report)
    }
}

#[derive(Deserialize)]
struct Header {
    schema: Option<String>,
    version: Option<u64>,
}

fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, ReportError> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let value = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| ReportError::from_json(&error.path().to_string(), &error.into_inner()))?;
    reader.end().map_err(|error| ReportError::from_json("", &error))?;
    Ok(value)
}
