//! The state of prefetching for the heaps of one kind.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The state of prefetching for the heaps of one kind.
#[derive(Debug, Default)]
pub(crate) struct Prefetch {
    /// Whether a heap is being created. No other is requested until then.
    is_pending: AtomicBool,
    misses: AtomicU64,
    eliminated: AtomicU64,
}

impl Prefetch {
    /// Begins a prefetch; returns `false` if one is in progress.
    pub(crate) fn begin(&self) -> bool {
        !self.is_pending.swap(true, Ordering::Acquire)
    }

    pub(crate) fn end(&self) {
        self.is_pending.store(false, Ordering::Release);
    }

    /// Waits for the heap that is being created. For tests, which need a state that does not change.
    pub(crate) fn wait(&self) {
        while self.is_pending.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    }

    /// Counts a heap that was needed and had not been prefetched.
    pub(crate) fn count_miss(&self) {
        self.misses.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the first use of a prefetched heap.
    pub(crate) fn count_eliminated(&self) {
        self.eliminated.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of heaps that were needed and had not been prefetched, and the number of those that had been.
    pub(crate) fn misses_and_eliminated(&self) -> (u64, u64) {
        (self.misses.load(Ordering::Relaxed), self.eliminated.load(Ordering::Relaxed))
    }
}
