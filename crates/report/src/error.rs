//! The error of invalid reports.

use std::fmt;

use crate::Visible;

/// A violation of the [rules](crate#rules) of a report, with its location.
///
/// The `Display` form is one line: `heaps[3].allocations[17].offset: is 512, but ...`, or `line 7, column 12: ...` if the
/// text is not valid JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportError(Box<Located>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Located {
    path: String,
    line: Option<usize>,
    column: usize,
    rule: String,
}

impl ReportError {
    pub(crate) fn at(path: impl Into<String>, rule: impl Into<String>) -> Self {
        Self(Box::new(Located { path: path.into(), line: None, column: 0, rule: rule.into() }))
    }

    /// Converts an error of the JSON parser, at a path as written by `serde_path_to_error`: `.` is the whole document.
    pub(crate) fn from_json(path: &str, error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        // The parser's message ends with line and column, which are stored separately.
        let rule = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
        let rule = Visible(rule).shortened(TEXT_LIMIT);
        // Wrong types and values have a path; syntax errors have a line.
        let is_data = error.is_data() && !matches!(path, "" | ".");
        let path = if is_data { Visible(path).shortened(TEXT_LIMIT) } else { String::new() };
        Self(Box::new(Located { path, line: (!is_data && line > 0).then_some(line), column, rule }))
    }

    /// Returns the path of the invalid value, such as `heaps[3].size`. Empty for the whole document.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// Returns the number of the line, counted from 1, if the text is not valid JSON.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.0.line
    }

    /// Returns a description of the violation.
    #[must_use]
    pub fn rule(&self) -> &str {
        &self.0.rule
    }
}

/// Maximum length of text from the document in an error, in characters.
const TEXT_LIMIT: usize = 300;

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Located { path, line, column, rule } = &*self.0;
        match line {
            Some(line) => write!(f, "line {line}, column {column}: {rule}"),
            None if path.is_empty() => f.write_str(rule),
            None => write!(f, "{path}: {rule}"),
        }
    }
}

impl std::error::Error for ReportError {}
