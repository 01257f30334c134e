//! Tiles of reserved resources, and what stands behind each.

use std::sync::{PoisonError, RwLock, Weak};

use super::address_space::{FaultCause, PageFault, Span};
use super::heap::HostHeap;

/// D3D12's tile.
pub(super) const TILE_SIZE: u64 = 64 * 1024;

/// What stands behind the tiles of one reserved resource.
pub(super) struct TileTable {
    tiles: RwLock<Vec<Option<Backing>>>,
    null_access: NullAccess,
}

/// What the GPU does where nothing stands behind a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NullAccess {
    /// Reads give zero and writes are dropped: tiled resources tier 2.
    Zero,
    /// It faults. Tier 1 leaves the access undefined, a removed device included, and that is the answer no program can miss.
    Fault,
}

impl NullAccess {
    /// What a device of that tiled resources tier does.
    pub(super) fn of_tier(tiled_resources_tier: u8) -> Self {
        if tiled_resources_tier < 2 { Self::Fault } else { Self::Zero }
    }
}

/// A tile of a heap.
#[derive(Clone)]
pub(super) struct Backing {
    pub(super) heap: Weak<HostHeap>,
    /// Where the tile begins in the heap.
    pub(super) offset: u64,
}

impl TileTable {
    /// `count` tiles with nothing behind them.
    pub(super) fn new(count: usize, null_access: NullAccess) -> Self {
        Self { tiles: RwLock::new(vec![None; count]), null_access }
    }

    /// Bytes behind `address`, which is `offset` bytes into the resource, up to the end of the tile.
    pub(super) fn translate(&self, address: u64, offset: u64, size: u64) -> Result<Span, PageFault> {
        let within = offset % TILE_SIZE;
        let size = size.min(TILE_SIZE - within);
        let backing = self.get(offset / TILE_SIZE);
        let Some(backing) = backing else {
            return match self.null_access {
                NullAccess::Zero => Ok(Span::Null { size }),
                NullAccess::Fault => Err(PageFault::new(address, FaultCause::NullTile)),
            };
        };
        let heap = backing.heap.upgrade().ok_or_else(|| PageFault::new(address, FaultCause::Unmapped))?;
        heap.check_access(address)?;
        Ok(Span::Memory { heap, offset: backing.offset + within, size })
    }

    /// What stands behind a tile.
    pub(super) fn get(&self, tile: u64) -> Option<Backing> {
        let tiles = self.tiles.read().unwrap_or_else(PoisonError::into_inner);
        usize::try_from(tile).ok().and_then(|index| tiles.get(index).cloned()).flatten()
    }

    /// Changes what stands behind a tile; one that does not exist is passed over.
    pub(super) fn set(&self, tile: u64, backing: Option<Backing>) {
        let mut tiles = self.tiles.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = usize::try_from(tile).ok().and_then(|index| tiles.get_mut(index)) {
            *slot = backing;
        }
    }
}
