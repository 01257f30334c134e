//! Candidates: heaps that are worth emptying.

use crate::placement::HeapId;
use crate::placement::heap_set::OccupiedHeap;

/// A heap with more than 7/8 live bytes is nearly full.
const FULL_EIGHTHS: u128 = 7;

/// A heap, with its usage when it was last examined.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    heap: OccupiedHeap,
    /// The number of bytes that moved into it.
    arrived: u64,
    state: State,
}

const _: () = assert!(size_of::<Option<Candidate>>() <= 40);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// The heap was closed, or left the set.
    Taken,
    /// The heap could not be emptied. Its free ranges may be used.
    GivenUp,
}

impl Candidate {
    /// Returns the bytes of its allocations and slabs.
    fn live(&self) -> u64 {
        self.heap.used.get().saturating_add(self.arrived)
    }

    fn size(&self) -> u64 {
        self.heap.size.get()
    }

    /// Returns whether the heap may be worth emptying.
    fn is_thin(&self) -> bool {
        self.state == State::Open && u128::from(self.live()) * 8 <= u128::from(self.size()) * FULL_EIGHTHS
    }

    /// Returns whether fewer bytes have to move per byte of the heap than for `other`.
    fn is_thinner_than(&self, other: &Self) -> bool {
        u128::from(self.live()) * u128::from(other.size())
            < u128::from(other.live()) * u128::from(self.size())
    }
}

/// The candidates, by heap slot.
#[derive(Default)]
pub(super) struct Candidates {
    heaps: Vec<Option<Candidate>>,
    /// The heap of each slot that was given up last. It is recorded apart from `heaps`, which drops heaps
    /// while they are closed.
    given_up: Vec<Option<HeapId>>,
    /// The number of moves into each heap that are neither completed nor abandoned, by slot.
    in_flight: Vec<u32>,
}

/// The heap to empty next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thinnest {
    Heap(OccupiedHeap),
    /// There are candidates, but moves into each of them are in flight.
    Later,
    None,
}

impl Candidates {
    /// Records the heap in a slot of the table of heaps. Amortized O(1).
    #[inline]
    pub(super) fn list(&mut self, slot: u32, heap: Option<OccupiedHeap>) {
        let at = slot as usize;
        if at >= self.heaps.len() {
            self.heaps.resize(at + 1, None);
        }
        let given_up = self.given_up.get(at).copied().flatten();
        self.heaps[at] = heap.map(|heap| {
            let is_given_up = given_up == Some(heap.id);
            let state = if is_given_up { State::GivenUp } else { State::Open };
            Candidate { heap, arrived: 0, state }
        });
    }

    /// Returns the heap that frees the most bytes per byte to move. O(heaps).
    ///
    /// Allocations whose move into a heap is in flight cannot move again yet, so such a heap is not chosen.
    #[inline]
    pub(super) fn thinnest(&self) -> Thinnest {
        let mut thinnest: Option<&Candidate> = None;
        let mut any_later = false;
        for (slot, candidate) in self.heaps.iter().enumerate() {
            let Some(candidate) = candidate.as_ref().filter(|candidate| candidate.is_thin()) else {
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

    /// Returns whether the free bytes of the other open heaps are at least the heap's live bytes, with slack 9/8 of
    /// them. O(heaps).
    #[inline]
    pub(super) fn have_room_for(&self, heap: OccupiedHeap, with_slack: bool) -> bool {
        let others = self
            .heaps
            .iter()
            .flatten()
            .filter(|other| other.state != State::Taken && other.heap.id != heap.id);
        let room: u128 = others.map(|other| u128::from(other.size().saturating_sub(other.live()))).sum();
        let eighths = if with_slack { 9 } else { 8 };
        self.find(heap.id).is_some_and(|candidate| room * 8 >= u128::from(candidate.live()) * eighths)
    }

    /// Records that a move into a heap is planned. Amortized O(1).
    #[inline]
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

    /// Records that a move into a heap is completed or abandoned.
    #[inline]
    pub(super) fn settle(&mut self, slot: u32) {
        if let Some(count) = self.in_flight.get_mut(slot as usize) {
            *count = count.saturating_sub(1);
        }
    }

    /// Records that the heap is being emptied, or left the set.
    #[inline]
    pub(super) fn take(&mut self, heap: HeapId) {
        self.set_state(heap, State::Taken);
    }

    /// Excludes the heap from being chosen again, in any round. Amortized O(1).
    #[inline]
    pub(super) fn give_up(&mut self, heap: HeapId) {
        let at = heap.slot() as usize;
        if at >= self.given_up.len() {
            self.given_up.resize(at + 1, None);
        }
        self.given_up[at] = Some(heap);
        self.set_state(heap, State::GivenUp);
    }

    #[inline]
    fn set_state(&mut self, heap: HeapId, state: State) {
        let candidate = self.heaps.get_mut(heap.slot() as usize).and_then(Option::as_mut);
        if let Some(candidate) = candidate.filter(|candidate| candidate.heap.id == heap) {
            candidate.state = state;
        }
    }

    #[inline]
    fn find(&self, heap: HeapId) -> Option<&Candidate> {
        let candidate = self.heaps.get(heap.slot() as usize)?.as_ref();
        candidate.filter(|candidate| candidate.heap.id == heap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ByteSize;

    #[test]
    fn a_heap_is_thin_for_its_size_and_has_to_fit_with_slack() {
        let [small, large] = [(0, 100, 80), (1, 400, 310)].map(|(slot, size, used)| OccupiedHeap {
            id: HeapId { slot, generation: 0 },
            size: ByteSize::new(size),
            used: ByteSize::new(used),
        });
        let mut candidates = Candidates::default();
        for heap in [small, large] {
            candidates.list(heap.id.slot(), Some(heap));
        }
        assert_eq!(candidates.thinnest(), Thinnest::Heap(large));
        // 90 bytes are free.
        candidates.expect(0, 0);
        assert!(candidates.have_room_for(small, true));
        candidates.expect(1, 1);
        assert!(!candidates.have_room_for(small, true) && candidates.have_room_for(small, false));
    }
}
