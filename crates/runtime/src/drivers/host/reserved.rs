//! Memory of reserved resources.

use std::sync::Arc;

use super::address_space::{AddressRange, AddressSpace, CreateAt, Target};
use crate::ddi::{DriverError, GpuVirtualAddressRange, ResourceAllocation};
use crate::drivers::KIB_64;
use crate::drivers::tiles::{NullAccess, ReservedMemory, TILE_SIZE, TileTable};

/// Addresses of a reserved resource, mapped tile by tile.
pub(super) struct HostReserved {
    tiles: Arc<TileTable>,
    addresses: AddressRange,
}

impl HostReserved {
    pub(super) fn new(
        allocation: ResourceAllocation,
        space: &Arc<AddressSpace>,
        null_access: NullAccess,
        at: Option<CreateAt>,
    ) -> Result<Self, DriverError> {
        let none = DriverError::OutOfAddressSpace { requested: allocation.size };
        let size = allocation.size.align_up(KIB_64).ok_or(none)?;
        let addresses = AddressRange::new(space, size, allocation.alignment, at)?;
        let count = usize::try_from(size.get() / TILE_SIZE).map_err(|_| none)?;
        let tiles = Arc::new(TileTable::new(count, null_access));
        addresses.map_to(Target::Tiles(Arc::downgrade(&tiles)));
        Ok(Self { tiles, addresses })
    }
}

impl ReservedMemory for HostReserved {
    fn addresses(&self) -> GpuVirtualAddressRange {
        GpuVirtualAddressRange { start: self.addresses.start(), size: self.addresses.size() }
    }

    fn tiles(&self) -> &TileTable {
        &self.tiles
    }
}
