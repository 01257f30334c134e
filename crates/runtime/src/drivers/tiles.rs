//! Tiles of reserved resources, and the memory mapped to them.

use std::sync::{Arc, PoisonError, RwLock, Weak};

use super::page_fault::{FaultCause, PageFault};
use crate::ddi::command::{TileMapping, TileMemory};
use crate::ddi::{DriverHeap, GpuVirtualAddressRange};

/// Size of a D3D12 tile, in bytes.
pub(super) const TILE_SIZE: u64 = 64 * 1024;

/// The memory of a reserved resource: addresses of its own, mapped tile by tile.
pub(super) trait ReservedMemory: Send + Sync {
    /// The addresses.
    fn addresses(&self) -> GpuVirtualAddressRange;

    /// The mappings of the tiles.
    fn tiles(&self) -> &TileTable;
}

/// A heap, and an offset in it.
pub(super) type Place = (Arc<dyn DriverHeap>, u64);

/// The mappings of one reserved resource's tiles.
pub(super) struct TileTable {
    tiles: RwLock<Vec<Option<Backing>>>,
    null_access: NullAccess,
}

/// The effect of accesses to unmapped tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NullAccess {
    /// Reads return zero and writes are discarded, as in tiled resources tier 2.
    Zero,
    /// A page fault. Tier 1 leaves the effect undefined, including device removal; a fault is the effect that programs
    /// notice.
    Fault,
}

impl NullAccess {
    /// Returns the behaviour of devices of a tiled resources tier.
    pub(super) fn of_tier(tiled_resources_tier: u8) -> Self {
        if tiled_resources_tier < 2 { Self::Fault } else { Self::Zero }
    }
}

/// A tile of a heap.
#[derive(Clone)]
pub(super) struct Backing {
    pub(super) heap: Weak<dyn DriverHeap>,
    /// Offset of the tile in the heap, in bytes.
    pub(super) offset: u64,
}

impl Backing {
    /// Returns tile `tile` of a heap, or `None` if the heap has no such tile.
    fn new(heap: &Arc<dyn DriverHeap>, tile: u64) -> Option<Self> {
        let offset = tile.checked_mul(TILE_SIZE)?;
        let end = offset.checked_add(TILE_SIZE)?;
        (end <= heap.size().get()).then(|| Self { heap: Arc::downgrade(heap), offset })
    }
}

impl TileTable {
    /// Creates `count` unmapped tiles.
    pub(super) fn new(count: usize, null_access: NullAccess) -> Self {
        Self { tiles: RwLock::new(vec![None; count]), null_access }
    }

    /// Returns the heap, and the offset in it, of the byte that is `offset` bytes into the resource and has the GPU
    /// address `address`. Returns `None` for a null tile that reads as zero.
    pub(super) fn locate(&self, address: u64, offset: u64) -> Result<Option<Place>, PageFault> {
        match (self.get(offset / TILE_SIZE), self.null_access) {
            (None, NullAccess::Zero) => Ok(None),
            (None, NullAccess::Fault) => Err(PageFault::new(address, FaultCause::NullTile)),
            (Some(backing), _) => {
                let heap = backing.heap.upgrade();
                let heap = heap.ok_or_else(|| PageFault::new(address, FaultCause::Unmapped))?;
                Ok(Some((heap, backing.offset + offset % TILE_SIZE)))
            }
        }
    }

    /// Returns the mapping of a tile.
    pub(super) fn get(&self, tile: u64) -> Option<Backing> {
        let tiles = self.tiles.read().unwrap_or_else(PoisonError::into_inner);
        usize::try_from(tile).ok().and_then(|index| tiles.get(index).cloned()).flatten()
    }

    /// Sets the mapping of a tile; a tile that does not exist is ignored.
    pub(super) fn set(&self, tile: u64, backing: Option<Backing>) {
        let mut tiles = self.tiles.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = usize::try_from(tile).ok().and_then(|index| tiles.get_mut(index)) {
            *slot = backing;
        }
    }

    /// Maps memory to a range of tiles.
    pub(super) fn map(&self, mapping: &TileMapping) {
        for index in 0..u64::from(mapping.count) {
            let backing = match &mapping.memory {
                TileMemory::Heap { heap, first } => Backing::new(heap, u64::from(*first) + index),
                TileMemory::Repeated { heap, tile } => Backing::new(heap, u64::from(*tile)),
                TileMemory::Null => None,
            };
            self.set(u64::from(mapping.first) + index, backing);
        }
    }
}
