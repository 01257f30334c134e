//! Placement at the lowest offset, which uses no slabs.

use super::{SharedHeapSet, SharedPlaced, directly};
use crate::placement::{NewHeap, PlacementError};
use crate::sync::lock;
use crate::{Alignment, ByteSize};

impl<H: Clone> SharedHeapSet<H> {
    /// Places a request like [`allocate`](Self::allocate), but never in a slab, and at the lowest offset of
    /// the heap with the lowest number that has room. The cost is that of `HeapSet::find_lowest`.
    ///
    /// # Errors
    ///
    /// Returns an error if the size is zero.
    pub(in super::super) fn allocate_lowest(
        &self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        let mut heaps = lock(&self.heaps.0);
        let found = heaps.find_lowest(size, alignment)?;
        Ok(found.and_then(|found| heaps.place(found)).map(directly))
    }

    /// Returns the new heap for a request that gets no slot, like [`plan`](Self::plan).
    pub(in super::super) fn plan_range(&self, size: ByteSize) -> Result<NewHeap<H>, PlacementError> {
        lock(&self.heaps.0).plan(size)
    }

    /// Adds a heap like [`allocate_in_new`](Self::allocate_in_new), for a request that gets no slot. A new
    /// heap has only one place for it.
    pub(in super::super) fn allocate_range_in_new(
        &self,
        heap_size: ByteSize,
        payload: H,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<SharedPlaced<H>, PlacementError> {
        let mut heaps = lock(&self.heaps.0);
        let heap = heaps.insert(heap_size, payload)?;
        let placed = heaps.allocate_in(heap, size, alignment)?;
        placed.map(directly).ok_or(PlacementError::TooLarge { requested: size })
    }
}
