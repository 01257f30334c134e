//! Which heaps are worth emptying.

use crate::placement::HeapId;
use crate::placement::heap_set::{OccupiedHeap, SizeClass};
use crate::suballoc::slab::table::SlabOccupancy;

/// A heap of which more than 7/8 are live is nearly full.
const FULL_EIGHTHS: u128 = 7;

/// A heap, as far as is known from what was last seen of it.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    heap: OccupiedHeap,
    slabs: SlabOccupancy,
    /// Bytes that moved into it.
    arrived: u64,
    state: State,
}

const _: () = assert!(size_of::<Option<Candidate>>() == 64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// It was closed, or left the set.
    Taken,
    /// It could not be emptied. Room in it may be used.
    GivenUp,
}

impl Candidate {
    /// Bytes of its allocations and used slots.
    fn live(&self) -> u64 {
        let ranges = self.heap.used.get().saturating_sub(self.slabs.bytes);
        ranges.saturating_add(self.slabs.used_slot_bytes).saturating_add(self.arrived)
    }

    fn size(&self) -> u64 {
        self.heap.size.get()
    }

    /// Whether it may be worth emptying.
    fn is_thin(&self) -> bool {
        self.state == State::Open && u128::from(self.live()) * 8 <= u128::from(self.size()) * FULL_EIGHTHS
    }

    /// Whether fewer bytes have to move for each byte of the heap.
    fn is_thinner_than(&self, other: &Self) -> bool {
        u128::from(self.live()) * u128::from(other.size())
            < u128::from(other.live()) * u128::from(self.size())
    }
}

/// The heaps by slot.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    heaps: Vec<Option<Candidate>>,
    /// What a scan of the slabs has found, by the slot of the heap.
    scanned: Vec<SlabOccupancy>,
    /// The heap of a slot that was given up last. It is noted apart from the heaps: those are forgotten while they are closed.
    given_up: Vec<Option<HeapId>>,
    /// How many moves into a heap are neither completed nor abandoned, by its slot.
    in_flight: Vec<u32>,
}

/// The heap to empty next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thinnest {
    Heap(OccupiedHeap),
    /// There are some, and something is on its way into each of them.
    Later,
    None,
}

const NO_SLABS: SlabOccupancy = SlabOccupancy { used_slot_bytes: 0, bytes: 0 };

impl Candidates {
    /// Forgets what a scan found. Heaps that were given up remain so.
    pub(super) fn begin_scan(&mut self) {
        self.scanned.clear();
    }

    /// Counts a slab. O(1), amortised.
    pub(super) fn count_slab(&mut self, heap_slot: u32, slab: SlabOccupancy) {
        let at = heap_slot as usize;
        if at >= self.scanned.len() {
            self.scanned.resize(at + 1, NO_SLABS);
        }
        let heap = &mut self.scanned[at];
        heap.used_slot_bytes += slab.used_slot_bytes;
        heap.bytes += slab.bytes;
    }

    /// Notes what is in a slot of the table of heaps. O(1), amortised.
    pub(super) fn list(&mut self, slot: u32, heap: Option<OccupiedHeap>) {
        let at = slot as usize;
        if at >= self.heaps.len() {
            self.heaps.resize(at + 1, None);
        }
        let given_up = self.given_up.get(at).copied().flatten();
        self.heaps[at] = heap.map(|heap| {
            let is_given_up = given_up == Some(heap.id);
            let slabs = self.scanned.get(at).copied().unwrap_or(NO_SLABS);
            let state = if is_given_up { State::GivenUp } else { State::Open };
            Candidate { heap, slabs, arrived: 0, state }
        });
    }

    /// The heap that frees the most bytes for each byte to move, of a class or of any. O(heaps).
    ///
    /// What is on its way into a heap cannot move on yet. So the heap waits.
    pub(super) fn thinnest(&self, class: Option<SizeClass>) -> Thinnest {
        let mut thinnest: Option<&Candidate> = None;
        let mut any_later = false;
        for (slot, candidate) in self.heaps.iter().enumerate() {
            let Some(candidate) = candidate.as_ref().filter(|candidate| {
                candidate.is_thin() && class.is_none_or(|class| candidate.heap.class == class)
            }) else {
                continue;
            };
            if self.in_flight.get(slot).is_some_and(|&count| count > 0) {
                any_later = true;
            } else if thinnest.is_none_or(|thinnest| candidate.is_thinner_than(thinnest)) {
                thinnest = Some(candidate);
            }
        }
        match thinnest {
            Some(candidate) => Thinnest::Heap(candidate.heap),
            None if any_later => Thinnest::Later,
            None => Thinnest::None,
        }
    }

    /// Whether what lives in a heap may find room in the other open heaps of its class, and an eighth more than it has. O(heaps).
    pub(super) fn have_room_for(&self, heap: OccupiedHeap) -> bool {
        let others = self.heaps.iter().flatten().filter(|other| {
            other.state != State::Taken && other.heap.id != heap.id && other.heap.class == heap.class
        });
        let room: u128 = others.map(|other| u128::from(other.size().saturating_sub(other.live()))).sum();
        self.find(heap.id).is_some_and(|candidate| room * 8 >= u128::from(candidate.live()) * 9)
    }

    /// How many heaps may be worth emptying. O(heaps).
    pub(super) fn thin_count(&self) -> u64 {
        let thin = self.heaps.iter().flatten().filter(|candidate| candidate.is_thin());
        u64::try_from(thin.count()).unwrap_or(u64::MAX)
    }

    /// A move into a heap is planned. O(1), amortised.
    pub(super) fn expect(&mut self, slot: u32, bytes: u64) {
        let at = slot as usize;
        if at >= self.in_flight.len() {
            self.in_flight.resize(at + 1, 0);
        }
        self.in_flight[at] += 1;
        if let Some(candidate) = self.heaps.get_mut(slot as usize).and_then(Option::as_mut) {
            candidate.arrived = candidate.arrived.saturating_add(bytes);
        }
    }

    /// A move into a heap is completed or abandoned.
    pub(super) fn settle(&mut self, slot: u32) {
        if let Some(count) = self.in_flight.get_mut(slot as usize) {
            *count = count.saturating_sub(1);
        }
    }

    /// The heap is being emptied, or left the set.
    pub(super) fn take(&mut self, heap: HeapId) {
        self.set_state(heap, State::Taken);
    }

    /// The heap is not to be chosen again, in no round. O(1), amortised.
    pub(super) fn give_up(&mut self, heap: HeapId) {
        let at = heap.slot() as usize;
        if at >= self.given_up.len() {
            self.given_up.resize(at + 1, None);
        }
        self.given_up[at] = Some(heap);
        self.set_state(heap, State::GivenUp);
    }

    fn set_state(&mut self, heap: HeapId, state: State) {
        let candidate = self.heaps.get_mut(heap.slot() as usize).and_then(Option::as_mut);
        if let Some(candidate) = candidate.filter(|candidate| candidate.heap.id == heap) {
            candidate.state = state;
        }
    }

    fn find(&self, heap: HeapId) -> Option<&Candidate> {
        let candidate = self.heaps.get(heap.slot() as usize)?.as_ref();
        candidate.filter(|candidate| candidate.heap.id == heap)
    }
}
