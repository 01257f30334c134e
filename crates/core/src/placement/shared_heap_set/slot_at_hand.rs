//! Slots without a clone of their heap.

use super::{SharedHeapSet, SharedPlaced, SharedPlacementId, lane_of_thread};
use crate::placement::PlacementId;
use crate::{Alignment, ByteSize};

impl<H: Clone> SharedHeapSet<H> {
    /// A free slot for a request, if the thread's lane has one; `None` for everything else, which
    /// [`allocate`](Self::allocate) is for. O(1).
    ///
    /// It takes no clone of what the owner holds for the heap: `heap` is shown it and answers what is wanted of it. The set holds
    /// it until the slot is freed.
    ///
    /// ```
    /// use heapwright_core::placement::SharedHeapSet;
    /// use heapwright_core::{Alignment, ByteSize};
    ///
    /// let heaps: SharedHeapSet<String> = SharedHeapSet::default();
    /// let (size, alignment) = (ByteSize::new(200), Alignment::ONE);
    /// let slot = || heaps.slot_at_hand(size, alignment, |heap| heap.len());
    /// assert!(slot().is_none(), "there is no slab yet");
    /// let first = heaps.allocate_in_new(heaps.plan(size, alignment)?.size, "a heap".into(), size, alignment)?;
    /// let second = slot().expect("the slab has several slots");
    /// assert_eq!(second.heap, "a heap".len());
    /// assert!(!second.range.overlaps(first.range));
    /// heaps.free(second.id)?;
    /// # Ok::<(), heapwright_core::placement::PlacementError>(())
    /// ```
    #[inline]
    pub fn slot_at_hand<T>(
        &self,
        size: ByteSize,
        alignment: Alignment,
        heap: impl FnOnce(&H) -> T,
    ) -> Option<SharedPlaced<T>> {
        let class = self.slots.class_of(size, alignment)?;
        let (number, mut lane) = self.lock_lane(lane_of_thread());
        let slot = lane.allocate(class, size)?;
        let id = SharedPlacementId(PlacementId::of_slot(number, slot.id));
        Some(SharedPlaced { id, range: slot.range, heap: heap(slot.heap) })
    }
}
