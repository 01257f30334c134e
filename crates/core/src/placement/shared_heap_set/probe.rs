//! Placement queries.

use super::super::lane::Lane;
use super::{SharedHeapSet, lane_of_thread};
use crate::placement::{HeapSet, PlacementError, ServingHeap};
use crate::suballoc::slab::table::SlabShape;
use crate::sync::{MutexGuard, lock, try_lock};
use crate::{Alignment, ByteSize};

impl<H: Clone> SharedHeapSet<H> {
    /// Returns what [`allocate`](Self::allocate) and then [`plan`](Self::plan) would do on this thread, if unused slabs
    /// keep their memory. Places nothing.
    ///
    /// The result is exact while no other thread calls and all slabs are in use. O(1), and O(lanes) before it returns
    /// that a heap is needed.
    ///
    /// # Errors
    ///
    /// Returns the errors of these two.
    ///
    /// # Locking
    ///
    /// Locks a lane, and within it the heaps; then the other lanes one by one, if they are not locked.
    ///
    /// ```
    /// use heapwright_core::placement::{ServingHeap, SharedHeapSet};
    /// use heapwright_core::{Alignment, ByteSize};
    ///
    /// let heaps: SharedHeapSet<&str> = SharedHeapSet::default();
    /// let (size, alignment) = (ByteSize::new(200), Alignment::ONE);
    /// let ServingHeap::New { size: wanted } = heaps.probe(size, alignment)? else { panic!("there is no heap") };
    /// assert_eq!(wanted, heaps.plan(size, alignment)?.size);
    /// heaps.insert(wanted, "a heap")?;
    /// assert_eq!(heaps.probe(size, alignment)?, ServingHeap::Existing);
    /// # Ok::<(), heapwright_core::placement::PlacementError>(())
    /// ```
    pub fn probe(&self, size: ByteSize, alignment: Alignment) -> Result<ServingHeap, PlacementError> {
        self.probe_on(lane_of_thread(), size, alignment)
    }

    /// Returns the size of the heap that [`plan`](Self::plan) would return on this thread if it released no
    /// empty heap. O(1).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`plan`](Self::plan).
    pub fn new_heap_size(&self, size: ByteSize, alignment: Alignment) -> Result<ByteSize, PlacementError> {
        let wanted = self.bytes_wanted(size, alignment);
        lock(&self.heaps.0).new_heap_size(wanted)
    }

    /// Returns the result of [`probe`](Self::probe) for a lane.
    pub(in super::super) fn probe_on(
        &self,
        lane: u32,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<ServingHeap, PlacementError> {
        let class = self.slots.class_of(size, alignment);
        let new_heap_size = {
            let (_, lane) = self.lock_lane(lane);
            let shape = match class {
                Some(class) if lane.has_room(class) => return Ok(ServingHeap::Existing),
                Some(class) => Some(lane.shape(class)),
                None => None,
            };
            let heaps = lock(&self.heaps.0);
            if fits(&heaps, shape, size, alignment)? {
                return Ok(ServingHeap::Existing);
            }
            heaps.new_heap_size(shape.map_or(size, SlabShape::bytes))
        };
        let has_slot = |class| {
            let has_room = |lane: MutexGuard<'_, Lane<H>>| lane.has_room(class);
            self.used_lanes().any(|lane| try_lock(&lane.0).is_some_and(has_room))
        };
        if class.is_some_and(has_slot) {
            return Ok(ServingHeap::Existing);
        }
        Ok(ServingHeap::New { size: new_heap_size? })
    }

    /// Returns the result of [`probe`](Self::probe) for a request that gets no slot and is placed at
    /// the lowest offset.
    pub(in super::super) fn probe_lowest(
        &self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<ServingHeap, PlacementError> {
        let mut heaps = lock(&self.heaps.0);
        if heaps.find_lowest(size, alignment)?.is_some() {
            return Ok(ServingHeap::Existing);
        }
        Ok(ServingHeap::New { size: heaps.new_heap_size(size)? })
    }
}

/// Returns whether there is room for the slab, or for one with half its slots, and so on; or for the request
/// itself if it gets no slot.
fn fits<H>(
    heaps: &HeapSet<H>,
    slab: Option<SlabShape>,
    size: ByteSize,
    alignment: Alignment,
) -> Result<bool, PlacementError> {
    let Some(slab) = slab else { return Ok(heaps.find(size, alignment)?.is_some()) };
    for shape in slab.and_halves() {
        if heaps.find(shape.bytes(), shape.alignment())?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}
