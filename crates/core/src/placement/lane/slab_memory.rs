//! The heap ranges of slabs, and the release of free slots to the heaps.

use super::super::PlacementId;
use super::super::heap_set::{HeapSet, SlabPlace};
use super::Lane;
use crate::ByteSize;
use crate::suballoc::slab::table::{CutSlots, MAX_SLOTS};

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
    /// Releases the free slots of slabs to the heaps, including those of slabs in use. Returns whether there
    /// were any. O(1) for each slab with free slots and each of its slots; not for those without.
    ///
    /// Allocations stay in place. Slabs in closed heaps are left alone.
    #[cold]
    pub(crate) fn give_up_free_slots(&mut self, heaps: &mut HeapSet<H>) -> bool {
        let any = self.give_up_empty(heaps);
        let with_free_slots = self.slabs.as_ref().map(|slabs| slabs.with_free_slots()).unwrap_or_default();
        with_free_slots
            .into_iter()
            .fold(any, |any, number| self.cut_free_slots(number, heaps).is_some() || any)
    }

    /// Releases the free slots of a slab with used slots to the heaps, unless its heap is closed. Returns `None` if there
    /// were none. O(slots).
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
    use crate::placement::{PlacementRequest, SharedHeapSet};
    use crate::{Alignment, ByteSize};

    /// The cost of a refusal, in slabs that are examined.
    #[test]
    fn a_refusal_examines_only_slabs_with_free_slots() {
        let set: SharedHeapSet<u32> = SharedHeapSet::default();
        set.insert(ByteSize::from_mib(4), 1).unwrap();
        let size = ByteSize::new(1000);
        let live: Vec<_> = std::iter::from_fn(|| {
            set.allocate_anywhere(&PlacementRequest::new(size, Alignment::ONE)).unwrap()
        })
        .collect();
        let examined = || {
            let lanes = (0..set.lane_limit()).filter_map(|number| set.lock_lane_of(number));
            lanes.filter_map(|lane| Some(lane.slabs.as_ref()?.with_free_slots().len())).sum::<usize>()
        };
        let lanes = (0..set.lane_limit()).filter_map(|number| set.lock_lane_of(number));
        let slabs: u32 = lanes.map(|lane| lane.slab_limit()).sum();
        assert!(live.len() > 3500 && slabs > 50, "{} slots of {slabs} slabs", live.len());
        assert_eq!(
            set.allocate_anywhere(&PlacementRequest::new(ByteSize::from_mib(1), Alignment::ONE)).unwrap(),
            None
        );
        assert_eq!(examined(), 0);
        set.free(live[1000].id).unwrap();
        assert_eq!(examined(), 1);
        assert_eq!(
            set.allocate_anywhere(&PlacementRequest::new(ByteSize::from_mib(1), Alignment::ONE)).unwrap(),
            None
        );
        assert_eq!(examined(), 0);
        set.audit().unwrap();
    }
}
