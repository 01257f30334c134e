//! The statistics of an allocator.

use heapwright_core::ByteSize;
use heapwright_core::placement::HeapSetTotals;

use super::inner::Inner;
use crate::HeapType;
use crate::desc::ResourceAllocatorFlags;
use crate::error::{HeldBytes, HoldsMemory};
use crate::source::Charged;

/// Statistics of an allocator: `RESOURCE_ALLOCATOR_STATS` of GPGMM, with additional fields.
///
/// Committed and imported resources count as allocations with one heap each, as in GPGMM. The block statistics exclude
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceAllocatorStats {
    /// Bytes of live allocations, as the device sizes them: GPGMM's `UsedBlockUsage`.
    pub used: ByteSize,
    /// Bytes of heaps and committed resources that are held.
    pub reserved: ByteSize,
    /// Number of live allocations. Each part of a resource counts.
    pub allocation_count: u64,
    /// Number of heaps, including those of committed resources.
    pub heap_count: u64,
    /// Number of heaps without live allocations; see
    /// [`release_empty_heaps`](crate::ResourceAllocator::release_empty_heaps).
    pub empty_heap_count: u64,
    /// Number of heaps that the device created since the allocator was created, without those of committed resources.
    pub heaps_created: u64,
    /// Number of live allocations that are placed, or parts of a resource.
    pub used_block_count: u64,
    /// Number of heaps that are not empty.
    pub used_heap_count: u64,
    /// Bytes of heaps that are not empty.
    pub used_heap_usage: ByteSize,
    /// Bytes of empty heaps.
    pub free_heap_usage: ByteSize,
    /// Bytes of empty heaps that allocators which are [nested](crate::ResourceAllocator::create_nested) with this one
    /// hold. This one takes them before it creates a heap; GPGMM counts them in the `FreeHeapUsage` of each.
    pub shared_free_heap_usage: ByteSize,
    /// Number of heap requests for which no prefetched heap was available, where prefetching is allowed.
    pub prefetched_heap_misses: u64,
    /// Number of heap requests served by a prefetched heap.
    pub prefetched_heap_misses_eliminated: u64,
    /// With [`SuballocationAlgorithm::Slab`](crate::SuballocationAlgorithm::Slab): number of size-cache misses.
    pub size_cache_misses: u64,
    /// Number of size-cache hits.
    pub size_cache_hits: u64,
    /// Bytes of committed resources.
    pub committed: ByteSize,
    /// Number of committed resources.
    pub committed_count: u64,
    /// Bytes of imported resources, to which no limit applies.
    pub imported: ByteSize,
    /// Number of imported resources.
    pub imported_count: u64,
    /// Number of allocations that wait for a fence value before they are freed; they count as live.
    pub deferred_count: u64,
}

impl Inner {
    /// Returns the totals of each heap type, including committed resources, in the order of [`HeapType::ALL`].
    ///
    /// O(pools), and O(n) for n slabs and backing buffers without live parts, with the locks of each kind of heap and
    /// each pool in turn.
    fn all_totals(&self) -> [HeapSetTotals; HeapType::ALL.len()] {
        let mut sums = <[HeapSetTotals; HeapType::ALL.len()]>::default();
        let unused = self.buffers.unused();
        for heaps in self.heaps.all() {
            let (sum, (count, bytes)) = (&mut sums[heaps.desc.heap_type.index()], heaps.vacated(&unused));
            *sum += heaps.totals();
            sum.empty_heap_count += count;
            sum.empty = sum.empty.saturating_add(bytes);
        }
        for buffers in self.buffers.all() {
            // Backing buffers are accounted for like the heaps in which they are placed.
            let kind = buffers.kind();
            let account =
                if kind.is_custom { self.heaps.families.account_of_custom() } else { kind.heap_type };
            let (sum, backing) = (&mut sums[account.index()], buffers.set_totals());
            if buffers.are_committed() {
                // Each counts as a heap.
                *sum += backing;
                continue;
            }
            // They are placed like allocations, and count as their parts.
            sum.used = sum.used.saturating_sub(backing.reserved).saturating_add(backing.used);
            sum.allocation_count =
                sum.allocation_count.saturating_sub(backing.heap_count) + backing.allocation_count;
        }
        for heap_type in HeapType::ALL {
            let committed = self.heaps.source.ledger.held(heap_type, Charged::Committed);
            let bytes = ByteSize::new(committed.bytes);
            sums[heap_type.index()] += HeapSetTotals {
                used: bytes,
                reserved: bytes,
                allocation_count: committed.count,
                heap_count: committed.count,
                ..Default::default()
            };
        }
        sums
    }

    /// Returns the bytes of empty heaps of the own kinds of allocators that are nested with this one.
    fn empty_of_relatives(&self) -> ByteSize {
        let mut empty = ByteSize::ZERO;
        for relative in self.heaps.relatives() {
            let Some(relative) = Self::of(&relative.source) else { continue };
            let unused = relative.buffers.unused();
            let kept =
                relative.heaps.own().flat_map(|heaps| [heaps.totals().empty, heaps.vacated(&unused).1]);
            empty = kept.fold(empty, ByteSize::saturating_add);
        }
        empty
    }

    pub(crate) fn stats(&self) -> ResourceAllocatorStats {
        let sum: HeapSetTotals = self.all_totals().into_iter().sum();
        let mut stats = ResourceAllocatorStats {
            heaps_created: self.heaps.source.ledger.heaps_created(),
            deferred_count: self.deferred.len() as u64,
            used: sum.used,
            reserved: sum.reserved,
            allocation_count: sum.allocation_count,
            heap_count: sum.heap_count,
            empty_heap_count: sum.empty_heap_count,
            free_heap_usage: sum.empty,
            shared_free_heap_usage: self.empty_of_relatives(),
            ..Default::default()
        };
        for heap_type in HeapType::ALL {
            let committed = self.heaps.source.ledger.held(heap_type, Charged::Committed);
            stats.committed = stats.committed.saturating_add(ByteSize::new(committed.bytes));
            stats.committed_count += committed.count;
            let imported = self.heaps.source.ledger.held(heap_type, Charged::Imported);
            stats.imported = stats.imported.saturating_add(ByteSize::new(imported.bytes));
            stats.imported_count += imported.count;
        }
        stats.used_block_count = stats.allocation_count - stats.committed_count.min(stats.allocation_count);
        stats.used = stats.used.saturating_add(stats.imported);
        stats.allocation_count += stats.imported_count;
        let prefetches = self.desc().flags.contains(ResourceAllocatorFlags::ALLOW_PREFETCH);
        for heaps in self.heaps.all() {
            let cache = heaps.set.size_cache();
            stats.size_cache_hits += cache.hits;
            stats.size_cache_misses += cache.misses;
            if prefetches {
                let (misses, eliminated) = heaps.prefetch.misses_and_eliminated();
                stats.prefetched_heap_misses += misses;
                stats.prefetched_heap_misses_eliminated += eliminated;
            }
        }
        stats.used_heap_usage =
            stats.reserved.saturating_sub(stats.free_heap_usage).saturating_add(stats.imported);
        stats.used_heap_count = stats.heap_count - stats.empty_heap_count + stats.imported_count;
        stats
    }
}

impl HoldsMemory for Inner {
    fn held_in(&self, heap_type: HeapType) -> HeldBytes {
        let HeapSetTotals { reserved, used, .. } = self.all_totals()[heap_type.index()];
        let group = self.heaps.families.segment_group(heap_type.into(), heap_type);
        let row = self.heaps.source.ledger.budget_row(group);
        let video_memory = row.map(|row| (row.held, row.most));
        HeldBytes { reserved, used, video_memory }
    }
}
