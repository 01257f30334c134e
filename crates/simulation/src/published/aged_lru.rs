//! D3DX12Residency's rules: LRU with eviction of unused heaps ahead of need.
//!
//! Left out are what its authors would not defend: budgets of both segment groups added together, which lets
//! usage exceed the budget of one of them (the planner bounds each group), victims of a periodic trim that
//! are forgotten, and 32 open sets at most. Its sync points are submissions here.

use std::time::Duration;

use heapwright_core::ByteSize;
use heapwright_core::residency::policy::chains::{Chain, Rows};
use heapwright_core::residency::policy::{Admission, EvictionPolicy, HeapSlot, Moment, Withdrawal};

/// Describes when [`AgedLru`] evicts heaps ahead of need. The defaults are those of D3DX12Residency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AgedLruDesc {
    /// Fullness (usage divided by budget) below which nothing is evicted ahead of need. Default 0.7.
    pub from_fullness: f64,
    /// How long a heap may be unused at that fullness. Default 60 s.
    pub longest_grace: Duration,
    /// How long a heap may be unused at a fullness of 1 and above. Default 1 s. In between it decreases
    /// linearly.
    pub shortest_grace: Duration,
}

impl Default for AgedLruDesc {
    fn default() -> Self {
        Self {
            from_fullness: 0.7,
            longest_grace: Duration::from_secs(60),
            shortest_grace: Duration::from_secs(1),
        }
    }
}

impl AgedLruDesc {
    /// Returns how long a heap may be unused at a fullness, or `None` if nothing is evicted or the fullness
    /// is NaN.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use heapwright_simulation::AgedLruDesc;
    ///
    /// let desc = AgedLruDesc::default();
    /// assert_eq!(desc.grace(0.69), None);
    /// assert_eq!(desc.grace(0.7), Some(Duration::from_secs(60)));
    /// assert_eq!(desc.grace(1.2), Some(Duration::from_secs(1)));
    /// ```
    #[must_use]
    pub fn grace(&self, fullness: f64) -> Option<Duration> {
        if fullness.is_nan() || fullness < self.from_fullness {
            return None;
        }
        // If the initial fullness is 1 or more, or NaN, there is no range to interpolate over.
        let way = (fullness - self.from_fullness) / (1.0 - self.from_fullness);
        if !(0.0..1.0).contains(&way) {
            return Some(self.shortest_grace);
        }
        let fall = self.longest_grace.saturating_sub(self.shortest_grace);
        Some(self.shortest_grace.saturating_add(fall.mul_f64(1.0 - way)))
    }
}

/// Evicts the least recently used heap first, and evicts unused heaps ahead of need: the fuller memory is,
/// the sooner.
///
/// It takes 16 bytes per heap.
#[derive(Debug)]
pub struct AgedLru {
    desc: AgedLruDesc,
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
    /// Creates a policy that holds no heap.
    #[must_use]
    pub fn new(desc: AgedLruDesc) -> Self {
        Self { desc, rows: Rows::default(), by_use: Chain::default() }
    }

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
        let Some(grace) = self.desc.grace(fullness) else { return };
        let now = LastUse::at(now).0.map_or(0, std::num::NonZero::get);
        let too_old = |last: &LastUse| {
            let last = last.0.map_or(0, std::num::NonZero::get);
            u128::from(now.saturating_sub(last)) >= grace.as_nanos()
        };
        self.rows.choose_oldest(&self.by_use, limit, too_old, evict);
    }
}
