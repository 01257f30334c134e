//! How much of the heaps is free, for threads that do not lock them.

use std::sync::atomic::{AtomicU64, Ordering};

use super::HeapSetTotals;
use crate::ByteSize;

/// The free ranges of a set, and the size of its next heap, as they were when they last changed.
#[derive(Default)]
pub(crate) struct FreeRoom {
    free: AtomicU64,
    heap_size: AtomicU64,
}

impl FreeRoom {
    /// Notes the totals of the heaps.
    pub(super) fn note(&self, totals: &HeapSetTotals) {
        self.free.store(totals.reserved.saturating_sub(totals.used).get(), Ordering::Relaxed);
    }

    /// Notes the size that a new heap for many small requests would have.
    pub(super) fn note_heap_size(&self, size: Option<ByteSize>) {
        self.heap_size.store(size.map_or(u64::MAX, ByteSize::get), Ordering::Relaxed);
    }

    /// Returns whether less is free than half of a new heap for a request of `size` bytes.
    pub(crate) fn is_nearly_full(&self, size: ByteSize) -> bool {
        let heap_size = self.heap_size.load(Ordering::Relaxed).max(size.get());
        self.free.load(Ordering::Relaxed) < heap_size / 2
    }
}
