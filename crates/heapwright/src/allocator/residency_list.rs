//! Allocations in residency lists.

use super::allocation::ResourceAllocation;
use crate::Error;
use crate::residency::{OpenResidencyList, ResidencyList};

impl ResidencyList {
    /// Adds the heap of an allocation, or nothing if its allocator has no residency manager. O(1), amortized.
    ///
    /// # Errors
    ///
    /// The errors of [`add`](Self::add).
    pub fn add_allocation(&self, allocation: &ResourceAllocation) -> Result<(), Error> {
        self.open()?.add_allocation(allocation)
    }
}

impl OpenResidencyList<'_> {
    /// Adds the heap of an allocation, like [`ResidencyList::add_allocation`].
    ///
    /// # Errors
    ///
    /// The errors of [`add`](Self::add).
    pub fn add_allocation(&mut self, allocation: &ResourceAllocation) -> Result<(), Error> {
        allocation.memory().map_or(Ok(()), |heap| self.add(heap))
    }
}
