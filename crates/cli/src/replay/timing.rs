//! Times of single calls, in nanoseconds.

use std::time::Instant;

use serde::Serialize;

/// Measures the times of calls, without the cost of reading the clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopwatch {
    clock_cost_ns: u64,
}

impl Stopwatch {
    /// Measures the cost of reading the clock as the median of some thousand pairs of readings, which is not affected
    /// by a few interruptions.
    pub(super) fn calibrate() -> Self {
        const PAIRS: usize = 4096;
        let bare = Self { clock_cost_ns: 0 };
        let mut costs: Vec<u64> = (0..PAIRS).map(|_| bare.time(|| ()).1).collect();
        Self { clock_cost_ns: *costs.select_nth_unstable(PAIRS / 2).1 }
    }

    /// Runs `call` and returns its result and duration.
    #[inline]
    pub(super) fn time<T>(self, call: impl FnOnce() -> T) -> (T, u64) {
        let start = Instant::now();
        let result = call();
        let elapsed = start.elapsed();
        let elapsed_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        (result, elapsed_ns.saturating_sub(self.clock_cost_ns))
    }
}

/// Times of calls of one kind.
#[derive(Clone, Debug)]
pub(super) struct Samples(Vec<u64>);

impl Samples {
    /// Creates an empty collection that holds `capacity` times without reallocation, which would disturb measurements.
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
    }

    pub(super) fn push(&mut self, nanoseconds: u64) {
        self.0.push(nanoseconds);
    }

    pub(super) fn percentiles(&self) -> Percentiles {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        // Nearest rank: the smallest time that at least `percent` % of the calls did not exceed.
        let rank = |percent: usize| (sorted.len() * percent).div_ceil(100).checked_sub(1);
        let at = |percent| rank(percent).map(|rank| sorted[rank]);
        Percentiles { p50: at(50), p99: at(99), max: sorted.last().copied() }
    }

    /// Returns the mean time of the calls of both kinds, or `None` without calls.
    pub(super) fn mean_with(&self, other: &Self) -> Option<f64> {
        let count = self.0.len() + other.0.len();
        // 128 bits cannot overflow with as many times as fit in memory.
        let total: u128 = self.0.iter().chain(&other.0).map(|&time| u128::from(time)).sum();
        #[expect(clippy::cast_precision_loss, reason = "a mean needs no more than 53 bits")]
        (count > 0).then(|| total as f64 / count as f64)
    }
}

/// Median, 99th percentile and maximum of times, or `None` without times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Percentiles {
    pub(crate) p50: Option<u64>,
    pub(crate) p99: Option<u64>,
    pub(crate) max: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn samples(times: impl IntoIterator<Item = u64>) -> Samples {
        Samples(times.into_iter().collect())
    }

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let percentiles = |times| samples(times).percentiles();
        assert_eq!(percentiles(vec![]), Percentiles { p50: None, p99: None, max: None });
        assert_eq!(percentiles(vec![7]), Percentiles { p50: Some(7), p99: Some(7), max: Some(7) });
        assert_eq!(percentiles(vec![9, 1]), Percentiles { p50: Some(1), p99: Some(9), max: Some(9) });
        let hundred = (1..=100).rev().collect();
        assert_eq!(percentiles(hundred), Percentiles { p50: Some(50), p99: Some(99), max: Some(100) });
        let thousand = (1..=1000).collect();
        assert_eq!(percentiles(thousand), Percentiles { p50: Some(500), p99: Some(990), max: Some(1000) });
    }

    #[test]
    fn the_mean_is_over_both_kinds() {
        assert_eq!(samples([]).mean_with(&samples([])), None);
        assert_eq!(samples([1, 2]).mean_with(&samples([6])), Some(3.0));
        assert_eq!(samples([]).mean_with(&samples([u64::MAX, u64::MAX])), Some(18_446_744_073_709_551_615.0));
    }

    #[test]
    fn a_call_takes_at_least_as_long_as_it_sleeps() {
        let stopwatch = Stopwatch::calibrate();
        let (result, time) = stopwatch.time(|| {
            std::thread::sleep(Duration::from_millis(5));
            42
        });
        assert_eq!(result, 42);
        assert!(time > 4_000_000, "{time}");
    }

    #[test]
    fn durations_do_not_underflow() {
        let stopwatch = Stopwatch { clock_cost_ns: u64::MAX };
        assert_eq!(stopwatch.time(|| ()).1, 0);
    }
}
