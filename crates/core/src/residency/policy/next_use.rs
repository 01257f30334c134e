//! The default policy: it predicts next uses.

mod absences;
mod habit;

use super::chains::{Chain, Rows};
use super::{Admission, EvictionPolicy, HeapSlot, Moment, Withdrawal};
use crate::ByteSize;
use absences::{Absences, Returns};
use habit::{Habit, Learned, SUBMISSION};

/// Evicts the heap whose next use is predicted to be farthest away first: Belady's rule with a prediction.
///
/// Programs use GPU memory periodically: every frame, every layer of a network, a level every few seconds.
/// For each heap the policy keeps two lengths, in submissions: the interval between its uses within a run of
/// regular use (smoothed, with its deviation), and the gaps between such runs. It predicts from them:
///
/// - In a run, the next use is one interval after the last use. If heaps are used in turn and do not fit, the
///   heap that was just used is needed last, and is evicted.
/// - A heap that is late is in a gap. If its gaps were regular, the next use is one gap after the last use: a
///   model that is served again in a minute is evicted before one that is needed next. If the heaps of one
///   interval are late together, all of them are taken to be in a gap.
/// - If its gaps are not regular, or the heap stays away for longer, its own longer gaps and the mean of
///   other heaps of about its interval that were away for as long predict its return, the latter only while
///   nearly all of those heaps returned.
/// - A heap for which that gives no prediction, or that was used only once, is evicted the sooner the longer
///   it was not used, as with LRU, and the sooner the fewer such heaps return at all. Data that is used once
///   is thus evicted early. But if heaps that were used once do return, all after the same time, they are
///   taken to be in a run.
///
/// The data of a heap outlive its eviction, until it is [forgotten](EvictionPolicy::forget). They take 48
/// bytes per heap.
///
/// [`touch`](EvictionPolicy::touch) costs O(1), and [`touch_regularly`](EvictionPolicy::touch_regularly) as much as the
/// uses from which something is learned, a few dozen at most. [`choose`](EvictionPolicy::choose) costs O((victims +
/// heaps that cannot be evicted) × classes), where classes are those of intervals and gaps in use, four per octave, at
/// most 195; plus O(heaps that became late since the last call), once for each time a heap is late.
///
/// [`choose_ahead`](EvictionPolicy::choose_ahead) evicts nothing below a fullness of 0.95, and above it only
/// heaps that are away for 16 times as long as ever before and for at least 600 submissions.
pub struct NextUse {
    rows: Rows<Habit>,
    chains: Box<[Class; CHAINS]>,
    /// The heaps that were used once.
    once: Returns,
    /// The heaps whose run is over.
    lost: Returns,
    /// The heaps that are in a gap.
    absences: Absences,
    /// Scratch memory of `choose`, kept so that it allocates nothing.
    candidates: Vec<Candidate>,
}

/// Heaps of about the same interval, in the order of their last use.
#[derive(Debug, Clone, Copy, Default)]
struct Class {
    chain: Chain,
    heaps: u32,
}

/// The first chain of heaps in a run, by interval; in each, the oldest heap is late first.
const IN_RUN: usize = 0;
/// The first chain of heaps in a gap, by gap.
const IN_GAP: usize = 96;
/// The chain of heaps that were just used for the first time.
const NEW: usize = 192;
/// The chain of heaps that were not used again.
const ONCE: usize = 193;
/// The chain of heaps that stay away.
const LOST: usize = 194;
const CHAINS: usize = 195;

/// Returns the class of an interval: four per octave, the last for 2^24 submissions and above.
#[inline]
fn class(interval: u32) -> usize {
    let interval = interval.max(SUBMISSION);
    let octave = interval.ilog2();
    let quarter = (interval >> (octave - 2)) & 3;
    let class = (octave - SUBMISSION.ilog2()) * 4 + quarter;
    usize::try_from(class).map_or(IN_GAP - 1, |class| class.min(IN_GAP - 1))
}

/// The heaps of a chain that were not chosen or examined yet. While heaps are not late, the one used last has
/// the farthest next use; when they are late, it is the one used first. The farthest is thus at one of the
/// two ends.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    chain: usize,
    oldest: HeapSlot,
    newest: HeapSlot,
    /// The distance of the farther next use.
    left: u64,
    is_oldest: bool,
}

/// The fullness below which nothing is evicted ahead of need.
const AHEAD_FROM_FULLNESS: f64 = 0.95;
/// The number of submissions for which a heap must be unused to be evicted ahead of need.
const AHEAD_SUBMISSIONS: u32 = 600;
/// The number of its longest intervals for which a heap must be unused to be evicted ahead of need.
const AHEAD_INTERVALS: u32 = 16;

impl Default for NextUse {
    #[inline]
    fn default() -> Self {
        Self {
            rows: Rows::default(),
            chains: Box::new([Class::default(); CHAINS]),
            once: Returns::default(),
            lost: Returns::default(),
            absences: Absences::default(),
            candidates: Vec::with_capacity(CHAINS),
        }
    }
}

impl NextUse {
    /// Learns from a use of a heap, and moves it to the chain to which it belongs now.
    #[inline]
    fn learn(&mut self, heap: HeapSlot, now: u32) {
        let habit = self.rows.make(heap);
        let missed = std::mem::take(&mut habit.missed);
        let interval = habit.interval.mean;
        let learned = habit.learn(now);
        match learned {
            Learned::Second(after) if missed => self.once.come(after),
            Learned::AfterGap(after) => {
                self.absences.come(interval, after, habit.column.take());
                if missed {
                    self.lost.come(after);
                }
            }
            Learned::First | Learned::Second(_) | Learned::InRun => {}
        }
        let is_new = learned == Learned::First;
        let chain = if is_new { NEW } else { IN_RUN + class(habit.interval.mean) };
        self.move_to(heap, Some(chain));
    }

    /// Moves a heap to the newest end of a chain, or out of all chains.
    #[inline]
    fn move_to(&mut self, heap: HeapSlot, chain: Option<usize>) {
        let Some(habit) = self.rows.get_mut(heap) else { return };
        let number = chain.map(|chain| u8::try_from(chain).expect("fewer than 256 chains"));
        if let Some(before) = std::mem::replace(&mut habit.chain, number) {
            let class = &mut self.chains[usize::from(before)];
            class.heaps -= 1;
            self.rows.unlink(&mut class.chain, heap);
        }
        if let Some(chain) = chain {
            let class = &mut self.chains[chain];
            class.heaps += 1;
            self.rows.push(&mut class.chain, heap);
        }
    }

    /// Moves heaps that were not used when expected to the chains to which they now belong.
    #[inline]
    fn sort_out_late(&mut self, now: u32) {
        while let Some(heap) = self.chains[NEW].chain.oldest() {
            let Some(habit) = self.rows.get_mut(heap) else { break };
            if habit.age(now) <= 2 * SUBMISSION {
                break;
            }
            if !std::mem::replace(&mut habit.missed, true) {
                self.once.wait();
            }
            self.move_to(heap, Some(ONCE));
        }
        for chain in IN_RUN..IN_GAP {
            let mut all_late = false;
            while let Some(heap) = self.chains[chain].chain.oldest() {
                let silence = self.silence(chain, now);
                let Some(habit) = self.rows.get_mut(heap) else { break };
                if !all_late && habit.age(now) <= habit.interval.latest() {
                    break;
                }
                // One heap is late, and none of the others was used in a time in which four uses were
                // expected.
                all_late |= silence > 4 * u64::from(habit.interval.mean);
                if !std::mem::replace(&mut habit.missed, true) {
                    self.lost.wait();
                }
                let to = Self::absent(habit, &mut self.absences, now, false);
                self.move_to(heap, Some(to));
            }
        }
        for chain in IN_GAP..NEW {
            while let Some(heap) = self.chains[chain].chain.oldest() {
                let Some(habit) = self.rows.get_mut(heap) else { break };
                if habit.age(now) <= habit.latest_gap() {
                    break;
                }
                let to = Self::absent(habit, &mut self.absences, now, true);
                self.move_to(heap, Some(to));
            }
        }
    }

    /// Returns the chain of a heap that is away for longer than expected.
    #[inline]
    fn absent(habit: &mut Habit, absences: &mut Absences, now: u32, again: bool) -> usize {
        let age = habit.age(now);
        if !again && habit.gap_is_regular() {
            habit.expect_gap(habit.gap(), habit.gap_deviation);
            return IN_GAP + class(habit.expected);
        }
        let (count, sum) = habit.longer_gaps(age);
        let (column, others) = absences.wait(habit.interval.mean, age);
        habit.column = Some(column);
        // All other heaps count as much as one gap of its own.
        let count = count + u64::from(others.is_some());
        let Some(longer) = (sum + others.unwrap_or(0)).checked_div(count) else { return LOST };
        habit.expect_gap(age.saturating_add(u32::try_from(longer).unwrap_or(u32::MAX)), 0);
        IN_GAP + class(habit.expected)
    }

    /// Returns the time since a heap of a chain was last used, multiplied by the number of its heaps; 0 if it
    /// is at most one submission.
    #[inline]
    fn silence(&self, chain: usize, now: u32) -> u64 {
        let class = &self.chains[chain];
        let newest = class.chain.newest().and_then(|heap| self.rows.get(heap));
        let age = newest.map_or(0, |habit| habit.age(now));
        if age > SUBMISSION { u64::from(age) * u64::from(class.heaps) } else { 0 }
    }

    /// Returns the distance of the next use of a heap.
    #[inline]
    fn left(&self, chain: usize, heap: HeapSlot, now: u32) -> u64 {
        let Some(habit) = self.rows.get(heap) else { return 0 };
        let age = habit.age(now);
        match chain {
            IN_RUN..IN_GAP => habit.left_in_run(now),
            IN_GAP..NEW => habit.left_in_gap(now),
            NEW | ONCE => self.once.left_if_regular(age).unwrap_or_else(|| self.once.left(age)),
            _ => self.lost.left(age),
        }
    }

    #[inline]
    fn candidate(&self, chain: usize, oldest: HeapSlot, newest: HeapSlot, now: u32) -> Candidate {
        let (of_oldest, of_newest) = (self.left(chain, oldest, now), self.left(chain, newest, now));
        Candidate { chain, oldest, newest, left: of_oldest.max(of_newest), is_oldest: of_oldest >= of_newest }
    }
}

impl EvictionPolicy for NextUse {
    #[inline]
    fn admit(&mut self, heap: HeapSlot, _size: ByteSize, _cause: Admission, now: Moment) {
        self.learn(heap, Habit::clock(now));
    }

    #[inline]
    fn touch(&mut self, heap: HeapSlot, now: Moment) {
        let now = Habit::clock(now);
        if self.rows.get(heap).is_some_and(|habit| habit.chain.is_some() && !habit.is_used_at(now)) {
            self.learn(heap, now);
        }
    }

    #[inline]
    fn touch_regularly(&mut self, heap: HeapSlot, interval: u64, count: u64, last: Moment) {
        for later in (0..count).rev() {
            let submission = last.submission.saturating_sub(interval.saturating_mul(later));
            let Some(before) = self.rows.get(heap).copied() else { return };
            self.touch(heap, Moment { submission, ..last });
            // What one interval did not change, further ones of the same length do not change, either.
            let Some(habit) = self.rows.get_mut(heap) else { return };
            if habit.is_but_later(&before, interval) {
                habit.last = Habit::clock(last);
                return;
            }
        }
    }

    #[inline]
    fn may_learn_late(&self) -> bool {
        true
    }

    #[inline]
    fn withdraw(&mut self, heap: HeapSlot, _cause: Withdrawal, _now: Moment) {
        self.move_to(heap, None);
    }

    #[inline]
    fn forget(&mut self, heap: HeapSlot) {
        self.move_to(heap, None);
        if let Some(habit) = self.rows.get_mut(heap) {
            *habit = Habit::default();
        }
    }

    #[inline]
    fn choose(&mut self, need: ByteSize, now: Moment, evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>) {
        let now = Habit::clock(now);
        self.sort_out_late(now);
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        for (number, class) in self.chains.iter().enumerate() {
            if let (Some(oldest), Some(newest)) = (class.chain.oldest(), class.chain.newest()) {
                candidates.push(self.candidate(number, oldest, newest, now));
            }
        }
        let mut chosen = ByteSize::ZERO;
        while chosen < need {
            let Some((at, &farthest)) =
                candidates.iter().enumerate().max_by_key(|(_, candidate)| candidate.left)
            else {
                break;
            };
            let Candidate { chain, oldest, newest, is_oldest, .. } = farthest;
            let heap = if is_oldest { oldest } else { newest };
            let rest = match (oldest == newest, is_oldest) {
                (true, _) => None,
                (false, true) => self.rows.newer(heap).map(|next| (next, newest)),
                (false, false) => self.rows.older(heap).map(|next| (oldest, next)),
            };
            match rest {
                Some((oldest, newest)) => candidates[at] = self.candidate(chain, oldest, newest, now),
                None => {
                    candidates.swap_remove(at);
                }
            }
            if let Some(size) = evict(heap) {
                chosen = chosen.saturating_add(size);
            }
        }
        self.candidates = candidates;
    }

    #[inline]
    fn choose_ahead(
        &mut self,
        limit: ByteSize,
        fullness: f64,
        now: Moment,
        evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>,
    ) {
        if fullness.is_nan() || fullness < AHEAD_FROM_FULLNESS {
            return;
        }
        let now = Habit::clock(now);
        self.sort_out_late(now);
        let stays_away = |habit: &Habit| {
            let longest =
                habit.interval.mean.max(habit.gap()).max(habit.expected).saturating_mul(AHEAD_INTERVALS);
            // Ages are capped, so the time to stay away is capped, too.
            habit.age(now) >= longest.clamp(AHEAD_SUBMISSIONS * SUBMISSION, 1 << 29)
        };
        let mut limit = limit;
        for chain in [LOST, ONCE] {
            let chain = &self.chains[chain].chain;
            let chosen = self.rows.choose_oldest(chain, limit, stays_away, evict);
            limit = limit.saturating_sub(chosen);
        }
    }
}

#[cfg(test)]
mod tests;
