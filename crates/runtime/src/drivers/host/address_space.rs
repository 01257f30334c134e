//! GPU virtual addresses: who owns which, and what stands behind them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress};

use super::address_owners::{AddressOwners, ReservationId};
use super::free_addresses::Interval;
use super::heap::HostHeap;
use super::tiles::TileTable;
use crate::ddi::{DriverError, GpuVirtualAddressRange};

/// The address space of one simulated GPU, with its page table.
pub(super) struct AddressSpace {
    owners: Mutex<AddressOwners>,
    /// What stands behind addresses, by the first of each range.
    pages: RwLock<BTreeMap<u64, Entry>>,
}

struct Entry {
    size: u64,
    target: Target,
}

/// What stands behind a range. Weak: an owner that is gone leaves a fault, not a dangling byte.
#[derive(Clone)]
pub(super) enum Target {
    Heap(Weak<HostHeap>),
    Tiles(Weak<TileTable>),
}

/// Bytes behind an address, as far as they are contiguous.
pub(super) enum Span {
    /// In a heap, from an offset on. The heap lives as long as the span.
    Memory { heap: Arc<HostHeap>, offset: u64, size: u64 },
    /// A tile with nothing behind it: reads give zero, writes are dropped.
    Null { size: u64 },
}

impl Span {
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Memory { size, .. } | Self::Null { size } => *size,
        }
    }
}

/// An access that the GPU could not make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageFault {
    address: u64,
    cause: FaultCause,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FaultCause {
    /// Nothing is there, or not any more.
    Unmapped,
    /// A tile of a reserved resource that is mapped to NULL, on a GPU where that is undefined.
    NullTile,
    /// The heap of that name is evicted.
    Evicted(String),
    /// The operating system gave no memory for it.
    HostOutOfMemory,
}

impl PageFault {
    pub(super) fn new(address: u64, cause: FaultCause) -> Self {
        Self { address, cause }
    }
}

impl fmt::Display for PageFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.address;
        match &self.cause {
            FaultCause::Unmapped => {
                write!(
                    f,
                    "page fault at GPU address {address:#x}: nothing is there, or its heap was released"
                )
            }
            FaultCause::NullTile => {
                write!(
                    f,
                    "page fault at GPU address {address:#x}: a tile that is mapped to NULL, which tiled resources tier 1 \
                     leaves undefined"
                )
            }
            FaultCause::Evicted(name) => {
                write!(f, "page fault at GPU address {address:#x}: {name} is not resident")
            }
            FaultCause::HostOutOfMemory => {
                write!(f, "no memory of the host's behind GPU address {address:#x}")
            }
        }
    }
}

impl AddressSpace {
    /// An address space of `bits` bits, 33 to 62, which gives out addresses from the seed's place on.
    pub(super) fn new(bits: u32, seed: u64) -> Self {
        Self { owners: Mutex::new(AddressOwners::new(bits, seed)), pages: RwLock::new(BTreeMap::new()) }
    }

    /// What stands behind `address`, at most `size` bytes of it. O(log ranges).
    pub(super) fn translate(&self, address: u64, size: u64) -> Result<Span, PageFault> {
        let fault = || PageFault::new(address, FaultCause::Unmapped);
        let (offset, left, target) = {
            let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
            let (&start, entry) = pages.range(..=address).next_back().ok_or_else(fault)?;
            let offset = address - start;
            let left = entry.size.checked_sub(offset).filter(|&left| left > 0).ok_or_else(fault)?;
            (offset, left, entry.target.clone())
        };
        let size = size.min(left);
        match target {
            Target::Heap(heap) => {
                let heap = heap.upgrade().ok_or_else(fault)?;
                heap.check_access(address)?;
                Ok(Span::Memory { heap, offset, size })
            }
            Target::Tiles(tiles) => tiles.upgrade().ok_or_else(fault)?.translate(address, offset, size),
        }
    }

    fn owners(&self) -> MutexGuard<'_, AddressOwners> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Addresses that belong to one object until dropped.
pub(super) struct AddressRange {
    space: Arc<AddressSpace>,
    /// Whole pages.
    pages: Interval,
    /// The device's addresses that these are of.
    reservation: Option<ReservationId>,
    start: GpuVirtualAddress,
    /// As asked for.
    size: ByteSize,
}

impl AddressRange {
    /// Addresses for `size` bytes, not zero: of the space's choice, or from `at` on.
    ///
    /// # Errors
    ///
    /// [`DriverError::OutOfAddressSpace`]; [`DriverError::CannotCreateAt`] with an address.
    pub(super) fn new(
        space: &Arc<AddressSpace>,
        size: ByteSize,
        alignment: Alignment,
        at: Option<CreateAt>,
    ) -> Result<Self, DriverError> {
        let (pages, reservation) = match at {
            None => (space.owners().take(size, alignment), None),
            Some(CreateAt { address, reservation }) => {
                let taken = space.owners().take_at(reservation, address, size, alignment);
                let range = GpuVirtualAddressRange { start: address, size };
                let pages = taken.map_err(|fault| DriverError::CannotCreateAt { range, fault })?;
                (Some(pages), reservation)
            }
        };
        let none = DriverError::OutOfAddressSpace { requested: size };
        let pages = pages.ok_or(none)?;
        let start = GpuVirtualAddress::new(pages.start).ok_or(none)?;
        Ok(Self { space: Arc::clone(space), pages, reservation, start, size })
    }

    pub(super) fn start(&self) -> GpuVirtualAddress {
        self.start
    }

    pub(super) fn size(&self) -> ByteSize {
        self.size
    }

    /// Puts something behind the addresses.
    pub(super) fn map_to(&self, target: Target) {
        let mut pages = self.space.pages.write().unwrap_or_else(PoisonError::into_inner);
        pages.insert(self.start.get(), Entry { size: self.size.get(), target });
    }
}

impl Drop for AddressRange {
    fn drop(&mut self) {
        self.space.pages.write().unwrap_or_else(PoisonError::into_inner).remove(&self.start.get());
        self.space.owners().give_back(self.pages, self.reservation);
    }
}

/// An address of one's choice, and the device that is to have reserved it.
#[derive(Debug, Clone, Copy)]
pub(super) struct CreateAt {
    pub(super) address: GpuVirtualAddress,
    /// `None` reserved nothing.
    pub(super) reservation: Option<ReservationId>,
}

/// Addresses that belong to one device until dropped, so that it can create objects there.
pub(super) struct ReservedAddresses {
    space: Arc<AddressSpace>,
    id: ReservationId,
}

impl ReservedAddresses {
    /// The pages of `ranges`, which are as the application recorded them. O(n log n) in these.
    ///
    /// # Errors
    ///
    /// [`DriverError::AddressesInvalid`], [`DriverError::AddressesInUse`]; nothing is reserved then.
    pub(super) fn new(
        space: &Arc<AddressSpace>,
        ranges: &[GpuVirtualAddressRange],
    ) -> Result<Self, DriverError> {
        let id = space.owners().reserve(ranges)?;
        Ok(Self { space: Arc::clone(space), id })
    }

    /// Which these are.
    pub(super) fn id(&self) -> ReservationId {
        self.id
    }
}

impl Drop for ReservedAddresses {
    fn drop(&mut self) {
        self.space.owners().release(self.id);
    }
}
