//! Counts over the heap sets of an allocator.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A set adds its operations to the shared number when it has so many.
pub(super) const OPERATIONS_PER_SUM: u64 = 16;

/// Counters that the [sets](super::SharedHeapSet) of an allocator share, to decide which empty heaps to keep.
///
/// Every value is an atomic of its own, without a lock.
#[derive(Default)]
pub struct HeapTally {
    /// Allocations and frees. Counted by all tallies that [`beside`](Self::beside) created.
    operations: Arc<AtomicU64>,
    /// Whether a heap has become empty since the last call of `take_became_empty`.
    became_empty: AtomicBool,
}

impl HeapTally {
    /// Creates a tally that counts the same operations.
    #[must_use]
    pub fn beside(&self) -> Self {
        Self { operations: Arc::clone(&self.operations), ..Self::default() }
    }

    /// Returns the number of operations. Up to 16 of each set, and up to 64 slots of each of its lanes, are not in it yet.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// Returns whether a heap that is kept for a time has become empty since the last call of
    /// [`take_became_empty`](Self::take_became_empty).
    #[must_use]
    #[inline]
    pub fn became_empty(&self) -> bool {
        self.became_empty.load(Ordering::Relaxed)
    }

    /// Returns whether a heap that is kept for a time has become empty since the last call.
    #[must_use]
    pub fn take_became_empty(&self) -> bool {
        self.became_empty.swap(false, Ordering::Relaxed)
    }

    pub(super) fn count_operations(&self, operations: u64) {
        self.operations.fetch_add(operations, Ordering::Relaxed);
    }

    pub(super) fn note_became_empty(&self) {
        self.became_empty.store(true, Ordering::Relaxed);
    }
}
