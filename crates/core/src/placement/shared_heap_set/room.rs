//! Whether a request would find room, told without using it.

use super::super::lane::Lane;
use super::{SharedHeapSet, lane_of_thread};
use crate::placement::{HeapSet, PlacementError, Room};
use crate::suballoc::slab::table::SlabShape;
use crate::sync::{MutexGuard, lock, try_lock};
use crate::{Alignment, ByteSize};

impl<H: Clone> SharedHeapSet<H> {
    /// Returns what [`allocate`](Self::allocate) and then [`plan`](Self::plan) would do on this thread. Nothing is placed.
    ///
    /// Exact while no other thread calls. O(1); before it returns that a heap is needed, O(lanes), and slabs of the thread's lane
    /// that nothing is in give their memory back to the heaps, O(1) for each.
    ///
    /// # Errors
    ///
    /// As these two.
    ///
    /// # Locking
    ///
    /// A lane, within it the heaps; then the other lanes one by one, if they are not locked.
    ///
    /// ```
    /// use heapwright_core::placement::{Room, SharedHeapSet};
    /// use heapwright_core::{Alignment, ByteSize};
    ///
    /// let heaps: SharedHeapSet<&str> = SharedHeapSet::default();
    /// let (size, alignment) = (ByteSize::new(200), Alignment::ONE);
    /// let Room::NewHeap { size: wanted } = heaps.room_for(size, alignment)? else { panic!("there is no heap") };
    /// assert_eq!(wanted, heaps.plan(size, alignment)?.size);
    /// heaps.insert(wanted, "a heap")?;
    /// assert_eq!(heaps.room_for(size, alignment)?, Room::Held);
    /// # Ok::<(), heapwright_core::placement::PlacementError>(())
    /// ```
    pub fn room_for(&self, size: ByteSize, alignment: Alignment) -> Result<Room, PlacementError> {
        self.room_on(lane_of_thread(), size, alignment)
    }

    /// The size of the heap that [`plan`](Self::plan) would want on this thread, with no empty heap given up. O(1).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn new_heap_size(&self, size: ByteSize, alignment: Alignment) -> Result<ByteSize, PlacementError> {
        let wanted = self.bytes_wanted(size, alignment);
        lock(&self.heaps.0).new_heap_size(wanted)
    }

    /// As [`room_for`](Self::room_for), on a lane.
    pub(in super::super) fn room_on(
        &self,
        lane: u32,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Room, PlacementError> {
        let class = self.slots.class_of(size, alignment);
        let new_heap_size = {
            let (_, mut lane) = self.lock_lane(lane);
            let shape = match class {
                Some(class) if lane.has_room(class) => return Ok(Room::Held),
                Some(class) => Some(lane.shape(class)),
                None => None,
            };
            let mut heaps = lock(&self.heaps.0);
            // What `allocate` would do next: the memory of unused slabs comes before a new heap.
            if fits(&heaps, shape, size, alignment)?
                || lane.give_up_empty(&mut heaps) && fits(&heaps, shape, size, alignment)?
            {
                return Ok(Room::Held);
            }
            heaps.new_heap_size(shape.map_or(size, SlabShape::bytes))
        };
        let has_slot = |class| {
            let has_room = |lane: MutexGuard<'_, Lane<H>>| lane.has_room(class);
            self.used_lanes().any(|lane| try_lock(&lane.0).is_some_and(has_room))
        };
        if class.is_some_and(has_slot) {
            return Ok(Room::Held);
        }
        Ok(Room::NewHeap { size: new_heap_size? })
    }

    /// As [`room_for`](Self::room_for), for a request that no slab serves and that wants to lie low.
    pub(in super::super) fn room_for_lowest(
        &self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Room, PlacementError> {
        let mut heaps = lock(&self.heaps.0);
        if heaps.find_lowest(size, alignment)?.is_some() {
            return Ok(Room::Held);
        }
        Ok(Room::NewHeap { size: heaps.new_heap_size(size)? })
    }
}

/// Whether there is room for the slab, or one with half its slots, and so on; or for the request when it gets no slot.
fn fits<H>(
    heaps: &HeapSet<H>,
    slab: Option<SlabShape>,
    size: ByteSize,
    alignment: Alignment,
) -> Result<bool, PlacementError> {
    let Some(slab) = slab else { return Ok(heaps.find(size, size, alignment)?.is_some()) };
    for shape in slab.and_halves() {
        if heaps.find(shape.slot_size(), shape.bytes(), shape.alignment())?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}
