//! Requests that asked for a heap of their own.

use super::{SharedHeapSet, SharedPlaced, directly};
use crate::placement::{NewHeap, PlacementError, Room};
use crate::sync::lock;
use crate::{Alignment, ByteSize};

impl<H: Clone> SharedHeapSet<H> {
    /// Places a request in an empty heap that is not too large for it, or returns `None` if there is none. Nothing else is placed
    /// in that heap until the request is freed. O(1).
    ///
    /// # Errors
    ///
    /// A size of zero.
    pub fn allocate_alone(
        &self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        let mut heaps = lock(&self.heaps.0);
        let found = heaps.find_alone(size, alignment)?;
        Ok(found.and_then(|found| heaps.place(found)).map(directly))
    }

    /// Places a request in any empty heap that holds it, or in one that only unused slabs lie in: for when there can be no new heap.
    ///
    /// # Errors
    ///
    /// A size of zero.
    pub fn allocate_alone_anywhere(
        &self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        self.give_up_unused_slabs();
        let mut heaps = lock(&self.heaps.0);
        let found = heaps.find_alone_anywhere(size, alignment)?;
        Ok(found.and_then(|found| heaps.place(found)).map(directly))
    }

    /// Adds a heap of `heap_size` bytes, and places a request in it that shares it with nothing. O(1).
    ///
    /// # Errors
    ///
    /// The same as those of [`insert`](Self::insert); or [`PlacementError::TooLarge`] if the request does not fit into the heap,
    /// which is in the set nevertheless.
    pub fn allocate_alone_in_new(
        &self,
        heap_size: ByteSize,
        payload: H,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<SharedPlaced<H>, PlacementError> {
        let mut heaps = lock(&self.heaps.0);
        heaps.allocate_alone_in_new(heap_size, payload, size, alignment).map(directly)
    }

    /// The heap that a request with a heap of its own needs: exactly as large as it is. See [`plan`](Self::plan).
    ///
    /// # Errors
    ///
    /// A request so large that the heap's size overflows.
    pub fn plan_alone(&self, size: ByteSize) -> Result<NewHeap<H>, PlacementError> {
        let mut heaps = lock(&self.heaps.0);
        let heap_size = heaps.new_heap_size_alone(size)?;
        Ok(NewHeap { size: heap_size, release: heaps.make_way(heap_size) })
    }

    /// Returns what [`allocate_alone`](Self::allocate_alone) and then [`plan_alone`](Self::plan_alone) would do. Nothing is placed.
    ///
    /// # Errors
    ///
    /// The same as theirs.
    pub fn room_alone(&self, size: ByteSize) -> Result<Room, PlacementError> {
        let heaps = lock(&self.heaps.0);
        if heaps.find_alone(size, Alignment::ONE)?.is_some() {
            return Ok(Room::Held);
        }
        Ok(Room::NewHeap { size: heaps.new_heap_size_alone(size)? })
    }

    /// The size of the heap that [`plan_alone`](Self::plan_alone) would return.
    ///
    /// # Errors
    ///
    /// The same as there.
    pub fn new_heap_size_alone(&self, size: ByteSize) -> Result<ByteSize, PlacementError> {
        lock(&self.heaps.0).new_heap_size_alone(size)
    }

    /// Whether [`allocate_alone_anywhere`](Self::allocate_alone_anywhere) would place the request. Nothing is placed.
    #[must_use]
    pub fn has_room_alone_anywhere(&self, size: ByteSize) -> bool {
        self.give_up_unused_slabs();
        matches!(lock(&self.heaps.0).find_alone_anywhere(size, Alignment::ONE), Ok(Some(_)))
    }

    /// Has slabs that nothing is in return their memory to the heaps. O(lanes), and O(1) for each slab.
    pub fn give_up_unused_slabs(&self) {
        for lane in self.used_lanes() {
            let mut lane = lock(&lane.0);
            let _any = lane.give_up_empty(&mut lock(&self.heaps.0));
        }
    }
}
