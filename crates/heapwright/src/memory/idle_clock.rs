//! The clock by which empty heaps are released while the application tells of no frames.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A heap that is empty for two of these periods, a second, is released.
const PERIOD_MS: u64 = 500;

/// A thread reads the clock with every so many creations, because a reading costs a sixth of a creation.
const CALLS_PER_READING: u32 = 32;

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
}

impl IdleClock {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now(), last: AtomicU64::new(0), told: AtomicU64::new(NOT_TOLD) }
    }

    fn now(&self) -> u64 {
        match self.told.load(Ordering::Relaxed) {
            NOT_TOLD => milliseconds(self.start.elapsed()),
            told => told,
        }
    }

    /// Sets the time, which the clock no longer does.
    pub(crate) fn tell(&self, time: Duration) {
        let now = milliseconds(time);
        if self.told.swap(now, Ordering::Relaxed) == NOT_TOLD {
            self.last.store(now, Ordering::Relaxed);
        }
    }

    /// Returns the number of periods that passed, up to two, which is enough to release everything. Each is returned
    /// to one caller only.
    pub(crate) fn take_periods(&self) -> u32 {
        let (now, last) = (self.now(), self.last.load(Ordering::Relaxed));
        let periods = now.saturating_sub(last) / PERIOD_MS;
        let is_first = periods > 0
            && self.last.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if is_first { u32::try_from(periods.min(2)).unwrap_or(2) } else { 0 }
    }

    /// Begins a new period: while frames pass, they are counted instead.
    pub(crate) fn restart(&self) {
        self.last.store(self.now(), Ordering::Relaxed);
    }

    /// Returns whether this call of the thread is one that reads the clock.
    #[inline]
    pub(crate) fn is_due() -> bool {
        thread_local!(static CALLS: Cell<u32> = const { Cell::new(0) });
        CALLS
            .try_with(|calls| {
                calls.set(calls.get().wrapping_add(1));
                calls.get().is_multiple_of(CALLS_PER_READING)
            })
            .unwrap_or(false)
    }
}
