//! SIEVE: heaps in the order in which they came, and a hand that lets those go that were not used since it passed.

use heapwright_core::ByteSize;
use heapwright_core::residency::policy::chains::{Chain, Rows};
use heapwright_core::residency::policy::{Admission, EvictionPolicy, HeapSlot, Moment, Withdrawal};

/// SIEVE, of Zhang, Yang, Yue, Vigfusson and Rashmi (NSDI 2024): first in, first out, but a heap that was used since it came, or since the hand
/// passed it, stays where it is.
///
/// The hand goes from the oldest heap to the newest and begins again; new heaps come in behind it and are looked at soon, which
/// lets data that passes through once leave early. A use sets one flag, so [`touch`](EvictionPolicy::touch) is as cheap as can be. It takes 16
/// bytes a heap.
///
/// [`choose`](EvictionPolicy::choose) costs O(victims + heaps that may not go + heaps used since the hand passed them).
#[derive(Debug)]
pub struct Sieve {
    rows: Rows<Seen>,
    by_arrival: Chain,
    /// The heap to be looked at next; `None` for the oldest.
    hand: Option<HeapSlot>,
    /// The number of the current, or last, `choose`.
    round: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    held: bool,
    used: bool,
    /// The `choose` that asked about it last.
    asked: u32,
}

impl Default for Sieve {
    fn default() -> Self {
        Self::new()
    }
}

impl Sieve {
    /// One that holds no heap.
    #[must_use]
    pub const fn new() -> Self {
        Self { rows: Rows::new(), by_arrival: Chain::EMPTY, hand: None, round: 0 }
    }

    fn remove(&mut self, heap: HeapSlot) {
        if let Some(seen) = self.rows.get_mut(heap)
            && std::mem::take(&mut seen.held)
        {
            if self.hand == Some(heap) {
                self.hand = self.rows.newer(heap);
            }
            self.rows.unlink(&mut self.by_arrival, heap);
        }
    }
}

impl EvictionPolicy for Sieve {
    fn admit(&mut self, heap: HeapSlot, _size: ByteSize, _cause: Admission, _now: Moment) {
        self.remove(heap);
        *self.rows.make(heap) = Seen { held: true, used: false, asked: self.round };
        self.rows.push(&mut self.by_arrival, heap);
    }

    fn touch(&mut self, heap: HeapSlot, _now: Moment) {
        if let Some(seen) = self.rows.get_mut(heap) {
            seen.used = true;
        }
    }

    fn withdraw(&mut self, heap: HeapSlot, _cause: Withdrawal, _now: Moment) {
        self.remove(heap);
    }

    fn forget(&mut self, heap: HeapSlot) {
        self.remove(heap);
    }

    fn choose(&mut self, need: ByteSize, _now: Moment, evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>) {
        self.round = self.round.wrapping_add(1);
        let mut chosen = ByteSize::ZERO;
        // The first time around flags are taken away, so that the second time all that was not asked about is.
        let mut ends = 0;
        while chosen < need {
            let Some(heap) = self.hand.or(self.by_arrival.oldest()) else { return };
            self.hand = self.rows.newer(heap);
            let at_end = self.hand.is_none();
            if let Some(seen) = self.rows.get_mut(heap)
                && seen.asked != self.round
                && !std::mem::take(&mut seen.used)
            {
                seen.asked = self.round;
                if let Some(size) = evict(heap) {
                    chosen = chosen.saturating_add(size);
                }
            }
            if at_end {
                ends += 1;
                // It began somewhere in the middle: the part before that is reached for the second time in the third round.
                if ends == 3 {
                    return;
                }
            }
        }
    }

    fn counts_time(&self) -> bool {
        false
    }
}
