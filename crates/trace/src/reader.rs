//! Reads a trace event by event.

use std::io::Read;
use std::iter::FusedIterator;
use std::path::Path;

use heapwright_core::ByteSize;

use crate::error::TraceError;
use crate::event::Event;
use crate::format::Format;
use crate::ids::IdNames;
use crate::records::RecordReader;

/// An iterator over the allocations and frees of a file in any [`Format`], which are checked as they are read.
///
/// It ends after an error. [`Trace::read`](crate::Trace::read) reads a whole file, and [`RecordReader`] yields the other records of
/// captures and sessions, too.
pub struct TraceReader<R> {
    records: RecordReader<R>,
}

impl<R: Read> TraceReader<R> {
    /// Creates a reader for `input`, plain or gzip, and reads the header. `path` is used in error messages.
    ///
    /// # Errors
    ///
    /// Returns an error if `input` cannot be read or has no valid header.
    pub fn new(path: impl AsRef<Path>, input: R) -> Result<Self, TraceError> {
        RecordReader::new(path, input).map(|records| Self { records })
    }

    /// Returns the format of the input.
    #[must_use]
    pub fn format(&self) -> Format {
        self.records.format()
    }

    /// Returns the offset of the first incomplete block of a session that a crash has truncated. See
    /// [`RecordReader::truncated_at`].
    #[must_use]
    pub fn truncated_at(&self) -> Option<u64> {
        self.records.truncated_at()
    }

    /// Returns the maximum of the live bytes over the events yielded so far.
    #[must_use]
    pub fn peak_live(&self) -> ByteSize {
        self.records.rules.peak_live()
    }

    /// Returns the number of allocations in the events yielded so far.
    #[must_use]
    pub fn allocation_count(&self) -> usize {
        self.records.rules.allocation_count()
    }

    pub(crate) fn into_id_names(self) -> IdNames {
        self.records.rules.into_id_names()
    }
}

impl<R: Read> Iterator for TraceReader<R> {
    type Item = Result<Event, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.records.next_event()
    }
}

impl<R: Read> FusedIterator for TraceReader<R> {}

#[cfg(test)]
mod tests;
