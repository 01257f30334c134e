//! Tiles of reserved resources, and the memory mapped to them.

use std::sync::{PoisonError, RwLock, Weak};

use super::address_space::{FaultCause, PageFault, Span};
use super::heap::HostHeap;

/// Size of a D3D12 tile, in bytes.
pub(super) const TILE_SIZE: u64 = 64 * 1024;

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
    pub(super) heap: Weak<HostHeap>,
    /// Offset of the tile in the heap, in bytes.
    pub(super) offset: u64,
}

impl TileTable {
    /// Creates `count` unmapped tiles.
    pub(super) fn new(count: usize, null_access: NullAccess) -> Self {
        Self { tiles: RwLock::new(vec![None; count]), null_access }
    }

    /// Translates `address`, which is `offset` bytes into the resource, to a span of at most `size` bytes of its tile.
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
}
