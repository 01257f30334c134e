//! `CopyTiles`.

use std::sync::Arc;

use heapwright_d3d12::*;

use super::Recording;
use super::copies::{check_source, check_target, is_buffer};
use crate::api::call;
use crate::api::resource::Resource_Impl;
use crate::api::tile_regions::{ResourceTiles, TILE_SIZE, indices};
use crate::ddi::command::Command;
use crate::rules::Refusal;

/// Records `CopyTiles`.
///
/// # Safety
///
/// The pointers of `region` are null or point to their structures.
pub(super) unsafe fn copy_tiles(
    recording: &mut Recording,
    tiled: &Resource_Impl,
    region: (*const D3D12_TILED_RESOURCE_COORDINATE, *const D3D12_TILE_REGION_SIZE),
    (buffer, offset): (&Resource_Impl, u64),
    flags: D3D12_TILE_COPY_FLAGS,
) -> Result<(), Refusal> {
    let tiles = ResourceTiles::of(tiled, "pTiledResource")?;
    // SAFETY: by the COM contract, both pointers are null or point to their structures.
    let (start, size) = unsafe {
        (call::read(region.0, "pTileRegionStartCoordinate")?, call::read(region.1, "pTileRegionSize")?)
    };
    let runs = tiles.region(start, size)?;
    if tiles.has_packed(&runs) {
        return Err(Refusal::invalid("packed mips cannot be copied; their layout is opaque"));
    }
    let count: u64 = runs.iter().map(|run| u64::from(run.count)).sum();
    // Windows treats a missing direction as SWIZZLED_TILED_RESOURCE_TO_LINEAR_BUFFER.
    let to_tiles = match flags & !D3D12_TILE_COPY_FLAG_NO_HAZARD {
        D3D12_TILE_COPY_FLAG_LINEAR_BUFFER_TO_SWIZZLED_TILED_RESOURCE => true,
        D3D12_TILE_COPY_FLAG_NONE | D3D12_TILE_COPY_FLAG_SWIZZLED_TILED_RESOURCE_TO_LINEAR_BUFFER => false,
        _ => return Err(Refusal::invalid(format!("Flags {flags:#x} has both directions or unknown bits"))),
    };
    if !is_buffer(buffer) {
        return Err(Refusal::invalid("pBuffer is not a buffer"));
    }
    let (width, bytes) = (buffer.desc().Width, count * TILE_SIZE);
    if offset.checked_add(bytes).is_none_or(|end| end > width) {
        return Err(Refusal::invalid(format!(
            "{count} tiles at BufferStartOffsetInBytes {offset:#x} exceed the {width:#x} bytes of pBuffer"
        )));
    }
    if to_tiles {
        recording.notices.tolerate(check_source(buffer, "pBuffer"));
    } else {
        recording.notices.tolerate(check_target(buffer, "pBuffer"));
    }
    if Arc::ptr_eq(tiled.driver(), buffer.driver()) {
        return Err(Refusal::invalid("pTiledResource and pBuffer are the same resource")
            .with_id(D3D12_MESSAGE_ID_COPY_ON_SAME_SUBRESOURCE));
    }
    recording.commands.push(Command::CopyTiles {
        tiled: Arc::clone(tiled.driver()),
        tiles: indices(&runs).collect(),
        buffer: (Arc::clone(buffer.driver()), offset),
        to_tiles,
    });
    Ok(())
}
