//! Statistics of the returns of heaps for which there is no prediction.

use super::habit::{SUBMISSION, Smoothed, left};

/// The number of heaps of one kind that were expected, the number that returned, and the time of their
/// return.
#[derive(Debug, Default)]
pub(super) struct Returns {
    after: Smoothed,
    waited_for: u32,
    came: u32,
    /// The fraction that returned lately, in 1024ths.
    lately: u32,
}

/// The value at which both counts are halved, so that old events count less.
const MOST_COUNTED: u32 = 1 << 12;

/// The maximum factor by which an unused heap is assumed to stay away longer than it was unused. Over the
/// scenarios of the simulation 4, 8, 16 and 32 cost 1.188, 1.171, 1.166 and 1.162 times the bound in
/// geometric mean.
const DOUBT: u64 = 32;

impl Returns {
    /// Records that a heap was not used when expected.
    pub(super) fn wait(&mut self) {
        if self.waited_for >= MOST_COUNTED {
            self.waited_for /= 2;
            self.came /= 2;
        }
        self.waited_for += 1;
        self.lately -= self.lately / 32;
    }

    /// Records that an expected heap returned, this long after its last use.
    pub(super) fn come(&mut self, after: u32) {
        self.came = self.came.saturating_add(1).min(self.waited_for);
        self.lately += (1024 - self.lately) / 32;
        self.after.learn::<4>(after);
    }

    /// Returns the distance of the next use of a heap of that age, taking into account that many never
    /// return.
    ///
    /// It increases with the age, which is right for most programs if nothing else is known.
    pub(super) fn left(&self, age: u32) -> u64 {
        let after = u64::from(self.after.mean.max(64 * SUBMISSION));
        let of_all = after * u64::from(self.waited_for + 1) / u64::from(self.came + 1);
        let age = u64::from(age);
        (age * DOUBT).min(age + of_all)
    }

    /// Returns the distance if heaps return regularly, all after the same time, as when heaps are used in
    /// turn.
    pub(super) fn left_if_regular(&self, age: u32) -> Option<u64> {
        let regular =
            self.after.mean != 0 && self.after.deviation < self.after.mean / 16 && self.lately > 256;
        (regular && age < self.after.latest()).then(|| left(self.after, age))
    }
}
