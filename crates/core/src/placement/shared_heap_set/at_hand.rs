//! Allocating without a clone of the heap.

use super::{SharedHeapSet, SharedPlaced, SharedPlacementId, lane_of_thread};
use crate::placement::PlacementId;
use crate::sync::lock;
use crate::{Alignment, ByteSize};

impl<H: Clone> SharedHeapSet<H> {
    /// Places a request where the usual way finds room at once: in a free slot of the thread's lane, or, for what gets no slot, in a
    /// free range of the heaps. Returns `None` for everything else, which [`allocate`](Self::allocate) is for. O(1).
    ///
    /// It takes no clone of what the owner holds for the heap: `heap` is shown it, and returns what is wanted of it. The set holds
    /// it until the request is freed.
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
