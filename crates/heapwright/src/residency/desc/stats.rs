//! Statistics of a residency manager.

use heapwright_core::ByteSize;

use crate::SegmentGroup;

/// Totals of the heaps of one segment group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResidencyGroupStats {
    /// Number of heaps that are resident or being made resident, including locked ones.
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
    /// Bytes made resident since creation.
    pub bytes_paged_in: ByteSize,
    /// Bytes evicted since creation.
    pub bytes_paged_out: ByteSize,
}

/// Statistics of a residency manager: `RESIDENCY_MANAGER_STATS` of GPGMM, with additional fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResidencyManagerStats {
    /// Bytes of resident heaps: `CurrentHeapUsage`.
    pub current_heap_usage: ByteSize,
    /// Number of resident heaps: `CurrentHeapCount`.
    pub current_heap_count: u64,
    /// Totals of the local segment group; on UMA, of all memory.
    pub local: ResidencyGroupStats,
    /// Totals of the non-local segment group.
    pub non_local: ResidencyGroupStats,
    /// Number of calls of Evict, MakeResident and EnqueueMakeResident since creation.
    pub paging_operations: u64,
    /// Number of times that a thread waited for the GPU so that heaps could be evicted.
    pub cpu_stalls: u64,
    /// Number of submissions for which heaps were paged in although usage then exceeded the budget of their segment group,
    /// since nothing more could be evicted. A submission that is executed in several parts counts once for each such part.
    /// One whose heaps are all resident adds nothing and does not count, even while usage is above the budget.
    pub submissions_over_budget: u64,
    /// Number of times that the operating system was queried for budgets and usage. A segment group without resident heaps
    /// is queried only every 32 submissions.
    pub budget_refreshes: u64,
}

impl ResidencyManagerStats {
    /// Returns the totals of a segment group.
    #[must_use]
    pub const fn of(&self, group: SegmentGroup) -> &ResidencyGroupStats {
        match group {
            SegmentGroup::Local => &self.local,
            SegmentGroup::NonLocal => &self.non_local,
        }
    }
}
