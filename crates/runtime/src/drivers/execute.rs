//! Execution of commands and tile mappings.

use std::sync::Arc;

use super::driver::GpuMemory;
use super::page_fault::PageFault;
use super::texels;
use super::tiles::TILE_SIZE;
use crate::drivers::command::Command;
use crate::drivers::resource::DriverResource;
use crate::drivers::tiles::TileMapping;

/// Executes a command, which the runtime has checked.
pub(super) fn execute(memory: &mut dyn GpuMemory, command: &Command) -> Result<(), PageFault> {
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
            texels::fill(memory, target, *subresource, *region, value.as_bytes())
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
                memory.scramble(address(target) + offset, *size, *seed);
            }
            Ok(())
        }
        Command::EndTimestamp { timestamps, index } => {
            memory.finish()?;
            timestamps.end(*index);
            Ok(())
        }
        Command::ResolveTimestamps { target, timestamps, first, count } => {
            let start = address(&target.0) + target.1;
            for (offset, index) in (0..*count).zip(*first..) {
                memory.write(start + offset * 8, &timestamps.result(index).to_le_bytes())?;
            }
            Ok(())
        }
        Command::WriteImmediate { address, value } => memory.write(address.get(), &value.to_le_bytes()),
    }
}

/// Changes the memory mapped to tiles of a reserved resource.
pub(super) fn update_tile_mappings(resource: &DriverResource, mappings: &[TileMapping]) {
    if let Some(tiles) = resource.tiles() {
        mappings.iter().for_each(|mapping| tiles.map(mapping));
    }
}

/// Copies tile mappings from `source` to `target`, of as many tiles.
pub(super) fn copy_tile_mappings(
    (target, target_tiles): (&DriverResource, &[u32]),
    (source, source_tiles): (&DriverResource, &[u32]),
) {
    let (Some(target), Some(source)) = (target.tiles(), source.tiles()) else { return };
    // Read all before writing any: both may be the same resource.
    let read: Vec<_> = source_tiles.iter().map(|&tile| source.get(u64::from(tile))).collect();
    for (&tile, backing) in target_tiles.iter().zip(read) {
        target.set(u64::from(tile), backing);
    }
}

fn address(resource: &Arc<DriverResource>) -> u64 {
    resource.gpu_virtual_address().get()
}
