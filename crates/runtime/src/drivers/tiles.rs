//! Tiles of reserved resources, and the memory mapped to them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock, Weak};

use super::heap::DriverHeap;
use super::page_fault::{FaultCause, PageFault};

/// Size of a D3D12 tile, in bytes.
pub(super) const TILE_SIZE: u64 = 64 * 1024;

/// A heap, and an offset in it.
pub(super) type Place = (Arc<DriverHeap>, u64);

/// A range of tiles of a reserved resource and the memory to map to it.
#[derive(Clone)]
pub(crate) struct TileMapping {
    /// The first tile of the resource.
    pub(crate) first: u32,
    /// The number of tiles.
    pub(crate) count: u32,
    /// The memory to map to the tiles.
    pub(crate) memory: TileMemory,
}

/// The memory mapped to tiles.
#[derive(Clone)]
pub(crate) enum TileMemory {
    /// Consecutive tiles of a heap.
    Heap {
        /// The heap.
        heap: Arc<DriverHeap>,
        /// The first tile of the heap.
        first: u32,
    },
    /// A single tile of a heap, mapped to all tiles of the range.
    Repeated {
        /// The heap.
        heap: Arc<DriverHeap>,
        /// The tile of the heap.
        tile: u32,
    },
    /// No memory: reads return zero, and writes are discarded.
    Null,
}

/// The mappings of one reserved resource's tiles. Only mapped tiles take memory, and consecutive ones little.
pub(crate) struct TileTable {
    count: u64,
    /// Mapped tiles by the first tile of each run. Runs do not overlap.
    runs: RwLock<BTreeMap<u64, Run>>,
    null_access: NullAccess,
}

/// Consecutive tiles that are mapped to consecutive tiles of a heap, or to a single one.
#[derive(Clone)]
struct Run {
    /// The tile after the last one.
    end: u64,
    heap: Weak<DriverHeap>,
    /// The heap's tile to which the run's first tile is mapped.
    heap_tile: u64,
    /// Whether all tiles are mapped to `heap_tile`.
    is_repeated: bool,
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
    pub(super) heap: Weak<DriverHeap>,
    /// The tile's index in the heap.
    pub(super) tile: u64,
}

impl Run {
    /// Returns the heap's tile of the tile that is `index` tiles into the run.
    fn tile_at(&self, index: u64) -> u64 {
        if self.is_repeated { self.heap_tile } else { self.heap_tile + index }
    }
}

impl TileTable {
    /// Creates `count` unmapped tiles.
    pub(super) fn new(count: u64, null_access: NullAccess) -> Self {
        Self { count, runs: RwLock::default(), null_access }
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
                Ok(Some((heap, backing.tile * TILE_SIZE + offset % TILE_SIZE)))
            }
        }
    }

    /// Returns the mapping of a tile. O(log runs).
    pub(super) fn get(&self, tile: u64) -> Option<Backing> {
        let runs = self.runs.read().unwrap_or_else(PoisonError::into_inner);
        let (first, run) = runs.range(..=tile).next_back().filter(|(_, run)| tile < run.end)?;
        Some(Backing { heap: Weak::clone(&run.heap), tile: run.tile_at(tile - first) })
    }

    /// Sets the mapping of a tile; a tile that does not exist is ignored. O(log runs).
    pub(super) fn set(&self, tile: u64, backing: Option<Backing>) {
        let to_run = |Backing { heap, tile: heap_tile }| (heap, heap_tile, false);
        self.replace(tile..tile.saturating_add(1), backing.map(to_run));
    }

    /// Maps memory to a range of tiles. Tiles that the heap does not have are unmapped. O(log runs) for each run that
    /// is replaced.
    pub(super) fn map(&self, mapping: &TileMapping) {
        let (first, count) = (u64::from(mapping.first), u64::from(mapping.count));
        let (memory, available) = match &mapping.memory {
            TileMemory::Heap { heap, first } => {
                let first = u64::from(*first);
                (Some((Arc::downgrade(heap), first, false)), tiles_of(heap).saturating_sub(first))
            }
            TileMemory::Repeated { heap, tile } => {
                let tile = u64::from(*tile);
                (Some((Arc::downgrade(heap), tile, true)), if tile < tiles_of(heap) { count } else { 0 })
            }
            TileMemory::Null => (None, count),
        };
        let mapped = first + count.min(available);
        self.replace(first..mapped, memory);
        self.replace(mapped..first + count, None);
    }

    /// Replaces the mappings of `tiles` by a run of a heap from a tile on, repeated or not, or by nothing.
    fn replace(&self, tiles: Range<u64>, memory: Option<(Weak<DriverHeap>, u64, bool)>) {
        let Range { start, end } = tiles.start..tiles.end.min(self.count);
        if start >= end {
            return;
        }
        let mut runs = self.runs.write().unwrap_or_else(PoisonError::into_inner);
        split(&mut runs, start);
        split(&mut runs, end);
        let replaced: Vec<u64> = runs.range(start..end).map(|(&first, _)| first).collect();
        for first in replaced {
            runs.remove(&first);
        }
        let Some((heap, heap_tile, is_repeated)) = memory else { return };
        // Tiles that are mapped one by one, in order, become one run.
        if let Some((first, before)) = runs.range_mut(..start).next_back() {
            let continues = before.end == start && before.heap_tile + (start - first) == heap_tile;
            if continues && !before.is_repeated && !is_repeated && before.heap.ptr_eq(&heap) {
                before.end = end;
                return;
            }
        }
        runs.insert(start, Run { end, heap, heap_tile, is_repeated });
    }
}

/// Splits the run that contains the tiles before and after `tile`, if there is one.
fn split(runs: &mut BTreeMap<u64, Run>, tile: u64) {
    let Some((first, run)) = runs.range_mut(..tile).next_back().filter(|(_, run)| tile < run.end) else {
        return;
    };
    let rest = Run { heap_tile: run.tile_at(tile - first), ..run.clone() };
    run.end = tile;
    runs.insert(tile, rest);
}

/// Returns the number of whole tiles of a heap.
fn tiles_of(heap: &Arc<DriverHeap>) -> u64 {
    heap.size().get() / TILE_SIZE
}
