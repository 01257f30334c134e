//! Resources of the simulated GPU.

use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use heapwright_core::GpuVirtualAddress;

use super::address_space::{AddressRange, AddressSpace, Target};
use super::tiles::{TILE_SIZE, TileTable};
use crate::ddi::driver_resource::{DriverResource, TexelRegion, TexelRows};
use crate::ddi::{DriverError, DriverHeap, ResourceAllocation, ResourceArgs};

/// A resource: a place in the address space, and how its texels lie there.
pub(super) struct HostResource {
    args: ResourceArgs,
    allocation: ResourceAllocation,
    start: GpuVirtualAddress,
    memory: Memory,
}

enum Memory {
    /// In a heap, from an offset on.
    Heap { heap: Arc<dyn DriverHeap>, offset: u64 },
    /// In addresses of its own, tile by tile.
    Reserved { tiles: Arc<TileTable>, _addresses: AddressRange },
}

impl HostResource {
    pub(super) fn placed(
        args: &ResourceArgs,
        allocation: ResourceAllocation,
        heap: Arc<dyn DriverHeap>,
        offset: u64,
    ) -> Result<Self, DriverError> {
        let start = heap
            .gpu_virtual_address()
            .checked_add(heapwright_core::ByteSize::new(offset))
            .ok_or(DriverError::OutOfAddressSpace { requested: allocation.size })?;
        Ok(Self { args: *args, allocation, start, memory: Memory::Heap { heap, offset } })
    }

    pub(super) fn reserved(
        args: &ResourceArgs,
        allocation: ResourceAllocation,
        space: &Arc<AddressSpace>,
    ) -> Result<Self, DriverError> {
        let none = DriverError::OutOfAddressSpace { requested: allocation.size };
        let size = allocation.size.align_up(super::KIB_64).ok_or(none)?;
        let addresses = AddressRange::new(space, size, allocation.alignment.max(super::KIB_64))?;
        let count = usize::try_from(size.get() / TILE_SIZE).map_err(|_| none)?;
        let tiles = Arc::new(TileTable::new(count));
        addresses.map_to(Target::Tiles(Arc::downgrade(&tiles)));
        let start = addresses.start();
        Ok(Self { args: *args, allocation, start, memory: Memory::Reserved { tiles, _addresses: addresses } })
    }

    /// The tiles of a reserved resource.
    pub(super) fn tiles(&self) -> Option<&Arc<TileTable>> {
        match &self.memory {
            Memory::Reserved { tiles, .. } => Some(tiles),
            Memory::Heap { .. } => None,
        }
    }

    pub(super) fn args(&self) -> &ResourceArgs {
        &self.args
    }

    pub(super) fn start(&self) -> u64 {
        self.start.get()
    }
}

impl DriverResource for HostResource {
    fn gpu_virtual_address(&self) -> GpuVirtualAddress {
        self.start
    }

    fn existing_allocation_info(&self) -> ResourceAllocation {
        self.allocation
    }

    fn map(&self, _subresource: u32) -> Result<Option<NonNull<u8>>, DriverError> {
        match &self.memory {
            Memory::Heap { heap, offset } => heap.map(*offset, self.allocation.size.get()).map(Some),
            Memory::Reserved { .. } => Err(DriverError::NotCpuAccessible),
        }
    }

    unsafe fn write_subresource(
        &self,
        _subresource: u32,
        _region: TexelRegion,
        _rows: TexelRows<*const u8>,
    ) -> Result<(), DriverError> {
        Err(DriverError::NotCpuAccessible)
    }

    unsafe fn read_subresource(
        &self,
        _subresource: u32,
        _region: TexelRegion,
        _rows: TexelRows<*mut u8>,
    ) -> Result<(), DriverError> {
        Err(DriverError::NotCpuAccessible)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl fmt::Debug for HostResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostResource")
            .field("args", &self.args)
            .field("start", &self.start)
            .finish_non_exhaustive()
    }
}
