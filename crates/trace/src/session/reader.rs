//! Reads a session block by block.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::block::{BLOCK_HEADER_LEN, BlockHeader, HEADER_LEN, check_header};
use super::decode::decode;
use super::encode::Previous;
use super::record::Record;
use super::varint::NOT_FILLED;
use crate::error::{Fault, Position, TraceError};
use crate::rules::time_goes_back;
use crate::source::Source;

/// An iterator over the records of a session, which holds one block in memory.
///
/// The form of every record is checked. That ids name existing objects is not; [`RecordReader`](crate::RecordReader)
/// checks it. The iterator ends after an error.
pub struct SessionReader<R> {
    path: PathBuf,
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
    has_failed: bool,
}

/// How a session ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Complete,
    Truncated,
}

impl<R: Read> SessionReader<R> {
    /// Creates a reader for `input`, plain or gzip, and reads the header. `path` is used in error messages.
    ///
    /// # Errors
    ///
    /// Returns an error if `input` cannot be read or has no valid header.
    pub fn new(path: impl AsRef<Path>, input: R) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let reader = Source::new(input).and_then(|source| Self::of_source(path, source));
        reader.map_err(|fault| TraceError::at(path, Position::Byte(0), fault))
    }

    /// Reads the header.
    pub(crate) fn of_source(path: &Path, mut source: Source<R>) -> Result<Self, Fault> {
        let mut header = [0; HEADER_LEN];
        let len = source.read_full(&mut header)?;
        check_header(&header[..len])?;
        let offset = HEADER_LEN as u64;
        Ok(Self {
            path: path.to_owned(),
            source,
            block: Vec::new(),
            next: 0,
            remaining: 0,
            previous: Previous::default(),
            time_us: 0,
            block_offset: offset,
            next_offset: offset,
            ending: None,
            has_failed: false,
        })
    }

    /// Returns the offset of the first incomplete block, in bytes, if the session has no end and all complete blocks
    /// have been read. The program that wrote it has ended without [`finish`](super::SessionWriter::finish).
    #[must_use]
    pub fn truncated_at(&self) -> Option<u64> {
        (self.ending == Some(Ending::Truncated)).then_some(self.block_offset)
    }

    /// Returns the position of the current block.
    pub(crate) fn block_position(&self) -> Position {
        Position::Byte(self.block_offset)
    }

    /// Returns the next record, or `None` at the end.
    pub(crate) fn next_record(&mut self) -> Result<Option<Record>, Fault> {
        if self.remaining == 0 && !self.next_block()? {
            return Ok(None);
        }
        let mut rest = &self.block[self.next..];
        let record = decode(&mut rest, &mut self.previous)?;
        self.next = self.block.len() - rest.len();
        self.remaining -= 1;
        if self.remaining == 0 && self.next != self.block.len() {
            return Err(NOT_FILLED.into());
        }
        if record.time_us < self.time_us {
            return Err(time_goes_back(self.time_us, record.time_us));
        }
        self.time_us = record.time_us;
        Ok(Some(record))
    }

    /// Reads and checks the next block. Returns `false` at the end.
    fn next_block(&mut self) -> Result<bool, Fault> {
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
                return Err("there are bytes after the end of the session".into());
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
    fn read_full_or_truncated(&mut self, buffer: &mut [u8]) -> Result<usize, Fault> {
        match self.source.read_full(buffer) {
            // Blocks are checked one by one, so that those before a truncation are valid.
            Err(Fault::GzipTruncated) => Ok(0),
            result => result,
        }
    }
}

impl<R: Read> Iterator for SessionReader<R> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let record = self.next_record();
        self.has_failed = record.is_err();
        record.map_err(|fault| TraceError::at(&self.path, self.block_position(), fault)).transpose()
    }
}
