//! Reads a session block by block.

use std::io::Read;
use std::iter::FusedIterator;
use std::path::{Path, PathBuf};

use super::block::{BLOCK_HEADER_LEN, BlockHeader, HEADER_LEN, check_header};
use super::decode::decode;
use super::encode::Previous;
use super::fault::SessionFault;
use super::record::Record;
use crate::error::{TraceError, TraceErrorKind};
use crate::location::Position;
use crate::source::Source;

/// An iterator over the records of a session, which holds one block in memory.
///
/// The form of every record is checked. That ids name existing objects is not; [`RecordReader`](crate::RecordReader) checks it for
/// allocations. The iterator ends after an error.
pub struct SessionReader<R> {
    path: PathBuf,
    stream: Stream<R>,
    is_done: bool,
}

impl<R: Read> SessionReader<R> {
    /// Creates a reader for `input`, plain or gzip, and reads the header. `path` is used in error messages.
    ///
    /// # Errors
    ///
    /// Returns an error if `input` cannot be read or has no valid header.
    pub fn new(path: impl AsRef<Path>, input: R) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let stream = Source::new(input).and_then(Stream::new);
        let stream = stream.map_err(|kind| TraceError::at(path, Position::Byte(0), kind))?;
        Ok(Self { path: path.to_owned(), stream, is_done: false })
    }

    /// Returns the offset of the first incomplete block, in bytes, if the session has no end and all complete blocks have been
    /// read. The program that wrote it has ended without [`finish`](super::SessionWriter::finish).
    #[must_use]
    pub fn truncated_at(&self) -> Option<u64> {
        self.stream.truncated_at()
    }
}

impl<R: Read> Iterator for SessionReader<R> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let record = self.stream.next_record();
        self.is_done = !matches!(record, Ok(Some(_)));
        record.map_err(|kind| TraceError::at(&self.path, self.stream.position(), kind)).transpose()
    }
}

impl<R: Read> FusedIterator for SessionReader<R> {}

/// The records of a [`Source`].
pub(crate) struct Stream<R> {
    source: Source<R>,
    /// Records of the current block.
    block: Vec<u8>,
    /// Offset in the block of the next record.
    next: usize,
    /// Number of records of the block that have not been read yet.
    remaining: u32,
    previous: Previous,
    /// Time of the last record of the previous blocks.
    time_us: u64,
    /// Offset of the current block in the file.
    block_offset: u64,
    /// Offset of the next block in the file.
    next_offset: u64,
    ending: Option<Ending>,
}

/// How a session ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Complete,
    Truncated,
}

impl<R: Read> Stream<R> {
    /// Reads the header.
    pub(crate) fn new(mut source: Source<R>) -> Result<Self, TraceErrorKind> {
        let mut header = [0; HEADER_LEN];
        let len = source.read_full(&mut header)?;
        check_header(&header[..len])?;
        let offset = HEADER_LEN as u64;
        Ok(Self {
            source,
            block: Vec::new(),
            next: 0,
            remaining: 0,
            previous: Previous::default(),
            time_us: 0,
            block_offset: offset,
            next_offset: offset,
            ending: None,
        })
    }

    pub(crate) fn truncated_at(&self) -> Option<u64> {
        (self.ending == Some(Ending::Truncated)).then_some(self.block_offset)
    }

    /// Returns the position of the current block.
    pub(crate) fn position(&self) -> Position {
        Position::Byte(self.block_offset)
    }

    /// Returns the next record, or `None` at the end.
    pub(crate) fn next_record(&mut self) -> Result<Option<Record>, TraceErrorKind> {
        if self.remaining == 0 && !self.next_block()? {
            return Ok(None);
        }
        let mut rest = &self.block[self.next..];
        let record = decode(&mut rest, &mut self.previous)?;
        self.next = self.block.len() - rest.len();
        self.remaining -= 1;
        if self.remaining == 0 && self.next != self.block.len() {
            return Err(SessionFault::BlockLength.into());
        }
        if record.time_us < self.time_us {
            return Err(TraceErrorKind::TimeGoesBack { previous: self.time_us, found: record.time_us });
        }
        self.time_us = record.time_us;
        Ok(Some(record))
    }

    /// Reads and checks the next block. Returns `false` at the end.
    fn next_block(&mut self) -> Result<bool, TraceErrorKind> {
        if self.ending.is_some() {
            return Ok(false);
        }
        self.block_offset = self.next_offset;
        let mut bytes = [0; BLOCK_HEADER_LEN];
        if self.read_full_or_truncated(&mut bytes)? < BLOCK_HEADER_LEN {
            self.ending = Some(Ending::Truncated);
            return Ok(false);
        }
        let header = BlockHeader::parse(bytes)?;
        let mut block = std::mem::take(&mut self.block);
        block.resize(header.len, 0);
        let len = self.read_full_or_truncated(&mut block)?;
        self.block = block;
        if len < header.len {
            self.ending = Some(Ending::Truncated);
            return Ok(false);
        }
        header.check(&bytes, &self.block)?;
        if header.len == 0 {
            if self.source.read(&mut [0])? != 0 {
                return Err(SessionFault::TrailingBytes.into());
            }
            self.ending = Some(Ending::Complete);
            return Ok(false);
        }
        self.next_offset += (BLOCK_HEADER_LEN + header.len) as u64;
        self.next = 0;
        self.remaining = header.count;
        self.previous = Previous::default();
        Ok(true)
    }

    /// Reads bytes until `buffer` is full or the input ends, also if compressed data end early.
    fn read_full_or_truncated(&mut self, buffer: &mut [u8]) -> Result<usize, TraceErrorKind> {
        match self.source.read_full(buffer) {
            // Blocks are checked one by one, so that those before a truncation are valid.
            Err(TraceErrorKind::GzipTruncated) => Ok(0),
            result => result,
        }
    }
}
