//! GPU virtual addresses: who owns which, and what stands behind them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use heapwright_core::suballoc::{SuballocationId, Tlsf};
use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress, HeapOffset, HeapRange};

use super::claim;
use super::heap::HostHeap;
use super::tiles::TileTable;
use crate::ddi::{DriverError, GpuVirtualAddressRange};

/// Where the simulated GPU's address space begins: zero and what is near it stay invalid.
const BASE: u64 = 1 << 32;

/// The address space of one simulated GPU, with its page table.
pub(super) struct AddressSpace {
    free: Mutex<Tlsf>,
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
    /// An address space of `bits` bits, more than 32.
    pub(super) fn new(bits: u32) -> Self {
        let size = ByteSize::new((1 << bits) - BASE);
        let free =
            Tlsf::new(size).expect("profiles have more than 32 and less than 63 bits of address space");
        Self { free: Mutex::new(free), pages: RwLock::new(BTreeMap::new()) }
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

    fn free(&self) -> MutexGuard<'_, Tlsf> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for AddressSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddressSpace").field("used", &self.free().used()).finish_non_exhaustive()
    }
}

/// Addresses that belong to one owner until dropped.
#[derive(Debug)]
pub(super) struct AddressRange {
    space: Arc<AddressSpace>,
    id: SuballocationId,
    start: GpuVirtualAddress,
    size: ByteSize,
}

impl AddressRange {
    /// Addresses of the space's choice.
    pub(super) fn new(
        space: &Arc<AddressSpace>,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Self, DriverError> {
        let none = DriverError::OutOfAddressSpace { requested: size };
        let range = space.free().allocate(size, alignment).map_err(|_| none)?;
        // The base is a multiple of every heap alignment, so alignment of the offset is alignment of the address.
        let start = GpuVirtualAddress::new(BASE + range.range.start().get()).ok_or(none)?;
        Ok(Self { space: Arc::clone(space), id: range.id, start, size })
    }

    /// The addresses of `range` and no others. Cost: O(n) in the ranges of the space.
    pub(super) fn at(space: &Arc<AddressSpace>, range: GpuVirtualAddressRange) -> Result<Self, DriverError> {
        let GpuVirtualAddressRange { start, size } = range;
        let mut free = space.free();
        let offset = start.get().checked_sub(BASE).map(HeapOffset::new);
        let wanted = offset
            .and_then(|offset| HeapRange::new(offset, size))
            .filter(|wanted| !wanted.is_empty() && HeapRange::whole(free.capacity()).contains_range(*wanted))
            .ok_or(DriverError::AddressesInvalid { range })?;
        let id = claim::claim(&mut free, wanted).ok_or(DriverError::AddressesInUse { range })?;
        Ok(Self { space: Arc::clone(space), id, start, size })
    }

    pub(super) fn start(&self) -> GpuVirtualAddress {
        self.start
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
        let freed = self.space.free().free(self.id);
        debug_assert!(freed.is_ok(), "an address range is freed once: {freed:?}");
    }
}
