//! The best of several repetitions.

use std::time::Duration;

/// A measure that may be repeated.
///
/// The least time is kept and not the mean: what the machine does besides only ever adds to it. All that is not time is the same in
/// each repetition.
pub trait Best {
    /// Keeps the better of both.
    fn keep_best(&mut self, again: Self);
}

/// The time of a series of operations in slices, each the least of its repetitions.
///
/// Slices are short, so that one which the machine took for something else comes out of another repetition undisturbed.
#[derive(Clone, Debug, Default)]
pub struct Slices(Vec<Duration>);

impl Slices {
    /// So many operations are timed together; reading the clock is nothing beside them.
    pub const LENGTH: usize = 1000;

    /// Adds the next slice.
    pub fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// All slices together, in nanoseconds.
    #[must_use]
    pub fn nanoseconds(&self) -> f64 {
        self.0.iter().sum::<Duration>().as_secs_f64() * 1e9
    }
}

impl Best for Slices {
    fn keep_best(&mut self, again: Self) {
        if self.0.is_empty() {
            self.0 = again.0;
            return;
        }
        for (best, again) in self.0.iter_mut().zip(again.0) {
            *best = (*best).min(again);
        }
    }
}
