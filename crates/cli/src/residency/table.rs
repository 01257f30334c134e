//! How reports look to people.

use heapwright_report::Visible;

use super::report::{LRU, ResidencyReport};
use crate::format;
use crate::table::{self, Column};

/// Returns a table of all workloads, with a row for each policy. Each workload has its own reports: two may have the
/// same name.
pub(super) fn render(reports: &[Vec<ResidencyReport>]) -> String {
    let mut rows = Vec::new();
    for workload in reports {
        let lru = workload.iter().find(|report| report.policy == LRU).and_then(|report| report.ratio);
        for (place, report) in workload.iter().enumerate() {
            rows.push(row(report, lru, place == 0));
        }
    }
    table::render(&COLUMNS, rows)
}

const COLUMNS: [Column<'_>; 12] = [
    Column::text("workload"),
    Column::text("policy"),
    Column::number("in"),
    Column::number("bound"),
    Column::number("ratio"),
    Column::number("lru"),
    Column::number("out"),
    Column::number("stalls"),
    Column::number("in all"),
    Column::number("longest"),
    Column::number("frame p50"),
    Column::number("frame p99"),
];

fn row(report: &ResidencyReport, lru: Option<f64>, is_first: bool) -> Vec<String> {
    let name = if is_first { report.workload.clone() } else { String::new() };
    vec![
        Visible(&name).to_string(),
        if report.default { format!("{} (default)", report.policy) } else { report.policy.to_owned() },
        format::size(report.bytes_in),
        format::size(report.lower_bound_bytes),
        decimals(report.ratio),
        if report.default { decimals(lru) } else { String::new() },
        format::size(report.bytes_out),
        format::count(report.stalls),
        format::duration(report.stall_ms * 1e6),
        format::duration(report.longest_stall_ms * 1e6),
        format::duration(report.frame_ms.p50 * 1e6),
        format::duration(report.frame_ms.p99 * 1e6),
    ]
}

fn decimals(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"))
}
