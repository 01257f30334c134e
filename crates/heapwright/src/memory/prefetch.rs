//! What is known of the heaps of one kind that are made in advance.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What is known of the heaps of one kind that are made in advance.
#[derive(Debug, Default)]
pub(crate) struct Prefetch {
    /// Whether one is being made: no other is requested until it is there.
    is_pending: AtomicBool,
    misses: AtomicU64,
    eliminated: AtomicU64,
}

impl Prefetch {
    /// Begins to make one; `false` if one is being made.
    pub(crate) fn begin(&self) -> bool {
        !self.is_pending.swap(true, Ordering::Acquire)
    }

    pub(crate) fn end(&self) {
        self.is_pending.store(false, Ordering::Release);
    }

    /// Waits for the heap that is being made, for tests: only then nothing changes any more.
    pub(crate) fn wait(&self) {
        while self.is_pending.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    }

    /// Counts a heap that was needed and had not been made in advance.
    pub(crate) fn count_miss(&self) {
        self.misses.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the first use of a heap that had been made in advance.
    pub(crate) fn count_eliminated(&self) {
        self.eliminated.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many heaps were needed and had not been made in advance, and how many had been.
    pub(crate) fn misses_and_eliminated(&self) -> (u64, u64) {
        (self.misses.load(Ordering::Relaxed), self.eliminated.load(Ordering::Relaxed))
    }
}
