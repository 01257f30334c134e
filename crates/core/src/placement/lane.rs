//! Lanes: slabs whose memory comes from the heaps of a set.

mod slab_memory;

use self::slab_memory::SlabMemory;
pub(super) use self::slab_memory::SlabRanges;
use super::slab_notes::SlabPlace;
use super::{HeapId, HeapSet, HeapSetTotals, Placed, PlacementError, PlacementId};
use crate::suballoc::slab::class::SizeClass;
use crate::suballoc::slab::table::{SlabShape, SlabTable, SlabTotals};
use crate::suballoc::{AuditError, SuballocError, Suballocation, SuballocationId};
use crate::{ByteSize, HeapRange};

/// The slabs from which one thread at a time allocates.
#[derive(Clone)]
pub(super) struct Lane<H> {
    number: u32,
    /// The slabs; `None` before the first slab, because most lanes of most sets are never used.
    slabs: Option<Box<SlabTable<SlabMemory<H>>>>,
    /// The number of heap ranges in which the slabs lie, minus the number of slabs. A slab whose free slots
    /// were cut off has several ranges.
    further_ranges: u64,
    /// The number of slots that were allocated and freed since the heaps were told.
    slots_used: u32,
}

/// A lane tells the heaps of so many slots at once.
const SLOTS_PER_SUM: u32 = 64;
/// So many slots count as one operation: a program may use a thousand of them while it uses a heap once.
const SLOTS_PER_OPERATION: u32 = 8;

impl<H> Lane<H> {
    /// Creates the lane with this number in a set.
    pub(super) const fn new(number: u32) -> Self {
        Self { number, slabs: None, further_ranges: 0, slots_used: 0 }
    }
}

impl<H: Clone> Lane<H> {
    /// Returns whether the class has a free slot. O(1).
    #[inline]
    pub(super) fn has_room(&self, class: SizeClass) -> bool {
        self.slabs.as_ref().is_some_and(|slabs| slabs.has_room(class))
    }

    /// Allocates a free slot, or returns `None` if the class has none. O(1).
    #[inline(always)]
    pub(super) fn allocate(&mut self, class: SizeClass, size: ByteSize) -> Option<Placed<&H>> {
        let (suballocation, memory) = self.slabs.as_mut()?.allocate(class, size)?;
        self.slots_used += 1;
        Some(placed(self.number, suballocation, &memory.heap))
    }

    /// Adds a slab to a class without a free slot, of the preferred size or the largest that fits into the
    /// heaps or into a particular one, and allocates a slot of it. Returns `None` if the heaps have no room. O(1).
    #[cold]
    pub(super) fn allocate_in_new_slab(
        &mut self,
        heaps: &mut HeapSet<H>,
        heap: Option<HeapId>,
        class: SizeClass,
        size: ByteSize,
    ) -> Option<Placed<&H>> {
        let mut shape = self.shape(class);
        let (start, memory) = loop {
            if let Some(placed) = heaps.allocate_slab(heap, shape.bytes(), shape.alignment()) {
                break (placed.range.start(), SlabMemory::new(placed.id, placed.heap.clone()));
            }
            shape = match shape.halved() {
                Some(halved) => halved,
                // The memory of empty slabs of other classes is used before a new heap.
                None if self.give_up_empty(heaps) => self.shape(class),
                None => return None,
            };
        };
        let slabs = self.slabs.get_or_insert_default();
        match slabs.insert(shape, start, memory, size) {
            Ok((number, suballocation)) => {
                let memory = slabs.parent(number)?;
                heaps.note_slab(memory.first_id(), SlabPlace { lane: self.number, number });
                Some(placed(self.number, suballocation, &memory.heap))
            }
            Err(memory) => {
                // The limit on the number of slabs is reached. The heap has other allocations, or is left for
                // the owner to take.
                heaps.give_back(memory.first_id());
                None
            }
        }
    }

    /// Returns the memory of slabs without used slots to the heaps. Returns whether there were any. O(1)
    /// each.
    #[cold]
    pub(super) fn give_up_empty(&mut self, heaps: &mut HeapSet<H>) -> bool {
        let mut any = false;
        while let Some(ranges) = self.take_empty() {
            ranges.free(heaps);
            any = true;
        }
        any
    }

    /// Iterates over the ranges of the slabs without used slots. O(classes), and O(1) each.
    pub(super) fn unused(&self) -> impl Iterator<Item = PlacementId> {
        let empty = self.slabs.iter().flat_map(|slabs| slabs.empty_parents());
        empty.flat_map(|memory| memory.ranges().ids())
    }

    /// Returns the shape of the next slab of the class. O(1).
    pub(super) fn shape(&self, class: SizeClass) -> SlabShape {
        self.slabs.as_ref().map_or_else(|| SlabShape::of_first(class), |slabs| slabs.shape(class))
    }

    /// Frees a slot and returns its range. O(1).
    #[inline]
    pub(super) fn free(&mut self, id: SuballocationId) -> Result<HeapRange, PlacementError> {
        let slabs = self.slabs.as_mut().ok_or(SuballocError::StaleId { id })?;
        let range = slabs.free(id)?;
        self.slots_used += 1;
        Ok(range)
    }

    /// Returns the number of operations that the heaps should be told of now, if there were enough.
    #[inline]
    pub(super) fn take_operations(&mut self) -> Option<u64> {
        (self.slots_used >= SLOTS_PER_SUM)
            .then(|| u64::from(std::mem::take(&mut self.slots_used) / SLOTS_PER_OPERATION))
    }

    /// Removes a slab without used slots, if there are more of them than are kept, and returns its ranges.
    #[inline]
    pub(super) fn take_surplus(&mut self) -> Option<SlabRanges> {
        let memory = self.slabs.as_mut()?.take_surplus()?;
        Some(self.ranges_of_removed(memory))
    }

    /// Removes a slab without used slots, and returns its ranges.
    pub(super) fn take_empty(&mut self) -> Option<SlabRanges> {
        let memory = self.slabs.as_mut()?.take_empty()?;
        Some(self.ranges_of_removed(memory))
    }

    /// Returns the ranges of a slab that left the lane.
    fn ranges_of_removed(&mut self, memory: SlabMemory<H>) -> SlabRanges {
        let ranges = memory.into_ranges();
        self.further_ranges -= ranges.further();
        ranges
    }

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
        if let Some(slabs) = self.slabs_with(number, memory) {
            slabs.close(number);
        }
    }

    /// Reopens the slab with this memory, unless the lane released it. O(1).
    pub(crate) fn reopen_slab(&mut self, number: u32, memory: PlacementId) {
        if let Some(slabs) = self.slabs_with(number, memory) {
            slabs.reopen(number);
        }
    }

    /// Returns the slabs if the one with this number has this memory.
    fn slabs_with(&mut self, number: u32, memory: PlacementId) -> Option<&mut SlabTable<SlabMemory<H>>> {
        let slabs = self.slabs.as_deref_mut()?;
        slabs.parent(number)?.ranges().slot_of(memory)?;
        Some(slabs)
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

    /// Returns the totals of the slabs. A slab counts once per heap range.
    pub(super) fn slab_totals(&self) -> SlabTotals {
        let totals = self.slabs.as_ref().map(|slabs| slabs.totals()).unwrap_or_default();
        SlabTotals { slab_count: totals.slab_count + self.further_ranges, ..totals }
    }

    /// Checks the slabs themselves. O(slots).
    pub(super) fn audit(&self) -> Result<(), AuditError> {
        let Some(slabs) = &self.slabs else { return Ok(()) };
        slabs.audit().map_err(AuditError::new)?;
        let memory = (0..slabs.place_count()).filter_map(|number| slabs.parent(number));
        let counted: u64 = memory.map(|memory| memory.ranges().further()).sum();
        if counted != self.further_ranges {
            let noted = self.further_ranges;
            return Err(AuditError::new(format!("slabs have {counted} further ranges, recorded {noted}")));
        }
        Ok(())
    }
}

#[inline]
fn placed<H>(lane: u32, Suballocation { id, range }: Suballocation, heap: &H) -> Placed<&H> {
    Placed { id: PlacementId::of_slot(lane, id), range, heap }
}

/// Corrects the totals of a set for slabs: the suballocations in them count as used, not the slabs.
pub(super) fn correct(totals: &mut HeapSetTotals, slabs: SlabTotals) {
    let used = totals.used.get().saturating_sub(slabs.slab_bytes) + slabs.used;
    totals.used = ByteSize::new(used);
    totals.allocation_count =
        totals.allocation_count.saturating_sub(slabs.slab_count) + slabs.allocation_count;
}
