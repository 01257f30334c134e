//! Execution of commands and tile mappings.

use std::sync::Arc;

use super::address_space::{AddressSpace, PageFault};
use super::heap::HostHeap;
use super::memory_access::GpuMemory;
use super::resource::HostResource;
use super::texels;
use super::tiles::{Backing, TILE_SIZE};
use crate::ddi::command::{Command, TileMapping, TileMemory};
use crate::ddi::driver_resource::DriverResource;

/// Executes commands, which the runtime has checked.
pub(super) struct Executor {
    memory: GpuMemory,
}

impl Executor {
    pub(super) fn new(space: Arc<AddressSpace>) -> Self {
        Self { memory: GpuMemory::new(space) }
    }

    pub(super) fn execute(&self, command: &Command) -> Result<(), PageFault> {
        let memory = &self.memory;
        match command {
            Command::CopyBuffer { target, source, size } => {
                memory.copy(address(&target.0) + target.1, address(&source.0) + source.1, *size)
            }
            Command::CopyTexels { target, target_start, source, region, target_size: _ } => {
                texels::copy(memory, target, *target_start, source, *region)
            }
            Command::CopyTexture { target, source } => {
                memory.copy(address(target), address(source), target.existing_allocation_info().size.get())
            }
            Command::CopyTiles { tiled, tiles, buffer, to_tiles } => {
                let buffer = address(&buffer.0) + buffer.1;
                for (index, &tile) in (0..).zip(tiles.iter()) {
                    let tile = address(tiled) + u64::from(tile) * TILE_SIZE;
                    let bytes = buffer + index * TILE_SIZE;
                    let (target, source) = if *to_tiles { (tile, bytes) } else { (bytes, tile) };
                    memory.copy(target, source, TILE_SIZE)?;
                }
                Ok(())
            }
            Command::FillTexels { target, subresource, region, value } => {
                texels::fill(memory, &**target, *subresource, *region, value.as_bytes())
            }
            Command::FillBuffer { target, size, value } => {
                memory.fill(address(&target.0) + target.1, *size, value.as_bytes())
            }
            Command::ResolveTexels { target, target_start, source, region, resolver } => {
                let (target, source) = ((&*target.0, target.1), (&*source.0, source.1));
                texels::resolve(memory, target, *target_start, source, *region, resolver)
            }
            Command::Scramble { target, ranges, seed } => {
                for (offset, size) in ranges.iter() {
                    memory.scramble(address(target) + offset, *size, seed.wrapping_add(*offset));
                }
                Ok(())
            }
            Command::WriteImmediate { address, value } => memory.write(address.get(), &value.to_le_bytes()),
        }
    }

    pub(super) fn update_tile_mappings(&self, resource: &dyn DriverResource, mappings: &[TileMapping]) {
        let Some(tiles) = host(resource).and_then(HostResource::tiles) else { return };
        for mapping in mappings {
            for index in 0..u64::from(mapping.count) {
                let backing = match &mapping.memory {
                    TileMemory::Heap { heap, first } => backing(heap.as_any(), u64::from(*first) + index),
                    TileMemory::Repeated { heap, tile } => backing(heap.as_any(), u64::from(*tile)),
                    TileMemory::Null => None,
                };
                tiles.set(u64::from(mapping.first) + index, backing);
            }
        }
    }

    pub(super) fn copy_tile_mappings(
        &self,
        (target, target_tiles): (&dyn DriverResource, &[u32]),
        (source, source_tiles): (&dyn DriverResource, &[u32]),
    ) {
        let tiles = |resource| host(resource).and_then(HostResource::tiles);
        let (Some(target), Some(source)) = (tiles(target), tiles(source)) else { return };
        // Read all before writing any: both may be the same resource.
        let read: Vec<_> = source_tiles.iter().map(|&tile| source.get(u64::from(tile))).collect();
        for (&tile, backing) in target_tiles.iter().zip(read) {
            target.set(u64::from(tile), backing);
        }
    }
}

/// Downcasts to the driver's own resource. The runtime passes only resources of this driver.
pub(super) fn host(resource: &dyn DriverResource) -> Option<&HostResource> {
    resource.as_any().downcast_ref()
}

fn address(resource: &Arc<dyn DriverResource>) -> u64 {
    resource.gpu_virtual_address().get()
}

/// Returns tile `tile` of a heap, or `None` if the heap has no such tile.
fn backing(heap: &dyn std::any::Any, tile: u64) -> Option<Backing> {
    let heap = heap.downcast_ref::<HostHeap>()?;
    let offset = tile.checked_mul(TILE_SIZE)?;
    (offset + TILE_SIZE <= heap.size().get()).then(|| Backing { heap: heap.downgrade(), offset })
}
