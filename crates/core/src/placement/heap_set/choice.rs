//! The choice of a heap for requests that ask for more than any good place, and of empty heaps to take away.

use super::super::heap_index::IndexedHeaps as _;
use super::{FoundRange, HeapSet, HeapUse, Placed, PlacementError, PlacementId, Slot, check_size};
use crate::suballoc::Tlsf;
use crate::{Alignment, ByteSize};

/// The heap in which a request is placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeapChoice {
    /// A heap that is shared, with a good fit.
    Shared,
    /// The heap with the lowest number that has room, at the lowest offset.
    Lowest,
    /// A heap of its own. It comes from the same set as all others and returns to it, so that heaps are reused in both
    /// directions.
    Own,
}

/// The number of heaps, from the lowest number on, that are examined for the lowest offset before the request is placed
/// normally. It bounds the cost.
const CANDIDATES: usize = 256;

impl<H> HeapSet<H> {
    /// Finds the place of a request like [`find`](Self::find), which it is for shared heaps.
    ///
    /// At the lowest offset, the cost is a comparison for each of at most 256 heaps, and O(n) for n ranges in those
    /// that may have room. Of its own is an empty heap that is not too large. O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if the size is zero.
    #[inline]
    pub(crate) fn find_by_choice(
        &self,
        choice: HeapChoice,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<FoundRange>, PlacementError> {
        match choice {
            HeapChoice::Shared => self.find(size, alignment),
            HeapChoice::Lowest => {
                check_size(size)?;
                let mut candidates = (0..).take(self.table.entries.len().min(CANDIDATES));
                let lowest = candidates.find_map(|slot| self.find_lowest_in(slot, size, alignment));
                if lowest.is_some() { Ok(lowest) } else { self.find(size, alignment) }
            }
            HeapChoice::Own => {
                check_size(size)?;
                // At most a fifth of such a heap is wasted, because nothing else may use the rest.
                let whole = size.align_up(self.sizing.granularity).unwrap_or(size);
                let most = whole.saturating_add(ByteSize::new(whole.get() / 4));
                let slot = self.empty.find(&self.table, size.get());
                let slot = slot.filter(|&slot| self.table.key(slot) <= most.get());
                Ok(slot.and_then(|slot| self.find_in_slot(slot, HeapUse::Alone, size, alignment)))
            }
        }
    }

    fn find_lowest_in(&self, slot: Slot, size: ByteSize, alignment: Alignment) -> Option<FoundRange> {
        let heap = self.table.entry(slot).heap.as_ref()?;
        let is_open =
            heap.class == HeapUse::Shared || (heap.class != HeapUse::Closed && heap.suballocator.is_empty());
        let may_hold = is_open && heap.suballocator.largest_size_class() >= Tlsf::size_class(size.get());
        let free = if may_hold { heap.suballocator.find_lowest(size, alignment)? } else { return None };
        Some(FoundRange { heap: slot, class: HeapUse::Shared, free, size })
    }

    /// Finds a place in any heap that holds the request, in an empty one last, or returns `None` if there is none. Use
    /// it when no heap can be created. O(n) for n free ranges of at least the request's size.
    ///
    /// Excluded are heaps that are being emptied and those of requests with a heap of their own; for such a request,
    /// all heaps that are not empty.
    ///
    /// # Errors
    ///
    /// Returns an error if the size is zero.
    pub(crate) fn find_anywhere(
        &self,
        choice: HeapChoice,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<FoundRange>, PlacementError> {
        check_size(size)?;
        let class = choice.class();
        let occupied = (class == HeapUse::Shared).then_some(&self.occupied[HeapUse::Shared.index()]);
        for index in [occupied, Some(&self.empty)].into_iter().flatten() {
            for heap in index.from(&self.table, size.get()) {
                if let Some(free) = self.table.heap(heap).suballocator.find_anywhere(size, alignment) {
                    return Ok(Some(FoundRange { heap, class, free, size }));
                }
            }
        }
        Ok(None)
    }

    /// Finds a place like [`find_anywhere`](Self::find_anywhere), in the heap of a live range.
    pub(crate) fn find_anywhere_beside(
        &self,
        id: PlacementId,
        size: ByteSize,
        alignment: Alignment,
    ) -> Option<FoundRange> {
        let free = self.table.heap(id.heap).suballocator.find_anywhere(size, alignment)?;
        Some(FoundRange { heap: id.heap, class: HeapUse::Shared, free, size })
    }

    /// Returns a size that no free range of a shared heap in use exceeds, and at most twice that of the largest one.
    /// O(1).
    pub(crate) fn largest_free_at_most(&self) -> ByteSize {
        let largest = self.occupied[HeapUse::Shared.index()].largest();
        ByteSize::new(largest.map_or(0, |heap| self.table.key(heap).saturating_mul(2)))
    }

    /// Adds a heap of `heap_size` bytes, and places a request in it. O(1).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`insert`](Self::insert). Returns an error if the size is zero, or
    /// [`PlacementError::TooLarge`] if the request does not fit into the heap; the heap is in the set
    /// nevertheless.
    pub(crate) fn allocate_in_new(
        &mut self,
        choice: HeapChoice,
        heap_size: ByteSize,
        payload: H,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Placed<'_, H>, PlacementError> {
        let heap = self.insert(heap_size, payload)?;
        check_size(size)?;
        let found = self.find_in_slot(heap.slot, choice.class(), size, alignment);
        found.and_then(|found| self.place(found)).ok_or(PlacementError::TooLarge { requested: size })
    }

    /// Returns the size of the new heap for a request of `size` bytes: its own has its size, rounded up to the
    /// granularity.
    ///
    /// # Errors
    ///
    /// Returns an error if the size of the heap overflows.
    pub(crate) fn new_heap_size(
        &self,
        choice: HeapChoice,
        size: ByteSize,
    ) -> Result<ByteSize, PlacementError> {
        let heap_size = if choice == HeapChoice::Own {
            size.align_up(self.sizing.granularity)
        } else {
            self.usual_heap_size(size)
        };
        heap_size
            .filter(|&size| size <= Tlsf::MAX_CAPACITY)
            .ok_or(PlacementError::TooLarge { requested: size })
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
            let size = self.table.heap(slot).suballocator.capacity();
            bytes = bytes.saturating_add(size);
            taken.push((size, self.remove(slot)));
        }
        taken
    }

    /// Removes a smallest empty heap of `at_least` to `at_most` bytes. O(1).
    ///
    /// Examines at most eight heaps whose sizes differ by less than an eighth, so it may miss a heap that fits.
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
            let entry = self.table.entries.get(ids.first()?.heap() as usize)?;
            let heap = entry.heap.as_ref()?;
            let is_live = |id: &&PlacementId| heap.suballocator.range_of(id.suballocation()).is_ok();
            let count = ids.iter().filter(is_live).count() as u64;
            (count == heap.suballocator.allocation_count()).then(|| of(&heap.payload))
        };
        unused.chunk_by(|one, next| one.heap() == next.heap()).filter_map(of_heap).collect()
    }

    /// Returns the heap that [`take_empty_fitting`](Self::take_empty_fitting) would remove, and its size. O(1).
    pub(crate) fn find_empty_fitting(
        &self,
        at_least: ByteSize,
        at_most: ByteSize,
    ) -> Option<(Slot, ByteSize)> {
        let slot = self.empty.find(&self.table, at_least.get())?;
        let size = self.table.heap(slot).suballocator.capacity();
        (size <= at_most).then_some((slot, size))
    }
}

impl HeapChoice {
    const fn class(self) -> HeapUse {
        match self {
            Self::Shared | Self::Lowest => HeapUse::Shared,
            Self::Own => HeapUse::Alone,
        }
    }
}
