//! The best of several repetitions.

use std::time::Duration;

/// A measurement that may be repeated.
///
/// The minimum of times is kept instead of the mean, as other load of the machine can only increase them. All other
/// values are the same in each repetition.
pub trait Best {
    /// Keeps the better of both measurements.
    fn keep_best(&mut self, again: Self);
}

/// The times of a series of operations in slices, each the minimum of its repetitions.
///
/// Slices are short, so that a slice that was interrupted is measured without interruption in another repetition.
#[derive(Clone, Debug, Default)]
pub struct Slices(Vec<Duration>);

impl Slices {
    /// Number of operations per slice. Reading the clock is negligible in comparison.
    pub const LENGTH: usize = 1000;

    /// Adds the time of the next slice.
    pub fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// Returns the sum of all slices, in nanoseconds.
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
