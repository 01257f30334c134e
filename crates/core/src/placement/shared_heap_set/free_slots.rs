//! The last resort of a request: free slots of slabs that are in use.

use super::SharedHeapSet;
use crate::placement::heap_set::{Beside, Effort, HeapSet};
use crate::placement::lane::Lane;
use crate::placement::slab_notes::SlabPlace;
use crate::placement::{Placed, PlacementError, PlacementId, PlacementRequest};
use crate::suballoc::slab::table::{MAX_BYTES, MAX_SLOTS};
use crate::sync::{MutexGuard, lock};
use crate::{Alignment, ByteSize};

/// Slabs whose free slots make room for a request, together with the free ranges beside them.
struct Found {
    /// The range of the first one.
    beside: PlacementId,
    slabs: [Option<SlabPlace>; 3],
}

impl<H: Clone> SharedHeapSet<H> {
    /// Places a request after free slots of slabs were released to the heaps: those of unused slabs and of slabs that
    /// were divided before, and then of those slabs alone that make room for it. O(n) for n slabs with free slots, and
    /// O(1) for requests that are much larger than these slabs and all free ranges. Allocations stay where they are,
    /// and closed heaps are left alone.
    ///
    /// # Locking
    ///
    /// Locks all lanes in the order of their numbers, then the heaps.
    #[cold]
    pub(super) fn allocate_in_free_slots(
        &self,
        request: &PlacementRequest,
    ) -> Result<Option<Placed<H>>, PlacementError> {
        let PlacementRequest { size, alignment, .. } = *request;
        let mut lanes: Vec<_> = self.used_lanes().map(|lane| lock(&lane.0)).collect();
        let mut heaps = self.lock_heaps();
        let mut is_changed = false;
        for lane in &mut lanes {
            is_changed |= lane.give_up_empty(&mut heaps);
        }
        let mut may_help = may_make_room(&lanes, &heaps, size);
        if may_help {
            for lane in &mut lanes {
                is_changed |= lane.give_up_slots_of_cut(&mut heaps);
            }
        }
        if is_changed {
            if let Some(placed) = heaps.find_and_place(request, Effort::Exhaustive)? {
                return Ok(Some(placed.cloned()));
            }
            may_help = may_make_room(&lanes, &heaps, size);
        }
        let found = if may_help { find(&lanes, &heaps, size, alignment) } else { None };
        let Some(Found { beside, slabs }) = found else { return Ok(None) };
        for SlabPlace { lane, number } in slabs.into_iter().flatten() {
            lanes[lane as usize].cut_free_slots(number, &mut heaps);
        }
        let found = heaps.find_anywhere_in(beside.heap(), request);
        Ok(found.and_then(|found| heaps.place(found, request)).map(Placed::cloned))
    }
}

/// Returns whether free slots may be part of a free range of `size` bytes. Each slab has a used slot, which bounds the
/// range; so those at both ends are part of it, and what is between them is free already.
fn may_make_room<H: Clone>(lanes: &[MutexGuard<'_, Lane<H>>], heaps: &HeapSet<H>, size: ByteSize) -> bool {
    let suffices = |slab| size <= heaps.largest_free_at_most().saturating_add(ByteSize::new(2 * slab));
    if !suffices(MAX_BYTES) {
        return false;
    }
    let slab = lanes.iter().map(|lane| lane.largest_with_free_slots()).max().unwrap_or(0);
    slab > 0 && suffices(slab)
}

/// Finds slabs of which none was divided, at most three that follow one another, whose free slots make room for a
/// request.
fn find<H: Clone>(
    lanes: &[MutexGuard<'_, Lane<H>>],
    heaps: &HeapSet<H>,
    size: ByteSize,
    alignment: Alignment,
) -> Option<Found> {
    for (lane, slabs) in (0..).zip(lanes) {
        for number in slabs.with_free_slots() {
            let Some((range, runs)) = slabs.free_runs(number) else { continue };
            for run in runs {
                let (mut start, mut end) = (run.start, run.end);
                let mut found =
                    Found { beside: range, slabs: [Some(SlabPlace { lane, number }), None, None] };
                let beside = if run.begins_slab || run.ends_slab { heaps.beside(range) } else { None };
                if let Some([below, above]) = beside {
                    if run.begins_slab {
                        let (bytes, slab) = room_beside(lanes, &below, false);
                        start -= bytes;
                        found.slabs[1] = slab;
                    }
                    if run.ends_slab {
                        let (bytes, slab) = room_beside(lanes, &above, true);
                        end += bytes;
                        found.slabs[2] = slab;
                    }
                }
                let fits = start
                    .checked_next_multiple_of(alignment.get())
                    .and_then(|start| start.checked_add(size.get()))
                    .is_some_and(|needed| needed <= end);
                if fits && heaps.may_divide(range, 3 * MAX_SLOTS) {
                    return Some(found);
                }
            }
        }
    }
    None
}

/// Returns the bytes of the free range beside a slab and of the free slots of the slab beyond it that are next to them,
/// and that slab if it has such slots.
fn room_beside<H: Clone>(
    lanes: &[MutexGuard<'_, Lane<H>>],
    beside: &Beside,
    is_above: bool,
) -> (u64, Option<SlabPlace>) {
    let free = beside.free.get();
    let next = || {
        let (place, range) = beside.slab?;
        let (whole, mut runs) = lanes.get(place.lane as usize)?.free_runs(place.number)?;
        let run = runs.find(|run| if is_above { run.begins_slab } else { run.ends_slab })?;
        (whole == range).then_some((run.end - run.start, place))
    };
    next().map_or((free, None), |(slots, place)| (free + slots, Some(place)))
}
