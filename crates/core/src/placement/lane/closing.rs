//! Slabs of a lane whose heap is being emptied.

use super::super::heap_set::{HeapSet, SlabPlace};
use super::super::{HeapId, PlacementId};
use super::{Lane, SlabMemory, SlabRanges};
use crate::suballoc::slab::class::SizeClass;
use crate::suballoc::slab::table::SlabOccupancy;
use crate::suballoc::{Suballocation, SuballocationId};
use crate::{ByteSize, HeapRange};

/// The slot allocated as the target of a move.
#[derive(Debug)]
pub(crate) struct MovedSlot<H> {
    pub(crate) id: SuballocationId,
    pub(crate) range: HeapRange,
    /// The memory of its slab.
    pub(crate) memory: PlacementId,
    pub(crate) heap: H,
}

/// Where a new slab for moves may be placed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NewSlabIn {
    /// In any open heap in use.
    Occupied,
    /// In this closed heap.
    Closed(HeapId),
}

impl<H: Clone> Lane<H> {
    /// Returns a number greater than the numbers of all slabs. O(1).
    pub(crate) fn slab_limit(&self) -> u32 {
        self.slabs.as_ref().map_or(0, |slabs| slabs.place_count())
    }

    /// Returns how much of a slab is used, and its memory, or `None` if no slab has this number. O(1).
    pub(crate) fn occupancy(&self, number: u32) -> Option<(PlacementId, SlabOccupancy)> {
        let (memory, occupancy) = self.slabs.as_ref()?.occupancy(number)?;
        Some((memory.first_id(), occupancy))
    }

    /// Returns the class of a slab and its live suballocations in the range `memory`, or `None` if the lane
    /// released the slab. O(slots).
    pub(crate) fn live_in(
        &self,
        number: u32,
        memory: PlacementId,
    ) -> Option<(SizeClass, impl Iterator<Item = Suballocation>)> {
        let slabs = self.slabs.as_ref()?;
        let slot = slabs.parent(number)?.ranges().slot_of(memory)?;
        let (class, live) = slabs.live_in(number)?;
        let is_in_range =
            move |one: &Suballocation| slot.is_none() || slabs.slot_at(number, one.range.start()) == slot;
        Some((class, live.filter(is_in_range)))
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

    /// Returns the range of a live slot, and the owner's handle of its heap. O(1).
    pub(crate) fn get(&self, id: SuballocationId) -> Option<(HeapRange, &H)> {
        let (range, memory) = self.slabs.as_ref()?.get(id).ok()?;
        Some((range, &memory.heap))
    }

    /// Allocates a slot for a move, like [`allocate`](Self::allocate). O(1).
    pub(crate) fn allocate_moved(&mut self, class: SizeClass, size: ByteSize) -> Option<MovedSlot<H>> {
        let (suballocation, memory) = self.slabs.as_mut()?.allocate(class, size)?;
        Some(moved(suballocation, memory))
    }

    /// Adds a slab of `slots` slots, up to the maximum of a slab, and allocates one of them. Returns `None`
    /// if there is no room. With `halve`, smaller slabs are tried if a large one does not fit. O(1).
    pub(crate) fn allocate_moved_in_new_slab(
        &mut self,
        heaps: &mut HeapSet<H>,
        place: NewSlabIn,
        (class, size): (SizeClass, ByteSize),
        slots: u32,
        halve: bool,
    ) -> Option<MovedSlot<H>> {
        let slabs = self.slabs.get_or_insert_default();
        let mut shape = slabs.shape_for(class, slots);
        let (start, memory) = loop {
            let (bytes, alignment) = (shape.bytes(), shape.alignment());
            let placed = match place {
                NewSlabIn::Occupied => heaps.allocate_in_occupied(bytes, alignment),
                NewSlabIn::Closed(heap) => heaps.allocate_in_closed(heap, bytes, alignment),
            };
            if let Some(placed) = placed {
                break (placed.range.start(), SlabMemory::new(placed.id, placed.heap.clone()));
            }
            shape = shape.halved().filter(|_| halve)?;
        };
        match slabs.insert(shape, start, memory, size) {
            Ok((number, suballocation)) => {
                let memory = slabs.parent(number)?;
                heaps.note_slab(memory.first_id(), SlabPlace { lane: self.number, number });
                Some(moved(suballocation, memory))
            }
            Err(memory) => {
                // The limit on the number of slabs is reached.
                let freed = heaps.free_and_keep(memory.first_id());
                debug_assert!(freed.is_ok());
                None
            }
        }
    }
}

fn moved<H: Clone>(suballocation: Suballocation, memory: &SlabMemory<H>) -> MovedSlot<H> {
    let Suballocation { id, range } = suballocation;
    MovedSlot { id, range, memory: memory.first_id(), heap: memory.heap.clone() }
}
