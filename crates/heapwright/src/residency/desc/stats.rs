//! Statistics of a residency manager.

use heapwright_core::ByteSize;

use crate::SegmentGroup;

/// Sums over the heaps of one segment group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResidencyGroupStats {
    /// Number of heaps that are resident or on their way, locked ones among them.
    pub resident_count: u64,
    /// Bytes of resident heaps.
    pub resident: ByteSize,
    /// Number of heaps with a lock.
    pub locked_count: u64,
    /// Bytes of locked heaps.
    pub locked: ByteSize,
    /// Number of evicted heaps.
    pub evicted_count: u64,
    /// Bytes of evicted heaps.
    pub evicted: ByteSize,
    /// Bytes paged in since creation.
    pub bytes_paged_in: ByteSize,
    /// Bytes evicted since creation.
    pub bytes_paged_out: ByteSize,
}

/// Statistics of a residency manager: `RESIDENCY_MANAGER_STATS` (document GPGMM) and more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResidencyManagerStats {
    /// Bytes of resident heaps: `CurrentHeapUsage`.
    pub current_heap_usage: ByteSize,
    /// Number of resident heaps: `CurrentHeapCount`.
    pub current_heap_count: u64,
    /// Sums over the local segment group; on UMA over all memory.
    pub local: ResidencyGroupStats,
    /// Sums over the non-local segment group.
    pub non_local: ResidencyGroupStats,
    /// Number of calls of Evict, MakeResident and EnqueueMakeResident since creation.
    pub paging_operations: u64,
    /// Number of times that a thread waited for the GPU, so that something could be evicted.
    pub cpu_stalls: u64,
    /// Number of submissions that went out with usage above a budget.
    pub submissions_over_budget: u64,
    /// Number of times that the operating system was queried for budgets and usage.
    pub budget_refreshes: u64,
}

impl ResidencyManagerStats {
    /// Returns the sums of a segment group.
    #[must_use]
    pub const fn of(&self, group: SegmentGroup) -> &ResidencyGroupStats {
        match group {
            SegmentGroup::Local => &self.local,
            SegmentGroup::NonLocal => &self.non_local,
        }
    }
}
