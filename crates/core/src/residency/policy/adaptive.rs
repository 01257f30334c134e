//! The default policy: it follows the better of two others.

use super::chains::{Chain, Rows};
use super::{Admission, EvictionPolicy, HeapSlot, Lru, Moment, NextUse, Withdrawal, spare_unneeded};
use crate::ByteSize;

/// Follows [`NextUse`] or [`Lru`], whichever pages in less.
///
/// Each of the two is an *expert*: the policy simulates the set of heaps that the expert would keep resident,
/// on the same uses and with the same number of bytes, and counts the bytes that it would page in. Only sizes
/// and uses are simulated. One expert is the *leader*: heaps that are not in its set are evicted first, then
/// those that the leader chooses. [`Lru`] leads at first.
///
/// The other expert becomes the leader when it has paged in less than the leader by more than an eighth of
/// the capacity (the bytes held while memory is short), and by more than the bytes of its set that are not
/// resident, which the change costs. An advantage of the leader counts up to the capacity, so that a long
/// good past does not delay a change.
///
/// # Bound
///
/// For heaps of one size, a constant capacity, and victims that can all be evicted, the bytes paged in are at
/// most three times what either expert alone pages in, plus three times the capacity and the first uses, on
/// *any* sequence of uses:
///
/// - While an expert leads, the heaps paged in are those that it pages in, and once those that were missing
///   when it became the leader.
/// - Let D be the excess at which a leader is replaced. When it leads again, it must first lose D again, so
///   each expert's own cost while it leads is at least the sum of the excesses at its beginning and its end.
///   The excesses of the other expert's times are thus at most one more times its own cost.
/// - A change costs less than D, which is one more times its own cost.
///
/// The rest is the last, unfinished time. In the simulated workloads of `policies/`, it is far less.
///
/// # Cost
///
/// As of both experts, in time and memory, and 32 bytes per heap: 92 bytes per heap in total. While memory
/// was never short, only [`NextUse`] is updated; the first [`choose`](EvictionPolicy::choose) orders all
/// heaps by their last use once.
#[derive(Debug)]
pub struct Adaptive {
    next_use: NextUse,
    lru: Lru,
    sets: [Set; 2],
    leader: usize,
    heaps: Vec<Known>,
    /// The bytes held.
    held: u64,
    /// The most bytes held since memory was short last; `None` while it never was.
    capacity: Option<u64>,
    /// The submission of the last call.
    now: u32,
    /// Scratch memory of `trim`, kept so that it allocates nothing.
    victims: Vec<HeapSlot>,
}

const NEXT_USE: usize = 0;
const LRU: usize = 1;

/// The set of heaps that an expert would keep resident.
#[derive(Debug)]
struct Set {
    bytes: u64,
    /// The bytes of the set that are not held.
    missing: u64,
    /// Bytes that the leader paged in beyond those of this expert; at least minus the capacity. Zero for the leader.
    lead: i64,
    /// The held heaps outside of the set, in the order in which they left it.
    outside: Chain,
    links: Rows<()>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Known {
    size: u64,
    /// The low bits of the submission of the last use.
    last: u32,
    /// The experts that have the heap in their sets, as bits.
    sets: u8,
    held: bool,
    seen: bool,
}

const _: () = assert!(size_of::<Known>() == 16);

const fn bit(expert: usize) -> u8 {
    1 << expert
}

const BOTH: u8 = bit(NEXT_USE) | bit(LRU);

/// The part of the capacity by which an expert must be better than the leader.
const ADVANTAGE: u64 = 8;

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

impl Default for Adaptive {
    fn default() -> Self {
        Self::new()
    }
}

impl Adaptive {
    /// Creates a policy that holds no heap.
    #[must_use]
    pub fn new() -> Self {
        let set = || Set { bytes: 0, missing: 0, lead: 0, outside: Chain::EMPTY, links: Rows::new() };
        Self {
            next_use: NextUse::new(),
            lru: Lru::new(),
            sets: [set(), set()],
            leader: LRU,
            heaps: Vec::new(),
            held: 0,
            capacity: None,
            now: 0,
            victims: Vec::new(),
        }
    }

    fn expert(&mut self, number: usize) -> &mut dyn EvictionPolicy {
        if number == NEXT_USE { &mut self.next_use } else { &mut self.lru }
    }

    /// Returns the low bits of a submission's number.
    #[allow(clippy::cast_possible_truncation, reason = "the low bits")]
    fn clock(now: Moment) -> u32 {
        now.submission as u32
    }

    /// Trims the sets before the first call for another submission.
    #[inline]
    fn begin(&mut self, now: Moment) {
        if Self::clock(now) != self.now {
            if let Some(capacity) = self.capacity {
                self.trim(capacity, now);
            }
            self.now = Self::clock(now);
        }
    }

    /// Removes heaps from the sets that exceed the capacity, except those that the last submission used.
    fn trim(&mut self, capacity: u64, now: Moment) {
        // The experts choose as they would have for the last submission.
        let passed = u64::from(Self::clock(now).wrapping_sub(self.now));
        let before = Moment { submission: now.submission.saturating_sub(passed), time: now.time };
        let mut victims = std::mem::take(&mut self.victims);
        for number in [NEXT_USE, LRU] {
            let over = ByteSize::new(self.sets[number].bytes.saturating_sub(capacity));
            if over.is_zero() {
                continue;
            }
            victims.clear();
            let (heaps, last) = (&self.heaps, self.now);
            let size = |heap: HeapSlot| ByteSize::new(heaps[heap.index()].size);
            let mut evict = |heap: HeapSlot| {
                (heaps[heap.index()].last != last).then(|| {
                    victims.push(heap);
                    size(heap)
                })
            };
            match number {
                NEXT_USE => self.next_use.choose(over, before, &mut evict),
                _ => self.lru.choose(over, before, &mut evict),
            }
            spare_unneeded(&mut victims, over, size);
            for &heap in &victims {
                self.leave(number, heap, Withdrawal::Evicted, before);
            }
        }
        self.victims = victims;
    }

    /// Removes a heap from the set of an expert.
    fn leave(&mut self, number: usize, heap: HeapSlot, cause: Withdrawal, now: Moment) {
        let known = &mut self.heaps[heap.index()];
        if known.sets & bit(number) == 0 {
            return;
        }
        known.sets &= !bit(number);
        let Known { size, held, .. } = *known;
        let set = &mut self.sets[number];
        set.bytes = set.bytes.saturating_sub(size);
        if held {
            set.links.make(heap);
            set.links.push(&mut set.outside, heap);
        } else {
            set.missing = set.missing.saturating_sub(size);
        }
        self.expert(number).withdraw(heap, cause, now);
    }

    /// Records a use of a held heap, which is in no chain of those outside.
    fn access(&mut self, heap: HeapSlot, cause: Admission, now: Moment) {
        let known = &mut self.heaps[heap.index()];
        known.last = Self::clock(now);
        let Known { size, sets, .. } = *known;
        // The first use costs the same under every policy.
        let counts = std::mem::replace(&mut known.seen, true) && cause == Admission::PagedIn;
        known.sets = BOTH;
        if sets == BOTH {
            self.next_use.touch(heap, now);
            self.lru.touch(heap, now);
            return;
        }
        for number in [NEXT_USE, LRU] {
            if sets & bit(number) != 0 {
                self.expert(number).touch(heap, now);
            } else {
                self.sets[number].bytes = self.sets[number].bytes.saturating_add(size);
                self.expert(number).admit(heap, ByteSize::new(size), cause, now);
            }
        }
        let (leader, other) = (self.leader, 1 - self.leader);
        let lowest = -signed(self.capacity.unwrap_or(0));
        let lead = &mut self.sets[other].lead;
        match (counts, sets & bit(leader) != 0, sets & bit(other) != 0) {
            (true, false, true) => *lead = lead.saturating_add(signed(size)),
            (true, true, false) => *lead = lead.saturating_sub(signed(size)).max(lowest),
            _ => {}
        }
    }

    /// Removes a held heap from the chains of those outside.
    fn unlink(&mut self, heap: HeapSlot) {
        let sets = self.heaps[heap.index()].sets;
        for (number, set) in self.sets.iter_mut().enumerate() {
            if sets & bit(number) == 0 {
                set.links.unlink(&mut set.outside, heap);
            }
        }
    }

    /// Records that a heap is not held. Returns whether it was.
    fn release(&mut self, heap: HeapSlot) -> bool {
        if !self.heaps.get(heap.index()).is_some_and(|known| known.held) {
            return false;
        }
        if self.capacity.is_some() {
            self.unlink(heap);
        }
        let known = &mut self.heaps[heap.index()];
        known.held = false;
        self.held = self.held.saturating_sub(known.size);
        for (number, set) in self.sets.iter_mut().enumerate() {
            if known.sets & bit(number) != 0 {
                set.missing = set.missing.saturating_add(known.size);
            }
        }
        true
    }

    /// Changes the leader if the other expert is sufficiently better.
    fn elect(&mut self, capacity: u64) {
        let other = 1 - self.leader;
        let Set { missing, lead, .. } = self.sets[other];
        if lead > signed(missing.max(capacity / ADVANTAGE)) {
            self.sets[self.leader].lead = -lead;
            self.sets[other].lead = 0;
            self.leader = other;
        }
    }

    /// Begins to simulate when memory is short for the first time: both sets are the heaps held.
    fn start(&mut self) {
        let held = self.heaps.iter().zip(0..).filter(|(known, _)| known.held);
        let mut slots: Vec<HeapSlot> = held.map(|(_, number)| HeapSlot::new(number)).collect();
        let next_use = &self.next_use;
        slots.sort_by_key(|&heap| std::cmp::Reverse(next_use.age(heap, self.now)));
        for heap in slots {
            self.heaps[heap.index()].last = self.now.wrapping_sub(self.next_use.age(heap, self.now));
            let size = ByteSize::new(self.heaps[heap.index()].size);
            self.lru.admit(heap, size, Admission::Created, Moment::default());
        }
    }
}

impl EvictionPolicy for Adaptive {
    fn admit(&mut self, heap: HeapSlot, size: ByteSize, cause: Admission, now: Moment) {
        self.begin(now);
        let index = heap.index();
        if index >= self.heaps.len() {
            self.heaps.resize(index + 1, Known::default());
        }
        if self.release(heap) || self.heaps[index].size != size.get() {
            for number in [NEXT_USE, LRU] {
                self.leave(number, heap, Withdrawal::Locked, now);
            }
        }
        let size = size.get();
        let known = &mut self.heaps[index];
        (known.size, known.held) = (size, true);
        self.held = self.held.saturating_add(size);
        let Some(capacity) = &mut self.capacity else {
            (known.seen, known.sets) = (true, BOTH);
            self.sets.iter_mut().for_each(|set| set.bytes = set.bytes.saturating_add(size));
            self.next_use.admit(heap, ByteSize::new(size), cause, now);
            return;
        };
        *capacity = (*capacity).max(self.held);
        for (number, set) in self.sets.iter_mut().enumerate() {
            if known.sets & bit(number) != 0 {
                set.missing = set.missing.saturating_sub(size);
            }
        }
        self.access(heap, cause, now);
    }

    #[inline]
    fn touch(&mut self, heap: HeapSlot, now: Moment) {
        if self.capacity.is_none() {
            self.now = Self::clock(now);
            self.next_use.touch(heap, now);
            return;
        }
        let Some(known) = self.heaps.get(heap.index()).filter(|known| known.held) else { return };
        let sets = known.sets;
        self.begin(now);
        if sets != BOTH || self.heaps[heap.index()].sets != BOTH {
            self.unlink(heap);
        }
        self.access(heap, Admission::PagedIn, now);
    }

    fn touch_regularly(&mut self, heap: HeapSlot, interval: u64, count: u64, last: Moment) {
        if self.capacity.is_none() {
            self.now = Self::clock(last);
            self.next_use.touch_regularly(heap, interval, count, last);
            return;
        }
        self.begin(last);
        match self.heaps.get_mut(heap.index()).filter(|known| known.held && known.sets == BOTH) {
            Some(known) => {
                known.last = Self::clock(last);
                self.next_use.touch_regularly(heap, interval, count, last);
                self.lru.touch(heap, last);
            }
            // It was in both sets after the first use, which is told of by itself.
            None => self.touch(heap, last),
        }
    }

    fn may_learn_late(&self) -> bool {
        true
    }

    fn withdraw(&mut self, heap: HeapSlot, cause: Withdrawal, now: Moment) {
        if !self.release(heap) {
            return;
        }
        // The other expert may keep an evicted heap. Before the first choice both are the same.
        let evicted_by = (cause == Withdrawal::Evicted && self.capacity.is_some()).then_some(self.leader);
        for number in [NEXT_USE, LRU] {
            if evicted_by.is_none_or(|leader| leader == number) {
                self.leave(number, heap, cause, now);
            }
        }
    }

    fn forget(&mut self, heap: HeapSlot) {
        if heap.index() >= self.heaps.len() {
            return;
        }
        self.release(heap);
        for number in [NEXT_USE, LRU] {
            self.leave(number, heap, Withdrawal::Locked, Moment::default());
            self.expert(number).forget(heap);
        }
        self.heaps[heap.index()] = Known::default();
    }

    fn choose(&mut self, need: ByteSize, now: Moment, evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>) {
        self.begin(now);
        if self.capacity.is_none() {
            self.start();
        }
        // Heaps that are admitted afterwards count again.
        let capacity = self.held.saturating_sub(need.get());
        self.elect(capacity);
        self.capacity = Some(capacity);
        let set = &self.sets[self.leader];
        let chosen = set.links.choose_oldest(&set.outside, need, |()| true, evict);
        if chosen < need {
            let Self { next_use, lru, heaps, .. } = self;
            let mut evict = |heap: HeapSlot| if heaps[heap.index()].held { evict(heap) } else { None };
            let rest = need.saturating_sub(chosen);
            match self.leader {
                NEXT_USE => next_use.choose(rest, now, &mut evict),
                _ => lru.choose(rest, now, &mut evict),
            }
        }
    }

    fn next_use_in(&self, heap: HeapSlot, now: Moment) -> Option<u64> {
        let in_set = self.heaps.get(heap.index()).is_some_and(|known| known.sets & bit(NEXT_USE) != 0);
        if self.leader == NEXT_USE && in_set { self.next_use.next_use_in(heap, now) } else { None }
    }

    fn choose_ahead(
        &mut self,
        limit: ByteSize,
        fullness: f64,
        now: Moment,
        evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>,
    ) {
        // Whatever leads, heaps that are away for very long are not worth their memory.
        let heaps = &self.heaps;
        self.next_use.choose_ahead(limit, fullness, now, &mut |heap| {
            if heaps[heap.index()].held { evict(heap) } else { None }
        });
    }

    fn counts_time(&self) -> bool {
        false
    }
}
