//! What an allocator holds, in numbers.

use heapwright_core::ByteSize;
use heapwright_core::placement::HeapSetTotals;

use super::inner::Inner;
use crate::desc::ResourceAllocatorFlags;
use crate::memory::{Charged, HeapKind, HeapsShare};
use crate::{HeapType, SegmentGroup};

/// What an allocator holds: `RESOURCE_ALLOCATOR_STATS` (document GPGMM), and what it lacks.
///
/// Committed and imported resources count as allocations with a heap each, as GPGMM counts them; the blocks leave them out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceAllocatorStats {
    /// Bytes of live allocations, as the device sizes them: GPGMM's `UsedBlockUsage`.
    pub used: ByteSize,
    /// Bytes of heaps and of committed resources, what the device is asked for.
    pub reserved: ByteSize,
    /// Live allocations, parts of a resource each by itself.
    pub allocation_count: u64,
    /// Heaps, those of committed resources among them.
    pub heap_count: u64,
    /// Heaps that nothing is in; see [`release_empty_heaps`](crate::ResourceAllocator::release_empty_heaps).
    pub empty_heap_count: u64,
    /// Heaps that the device was made to create since the allocator exists, without those of committed resources.
    pub heaps_created: u64,
    /// Live allocations that are placed, or parts of a resource.
    pub used_block_count: u64,
    /// Heaps that something is in.
    pub used_heap_count: u64,
    /// Their bytes.
    pub used_heap_usage: ByteSize,
    /// Bytes of heaps that nothing is in.
    pub free_heap_usage: ByteSize,
    /// Number of heaps that were needed and had not been made in advance, where that is allowed.
    pub prefetched_heap_misses: u64,
    /// Number of heaps that were used after having been made in advance.
    pub prefetched_heap_misses_eliminated: u64,
    /// With [`SuballocationAlgorithm::Slab`](crate::SuballocationAlgorithm::Slab): sizes that there were no tables for.
    pub size_cache_misses: u64,
    /// Sizes that there were.
    pub size_cache_hits: u64,
    /// Bytes of committed resources.
    pub committed: ByteSize,
    /// Committed resources.
    pub committed_count: u64,
    /// Bytes of imported resources, which no limit concerns.
    pub imported: ByteSize,
    /// Imported resources.
    pub imported_count: u64,
    /// Allocations that wait for a fence before they are freed; they are among the live ones.
    pub deferred_count: u64,
}

/// What is held of one heap type, in one segment group or in one pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryTotals {
    /// Bytes of live allocations.
    pub used: ByteSize,
    /// Bytes of heaps and committed resources.
    pub reserved: ByteSize,
    /// Live allocations.
    pub allocation_count: u64,
    /// Heaps.
    pub heap_count: u64,
    /// Heaps that nothing is in.
    pub empty_heap_count: u64,
    /// Bytes of heaps that nothing is in.
    pub empty: ByteSize,
}

impl MemoryTotals {
    fn add(&mut self, totals: HeapSetTotals) {
        self.used = self.used.saturating_add(totals.used);
        self.reserved = self.reserved.saturating_add(totals.reserved);
        self.allocation_count += totals.allocation_count;
        self.heap_count += totals.heap_count;
        self.empty_heap_count += totals.empty_heap_count;
        self.empty = self.empty.saturating_add(totals.empty);
    }

    fn add_totals(&mut self, totals: &Self) {
        let Self { used, reserved, allocation_count, heap_count, empty_heap_count, empty } = *totals;
        self.add(HeapSetTotals { used, reserved, allocation_count, heap_count, empty_heap_count, empty });
    }

    /// Parts of backing buffers instead of the buffers, which are placed as allocations are.
    fn divide(&mut self, backing: HeapSetTotals) {
        self.used = self.used.saturating_sub(backing.reserved).saturating_add(backing.used);
        self.allocation_count =
            self.allocation_count.saturating_sub(backing.heap_count) + backing.allocation_count;
    }
}

impl From<HeapSetTotals> for MemoryTotals {
    fn from(totals: HeapSetTotals) -> Self {
        let mut sum = Self::default();
        sum.add(totals);
        sum
    }
}

impl Inner {
    /// What is held of each heap type, with what is committed, in the order of [`HeapType::ALL`].
    ///
    /// O(1) with a lock of each kind of heap in turn, and O(pools that changed since the last time).
    fn all_totals(&self) -> ([MemoryTotals; HeapType::ALL.len()], HeapsShare) {
        let shares = self.heaps.shares();
        let whole = shares.iter().fold(HeapsShare::default(), |sum, share| sum.with(share));
        let mut sums = shares.map(|share| MemoryTotals::from(share.totals));
        for buffers in self.buffers.all() {
            // They are accounted for as the heaps are that they are placed in.
            let kind = buffers.kind();
            let account = if kind.is_custom {
                HeapKind::account_of_custom(&self.heaps.families)
            } else {
                kind.heap_type
            };
            sums[account.index()].divide(buffers.set_totals());
        }
        for (heap_type, size) in self.buffers.heaps_of_empty() {
            let sum = &mut sums[heap_type.index()];
            sum.empty_heap_count += 1;
            sum.empty = sum.empty.saturating_add(size);
        }
        for heap_type in HeapType::ALL {
            let committed = self.heaps.source.accounts.held(heap_type, Charged::Committed);
            sums[heap_type.index()].add(HeapSetTotals {
                used: ByteSize::new(committed.bytes),
                reserved: ByteSize::new(committed.bytes),
                allocation_count: committed.count,
                heap_count: committed.count,
                empty_heap_count: 0,
                empty: ByteSize::ZERO,
            });
        }
        (sums, whole)
    }

    /// Of the allocator's own heaps and its pools, with what is committed.
    pub(crate) fn totals_of(&self, heap_type: HeapType) -> MemoryTotals {
        self.all_totals().0[heap_type.index()]
    }

    pub(crate) fn totals_in(&self, group: SegmentGroup) -> MemoryTotals {
        let (all, _) = self.all_totals();
        let mut sum = MemoryTotals::default();
        for heap_type in HeapType::ALL {
            if self.caps.segment_group(heap_type) == group {
                sum.add_totals(&all[heap_type.index()]);
            }
        }
        sum
    }

    pub(crate) fn stats(&self) -> ResourceAllocatorStats {
        let mut sum = MemoryTotals::default();
        let (totals, whole) = self.all_totals();
        totals.iter().for_each(|totals| sum.add_totals(totals));
        let mut stats = ResourceAllocatorStats {
            heaps_created: self.heaps.source.accounts.heaps_created(),
            deferred_count: self.deferred.len() as u64,
            used: sum.used,
            reserved: sum.reserved,
            allocation_count: sum.allocation_count,
            heap_count: sum.heap_count,
            empty_heap_count: sum.empty_heap_count,
            free_heap_usage: sum.empty,
            size_cache_hits: whole.size_cache_hits,
            size_cache_misses: whole.size_cache_misses,
            ..Default::default()
        };
        for heap_type in HeapType::ALL {
            let committed = self.heaps.source.accounts.held(heap_type, Charged::Committed);
            stats.committed = stats.committed.saturating_add(ByteSize::new(committed.bytes));
            stats.committed_count += committed.count;
            let imported = self.heaps.source.accounts.held(heap_type, Charged::Imported);
            stats.imported = stats.imported.saturating_add(ByteSize::new(imported.bytes));
            stats.imported_count += imported.count;
        }
        stats.used_block_count = stats.allocation_count - stats.committed_count.min(stats.allocation_count);
        stats.used = stats.used.saturating_add(stats.imported);
        stats.allocation_count += stats.imported_count;
        if self.desc().flags.contains(ResourceAllocatorFlags::ALLOW_PREFETCH) {
            stats.prefetched_heap_misses = whole.prefetch_misses;
            stats.prefetched_heap_misses_eliminated = whole.prefetch_eliminated;
        }
        stats.used_heap_usage =
            stats.reserved.saturating_sub(stats.free_heap_usage).saturating_add(stats.imported);
        stats.used_heap_count = stats.heap_count - stats.empty_heap_count + stats.imported_count;
        stats
    }
}
