//! The usage pattern of one heap.

use super::super::Moment;

/// The resolution of intervals and ages, a sixteenth of a submission, so that smoothing loses little.
pub(super) const SUBMISSION: u32 = 16;

/// The number of usual intervals from which on a longer one is a gap between runs of use, and not an outlier.
/// Six did best among 3, 6, 10 and 20 over the scenarios of the simulation: a geometric mean of 1.166 times the
/// bound, against 1.176, 1.173 and 1.176.
const GAP_IN_INTERVALS: u32 = 6;

/// A smoothed mean and its deviation, in which older values count less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Smoothed {
    /// The mean; 0 while there was no value.
    pub(super) mean: u32,
    pub(super) deviation: u32,
}

impl Smoothed {
    #[inline]
    fn first(value: u32) -> Self {
        Self { mean: value, deviation: value / 8 }
    }

    /// Adds a value, with a weight of one in `2^SHIFT`.
    #[inline]
    pub(super) fn learn<const SHIFT: u32>(&mut self, value: u32) {
        if self.mean == 0 {
            *self = Self::first(value);
            return;
        }
        let off = value.abs_diff(self.mean);
        // Rounded up, so that the deviation of regular values decreases to zero.
        self.deviation -= self.deviation.div_ceil(1 << SHIFT);
        self.deviation += off >> SHIFT;
        if value >= self.mean {
            self.mean += off >> SHIFT;
        } else {
            self.mean -= off >> SHIFT;
        }
    }

    /// Returns the value above which the heap is late. Regular heaps are late at once.
    #[inline]
    pub(super) fn latest(self) -> u32 {
        self.mean.saturating_add(self.deviation.saturating_mul(4).max(SUBMISSION / 2))
    }
}

/// The usage pattern of a heap: runs of regular use, with gaps between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Habit {
    /// The low bits of the submission of the last use.
    pub(super) last: u32,
    /// The interval between two uses within a run.
    pub(super) interval: Smoothed,
    /// The last two gaps between runs, the older one first; 0 for none.
    gaps: [u32; 2],
    /// The deviation of the gaps from the expectation.
    pub(super) gap_deviation: u32,
    /// The gap in which the heap is assumed to be.
    pub(super) expected: u32,
    /// The deviation of the expected gap.
    expected_deviation: u32,
    /// The column of [`Absences`](super::absences::Absences) in which the heap is expected.
    pub(super) column: Option<u8>,
    /// The chain that contains the heap, if it is held.
    pub(super) chain: Option<u8>,
    seen: bool,
    /// Whether the last interval was a gap.
    after_gap: bool,
    /// Whether the heap was not used when expected, and was counted as such.
    pub(super) missed: bool,
}

/// The classification of a use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Learned {
    /// The first use of the heap.
    First,
    /// The second use, after this time.
    Second(u32),
    /// A use within a run.
    InRun,
    /// The first use of a run, after this time.
    AfterGap(u32),
}

impl Habit {
    /// Returns the low bits of a submission's number. Ages are differences of them, so a heap that was not
    /// used for 2^32 submissions appears recently used.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "expected heap")]
    pub(super) fn clock(now: Moment) -> u32 {
        now.submission as u32
    }

    /// Returns the time since the last use, at most 2^29, so that four times as much plus one fit in 32 bits.
    #[inline]
    pub(super) fn age(&self, now: u32) -> u32 {
        now.wrapping_sub(self.last).saturating_mul(SUBMISSION).min(1 << 29)
    }

    #[inline]
    pub(super) fn is_used_at(&self, now: u32) -> bool {
        self.seen && self.last == now
    }

    /// Returns whether the heap was used this many submissions later than `before`, with the same pattern.
    #[inline]
    pub(super) fn is_but_later(&self, before: &Self, interval: u64) -> bool {
        u64::from(self.last.wrapping_sub(before.last)) == interval
            && *self == Self { last: self.last, ..*before }
    }

    #[inline]
    pub(super) fn learn(&mut self, now: u32) -> Learned {
        if !std::mem::replace(&mut self.seen, true) {
            self.last = now;
            return Learned::First;
        }
        let passed = self.age(now);
        self.last = now;
        if passed == 0 {
            return if self.interval.mean == 0 { Learned::First } else { Learned::InRun };
        }
        let usual = self.interval;
        if passed == usual.mean && usual.deviation == 0 {
            // Regular use is frequent, and changes nothing.
            self.after_gap = false;
            return Learned::InRun;
        }
        if usual.mean == 0 {
            self.interval = Smoothed::first(passed);
            return Learned::Second(passed);
        }
        let after_gap = std::mem::take(&mut self.after_gap);
        if passed > usual.latest().max(usual.mean.saturating_mul(GAP_IN_INTERVALS)) {
            if after_gap {
                // Two gaps in a row: they are the new interval.
                let before = self.gaps[1];
                self.interval =
                    Smoothed { mean: passed / 2 + before / 2, deviation: passed.abs_diff(before) / 2 };
            } else {
                self.learn_gap(passed);
                self.after_gap = true;
            }
            return Learned::AfterGap(passed);
        }
        if usual.mean.saturating_sub(passed) > (4 * usual.deviation).max(usual.mean / 2) {
            // The earlier intervals were gaps, and this is a run.
            self.learn_gap(usual.mean);
            self.interval = Smoothed::first(passed);
        } else {
            self.interval.learn::<2>(passed);
        }
        Learned::InRun
    }

    #[inline]
    fn learn_gap(&mut self, gap: u32) {
        self.gap_deviation = match self.gap() {
            0 => gap / 8,
            expected => self.gap_deviation / 2 + gap.abs_diff(expected) / 2,
        };
        self.gaps = [self.gaps[1], gap];
    }

    /// Returns the expected gap: the one before the last, because alternating use has a short and a long gap
    /// in turn.
    #[inline]
    pub(super) fn gap(&self) -> u32 {
        if self.gaps[0] == 0 { self.gaps[1] } else { self.gaps[0] }
    }

    /// Returns how many of the last gaps were longer than `age`, and the sum of the differences.
    #[inline]
    pub(super) fn longer_gaps(&self, age: u32) -> (u64, u64) {
        let longer = self.gaps.iter().filter(|&&gap| gap > age);
        longer.fold((0, 0), |(count, sum), &gap| (count + 1, sum + u64::from(gap - age)))
    }

    /// Returns whether gaps were about as long as expected.
    #[inline]
    pub(super) fn gap_is_regular(&self) -> bool {
        self.gap() != 0 && self.gap_deviation <= self.gap() / 2
    }

    #[inline]
    pub(super) fn expect_gap(&mut self, gap: u32, deviation: u32) {
        (self.expected, self.expected_deviation) = (gap, deviation);
    }

    /// Returns the time after which the gap is not the one that was expected.
    #[inline]
    pub(super) fn latest_gap(&self) -> u32 {
        let slack = self.expected_deviation.saturating_mul(4).max(self.expected / 4).max(2 * SUBMISSION);
        self.expected.saturating_add(slack)
    }

    /// Returns the distance of the next use, if the heap is in a run.
    #[inline]
    pub(super) fn left_in_run(&self, now: u32) -> u64 {
        left(self.interval, self.age(now))
    }

    /// Returns the distance of the next use, if the heap is in a gap.
    #[inline]
    pub(super) fn left_in_gap(&self, now: u32) -> u64 {
        left(Smoothed { mean: self.expected, deviation: self.expected_deviation }, self.age(now))
    }
}

/// Returns the rest of an interval, at least its deviation.
#[inline]
pub(super) fn left(interval: Smoothed, age: u32) -> u64 {
    u64::from(interval.mean.saturating_sub(age).max(interval.deviation))
}
