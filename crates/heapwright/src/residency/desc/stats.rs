//! What a residency manager has done and holds.

use heapwright_core::ByteSize;

use crate::SegmentGroup;

/// Sums over the heaps of one segment group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResidencyGroupStats {
    /// Heaps that are resident or on their way, locked ones among them.
    pub resident_count: u64,
    /// Their bytes.
    pub resident: ByteSize,
    /// Heaps with a lock.
    pub locked_count: u64,
    /// Their bytes.
    pub locked: ByteSize,
    /// Heaps that are evicted.
    pub evicted_count: u64,
    /// Their bytes.
    pub evicted: ByteSize,
    /// Bytes that were paged in since the beginning.
    pub bytes_paged_in: ByteSize,
    /// Bytes that were evicted since the beginning.
    pub bytes_paged_out: ByteSize,
}

/// What a residency manager has done and holds: `RESIDENCY_MANAGER_STATS` (document GPGMM), and what it leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResidencyManagerStats {
    /// Bytes of resident heaps: `CurrentHeapUsage`.
    pub current_heap_usage: ByteSize,
    /// Resident heaps: `CurrentHeapCount`.
    pub current_heap_count: u64,
    /// Of the local segment group; on UMA of all memory.
    pub local: ResidencyGroupStats,
    /// Of the non-local segment group.
    pub non_local: ResidencyGroupStats,
    /// Calls of Evict, MakeResident and EnqueueMakeResident since the beginning.
    pub paging_operations: u64,
    /// How often a thread waited for the GPU, so that something could be evicted.
    pub cpu_stalls: u64,
    /// Submissions that went out with usage above a budget.
    pub submissions_over_budget: u64,
    /// How often the operating system was asked for budgets and usage.
    pub budget_refreshes: u64,
}

impl ResidencyManagerStats {
    /// The sums of a segment group.
    #[must_use]
    pub const fn of(&self, group: SegmentGroup) -> &ResidencyGroupStats {
        match group {
            SegmentGroup::Local => &self.local,
            SegmentGroup::NonLocal => &self.non_local,
        }
    }
}
