//! Reads the records of a file in any format.

use std::io::Read;
use std::iter::FusedIterator;
use std::path::{Path, PathBuf};

use crate::error::{TraceError, TraceErrorKind};
use crate::event::{Event, EventKind};
use crate::format::{BYTE_ORDER_MARK, Format};
use crate::gpgmm::Capture;
use crate::lines::Lines;
use crate::location::Position;
use crate::row::{self, Row};
use crate::rules::Rules;
use crate::session::{
    Action, Allocation, HeapType, MAX_OTHER_RECORDS, Record, References, ResourceKind, Stream,
};
use crate::source::Source;
use crate::trace::Trace;

/// An iterator over the records of a file in any [`Format`], recognized by its content.
///
/// Allocations and frees are checked by the rules of [traces](crate#format), with the same limits. The other records must refer to
/// allocations, heaps and residency sets that exist. A CSV file yields allocations and frees only. The iterator ends after an error.
pub struct RecordReader<R> {
    path: PathBuf,
    input: Input<R>,
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

enum Input<R> {
    Csv(Lines<R>),
    Capture(Box<Capture<R>>),
    Session(Box<Stream<R>>),
}

impl<R: Read> RecordReader<R> {
    /// Creates a reader for `input`, plain or gzip, and reads the header. `path` is used in error messages.
    ///
    /// # Errors
    ///
    /// Returns an error if `input` cannot be read or has no valid header.
    pub fn new(path: impl AsRef<Path>, input: R) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let mut source = Source::new(input).map_err(|kind| TraceError::at(path, Position::Line(1), kind))?;
        let (input, position): (_, fn(u64) -> Position) = match Format::of(source.first()) {
            Format::Csv => (open_csv(source).map(Input::Csv), Position::Line),
            Format::Capture => (Ok(Input::Capture(Box::new(Capture::new(source)))), Position::Event),
            Format::Session => {
                (Stream::new(source).map(|stream| Input::Session(Box::new(stream))), Position::Event)
            }
        };
        let start = if position(1) == Position::Line(1) { Position::Line(1) } else { Position::Byte(0) };
        Ok(Self {
            path: path.to_owned(),
            input: input.map_err(|kind| TraceError::at(path, start, kind))?,
            event_count: 0,
            max_events: Trace::MAX_EVENTS,
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
        match self.input {
            Input::Csv(_) => Format::Csv,
            Input::Capture(_) => Format::Capture,
            Input::Session(_) => Format::Session,
        }
    }

    /// Returns the offset of the first incomplete block, in bytes, if the input is a session without an end that has been
    /// read to its last complete block. The program that wrote it has ended without [`finish`](crate::session::SessionWriter::finish).
    #[must_use]
    pub fn truncated_at(&self) -> Option<u64> {
        match &self.input {
            Input::Session(stream) => stream.truncated_at(),
            Input::Csv(_) | Input::Capture(_) => None,
        }
    }

    /// Returns the next allocation or free.
    pub(crate) fn next_event(&mut self) -> Option<Result<Event, TraceError>> {
        if self.is_done {
            return None;
        }
        let event = if matches!(self.input, Input::Csv(_)) {
            self.next_row().map(|row| row.map(|(_, event)| event))
        } else {
            loop {
                match self.next_checked() {
                    Ok(Some((_, None))) => {}
                    Ok(Some((_, Some(event)))) => break Ok(Some(event)),
                    Ok(None) => break Ok(None),
                    Err(error) => break Err(error),
                }
            }
        };
        self.is_done = !matches!(event, Ok(Some(_)));
        event.transpose()
    }

    /// Returns the next row of a CSV file, or nothing for other formats.
    fn next_row(&mut self) -> Result<Option<(Row, Event)>, TraceError> {
        let Input::Csv(lines) = &mut self.input else { return Ok(None) };
        // The header is line 1.
        let line = self.event_count + 2;
        let mut next = || {
            let Some(line_text) = lines.next_line()? else { return Ok(None) };
            if self.event_count == self.max_events {
                return Err(TraceErrorKind::TooManyEvents);
            }
            self.event_count += 1;
            let row = row::parse(line_text)?;
            let Row { time_us, kind, id, size_bytes } = row;
            let event = match kind {
                EventKind::Alloc => self.rules.allocate(line, time_us, id, size_bytes),
                EventKind::Free => self.rules.free(line, time_us, id, Some(size_bytes)),
            };
            event.map(|event| Some((row, event)))
        };
        next().map_err(|kind| TraceError::at(&self.path, Position::Line(line.into()), kind))
    }

    /// Returns the next record and, if it is an allocation or free, its event.
    pub(crate) fn next_checked(&mut self) -> Result<Option<(Record, Option<Event>)>, TraceError> {
        let (next, position) = match &mut self.input {
            Input::Csv(_) => {
                let row = self.next_row()?;
                return Ok(row.map(|(row, event)| (record_of(row), Some(event))));
            }
            Input::Capture(capture) => (capture.next_record(), capture.position()),
            Input::Session(stream) => (stream.next_record(), stream.position()),
        };
        let Some(record) = next.map_err(|kind| TraceError::at(&self.path, position, kind))? else {
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
                    return Err(TraceError::at(&self.path, position, TraceErrorKind::TooManyOtherRecords));
                }
                self.other_count += 1;
                self.check_references(&record, position)?;
                return Ok(Some((record, None)));
            }
        };
        let event =
            if self.event_count == self.max_events { Err(TraceErrorKind::TooManyEvents) } else { event };
        self.event_count = number;
        let position = Position::Event(number.into());
        let event = event.map_err(|kind| TraceError::at(&self.path, position, kind))?;
        self.check_references(&record, position)?;
        Ok(Some((record, Some(event))))
    }

    fn check_references(&mut self, record: &Record, position: Position) -> Result<(), TraceError> {
        let checked = self.references.check(record);
        checked.map_err(|fault| TraceError::at(&self.path, position, fault.into()))
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

/// Reads the header of a CSV file, after a byte order mark if there is one.
fn open_csv<R: Read>(source: Source<R>) -> Result<Lines<R>, TraceErrorKind> {
    let mut lines = Lines::new(source, Trace::MAX_LINE_LEN);
    let header = lines.next_line()?.ok_or(TraceErrorKind::Empty)?;
    row::check_header(header.strip_prefix(BYTE_ORDER_MARK).unwrap_or(header))?;
    Ok(lines)
}

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
