//! A file that was opened, decompressed, and recognized by its content.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::{Fault, Position, TraceError};
use crate::kind::{self, FileKind};
use crate::source::Source;

/// An input, plain or gzip, whose [`FileKind`] is known. Reading it yields the uncompressed bytes from the first one
/// on.
pub struct Input<R> {
    pub(crate) path: PathBuf,
    pub(crate) source: Source<R>,
    kind: FileKind,
}

impl<R: Read> Input<R> {
    /// Reads the first bytes of `input`. `path` is used in error messages.
    ///
    /// # Errors
    ///
    /// Returns an error if `input` cannot be read.
    pub fn new(path: impl AsRef<Path>, input: R) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let source = Source::new(input).map_err(|fault| TraceError::at(path, Position::Line(1), fault))?;
        let mut input = Self { path: path.to_owned(), source, kind: FileKind::Unknown };
        input.kind = FileKind::of(path, input.source.first());
        Ok(input)
    }

    /// Returns the kind of the file.
    #[must_use]
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// Reads the rest of the file as text, which is converted to UTF-8 from UTF-16 and has no byte order mark.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, is longer than `limit` bytes ([`io::ErrorKind::FileTooLarge`]), or
    /// is no UTF-8 ([`io::ErrorKind::InvalidData`]).
    pub fn into_text(self, limit: u64) -> io::Result<String> {
        let mut bytes = Vec::new();
        let mut rest = self.take(limit.saturating_add(1));
        rest.read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let text = String::from_utf8(kind::to_utf8(bytes));
        let mut text =
            text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the file is not UTF-8"))?;
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        Ok(text)
    }
}

impl<R: Read> Read for Input<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.source.read(buffer).map_err(|fault| match fault {
            Fault::Io(error) => error,
            fault => io::Error::new(io::ErrorKind::InvalidData, fault.to_string()),
        })
    }
}

impl<R> fmt::Debug for Input<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("path", &self.path).field("kind", &self.kind).finish_non_exhaustive()
    }
}
