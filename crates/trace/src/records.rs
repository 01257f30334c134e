//! Reads the records of a file in any format, which is recognized by content.

use std::fmt;
use std::io::Read;
use std::iter::FusedIterator;
use std::path::{Path, PathBuf};

use crate::csv::{Row, Rows};
use crate::error::{Fault, Position, TraceError};
use crate::event::{Event, EventKind};
use crate::gpgmm::Capture;
use crate::input::Input;
use crate::kind::FileKind;
use crate::rules::{Rules, too_many_events};
use crate::session::{
    Action, Allocation, HeapType, MAX_EVENTS, MAX_OTHER_RECORDS, Record, References, ResourceKind,
    SessionReader,
};
use crate::snapshot::Snapshot;

/// A format of trace files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Allocations and frees as [CSV](crate#format).
    Csv,
    /// A [capture](crate::gpgmm) of GPGMM: Chrome trace events as JSON.
    Capture,
    /// A binary [session](crate::session).
    Session,
    /// A [memory snapshot](crate::snapshot) of PyTorch.
    Snapshot,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Csv => "CSV",
            Self::Capture => "GPGMM capture",
            Self::Session => "session",
            Self::Snapshot => "memory snapshot of PyTorch",
        })
    }
}

/// An iterator over the records of a file in any [`Format`], recognized by its content.
///
/// Allocations and frees are checked by the rules of [traces](crate#format), with the same limits. The other records
/// must refer to allocations, heaps and residency sets that exist. A CSV file yields allocations and frees only. The
/// iterator ends after an error.
pub struct RecordReader<R> {
    pub(crate) path: PathBuf,
    records: Records<R>,
    /// Number of allocations and frees that have been read.
    event_count: u32,
    pub(crate) max_events: u32,
    /// Number of other records that have been read.
    other_count: u32,
    pub(crate) max_others: u32,
    is_done: bool,
    pub(crate) rules: Rules,
    references: References,
}

enum Records<R> {
    Csv(Rows<R>),
    Capture(Box<Capture<R>>),
    Session(Box<SessionReader<R>>),
    Snapshot(Box<Snapshot>),
}

/// What [`RecordReader`] reads.
const EXPECTED: &str = "a CSV trace, a capture of GPGMM, a session or a memory snapshot of PyTorch";

impl<R: Read> RecordReader<R> {
    /// Creates a reader for `input`, plain or gzip, and reads the header. `path` is used in error messages.
    ///
    /// # Errors
    ///
    /// Returns an error if `input` cannot be read or has no valid header.
    pub fn new(path: impl AsRef<Path>, input: R) -> Result<Self, TraceError> {
        Self::from_input(Input::new(path, input)?)
    }

    /// Creates a reader for an input and reads the header.
    ///
    /// # Errors
    ///
    /// Returns an error if the input cannot be read, is of another kind, or has no valid header.
    pub fn from_input(input: Input<R>) -> Result<Self, TraceError> {
        let kind = match input.kind() {
            // An object without the keys of any format.
            FileKind::Unknown if input.source.begins_with_json() => FileKind::Capture,
            kind => kind,
        };
        let Input { path, source, .. } = input;
        let (records, position): (_, fn(u64) -> Position) = match kind {
            FileKind::Capture => (Ok(Records::Capture(Box::new(Capture::new(source)))), Position::Event),
            // The errors of CSV are the most readable.
            FileKind::Csv | FileKind::Unknown => (Rows::open(source).map(Records::Csv), Position::Line),
            FileKind::Session => {
                let session = SessionReader::of_source(&path, source);
                (session.map(|session| Records::Session(Box::new(session))), Position::Event)
            }
            FileKind::Snapshot => {
                let snapshot = Snapshot::read(source);
                (snapshot.map(|snapshot| Records::Snapshot(Box::new(snapshot))), Position::Event)
            }
            FileKind::Report | FileKind::Dump(_) | FileKind::Frame | FileKind::Foreign(_) => {
                (Err(Fault::File(kind.instead_of(EXPECTED))), Position::Event)
            }
        };
        let start = if position(1) == Position::Line(1) { Position::Line(1) } else { Position::Byte(0) };
        Ok(Self {
            records: records.map_err(|fault| TraceError::at(&path, start, fault))?,
            path,
            event_count: 0,
            max_events: MAX_EVENTS,
            other_count: 0,
            max_others: MAX_OTHER_RECORDS,
            is_done: false,
            rules: Rules::new(position),
            references: References::default(),
        })
    }

    /// Returns the format of the input.
    #[must_use]
    pub fn format(&self) -> Format {
        match self.records {
            Records::Csv(_) => Format::Csv,
            Records::Capture(_) => Format::Capture,
            Records::Session(_) => Format::Session,
            Records::Snapshot(_) => Format::Snapshot,
        }
    }

    /// Returns the offset of the first incomplete block, in bytes, if the input is a session without an end that has
    /// been read to its last complete block. The program that wrote it has ended without
    /// [`finish`](crate::session::SessionWriter::finish).
    #[must_use]
    pub fn truncated_at(&self) -> Option<u64> {
        match &self.records {
            Records::Session(session) => session.truncated_at(),
            Records::Csv(_) | Records::Capture(_) | Records::Snapshot(_) => None,
        }
    }

    /// Returns the next row of a CSV file, or nothing for other formats.
    fn next_row(&mut self) -> Result<Option<(Row, Event)>, TraceError> {
        let Records::Csv(rows) = &mut self.records else { return Ok(None) };
        // The header is line 1.
        let line = self.event_count + 2;
        let mut next = || {
            let Some(row) = rows.next_row(self.event_count == self.max_events)? else { return Ok(None) };
            self.event_count += 1;
            let Row { time_us, kind, id, size_bytes } = row;
            let event = match kind {
                EventKind::Alloc => self.rules.allocate(line, time_us, id, size_bytes),
                EventKind::Free => self.rules.free(line, time_us, id, Some(size_bytes)),
            };
            event.map(|event| Some((row, event)))
        };
        next().map_err(|fault| TraceError::at(&self.path, Position::Line(line.into()), fault))
    }

    /// Returns the next record and, if it is an allocation or free, its event.
    pub(crate) fn next_checked(&mut self) -> Result<Option<(Record, Option<Event>)>, TraceError> {
        let (next, position) = match &mut self.records {
            Records::Csv(_) => {
                let row = self.next_row()?;
                return Ok(row.map(|(row, event)| (record_of(row), Some(event))));
            }
            Records::Capture(capture) => (capture.next_record(), capture.position()),
            Records::Session(session) => (session.next_record(), session.block_position()),
            Records::Snapshot(snapshot) => {
                (Ok(snapshot.next_record()), Position::Event((self.event_count + 1).into()))
            }
        };
        let Some(record) = next.map_err(|fault| TraceError::at(&self.path, position, fault))? else {
            return Ok(None);
        };
        let number = self.event_count + 1;
        let event = match &record.action {
            Action::Allocate(allocation) => {
                self.rules.allocate(number, record.time_us, allocation.id, allocation.size)
            }
            Action::Free { allocation } => self.rules.free(number, record.time_us, *allocation, None),
            _ => {
                // Bounds the memory for malicious files.
                if self.other_count == self.max_others {
                    let too_many = format!(
                        "the file exceeds the limit of {MAX_OTHER_RECORDS} records other than allocations and frees"
                    )
                    .into();
                    return Err(TraceError::at(&self.path, position, too_many));
                }
                self.other_count += 1;
                self.check_references(&record, position)?;
                return Ok(Some((record, None)));
            }
        };
        let event = if self.event_count == self.max_events { Err(too_many_events()) } else { event };
        self.event_count = number;
        let position = Position::Event(number.into());
        let event = event.map_err(|fault| TraceError::at(&self.path, position, fault))?;
        self.check_references(&record, position)?;
        Ok(Some((record, Some(event))))
    }

    fn check_references(&mut self, record: &Record, position: Position) -> Result<(), TraceError> {
        let checked = self.references.check(record);
        checked.map_err(|rule| TraceError::at(&self.path, position, rule.into()))
    }
}

impl<R: Read> Iterator for RecordReader<R> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let record = self.next_checked();
        self.is_done = !matches!(record, Ok(Some(_)));
        record.map(|record| record.map(|(record, _)| record)).transpose()
    }
}

impl<R: Read> FusedIterator for RecordReader<R> {}

fn record_of(row: Row) -> Record {
    let Row { time_us, kind, id, size_bytes } = row;
    let action = match kind {
        EventKind::Alloc => Action::Allocate(Allocation {
            id,
            size: size_bytes,
            kind: ResourceKind::Unknown,
            heap_type: HeapType::Unknown,
            flags: 0,
            name: None,
        }),
        EventKind::Free => Action::Free { allocation: id },
    };
    Record { time_us, action }
}

#[cfg(test)]
mod tests;
