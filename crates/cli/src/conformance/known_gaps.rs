//! `--known-gaps`: checks that are known to fail on a device, each with the reason.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use heapwright_conformance::checks;

use crate::input;

/// The checks that a file lists, each with its reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KnownGaps {
    reasons: BTreeMap<&'static str, String>,
}

/// Error of reading a file of known gaps.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum KnownGapsError {
    #[error("{path}: {reason}", path = .path.display())]
    Read { path: PathBuf, reason: String },
    #[error("{path}:{line}: {rule}", path = .path.display())]
    Wrong { path: PathBuf, line: usize, rule: WrongLine },
}

/// Error in a line.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WrongLine {
    #[error("the line is not UTF-8 text")]
    NotText,
    #[error("unknown check id {id:?}; `heapwright conformance --json` lists all ids")]
    NoCheck { id: String },
    #[error("{id} has no reason; a line consists of a check's id, white space and the reason")]
    NoReason { id: &'static str },
    #[error("duplicate entry for {id}, first listed on line {first}")]
    Again { id: &'static str, first: usize },
}

impl KnownGaps {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Self, KnownGapsError> {
        let cannot_read = |reason| KnownGapsError::Read { path: path.to_owned(), reason };
        // Systems report a directory with different errors.
        if path.is_dir() {
            return Err(cannot_read("is a directory, not a file of known gaps".to_owned()));
        }
        let bytes = input::read(path).map_err(|error| cannot_read(input::reason(&error, "no such file")))?;
        Self::parse(&bytes).map_err(|(line, rule)| KnownGapsError::Wrong {
            path: path.to_owned(),
            line,
            rule,
        })
    }

    /// Returns the reason of the check with this id, or `None` if it is not listed.
    pub(super) fn reason(&self, id: &str) -> Option<&str> {
        self.reasons.get(id).map(String::as_str)
    }

    /// Parses the file's content. On failure, returns the number of the line, counted from 1, and its error.
    fn parse(bytes: &[u8]) -> Result<Self, (usize, WrongLine)> {
        let mut reasons = BTreeMap::new();
        let mut lines = BTreeMap::new();
        // Some editors on Windows write a byte order mark.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        for (number, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
            let wrong = |rule| (number, rule);
            let line = str::from_utf8(line).map_err(|_| wrong(WrongLine::NotText))?.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (asked, reason) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let id = checks::all().map(|check| check.id).find(|&id| id == asked);
            let id = id.ok_or_else(|| wrong(WrongLine::NoCheck { id: asked.to_owned() }))?;
            if let Some(&first) = lines.get(id) {
                return Err(wrong(WrongLine::Again { id, first }));
            }
            let reason = reason.trim();
            if reason.is_empty() {
                return Err(wrong(WrongLine::NoReason { id }));
            }
            lines.insert(id, number);
            reasons.insert(id, reason.to_owned());
        }
        Ok(Self { reasons })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ids of two checks.
    fn ids() -> [&'static str; 2] {
        let mut ids = checks::all().map(|check| check.id);
        [ids.next().unwrap(), ids.next().unwrap()]
    }

    fn refused(text: &str) -> String {
        let (line, rule) = KnownGaps::parse(text.as_bytes()).unwrap_err();
        format!("{line}: {rule}")
    }

    #[test]
    fn ids_and_reasons_are_read_and_comments_ignored() {
        let [one, two] = ids();
        let text =
            format!("# gaps\n\n  {one}   the reason # and more\r\n\t\n#{two} not this\n{two}\tanother");
        let gaps = KnownGaps::parse(text.as_bytes()).unwrap();
        assert_eq!(gaps.reason(one), Some("the reason # and more"));
        assert_eq!(gaps.reason(two), Some("another"));
        assert_eq!(gaps.reason("heap/no-such"), None);
        for nothing in ["", "\n", "# nothing", "\u{feff}", "\u{feff}# nothing"] {
            assert_eq!(KnownGaps::parse(nothing.as_bytes()), Ok(KnownGaps::default()));
        }
    }

    #[test]
    fn errors_name_the_line() {
        let [one, two] = ids();
        let format_of_a_line = "a line consists of a check's id, white space and the reason";
        assert_eq!(refused(&format!("{one}\n")), format!("1: {one} has no reason; {format_of_a_line}"));
        assert_eq!(
            refused(&format!("\n{one} \t\r\n")),
            format!("2: {one} has no reason; {format_of_a_line}")
        );
        assert_eq!(
            refused(&format!("{one} a\n{two} b\n# c\n{one} d\n")),
            format!("4: duplicate entry for {one}, first listed on line 1")
        );
        assert_eq!(
            refused("# one\nheap/no-such reason\n"),
            "2: unknown check id \"heap/no-such\"; `heapwright conformance --json` lists all ids"
        );
        let (line, rule) = KnownGaps::parse(b"\n\n# \xff\n").unwrap_err();
        assert_eq!((line, rule), (3, WrongLine::NotText));
    }
}
