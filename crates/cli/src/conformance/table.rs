//! The summary by area as a table.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};

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
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["area", "checks", "passed", "failed", "known", "skipped"].map(Cell::new));
    for area in areas {
        let Area { name, passed, failed, known, skipped } = *area;
        let number = |number: usize| if number == 0 { "-".to_owned() } else { number.to_string() };
        let checks = passed + failed + known + skipped;
        let [checks, passed, failed, known, skipped] = [checks, passed, failed, known, skipped].map(number);
        table.add_row([name.to_owned(), checks, passed, failed, known, skipped]);
    }
    for place in 0..6 {
        let Some(column) = table.column_mut(place) else { continue };
        column.set_padding((if place == 0 { 0 } else { 2 }, 0));
        column.set_cell_alignment(if place == 0 { CellAlignment::Left } else { CellAlignment::Right });
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    let bold = anstyle::Style::new().bold();
    let text = table.trim_fmt();
    let lines = text.lines().enumerate().map(|(place, line)| {
        let line = line.trim_end();
        if place == 0 { format!("{bold}{line}{bold:#}") } else { line.to_owned() }
    });
    lines.collect::<Vec<_>>().join("\n")
}
