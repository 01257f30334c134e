//! Replay reports as a table for people, at most 120 columns wide for trace names of up to 16 letters.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};

use super::report::ReplayReport;
use super::timing::Percentiles;
use crate::format;

/// One row for each report; with a column for the configuration if there are several.
pub(super) fn render(reports: &[ReplayReport], names_configuration: bool) -> String {
    let columns: Vec<&Column> =
        COLUMNS.iter().filter(|column| names_configuration || !column.is_configuration).collect();
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(columns.iter().map(|column| Cell::new(column.heading)));
    for report in reports {
        let cells = COLUMNS.iter().zip(cells(report));
        let shown = cells.filter(|(column, _)| names_configuration || !column.is_configuration);
        table.add_row(shown.map(|(_, cell)| cell));
    }
    for (place, column) in columns.iter().enumerate() {
        let Some(table_column) = table.column_mut(place) else { continue };
        table_column.set_padding((column.gap, 0));
        let is_text = place == 0 || column.is_configuration;
        table_column.set_cell_alignment(if is_text { CellAlignment::Left } else { CellAlignment::Right });
        table_column.set_constraint(ColumnConstraint::ContentWidth);
    }
    bold_heading(&table.trim_fmt())
}

struct Column {
    heading: &'static str,
    /// Spaces in front.
    gap: u16,
    /// Shown only where there are several configurations.
    is_configuration: bool,
}

const fn column(heading: &'static str, gap: u16) -> Column {
    Column { heading, gap, is_configuration: false }
}

/// Times of one kind of call stand closer together, with the kind above the middle one.
const COLUMNS: [Column; 16] = [
    column("\ntrace", 0),
    Column { heading: "\nallocator", gap: 1, is_configuration: true },
    column("\nevents", 2),
    column("\nallocs", 2),
    column("peak\nlive", 2),
    column("peak\nreserved", 2),
    column("over-\nhead", 2),
    column("\nheaps", 2),
    column("\np50", 2),
    column("alloc\np99", 1),
    column("\nmax", 1),
    column("\np50", 2),
    column("free\np99", 1),
    column("\nmax", 1),
    column("mean\nop", 2),
    column("\nfailed", 2),
];

fn cells(report: &ReplayReport) -> [String; COLUMNS.len()] {
    let ReplayReport { alloc_ns, free_ns, .. } = report;
    let [alloc_p50, alloc_p99, alloc_max] = times(alloc_ns);
    let [free_p50, free_p99, free_max] = times(free_ns);
    [
        report.trace.replace(char::is_control, "\u{fffd}"),
        report.configuration.name().to_owned(),
        format::count(report.events),
        format::count(report.allocations),
        format::size(report.peak_live_bytes),
        format::size(report.peak_reserved_bytes),
        report.overhead.map_or_else(nothing, |overhead| format!("{overhead:.3}")),
        format::count(report.heaps_created),
        alloc_p50,
        alloc_p99,
        alloc_max,
        free_p50,
        free_p99,
        free_max,
        report.mean_op_ns.map_or_else(nothing, format::duration),
        format::count(report.failures),
    ]
}

fn times(percentiles: &Percentiles) -> [String; 3] {
    let Percentiles { p50, p99, max } = *percentiles;
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    [p50, p99, max].map(|time| time.map_or_else(nothing, |time| format::duration(time as f64)))
}

/// Where nothing was measured.
fn nothing() -> String {
    "-".to_owned()
}

/// Colours reach a terminal only, see [`Output`](crate::output::Output).
fn bold_heading(table: &str) -> String {
    let bold = anstyle::Style::new().bold();
    let lines = table.lines().enumerate().map(|(place, line)| {
        let line = line.trim_end();
        if place < 2 { format!("{bold}{line}{bold:#}") } else { line.to_owned() }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::configuration::Configuration;
    use super::*;

    fn report(trace: &str) -> ReplayReport {
        ReplayReport {
            trace: trace.to_owned(),
            configuration: Configuration::Default,
            events: 157_139,
            allocations: 78_644,
            peak_live_bytes: 575_000_000,
            peak_reserved_bytes: 590_000_000,
            overhead: Some(1.026_09),
            heaps_created: 312,
            alloc_ns: Percentiles { p50: Some(213), p99: Some(1_249), max: Some(310_456) },
            free_ns: Percentiles { p50: Some(99), p99: Some(999), max: Some(1_310_456) },
            mean_op_ns: Some(187.5),
            failures: 0,
        }
    }

    fn plain(table: &str) -> Vec<String> {
        anstream::adapter::strip_str(table).to_string().lines().map(str::to_owned).collect()
    }

    #[test]
    fn columns_line_up_under_their_headings() {
        let unmeasured = Percentiles { p50: None, p99: None, max: None };
        let empty = ReplayReport {
            events: 0,
            overhead: None,
            alloc_ns: unmeasured,
            free_ns: unmeasured,
            mean_op_ns: None,
            ..report("empty")
        };
        let lines = plain(&render(&[report("gpt2_generate"), empty], false));
        let expected = [
            "                                   peak      peak  over-               alloc              free         mean",
            "trace           events  allocs     live  reserved   head  heaps    p50   p99   max   p50   p99   max     op  failed",
            "gpt2_generate  157,139  78,644  548 MiB   563 MiB  1.026    312  213ns 1.2µs 310µs  99ns 999ns 1.3ms  188ns       0",
            "empty                0  78,644  548 MiB   563 MiB      -    312      -     -     -     -     -     -      -       0",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn the_widest_row_of_a_recorded_trace_fits() {
        for line in plain(&render(&[report("sixteen_letters_")], false)) {
            assert!(line.chars().count() <= 120, "{} columns: {line}", line.chars().count());
        }
    }
}
