//! Used ranges of heaps: allocations, or slabs of a lane.

use super::{Closing, HeapId, HeapSet, PlacementId, Slot};
use crate::placement::slab_notes::SlabPlace;
use crate::suballoc::RangeUse;
use crate::{ByteSize, HeapRange};

/// A used range of a heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UsedRange {
    pub(crate) id: PlacementId,
    pub(crate) range: HeapRange,
    /// The slab in this range, if it is one. The lane may have released it already.
    pub(crate) slab: Option<SlabPlace>,
}

/// A heap with all its ranges.
pub(crate) struct HeapRanges<H> {
    pub(crate) payload: H,
    pub(crate) size: ByteSize,
    pub(crate) is_closed: bool,
    /// The used ranges in address order.
    pub(crate) used: Vec<UsedRange>,
}

/// What is beside a range of a heap on one side.
pub(crate) struct Beside {
    /// The bytes of the free range directly beside it.
    pub(crate) free: ByteSize,
    /// The slab beyond that, and its range.
    pub(crate) slab: Option<(SlabPlace, PlacementId)>,
}

impl<H> HeapSet<H> {
    /// Records that a live range is a slab. Amortized O(1).
    pub(crate) fn note_slab(&mut self, id: PlacementId, place: SlabPlace) {
        let Some(heap) = self.table.get_mut(id.heap()) else { return };
        if let Some(tlsf) = heap.ranges.as_tlsf() {
            heap.slabs.note(tlsf.number_of(id.suballocation()), id.suballocation().stamp(), place);
        }
    }

    /// Returns whether a live range may be [divided](Self::divide) into so many: its heap must be open, and
    /// have room for the ranges. O(1).
    pub(crate) fn may_divide(&self, id: PlacementId, parts: u32) -> bool {
        let heap = self.table.get(id.heap());
        heap.is_some_and(|heap| {
            let has_numbers = heap.ranges.as_tlsf().is_some_and(|tlsf| tlsf.has_numbers_for(parts));
            has_numbers && heap.closing == Closing::Open
        })
    }

    /// Divides a live range: it keeps its first `size` bytes, and the rest becomes a new range, which is
    /// returned. O(1).
    pub(crate) fn divide(&mut self, id: PlacementId, size: ByteSize) -> Option<PlacementId> {
        let heap = self.table.get_mut(id.heap())?;
        let rest = heap.ranges.as_tlsf_mut()?.divide(id.suballocation(), size).ok()?;
        self.totals.allocation_count += 1;
        Some(PlacementId::new(id.heap(), rest.id))
    }

    /// Iterates over the owner's handles of the empty heaps. O(n) for n empty heaps.
    pub(crate) fn empty_heaps(&self) -> impl Iterator<Item = &H> {
        let is_empty = |slot: &Slot| self.table.heap(*slot).ranges.is_empty();
        let closed = self.closed_slots().into_iter().filter(is_empty);
        self.empty.slots(&self.table).into_iter().chain(closed).map(|slot| &self.table.heap(slot).payload)
    }

    /// Returns a number greater than all heap slots. O(1).
    pub(crate) fn slot_limit(&self) -> Slot {
        Slot::try_from(self.table.entries.len()).unwrap_or(Slot::MAX)
    }

    /// Returns the used range with this number in a heap, if there is one. O(1).
    ///
    /// A walk over the numbers finds every range that is live during the whole walk, whatever is freed
    /// meanwhile.
    pub(crate) fn used_range(&self, heap: HeapId, number: usize) -> Option<UsedRange> {
        let tlsf = self.table.find(heap)?.ranges.as_tlsf()?;
        let used = tlsf.at_number(number)?;
        let id = PlacementId::new(heap.slot, used.id);
        Some(UsedRange { id, range: used.range, slab: self.slab_place(id) })
    }

    /// Returns a number greater than the numbers of all ranges in a heap, or `None` if the heap left the set.
    /// O(1).
    pub(crate) fn range_number_limit(&self, heap: HeapId) -> Option<usize> {
        Some(self.table.find(heap)?.ranges.as_tlsf()?.number_limit())
    }

    /// Returns the heap in a slot with its ranges, if the default algorithm divides it. O(ranges).
    pub(crate) fn ranges_of(&self, slot: Slot) -> Option<HeapRanges<&H>> {
        let heap = self.table.get(slot)?;
        let tlsf = heap.ranges.as_tlsf()?;
        let used = tlsf.ranges().filter_map(|range_use| {
            let RangeUse::Used(used) = range_use else { return None };
            let id = PlacementId::new(slot, used.id);
            Some(UsedRange { id, range: used.range, slab: self.slab_place(id) })
        });
        Some(HeapRanges {
            payload: &heap.payload,
            size: tlsf.capacity(),
            is_closed: heap.closing != Closing::Open,
            used: used.collect(),
        })
    }

    /// Returns what is below a live range and above it, with slabs beyond free ranges. O(1).
    pub(crate) fn beside(&self, id: PlacementId) -> Option<[Beside; 2]> {
        let heap = self.table.get(id.heap())?;
        let beside = heap.ranges.as_tlsf()?.beside(id.suballocation())?;
        Some(beside.map(|(free, used)| {
            let used = used.map(|used| PlacementId::new(id.heap(), used.id));
            Beside { free, slab: used.and_then(|used| Some((self.slab_place(used)?, used))) }
        }))
    }

    /// Returns the range of a live id that is directly in a heap, and the owner's handle of the heap. O(1).
    pub(crate) fn get(&self, id: PlacementId) -> Option<(HeapRange, &H)> {
        let heap = self.table.get(id.heap())?;
        Some((heap.ranges.as_tlsf()?.range_of(id.suballocation()).ok()?, &heap.payload))
    }

    fn slab_place(&self, id: PlacementId) -> Option<SlabPlace> {
        let heap = self.table.get(id.heap())?;
        let number = heap.ranges.as_tlsf()?.number_of(id.suballocation());
        heap.slabs.get(number, id.suballocation().stamp())
    }
}
