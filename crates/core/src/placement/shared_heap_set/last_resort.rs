//! Exhaustive search, which tries every free byte that a request may use before it is refused.

use super::{SharedHeapSet, SharedPlaced, directly};
use crate::placement::PlacementError;
use crate::sync::lock;
use crate::{Alignment, ByteSize};

impl<H: Clone> SharedHeapSet<H> {
    /// Places a request in any heap with a free range for it, or returns `None` if there is none. Use it when
    /// no heap can be created.
    ///
    /// It first does what [`allocate`](Self::allocate) does. Then every free range is examined, and free slots
    /// of slabs are returned to the heaps and count as free. O(n) for n free ranges, and O(1) for each slab that has free slots.
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

    /// Reopens the heaps that are being emptied, whose run then leaves them alone. Returns whether there were any. O(1) if
    /// there is none, and O(slabs + heaps) otherwise.
    pub fn reopen_closed(&self) -> bool {
        if !lock(&self.heaps.0).has_closed() {
            return false;
        }
        for lane in self.used_lanes() {
            lock(&lane.0).reopen_slabs();
        }
        lock(&self.heaps.0).reopen_all(false);
        true
    }
}
