//! Writes a session block by block.

use std::io::{self, Seek, SeekFrom, Write};

use super::block::{BLOCK_HEADER_LEN, header, header_of};
use super::counts::Counts;
use super::encode::{Previous, encode};
use super::record::{Action, Record};
use super::write_error::WriteError;
use super::{MAX_CONTENTS_LEN, MAX_HEAP_TYPES, MAX_LIST_LEN, MAX_NAME_LEN, MAX_OPTIONS};

/// A writer of sessions, which holds one block in memory.
///
/// Call [`finish`](Self::finish) after the last record. Without it, readers report the session as truncated.
pub struct SessionWriter<W> {
    output: W,
    /// Records of the current block.
    block: Vec<u8>,
    count: u32,
    previous: Previous,
    /// Time of the last record.
    time_us: u64,
    /// The totals of all that has been written.
    counts: Counts,
}

/// Length at which a block is written, in bytes. The longest record fits behind it.
const BLOCK_LEN: usize = 64 << 10;

/// Maximum length of an integer, in bytes.
const MAX_INTEGER_LEN: usize = 10;

const _: () = assert!(
    BLOCK_LEN + MAX_CONTENTS_LEN + 64 <= super::MAX_BLOCK_LEN
        && BLOCK_LEN + MAX_LIST_LEN * MAX_INTEGER_LEN + 64 <= super::MAX_BLOCK_LEN
        && BLOCK_LEN + MAX_OPTIONS * 2 * (MAX_NAME_LEN + 2) + 64 <= super::MAX_BLOCK_LEN,
    "the longest record must fit behind an unwritten block"
);

fn too_many(what: &'static str, limit: usize) -> WriteError {
    WriteError::TooMany { what, limit: u32::try_from(limit).unwrap_or(u32::MAX) }
}

impl<W: Write> SessionWriter<W> {
    /// Creates a writer and writes the header.
    ///
    /// # Errors
    ///
    /// Returns the errors of `output`.
    pub fn new(mut output: W) -> io::Result<Self> {
        output.write_all(&header())?;
        let (block, previous, counts) = (Vec::new(), Previous::default(), Counts::default());
        Ok(Self { output, block, count: 0, previous, time_us: 0, counts })
    }

    /// Writes a record. Contents longer than [`MAX_CONTENTS_LEN`] become several records, and names are cut off after
    /// [`MAX_NAME_LEN`] bytes.
    ///
    /// # Errors
    ///
    /// Returns an error if the record violates the [format](crate::session#format) or exceeds a limit, or if the output
    /// fails. A record that is refused is not written, and others can be written after it.
    pub fn write(&mut self, record: &Record) -> Result<(), WriteError> {
        let &Record { time_us, ref action } = record;
        if time_us < self.time_us {
            return Err(WriteError::TimeGoesBack { previous: self.time_us, found: time_us });
        }
        match action {
            Action::Allocate(allocation) if allocation.size == 0 => {
                return Err(WriteError::ZeroSize { id: allocation.id });
            }
            Action::DefineSet { heaps: ids, .. } | Action::Submit { sets: ids, .. }
                if ids.len() > MAX_LIST_LEN =>
            {
                return Err(WriteError::ListTooLong { len: ids.len() });
            }
            Action::CreatePool { options, .. } | Action::RefusePool { options }
                if options.len() > MAX_OPTIONS =>
            {
                return Err(too_many("options of a pool", MAX_OPTIONS));
            }
            Action::Ask { request, .. } if request.heap_types.len() > MAX_HEAP_TYPES => {
                return Err(too_many("heap types of a request", MAX_HEAP_TYPES));
            }
            Action::Refuse(refusal) if refusal.request.heap_types.len() > MAX_HEAP_TYPES => {
                return Err(too_many("heap types of a request", MAX_HEAP_TYPES));
            }
            Action::Contents { allocation, offset, bytes } if bytes.len() > MAX_CONTENTS_LEN => {
                let mut offset = *offset;
                for bytes in bytes.chunks(MAX_CONTENTS_LEN) {
                    let action = Action::Contents { allocation: *allocation, offset, bytes: bytes.to_vec() };
                    self.write_valid(&Record { time_us, action })?;
                    offset = offset.saturating_add(bytes.len() as u64);
                }
                return Ok(());
            }
            _ => {}
        }
        self.write_valid(record)
    }

    fn write_valid(&mut self, record: &Record) -> Result<(), WriteError> {
        self.counts.add(&record.action)?;
        encode(&mut self.block, &mut self.previous, record);
        self.count += 1;
        self.time_us = record.time_us;
        if self.block.len() >= BLOCK_LEN {
            self.write_block()?;
        }
        Ok(())
    }

    /// Writes all records to the output and flushes it. If the program ends now, a reader finds all of them.
    ///
    /// # Errors
    ///
    /// Returns the errors of the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.write_block()?;
        self.output.flush()
    }

    /// Returns the output, which lacks the records since the last [`flush`](Self::flush).
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.output
    }

    /// Writes the end of the session, flushes the output and returns it.
    ///
    /// # Errors
    ///
    /// Returns the errors of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_block()?;
        self.output.write_all(&header_of(&[], 0))?;
        self.output.flush()?;
        Ok(self.output)
    }

    /// Writes all records and the end of the session, so that the output is complete if the program ends now. The next
    /// record replaces the end.
    ///
    /// # Errors
    ///
    /// Returns the errors of the output.
    pub fn checkpoint(&mut self) -> io::Result<()>
    where
        W: Seek,
    {
        self.write_block()?;
        let end = header_of(&[], 0);
        self.output.write_all(&end)?;
        self.output.flush()?;
        const BACK: i64 = -(BLOCK_HEADER_LEN.cast_signed() as i64);
        self.output.seek(SeekFrom::Current(BACK)).map(drop)
    }

    fn write_block(&mut self) -> io::Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let header = header_of(&self.block, self.count);
        let written = self.output.write_all(&header).and_then(|()| self.output.write_all(&self.block));
        self.block.clear();
        self.count = 0;
        self.previous = Previous::default();
        written
    }
}
