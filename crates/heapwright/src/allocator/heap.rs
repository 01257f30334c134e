//! A heap that the allocator made.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use heapwright_core::ByteSize;
use heapwright_d3d12::*;

use super::accounts::{Accounts, Charge};
use super::typed_heaps::Seat;
use crate::error::Obstacle;
use crate::residency::ResidencyHeap;

/// A heap, and what it is charged to. Dropping the last reference gives it back to the device.
#[derive(Debug)]
pub(super) struct Heap {
    /// Before the residency heap, which gives the last reference back.
    d3d12: ID3D12Heap,
    /// `None` without a manager, and where the manager leaves it alone.
    residency: Option<ResidencyHeap>,
    size: ByteSize,
    charge: Mutex<Charge>,
    /// Whether it was made in advance and nothing was in it yet.
    is_prefetched: AtomicBool,
    /// In a pool with bounds.
    _seat: Option<Seat>,
}

impl Heap {
    pub(super) fn new(
        d3d12: ID3D12Heap,
        residency: Option<ResidencyHeap>,
        size: ByteSize,
        charge: Charge,
        seat: Option<Seat>,
    ) -> Arc<Self> {
        let (charge, is_prefetched) = (Mutex::new(charge), AtomicBool::new(false));
        Arc::new(Self { residency, d3d12, size, charge, is_prefetched, _seat: seat })
    }

    /// Notes that it was made in advance.
    pub(super) fn mark_prefetched(&self) {
        self.is_prefetched.store(true, Ordering::Relaxed);
    }

    /// Returns whether it was made in advance and is used for the first time.
    pub(super) fn take_prefetched(&self) -> bool {
        self.is_prefetched.load(Ordering::Relaxed) && self.is_prefetched.swap(false, Ordering::Relaxed)
    }

    /// What the residency manager knows it by.
    #[inline]
    pub(super) fn residency(&self) -> Option<&ResidencyHeap> {
        self.residency.as_ref()
    }

    pub(super) fn d3d12(&self) -> &ID3D12Heap {
        &self.d3d12
    }

    pub(super) fn size(&self) -> ByteSize {
        self.size
    }

    /// Charges it to other accounts from now on; when their limit forbids that, it stays with those that it was.
    pub(super) fn transfer_to(&self, accounts: &Arc<Accounts>) -> Result<(), Obstacle> {
        let mut charge = self.charge.lock().unwrap_or_else(PoisonError::into_inner);
        if !charge.is_on(accounts) {
            *charge = charge.transferred(accounts)?;
        }
        Ok(())
    }
}
