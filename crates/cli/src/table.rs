//! Tables of results for people.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<'a> {
    heading: &'a str,
    /// Number of spaces before the column.
    gap: u16,
    alignment: CellAlignment,
}

impl<'a> Column<'a> {
    /// A column of texts. The heading may have several lines.
    pub(crate) const fn text(heading: &'a str) -> Self {
        Self { heading, gap: 2, alignment: CellAlignment::Left }
    }

    /// A column of numbers, which are aligned at the right.
    pub(crate) const fn number(heading: &'a str) -> Self {
        Self { heading, gap: 2, alignment: CellAlignment::Right }
    }

    /// Returns the column with this number of spaces before it. Without, there are two.
    pub(crate) const fn after(self, gap: u16) -> Self {
        Self { gap, ..self }
    }
}

/// Returns a table with bold headings, which [`Output`](crate::output::Output) makes plain unless it writes to a
/// terminal.
pub(crate) fn render(columns: &[Column<'_>], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(columns.iter().map(|column| Cell::new(column.heading)));
    table.add_rows(rows);
    for (place, column) in columns.iter().enumerate() {
        let Some(shown) = table.column_mut(place) else { continue };
        shown.set_padding((if place == 0 { 0 } else { column.gap }, 0));
        shown.set_cell_alignment(column.alignment);
        shown.set_constraint(ColumnConstraint::ContentWidth);
    }
    let heading_lines = columns.iter().map(|column| column.heading.split('\n').count()).max().unwrap_or(0);
    let bold = anstyle::Style::new().bold();
    let text = table.trim_fmt();
    let lines = text.lines().enumerate().map(|(place, line)| {
        let line = line.trim_end();
        if place < heading_lines { format!("{bold}{line}{bold:#}") } else { line.to_owned() }
    });
    lines.collect::<Vec<_>>().join("\n")
}
