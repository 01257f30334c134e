//! Requests that asked for a heap of their own, whatever their size.
//!
//! Their heaps come from the same set as all others and go back to it, so that what they leave serves others, and the other way
//! round, and all of them together stay below one high-water mark.

use super::super::heap_index::IndexedHeaps as _;
use super::{FoundRange, HeapSet, Placed, PlacementError, SizeClass, check_size};
use crate::suballoc::Tlsf;
use crate::{Alignment, ByteSize};

impl<H> HeapSet<H> {
    /// Where a request goes that shares its heap with nothing until it is freed: in an empty heap that is not too large for it.
    /// O(1).
    ///
    /// # Errors
    ///
    /// A size of zero.
    pub(in crate::placement) fn find_alone(
        &self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<FoundRange>, PlacementError> {
        check_size(size)?;
        let slot = self.find_empty(SizeClass::Alone, size);
        Ok(slot.and_then(|slot| self.find_in_slot(slot, SizeClass::Alone, size, alignment)))
    }

    /// Where a request may go in any empty heap that holds it: for when there can be no new heap. O(heaps of about that size).
    ///
    /// # Errors
    ///
    /// A size of zero.
    pub(in crate::placement) fn find_alone_anywhere(
        &self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<FoundRange>, PlacementError> {
        check_size(size)?;
        let mut larger = self.empty.from(&self.table, size.get());
        let slot = larger.find(|&slot| self.table.key(slot) >= size.get());
        Ok(slot.and_then(|slot| self.find_in_slot(slot, SizeClass::Alone, size, alignment)))
    }

    /// Adds a heap of `heap_size` bytes, and places a request in it that shares it with nothing. O(1).
    ///
    /// # Errors
    ///
    /// The same as those of [`insert`](Self::insert); or [`PlacementError::TooLarge`] if the request does not fit into the heap,
    /// which is in the set nevertheless.
    pub(in crate::placement) fn allocate_alone_in_new(
        &mut self,
        heap_size: ByteSize,
        payload: H,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Placed<'_, H>, PlacementError> {
        let heap = self.insert(heap_size, payload)?;
        check_size(size)?;
        let found = self.find_in_slot(heap.slot, SizeClass::Alone, size, alignment);
        found.and_then(|found| self.place(found)).ok_or(PlacementError::TooLarge { requested: size })
    }

    /// The size of the heap that a request with a heap of its own needs: exactly as large as it is.
    ///
    /// # Errors
    ///
    /// A request so large that the heap's size overflows.
    pub(in crate::placement) fn new_heap_size_alone(
        &self,
        size: ByteSize,
    ) -> Result<ByteSize, PlacementError> {
        let heap_size = self.heap_size_for(SizeClass::Alone, size, ByteSize::ZERO);
        heap_size
            .filter(|&size| size <= Tlsf::MAX_CAPACITY)
            .ok_or(PlacementError::TooLarge { requested: size })
    }
}
