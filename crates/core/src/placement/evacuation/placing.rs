//! The place to which the next allocation of a heap that is being emptied moves.

use std::ops::Deref;

use super::effects::PlannedMove;
use super::run::{Evacuation, Placing};
use super::unit::ClosedHeap;
use crate::placement::{Placed, SharedHeapSet};

impl<S, H> Evacuation<S, H>
where
    S: Deref<Target = SharedHeapSet<H>>,
    H: Clone,
{
    /// Plans the next move.
    pub(super) fn place(&mut self) -> Placing<H> {
        let Some((alignment, item)) = self.unit.next() else { return Placing::NothingLeft };
        let ClosedHeap { id: from, is_given_up, .. } = self.unit.heaps[item.heap];
        // `None` if it was freed.
        let source_range = match item.id.slot() {
            Some((lane, slot)) => self.set.lock_lane_of(lane).and_then(|lane| lane.get(slot)),
            None => self.set.lock_heaps().get(item.id).map(|(range, _)| range),
        };
        let mut heaps = self.set.lock_heaps();
        let source_range = source_range.filter(|_| !is_given_up && heaps.is_closed(from));
        let Some(source_range) = source_range else {
            self.unit.pop();
            return Placing::Skipped;
        };
        let size = source_range.size();
        let mut placed = heaps.allocate_in_occupied(size, alignment).map(Placed::cloned);
        if let (None, Some(heap)) = (&placed, self.unit.replacement) {
            placed = heaps.allocate_in_closed(heap, size, alignment).map(Placed::cloned);
        }
        drop(heaps);
        let Some(target) = placed else { return Placing::NoRoom };
        let (source, to) = (item.id, target.id.heap());
        self.candidates.expect(to, size.get());
        self.unit.pop();
        Placing::Planned(PlannedMove { source, source_range, target, from, to })
    }
}
