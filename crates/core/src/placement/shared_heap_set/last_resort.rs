//! Exhaustive search, which tries every free byte that a request may use before it is refused.

use super::{SharedHeapSet, SharedPlaced, directly, lane_of_thread};
use crate::placement::{PlacementError, ServingHeap};
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
        if let Some(placed) = lock(&self.heaps.0).allocate_anywhere(size, alignment)?.map(directly) {
            return Ok(Some(placed));
        }
        for lane in self.used_lanes() {
            let mut lane = lock(&lane.0);
            let mut heaps = lock(&self.heaps.0);
            if lane.give_up_free_slots(&mut heaps) {
                if let Some(placed) = heaps.allocate_anywhere(size, alignment)? {
                    return Ok(Some(directly(placed)));
                }
            }
        }
        Ok(None)
    }

    /// Returns whether [`allocate_anywhere`](Self::allocate_anywhere) would place the request on this thread.
    /// Changes nothing: free slots are given up in a [copy](Self::with_copy).
    ///
    /// # Errors
    ///
    /// Returns an error if the size is zero.
    pub fn has_room_anywhere(&self, size: ByteSize, alignment: Alignment) -> Result<bool, PlacementError> {
        if self.probe_at_once(lane_of_thread(), size, alignment)? == ServingHeap::Existing
            || lock(&self.heaps.0).find_anywhere(size, alignment)?.is_some()
        {
            return Ok(true);
        }
        let found = || self.with_copy(|copy| copy.allocate_anywhere(size, alignment));
        Ok(self.has_free_slots() && found()?.is_some())
    }
}
