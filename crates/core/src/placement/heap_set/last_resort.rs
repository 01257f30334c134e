//! What is done before a request is refused: every heap is tried.

use super::super::heap_index::IndexedHeaps as _;
use super::{HeapSet, Placed, PlacementError, SizeClass, Slot};
use crate::suballoc::SuballocError;
use crate::{Alignment, ByteSize};

impl<H> HeapSet<H> {
    /// Places a request in any heap that has a free range for it, or returns `None` if none has: for when there can be no new heap.
    ///
    /// Sizes that are kept apart share heaps here, and no empty heap is too large. Only heaps that are being emptied, and those of
    /// requests that asked for a heap of their own, are left out. O(n) for n free ranges of at least the request's size.
    ///
    /// # Errors
    ///
    /// A size of zero.
    pub fn allocate_anywhere(
        &mut self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<Placed<'_, H>>, PlacementError> {
        let Some(slot) = self.find_anywhere(size, alignment)? else { return Ok(None) };
        let class = self.class_of(size);
        let placed =
            self.try_allocate_by(slot, class, size, |heap| heap.allocate_exhaustively(size, alignment))?;
        Ok(placed.map(|placed| self.placed(placed)))
    }

    /// Whether [`allocate_anywhere`](Self::allocate_anywhere) would place the request, at the same cost.
    ///
    /// # Errors
    ///
    /// A size of zero.
    pub(in crate::placement) fn has_room_anywhere(
        &self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<bool, PlacementError> {
        Ok(self.find_anywhere(size, alignment)?.is_some())
    }

    /// A heap that holds the request: one of its class if possible, and an empty one last.
    fn find_anywhere(&self, size: ByteSize, alignment: Alignment) -> Result<Option<Slot>, PlacementError> {
        if size.is_zero() {
            return Err(SuballocError::ZeroSize.into());
        }
        let own = self.class_of(size);
        let mut classes = [SizeClass::Small, SizeClass::Large, SizeClass::Own];
        classes.sort_by_key(|&class| class != own);
        let occupied = classes.into_iter().map(|class| &self.occupied[class.index()]);
        let mut slots = occupied.chain([&*self.empty]).flat_map(|index| index.from(&self.table, size.get()));
        Ok(slots.find(|&slot| {
            let heap = self.table.heap(slot);
            let is_open = heap.class != SizeClass::Alone || heap.suballocator.is_empty();
            is_open && heap.suballocator.holds(size, alignment)
        }))
    }

    /// Whether an empty heap has `size` bytes. O(heaps of about that size).
    pub(super) fn find_any_empty(&self, size: ByteSize) -> Option<Slot> {
        self.empty.from(&self.table, size.get()).find(|&slot| self.table.key(slot) >= size.get())
    }
}
