//! GPU virtual addresses: their owners and the memory mapped to them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress};

use super::address_owners::{AddressOwners, ReservationId};
use super::free_addresses::Interval;
use super::heap::DriverHeap;
use super::noise::NoiseUse;
use super::page_fault::{FaultCause, PageFault};
use super::tiles::{TILE_SIZE, TileTable};
use crate::ddi::{DriverError, GpuVirtualAddressRange};

/// The address space of one GPU, with its page table: addresses mean what it says, to all queues of the driver.
pub(super) struct AddressSpace {
    owners: Mutex<AddressOwners>,
    /// Objects have whole pages of this size, if the application does not choose their addresses.
    large_page: Alignment,
    /// The page table, by the first address of each range.
    pages: RwLock<BTreeMap<u64, Entry>>,
    noise: NoiseUse,
}

struct Entry {
    size: u64,
    target: Target,
}

/// The target of a range. It is weak, so that accesses fault once the owner is gone.
pub(super) enum Target {
    Heap(Weak<DriverHeap>),
    Tiles(Weak<TileTable>),
}

/// A contiguous range of bytes behind an address.
pub(super) enum Span {
    /// Memory of a heap from an offset on. The span keeps the heap alive.
    Memory { heap: Arc<DriverHeap>, offset: u64, size: u64 },
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
    /// Creates an address space over `owners`, with large pages of a size.
    pub(super) fn new(owners: AddressOwners, large_page: Alignment) -> Self {
        Self {
            owners: Mutex::new(owners),
            large_page,
            pages: RwLock::new(BTreeMap::new()),
            noise: NoiseUse::default(),
        }
    }

    /// Returns whether bytes are noise.
    pub(super) fn noise(&self) -> &NoiseUse {
        &self.noise
    }

    /// Translates `address` to at most `size` contiguous bytes, whether or not they are resident. O(log ranges).
    pub(super) fn translate(&self, address: u64, size: u64) -> Result<Span, PageFault> {
        let fault = || PageFault::new(address, FaultCause::Unmapped);
        let (start, entry_size, target) = self.entry(address).ok_or_else(fault)?;
        let offset = address - start;
        let left = entry_size.checked_sub(offset).filter(|&left| left > 0).ok_or_else(fault)?;
        let size = size.min(left);
        match target {
            Target::Heap(heap) => {
                let heap = heap.upgrade().ok_or_else(fault)?;
                Ok(Span::Memory { heap, offset, size })
            }
            Target::Tiles(tiles) => {
                let size = size.min(TILE_SIZE - offset % TILE_SIZE);
                let place = tiles.upgrade().ok_or_else(fault)?.locate(address, offset)?;
                Ok(place.map_or(Span::Null { size }, |(heap, offset)| Span::Memory { heap, offset, size }))
            }
        }
    }

    /// Returns the last range that begins at `address` or before: its first address, size and target.
    fn entry(&self, address: u64) -> Option<(u64, u64, Target)> {
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        let (&start, Entry { size, target }) = pages.range(..=address).next_back()?;
        let target = match target {
            Target::Heap(heap) => Target::Heap(Weak::clone(heap)),
            Target::Tiles(tiles) => Target::Tiles(Weak::clone(tiles)),
        };
        Some((start, *size, target))
    }

    /// Returns the bytes and the alignment of addresses for an object.
    fn room(&self, size: ByteSize, alignment: Alignment) -> Option<(ByteSize, Alignment)> {
        Some((size.align_up(self.large_page)?, alignment.max(self.large_page)))
    }

    /// Returns the number of addresses that are free and reserved by no device. O(n).
    #[cfg(all(test, feature = "vulkan"))]
    pub(super) fn free_size(&self) -> ByteSize {
        self.owners().free_size()
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
            None => {
                let room = space.room(size, alignment);
                (room.and_then(|(size, alignment)| space.owners().take(size, alignment)), None)
            }
            Some(CreateAt { address, reservation }) => {
                let taken = space.owners().take_at(reservation, address, size, alignment);
                let range = GpuVirtualAddressRange { start: address, size };
                let pages = taken.map_err(|fault| DriverError::CannotCreateAt { range, fault })?;
                (Some(pages), Some(reservation))
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

    pub(super) fn range(&self) -> GpuVirtualAddressRange {
        GpuVirtualAddressRange { start: self.start, size: self.size }
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
    pub(super) reservation: ReservationId,
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
