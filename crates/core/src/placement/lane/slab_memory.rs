//! The heap ranges of slabs, and the release of their free slots to the heaps.

use super::super::PlacementId;
use super::super::heap_set::HeapSet;
use super::super::slab_notes::SlabPlace;
use super::Lane;
use crate::ByteSize;
use crate::suballoc::slab::table::{CutSlots, FreeRun, MAX_SLOTS, SlabTable};

/// The location of a slab's memory in the set, and the owner's handle of that heap.
#[derive(Clone)]
pub(super) struct SlabMemory<H> {
    ranges: SlabRanges,
    pub(super) heap: H,
}

/// The ranges of one heap in which a slab lies.
#[derive(Clone)]
pub(crate) enum SlabRanges {
    /// One range for all slots.
    Whole(PlacementId),
    /// The slots that remained when free slots were cut off, at least one, each with its own range.
    Slots(Vec<(u32, PlacementId)>),
}

impl SlabRanges {
    /// Iterates over the ids of the ranges.
    pub(crate) fn ids(&self) -> impl Iterator<Item = PlacementId> {
        let (whole, slots) = match self {
            Self::Whole(id) => (Some(*id), [].as_slice()),
            Self::Slots(slots) => (None, slots.as_slice()),
        };
        whole.into_iter().chain(slots.iter().map(|&(_, id)| id))
    }

    /// Frees the ranges.
    pub(crate) fn free<H>(&self, heaps: &mut HeapSet<H>) {
        self.ids().for_each(|id| heaps.give_back(id));
    }

    /// Returns the number of ranges beyond the first.
    pub(super) fn further(&self) -> u64 {
        match self {
            Self::Whole(_) => 0,
            Self::Slots(slots) => ByteSize::from_usize(slots.len()).get().saturating_sub(1),
        }
    }

    /// Returns the slot with this range, `Some(None)` for the range of all slots, or `None` if the range is
    /// not of this slab.
    pub(super) fn slot_of(&self, range: PlacementId) -> Option<Option<u32>> {
        match self {
            Self::Whole(id) => (*id == range).then_some(None),
            Self::Slots(slots) => slots.iter().find(|(_, id)| *id == range).map(|&(slot, _)| Some(slot)),
        }
    }
}

impl<H> SlabMemory<H> {
    pub(super) fn new(id: PlacementId, heap: H) -> Self {
        Self { ranges: SlabRanges::Whole(id), heap }
    }

    pub(super) fn ranges(&self) -> &SlabRanges {
        &self.ranges
    }

    pub(super) fn into_ranges(self) -> SlabRanges {
        self.ranges
    }

    /// Returns the id of the first range.
    pub(super) fn first_id(&self) -> PlacementId {
        match &self.ranges {
            SlabRanges::Whole(id) => *id,
            SlabRanges::Slots(slots) => slots[0].1,
        }
    }

    /// Frees the ranges of the slots that were cut off.
    fn cut(&mut self, heaps: &mut HeapSet<H>, place: SlabPlace, slots: CutSlots) {
        let ranges = match &mut self.ranges {
            SlabRanges::Whole(id) => divided(*id, heaps, slots),
            SlabRanges::Slots(ranges) => std::mem::take(ranges),
        };
        let mut kept = Vec::new();
        for (slot, id) in ranges {
            if slots.keeps(slot) {
                heaps.note_slab(id, place);
                kept.push((slot, id));
            } else {
                heaps.give_back(id);
            }
        }
        self.ranges = SlabRanges::Slots(kept);
    }
}

/// Divides the range of a whole slab into ranges of its slots.
fn divided<H>(whole: PlacementId, heaps: &mut HeapSet<H>, slots: CutSlots) -> Vec<(u32, PlacementId)> {
    let mut ranges = Vec::new();
    for slot in slots.highest_first() {
        let start = ByteSize::new(slots.slot_size.get() * u64::from(slot));
        let range = if slot == 0 { Some(whole) } else { heaps.divide(whole, start) };
        debug_assert!(range.is_some(), "the heap has enough range numbers");
        ranges.extend(range.map(|range| (slot, range)));
    }
    ranges
}

impl<H: Clone> Lane<H> {
    /// Releases to the heaps the slots that became free in slabs of which some were cut off before. Returns whether
    /// there were any. O(1) for each slab with free slots, and for each such slot.
    #[cold]
    pub(crate) fn give_up_slots_of_cut(&mut self, heaps: &mut HeapSet<H>) -> bool {
        let is_cut = |slabs: &SlabTable<SlabMemory<H>>, number: u32| {
            slabs.parent(number).is_some_and(|memory| matches!(memory.ranges, SlabRanges::Slots(_)))
        };
        let mut numbers = self.with_free_slots();
        numbers.retain(|&number| self.slabs.as_ref().is_some_and(|slabs| is_cut(slabs, number)));
        numbers.into_iter().filter(|&number| self.cut_free_slots(number, heaps).is_some()).count() > 0
    }

    /// Returns the slabs with a free slot, except closed ones. O(n) for n of them.
    pub(crate) fn with_free_slots(&self) -> Vec<u32> {
        self.slabs.as_ref().map(|slabs| slabs.with_free_slots()).unwrap_or_default()
    }

    /// Returns the bytes of the largest slab that has a free slot, at most. O(classes).
    pub(crate) fn largest_with_free_slots(&self) -> u64 {
        self.slabs.as_ref().map_or(0, |slabs| slabs.largest_with_free_slots())
    }

    /// Returns the range of a slab of which no slots were cut off, and the runs of its free slots. O(1), and O(runs).
    pub(crate) fn free_runs(&self, number: u32) -> Option<(PlacementId, impl Iterator<Item = FreeRun>)> {
        let slabs = self.slabs.as_ref()?;
        match slabs.parent(number)?.ranges {
            SlabRanges::Whole(id) => Some((id, slabs.free_runs(number))),
            SlabRanges::Slots(_) => None,
        }
    }

    /// Releases the free slots of a slab with used slots to the heaps, unless its heap is closed. Returns `None` if
    /// there were none. O(slots).
    pub(crate) fn cut_free_slots(&mut self, number: u32, heaps: &mut HeapSet<H>) -> Option<()> {
        let slabs = self.slabs.as_mut()?;
        slabs.parent(number).filter(|memory| heaps.may_divide(memory.first_id(), MAX_SLOTS))?;
        let slots = slabs.cut_free_slots(number)?;
        let memory = slabs.parent_mut(number)?;
        let before = memory.ranges.further();
        memory.cut(heaps, SlabPlace { lane: self.number, number }, slots);
        self.further_ranges = self.further_ranges - before + memory.ranges.further();
        Some(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::SlabRanges;
    use crate::placement::{Placed, PlacementRequest, SharedHeapSet};
    use crate::suballoc::FreeRangeChoice;
    use crate::{Alignment, ByteSize};

    fn request(bytes: u64) -> PlacementRequest {
        PlacementRequest::new(ByteSize::new(bytes), Alignment::ONE)
    }

    /// Returns a heap of 4 MiB that is full of buffers of 1,000 B.
    fn full() -> (SharedHeapSet<u32>, Vec<Placed<u32>>) {
        let set: SharedHeapSet<u32> = SharedHeapSet::default();
        set.insert(ByteSize::from_mib(4), 1).unwrap();
        let live: Vec<_> = std::iter::from_fn(|| set.allocate_anywhere(&request(1000)).unwrap()).collect();
        assert!(live.len() > 3500, "{} slots", live.len());
        (set, live)
    }

    /// Returns the number of slabs of which slots were cut off, and of those with free slots.
    fn slabs(set: &SharedHeapSet<u32>) -> (usize, usize) {
        let (mut cut, mut with_free_slots) = (0, 0);
        for lane in (0..set.lane_limit()).filter_map(|number| set.lock_lane_of(number)) {
            let slabs =
                lane.slabs.iter().flat_map(|slabs| (0..slabs.place_count()).map(|slab| slabs.parent(slab)));
            cut += slabs.flatten().filter(|memory| matches!(memory.ranges, SlabRanges::Slots(_))).count();
            with_free_slots += lane.with_free_slots().len();
        }
        (cut, with_free_slots)
    }

    /// The cost of a request, in slabs that are divided.
    #[test]
    fn a_request_divides_the_slabs_that_make_room_for_it_and_no_others() {
        let (set, mut live) = full();
        let cut = slabs(&set).0;
        // A quarter stays, so no two of eight neighbours are free together.
        let (kept, freed): (Vec<_>, Vec<_>) =
            live.drain(..).partition(|one| (one.range.start().get() / 1024) % 4 == 0);
        freed.iter().for_each(|one| drop(set.free(one.id).unwrap()));
        let before = slabs(&set);
        assert!(before.1 > 50, "{before:?}");
        for bytes in [4 << 20, 1 << 20, 20_000] {
            assert_eq!(set.allocate_anywhere(&request(bytes)).unwrap(), None, "{bytes} B");
        }
        assert_eq!(slabs(&set).0, cut, "nothing fits, so nothing is divided");
        set.audit().unwrap();
        // The rest of two neighbours makes room.
        let mut kept = kept;
        kept.sort_unstable_by_key(|one| one.range.start());
        let middle = kept.len() / 2;
        for one in kept.drain(middle..middle + 20) {
            set.free(one.id).unwrap();
        }
        let placed = set.allocate_anywhere(&request(20_000)).unwrap().expect("80 slots are free");
        let after = slabs(&set);
        assert!(after.0 <= cut + 2, "{} slabs were divided", after.0 - cut);
        set.audit().unwrap();
        set.free(placed.id).unwrap();
        kept.iter().for_each(|one| drop(set.free(one.id).unwrap()));
        set.audit().unwrap();
        assert_eq!(set.totals().allocation_count, 0);
    }

    /// Slots that become free in slabs that were divided are given back, whatever the request is.
    #[test]
    fn what_is_freed_in_divided_slabs_is_free_for_all() {
        let (set, live) = full();
        live.iter().skip(1000).step_by(2).for_each(|one| drop(set.free(one.id).unwrap()));
        let small: Vec<_> = std::iter::from_fn(|| set.allocate_anywhere(&request(900)).unwrap()).collect();
        live.iter().skip(1001).step_by(2).for_each(|one| drop(set.free(one.id).unwrap()));
        small.iter().for_each(|one| drop(set.free(one.id).unwrap()));
        let large = set.allocate_anywhere(&request(2 << 20)).unwrap();
        assert!(large.is_some());
        set.audit().unwrap();
    }

    #[test]
    fn slabs_of_a_heap_that_is_being_emptied_stay_whole_and_only_their_memory_names_them() {
        let set: SharedHeapSet<u32> = SharedHeapSet::default();
        set.allocate_in_new(ByteSize::from_mib(4), 1, &request(1000)).unwrap();
        let other = set.allocate(&request(1 << 20)).unwrap().unwrap().id;
        let lanes = (0..set.lane_limit()).filter_map(|number| set.lock_lane_of(number));
        let mut lane = lanes.into_iter().find(|lane| lane.slab_limit() > 0).unwrap();
        lane.close_slab(0, other);
        assert_eq!(lane.with_free_slots(), [0], "its memory is elsewhere");
        let heap = set.lock_heaps().shared_heap(0).unwrap();
        assert!(set.lock_heaps().close(heap.id));
        assert_eq!(lane.cut_free_slots(0, &mut set.lock_heaps()), None);
    }

    /// A heap of eight slots, 8 KiB that are free, eight slots, eight slots, and 40 KiB; the slots of these numbers are
    /// then freed.
    fn fits_with_free(slots: impl IntoIterator<Item = usize>, bytes: u64) -> bool {
        let set: SharedHeapSet<u32> = SharedHeapSet::default();
        set.insert(ByteSize::from_kib(72), 1).unwrap();
        let put = |bytes| set.allocate(&request(bytes)).unwrap().unwrap();
        let mut all: Vec<_> = (0..8).map(|_| put(1000)).collect();
        let free =
            set.allocate(&PlacementRequest { strategy: FreeRangeChoice::MinOffset, ..request(8 << 10) });
        all.extend((0..16).map(|_| put(1000)));
        put(40 << 10);
        assert!(all.is_sorted_by_key(|placed| placed.range.start()));
        set.free(free.unwrap().unwrap().id).unwrap();
        slots.into_iter().for_each(|slot| drop(set.free(all[slot].id).unwrap()));
        let placed = set.allocate_anywhere(&request(bytes)).unwrap();
        set.audit().unwrap();
        placed.is_some()
    }

    #[test]
    fn free_slots_join_what_is_free_beside_them() {
        // 8 KiB with the end of the slab below, the begin of the slab above, and both.
        assert!(fits_with_free(5..8, 11 << 10) && !fits_with_free(4..7, 11 << 10));
        assert!(fits_with_free(8..11, 11 << 10) && !fits_with_free(9..12, 11 << 10));
        assert!(fits_with_free(6..10, 12 << 10) && !fits_with_free(6..10, (12 << 10) + 1));
        // Two slabs beside each other, in either order.
        assert!(fits_with_free(11..21, 10 << 10) && fits_with_free((11..21).rev(), 10 << 10));
    }
}
