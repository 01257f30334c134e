//! Sums over the heap sets of an allocator.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::HeapRetention;
use crate::ByteSize;

/// A set adds its operations to the shared number when it has so many.
pub(super) const OPERATIONS_PER_SUM: u64 = 16;

/// What the [sets](super::SharedHeapSet) of an allocator count together, to decide which empty heaps to keep.
///
/// Every value is an atomic of its own, without a lock.
#[derive(Debug, Default)]
pub struct HeapTally {
    /// Allocations and frees. Counted by all tallies that [`beside`](Self::beside) created.
    operations: Arc<AtomicU64>,
    /// Bytes of heaps.
    held: AtomicU64,
    /// Bytes of the empty ones.
    empty: AtomicU64,
    /// Bytes of empty heaps that are kept in any case.
    needed: AtomicU64,
    /// Whether a heap has become empty since the last call of `take_became_empty`.
    became_empty: AtomicBool,
}

impl HeapTally {
    /// Creates a tally with bytes of its own that counts the same operations.
    #[must_use]
    pub fn beside(&self) -> Self {
        Self { operations: Arc::clone(&self.operations), ..Self::default() }
    }

    /// Returns the number of operations. Up to 16 of each set, and up to 64 slots of each of its lanes, are not in it yet.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// Returns the bytes of empty heaps.
    #[must_use]
    #[inline]
    pub fn empty(&self) -> ByteSize {
        ByteSize::new(self.empty.load(Ordering::Relaxed))
    }

    /// Adds bytes of empty heaps that are kept in any case.
    pub fn add_needed(&self, bytes: ByteSize) {
        self.needed.fetch_add(bytes.get(), Ordering::Relaxed);
    }

    /// Subtracts bytes that were [added](Self::add_needed).
    pub fn subtract_needed(&self, bytes: ByteSize) {
        self.needed.fetch_sub(bytes.get(), Ordering::Relaxed);
    }

    /// Returns whether a heap has become empty since the last call.
    #[inline]
    pub fn take_became_empty(&self) -> bool {
        self.became_empty.load(Ordering::Relaxed) && self.became_empty.swap(false, Ordering::Relaxed)
    }

    /// Returns the bytes of empty heaps that are too many.
    #[must_use]
    pub fn surplus(&self, retention: &HeapRetention) -> ByteSize {
        let (held, empty) = (self.held.load(Ordering::Relaxed), self.empty());
        let needed = ByteSize::new(self.needed.load(Ordering::Relaxed));
        // Another thread may be between two additions.
        let in_use = ByteSize::new(held.saturating_sub(empty.get()));
        retention.surplus(in_use, empty.saturating_sub(needed))
    }

    pub(super) fn count_operations(&self, operations: u64) {
        self.operations.fetch_add(operations, Ordering::Relaxed);
    }

    pub(super) fn add_held(&self, bytes: ByteSize) {
        self.held.fetch_add(bytes.get(), Ordering::Relaxed);
    }

    pub(super) fn subtract_held(&self, bytes: ByteSize) {
        self.held.fetch_sub(bytes.get(), Ordering::Relaxed);
    }

    pub(super) fn add_empty(&self, bytes: ByteSize) {
        self.empty.fetch_add(bytes.get(), Ordering::Relaxed);
    }

    pub(super) fn subtract_empty(&self, bytes: ByteSize) {
        self.empty.fetch_sub(bytes.get(), Ordering::Relaxed);
    }

    pub(super) fn note_became_empty(&self) {
        self.became_empty.store(true, Ordering::Relaxed);
    }

    /// Returns a separate tally with the same values.
    pub(super) fn copied(&self) -> Self {
        let copy = |value: &AtomicU64| AtomicU64::new(value.load(Ordering::Relaxed));
        Self {
            operations: Arc::new(copy(&self.operations)),
            held: copy(&self.held),
            empty: copy(&self.empty),
            needed: copy(&self.needed),
            became_empty: AtomicBool::default(),
        }
    }
}
