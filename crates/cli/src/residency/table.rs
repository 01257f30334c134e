//! How reports look to people.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};

use super::report::{LRU, MeanAndMax, ResidencyReport, Summary, summarize};
use crate::format;

/// A table of all scenarios, a row for each policy, and one of what they come to. Each scenario has its own reports: two may
/// have the same name.
pub(super) fn render(reports: &[Vec<ResidencyReport>]) -> String {
    let mut rows = Vec::new();
    for scenario in reports {
        let lru = scenario.iter().find(|report| report.policy == LRU).and_then(|report| report.ratio);
        for (place, report) in scenario.iter().enumerate() {
            rows.push(row(report, lru, place == 0));
        }
    }
    let mut text = table(&HEADINGS, rows, 2);
    text.push_str("\n\n");
    text.push_str(&table(&SUMMARY_HEADINGS, summarize(reports).iter().map(summary_row).collect(), 1));
    text
}

const HEADINGS: [&str; 10] =
    ["scenario", "policy", "in", "bound", "ratio", "lru", "out", "stalls", "frame p50", "frame p99"];

const SUMMARY_HEADINGS: [&str; 8] =
    ["policy", "in", "ratio, mean", "maximum", "of best, mean", "maximum", "of lru", "longest stall"];

fn row(report: &ResidencyReport, lru: Option<f64>, is_first: bool) -> Vec<String> {
    let name = if is_first { report.scenario.clone() } else { String::new() };
    vec![
        name.replace(char::is_control, "\u{fffd}"),
        policy_name(report.policy, report.default),
        format::size(report.bytes_in),
        format::size(report.lower_bound_bytes),
        decimals(report.ratio),
        if report.default { decimals(lru) } else { String::new() },
        format::size(report.bytes_out),
        format::count(report.stalls),
        format::duration(report.frame_ms.p50 * 1e6),
        format::duration(report.frame_ms.p99 * 1e6),
    ]
}

fn summary_row(summary: &Summary) -> Vec<String> {
    let mean = |of: Option<MeanAndMax>| decimals(of.map(|of| of.mean));
    let max = |of: Option<MeanAndMax>| decimals(of.map(|of| of.max));
    let without = match summary.without {
        0 => String::new(),
        without => format!(", {without} without a ratio"),
    };
    vec![
        policy_name(summary.policy, summary.default),
        format::size(summary.bytes_in),
        mean(summary.of_bound),
        max(summary.of_bound) + &without,
        mean(summary.of_best),
        max(summary.of_best),
        max(summary.of_lru),
        format::duration(summary.longest_stall_ms * 1e6),
    ]
}

fn policy_name(policy: &str, is_default: bool) -> String {
    if is_default { format!("{policy} (default)") } else { policy.to_owned() }
}

fn decimals(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"))
}

/// The first `text_columns` are text; the others are numbers, and stand to the right.
fn table(headings: &[&str], rows: Vec<Vec<String>>, text_columns: usize) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(headings.iter().map(Cell::new));
    for row in rows {
        table.add_row(row);
    }
    for place in 0..headings.len() {
        let Some(column) = table.column_mut(place) else { continue };
        column.set_padding((if place == 0 { 0 } else { 2 }, 0));
        let is_text = place < text_columns;
        column.set_cell_alignment(if is_text { CellAlignment::Left } else { CellAlignment::Right });
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    bold_heading(&table.trim_fmt())
}

/// Colours reach a terminal only, see [`Output`](crate::output::Output).
fn bold_heading(table: &str) -> String {
    let bold = anstyle::Style::new().bold();
    let lines = table.lines().enumerate().map(|(place, line)| {
        let line = line.trim_end();
        if place == 0 { format!("{bold}{line}{bold:#}") } else { line.to_owned() }
    });
    lines.collect::<Vec<_>>().join("\n")
}
