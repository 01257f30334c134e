//! Additional rules of reserved resources.

use heapwright_d3d12::{
    D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDLAYOUT, D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDMISCFLAGS,
    D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT, D3D12_RESOURCE_FLAGS,
};

use super::Resource;
use crate::ddi::{TextureDimension, TextureMemoryLayout};
use crate::rules::Refusal;

/// Checks that a valid resource can be a reserved one on a device of `tiled_resources_tier` (0 to 4).
///
/// The tight alignment specification, *Validation*, forbids the tight alignment flag on reserved resources, including
/// buffers: their tiles are 64 KiB.
pub(crate) fn check(
    resource: &Resource,
    flags: D3D12_RESOURCE_FLAGS,
    tiled_resources_tier: u8,
) -> Result<(), Refusal> {
    if tiled_resources_tier == 0 {
        return Err(Refusal::invalid(
            "reserved resources are not supported: the device's tiled resources tier is NOT_SUPPORTED",
        ));
    }
    if flags & D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT != 0 {
        return Err(Refusal::invalid(
            "D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT is not valid for a reserved resource, whose tiles are 64 KiB",
        )
        .with_id(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDMISCFLAGS));
    }
    let Some(texture) = resource.texture() else { return Ok(()) };
    let args = &texture.args;
    if args.layout != TextureMemoryLayout::UndefinedSwizzle64Kib {
        return Err(Refusal::invalid(
            "D3D12_RESOURCE_DESC::Layout of a reserved texture must be \
             D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE",
        )
        .with_id(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDLAYOUT));
    }
    if args.dimension == TextureDimension::Texture3D && tiled_resources_tier < 3 {
        return Err(Refusal::invalid("a reserved TEXTURE3D needs tiled resources tier 3"));
    }
    let grid = crate::ddi::TileGrid::new(args)
        .ok_or_else(|| Refusal::invalid("a reserved texture has more than 2^32 tiles"))?;
    if args.array_size > 1 && grid.packed_mips > 0 && tiled_resources_tier < 4 {
        return Err(Refusal::invalid(
            "D3D12_RESOURCE_DESC::MipLevels of a reserved texture array includes packed mips, which needs tiled \
             resources tier 4",
        ));
    }
    Ok(())
}
