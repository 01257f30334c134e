//! Exhaustive search, which tries every heap before a request is refused.

use super::{FoundRange, HeapSet, Placed, PlacementError, SizeClass, check_size};
use crate::{Alignment, ByteSize};

impl<H> HeapSet<H> {
    /// Places a request in any heap with a free range for it, or returns `None` if there is none. Use it when
    /// no heap can be created.
    ///
    /// Requests of different size classes share heaps here, and no empty heap is too large. Only heaps that
    /// are being emptied, and those of requests that asked for a heap of their own, are excluded. O(n) for n
    /// free ranges of at least the request's size.
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

    /// Returns where [`allocate_anywhere`](Self::allocate_anywhere) would place the request: preferably in a
    /// heap of its class, and in an empty heap last. The cost is the same.
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
        let class = self.class_of(size);
        let mut classes = [SizeClass::Small, SizeClass::Large, SizeClass::Own];
        classes.sort_by_key(|&other| other != class);
        let occupied = classes.into_iter().map(|class| &self.occupied[class.index()]);
        let mut slots = occupied.chain([&*self.empty]).flat_map(|index| index.from(&self.table, size.get()));
        Ok(slots.find_map(|slot| {
            let heap = self.table.heap(slot);
            if heap.class == SizeClass::Alone && !heap.suballocator.is_empty() {
                return None;
            }
            let free = heap.suballocator.find_anywhere(size, alignment)?;
            Some(FoundRange { heap: slot, class, free, size })
        }))
    }
}
