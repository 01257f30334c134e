//! Reads a trace event by event and checks the rules that involve several lines.

use std::io::Read;
use std::iter::FusedIterator;
use std::path::{Path, PathBuf};

use heapwright_core::ByteSize;

use crate::error::{TraceError, TraceErrorKind};
use crate::event::{AllocationIndex, Event, EventKind};
use crate::ids::{IdNames, Ids};
use crate::lines::Lines;
use crate::row::{self, Row};
use crate::source::Source;
use crate::trace::Trace;

/// An iterator over the events of a trace, which are checked as they are read.
///
/// It ends after an error. [`Trace::read`] reads a whole file.
pub struct TraceReader<R> {
    path: PathBuf,
    lines: Lines<R>,
    /// Number of the current line, counted from 1.
    line: u32,
    /// Whether the end has been reached or an error returned.
    is_done: bool,
    /// Maximum number of lines.
    max_line: u32,
    rules: Rules,
}

/// State of the checks that involve several lines.
#[derive(Default)]
struct Rules {
    previous_time_us: u64,
    ids: Ids,
    /// Lifetimes by allocation index.
    lifetimes: Vec<Lifetime>,
    live_count: u32,
    live_bytes: u64,
    peak_live_bytes: u64,
}

/// Lines and size of an allocation.
struct Lifetime {
    size_bytes: u64,
    alloc_line: u32,
    /// Line of the free, or 0 while the allocation is live.
    free_line: u32,
}

impl<R: Read> TraceReader<R> {
    /// Creates a reader for `input`, plain or gzip, and reads the header. `path` is used in error messages.
    ///
    /// # Errors
    ///
    /// Returns an error if `input` cannot be read or does not begin with the header.
    pub fn new(path: impl AsRef<Path>, input: R) -> Result<Self, TraceError> {
        let path = path.as_ref();
        Ok(Self {
            path: path.to_owned(),
            lines: open(input).map_err(|kind| error_on_line(path, 1, kind))?,
            line: 1,
            is_done: false,
            // One line for the header and one for each event.
            max_line: Trace::MAX_EVENTS + 1,
            rules: Rules::default(),
        })
    }

    /// Returns the maximum of the live bytes over the events yielded so far.
    #[must_use]
    pub fn peak_live(&self) -> ByteSize {
        ByteSize::new(self.rules.peak_live_bytes)
    }

    /// Returns the number of allocations in the events yielded so far.
    #[must_use]
    pub fn allocation_count(&self) -> usize {
        self.rules.lifetimes.len()
    }

    pub(crate) fn into_id_names(self) -> IdNames {
        self.rules.ids.into_names()
    }

    fn next_event(&mut self) -> Result<Option<Event>, TraceErrorKind> {
        // Counted before the line is read, so that errors of reading have the right number.
        self.line += 1;
        let Some(line) = self.lines.next_line()? else { return Ok(None) };
        if self.line > self.max_line {
            return Err(TraceErrorKind::TooManyEvents);
        }
        self.rules.check(self.line, row::parse(line)?).map(Some)
    }
}

impl<R: Read> Iterator for TraceReader<R> {
    type Item = Result<Event, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let event = self.next_event().map_err(|kind| error_on_line(&self.path, self.line, kind)).transpose();
        self.is_done = !matches!(event, Some(Ok(_)));
        event
    }
}

impl<R: Read> FusedIterator for TraceReader<R> {}

impl Rules {
    fn check(&mut self, line: u32, row: Row) -> Result<Event, TraceErrorKind> {
        let Row { time_us, kind, id, size_bytes } = row;
        if time_us < self.previous_time_us {
            return Err(TraceErrorKind::TimeGoesBack { previous: self.previous_time_us, found: time_us });
        }
        self.previous_time_us = time_us;
        let allocation = match kind {
            EventKind::Alloc => self.allocate(line, id, size_bytes)?,
            EventKind::Free => self.free(line, id, size_bytes)?,
        };
        Ok(Event { time_us, size: ByteSize::new(size_bytes), allocation, kind })
    }

    fn allocate(&mut self, line: u32, id: u64, size_bytes: u64) -> Result<AllocationIndex, TraceErrorKind> {
        let index = self.ids.insert(id).map_err(|first| TraceErrorKind::AllocatedTwice {
            id,
            first_line: self.lifetimes[first.as_usize()].alloc_line.into(),
        })?;
        self.lifetimes.push(Lifetime { size_bytes, alloc_line: line, free_line: 0 });
        self.live_count += 1;
        if self.live_count > Trace::MAX_LIVE {
            return Err(TraceErrorKind::TooManyLive);
        }
        self.live_bytes = self.live_bytes.checked_add(size_bytes).ok_or(TraceErrorKind::LiveBytesOverflow)?;
        self.peak_live_bytes = self.peak_live_bytes.max(self.live_bytes);
        Ok(index)
    }

    fn free(&mut self, line: u32, id: u64, size_bytes: u64) -> Result<AllocationIndex, TraceErrorKind> {
        let index = self.ids.find(id).ok_or(TraceErrorKind::NeverAllocated { id })?;
        let lifetime = &mut self.lifetimes[index.as_usize()];
        if lifetime.free_line != 0 {
            return Err(TraceErrorKind::AlreadyFreed { id, freed_line: lifetime.free_line.into() });
        }
        if lifetime.size_bytes != size_bytes {
            return Err(TraceErrorKind::FreeSizeMismatch {
                id,
                found: size_bytes,
                allocated: lifetime.size_bytes,
                alloc_line: lifetime.alloc_line.into(),
            });
        }
        lifetime.free_line = line;
        self.live_count -= 1;
        self.live_bytes -= size_bytes;
        Ok(index)
    }
}

/// Byte order mark (U+FEFF) in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Opens the input and reads the header, after a byte order mark if there is one.
fn open<R: Read>(input: R) -> Result<Lines<R>, TraceErrorKind> {
    let mut lines = Lines::new(Source::new(input)?, Trace::MAX_LINE_LEN);
    let header = lines.next_line()?.ok_or(TraceErrorKind::Empty)?;
    row::check_header(header.strip_prefix(BYTE_ORDER_MARK).unwrap_or(header))?;
    Ok(lines)
}

/// Returns an error on a line, or without a line if the input failed.
fn error_on_line(path: &Path, line: u32, kind: TraceErrorKind) -> TraceError {
    match kind {
        TraceErrorKind::Io(_) | TraceErrorKind::Directory => TraceError::in_file(path, kind),
        _ => TraceError::on_line(path, line.into(), kind),
    }
}

#[cfg(test)]
mod tests;
