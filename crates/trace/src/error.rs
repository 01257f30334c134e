//! Errors of reading a trace, and positions in files.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::visible::Visible;

/// An error of reading a trace, with the file and, if known, the position.
///
/// The `Display` form is one line: the [`Location`], a colon and the rule that the file violates. If the file could not
/// be read, [`source`](Error::source) is the error of the system.
// Boxed to keep the `Result` of each record small.
#[derive(Debug)]
pub struct TraceError(Box<Located>);

#[derive(Debug)]
struct Located {
    path: PathBuf,
    position: Option<Position>,
    fault: Fault,
}

impl TraceError {
    /// Creates an error at a position, or without one if the fault is that of the whole file.
    pub(crate) fn at(path: &Path, position: Position, fault: Fault) -> Self {
        let position = (!matches!(fault, Fault::Io(_) | Fault::File(_))).then_some(position);
        Self(Box::new(Located { path: path.to_owned(), position, fault }))
    }

    /// Returns the path that the caller passed.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns the position of the error, or `None` if the file could not be read.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        self.0.position
    }

    /// Returns the file and position of the error.
    #[must_use]
    pub fn location(&self) -> Location<'_> {
        Location { path: &self.0.path, position: self.0.position }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location(), self.0.fault)
    }
}

impl Error for TraceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0.fault {
            Fault::Io(error) => Some(error),
            _ => None,
        }
    }
}

/// What is wrong with an input.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The input could not be opened or read.
    Io(io::Error),
    /// The compressed data are incomplete, which is no error behind a complete block of a session.
    GzipTruncated,
    /// The input as a whole is not what is expected.
    File(String),
    /// The input violates a rule of its format.
    Invalid(String),
}

impl From<String> for Fault {
    fn from(rule: String) -> Self {
        Self::Invalid(rule)
    }
}

impl From<&str> for Fault {
    fn from(rule: &str) -> Self {
        Self::Invalid(rule.to_owned())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The same message on every system for the most common kinds.
            Self::Io(error) => match error.kind() {
                // On Windows some names are invalid, such as those with a line break.
                io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename => f.write_str("no such file"),
                io::ErrorKind::PermissionDenied => f.write_str("permission denied"),
                io::ErrorKind::IsADirectory => f.write_str("is a directory, not a trace file"),
                _ => write!(f, "cannot be read: {error}"),
            },
            Self::GzipTruncated => f.write_str("unexpected end of the gzip data; the file may be truncated"),
            Self::File(rule) | Self::Invalid(rule) => f.write_str(rule),
        }
    }
}

/// A position in a trace file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Number of a line, counted from 1. For CSV files.
    Line(u64),
    /// Offset in bytes from the start of the uncompressed file. For captures and sessions.
    Byte(u64),
    /// Number of an event among the allocations and frees of a capture or session, counted from 1.
    Event(u64),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Byte(offset) => write!(f, "byte {offset}"),
            Self::Event(number) => write!(f, "event {number}"),
        }
    }
}

/// A file and optionally a position in it.
///
/// The `Display` form is `path:LINE`, `path: byte OFFSET`, `path: event NUMBER` or `path`, on one line: control
/// characters in the path are escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location<'a> {
    /// Path of the file.
    pub path: &'a Path,
    /// Position in the file.
    pub position: Option<Position>,
}

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Visible(&self.path.to_string_lossy()))?;
        match self.position {
            Some(Position::Line(line)) => write!(f, ":{line}"),
            Some(position) => write!(f, ": {position}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_follows_the_path() {
        let path = Path::new("dir/t.csv");
        let display = |position| Location { path, position }.to_string();
        assert_eq!(display(Some(Position::Line(7))), "dir/t.csv:7");
        assert_eq!(display(Some(Position::Byte(16))), "dir/t.csv: byte 16");
        assert_eq!(display(Some(Position::Event(2))), "dir/t.csv: event 2");
        assert_eq!(display(None), "dir/t.csv");
        let path = Path::new("a\nb\u{2028} größe.csv");
        assert_eq!(Location { path, position: None }.to_string(), r"a\u{a}b\u{2028} größe.csv");
    }
}
