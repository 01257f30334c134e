//! The clock by which empty heaps are released while the application tells of no frames.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use heapwright_core::placement::lane_of_thread;

/// The time after which idle memory is looked for.
const PERIOD_MS: u64 = 500;

/// The largest number of periods that matters: that of `HeapRetention::FEWEST_HITCHES`.
const MOST_PERIODS: u64 = 20;

/// Frames that are farther apart than this are too few to be counted instead of time.
const LONG_FRAME_MS: u64 = 100;

/// The clock is read with every so many creations of a thread, because a reading costs a sixth of a creation.
const CALLS_PER_READING: u32 = 32;

/// The number of counters of calls, which further threads share.
const COUNTERS: usize = 16;

const NOT_TOLD: u64 = u64::MAX;

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(NOT_TOLD - 1)
}

/// Counts periods. It is read by calls, so it needs no thread.
#[derive(Debug)]
pub(crate) struct IdleClock {
    start: Instant,
    /// When the last period ended or the last frame passed, in milliseconds.
    last: AtomicU64,
    /// The time that the application told, in milliseconds, or `NOT_TOLD`.
    told: AtomicU64,
    /// The calls of each thread.
    calls: [Counter; COUNTERS],
}

/// A counter on its own cache lines. Processors fetch lines of 64 bytes in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Counter(AtomicU32);

impl IdleClock {
    pub(crate) fn start() -> Self {
        Self {
            start: Instant::now(),
            last: AtomicU64::new(0),
            told: AtomicU64::new(NOT_TOLD),
            calls: Default::default(),
        }
    }

    fn now(&self) -> u64 {
        match self.told.load(Ordering::Relaxed) {
            NOT_TOLD => milliseconds(self.start.elapsed()),
            told => told,
        }
    }

    /// Sets the time, which the clock no longer does. A time before an earlier one is ignored.
    pub(crate) fn tell(&self, time: Duration) {
        let now = milliseconds(time);
        let later = |told| (told == NOT_TOLD || told < now).then_some(now);
        let told = self.told.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later);
        if told == Ok(NOT_TOLD) {
            self.last.store(now, Ordering::Relaxed);
        }
    }

    /// Returns whether [`take_periods`](Self::take_periods) would return any.
    pub(crate) fn has_period(&self) -> bool {
        self.now().saturating_sub(self.last.load(Ordering::Relaxed)) >= PERIOD_MS
    }

    /// Returns the number of periods that passed, up to those that are enough to release everything. Each is returned
    /// to one caller only.
    pub(crate) fn take_periods(&self) -> u64 {
        let (now, last) = (self.now(), self.last.load(Ordering::Relaxed));
        let periods = now.saturating_sub(last) / PERIOD_MS;
        let is_first = periods > 0
            && self.last.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if is_first { periods.min(MOST_PERIODS) } else { 0 }
    }

    /// Begins a new period if frames pass often: they are counted instead.
    pub(crate) fn pass_frame(&self) {
        let now = self.now();
        if now.saturating_sub(self.last.load(Ordering::Relaxed)) <= LONG_FRAME_MS {
            self.last.store(now, Ordering::Relaxed);
        }
    }

    /// Returns whether this call is one that reads the clock.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        let Counter(calls) = &self.calls[lane_of_thread() as usize % COUNTERS];
        // Two threads may share a counter, and then lose a call.
        let count = calls.load(Ordering::Relaxed).wrapping_add(1);
        calls.store(count, Ordering::Relaxed);
        count.is_multiple_of(CALLS_PER_READING)
    }
}
