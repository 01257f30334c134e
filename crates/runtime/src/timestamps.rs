//! Timestamps of queues. Their clock is the system's monotonic clock, so GPU and CPU timestamps agree.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Returns the number of ticks per second.
pub(crate) fn frequency() -> u64 {
    system::frequency()
}

/// Returns the current time in ticks.
pub(crate) fn now() -> u64 {
    system::now()
}

/// The timestamps of a query heap. The memory is that of the queries that have ended, whatever the heap's count is.
#[derive(Debug, Default)]
pub(crate) struct Timestamps(Mutex<BTreeMap<u32, u64>>);

impl Timestamps {
    /// Ends a query: its result is the current time.
    pub(crate) fn end(&self, index: u32) {
        self.lock().insert(index, now());
    }

    /// Returns the result of a query, 0 if it has never ended.
    pub(crate) fn result(&self, index: u32) -> u64 {
        self.lock().get(&index).copied().unwrap_or(0)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(windows)]
mod system {
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn QueryPerformanceCounter(count: *mut i64) -> i32;
        fn QueryPerformanceFrequency(frequency: *mut i64) -> i32;
    }

    pub(super) fn frequency() -> u64 {
        let mut frequency = 0;
        // SAFETY: the pointer refers to a local variable. The call cannot fail on Windows XP or later.
        unsafe { QueryPerformanceFrequency(&mut frequency) };
        u64::try_from(frequency).unwrap_or(0)
    }

    pub(super) fn now() -> u64 {
        let mut count = 0;
        // SAFETY: same as above.
        unsafe { QueryPerformanceCounter(&mut count) };
        u64::try_from(count).unwrap_or(0)
    }
}

/// CLOCK_MONOTONIC, in nanoseconds.
#[cfg(not(windows))]
mod system {
    pub(super) fn frequency() -> u64 {
        1_000_000_000
    }

    pub(super) fn now() -> u64 {
        // SAFETY: timespec is plain data, for which all zeros are valid.
        let mut time: libc::timespec = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer refers to a local variable, and every Unix has the clock.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        seconds.wrapping_mul(frequency()).wrapping_add(u64::try_from(time.tv_nsec).unwrap_or(0))
    }
}
