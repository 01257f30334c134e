//! Replay reports as a table, at most 120 columns wide with trace names of up to 16 letters.

use heapwright_report::Visible;

use super::report::ReplayReport;
use super::timing::Percentiles;
use crate::format;
use crate::table::{self, Column};

/// Returns two tables with a row for each report: peaks and times, and live and reserved memory over time. With
/// `names_configuration`, their second column is the configuration.
pub(super) fn render(reports: &[ReplayReport], names_configuration: bool) -> String {
    let table = |columns: &[Column<'_>], cells: fn(&ReplayReport) -> Vec<String>| {
        let mut columns = columns.to_vec();
        if names_configuration {
            columns.insert(1, Column::text("\nallocator").after(1));
        }
        let rows = reports.iter().map(|report| {
            let mut row = cells(report);
            if names_configuration {
                row.insert(1, report.configuration.name().to_owned());
            }
            row
        });
        table::render(&columns, rows)
    };
    format!("{}\n\n{}", table(&PEAKS_AND_TIMES, peaks_and_times), table(&HELD, held))
}

/// The times of a kind of call are grouped, with the kind above the middle column.
const PEAKS_AND_TIMES: [Column<'_>; 15] = [
    Column::text("\ntrace"),
    Column::number("\nevents"),
    Column::number("\nallocs"),
    Column::number("peak\nlive"),
    Column::number("peak\nreserved"),
    Column::number("over-\nhead"),
    Column::number("\nheaps"),
    Column::number("\np50"),
    Column::number("alloc\np99").after(1),
    Column::number("\nmax").after(1),
    Column::number("\np50"),
    Column::number("free\np99").after(1),
    Column::number("\nmax").after(1),
    Column::number("mean\nop"),
    Column::number("\nfailed"),
];

const HELD: [Column<'_>; 10] = [
    Column::text("\ntrace"),
    Column::number("mean\nlive"),
    Column::number("mean\nreserved"),
    Column::number("mean\noverhead"),
    Column::number("\nby time"),
    Column::number("live\nat end"),
    Column::number("reserved\nat end"),
    Column::number("reserved\nwhen idle"),
    Column::number("modelled\ntime"),
    Column::number("\nhitches"),
];

fn peaks_and_times(report: &ReplayReport) -> Vec<String> {
    let ReplayReport { alloc_ns, free_ns, .. } = report;
    let [alloc_p50, alloc_p99, alloc_max] = times(alloc_ns);
    let [free_p50, free_p99, free_max] = times(free_ns);
    vec![
        trace(report),
        format::count(report.events),
        format::count(report.allocations),
        format::size(report.peak_live_bytes),
        format::size(report.peak_reserved_bytes),
        overhead(report.overhead),
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

fn held(report: &ReplayReport) -> Vec<String> {
    vec![
        trace(report),
        format::size(report.mean_live_bytes),
        format::size(report.mean_reserved_bytes),
        overhead(report.mean_overhead),
        overhead(report.mean_overhead_by_time),
        format::size(report.end_live_bytes),
        format::size(report.held_at_end_bytes),
        format::size(report.idle_reserved_bytes),
        format::duration(report.modelled_ms * 1e6),
        format::count(report.hitches),
    ]
}

fn trace(report: &ReplayReport) -> String {
    Visible(&report.trace).to_string()
}

fn overhead(overhead: Option<f64>) -> String {
    overhead.map_or_else(nothing, |overhead| format!("{overhead:.3}"))
}

fn times(percentiles: &Percentiles) -> [String; 3] {
    let Percentiles { p50, p99, max } = *percentiles;
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    [p50, p99, max].map(|time| time.map_or_else(nothing, |time| format::duration(time as f64)))
}

/// Returns the cell for a value that was not measured.
fn nothing() -> String {
    "-".to_owned()
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
            mean_live_bytes: 480_000_000,
            mean_reserved_bytes: 540_000_000,
            mean_overhead: Some(1.125),
            mean_overhead_by_time: Some(1.25),
            modelled_ms: 31.5,
            hitches: 48,
            end_live_bytes: 0,
            held_at_end_bytes: 530_000_000,
            idle_reserved_bytes: 520_000_000,
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
            mean_overhead: None,
            mean_overhead_by_time: None,
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
            "",
            "                  mean      mean      mean             live  reserved   reserved  modelled",
            "trace             live  reserved  overhead  by time  at end    at end  when idle      time  hitches",
            "gpt2_generate  458 MiB   515 MiB     1.125    1.250     0 B   505 MiB    496 MiB      32ms       48",
            "empty          458 MiB   515 MiB         -        -     0 B   505 MiB    496 MiB      32ms       48",
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
