//! The residency of objects that are small and never paged: descriptor heaps and query heaps.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::ddi::DriverError;

/// How many reasons there are for an object to be resident, as `MakeResident` and `Evict` count them.
///
/// The object's bytes stay where they are: only the count is D3D12's.
#[derive(Debug)]
pub(super) struct ResidencyCount(AtomicU32);

impl ResidencyCount {
    /// One reason: the object was created.
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(1))
    }

    /// Counts one more reason.
    pub(super) fn make_resident(&self) {
        // At the end of the numbers the object stays resident for good.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_add(1));
    }

    /// Counts one reason less.
    ///
    /// # Errors
    ///
    /// [`DriverError::NotResident`] when there is no reason to take away.
    pub(super) fn evict(&self) -> Result<(), DriverError> {
        let changed = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1));
        changed.map(|_| ()).map_err(|_| DriverError::NotResident)
    }
}
