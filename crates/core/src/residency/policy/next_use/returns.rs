//! When heaps come back that nothing is known of.

use super::habit::{SUBMISSION, Smoothed, left};

/// How many of a kind of heaps were waited for, how many of them came, and after what time.
#[derive(Debug, Default)]
pub(super) struct Returns {
    after: Smoothed,
    waited_for: u32,
    came: u32,
    /// The share that came lately, in 1024ths.
    lately: u32,
}

/// Both counts are halved at that many, so that what was long ago counts less.
const MOST_COUNTED: u32 = 1 << 12;

/// What was not used for a time is taken to stay away that many times as long, at most. Over the scenarios of `tests/residency` 4, 8, 16
/// and 32 cost 1.188, 1.171, 1.166 and 1.162 times the bound in geometric mean.
const DOUBT: u64 = 32;

impl Returns {
    /// A heap did not come when it was expected.
    pub(super) fn wait(&mut self) {
        if self.waited_for >= MOST_COUNTED {
            self.waited_for /= 2;
            self.came /= 2;
        }
        self.waited_for += 1;
        self.lately -= self.lately / 32;
    }

    /// One of those that were waited for came, so long after its last use.
    pub(super) fn come(&mut self, after: u32) {
        self.came = self.came.saturating_add(1).min(self.waited_for);
        self.lately += (1024 - self.lately) / 32;
        self.after.learn::<4>(after);
    }

    /// How far away the next use of a heap of that age is, taking into account that many never come.
    ///
    /// The older the farther away: that is what is right for most programs when nothing else is known.
    pub(super) fn left(&self, age: u32) -> u64 {
        let after = u64::from(self.after.mean.max(64 * SUBMISSION));
        let of_all = after * u64::from(self.waited_for + 1) / u64::from(self.came + 1);
        let age = u64::from(age);
        (age * DOUBT).min(age + of_all)
    }

    /// The same where heaps come, and all after the same time, as when everything is used in turn.
    pub(super) fn left_if_regular(&self, age: u32) -> Option<u64> {
        let regular =
            self.after.mean != 0 && self.after.deviation < self.after.mean / 16 && self.lately > 256;
        (regular && age < self.after.latest()).then(|| left(self.after, age))
    }
}
