//! Exhaustive search, which tries every free byte that a request may use before it is refused.

use super::{SharedHeapSet, SharedPlaced, directly};
use crate::placement::{HeapSet, PlacementError};
use crate::sync::lock;
use crate::{Alignment, ByteSize};

impl<H: Clone> SharedHeapSet<H> {
    /// Places a request in any heap with a free range for it, or returns `None` if there is none. Use it when
    /// no heap can be created.
    ///
    /// It first does what [`allocate`](Self::allocate) does. Then every free range is examined, and free slots
    /// of slabs count as free. O(n) for n free ranges and slots.
    ///
    /// # Errors
    ///
    /// Returns an error if the size is zero.
    pub fn allocate_anywhere(
        &self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        if let Some(placed) = self.allocate(size, alignment)? {
            return Ok(Some(placed));
        }
        self.in_all_memory(|heaps| Ok(heaps.allocate_anywhere(size, alignment)?.map(directly)))
    }

    /// Returns whether [`allocate_anywhere`](Self::allocate_anywhere) would place the request on this thread.
    /// Places nothing.
    ///
    /// Slabs may return the memory of free slots to the heaps, as with `allocate_anywhere`.
    ///
    /// # Errors
    ///
    /// Returns an error if the size is zero.
    pub fn has_room_anywhere(&self, size: ByteSize, alignment: Alignment) -> Result<bool, PlacementError> {
        if self.probe(size, alignment)? == crate::placement::ServingHeap::Existing {
            return Ok(true);
        }
        let found = self.in_all_memory(|heaps| heaps.find_anywhere(size, alignment))?;
        Ok(found.is_some())
    }

    /// Searches the heaps, and again each time that a lane has returned the free slots of its slabs to them.
    fn in_all_memory<T>(
        &self,
        mut find: impl FnMut(&mut HeapSet<H>) -> Result<Option<T>, PlacementError>,
    ) -> Result<Option<T>, PlacementError> {
        if let Some(found) = find(&mut lock(&self.heaps.0))? {
            return Ok(Some(found));
        }
        for lane in self.used_lanes() {
            let mut lane = lock(&lane.0);
            let mut heaps = lock(&self.heaps.0);
            if lane.give_up_free_slots(&mut heaps) {
                if let Some(found) = find(&mut heaps)? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }
}
