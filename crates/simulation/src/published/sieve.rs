//! SIEVE: heaps in order of arrival, and a hand that evicts heaps that were not used since it passed them.

use heapwright_core::ByteSize;
use heapwright_core::residency::policy::chains::{Chain, Rows};
use heapwright_core::residency::policy::{Admission, EvictionPolicy, HeapSlot, Moment, Withdrawal};

/// SIEVE, of Zhang, Yang, Yue, Vigfusson and Rashmi (NSDI 2024): first in, first out, but a heap that was
/// used since its arrival, or since the hand passed it, stays in place.
///
/// The hand moves from the oldest heap to the newest and starts again. New heaps are added behind the newest
/// and are examined soon, so that data used only once is evicted early. A use sets one flag, so
/// [`touch`](EvictionPolicy::touch) is as cheap as possible. It takes 16 bytes per heap.
///
/// [`choose`](EvictionPolicy::choose) costs O(victims + heaps that cannot be evicted + heaps used since the
/// hand passed them).
#[derive(Debug)]
pub struct Sieve {
    rows: Rows<Seen>,
    by_arrival: Chain,
    /// The next heap to examine; `None` for the oldest.
    hand: Option<HeapSlot>,
    /// The number of the current or last `choose`.
    round: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    held: bool,
    used: bool,
    /// The last `choose` that examined the heap.
    asked: u32,
}

impl Default for Sieve {
    fn default() -> Self {
        Self::new()
    }
}

impl Sieve {
    /// Creates a policy that holds no heap.
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
        // The first pass clears the flags, so that the second pass considers every heap that was not
        // examined.
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
                // The hand began in the middle, so the part before that is passed for the second time in the
                // third pass.
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
