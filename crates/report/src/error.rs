//! Why a report is refused.

use std::fmt;

use crate::Visible;

/// Why a report is refused: the place and the rule that is broken there.
///
/// Prints as one line: `heaps[3].allocations[17].offset: 512, but ...`, or `line 7, column 12: ...` where the text is not
/// JSON at all.
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

    /// What the JSON reader answered, at a path in the spelling of `serde_path_to_error`: `.` is the whole document.
    pub(crate) fn from_json(path: &str, error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        // The reader's text ends with the place, which is told apart here.
        let rule = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
        let rule = Visible(rule).shortened(TEXT_LIMIT);
        // What has a wrong type or value is at a path; what is no JSON is on a line.
        let is_data = error.is_data() && !matches!(path, "" | ".");
        let path = if is_data { Visible(path).shortened(TEXT_LIMIT) } else { String::new() };
        Self(Box::new(Located { path, line: (!is_data && line > 0).then_some(line), column, rule }))
    }

    /// Where, as a path of keys and places from the outermost object: `heaps[3].size`. Empty for the whole document.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// The line, counted from 1, where the text is not JSON.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.0.line
    }

    /// The rule that is broken, and how.
    #[must_use]
    pub fn rule(&self) -> &str {
        &self.0.rule
    }
}

/// An error stays readable, whatever the document says.
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
