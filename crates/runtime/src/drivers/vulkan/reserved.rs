//! Memory of reserved resources: addresses of a sparse buffer, and a table of tiles.
//!
//! The driver executes all accesses to reserved resources itself, and sends them to the heaps by the table. So tiles can
//! be mapped at once, an access to a null tile does what D3D12 says on every device, and paging a heap out and in
//! leaves the tables alone. Nothing is bound to the buffer, as no shader runs that would use the address.

use std::sync::Arc;

use heapwright_core::ByteSize;

use super::address_map::{AddressMap, Target};
use super::heap_buffer::HeapBuffer;
use super::reserved_addresses::ReservedPlace;
use crate::ddi::{DriverError, GpuVirtualAddressRange};
use crate::drivers::tiles::{NullAccess, ReservedMemory, TILE_SIZE, TileTable};

/// Addresses of a reserved resource, mapped tile by tile.
pub(super) struct VulkanReserved {
    tiles: Arc<TileTable>,
    size: ByteSize,
    buffer: HeapBuffer,
    map: Arc<AddressMap>,
    /// The reserved addresses that the buffer occupies. Dropped after it.
    _place: Option<ReservedPlace>,
}

impl VulkanReserved {
    /// Takes over the addresses of a sparse buffer, of `size` bytes.
    pub(super) fn new(
        (buffer, place): (HeapBuffer, Option<ReservedPlace>),
        size: ByteSize,
        null_access: NullAccess,
        map: &Arc<AddressMap>,
    ) -> Result<Self, DriverError> {
        let tiles = Arc::new(TileTable::new(size.get() / TILE_SIZE, null_access));
        map.insert(buffer.address(), size.get(), Target::Tiles(Arc::downgrade(&tiles)));
        Ok(Self { tiles, size, buffer, map: Arc::clone(map), _place: place })
    }
}

impl ReservedMemory for VulkanReserved {
    fn addresses(&self) -> GpuVirtualAddressRange {
        GpuVirtualAddressRange { start: self.buffer.address(), size: self.size }
    }

    fn tiles(&self) -> &TileTable {
        &self.tiles
    }
}

impl Drop for VulkanReserved {
    fn drop(&mut self) {
        self.map.remove(self.buffer.address());
    }
}
