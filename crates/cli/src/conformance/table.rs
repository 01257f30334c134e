//! The summary by area as a table.

use crate::table::{self, Column};

/// Results of the checks of an area.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area<'a> {
    pub(super) name: &'a str,
    pub(super) passed: usize,
    pub(super) failed: usize,
    /// Number of failures that are known gaps.
    pub(super) known: usize,
    pub(super) skipped: usize,
}

/// Returns a table with a row for each area and a bold heading.
pub(super) fn render(areas: &[Area<'_>]) -> String {
    let number = |number: usize| if number == 0 { "-".to_owned() } else { number.to_string() };
    let rows = areas.iter().map(|area| {
        let Area { name, passed, failed, known, skipped } = *area;
        let checks = passed + failed + known + skipped;
        let numbers = [checks, passed, failed, known, skipped].map(number);
        std::iter::once(name.to_owned()).chain(numbers).collect()
    });
    let numbers = ["checks", "passed", "failed", "known", "skipped"].map(Column::number);
    let columns: Vec<Column<'_>> = std::iter::once(Column::text("area")).chain(numbers).collect();
    table::render(&columns, rows)
}
