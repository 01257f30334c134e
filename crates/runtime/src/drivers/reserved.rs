//! Memory of reserved resources.
//!
//! A driver executes all accesses to reserved resources itself, and sends them to the heaps by the table. So tiles are
//! mapped at once, an access to a null tile does what D3D12 says on every device, and paging a heap out and in leaves
//! the tables alone.

use std::sync::Arc;

use super::KIB_64;
use super::address_space::{AddressRange, AddressSpace, CreateAt, Target};
use super::tiles::{NullAccess, TILE_SIZE, TileTable};
use crate::ddi::{DriverError, GpuVirtualAddressRange, ResourceAllocation};

/// The memory of a reserved resource: addresses of its own, mapped tile by tile.
pub(crate) struct ReservedMemory {
    tiles: Arc<TileTable>,
    addresses: AddressRange,
}

impl ReservedMemory {
    pub(super) fn new(
        allocation: ResourceAllocation,
        space: &Arc<AddressSpace>,
        null_access: NullAccess,
        at: Option<CreateAt>,
    ) -> Result<Self, DriverError> {
        let none = DriverError::OutOfAddressSpace { requested: allocation.size };
        let size = allocation.size.align_up(KIB_64).ok_or(none)?;
        let addresses = AddressRange::new(space, size, allocation.alignment, at)?;
        let tiles = Arc::new(TileTable::new(size.get() / TILE_SIZE, null_access));
        addresses.map_to(Target::Tiles(Arc::downgrade(&tiles)));
        Ok(Self { tiles, addresses })
    }

    /// The addresses.
    pub(super) fn addresses(&self) -> GpuVirtualAddressRange {
        self.addresses.range()
    }

    /// The mappings of the tiles.
    pub(super) fn tiles(&self) -> &TileTable {
        &self.tiles
    }
}

#[cfg(test)]
mod tests {
    use heapwright_core::ByteSize;
    use proptest::prelude::*;

    use super::*;
    use crate::drivers::heap::DriverHeap;
    use crate::drivers::host::tests::{MakeHeap as _, driver, video};
    use crate::drivers::tiles::{TileMapping, TileMemory};

    const TILES: u32 = 24;

    #[derive(Debug, Clone)]
    enum Change {
        Map { first: u32, count: u32, heap: usize, tile: u32 },
        Repeat { first: u32, count: u32, heap: usize, tile: u32 },
        Unmap { first: u32, count: u32 },
        Copy { to: u32, from: u32 },
    }

    fn change() -> impl Strategy<Value = Change> {
        let range = || (0..TILES + 4, 0..TILES);
        let memory = || (0..2_usize, 0..20_u32);
        prop_oneof![
            (range(), memory()).prop_map(|((first, count), (heap, tile))| Change::Map {
                first,
                count,
                heap,
                tile
            }),
            (range(), memory()).prop_map(|((first, count), (heap, tile))| Change::Repeat {
                first,
                count,
                heap,
                tile
            }),
            range().prop_map(|(first, count)| Change::Unmap { first, count }),
            (0..TILES + 4, 0..TILES + 4).prop_map(|(to, from)| Change::Copy { to, from }),
        ]
    }

    #[test]
    fn only_mapped_tiles_take_memory() {
        // More tiles than fit in memory.
        let table = TileTable::new(1 << 50, NullAccess::Zero);
        let heap = driver("discrete").make_heap(&video(ByteSize::new(TILE_SIZE))).expect("it is small");
        let (first, count) = (1, u32::MAX - 1);
        table.map(&TileMapping { first, count, memory: TileMemory::Repeated { heap, tile: 0 } });
        let is_mapped = |tile| table.get(tile).is_some();
        assert_eq!([0, 1, u64::from(count), 1 << 32].map(is_mapped), [false, true, true, false]);
        table.map(&TileMapping { first: 2, count, memory: TileMemory::Null });
        assert_eq!([1, 2, u64::from(count)].map(is_mapped), [true, false, false]);
    }

    proptest! {
        #[test]
        fn tables_of_runs_behave_like_arrays(changes in proptest::collection::vec(change(), 0..40)) {
            let driver = driver("discrete");
            // The first heap ends within a tile, which cannot be mapped.
            let sizes = [16 * TILE_SIZE + 4096, 8 * TILE_SIZE];
            let heaps = sizes.map(|size| driver.make_heap(&video(ByteSize::new(size))).expect("it is small"));
            let table = TileTable::new(TILES.into(), NullAccess::Zero);
            let mut array = [None::<(usize, u64)>; TILES as usize];
            let in_heap = |heap: usize, tile: u32| {
                let exists = u64::from(tile) < heaps[heap].size().get() / TILE_SIZE;
                exists.then_some((heap, u64::from(tile)))
            };
            for change in changes {
                let (first, count, memory) = match change {
                    Change::Map { first, count, heap, tile } => {
                        (first, count, TileMemory::Heap { heap: Arc::clone(&heaps[heap]), first: tile })
                    }
                    Change::Repeat { first, count, heap, tile } => {
                        (first, count, TileMemory::Repeated { heap: Arc::clone(&heaps[heap]), tile })
                    }
                    Change::Unmap { first, count } => (first, count, TileMemory::Null),
                    Change::Copy { to, from } => {
                        table.set(to.into(), table.get(from.into()));
                        let source = array.get(from as usize).copied().flatten();
                        if let Some(slot) = array.get_mut(to as usize) {
                            *slot = source;
                        }
                        continue;
                    }
                };
                table.map(&TileMapping { first, count, memory });
                for index in 0..count {
                    let mapped = match change {
                        Change::Map { heap, tile, .. } => in_heap(heap, tile + index),
                        Change::Repeat { heap, tile, .. } => in_heap(heap, tile),
                        _ => None,
                    };
                    if let Some(slot) = array.get_mut((first + index) as usize) {
                        *slot = mapped;
                    }
                }
            }
            for tile in 0..TILES + 4 {
                let found = table.get(tile.into()).map(|backing| {
                    let heap = backing.heap.upgrade().expect("alive");
                    let is_it = |known: &Arc<DriverHeap>| Arc::ptr_eq(known, &heap);
                    (heaps.iter().position(is_it).expect("one of both"), backing.tile)
                });
                prop_assert_eq!(found, array.get(tile as usize).copied().flatten(), "tile {}", tile);
            }
        }
    }
}
