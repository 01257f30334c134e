//! The table of results.

use std::fmt;

use super::Result;

/// One line: what was measured, the result, what is required, and whether that is held.
#[derive(Debug)]
pub struct Row {
    /// The measured quantity.
    pub what: String,
    /// The result, in words and figures.
    pub result: String,
    /// The requirement, or empty.
    pub required: String,
    /// Whether the requirement is held; `None` without one.
    pub is_held: Option<bool>,
}

impl Row {
    /// Creates a line without a requirement.
    pub fn plain(what: impl Into<String>, result: impl Into<String>) -> Self {
        Self { what: what.into(), result: result.into(), required: String::new(), is_held: None }
    }

    /// Creates a line with a requirement.
    pub fn required(
        what: impl Into<String>,
        result: impl Into<String>,
        required: impl Into<String>,
        is_held: bool,
    ) -> Self {
        let (what, result, required) = (what.into(), result.into(), required.into());
        Self { what, result, required, is_held: Some(is_held) }
    }
}

/// All lines, in Markdown.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Row>,
    only: Vec<String>,
}

impl Table {
    /// Creates a table of the named measurements alone, or of all if none is named.
    #[must_use]
    pub fn of(only: &[String]) -> Self {
        Self { rows: Vec::new(), only: only.to_vec() }
    }

    /// Performs a measurement, if the table has it, and adds its lines. A measurement that fails is a line, too, whose
    /// requirement is not held.
    pub fn add(&mut self, what: &str, measure: impl FnOnce() -> Result<Vec<Row>>) {
        if !self.only.is_empty() && !self.only.iter().any(|only| only == what) {
            return;
        }
        match measure() {
            Ok(rows) => self.rows.extend(rows),
            Err(error) => self.rows.push(Row::required(what, format!("error: {error}"), "no error", false)),
        }
    }

    /// Returns whether no requirement is violated. If nothing was measured, that is unknown.
    #[must_use]
    pub fn all_held(&self) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(|row| row.is_held != Some(false))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | result | required | met |\n| --- | --- | --- | --- |")?;
        for Row { what, result, required, is_held } in &self.rows {
            let held = match is_held {
                None => "",
                Some(true) => "yes",
                Some(false) => "**no**",
            };
            writeln!(f, "| {what} | {result} | {required} | {held} |")?;
        }
        Ok(())
    }
}
