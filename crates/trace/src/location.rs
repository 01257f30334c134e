//! Locations in a trace file.

use std::fmt;
use std::path::Path;

use crate::text::display_path;

/// A file and optionally a line in it.
///
/// The `Display` form is `path:LINE` or `path`, on one line: control characters in the path are escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location<'a> {
    /// Path of the file.
    pub path: &'a Path,
    /// Number of the line, counted from 1.
    pub line: Option<u64>,
}

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&display_path(self.path))?;
        match self.line {
            Some(line) => write!(f, ":{line}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_follows_the_path() {
        let path = Path::new("dir/t.csv");
        assert_eq!(Location { path, line: Some(7) }.to_string(), "dir/t.csv:7");
        assert_eq!(Location { path, line: None }.to_string(), "dir/t.csv");
    }
}
