//! The place to which the next allocation of a heap that is being emptied moves.

use std::ops::Deref;

use super::effects::PlannedMove;
use super::run::{Evacuation, Placing};
use super::unit::Item;
use crate::placement::{HeapId, Placed, SharedHeapSet};
use crate::{Alignment, HeapRange};

impl<S, H> Evacuation<S, H>
where
    S: Deref<Target = SharedHeapSet<H>>,
    H: Clone,
{
    /// Plans the next move.
    pub(super) fn place(&mut self) -> Placing<H> {
        let Some((alignment, item)) = self.unit.next() else { return Placing::NothingLeft };
        let heap = &self.unit.heaps[item.heap];
        let from = heap.id;
        let placing = match self.range_of(item) {
            Some(range) if !heap.is_given_up && self.set.lock_heaps().is_closed(from) => {
                self.place_range(from, item, range, alignment)
            }
            _ => Placing::Skipped,
        };
        if !matches!(placing, Placing::NoRoom) {
            self.unit.pop();
        }
        placing
    }

    /// Returns the range of an allocation, or `None` if it was freed.
    fn range_of(&self, item: Item) -> Option<HeapRange> {
        match item.id.slot() {
            Some((lane, slot)) => self.set.lock_lane_of(lane)?.get(slot),
            None => Some(self.set.lock_heaps().get(item.id)?.0),
        }
    }

    fn place_range(
        &mut self,
        from: HeapId,
        item: Item,
        source_range: HeapRange,
        alignment: Alignment,
    ) -> Placing<H> {
        let size = source_range.size();
        let mut heaps = self.set.lock_heaps();
        let mut placed = heaps.allocate_in_occupied(size, alignment).map(Placed::cloned);
        if let (None, Some(heap)) = (&placed, self.unit.replacement) {
            placed = heaps.allocate_in_closed(heap, size, alignment).map(Placed::cloned);
        }
        drop(heaps);
        let Some(target) = placed else { return Placing::NoRoom };
        let (source, to) = (item.id, target.id.heap());
        self.candidates.expect(to, size.get());
        Placing::Planned(PlannedMove { source, source_range, target, from, to })
    }
}
