//! Tests that are known to fail on Wine's Direct3D 12, each with the reason.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A file of lines `name reason`. Lines that begin with `#`, and empty ones, are comments.
#[derive(Debug, Default)]
pub(super) struct KnownGaps {
    reasons: BTreeMap<String, String>,
}

impl KnownGaps {
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Self::parse(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut reasons = BTreeMap::new();
        for (line, number) in text.lines().map(str::trim).zip(1_u32..) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let Some((name, reason)) = line.split_once(char::is_whitespace) else {
                return Err(format!("line {number}: {line} has no reason"));
            };
            if reasons.insert(name.to_owned(), reason.trim().to_owned()).is_some() {
                return Err(format!("line {number}: {name} is listed twice"));
            }
        }
        Ok(Self { reasons })
    }

    /// Returns the entries of a program, which begin with its name and `::`.
    pub(super) fn of<'a>(&'a self, program: &'a str) -> impl Iterator<Item = &'a str> {
        self.reasons.keys().filter_map(move |name| name.strip_prefix(program)?.strip_prefix("::"))
    }

    /// Returns the entries of other programs.
    pub(super) fn of_none<'a>(&'a self, programs: &[&str]) -> impl Iterator<Item = &'a str> {
        let is_of = |name: &str| {
            programs
                .iter()
                .any(|&program| name.strip_prefix(program).is_some_and(|rest| rest.starts_with("::")))
        };
        let names: Vec<&str> = self.reasons.keys().map(String::as_str).filter(|name| !is_of(name)).collect();
        names.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_belong_to_programs() {
        let gaps = KnownGaps::parse("# comment\n\na/x::m::t  Wine 8 does not\na/x_y::t   because\n").unwrap();
        assert_eq!(gaps.of("a/x").collect::<Vec<_>>(), ["m::t"]);
        assert_eq!(gaps.of("a/x_y").collect::<Vec<_>>(), ["t"]);
        assert_eq!(gaps.of("a/z").count(), 0);
        assert_eq!(gaps.of_none(&["a/x"]).collect::<Vec<_>>(), ["a/x_y::t"]);
    }

    #[test]
    fn missing_reasons_and_duplicates_are_errors() {
        assert_eq!(KnownGaps::parse("a/x::t").unwrap_err(), "line 1: a/x::t has no reason");
        assert_eq!(KnownGaps::parse("#\nt b\nt c").unwrap_err(), "line 3: t is listed twice");
    }
}
