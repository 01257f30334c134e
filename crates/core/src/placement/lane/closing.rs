//! Slabs of a lane whose heap is being emptied.

use super::super::PlacementId;
use super::{Lane, SlabRanges};
use crate::HeapRange;
use crate::suballoc::slab::class::SizeClass;
use crate::suballoc::{Suballocation, SuballocationId};

impl<H: Clone> Lane<H> {
    /// Returns a number greater than the numbers of all slabs. O(1).
    pub(crate) fn slab_limit(&self) -> u32 {
        self.slabs.as_ref().map_or(0, |slabs| slabs.place_count())
    }

    /// Returns the class of a slab and its live suballocations in the range `memory`, or `None` if the lane
    /// released the slab. O(slots).
    pub(crate) fn live_in(
        &self,
        number: u32,
        memory: PlacementId,
    ) -> Option<(SizeClass, impl Iterator<Item = Suballocation>)> {
        let slabs = self.slabs.as_ref()?;
        slabs.live_in(number, slabs.parent(number)?.ranges().slot_of(memory)?)
    }

    /// Closes the slab with this memory, unless the lane released it. O(1).
    pub(crate) fn close_slab(&mut self, number: u32, memory: PlacementId) {
        if let Some(slabs) = self.slabs.as_mut() {
            if slabs.parent(number).is_some_and(|parent| parent.ranges().slot_of(memory).is_some()) {
                slabs.close(number);
            }
        }
    }

    /// Reopens the slab with this memory, unless the lane released it. O(1).
    pub(crate) fn reopen_slab(&mut self, number: u32, memory: PlacementId) {
        if let Some(slabs) = self.slabs.as_mut() {
            if slabs.parent(number).is_some_and(|parent| parent.ranges().slot_of(memory).is_some()) {
                slabs.reopen(number);
            }
        }
    }

    /// Reopens all closed slabs. O(slabs).
    pub(crate) fn reopen_slabs(&mut self) {
        if let Some(slabs) = self.slabs.as_mut() {
            slabs.reopen_all();
        }
    }

    /// Removes a closed slab without used slots, and returns its ranges. O(1).
    pub(crate) fn take_closed_empty(&mut self) -> Option<SlabRanges> {
        let memory = self.slabs.as_mut()?.take_closed_empty()?;
        Some(self.ranges_of_removed(memory))
    }

    /// Returns the range of a live slot. O(1).
    pub(crate) fn get(&self, id: SuballocationId) -> Option<HeapRange> {
        self.slabs.as_ref()?.get(id).ok()
    }
}
