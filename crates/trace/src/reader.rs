//! Reads a trace event by event and holds it to the rules that span lines.

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

/// Yields the events of a trace one by one, each checked against those before it.
///
/// After an error it yields nothing more. [`Trace::read`] collects a whole file.
pub struct TraceReader<R> {
    path: PathBuf,
    lines: Lines<R>,
    /// The line that was read last, or is being read; counted from 1.
    line: u32,
    /// Set once the end or an error has been yielded.
    is_done: bool,
    /// Lines that the trace may have.
    max_line: u32,
    rules: Rules,
}

/// What must be known of earlier lines to judge the next.
#[derive(Default)]
struct Rules {
    previous_time_us: u64,
    ids: Ids,
    /// By allocation index.
    lifetimes: Vec<Lifetime>,
    live_count: u32,
    live_bytes: u64,
    peak_live_bytes: u64,
}

/// What the file has said of one allocation.
struct Lifetime {
    size_bytes: u64,
    alloc_line: u32,
    /// 0 while it is live.
    free_line: u32,
}

impl<R: Read> TraceReader<R> {
    /// Reads the header from `input`, which is decompressed if it is gzip; `path` is for messages.
    ///
    /// # Errors
    ///
    /// If `input` cannot be read, or its first line is not the header.
    pub fn new(path: impl AsRef<Path>, input: R) -> Result<Self, TraceError> {
        let path = path.as_ref();
        Ok(Self {
            path: path.to_owned(),
            lines: open(input).map_err(|kind| blame(path, 1, kind))?,
            line: 1,
            is_done: false,
            // The header and an event on every other line.
            max_line: Trace::MAX_EVENTS + 1,
            rules: Rules::default(),
        })
    }

    /// The most bytes that were live at once in the events yielded so far.
    #[must_use]
    pub fn peak_live(&self) -> ByteSize {
        ByteSize::new(self.rules.peak_live_bytes)
    }

    /// How many allocations the events yielded so far have made.
    #[must_use]
    pub fn allocation_count(&self) -> usize {
        self.rules.lifetimes.len()
    }

    pub(crate) fn into_id_names(self) -> IdNames {
        self.rules.ids.into_names()
    }

    fn next_event(&mut self) -> Result<Option<Event>, TraceErrorKind> {
        // A line that cannot be read is the one to blame, so it counts from here on.
        self.line += 1;
        let Some(line) = self.lines.next_line()? else { return Ok(None) };
        if self.line > self.max_line {
            return Err(TraceErrorKind::TooManyEvents);
        }
        self.rules.take(self.line, row::parse(line)?).map(Some)
    }
}

impl<R: Read> Iterator for TraceReader<R> {
    type Item = Result<Event, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let event = self.next_event().map_err(|kind| blame(&self.path, self.line, kind)).transpose();
        self.is_done = !matches!(event, Some(Ok(_)));
        event
    }
}

impl<R: Read> FusedIterator for TraceReader<R> {}

impl Rules {
    fn take(&mut self, line: u32, row: Row) -> Result<Event, TraceErrorKind> {
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

/// What some programs write in front of UTF-8 text: U+FEFF, the byte order mark.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Takes the header off, and a byte order mark in front of it.
fn open<R: Read>(input: R) -> Result<Lines<R>, TraceErrorKind> {
    let mut lines = Lines::new(Source::new(input)?, Trace::MAX_LINE_LEN);
    let header = lines.next_line()?.ok_or(TraceErrorKind::Empty)?;
    row::check_header(header.strip_prefix(BYTE_ORDER_MARK).unwrap_or(header))?;
    Ok(lines)
}

/// Blames a line, unless the input itself failed.
fn blame(path: &Path, line: u32, kind: TraceErrorKind) -> TraceError {
    match kind {
        TraceErrorKind::Io(_) | TraceErrorKind::Directory => TraceError::in_file(path, kind),
        _ => TraceError::on_line(path, line.into(), kind),
    }
}

#[cfg(test)]
mod tests;
