//! Summary of a report.

use std::path::Path;

use heapwright::ByteSize;
use heapwright::report::{AllocatorReport, Tally};
use heapwright_report::{
    ReportedAllocation, external_fragmentation, largest_allocations, largest_free_range, live_allocations,
};
use serde::Serialize;

/// Summary of a report. The JSON form is stable and described by docs/output.schema.json.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Summary {
    pub(super) page: String,
    pub(super) heap_count: u64,
    pub(super) empty_heap_count: u64,
    pub(super) heaps_created: u64,
    pub(super) reserved_bytes: u64,
    pub(super) used_bytes: u64,
    pub(super) free_bytes: u64,
    pub(super) largest_free_range_bytes: u64,
    pub(super) external_fragmentation: f64,
    pub(super) waste_bytes: u64,
    pub(super) allocation_count: u64,
    pub(super) committed: Count,
    pub(super) imported: Count,
    pub(super) largest: Vec<Largest>,
}

/// Number of resources and their total size.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Count {
    pub(super) count: u64,
    pub(super) size_bytes: u64,
}

/// One of the largest allocations.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Largest {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) size_bytes: u64,
    pub(super) place: String,
}

/// Maximum number of listed allocations.
const LARGEST: usize = 10;

impl Summary {
    pub(super) fn of(report: &AllocatorReport, page: &Path) -> Self {
        let totals = &report.totals;
        let waste = live_allocations(report).into_iter().map(|allocation| allocation.waste);
        let largest_free_range = report.heaps.iter().map(largest_free_range).max();
        Self {
            page: page.display().to_string(),
            heap_count: totals.heap_count,
            empty_heap_count: totals.empty_heap_count,
            heaps_created: report.heaps_created,
            reserved_bytes: totals.reserved.get(),
            used_bytes: totals.used.get(),
            free_bytes: totals.free.get(),
            largest_free_range_bytes: largest_free_range.unwrap_or_default().get(),
            external_fragmentation: external_fragmentation(report),
            waste_bytes: waste.fold(ByteSize::ZERO, ByteSize::saturating_add).get(),
            allocation_count: totals.allocation_count,
            committed: totals.committed.into(),
            imported: totals.imported.into(),
            largest: largest_allocations(report, LARGEST).iter().map(Largest::from).collect(),
        }
    }

    /// Returns the JSON form, on one line.
    pub(super) fn to_json(&self) -> String {
        // Only maps with keys that are not strings can fail.
        serde_json::to_string(self).expect("a summary has no maps")
    }
}

impl From<Tally> for Count {
    fn from(tally: Tally) -> Self {
        Self { count: tally.count, size_bytes: tally.size.get() }
    }
}

impl From<&ReportedAllocation<'_>> for Largest {
    fn from(allocation: &ReportedAllocation<'_>) -> Self {
        Self {
            name: allocation.name.to_owned(),
            kind: allocation.kind.name(),
            size_bytes: allocation.size.get(),
            place: allocation.location.to_string(),
        }
    }
}
