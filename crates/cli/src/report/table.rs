//! The summary as text.

use heapwright::report::{AllocatorReport, TotalsReport};
use heapwright_report::Visible;

use super::summary::{Largest, Summary};
use crate::format;
use crate::table::{self, Column};

/// Returns the totals, the largest allocations and the path of the page.
pub(super) fn render(report: &AllocatorReport, summary: &Summary) -> String {
    let bold = anstyle::Style::new().bold();
    let device = match report.device.description.as_str() {
        "" => "unnamed device",
        description => description,
    };
    let mut text = format!("{bold}{}{bold:#}", shortened(device));
    let heaps = format!(
        "{}, {} empty, {} created in total",
        format::count_of(summary.heap_count, "heap"),
        format::count(summary.empty_heap_count),
        format::count(summary.heaps_created)
    );
    let free = format!(
        "{}, largest range {}, {:.1} % fragmented",
        format::size(summary.free_bytes),
        format::size(summary.largest_free_range_bytes),
        100.0 * summary.external_fragmentation
    );
    let used = format!(
        "{} of {} in {}, including {} of waste",
        format::size(summary.used_bytes),
        format::size(summary.reserved_bytes),
        format::count_of(summary.allocation_count, "allocation"),
        format::size(summary.waste_bytes)
    );
    for (label, line) in [("heaps", heaps), ("used", used), ("free", free)] {
        text.push_str(&format!("\n  {label:<6} {line}"));
    }
    if !report.heap_types.is_empty() {
        text.push_str("\n\n");
        text.push_str(&heap_types(report));
    }
    if !summary.largest.is_empty() {
        text.push_str("\n\n");
        text.push_str(&largest(&summary.largest));
    }
    text.push_str(&format!("\n\npage: {}", Visible(&summary.page)));
    text
}

fn heap_types(report: &AllocatorReport) -> String {
    let numbers =
        ["heaps", "reserved", "used", "free", "allocations", "committed", "imported"].map(Column::number);
    let columns: Vec<Column<'_>> = std::iter::once(Column::text("heap type")).chain(numbers).collect();
    let rows = report.heap_types.iter().map(|of_type| {
        let TotalsReport { reserved, used, free, heap_count, allocation_count, committed, imported, .. } =
            of_type.totals;
        vec![
            of_type.heap_type.to_string(),
            format::count(heap_count),
            format::size(reserved.get()),
            format::size(used.get()),
            format::size(free.get()),
            format::count(allocation_count),
            format::size(committed.size.get()),
            format::size(imported.size.get()),
        ]
    });
    table::render(&columns, rows)
}

fn largest(largest: &[Largest]) -> String {
    let rows = largest.iter().map(|one| {
        let name = if one.name.is_empty() { "-".to_owned() } else { shortened(&one.name) };
        vec![name, format::size(one.size_bytes), one.kind.replace('_', " "), one.place.clone()]
    });
    let columns = [
        Column::text("largest allocations"),
        Column::number("size"),
        Column::text("kind"),
        Column::text("place"),
    ];
    table::render(&columns, rows)
}

/// Shortens a name to at most 41 characters.
fn shortened(name: &str) -> String {
    let shown = Visible(name).to_string();
    match shown.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown,
    }
}
