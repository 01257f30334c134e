//! Requests that ask for a heap of their own, whatever their size.
//!
//! Their heaps come from the same set as all others and return to it, so that heaps are reused in both
//! directions.

use super::super::heap_index::IndexedHeaps as _;
use super::{FoundRange, HeapSet, HeapUse, Placed, PlacementError, check_size};
use crate::suballoc::Tlsf;
use crate::{Alignment, ByteSize};

impl<H> HeapSet<H> {
    /// Finds a place in an empty heap that is not too large for a request with a heap of its own. O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if the size is zero.
    pub(in crate::placement) fn find_alone(
        &self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<FoundRange>, PlacementError> {
        check_size(size)?;
        // At most a fifth of such a heap is wasted, because nothing else may use the rest.
        let whole = size.align_up(self.sizing.granularity).unwrap_or(size);
        let most = whole.saturating_add(ByteSize::new(whole.get() / 4));
        let slot = self.empty.find(&self.table, size.get());
        let slot = slot.filter(|&slot| self.table.key(slot) <= most.get());
        Ok(slot.and_then(|slot| self.find_in_slot(slot, HeapUse::Alone, size, alignment)))
    }

    /// Finds a place in any empty heap that holds the request. Use it when no heap can be created. O(heaps of
    /// about that size).
    ///
    /// # Errors
    ///
    /// Returns an error if the size is zero.
    pub(in crate::placement) fn find_alone_anywhere(
        &self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<FoundRange>, PlacementError> {
        check_size(size)?;
        let mut larger = self.empty.from(&self.table, size.get());
        let slot = larger.find(|&slot| self.table.key(slot) >= size.get());
        Ok(slot.and_then(|slot| self.find_in_slot(slot, HeapUse::Alone, size, alignment)))
    }

    /// Adds a heap of `heap_size` bytes, and places a request in it that shares it with nothing. O(1).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`insert`](Self::insert). Returns an error if the size is zero, or
    /// [`PlacementError::TooLarge`] if the request does not fit into the heap; the heap is in the set
    /// nevertheless.
    pub(in crate::placement) fn allocate_alone_in_new(
        &mut self,
        heap_size: ByteSize,
        payload: H,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Placed<'_, H>, PlacementError> {
        let heap = self.insert(heap_size, payload)?;
        check_size(size)?;
        let found = self.find_in_slot(heap.slot, HeapUse::Alone, size, alignment);
        found.and_then(|found| self.place(found)).ok_or(PlacementError::TooLarge { requested: size })
    }

    /// Returns the size of the heap for a request with a heap of its own: that of the request, rounded up to
    /// the granularity.
    ///
    /// # Errors
    ///
    /// Returns an error if the size of the heap overflows.
    pub(in crate::placement) fn new_heap_size_alone(
        &self,
        size: ByteSize,
    ) -> Result<ByteSize, PlacementError> {
        size.align_up(self.sizing.granularity)
            .filter(|&size| size <= Tlsf::MAX_CAPACITY)
            .ok_or(PlacementError::TooLarge { requested: size })
    }
}
