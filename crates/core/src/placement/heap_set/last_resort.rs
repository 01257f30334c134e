//! Exhaustive search, which tries every heap before a request is refused.

use super::{FoundRange, HeapSet, HeapUse, Placed, PlacementError, check_size};
use crate::placement::heap_index::Slot;
use crate::suballoc::RangeUse;
use crate::{Alignment, ByteSize, HeapRange};

impl<H> HeapSet<H> {
    /// Places a request in any heap with a free range for it, or returns `None` if there is none. Use it when
    /// no heap can be created.
    ///
    /// Only heaps that are being emptied, and those of requests that asked for a heap of their own, are
    /// excluded. O(n) for n free ranges of at least the request's size.
    ///
    /// # Errors
    ///
    /// Returns an error if the size is zero.
    pub fn allocate_anywhere(
        &mut self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<Placed<'_, H>>, PlacementError> {
        let found = self.find_anywhere(size, alignment)?;
        Ok(found.and_then(|found| self.place(found)))
    }

    /// Returns where [`allocate_anywhere`](Self::allocate_anywhere) would place the request: in an
    /// empty heap last. The cost is the same.
    ///
    /// # Errors
    ///
    /// Returns an error if the size is zero.
    pub(in crate::placement) fn find_anywhere(
        &self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<FoundRange>, PlacementError> {
        check_size(size)?;
        let indices = [&self.occupied[HeapUse::Shared.index()], &*self.empty];
        let mut slots = indices.into_iter().flat_map(|index| index.from(&self.table, size.get()));
        Ok(slots.find_map(|slot| {
            let free = self.table.heap(slot).suballocator.find_anywhere(size, alignment)?;
            Some(FoundRange { heap: slot, class: HeapUse::Shared, free, size })
        }))
    }

    /// Returns whether [`allocate_anywhere`](Self::allocate_anywhere) would place the request in one of some heaps if
    /// parts of their used ranges were free: these ranges of the heaps with these numbers. O(n log n) for n such
    /// ranges, and O(ranges) of the heaps with enough free bytes.
    pub(in crate::placement) fn would_have_room(
        &self,
        mut freed: Vec<(Slot, HeapRange)>,
        size: ByteSize,
        alignment: Alignment,
    ) -> bool {
        freed.sort_unstable_by_key(|(heap, _)| *heap);
        freed.chunk_by(|a, b| a.0 == b.0).any(|freed| {
            let entry = self.table.entries.get(freed[0].0 as usize);
            let Some(heap) = entry.and_then(|entry| entry.heap.as_ref()) else { return false };
            let freed = freed.iter().map(|&(_, range)| range);
            let bytes = freed
                .clone()
                .fold(heap.suballocator.free_size(), |sum, range| sum.saturating_add(range.size()));
            if heap.class != HeapUse::Shared || bytes < size {
                return false;
            }
            let free = heap.suballocator.ranges().filter_map(|range_use| match range_use {
                RangeUse::Free(free) => Some(free),
                RangeUse::Used(_) | RangeUse::Padding(_) => None,
            });
            fits_in_union(free.chain(freed).collect(), size, alignment)
        })
    }
}

/// Returns whether ranges that may touch have room for a request together.
fn fits_in_union(mut ranges: Vec<HeapRange>, size: ByteSize, alignment: Alignment) -> bool {
    ranges.sort_unstable_by_key(|range| range.start());
    let joined = |a: &HeapRange, b: &HeapRange| a.end() == b.start();
    ranges.chunk_by(joined).any(|run| {
        let start = run[0].start().align_up(alignment);
        start.and_then(|start| start.checked_add(size)).is_some_and(|end| end <= run[run.len() - 1].end())
    })
}
