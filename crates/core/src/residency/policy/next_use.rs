//! The heap whose next use is predicted to be farthest away goes first.

use super::chains::{Chain, Rows};
use super::{Admission, EvictionPolicy, HeapSlot, Moment, Withdrawal};
use crate::ByteSize;

/// The heap whose next use is predicted to be farthest away goes first.
#[derive(Debug)]
pub struct NextUse {
    rows: Rows<Habit>,
    chains: Box<[Chain; CHAINS]>,
    lengths: Box<[u32; CHAINS]>,
    /// What to expect of heaps that were used once.
    once: Returns,
    /// What to expect of heaps that did not come when they were expected.
    lost: Returns,
    lanes: Vec<Lane>,
}

/// What is known of how a heap is used. Intervals are in [`STEP`]ths of a submission.
#[derive(Debug, Clone, Copy, Default)]
struct Habit {
    /// The submission of the last use, its low bits.
    last: u32,
    interval: Smoothed,
    /// The last two long gaps between runs of regular use, the older one first.
    gaps: [u32; 2],
    /// How far off the gaps were.
    gap_deviation: u32,
    /// The chain that it is in, plus one; 0 if it is not held.
    place: u8,
    flags: u8,
}

const SEEN: u8 = 1;
const LONG: u8 = 2;
/// It was counted as one that did not come.
const MISSED: u8 = 4;

#[derive(Debug, Clone, Copy, Default)]
struct Smoothed {
    mean: u32,
    deviation: u32,
}

/// How many of some heaps came back, and when.
#[derive(Debug, Default)]
struct Returns {
    after: Smoothed,
    expected: u32,
    came: u32,
    rate: u32,
}

impl Returns {
    fn expect(&mut self) {
        if self.expected >= 1 << 12 {
            self.expected /= 2;
            self.came /= 2;
        }
        self.expected += 1;
        self.rate -= self.rate / 32;
    }

    fn come(&mut self, after: u32) {
        self.came = (self.came + 1).min(self.expected);
        self.after.learn::<4>(after);
        self.rate += (1024 - self.rate) / 32;
    }

    /// How far away the next use of one of them is, all in all.
    fn typical(&self) -> u64 {
        let after = u64::from(self.after.mean.max(64 * STEP));
        after * u64::from(self.expected + 1) / u64::from(self.came + 1)
    }
}

const STEP: u32 = 16;
const GAP: u32 = 6;
const LINDY: u64 = 16;

impl Smoothed {
    fn first(value: u32) -> Self {
        Self { mean: value, deviation: value / 8 }
    }

    fn learn<const SHIFT: u32>(&mut self, value: u32) {
        if self.mean == 0 {
            *self = Self::first(value);
            return;
        }
        let off = value.abs_diff(self.mean);
        self.deviation = self.deviation - (self.deviation >> SHIFT) + (off >> SHIFT);
        if value >= self.mean {
            self.mean += off >> SHIFT;
        } else {
            self.mean -= off >> SHIFT;
        }
    }

    /// How far above the mean is no longer to be expected.
    fn slack(self) -> u32 {
        self.deviation.saturating_mul(4).max(STEP / 2)
    }
}

const STEADY: usize = 0;
const AWAY: usize = 96;
/// Used once, just now.
const NEW: usize = 192;
const ONCE: usize = 193;
const LOST: usize = 194;
const CHAINS: usize = 195;

/// The class of an interval: four an octave.
fn class(interval: u32) -> usize {
    let value = interval.max(STEP);
    let octave = value.ilog2();
    let quarter = (value >> (octave - 2)) & 3;
    let class = (octave - STEP.ilog2()) * 4 + quarter;
    class.min(95) as usize
}

#[derive(Debug, Clone, Copy)]
struct Lane {
    chain: usize,
    oldest: HeapSlot,
    newest: HeapSlot,
    best: u64,
    best_is_oldest: bool,
}

fn steps(submissions: u32) -> u32 {
    submissions.saturating_mul(STEP).min(u32::MAX / 8)
}

/// The low bits of a submission's number. Ages are differences of them, so a heap that was not used for 2^32 submissions looks
/// recent again.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "it is meant")]
fn low(now: Moment) -> u32 {
    now.submission as u32
}

impl Habit {
    fn age(&self, now: u32) -> u32 {
        steps(now.wrapping_sub(self.last))
    }

    /// The gap that is to be expected.
    fn gap(&self) -> u32 {
        if self.gaps[0] == 0 { self.gaps[1] } else { self.gaps[0] }
    }

    fn gap_slack(&self) -> u32 {
        (4 * self.gap_deviation).max(self.gap() / 4).max(2 * STEP)
    }

    fn gap_is_known(&self) -> bool {
        self.gap() != 0 && self.gap_deviation <= self.gap() / 2
    }

    fn learn_gap(&mut self, gap: u32) {
        if self.gap() == 0 {
            self.gap_deviation = gap / 8;
        } else {
            let off = gap.abs_diff(self.gap());
            self.gap_deviation = self.gap_deviation / 2 + off / 2;
        }
        self.gaps = [self.gaps[1], gap];
    }
}

impl Default for NextUse {
    fn default() -> Self {
        Self::new()
    }
}

impl NextUse {
    /// One that holds no heap.
    #[must_use]
    pub fn new() -> Self {
        Self {
            rows: Rows::new(),
            chains: Box::new([Chain::EMPTY; CHAINS]),
            lengths: Box::new([0; CHAINS]),
            once: Returns::default(),
            lost: Returns::default(),
            lanes: Vec::with_capacity(CHAINS),
        }
    }

    #[inline]
    fn learn(&mut self, heap: HeapSlot, now: u32) -> usize {
        let habit = self.rows.make(heap);
        if habit.flags & SEEN == 0 {
            habit.flags = SEEN;
            habit.last = now;
            return NEW;
        }
        let value = habit.age(now);
        habit.last = now;
        let missed = habit.flags & MISSED != 0;
        habit.flags &= !MISSED;
        let mean = habit.interval.mean;
        if value == 0 {
            return if mean == 0 { NEW } else { STEADY + class(mean) };
        }
        if mean == 0 {
            habit.interval = Smoothed::first(value);
            if missed {
                self.once.come(value);
            }
        } else if value > (mean + habit.interval.slack()).max(mean.saturating_mul(GAP)) {
            if missed {
                self.lost.come(value);
            }
            if habit.flags & LONG != 0 {
                // Twice in a row: that is how it is used now.
                habit.interval = Smoothed {
                    mean: value / 2 + habit.gaps[1] / 2,
                    deviation: value.abs_diff(habit.gaps[1]) / 2,
                };
                habit.flags &= !LONG;
            } else {
                habit.learn_gap(value);
                habit.flags |= LONG;
            }
        } else if mean.saturating_sub(value) > (4 * habit.interval.deviation).max(mean / 2) {
            // What it was used at before were the gaps between runs.
            habit.learn_gap(mean);
            habit.interval = Smoothed::first(value);
            habit.flags &= !LONG;
        } else {
            habit.interval.learn::<2>(value);
            habit.flags &= !LONG;
        }
        STEADY + class(habit.interval.mean)
    }

    #[inline]
    fn remove(&mut self, heap: HeapSlot) {
        if let Some(habit) = self.rows.get_mut(heap)
            && habit.place != 0
        {
            let chain = usize::from(std::mem::take(&mut habit.place)) - 1;
            self.rows.unlink(&mut self.chains[chain], heap);
            self.lengths[chain] -= 1;
        }
    }

    #[inline]
    fn put(&mut self, heap: HeapSlot, chain: usize) {
        if let Some(habit) = self.rows.get_mut(heap) {
            habit.place = u8::try_from(chain + 1).expect("there are fewer than 255 chains");
        }
        self.rows.push(&mut self.chains[chain], heap);
        self.lengths[chain] += 1;
    }

    /// Moves heaps that did not come when they were expected.
    fn sort_out(&mut self, now: u32) {
        while let Some(heap) = self.chains[NEW].oldest()
            && let Some(habit) = self.rows.get_mut(heap)
            && habit.age(now) > 2 * STEP
        {
            if habit.flags & MISSED == 0 {
                self.once.expect();
                habit.flags |= MISSED;
            }
            self.remove(heap);
            self.put(heap, ONCE);
        }
        for chain in STEADY..AWAY {
            let mut silent = false;
            while let Some(heap) = self.chains[chain].oldest() {
                let newest = self.chains[chain]
                    .newest()
                    .and_then(|heap| self.rows.get(heap))
                    .map_or(0, |habit| habit.age(now));
                let Some(habit) = self.rows.get_mut(heap) else { break };
                let age = habit.age(now);
                let overdue = age > habit.interval.mean + habit.interval.slack();
                if !overdue && !silent {
                    break;
                }
                let rate = u64::from(newest) * self.lengths[chain] as u64;
                silent |= newest > STEP && rate > 4 * u64::from(habit.interval.mean);
                if habit.flags & MISSED == 0 {
                    self.lost.expect();
                    habit.flags |= MISSED;
                }
                let to = if habit.gap_is_known() { AWAY + class(habit.gap()) } else { LOST };
                self.remove(heap);
                self.put(heap, to);
            }
        }
        for chain in AWAY..NEW {
            while let Some(heap) = self.chains[chain].oldest()
                && let Some(habit) = self.rows.get(heap)
            {
                let age = habit.age(now);
                if age <= habit.gap() + habit.gap_slack() {
                    break;
                }
                self.remove(heap);
                self.put(heap, LOST);
            }
        }
    }

    fn distance(&self, chain: usize, heap: HeapSlot, now: u32) -> u64 {
        let Some(habit) = self.rows.get(heap) else { return 0 };
        let age = habit.age(now);
        let left = |mean: u32, deviation: u32| u64::from(mean.saturating_sub(age).max(deviation));
        if chain < AWAY {
            left(habit.interval.mean, habit.interval.deviation)
        } else if chain < NEW {
            left(habit.gap(), habit.gap_deviation)
        } else if chain == NEW || chain == ONCE {
            let first = self.once.after;
            if first.mean != 0
                && first.deviation < first.mean / 16
                && self.once.rate > 256
                && age < first.mean + first.slack()
            {
                left(first.mean, first.deviation)
            } else {
                (u64::from(age) * LINDY).min(u64::from(age) + self.once.typical())
            }
        } else {
            (u64::from(age) * LINDY).min(u64::from(age) + self.lost.typical())
        }
    }

    fn lane(&self, chain: usize, oldest: HeapSlot, newest: HeapSlot, now: u32) -> Lane {
        let of_oldest = self.distance(chain, oldest, now);
        let of_newest = self.distance(chain, newest, now);
        Lane { chain, oldest, newest, best: of_oldest.max(of_newest), best_is_oldest: of_oldest >= of_newest }
    }
}

impl EvictionPolicy for NextUse {
    fn admit(&mut self, heap: HeapSlot, _size: ByteSize, _cause: Admission, now: Moment) {
        self.remove(heap);
        let chain = self.learn(heap, low(now));
        self.put(heap, chain);
    }

    fn touch(&mut self, heap: HeapSlot, now: Moment) {
        let Some(habit) = self.rows.get(heap) else { return };
        if habit.place == 0 || habit.last == low(now) {
            return;
        }
        self.remove(heap);
        let chain = self.learn(heap, low(now));
        self.put(heap, chain);
    }

    fn withdraw(&mut self, heap: HeapSlot, _cause: Withdrawal, _now: Moment) {
        self.remove(heap);
    }

    fn forget(&mut self, heap: HeapSlot) {
        self.remove(heap);
        if let Some(habit) = self.rows.get_mut(heap) {
            *habit = Habit::default();
        }
    }

    fn choose(
        &mut self,
        need: ByteSize,
        now: Moment,
        evictable: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>,
        victims: &mut Vec<HeapSlot>,
    ) {
        let now = low(now);
        self.sort_out(now);
        let mut lanes = std::mem::take(&mut self.lanes);
        lanes.clear();
        for (chain, ends) in self.chains.iter().enumerate() {
            if let (Some(oldest), Some(newest)) = (ends.oldest(), ends.newest()) {
                lanes.push(self.lane(chain, oldest, newest, now));
            }
        }
        let mut chosen = ByteSize::ZERO;
        while chosen < need
            && let Some((at, &lane)) = lanes.iter().enumerate().max_by_key(|(_, lane)| lane.best)
        {
            let heap = if lane.best_is_oldest { lane.oldest } else { lane.newest };
            let rest = if lane.oldest == lane.newest {
                None
            } else if lane.best_is_oldest {
                self.rows.newer(heap).map(|next| (next, lane.newest))
            } else {
                self.rows.older(heap).map(|next| (lane.oldest, next))
            };
            match rest {
                Some((oldest, newest)) => lanes[at] = self.lane(lane.chain, oldest, newest, now),
                None => {
                    lanes.swap_remove(at);
                }
            }
            if let Some(size) = evictable(heap) {
                chosen = chosen.saturating_add(size);
                victims.push(heap);
            }
        }
        self.lanes = lanes;
    }
}
