//! The place to which the next allocation of a heap that is being emptied moves.

use std::ops::Deref;

use super::effects::PlannedMove;
use super::run::Evacuation;
use super::unit::{Item, Kind};
use crate::Alignment;
use crate::placement::lane::NewSlabIn;
use crate::placement::{HeapId, PlacementId, SharedHeapSet, SharedPlaced, SharedPlacementId};
use crate::suballoc::SuballocationId;
use crate::suballoc::slab::class::SizeClass;

/// The result of placing the next item.
pub(super) enum Placing<H> {
    Planned(PlannedMove<H>),
    /// The item was freed meanwhile, or its heap was given up.
    Skipped,
    NoRoom,
    NothingLeft,
}

impl<S, H> Evacuation<S, H>
where
    S: Deref<Target = SharedHeapSet<H>>,
    H: Clone,
{
    /// Plans the next move.
    pub(super) fn place(&mut self) -> Placing<H> {
        let Some((kind, item, count)) = self.unit.next() else { return Placing::NothingLeft };
        let heap = &self.unit.heaps[item.heap];
        let from = heap.id;
        let placing = match kind {
            _ if heap.is_given_up || !self.set.lock_heaps().is_closed(from) => Placing::Skipped,
            Kind::Ranges(alignment) => self.place_range(from, item, alignment),
            Kind::Slots(class) => match item.id.slot() {
                Some((lane, id)) => self.place_slot(from, (lane, id), class, count),
                None => Placing::Skipped,
            },
        };
        if !matches!(placing, Placing::NoRoom) {
            self.unit.pop();
        }
        placing
    }

    fn place_range(&mut self, from: HeapId, item: Item, alignment: Alignment) -> Placing<H> {
        let mut heaps = self.set.lock_heaps();
        let Some((source_range, _)) = heaps.get(item.id) else { return Placing::Skipped };
        let size = source_range.size();
        let mut placed = heaps
            .allocate_in_occupied(size, alignment)
            .map(|placed| (placed.id, placed.range, placed.heap.clone()));
        if placed.is_none() {
            let replacement = self.unit.replacement;
            placed = replacement
                .and_then(|heap| heaps.allocate_in_closed(heap, size, alignment))
                .map(|placed| (placed.id, placed.range, placed.heap.clone()));
        }
        drop(heaps);
        let Some((id, range, heap)) = placed else { return Placing::NoRoom };
        self.candidates.expect(id.heap(), size.get());
        let target = SharedPlaced { id: SharedPlacementId(id), range, heap };
        Placing::Planned(PlannedMove {
            source: SharedPlacementId(item.id),
            source_range,
            target,
            from,
            to: id.heap(),
        })
    }

    fn place_slot(
        &mut self,
        from: HeapId,
        (source_lane, id): (u32, SuballocationId),
        class: SizeClass,
        count: u32,
    ) -> Placing<H> {
        let source = self.set.lock_lane_of(source_lane).and_then(|lane| Some(lane.get(id)?.0));
        let Some(source_range) = source else { return Placing::Skipped };
        let size = source_range.size();
        let lane = self.unit.lane.unwrap_or(source_lane);
        let others = (0..self.set.lane_limit()).filter(|&other| other != lane);
        let mut slot = std::iter::once(lane)
            .chain(others)
            .find_map(|number| Some((number, self.set.lock_lane_of(number)?.allocate_moved(class, size)?)));
        if slot.is_none() {
            let replacement = self.unit.replacement;
            let places = [
                (Some(NewSlabIn::Occupied), replacement.is_none()),
                (replacement.map(NewSlabIn::Closed), true),
                (replacement.map(|_| NewSlabIn::Occupied), true),
            ];
            slot = places.into_iter().find_map(|(place, halve)| {
                let mut lane_guard = self.set.lock_lane_of(lane)?;
                let mut heaps = self.set.lock_heaps();
                let request = (class, size);
                Some((
                    lane,
                    lane_guard.allocate_moved_in_new_slab(&mut heaps, place?, request, count, halve)?,
                ))
            });
        }
        let Some((lane, slot)) = slot else { return Placing::NoRoom };
        self.unit.lane = Some(lane);
        self.candidates.expect(slot.memory.heap(), class.slot_size());
        let id_of = |lane, id| SharedPlacementId(PlacementId::of_slot(lane, id));
        let target = SharedPlaced { id: id_of(lane, slot.id), range: slot.range, heap: slot.heap };
        Placing::Planned(PlannedMove {
            source: id_of(source_lane, id),
            source_range,
            target,
            from,
            to: slot.memory.heap(),
        })
    }
}
