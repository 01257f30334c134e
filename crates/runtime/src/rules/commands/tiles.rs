//! `CopyTiles`.

use heapwright_d3d12::*;

use crate::drivers::command::Command;
use crate::rules::operand::Operand;
use crate::rules::tile_regions::{ResourceTiles, TILE_SIZE, indices};
use crate::rules::{Notices, Refusal};

/// Checks `CopyTiles`.
pub(crate) fn copy_tiles(
    tiled: Operand<'_>,
    (start, size): (&D3D12_TILED_RESOURCE_COORDINATE, &D3D12_TILE_REGION_SIZE),
    (buffer, offset): (Operand<'_>, u64),
    flags: D3D12_TILE_COPY_FLAGS,
    notices: &mut Notices,
) -> Result<Command, Refusal> {
    let tiles = ResourceTiles::of(tiled, "pTiledResource")?;
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
    if !buffer.is_buffer() {
        return Err(Refusal::invalid("pBuffer is not a buffer"));
    }
    let (width, bytes) = (buffer.desc.Width, count * TILE_SIZE);
    if offset.checked_add(bytes).is_none_or(|end| end > width) {
        return Err(Refusal::invalid(format!(
            "{count} tiles at BufferStartOffsetInBytes {offset:#x} exceed the {width:#x} bytes of pBuffer"
        )));
    }
    if to_tiles {
        notices.tolerate(buffer.check_copy_source("pBuffer"));
    } else {
        notices.tolerate(buffer.check_copy_target("pBuffer"));
    }
    if tiled.is(&buffer) {
        return Err(Refusal::invalid("pTiledResource and pBuffer are the same resource")
            .with_id(D3D12_MESSAGE_ID_COPY_ON_SAME_SUBRESOURCE));
    }
    Ok(Command::CopyTiles {
        tiled: tiled.hold(),
        tiles: indices(&runs).collect(),
        buffer: (buffer.hold(), offset),
        to_tiles,
    })
}
