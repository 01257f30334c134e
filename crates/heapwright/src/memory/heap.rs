//! A heap that the allocator made.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use heapwright_core::ByteSize;
use heapwright_d3d12::*;

use super::accounts::{Accounts, Charge};
use crate::error::Obstacle;
use crate::residency::ResidencyHeap;

/// A heap, and what it is charged to. Dropping the last reference gives it back to the device.
#[derive(Debug)]
pub(crate) struct Heap {
    /// Before the residency heap, which gives the last reference back.
    d3d12: ID3D12Heap,
    /// `None` without a manager, and where the manager leaves it alone.
    residency: Option<ResidencyHeap>,
    size: ByteSize,
    charge: Mutex<Charge>,
    /// Whether it was made in advance and nothing was in it yet.
    is_prefetched: AtomicBool,
    /// In a pool with bounds.
    _permit: Option<HeapPermit>,
}

impl Heap {
    pub(crate) fn new(
        d3d12: ID3D12Heap,
        residency: Option<ResidencyHeap>,
        size: ByteSize,
        charge: Charge,
        permit: Option<HeapPermit>,
    ) -> Arc<Self> {
        let (charge, is_prefetched) = (Mutex::new(charge), AtomicBool::new(false));
        Arc::new(Self { residency, d3d12, size, charge, is_prefetched, _permit: permit })
    }

    /// Labels that it was made in advance.
    pub(crate) fn mark_prefetched(&self) {
        self.is_prefetched.store(true, Ordering::Relaxed);
    }

    /// Returns whether it was made in advance and is used for the first time.
    pub(crate) fn take_prefetched(&self) -> bool {
        self.is_prefetched.load(Ordering::Relaxed) && self.is_prefetched.swap(false, Ordering::Relaxed)
    }

    /// What the residency manager knows it by.
    #[inline]
    pub(crate) fn residency(&self) -> Option<&ResidencyHeap> {
        self.residency.as_ref()
    }

    pub(crate) fn d3d12(&self) -> &ID3D12Heap {
        &self.d3d12
    }

    pub(crate) fn size(&self) -> ByteSize {
        self.size
    }

    /// Charges it to other accounts from now on; when their limit forbids that, it stays with those that it was.
    pub(crate) fn transfer_to(&self, accounts: &Arc<Accounts>) -> Result<(), Obstacle> {
        let mut charge = self.charge.lock().unwrap_or_else(PoisonError::into_inner);
        if !charge.is_on(accounts) {
            *charge = charge.transferred(accounts)?;
        }
        Ok(())
    }
}

/// One of the heaps that a pool may have.
#[derive(Debug)]
pub(crate) struct HeapPermit {
    heap_count: Arc<AtomicU64>,
}

impl HeapPermit {
    /// Counts one heap more, of `limit` at most; zero is no bound.
    pub(crate) fn take(heap_count: &Arc<AtomicU64>, limit: u64) -> Result<Self, Obstacle> {
        let limit = if limit == 0 { u64::MAX } else { limit };
        let next = |taken: u64| (taken < limit).then_some(taken + 1);
        heap_count
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
            .map_err(|_| Obstacle::HeapCount { limit })?;
        Ok(Self { heap_count: Arc::clone(heap_count) })
    }
}

impl Drop for HeapPermit {
    fn drop(&mut self) {
        self.heap_count.fetch_sub(1, Ordering::Relaxed);
    }
}
