//! Placement queries.

use super::super::lane::Lane;
use super::{SharedHeapSet, Way, lane_of_thread};
use crate::ByteSize;
use crate::placement::{PlacementError, PlacementRequest, ServingHeap};
use crate::suballoc::slab::class::SizeClass;
use crate::sync::{MutexGuard, lock, try_lock};

impl<H: Clone> SharedHeapSet<H> {
    /// Returns what [`allocate`](Self::allocate) and then [`plan`](Self::plan) would do on this thread, if unused slabs
    /// keep their memory. Places nothing.
    ///
    /// The result is exact while no other thread calls and all slabs are in use. O(1), and O(lanes) before it returns
    /// that a heap is needed; at the lowest offset O(n) for n ranges of up to 256 heaps.
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
    /// use heapwright_core::placement::{PlacementRequest, ServingHeap, SharedHeapSet};
    /// use heapwright_core::{Alignment, ByteSize};
    ///
    /// let heaps: SharedHeapSet<&str> = SharedHeapSet::default();
    /// let request = PlacementRequest::new(ByteSize::new(200), Alignment::ONE);
    /// let ServingHeap::New { size: wanted } = heaps.probe(&request)? else { panic!("there is no heap") };
    /// assert_eq!(wanted, heaps.plan(&request)?.size);
    /// heaps.insert(wanted, "a heap")?;
    /// assert_eq!(heaps.probe(&request)?, ServingHeap::Existing);
    /// # Ok::<(), heapwright_core::placement::PlacementError>(())
    /// ```
    pub fn probe(&self, request: &PlacementRequest) -> Result<ServingHeap, PlacementError> {
        self.probe_on(lane_of_thread(), request)
    }

    /// Returns the result of [`probe`](Self::probe) for a lane.
    pub(crate) fn probe_on(
        &self,
        lane: u32,
        request: &PlacementRequest,
    ) -> Result<ServingHeap, PlacementError> {
        let PlacementRequest { size, alignment, .. } = *request;
        let is_held = match self.way(request)? {
            Way::Slot(class) => self.has_slot(lane, class)?,
            Way::Range(choice) => lock(&self.heaps.0).find_by_choice(choice, size, alignment)?.is_some(),
        };
        if is_held {
            Ok(ServingHeap::Existing)
        } else {
            Ok(ServingHeap::New { size: self.new_heap_size(request)? })
        }
    }

    /// Returns the size of the heap that [`plan`](Self::plan) would return on this thread if it released no
    /// empty heap. O(1).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`plan`](Self::plan).
    pub fn new_heap_size(&self, request: &PlacementRequest) -> Result<ByteSize, PlacementError> {
        let (choice, wanted) = self.bytes_wanted(request)?;
        lock(&self.heaps.0).new_heap_size(choice, wanted)
    }

    /// Returns whether a lane has a free slot or there is room for a slab of it, or of half its slots, and so on; or another
    /// lane has a free slot.
    fn has_slot(&self, lane: u32, class: SizeClass) -> Result<bool, PlacementError> {
        let has_room = |lane: MutexGuard<'_, Lane<H>>| lane.has_room(class);
        {
            let (_, lane) = self.lock_lane(lane);
            if lane.has_room(class) {
                return Ok(true);
            }
            let heaps = lock(&self.heaps.0);
            for shape in lane.shape(class).and_halves() {
                if heaps.find(shape.bytes(), shape.alignment())?.is_some() {
                    return Ok(true);
                }
            }
        }
        Ok(self.used_lanes().any(|lane| try_lock(&lane.0).is_some_and(has_room)))
    }
}
