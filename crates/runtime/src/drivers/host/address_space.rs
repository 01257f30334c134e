//! GPU virtual addresses: their owners and the memory mapped to them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress};

use super::address_owners::{AddressOwners, ReservationId};
use super::free_addresses::Interval;
use super::heap::HostHeap;
use crate::ddi::{DriverError, GpuVirtualAddressRange};
use crate::drivers::page_fault::{FaultCause, PageFault};
use crate::drivers::tiles::{TILE_SIZE, TileTable};

/// The address space of one simulated GPU, with its page table.
pub(super) struct AddressSpace {
    owners: Mutex<AddressOwners>,
    /// The page table, by the first address of each range.
    pages: RwLock<BTreeMap<u64, Entry>>,
}

struct Entry {
    size: u64,
    target: Target,
}

/// The target of a range. It is weak, so that accesses fault once the owner is gone.
#[derive(Clone)]
pub(super) enum Target {
    Heap(Weak<HostHeap>),
    Tiles(Weak<TileTable>),
}

/// A contiguous range of bytes behind an address.
pub(super) enum Span {
    /// Memory of a heap from an offset on. The span keeps the heap alive.
    Memory { heap: Arc<HostHeap>, offset: u64, size: u64 },
    /// A tile without memory: reads return zero, and writes are discarded.
    Null { size: u64 },
}

impl Span {
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Memory { size, .. } | Self::Null { size } => *size,
        }
    }
}

impl AddressSpace {
    /// Creates an address space of `bits` bits, 33 to 62, which allocates addresses from the seed's start address on.
    pub(super) fn new(bits: u32, seed: u64) -> Self {
        Self { owners: Mutex::new(AddressOwners::new(bits, seed)), pages: RwLock::new(BTreeMap::new()) }
    }

    /// Translates `address` to at most `size` contiguous bytes. O(log ranges).
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
            Target::Tiles(tiles) => {
                let size = size.min(TILE_SIZE - offset % TILE_SIZE);
                let Some((heap, offset)) = tiles.upgrade().ok_or_else(fault)?.locate(address, offset)? else {
                    return Ok(Span::Null { size });
                };
                let heap =
                    heap.as_any().downcast_ref::<HostHeap>().and_then(|heap| heap.downgrade().upgrade());
                let heap = heap.ok_or_else(fault)?;
                heap.check_access(address)?;
                Ok(Span::Memory { heap, offset, size })
            }
        }
    }

    fn owners(&self) -> MutexGuard<'_, AddressOwners> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Addresses that belong to one object until dropped.
pub(super) struct AddressRange {
    space: Arc<AddressSpace>,
    /// The allocated addresses, in whole pages.
    pages: Interval,
    /// The reservation that the addresses belong to.
    reservation: Option<ReservationId>,
    start: GpuVirtualAddress,
    /// The requested size.
    size: ByteSize,
}

impl AddressRange {
    /// Allocates addresses for `size` bytes, not zero: anywhere, or at `at`.
    ///
    /// # Errors
    ///
    /// [`DriverError::OutOfAddressSpace`], or [`DriverError::CannotCreateAt`] if `at` is given.
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

    /// Maps the addresses to a target.
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

/// An address chosen by the application, and the reservation that must contain it.
#[derive(Debug, Clone, Copy)]
pub(super) struct CreateAt {
    pub(super) address: GpuVirtualAddress,
    /// `None` stands for a device without a reservation.
    pub(super) reservation: Option<ReservationId>,
}

/// Addresses reserved by one device until dropped, at which it can create objects.
pub(super) struct ReservedAddresses {
    space: Arc<AddressSpace>,
    id: ReservationId,
}

impl ReservedAddresses {
    /// Reserves the pages of `ranges`, which are as the application recorded them. O(n log n) in the number of ranges.
    ///
    /// # Errors
    ///
    /// [`DriverError::AddressesInvalid`] or [`DriverError::AddressesInUse`]. Nothing is reserved then.
    pub(super) fn new(
        space: &Arc<AddressSpace>,
        ranges: &[GpuVirtualAddressRange],
    ) -> Result<Self, DriverError> {
        let id = space.owners().reserve(ranges)?;
        Ok(Self { space: Arc::clone(space), id })
    }

    /// The identifier of the reservation.
    pub(super) fn id(&self) -> ReservationId {
        self.id
    }
}

impl Drop for ReservedAddresses {
    fn drop(&mut self) {
        self.space.owners().release(self.id);
    }
}
