//! How reports look to people.

use heapwright_report::Visible;

use super::report::{LRU, MeanAndMax, ResidencyReport, Summary, summarize};
use crate::format;
use crate::table::{self, Column};

/// A table of all workloads, a row for each policy, and one of what they come to. Each workload has its own reports: two may
/// have the same name.
pub(super) fn render(reports: &[Vec<ResidencyReport>]) -> String {
    let mut rows = Vec::new();
    for workload in reports {
        let lru = workload.iter().find(|report| report.policy == LRU).and_then(|report| report.ratio);
        for (place, report) in workload.iter().enumerate() {
            rows.push(row(report, lru, place == 0));
        }
    }
    let summary = summarize(reports);
    let summary = table::render(&SUMMARY_COLUMNS, summary.iter().map(summary_row));
    format!("{}\n\n{summary}", table::render(&COLUMNS, rows))
}

const COLUMNS: [Column<'_>; 10] = [
    Column::text("workload"),
    Column::text("policy"),
    Column::number("in"),
    Column::number("bound"),
    Column::number("ratio"),
    Column::number("lru"),
    Column::number("out"),
    Column::number("stalls"),
    Column::number("frame p50"),
    Column::number("frame p99"),
];

const SUMMARY_COLUMNS: [Column<'_>; 8] = [
    Column::text("policy"),
    Column::number("in"),
    Column::number("ratio, mean"),
    Column::number("maximum"),
    Column::number("of best, mean"),
    Column::number("maximum"),
    Column::number("of lru"),
    Column::number("longest stall"),
];

fn row(report: &ResidencyReport, lru: Option<f64>, is_first: bool) -> Vec<String> {
    let name = if is_first { report.workload.clone() } else { String::new() };
    vec![
        Visible(&name).to_string(),
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
