//! Usage of one segment group against its capacity and budget.

use std::sync::atomic::{AtomicU64, Ordering};

use heapwright_core::ByteSize;

use super::profile::SegmentProfile;
use crate::ddi::{DriverError, VideoMemory};

/// Accounts for the memory of one segment group. All operations are O(1) and take no lock.
#[derive(Debug)]
pub(super) struct Segment {
    profile: SegmentProfile,
    /// Bytes in use; never above the capacity.
    usage: AtomicU64,
    /// Bytes reserved for this process; never above [`Segment::available_for_reservation`].
    reservation: AtomicU64,
}

impl Segment {
    pub(super) fn new(profile: SegmentProfile) -> Self {
        Self { profile, usage: AtomicU64::new(0), reservation: AtomicU64::new(0) }
    }

    /// Takes `size` bytes, or fails and takes nothing when that would exceed the capacity.
    pub(super) fn charge(&self, size: ByteSize) -> Result<(), DriverError> {
        let capacity = self.profile.capacity;
        self.usage
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |usage| {
                usage.checked_add(size.get()).filter(|&sum| sum <= capacity.get())
            })
            .map(|_| ())
            .map_err(|usage| DriverError::OutOfMemory {
                requested: size,
                usage: ByteSize::new(usage),
                capacity,
            })
    }

    /// Gives back what [`charge`](Self::charge) took.
    pub(super) fn discharge(&self, size: ByteSize) {
        let before = self.usage.fetch_sub(size.get(), Ordering::Relaxed);
        debug_assert!(before >= size.get(), "more given back than taken");
    }

    /// Whether `size` more bytes would stay within the budget.
    pub(super) fn fits_budget(&self, size: ByteSize) -> bool {
        let usage = self.usage.load(Ordering::Relaxed);
        usage.checked_add(size.get()).is_some_and(|sum| sum <= self.profile.budget.get())
    }

    pub(super) fn reserve(&self, reservation: ByteSize) -> Result<(), DriverError> {
        let available = self.available_for_reservation();
        if reservation > available {
            return Err(DriverError::ReservationTooLarge { requested: reservation, available });
        }
        self.reservation.store(reservation.get(), Ordering::Relaxed);
        Ok(())
    }

    pub(super) fn report(&self) -> VideoMemory {
        VideoMemory {
            budget: self.profile.budget,
            current_usage: ByteSize::new(self.usage.load(Ordering::Relaxed)),
            available_for_reservation: self.available_for_reservation(),
            current_reservation: ByteSize::new(self.reservation.load(Ordering::Relaxed)),
        }
    }

    /// Half of the budget, the order of magnitude that Windows answers.
    fn available_for_reservation(&self) -> ByteSize {
        ByteSize::new(self.profile.budget.get() / 2)
    }
}
