//! Placement at the lowest offset of the first heap.

use super::{FoundRange, HeapSet, HeapUse, Slot, check_size};
use crate::placement::PlacementError;
use crate::suballoc::Tlsf;
use crate::{Alignment, ByteSize};

/// The number of heaps, from the lowest number on, that are examined before the request is placed normally.
/// It bounds the cost.
const CANDIDATES: usize = 256;

impl<H> HeapSet<H> {
    /// Finds the lowest offset for a request in the heap with the lowest number that has room.
    ///
    /// If none of the 256 heaps with the lowest numbers has room, the result is that of [`find`](Self::find).
    ///
    /// The cost is a comparison for each of those heaps, and O(n) for n ranges in those that may have room.
    ///
    /// # Errors
    ///
    /// Returns an error if the size is zero.
    pub(in super::super) fn find_lowest(
        &mut self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<FoundRange>, PlacementError> {
        check_size(size)?;
        let count = self.table.entries.len().min(CANDIDATES);
        for slot in (0..).take(count) {
            if !self.may_hold(slot, size) {
                continue;
            }
            let Some(heap) = self.table.entry_mut(slot).heap.as_mut() else { continue };
            if let Some(free) = heap.suballocator.find_lowest(size, alignment) {
                return Ok(Some(FoundRange { heap: slot, class: HeapUse::Shared, free, size }));
            }
        }
        self.find(size, alignment)
    }

    fn may_hold(&self, slot: Slot, size: ByteSize) -> bool {
        self.table.entry(slot).heap.as_ref().is_some_and(|heap| {
            heap.class != HeapUse::Closed
                && (heap.class == HeapUse::Shared || heap.suballocator.is_empty())
                && heap.suballocator.largest_size_class() >= Tlsf::size_class(size.get())
        })
    }
}
