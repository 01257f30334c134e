//! A run of evacuation.

use std::ops::Deref;

use super::candidates::{Candidates, Thinnest};
use super::effects::{
    CompletedMove, EvacuationBudget, EvacuationProgress, EvacuationState, EvacuationStep, PlannedMove,
};
use super::unit::{ClosedHeap, Item, Unit, alignment_of};
use crate::ByteSize;
use crate::placement::heap_set::OccupiedHeap;
use crate::placement::{PlacementError, PlacementId, SharedHeapSet};

/// The result of placing the next item.
pub(super) enum Placing<H> {
    Planned(PlannedMove<H>),
    /// The item was freed meanwhile, or its heap was given up.
    Skipped,
    NoRoom,
    NothingLeft,
}

/// The number of entries of a lane or of the heaps that are read under one lock, and between two checks of
/// the time.
const CHUNK: u32 = 64;

/// The number of slabs whose free slots are returned under one lock. Each has up to 64 slots.
const SLABS: u32 = 8;

/// The maximum number of scans of all heaps in a run. It bounds the run while other threads keep freeing.
const ROUNDS: u32 = 8;

/// Empties heaps of a set that have few live bytes, in steps.
///
/// The unit is a heap, because only whole heaps can be released: the heap that frees the most bytes per byte
/// moved is first. Its live allocations move to free ranges of the other heaps in use, to which slabs first return
/// their free slots. If these have no room for the rest, other thin heaps join it, and the run asks for one new
/// heap of exactly the size of the rest of all of them, if that frees at least an eighth of the bytes to
/// move. Heaps with more than 7/8 live bytes are left alone. Empty heaps are released.
///
/// `S` dereferences to the set: a reference, or an `Arc`. Any thread may use the set meanwhile. Heaps that
/// are being emptied are *closed*: nothing is placed in them. Dropping the run, or [`cancel`](Self::cancel),
/// reopens them; planned moves stay valid, and are completed or abandoned by freeing the source or the
/// target. If memory is short, the owner may [reopen](SharedHeapSet::reopen_closed) them as well; the run then leaves
/// them alone. There should be one run at a time, and no open moves of an earlier run when it begins: the run
/// would treat the targets of such moves like any allocation, and plan moves of them.
///
/// # Use
///
/// 1. Call [`step`](Self::step) as often as time permits. Carry out the actions that it returns: moves, heaps
///    to release, a heap to [`supply`](Self::supply).
/// 2. [`complete`](Self::complete) a move once the content is copied and nothing uses the source, or
///    [`abandon`](Self::abandon) it.
/// 3. Stop when the state is [`Finished`](EvacuationState::Finished).
///
/// # Cost
///
/// A step is bounded by its budget and by `time_left`, which is called after every move, every 64 entries read, and
/// every 8 slabs. In between it does at most O(heaps), once for each heap that it begins to empty. Each allocation
/// moves at most once for each heap that it was in.
///
/// # Locking
///
/// As in [`SharedHeapSet`]: a lane, then the heaps; for one move, 64 entries or 8 slabs at a time. No lock is held
/// between calls.
///
/// ```
/// use heapwright_core::placement::{Evacuation, EvacuationBudget, EvacuationState, PlacementRequest, SharedHeapSet};
/// use heapwright_core::{Alignment, ByteSize};
///
/// let heaps: SharedHeapSet<u32> = SharedHeapSet::default();
/// let (size, one) = (ByteSize::from_kib(100), Alignment::ONE);
/// // Two heaps with a small part used each.
/// let low = heaps.allocate_in_new(ByteSize::from_mib(1), 1, &PlacementRequest::new(size, one))?;
/// heaps.allocate_in_new(ByteSize::from_mib(1), 2, &PlacementRequest::new(size, one))?;
///
/// let (mut run, mut heap_count) = (Evacuation::new(&heaps), 2);
/// loop {
///     let step = run.step(EvacuationBudget::default(), &mut || true);
///     for planned in step.moves {
///         // Here the content would be copied.
///         let completed = run.complete(&planned);
///         assert!(completed.is_moved);
///     }
///     if let Some(size) = step.create {
///         heap_count += 1;
///         run.supply(size, Some(heap_count))?;
///     }
///     if step.state == EvacuationState::Finished {
///         break;
///     }
/// }
/// assert_eq!(heaps.totals().heap_count, 1);
/// assert!(heaps.totals().reserved <= ByteSize::from_kib(256));
/// # Ok::<(), heapwright_core::placement::PlacementError>(())
/// ```
pub struct Evacuation<S, H>
where
    S: Deref<Target = SharedHeapSet<H>>,
    H: Clone,
{
    pub(super) set: S,
    phase: Phase,
    /// The number of heaps at or below which no heap is emptied or released.
    least_heaps: u64,
    /// Whether a heap is emptied only if the others have an eighth more room than its contents need.
    needs_slack: bool,
    round: u32,
    /// Whether a heap was closed in this round.
    has_closed: bool,
    pub(super) candidates: Candidates,
    pub(super) unit: Unit,
    /// Heaps whose moves are all planned, but which are not empty yet.
    pub(super) draining: Vec<ClosedHeap>,
    progress: EvacuationProgress,
}

/// The current phase, with its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Returns the free slots of slabs to their heaps, and empty heaps to the owner.
    Sweep {
        lane: u32,
        slab: u32,
    },
    /// Lists the heaps.
    List {
        slot: u32,
    },
    Choose,
    /// Waits: moves into all candidate heaps are in flight.
    Settle,
    /// Reads the content of the heap that was closed last.
    Gather {
        number: usize,
        then: Then,
    },
    Place,
    /// There is no room for the rest.
    Replace,
    /// A heap for the rest was requested.
    Await,
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Place,
    Replace,
}

impl<S, H> Evacuation<S, H>
where
    S: Deref<Target = SharedHeapSet<H>>,
    H: Clone,
{
    /// Creates a run over the heaps of a set. Does nothing before the first [`step`](Self::step). O(1).
    pub fn new(set: S) -> Self {
        Self {
            set,
            phase: Phase::Sweep { lane: 0, slab: 0 },
            least_heaps: 0,
            needs_slack: true,
            round: 1,
            has_closed: false,
            candidates: Candidates::default(),
            unit: Unit::new(),
            draining: Vec::new(),
            progress: EvacuationProgress::default(),
        }
    }

    /// Keeps at least `least` heaps in the set, if there are as many, empty or not. Heaps that the owner
    /// creates or takes meanwhile count.
    #[must_use]
    pub const fn keep_heaps(mut self, least: u64) -> Self {
        self.least_heaps = least;
        self
    }

    /// Empties heaps even if the free bytes of the others are exactly enough. By default they must be an eighth more,
    /// because free ranges may not fit, and moves are then made in vain. For sets whose owner supplies no heaps.
    #[must_use]
    pub const fn without_slack(mut self) -> Self {
        self.needs_slack = false;
        self
    }

    /// Returns the set whose heaps are emptied.
    pub fn set(&self) -> &SharedHeapSet<H> {
        &self.set
    }

    /// Returns the progress of the run.
    pub const fn progress(&self) -> &EvacuationProgress {
        &self.progress
    }

    /// Plans moves up to the budget, while `time_left` returns `true`.
    ///
    /// The [type](Self) documents the bounds. If there is no time from the start, the step only collects what
    /// is empty.
    pub fn step(
        &mut self,
        budget: EvacuationBudget,
        time_left: &mut dyn FnMut() -> bool,
    ) -> EvacuationStep<H> {
        let mut step = EvacuationStep {
            moves: Vec::new(),
            release: Vec::new(),
            create: None,
            state: EvacuationState::Planning,
        };
        self.collect(&mut step.release, time_left);
        self.count_freed();
        if self.phase == Phase::Settle {
            self.phase = Phase::Choose;
        }
        let (mut moves, mut bytes) = (u64::from(budget.moves), budget.bytes.get());
        while moves > 0 && time_left() {
            match self.phase {
                Phase::Sweep { lane, slab } => self.sweep(lane, slab, &mut step.release),
                Phase::List { slot } => self.list(slot),
                Phase::Choose => self.choose(),
                Phase::Gather { number, then } => self.gather(number, then),
                Phase::Place => {
                    let may_exceed = step.moves.is_empty() && budget.or_one_larger;
                    if self.unit.next().is_some_and(|(_, item)| item.bytes > bytes && !may_exceed) {
                        break;
                    }
                    match self.place() {
                        Placing::Planned(planned) => {
                            let size = planned.source_range.size();
                            moves -= 1;
                            bytes = bytes.saturating_sub(size.get());
                            step.moves.push(planned);
                        }
                        Placing::Skipped => {}
                        Placing::NothingLeft => self.finish_unit(),
                        Placing::NoRoom if self.unit.replacement.is_some() => self.give_up_waiting(),
                        Placing::NoRoom => self.phase = Phase::Replace,
                    }
                }
                Phase::Replace => step.create = self.replace(),
                Phase::Settle | Phase::Await | Phase::Done => break,
            }
        }
        self.count_freed();
        step.state = match self.phase {
            Phase::Await => EvacuationState::AwaitingHeap,
            Phase::Done if self.draining.is_empty() => EvacuationState::Finished,
            Phase::Settle | Phase::Done => EvacuationState::AwaitingMoves,
            _ => EvacuationState::Planning,
        };
        step
    }

    /// Supplies the heap of `size` bytes that a step requested, or `None` if it could not be created; the
    /// allocations that need it then stay where they are. A heap that was not requested joins the set. O(1);
    /// without a heap, O(slabs of the unit).
    ///
    /// # Errors
    ///
    /// Returns an error if the size cannot be managed, or there are too many heaps; the heap counts as
    /// refused.
    pub fn supply(&mut self, size: ByteSize, heap: Option<H>) -> Result<(), PlacementError> {
        let inserted = match heap {
            None => Ok(None),
            Some(heap) => self.set.lock_heaps().insert_closed(size, heap).map(Some),
        };
        if let Ok(Some(id)) = inserted {
            self.progress.bytes_created = self.progress.bytes_created.saturating_add(size);
            if self.phase == Phase::Await {
                self.unit.replacement = Some(id);
                self.phase = Phase::Place;
            } else {
                self.set.lock_heaps().reopen(id);
            }
        } else if self.phase == Phase::Await {
            self.give_up_waiting();
        }
        inserted.map(|_| ())
    }

    /// Completes a move by freeing its source. O(1).
    ///
    /// If the source was freed meanwhile, the target is freed as well. Neither is an error.
    pub fn complete(&mut self, planned: &PlannedMove<H>) -> CompletedMove<H> {
        self.candidates.settle(planned.to);
        match self.set.free(planned.source) {
            Ok(release) => {
                let size = planned.source_range.size();
                self.progress.moves += 1;
                self.progress.bytes_moved = self.progress.bytes_moved.saturating_add(size);
                CompletedMove { is_moved: true, release }
            }
            Err(_) => {
                let release = self.set.free(planned.target.id).unwrap_or_default();
                CompletedMove { is_moved: false, release }
            }
        }
    }

    /// Abandons a move: frees its target and gives up its source's heap, which is reopened and not chosen by
    /// this run again. Other moves out of that heap may still be completed. O(slabs of the heap). Returns
    /// heaps to release.
    #[must_use = "the heaps were removed from the set"]
    pub fn abandon(&mut self, planned: &PlannedMove<H>) -> Vec<H> {
        self.candidates.settle(planned.to);
        let mut release = self.set.free(planned.target.id).unwrap_or_default();
        release.extend(self.take_drained());
        if !self.set.lock_heaps().contains(planned.from) {
            // The heap became empty and left: there is nothing to reopen or to exclude.
            return release;
        }
        if let Some(at) = self.draining.iter().position(|heap| heap.id == planned.from) {
            let heap = self.draining.swap_remove(at);
            self.reopen(&heap);
        } else if let Some(at) =
            self.unit.heaps.iter().position(|heap| heap.id == planned.from && !heap.is_given_up)
        {
            self.unit.heaps[at].is_given_up = true;
            self.reopen(&self.unit.heaps[at]);
        }
        self.candidates.give_up(planned.from);
        release
    }

    /// Returns whether some slabs of a closed heap are not closed yet.
    #[cfg(all(test, not(loom)))]
    pub(super) fn is_gathering(&self) -> bool {
        matches!(self.phase, Phase::Gather { .. })
    }

    /// Ends the run: reopens all closed heaps, and plans nothing any more. Planned moves can still be
    /// completed and abandoned. O(slabs in these heaps). Dropping the run has the same effect.
    pub fn cancel(&mut self) {
        if let Some(replacement) = self.unit.replacement.take() {
            self.set.lock_heaps().reopen(replacement);
        }
        let mut heaps = self.unit.finish();
        heaps.retain(|heap| !heap.is_given_up);
        for heap in heaps.iter().chain(&self.draining) {
            self.reopen(heap);
        }
        self.draining.clear();
        self.phase = Phase::Done;
    }

    /// Removes closed slabs and closed heaps that became empty from the set.
    fn collect(&mut self, release: &mut Vec<H>, time_left: &mut dyn FnMut() -> bool) {
        if self.draining.is_empty() && self.unit.heaps.is_empty() {
            return;
        }
        for number in 0..self.set.lane_limit() {
            let Some(mut lane) = self.set.lock_lane_of(number) else { break };
            while let Some(slab) = lane.take_closed_empty() {
                slab.free(&mut self.set.lock_heaps());
                if !time_left() {
                    break;
                }
            }
        }
        release.extend(self.take_drained());
    }

    /// Removes closed empty heaps from the set.
    fn take_drained(&self) -> Vec<H> {
        let mut heaps = self.set.lock_heaps();
        std::iter::from_fn(|| heaps.take_drained()).collect()
    }

    /// Counts the heaps that left the set, and drops their records.
    fn count_freed(&mut self) {
        if self.draining.is_empty() {
            return;
        }
        let heaps = self.set.lock_heaps();
        let progress = &mut self.progress;
        let mut reopened = Vec::new();
        for heap in self.draining.extract_if(.., |heap| !heaps.is_closed(heap.id)) {
            if heaps.contains(heap.id) {
                reopened.push(heap);
            } else {
                progress.heaps_freed += 1;
                progress.bytes_freed = progress.bytes_freed.saturating_add(ByteSize::new(heap.size));
            }
        }
        drop(heaps);
        // Memory was short. Slabs that were closed after the heap was reopened are reopened as well.
        for heap in reopened {
            self.reopen(&heap);
            self.candidates.give_up(heap.id);
        }
    }

    fn sweep(&mut self, mut number: u32, slab: u32, release: &mut Vec<H>) {
        // Lanes without slabs take no call, so that it does not matter which lane a thread has.
        let mut lane = None;
        while lane.is_none() && number < self.set.lane_limit() {
            lane = self.set.lock_lane_of(number).filter(|lane| lane.slab_limit() > 0);
            number += u32::from(lane.is_none());
        }
        if let Some(mut lane) = lane {
            let mut heaps = self.set.lock_heaps();
            for _ in 0..CHUNK {
                let Some(slab) = lane.take_empty() else { break };
                slab.free(&mut heaps);
            }
            let end = slab.saturating_add(SLABS).min(lane.slab_limit());
            for slab in slab..end {
                let _cut = lane.cut_free_slots(slab, &mut heaps);
            }
            let is_last = end == lane.slab_limit();
            let (lane, slab) = if is_last { (number + 1, 0) } else { (number, end) };
            self.phase = Phase::Sweep { lane, slab };
            return;
        }
        let taken = {
            let mut heaps = self.set.lock_heaps();
            let may_take = heaps.totals().heap_count > self.least_heaps;
            if may_take { heaps.take_one_empty() } else { None }
        };
        match taken {
            Some((size, heap)) => {
                self.progress.heaps_freed += 1;
                self.progress.bytes_freed = self.progress.bytes_freed.saturating_add(size);
                release.push(heap);
            }
            None => self.phase = Phase::List { slot: 0 },
        }
    }

    fn list(&mut self, slot: u32) {
        let heaps = self.set.lock_heaps();
        let end = slot.saturating_add(CHUNK).min(heaps.slot_limit());
        for slot in slot..end {
            self.candidates.list(slot, heaps.shared_heap(slot));
        }
        self.phase = if end < heaps.slot_limit() { Phase::List { slot: end } } else { Phase::Choose };
    }

    /// Closes the heap that frees the most for the bytes to move, or ends the round.
    fn choose(&mut self) {
        let heap = match self.candidates.thinnest() {
            Thinnest::Heap(_) if self.has_least_heaps() => None,
            Thinnest::Heap(heap) => Some(heap),
            Thinnest::Later => {
                self.phase = Phase::Settle;
                return;
            }
            Thinnest::None => None,
        };
        let Some(heap) = heap else {
            // Heaps that were reopened must not be listed again.
            self.count_freed();
            self.phase = if self.has_closed && self.round < ROUNDS {
                (self.round, self.has_closed) = (self.round + 1, false);
                Phase::Sweep { lane: 0, slab: 0 }
            } else {
                Phase::Done
            };
            return;
        };
        let then =
            if self.candidates.have_room_for(heap, self.needs_slack) { Then::Place } else { Then::Replace };
        self.close(heap, then);
    }

    /// Returns whether no heap may be released in addition to those already being emptied.
    fn has_least_heaps(&self) -> bool {
        if self.least_heaps == 0 {
            return false;
        }
        let going = u64::try_from(self.draining.len() + self.unit.heaps.len()).unwrap_or(u64::MAX);
        let there_are = self.set.lock_heaps().totals().heap_count;
        there_are <= self.least_heaps.saturating_add(going)
    }

    /// Closes a heap, and reads its content next.
    fn close(&mut self, heap: OccupiedHeap, then: Then) {
        self.candidates.take(heap.id);
        if self.set.lock_heaps().close(heap.id) {
            self.has_closed = true;
            let (id, size) = (heap.id, heap.size.get());
            let closed = ClosedHeap { id, size, slabs: Vec::new(), waiting: 0, is_given_up: false };
            self.unit.heaps.push(closed);
            self.phase = Phase::Gather { number: 0, then };
        }
    }

    /// Closes the slabs of the heap that was closed last, and records its content.
    fn gather(&mut self, number: usize, then: Then) {
        let Some(at) = self.unit.heaps.len().checked_sub(1) else {
            self.phase = Phase::Choose;
            return;
        };
        let (id, is_given_up) = (self.unit.heaps[at].id, self.unit.heaps[at].is_given_up);
        let heaps = self.set.lock_heaps();
        let is_closed = !is_given_up && heaps.is_closed(id);
        let limit = heaps.range_number_limit(id).filter(|_| is_closed).unwrap_or(0);
        let end = number.saturating_add(CHUNK as usize).min(limit);
        let used: Vec<_> = (number..end).filter_map(|number| heaps.used_range(id, number)).collect();
        drop(heaps);
        for used in used {
            let Some(place) = used.slab else {
                let bytes = used.range.size().get();
                self.unit.push(alignment_of(used.range, bytes), Item { heap: at, id: used.id, bytes });
                continue;
            };
            let Some(mut lane) = self.set.lock_lane_of(place.lane) else { continue };
            lane.close_slab(place.number, used.id);
            let Some((class, live)) = lane.live_in(place.number, used.id) else { continue };
            self.unit.heaps[at].slabs.push((place, used.id));
            for slot in live {
                let id = PlacementId::of_slot(place.lane, slot.id);
                let alignment = alignment_of(slot.range, class.slot_size());
                let bytes = slot.range.size().align_up(alignment).map_or(class.slot_size(), ByteSize::get);
                self.unit.push(alignment, Item { heap: at, id, bytes });
            }
        }
        self.phase = match then {
            _ if end < limit => Phase::Gather { number: end, then },
            Then::Place => Phase::Place,
            Then::Replace => Phase::Replace,
        };
    }

    /// Adds another thin heap to the unit, requests a heap for the rest, or gives the unit up.
    fn replace(&mut self) -> Option<ByteSize> {
        let (granularity, growth_limit) = self.set.lock_heaps().granularity();
        let rest = self.unit.bytes;
        if rest == 0 {
            self.phase = Phase::Place;
            return None;
        }
        if rest < growth_limit.get() / 2 && !self.has_least_heaps() {
            if let Thinnest::Heap(heap) = self.candidates.thinnest() {
                self.close(heap, Then::Replace);
                return None;
            }
        }
        let size = ByteSize::new(rest).align_up(granularity);
        let waiting = self.unit.heaps.iter().filter(|heap| heap.waiting > 0 && !heap.is_given_up);
        let freed = waiting.fold(0_u64, |sum, heap| sum.saturating_add(heap.size));
        let gain = size.map_or(0, |size| freed.saturating_sub(size.get()));
        if gain < granularity.get().max(rest / 8) {
            self.give_up_waiting();
            return None;
        }
        self.phase = Phase::Await;
        size
    }

    /// Gives up the heaps for which moves are still to be planned.
    fn give_up_waiting(&mut self) {
        for at in 0..self.unit.heaps.len() {
            if self.unit.heaps[at].waiting > 0 && !self.unit.heaps[at].is_given_up {
                self.unit.heaps[at].is_given_up = true;
                self.candidates.give_up(self.unit.heaps[at].id);
                self.reopen(&self.unit.heaps[at]);
            }
        }
        self.finish_unit();
    }

    /// Ends planning for the unit, whose heaps become empty as their moves complete.
    fn finish_unit(&mut self) {
        if let Some(replacement) = self.unit.replacement.take() {
            self.set.lock_heaps().reopen(replacement);
        }
        let heaps = self.unit.finish();
        self.draining.extend(heaps.into_iter().filter(|heap| !heap.is_given_up));
        self.phase = Phase::Choose;
    }

    fn reopen(&self, heap: &ClosedHeap) {
        for &(place, memory) in &heap.slabs {
            if let Some(mut lane) = self.set.lock_lane_of(place.lane) {
                lane.reopen_slab(place.number, memory);
            }
        }
        self.set.lock_heaps().reopen(heap.id);
    }
}

impl<S, H> Drop for Evacuation<S, H>
where
    S: Deref<Target = SharedHeapSet<H>>,
    H: Clone,
{
    fn drop(&mut self) {
        self.cancel();
    }
}
