//! The default policy: it follows the better of two others.

use super::chains::{Chain, Rows};
use super::{Admission, EvictionPolicy, HeapSlot, Lru, Moment, NextUse, Withdrawal, spare_unneeded};
use crate::ByteSize;

/// Follows [`NextUse`] while it pages in less than [`Lru`], and [`Lru`] otherwise.
///
/// Each of the two is an *expert*: the policy simulates the set of heaps that the expert would keep resident,
/// on the same uses and with the same number of bytes, and counts the bytes that it would page in. Only sizes
/// and uses are simulated. One expert is the *leader*. Heaps that are in neither set are evicted first, then
/// those that are in the other expert's set only, and last those that the leader chooses. So a change of the
/// leader costs nothing at once, and heaps that both would keep stay resident.
///
/// [`NextUse`] leads while two conditions hold, which are checked whenever heaps are chosen:
///
/// - It has paged in less than [`Lru`] by more than a 32nd of the capacity (the bytes held while memory is
///   short). The difference counts up to the capacity in either direction, so that a long past does not delay
///   a change.
/// - The policy itself has not paged in more than 17/16 of what [`Lru`] would have and a 64th of the capacity.
///   Otherwise it follows [`Lru`] until that is true again.
///
/// # Bound
///
/// For heaps of one size, a constant capacity C, and victims that can all be evicted, let A, N and L be the
/// bytes that this policy, [`NextUse`] and [`Lru`] page in on *any* sequence of uses, without first uses. N is that of
/// the simulated expert. [`NextUse`] alone is asked at other moments, which changes few of its choices: the tests
/// compare with it alone, and allow C more in the last two bounds.
///
/// - A ≤ 17/16 L + 65/64 C. When the second condition held for the last time, A was at most 17/16 L + C/64.
///   Since then [`Lru`] leads, and its misses are those of this policy, but for the heaps of its set that were
///   not resident when it began to lead, which are at most C.
/// - A ≤ N + L. A heap in both sets is resident: the use that put it there made it so, and only what leaves
///   the leader's set, or is outside of it, is evicted. So one of the experts pages in whatever this policy
///   does.
/// - A ≤ 37 N + 2 C. Most of it is due to the second condition. Only misses of [`NextUse`] alone increase the
///   excess over L, and while the condition forces [`Lru`] to lead, a 16th of the bytes paged in reduce it: at
///   most 16 N. At most 17 N bytes of the set of [`NextUse`] are evicted meanwhile, and are paged in again. Its
///   own misses, those that increase the difference, and those after each change that the difference caused,
///   before which [`NextUse`] must lose 31/32 C, are 4 N + 2 C.
///
/// A submission may exceed each bound by the bytes of its heaps, because experts are compared between
/// submissions. The sets of the experts are reduced to the capacity before decisions, so between them an
/// expert may have more than the capacity, and page in less than alone.
///
/// In practice A is near the better of the two: see `heapwright residency --policy all workload:evaluation`.
///
/// # Cost
///
/// As of both experts, in time and memory, and 24 bytes per heap: 84 bytes per heap in total. While memory
/// was never short, only [`NextUse`] is updated; the first [`choose`](EvictionPolicy::choose) orders all
/// heaps by their last use once.
#[derive(Default)]
pub struct Adaptive {
    next_use: NextUse,
    lru: Lru,
    /// The expert that leads, once memory was short.
    leader: usize,
    heaps: Vec<Known>,
    /// The bytes of the set of each expert.
    set_bytes: [u64; 2],
    /// The held heaps that are not in both sets, by the sets that have them, in the order in which they left
    /// the other one.
    outside: [Chain; 3],
    links: Rows<()>,
    /// The bytes that [`Lru`] paged in beyond those of [`NextUse`]; at most the capacity in either direction.
    lead: i64,
    /// The bytes that were paged in beyond 17/16 of those that [`Lru`] pages in.
    debt: i64,
    /// The bytes held.
    held: u64,
    /// The most bytes held since memory was short last; `None` while it never was.
    capacity: Option<u64>,
    /// The last submission whose uses are known.
    now: u64,
    /// The last submission whose uses were known when the sets were trimmed.
    trimmed: u64,
    /// Scratch memory of `trim`, kept so that it allocates nothing.
    victims: Vec<HeapSlot>,
}

const LRU: usize = 0;
const NEXT_USE: usize = 1;

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

#[inline]
const fn bit(expert: usize) -> u8 {
    1 << expert
}

const BOTH: u8 = bit(NEXT_USE) | bit(LRU);

/// The part of the capacity by which [`NextUse`] must be better to lead.
const ADVANTAGE: u64 = 32;

/// The part of what [`Lru`] pages in, and the part of the capacity, that may be paged in beyond it.
const EXCESS_OF_LRU: u64 = 16;
const EXCESS_OF_CAPACITY: u64 = 64;

#[inline]
fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

impl Adaptive {
    #[inline]
    fn expert(&mut self, number: usize) -> &mut dyn EvictionPolicy {
        if number == NEXT_USE { &mut self.next_use } else { &mut self.lru }
    }

    /// Returns the low bits of a submission's number.
    #[allow(clippy::cast_possible_truncation, reason = "the low bits")]
    #[inline]
    fn clock(submission: u64) -> u32 {
        submission as u32
    }

    /// Sets the last submission. A use by a submission that waited may become known after those by a later one.
    #[inline]
    fn advance(&mut self, now: Moment) {
        self.now = self.now.max(now.submission);
    }

    /// Removes heaps from the sets that exceed the capacity, except those that the last submission used.
    ///
    /// Called before decisions only: uses may become known late, and only then all of them are.
    #[inline]
    fn trim(&mut self, now: Moment) {
        if self.now <= std::mem::replace(&mut self.trimmed, self.now) {
            return;
        }
        // What is held after all, because a decision was to wait, the experts hold, too.
        let Some(capacity) = self.capacity.map(|capacity| capacity.max(self.held)) else { return };
        // The experts choose as they would have for the last submission.
        let before = Moment { submission: self.now, ..now };
        let last = Self::clock(before.submission);
        let mut victims = std::mem::take(&mut self.victims);
        for number in [NEXT_USE, LRU] {
            let over = ByteSize::new(self.set_bytes[number].saturating_sub(capacity));
            if over.is_zero() {
                continue;
            }
            victims.clear();
            let heaps = &self.heaps;
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
    #[inline]
    fn leave(&mut self, number: usize, heap: HeapSlot, cause: Withdrawal, now: Moment) {
        let Known { size, sets, held, .. } = self.heaps[heap.index()];
        if sets & bit(number) == 0 {
            return;
        }
        if held {
            self.unlink(heap);
        }
        let sets = sets & !bit(number);
        self.heaps[heap.index()].sets = sets;
        if held {
            self.links.make(heap);
            self.links.push(&mut self.outside[usize::from(sets)], heap);
        }
        self.set_bytes[number] = self.set_bytes[number].saturating_sub(size);
        self.expert(number).withdraw(heap, cause, now);
    }

    /// Records a use of a held heap, which is in no chain of those outside.
    #[inline]
    fn access(&mut self, heap: HeapSlot, cause: Admission, now: Moment) {
        let known = &mut self.heaps[heap.index()];
        known.last = Self::clock(now.submission);
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
                self.set_bytes[number] = self.set_bytes[number].saturating_add(size);
                self.expert(number).admit(heap, ByteSize::new(size), cause, now);
            }
        }
        if !counts {
            return;
        }
        let most = signed(self.capacity.unwrap_or(0));
        if sets & bit(LRU) == 0 {
            self.debt = self.debt.saturating_sub(signed(size.saturating_add(size / EXCESS_OF_LRU)));
            self.lead = self.lead.saturating_add(signed(size)).min(most);
        }
        if sets & bit(NEXT_USE) == 0 {
            self.lead = self.lead.saturating_sub(signed(size)).max(-most);
        }
    }

    /// Removes a held heap from the chain of those outside, if it is in one.
    #[inline]
    fn unlink(&mut self, heap: HeapSlot) {
        let sets = self.heaps[heap.index()].sets;
        if let Some(chain) = self.outside.get_mut(usize::from(sets)) {
            self.links.unlink(chain, heap);
        }
    }

    /// Records that a heap is not held. Returns whether it was.
    #[inline]
    fn release(&mut self, heap: HeapSlot) -> bool {
        if !self.heaps.get(heap.index()).is_some_and(|known| known.held) {
            return false;
        }
        self.unlink(heap);
        let known = &mut self.heaps[heap.index()];
        known.held = false;
        self.held = self.held.saturating_sub(known.size);
        true
    }

    /// Determines which expert leads.
    #[inline]
    fn elect(&mut self, capacity: u64) {
        let is_better = self.lead > signed(capacity / ADVANTAGE);
        let may_differ = self.debt <= signed(capacity / EXCESS_OF_CAPACITY);
        self.leader = if is_better && may_differ { NEXT_USE } else { LRU };
    }

    /// Begins to simulate when memory is short for the first time: both sets are the heaps held.
    #[inline]
    fn start(&mut self) {
        let held = self.heaps.iter().zip(0..).filter(|(known, _)| known.held);
        let mut slots: Vec<HeapSlot> = held.map(|(_, number)| HeapSlot(number)).collect();
        let (next_use, now) = (&self.next_use, Self::clock(self.now));
        slots.sort_unstable_by_key(|&heap| (std::cmp::Reverse(next_use.age(heap, now)), heap.index()));
        for heap in slots {
            self.heaps[heap.index()].last = now.wrapping_sub(self.next_use.age(heap, now));
            let size = ByteSize::new(self.heaps[heap.index()].size);
            self.lru.admit(heap, size, Admission::Created, Moment::default());
        }
    }
}

impl EvictionPolicy for Adaptive {
    #[inline]
    fn admit(&mut self, heap: HeapSlot, size: ByteSize, cause: Admission, now: Moment) {
        self.advance(now);
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
        let returns = known.seen && cause == Admission::PagedIn;
        self.held = self.held.saturating_add(size);
        let Some(capacity) = &mut self.capacity else {
            (known.seen, known.sets) = (true, BOTH);
            self.set_bytes.iter_mut().for_each(|bytes| *bytes = bytes.saturating_add(size));
            self.next_use.admit(heap, ByteSize::new(size), cause, now);
            return;
        };
        *capacity = (*capacity).max(self.held);
        if returns {
            self.debt = self.debt.saturating_add(signed(size));
        }
        self.access(heap, cause, now);
    }

    #[inline]
    fn touch(&mut self, heap: HeapSlot, now: Moment) {
        self.advance(now);
        if self.capacity.is_none() {
            self.next_use.touch(heap, now);
            return;
        }
        if !self.heaps.get(heap.index()).is_some_and(|known| known.held) {
            return;
        }
        self.unlink(heap);
        self.access(heap, Admission::PagedIn, now);
    }

    #[inline]
    fn touch_regularly(&mut self, heap: HeapSlot, interval: u64, count: u64, last: Moment) {
        self.advance(last);
        if self.capacity.is_none() {
            self.next_use.touch_regularly(heap, interval, count, last);
            return;
        }
        let Some(known) = self.heaps.get(heap.index()).filter(|known| known.held) else { return };
        let mut rest = count;
        if known.sets != BOTH {
            // From the first use on, it is.
            rest = count.saturating_sub(1);
            let submission = last.submission.saturating_sub(interval.saturating_mul(rest));
            self.touch(heap, Moment { submission, ..last });
        }
        if rest > 0 {
            self.heaps[heap.index()].last = Self::clock(last.submission);
            self.next_use.touch_regularly(heap, interval, rest, last);
            self.lru.touch(heap, last);
        }
    }

    #[inline]
    fn may_learn_late(&self) -> bool {
        true
    }

    #[inline]
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

    #[inline]
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

    #[inline]
    fn choose(&mut self, need: ByteSize, now: Moment, evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>) {
        self.trim(now);
        if self.capacity.is_none() {
            self.start();
        }
        // Heaps that are admitted afterwards count again.
        let capacity = self.held.saturating_sub(need.get());
        self.elect(capacity);
        self.capacity = Some(capacity);
        let mut chosen = ByteSize::ZERO;
        for sets in [0, bit(1 - self.leader)] {
            let rest = need.saturating_sub(chosen);
            let chain = &self.outside[usize::from(sets)];
            chosen = chosen.saturating_add(self.links.choose_oldest(chain, rest, |()| true, evict));
        }
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

    #[inline]
    fn next_use_in(&self, heap: HeapSlot, now: Moment) -> Option<u64> {
        let in_set = self.heaps.get(heap.index()).is_some_and(|known| known.sets & bit(NEXT_USE) != 0);
        if self.leader == NEXT_USE && in_set { self.next_use.next_use_in(heap, now) } else { None }
    }

    #[inline]
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
}
