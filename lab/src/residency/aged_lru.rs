//! D3DX12Residency's rules: LRU with eviction of unused heaps ahead of need.
//!
//! Left out are what its authors would not defend: budgets of both segment groups added together, which lets
//! usage exceed the budget of one of them (the planner bounds each group), victims of a periodic trim that
//! are forgotten, and 32 open sets at most. Its sync points are submissions here.

use std::time::Duration;

use heapwright_core::ByteSize;
use heapwright_core::residency::policy::chains::{Chain, Rows};
use heapwright_core::residency::policy::{Admission, EvictionPolicy, HeapSlot, Moment, Withdrawal};

/// Fullness (usage divided by budget) below which nothing is evicted ahead of need.
const FROM_FULLNESS: f64 = 0.7;
/// The time that a heap may be unused at that fullness.
const LONGEST_GRACE: Duration = Duration::from_secs(60);
/// The time that a heap may be unused at a fullness of 1 and above. Between the two, the time decreases linearly.
const SHORTEST_GRACE: Duration = Duration::from_secs(1);

/// Returns how long a heap may be unused at a fullness, or `None` if nothing is evicted or the fullness is NaN.
fn grace(fullness: f64) -> Option<Duration> {
    if fullness.is_nan() || fullness < FROM_FULLNESS {
        return None;
    }
    let way = ((fullness - FROM_FULLNESS) / (1.0 - FROM_FULLNESS)).min(1.0);
    Some(SHORTEST_GRACE + (LONGEST_GRACE - SHORTEST_GRACE).mul_f64(1.0 - way))
}

/// Evicts the least recently used heap first, and evicts unused heaps ahead of need: the fuller memory is,
/// the sooner.
///
/// It takes 16 bytes per heap.
#[derive(Default)]
pub struct AgedLru {
    rows: Rows<LastUse>,
    by_use: Chain,
}

/// The last use of a heap, in nanoseconds; `None` if the heap is not held.
#[derive(Debug, Clone, Copy, Default)]
struct LastUse(Option<std::num::NonZero<u64>>);

impl LastUse {
    /// 64 bits last for 584 years. One is added, so that the value is not zero.
    fn at(now: Moment) -> Self {
        let nanoseconds = u64::try_from(now.time.as_nanos()).unwrap_or(u64::MAX);
        Self(std::num::NonZero::new(nanoseconds.saturating_add(1)))
    }
}

impl AgedLru {
    fn remove(&mut self, heap: HeapSlot) {
        if let Some(last) = self.rows.get_mut(heap)
            && last.0.take().is_some()
        {
            self.rows.unlink(&mut self.by_use, heap);
        }
    }
}

impl EvictionPolicy for AgedLru {
    fn admit(&mut self, heap: HeapSlot, _size: ByteSize, _cause: Admission, now: Moment) {
        self.remove(heap);
        *self.rows.make(heap) = LastUse::at(now);
        self.rows.push(&mut self.by_use, heap);
    }

    fn touch(&mut self, heap: HeapSlot, now: Moment) {
        if let Some(last) = self.rows.get_mut(heap)
            && last.0.is_some()
        {
            *last = LastUse::at(now);
            self.rows.renew(&mut self.by_use, heap);
        }
    }

    fn withdraw(&mut self, heap: HeapSlot, _cause: Withdrawal, _now: Moment) {
        self.remove(heap);
    }

    fn forget(&mut self, heap: HeapSlot) {
        self.remove(heap);
    }

    fn choose(&mut self, need: ByteSize, _now: Moment, evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>) {
        self.rows.choose_oldest(&self.by_use, need, |_| true, evict);
    }

    fn choose_ahead(
        &mut self,
        limit: ByteSize,
        fullness: f64,
        now: Moment,
        evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>,
    ) {
        let Some(grace) = grace(fullness) else { return };
        let now = LastUse::at(now).0.map_or(0, std::num::NonZero::get);
        let too_old = |last: &LastUse| {
            let last = last.0.map_or(0, std::num::NonZero::get);
            u128::from(now.saturating_sub(last)) >= grace.as_nanos()
        };
        self.rows.choose_oldest(&self.by_use, limit, too_old, evict);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(submission: u64, seconds: u64) -> Moment {
        Moment { submission, time: Duration::from_secs(seconds) }
    }

    fn chosen_ahead(policy: &mut dyn EvictionPolicy, fullness: f64, now: Moment) -> Vec<u32> {
        let mut victims = Vec::new();
        policy.choose_ahead(ByteSize::MAX, fullness, now, &mut |heap| {
            victims.push(heap.0);
            Some(ByteSize::new(1))
        });
        victims
    }

    #[test]
    fn aged_lru_gives_up_by_time_the_sooner_the_fuller_memory_is() {
        let mut policy = AgedLru::default();
        for heap in 0..4 {
            let slot = HeapSlot(heap);
            policy.admit(slot, ByteSize::new(1), Admission::Created, at(0, u64::from(heap) * 20));
        }
        // Unused for 70, 50, 30 and 10 seconds. The number of submissions does not matter.
        let now = at(1, 70);
        assert!(chosen_ahead(&mut policy, 0.69, now).is_empty());
        assert_eq!(chosen_ahead(&mut policy, 0.7, now), [0]);
        // Halfway between 60 s and 1 s: 30.5 s.
        assert_eq!(chosen_ahead(&mut policy, 0.85, now), [0, 1]);
        assert_eq!(chosen_ahead(&mut policy, 0.86, now), [0, 1, 2]);
        assert_eq!(chosen_ahead(&mut policy, 1.0, now), [0, 1, 2, 3]);
        assert!(chosen_ahead(&mut policy, f64::NAN, now).is_empty());
        policy.touch(HeapSlot(0), now);
        assert_eq!(chosen_ahead(&mut policy, 1.5, now), [1, 2, 3]);
    }
}
