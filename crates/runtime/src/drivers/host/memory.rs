//! Memory of the simulated GPU: reserved address space of the host.

use std::ptr::NonNull;

use heapwright_core::ByteSize;

use super::heap_time::PaidHeap;
use crate::ddi::DriverError;
use crate::ddi::existing_pages::ExistingPages;
use crate::drivers::heap::{HeapMemory, Usable};
use crate::drivers::reservation::Reservation;

/// The memory of a heap. Its bytes never move: only the GPU's access to them begins and ends.
pub(super) struct SimulatedMemory {
    pub(super) bytes: Bytes,
    pub(super) place: Place,
    /// Held for its drop.
    pub(super) _cost: PaidHeap,
}

/// The bytes of a heap.
pub(super) enum Bytes {
    Own(Reservation),
    /// Those of the application, which they outlive.
    Existing(ExistingPages),
}

/// Where the bytes are said to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Where the GPU can access them.
    Here,
    /// There, and about to leave.
    Leaving,
    /// Away.
    Away,
}

impl HeapMemory for SimulatedMemory {
    fn usable(&self) -> Option<Usable> {
        (self.place == Place::Here).then(Usable::default)
    }

    fn is_charged(&self) -> bool {
        self.place != Place::Away
    }

    fn map(&self, offset: u64, size: u64) -> Result<NonNull<u8>, DriverError> {
        let failed = DriverError::HostOutOfMemory { requested: ByteSize::new(size) };
        let found = match &self.bytes {
            Bytes::Own(reservation) => reservation.commit(offset, size),
            Bytes::Existing(pages) => pages.at(offset, size),
        };
        found.ok_or(failed)
    }

    fn end_return(&mut self) -> Result<(), DriverError> {
        self.place = Place::Here;
        Ok(())
    }

    fn begin_leaving(&mut self) -> Result<(), DriverError> {
        if self.place == Place::Here {
            self.place = Place::Leaving;
        }
        Ok(())
    }

    fn end_leaving(&mut self) -> Result<(), DriverError> {
        // Unless it has returned meanwhile.
        if self.place == Place::Leaving {
            self.place = Place::Away;
        }
        Ok(())
    }
}
