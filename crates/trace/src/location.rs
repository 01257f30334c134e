//! Locations in a trace file.

use std::fmt;
use std::path::Path;

use crate::text::display_path;

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
/// The `Display` form is `path:LINE`, `path: byte OFFSET`, `path: event NUMBER` or `path`, on one line: control characters in
/// the path are escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location<'a> {
    /// Path of the file.
    pub path: &'a Path,
    /// Position in the file.
    pub position: Option<Position>,
}

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&display_path(self.path))?;
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
    }
}
