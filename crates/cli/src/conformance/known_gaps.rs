//! `--known-gaps`: checks that are known to fail on a device, each with the reason.

use std::collections::BTreeMap;
use std::path::Path;

use heapwright_conformance::checks;

use super::LISTS_ALL;
use crate::exit::Failed;
use crate::input;

/// The checks that a file lists, each with its reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KnownGaps {
    reasons: BTreeMap<&'static str, String>,
}

impl KnownGaps {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Self, Failed> {
        let text = input::read_text(path, "a list of checks")?;
        let wrong = |(line, rule)| Failed::bad_input(format_args!("{}:{line}: {rule}", path.display()));
        Self::parse(&text).map_err(wrong)
    }

    /// Returns the reason of the check with this id, or `None` if it is not listed.
    pub(super) fn reason(&self, id: &str) -> Option<&str> {
        self.reasons.get(id).map(String::as_str)
    }

    /// Parses the file's content. On failure, returns the number of the line, counted from 1, and its error.
    fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut reasons = BTreeMap::new();
        let mut lines = BTreeMap::new();
        for (number, line) in (1..).zip(text.lines().map(str::trim)) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (asked, reason) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let id = checks::all().map(|check| check.id).find(|&id| id == asked);
            let id = id.ok_or_else(|| (number, format!("unknown check id {asked:?}; {LISTS_ALL}")))?;
            if let Some(first) = lines.insert(id, number) {
                return Err((number, format!("duplicate entry for {id}, first listed on line {first}")));
            }
            let reason = reason.trim();
            if reason.is_empty() {
                let form = "a line consists of a check's id, white space and the reason";
                return Err((number, format!("{id} has no reason; {form}")));
            }
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
        let (line, rule) = KnownGaps::parse(text).unwrap_err();
        format!("{line}: {rule}")
    }

    #[test]
    fn ids_and_reasons_are_read_and_comments_ignored() {
        let [one, two] = ids();
        let text =
            format!("# gaps\n\n  {one}   the reason # and more\r\n\t\n#{two} not this\n{two}\tanother");
        let gaps = KnownGaps::parse(&text).unwrap();
        assert_eq!(gaps.reason(one), Some("the reason # and more"));
        assert_eq!(gaps.reason(two), Some("another"));
        assert_eq!(gaps.reason("heap/no-such"), None);
        for nothing in ["", "\n", "# nothing"] {
            assert_eq!(KnownGaps::parse(nothing), Ok(KnownGaps::default()));
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
            "2: unknown check id \"heap/no-such\"; `heapwright conformance --list` lists all ids"
        );
    }
}
