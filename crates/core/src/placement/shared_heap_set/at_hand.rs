//! Allocation without cloning the handle of the heap.

use super::{SharedHeapSet, SharedPlaced, SharedPlacementId, lane_of_thread};
use crate::placement::PlacementId;
use crate::sync::lock;
use crate::{Alignment, ByteSize};

impl<H: Clone> SharedHeapSet<H> {
    /// Places a request if the normal path finds room at once: in a free slot of the thread's lane, or for
    /// requests that get no slot, in a free range of the heaps. Returns `None` otherwise; then call
    /// [`allocate`](Self::allocate). O(1).
    ///
    /// It does not clone the owner's handle of the heap: `heap` is called with a reference to it, and its
    /// result is returned. The set keeps the heap until the allocation is freed.
    ///
    /// ```
    /// use heapwright_core::placement::SharedHeapSet;
    /// use heapwright_core::{Alignment, ByteSize};
    ///
    /// let heaps: SharedHeapSet<String> = SharedHeapSet::default();
    /// let (size, alignment) = (ByteSize::new(200), Alignment::ONE);
    /// let at_hand = || heaps.allocate_at_hand(size, alignment, |heap| heap.len());
    /// assert!(at_hand().is_none(), "there is no heap yet");
    /// let first = heaps.allocate_in_new(heaps.plan(size, alignment)?.size, "a heap".into(), size, alignment)?;
    /// let second = at_hand().expect("the heap has room");
    /// assert_eq!(second.heap, "a heap".len());
    /// assert!(!second.range.overlaps(first.range));
    /// heaps.free(second.id)?;
    /// # Ok::<(), heapwright_core::placement::PlacementError>(())
    /// ```
    #[inline]
    pub fn allocate_at_hand<T>(
        &self,
        size: ByteSize,
        alignment: Alignment,
        heap: impl FnOnce(&H) -> T,
    ) -> Option<SharedPlaced<T>> {
        let Some(class) = self.slots.class_of(size, alignment) else {
            let mut heaps = lock(&self.heaps.0);
            let placed = heaps.allocate(size, alignment).ok()??;
            return Some(SharedPlaced {
                id: SharedPlacementId(placed.id),
                range: placed.range,
                heap: heap(placed.heap),
            });
        };
        let (number, mut lane) = self.lock_lane(lane_of_thread());
        let slot = lane.allocate(class, size)?;
        let id = SharedPlacementId(PlacementId::of_slot(number, slot.id));
        Some(SharedPlaced { id, range: slot.range, heap: heap(slot.heap) })
    }
}
