//! What reserved resources ask beyond a valid description.

use heapwright_d3d12::D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDLAYOUT;

use super::Resource;
use crate::ddi::{TextureDimension, TextureMemoryLayout};
use crate::rules::Refusal;

/// Checks that a valid resource can be a reserved one on a device of `tiled_resources_tier` (0 to 4).
///
/// Reserved buffers may carry the tight alignment flag, which changes nothing: their tiles are 64 KiB (document TIGHT
/// excludes reserved resources by their layout, which buffers do not have).
pub(crate) fn check(resource: &Resource, tiled_resources_tier: u8) -> Result<(), Refusal> {
    if tiled_resources_tier == 0 {
        return Err(Refusal::invalid(
            "a reserved resource on a device whose tiled resources tier is NOT_SUPPORTED",
        ));
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
            "D3D12_RESOURCE_DESC::MipLevels of a reserved array reaches into the packed mips, which needs tiled \
             resources tier 4",
        ));
    }
    Ok(())
}
