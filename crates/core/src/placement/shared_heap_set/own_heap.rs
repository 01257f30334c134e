//! Requests that ask for a heap of their own.

use super::{SharedHeapSet, SharedPlaced, directly};
use crate::placement::{NewHeap, PlacementError, ServingHeap};
use crate::sync::lock;
use crate::{Alignment, ByteSize};

impl<H: Clone> SharedHeapSet<H> {
    /// Places a request in an empty heap that is not too large for it, or returns `None` if there is none.
    /// Nothing else is placed in that heap until the request is freed. O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if the size is zero.
    pub fn allocate_alone(
        &self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        let mut heaps = lock(&self.heaps.0);
        let found = heaps.find_alone(size, alignment)?;
        Ok(found.and_then(|found| heaps.place(found)).map(directly))
    }

    /// Places a request in any empty heap that holds it, or in one that contains only unused slabs. Use it
    /// when no heap can be created.
    ///
    /// # Errors
    ///
    /// Returns an error if the size is zero.
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
    /// Returns the errors of [`insert`](Self::insert). Returns an error if the size is zero, or
    /// [`PlacementError::TooLarge`] if the request does not fit into the heap; the heap is in the set
    /// nevertheless.
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

    /// Returns the new heap for a request with a heap of its own: the size of the request, rounded up to the
    /// granularity. See [`plan`](Self::plan).
    ///
    /// # Errors
    ///
    /// Returns an error if the size of the heap overflows.
    pub fn plan_alone(&self, size: ByteSize) -> Result<NewHeap<H>, PlacementError> {
        let mut heaps = lock(&self.heaps.0);
        let heap_size = heaps.new_heap_size_alone(size)?;
        Ok(NewHeap { size: heap_size, release: heaps.make_way(heap_size) })
    }

    /// Returns what [`allocate_alone`](Self::allocate_alone) and then [`plan_alone`](Self::plan_alone) would
    /// do. Places nothing.
    ///
    /// # Errors
    ///
    /// Returns the errors of these two.
    pub fn probe_alone(&self, size: ByteSize) -> Result<ServingHeap, PlacementError> {
        let heaps = lock(&self.heaps.0);
        if heaps.find_alone(size, Alignment::ONE)?.is_some() {
            return Ok(ServingHeap::Existing);
        }
        Ok(ServingHeap::New { size: heaps.new_heap_size_alone(size)? })
    }

    /// Returns the size of the heap that [`plan_alone`](Self::plan_alone) would return.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`plan_alone`](Self::plan_alone).
    pub fn new_heap_size_alone(&self, size: ByteSize) -> Result<ByteSize, PlacementError> {
        lock(&self.heaps.0).new_heap_size_alone(size)
    }

    /// Returns the memory of slabs without used slots to the heaps. O(lanes), and O(1) per slab.
    pub fn give_up_unused_slabs(&self) {
        for lane in self.used_lanes() {
            let mut lane = lock(&lane.0);
            let _any = lane.give_up_empty(&mut lock(&self.heaps.0));
        }
    }
}
