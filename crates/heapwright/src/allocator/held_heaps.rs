//! The heaps that are held.

use heapwright_core::ByteSize;
use heapwright_core::placement::HeapSetTotals;
use heapwright_d3d12::*;

use super::pool::Pool;
use super::resource_allocator::ResourceAllocator;
use crate::SegmentGroup;
use crate::report::Tally;

/// A heap that an allocator holds, by [`ResourceAllocator::heaps`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HeldHeap {
    /// The heap. Holding it keeps its memory.
    pub heap: ID3D12Heap,
    /// Size in bytes.
    pub size: ByteSize,
    /// The properties that it was created with.
    pub properties: D3D12_HEAP_PROPERTIES,
    /// The segment group that it is charged to.
    pub segment_group: SegmentGroup,
    /// The [number](Pool::number) of the pool; `None` for the allocator's own heaps.
    pub pool: Option<u64>,
}

impl ResourceAllocator {
    /// Returns the heaps that are held, also empty ones, and those of pools. Without those of committed and imported
    /// resources.
    ///
    /// O(heaps + allocations), with the locks of one heap at a time, like [`report`](Self::report).
    #[must_use]
    #[inline]
    pub fn heaps(&self) -> Vec<HeldHeap> {
        let mut held = Vec::new();
        for heaps in self.inner().heaps.all() {
            let pool = heaps.desc.pool.is_some().then_some(heaps.desc.number);
            for survey in heaps.set.survey() {
                held.push(HeldHeap {
                    heap: survey.heap.d3d12().clone(),
                    size: survey.size,
                    properties: heaps.desc.heap.Properties,
                    segment_group: heaps.desc.segment_group,
                    pool,
                });
            }
        }
        held
    }

    /// Returns the number and the bytes of the heaps and committed resources in a segment group. O(1), no lock.
    #[must_use]
    #[inline]
    pub fn held_in(&self, group: SegmentGroup) -> Tally {
        let held = self.inner().heaps.source.ledger.held_in(group);
        Tally { count: held.count, size: ByteSize::new(held.bytes) }
    }

    /// Returns the totals of the heaps and committed resources in a segment group; a committed resource counts as a
    /// heap. O(pools), like [`stats`](Self::stats).
    #[must_use]
    #[inline]
    pub fn totals_in(&self, group: SegmentGroup) -> HeapSetTotals {
        let heaps = self.inner().heaps.all().into_iter().filter(|heaps| heaps.desc.segment_group == group);
        let totals: HeapSetTotals = heaps.map(|heaps| heaps.totals()).sum();
        let held = self.held_in(group);
        let (committed, bytes) =
            (held.count.saturating_sub(totals.heap_count), held.size.saturating_sub(totals.reserved));
        HeapSetTotals {
            used: totals.used.saturating_add(bytes),
            reserved: held.size,
            allocation_count: totals.allocation_count + committed,
            heap_count: held.count,
            ..totals
        }
    }
}

impl Pool {
    /// Returns the segment group that its heaps are charged to.
    #[must_use]
    #[inline]
    pub fn segment_group(&self) -> SegmentGroup {
        self.heaps.desc.segment_group
    }

    /// Returns the number by which [`HeldHeap`] names the pool, unique in the process.
    #[must_use]
    #[inline]
    pub fn number(&self) -> u64 {
        self.heaps.desc.number
    }
}
