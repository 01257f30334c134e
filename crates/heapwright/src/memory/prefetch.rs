//! The state of prefetching for the heaps of one kind.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use heapwright_core::ByteSize;
use heapwright_d3d12::*;

use super::typed_heaps::Sharing;
use crate::plan::Constraints;

/// The state of prefetching for the heaps of one kind.
#[derive(Debug, Default)]
pub(crate) struct Prefetch {
    /// Whether a heap is being created. No other is requested until then.
    is_pending: Mutex<bool>,
    ended: Condvar,
    misses: AtomicU64,
    eliminated: AtomicU64,
    /// Heaps that were created while a recording is made.
    created: Mutex<Vec<CreatedHeap>>,
}

/// A heap that was created, and is not counted yet.
#[derive(Debug)]
pub(crate) struct CreatedHeap {
    pub(crate) sharing: Sharing,
    pub(crate) size: ByteSize,
    pub(crate) constraints: Constraints,
    pub(crate) heap: ID3D12Heap,
}

impl Prefetch {
    /// Begins a prefetch; returns `false` if one is in progress.
    pub(crate) fn begin(&self) -> bool {
        !mem::replace(&mut *self.is_pending.lock().unwrap_or_else(PoisonError::into_inner), true)
    }

    pub(crate) fn end(&self) {
        *self.is_pending.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.ended.notify_all();
    }

    /// Waits for the heap that is being created. For tests, which need a state that does not change.
    pub(crate) fn wait(&self) {
        let is_pending = self.is_pending.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.ended.wait_while(is_pending, |is_pending| *is_pending));
    }

    /// Keeps a heap until it is counted.
    pub(crate) fn add_created(&self, heap: CreatedHeap) {
        self.created.lock().unwrap_or_else(PoisonError::into_inner).push(heap);
    }

    /// Returns the heaps that are not counted yet, and keeps them no longer.
    pub(crate) fn take_created(&self) -> Vec<CreatedHeap> {
        mem::take(&mut *self.created.lock().unwrap_or_else(PoisonError::into_inner))
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
