//! The choice of a heap for requests that ask for more than any good place, and of empty heaps to take away.

use super::{Closing, FoundRange, HeapSet, PlacementId, Slot};
use crate::ByteSize;
use crate::placement::{PlacementRequest, Sharing};
use crate::suballoc::Tlsf;

/// The number of heaps, from the lowest number on, that are examined for the lowest offset before the request is placed
/// normally. It bounds the cost.
const CANDIDATES: usize = 256;

impl<H> HeapSet<H> {
    /// Finds the heap with the lowest number that has room, at the lowest offset.
    pub(super) fn find_lowest(&self, request: &PlacementRequest) -> Option<FoundRange> {
        let mut candidates = (0..).take(self.table.entries.len().min(CANDIDATES));
        candidates.find_map(|slot| self.find_lowest_in(slot, request))
    }

    fn find_lowest_in(&self, slot: Slot, request: &PlacementRequest) -> Option<FoundRange> {
        let heap = self.table.get(slot)?;
        let tlsf = heap.ranges.as_tlsf()?;
        let is_open = heap.closing == Closing::Open && (heap.sharing == Sharing::Shared || tlsf.is_empty());
        if !is_open || tlsf.largest_size_class() < Tlsf::size_class(request.size.get()) {
            return None;
        }
        Some(FoundRange { heap: slot, free: Some(tlsf.find_lowest(request.size, request.alignment)?) })
    }

    /// Finds a free range in any heap in use that the default algorithm divides, then in any that is empty.
    pub(super) fn find_in_any(&self, request: &PlacementRequest) -> Option<FoundRange> {
        let indices = [&self.occupied, &*self.empty];
        let mut heaps = indices.into_iter().flat_map(|heaps| heaps.from(&self.table, request.size.get()));
        heaps.find_map(|heap| self.find_anywhere_in(heap, request))
    }

    /// Finds any free range for a request in a heap that the default algorithm divides. O(n) for n free ranges of at
    /// least the request's size.
    pub(crate) fn find_anywhere_in(&self, heap: Slot, request: &PlacementRequest) -> Option<FoundRange> {
        let tlsf = self.table.heap(heap).ranges.as_tlsf()?;
        Some(FoundRange { heap, free: Some(tlsf.find_anywhere(request.size, request.alignment)?) })
    }

    /// Returns a size that no free range of a shared heap in use exceeds, and at most twice that of the largest one.
    /// O(1).
    pub(crate) fn largest_free_at_most(&self) -> ByteSize {
        let largest = self.occupied.largest();
        ByteSize::new(largest.map_or(0, |heap| self.table.key(heap).saturating_mul(2)))
    }

    /// Removes empty heaps from the set until their total size is `up_to`, or none are left.
    ///
    /// It removes the largest first, and last the smallest that suffices; heaps that differ by less than an
    /// eighth count as equal. It removes no heap that is not needed to reach the total. O(1) each.
    pub(crate) fn take_empty(&mut self, up_to: ByteSize) -> Vec<(ByteSize, H)> {
        self.reopen_all(true);
        let (mut taken, mut bytes) = (Vec::new(), ByteSize::ZERO);
        while bytes < up_to {
            let missing = up_to.saturating_sub(bytes);
            let Some(slot) = self.empty.find(&self.table, missing.get()).or_else(|| self.empty.largest())
            else {
                break;
            };
            let size = self.table.heap(slot).ranges.capacity();
            bytes = bytes.saturating_add(size);
            taken.push((size, self.remove(slot)));
        }
        taken
    }

    /// Removes a smallest empty heap of `at_least` to `at_most` bytes. O(n) for n empty heaps of at least these bytes.
    pub(crate) fn take_empty_fitting(
        &mut self,
        at_least: ByteSize,
        at_most: ByteSize,
    ) -> Option<(ByteSize, H)> {
        self.reopen_all(true);
        let (slot, size) = self.find_empty_fitting(at_least, at_most)?;
        Some((size, self.remove(slot)))
    }

    /// See [`SharedHeapSet::vacated`](crate::placement::SharedHeapSet::vacated). `unused` are live allocations, each
    /// once.
    pub(crate) fn vacated<T>(&self, mut unused: Vec<PlacementId>, mut of: impl FnMut(&H) -> T) -> Vec<T> {
        unused.sort_unstable_by_key(|id| id.heap());
        let of_heap = |ids: &[PlacementId]| {
            let heap = self.table.get(ids.first()?.heap())?;
            let is_live = |id: &&PlacementId| heap.ranges.contains(id.suballocation());
            let count = ids.iter().filter(is_live).count() as u64;
            (count == heap.ranges.allocation_count()).then(|| of(&heap.payload))
        };
        unused.chunk_by(|one, next| one.heap() == next.heap()).filter_map(of_heap).collect()
    }

    /// Returns the heap that [`take_empty_fitting`](Self::take_empty_fitting) would remove, and its size.
    pub(crate) fn find_empty_fitting(
        &self,
        at_least: ByteSize,
        at_most: ByteSize,
    ) -> Option<(Slot, ByteSize)> {
        let heaps = self.empty.from(&self.table, at_least.get());
        let sized = heaps.map(|slot| (slot, ByteSize::new(self.table.key(slot))));
        sized.filter(|(_, size)| (at_least..=at_most).contains(size)).min_by_key(|&(_, size)| size)
    }
}
