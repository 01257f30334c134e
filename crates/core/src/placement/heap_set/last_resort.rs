//! Exhaustive search, which tries every heap before a request is refused.

use super::{FoundRange, HeapSet, HeapUse, Placed, PlacementError, check_size};
use crate::{Alignment, ByteSize};

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
}
