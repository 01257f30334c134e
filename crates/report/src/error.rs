//! The error of invalid reports.

use std::fmt;

use crate::Visible;

/// A violation of the [rules](crate#rules) of a report, with its location.
///
/// The `Display` form is one line: `heaps[3].allocations[17].offset: is 512, but ...`, or `line 7, column 12: ...` if
/// the text is not valid JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportError {
    place: Box<str>,
    rule: Box<str>,
}

impl ReportError {
    pub(crate) fn at(place: impl Into<Box<str>>, rule: impl Into<Box<str>>) -> Self {
        Self { place: place.into(), rule: rule.into() }
    }

    /// Converts an error of the JSON parser, at a path as written by `serde_path_to_error`: `.` is the whole document.
    pub(crate) fn from_json(path: &str, error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        // The parser's message ends with line and column, which are stored separately.
        let rule = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
        let rule = Visible(rule).shortened(TEXT_LIMIT);
        // Wrong types and values have a path; syntax errors have a line.
        if error.is_data() && !matches!(path, "" | ".") {
            Self::at(Visible(path).shortened(TEXT_LIMIT), rule)
        } else if line > 0 {
            Self::at(format!("line {line}, column {column}"), rule)
        } else {
            Self::at("", rule)
        }
    }

    /// Returns the path of the invalid value, such as `heaps[3].size`, or `line 7, column 12` if the text is not valid
    /// JSON. Empty for the whole document.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Returns a description of the violation.
    #[must_use]
    pub fn rule(&self) -> &str {
        &self.rule
    }
}

/// Maximum length of text from the document in an error, in characters.
const TEXT_LIMIT: usize = 300;

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, rule } = self;
        if place.is_empty() { f.write_str(rule) } else { write!(f, "{place}: {rule}") }
    }
}

impl std::error::Error for ReportError {}
