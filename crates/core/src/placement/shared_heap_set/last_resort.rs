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
    /// Changes nothing.
    ///
    /// O(n) for n free ranges. If no range is large enough, O(n log n) for n slots, and ranges of heaps with slabs.
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
        Ok(self.has_room_in_free_slots(size, alignment))
    }

    /// Returns whether a heap would have room if slabs gave up their free slots. O(n log n) for n slots and ranges.
    pub(super) fn has_room_in_free_slots(&self, size: ByteSize, alignment: Alignment) -> bool {
        let free_slots = self.used_lanes().flat_map(|lane| lock(&lane.0).free_slots()).collect();
        lock(&self.heaps.0).would_have_room(free_slots, size, alignment)
    }
}
