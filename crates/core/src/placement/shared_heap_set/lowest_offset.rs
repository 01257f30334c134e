//! Requests that want to lie low, which no slab serves.

use super::{SharedHeapSet, SharedPlaced, directly};
use crate::placement::{NewHeap, PlacementError};
use crate::sync::lock;
use crate::{Alignment, ByteSize};

impl<H: Clone> SharedHeapSet<H> {
    /// As [`allocate`](Self::allocate), never in a slab, and at the lowest offset of the heap with the lowest number that has
    /// room. Bounded: see `HeapSet::find_lowest`.
    ///
    /// # Errors
    ///
    /// A size of zero.
    pub(in super::super) fn allocate_lowest(
        &self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        let mut heaps = lock(&self.heaps.0);
        let found = heaps.find_lowest(size, alignment)?;
        Ok(found.and_then(|found| heaps.place(found)).map(directly))
    }

    /// As [`plan`](Self::plan), for a request that no slab serves.
    pub(in super::super) fn plan_range(&self, size: ByteSize) -> Result<NewHeap<H>, PlacementError> {
        lock(&self.heaps.0).plan(size)
    }

    /// As [`allocate_in_new`](Self::allocate_in_new), for a request that no slab serves. A fresh heap has one place.
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
