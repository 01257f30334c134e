//! Ids of heaps and of allocations.

use std::num::NonZeroU32;

use crate::suballoc::slab::table::SlabTable;
use crate::suballoc::{Stamp, SuballocationId};

/// A position in the set's table of heaps.
pub(super) type Slot = u32;

/// Identifies a heap of a set. An id of a heap that left the set is recognized as stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct HeapId {
    pub(super) slot: Slot,
    pub(super) generation: u32,
}

impl HeapId {
    /// Returns the index of the heap in tables next to the set's own.
    pub(crate) const fn slot(self) -> Slot {
        self.slot
    }
}

/// Identifies a live allocation of a set of heaps.
///
/// It has 16 bytes, so that it is passed in registers. It contains only the slot of the heap: stamps continue
/// when another heap takes the slot, so an older id is stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PlacementId {
    stamp: Stamp,
    slot: NonZeroU32,
    heap: Slot,
}

impl PlacementId {
    #[inline]
    pub(super) const fn new(heap: Slot, suballocation: SuballocationId) -> Self {
        Self { stamp: suballocation.stamp(), slot: suballocation.slot(), heap }
    }

    /// Returns the number of the heap, for an allocation directly in a heap.
    #[inline]
    pub(super) const fn heap(self) -> Slot {
        self.heap
    }

    /// Creates the id of a slot of a slab, which belongs to a lane and not directly to a heap.
    #[inline]
    pub(super) const fn of_slot(lane: u32, suballocation: SuballocationId) -> Self {
        Self::new(lane, suballocation)
    }

    /// Returns the lane and the slot, if it is a slot of a slab.
    #[inline]
    pub(super) const fn slot(self) -> Option<(u32, SuballocationId)> {
        let suballocation = self.suballocation();
        if SlabTable::<()>::is_slot(suballocation) { Some((self.heap, suballocation)) } else { None }
    }

    #[inline]
    pub(super) const fn suballocation(self) -> SuballocationId {
        SuballocationId::new(self.slot, self.stamp)
    }
}

const _: () = assert!(size_of::<Option<PlacementId>>() == 16);
