//! Replay reports as tables, at most 100 columns wide with trace names of up to 16 letters.

use heapwright_report::Visible;

use super::report::ReplayReport;
use crate::format;
use crate::table::{self, Column};

/// A column, and its cell for a report.
type Cells = (Column<'static>, fn(&ReplayReport) -> String);

/// Returns a table with a row for each report; with `shows_all`, three tables: memory, the rest of what the heaps cost,
/// and the calls. With `names_configuration`, their second column is the configuration.
pub(super) fn render(reports: &[ReplayReport], names_configuration: bool, shows_all: bool) -> String {
    let table = |cells: &[Cells]| {
        let mut all: Vec<Cells> = vec![(Column::text("\ntrace"), trace)];
        if names_configuration {
            let name: fn(&ReplayReport) -> String = |report| report.configuration.name().to_owned();
            all.push((Column::text("\nallocator").after(1), name));
        }
        all.extend(cells);
        let columns: Vec<Column<'_>> = all.iter().map(|&(column, _)| column).collect();
        table::render(
            &columns,
            reports.iter().map(|report| all.iter().map(|(_, cell)| cell(report)).collect()),
        )
    };
    if shows_all { [table(&MEMORY), table(&HEAPS), table(&CALLS)].join("\n\n") } else { table(&SHORT) }
}

/// The overheads are grouped, and so are the times.
const SHORT: [Cells; 7] = [
    (Column::number("peak\nlive"), |report| format::size(report.peak_live_bytes)),
    (Column::number("overhead\nat peak"), |report| overhead(report.overhead)),
    (Column::number("\nmean"), |report| overhead(report.mean_overhead)),
    (Column::number("\nheaps"), |report| format::count(report.heaps_created)),
    (Column::number("alloc\np50"), |report| time(report.alloc_ns.p50)),
    (Column::number("\np99").after(1), |report| time(report.alloc_ns.p99)),
    (Column::number("\nfailed"), |report| format::count(report.failures)),
];

const MEMORY: [Cells; 8] = [
    (Column::number("peak\nlive"), |report| format::size(report.peak_live_bytes)),
    (Column::number("peak\nreserved"), |report| format::size(report.peak_reserved_bytes)),
    (Column::number("over-\nhead"), |report| overhead(report.overhead)),
    (Column::number("mean\nlive"), |report| format::size(report.mean_live_bytes)),
    (Column::number("mean\nreserved"), |report| format::size(report.mean_reserved_bytes)),
    (Column::number("mean\noverhead"), |report| overhead(report.mean_overhead)),
    (Column::number("\nby time"), |report| overhead(report.mean_overhead_by_time)),
    (Column::number("\nheaps"), |report| format::count(report.heaps_created)),
];

const HEAPS: [Cells; 3] = [
    (Column::number("live\nat end"), |report| format::size(report.end_live_bytes)),
    (Column::number("reserved\nat end"), |report| format::size(report.held_at_end_bytes)),
    (Column::number("reserved\nwhen idle"), |report| format::size(report.idle_reserved_bytes)),
];

/// The times of a kind of call are grouped, with the kind above the middle column.
const CALLS: [Cells; 10] = [
    (Column::number("\nevents"), |report| format::count(report.events)),
    (Column::number("\nallocs"), |report| format::count(report.allocations)),
    (Column::number("\np50"), |report| time(report.alloc_ns.p50)),
    (Column::number("alloc\np99").after(1), |report| time(report.alloc_ns.p99)),
    (Column::number("\nmax").after(1), |report| time(report.alloc_ns.max)),
    (Column::number("\np50"), |report| time(report.free_ns.p50)),
    (Column::number("free\np99").after(1), |report| time(report.free_ns.p99)),
    (Column::number("\nmax").after(1), |report| time(report.free_ns.max)),
    (Column::number("mean\nop"), |report| report.mean_op_ns.map_or_else(nothing, format::duration)),
    (Column::number("\nfailed"), |report| format::count(report.failures)),
];

fn trace(report: &ReplayReport) -> String {
    Visible(&report.trace).to_string()
}

fn overhead(overhead: Option<f64>) -> String {
    overhead.map_or_else(nothing, |overhead| format!("{overhead:.3}"))
}

fn time(nanoseconds: Option<u64>) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    nanoseconds.map_or_else(nothing, |time| format::duration(time as f64))
}

/// Returns the cell for a value that was not measured.
fn nothing() -> String {
    "-".to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::configuration::Configuration;
    use super::super::timing::Percentiles;
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
        let reports = [report("gpt2_generate"), empty];
        let short = [
            "                  peak  overhead                alloc",
            "trace             live   at peak   mean  heaps    p50   p99  failed",
            "gpt2_generate  548 MiB     1.026  1.125    312  213ns 1.2µs       0",
            "empty          548 MiB         -      -    312      -     -       0",
        ];
        assert_eq!(plain(&render(&reports, false, false)), short);
        let lines = plain(&render(&reports, false, true));
        let expected = [
            "                  peak      peak  over-     mean      mean      mean",
            "trace             live  reserved   head     live  reserved  overhead  by time  heaps",
            "gpt2_generate  548 MiB   563 MiB  1.026  458 MiB   515 MiB     1.125    1.250    312",
            "empty          548 MiB   563 MiB      -  458 MiB   515 MiB         -        -    312",
            "",
            "                 live  reserved   reserved",
            "trace          at end    at end  when idle",
            "gpt2_generate     0 B   505 MiB    496 MiB",
            "empty             0 B   505 MiB    496 MiB",
            "",
            "                                      alloc              free         mean",
            "trace           events  allocs    p50   p99   max   p50   p99   max     op  failed",
            "gpt2_generate  157,139  78,644  213ns 1.2µs 310µs  99ns 999ns 1.3ms  188ns       0",
            "empty                0  78,644      -     -     -     -     -     -      -       0",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn the_widest_row_of_a_recorded_trace_fits() {
        for line in plain(&render(&[report("sixteen_letters_")], true, true)) {
            assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
        }
    }
}
