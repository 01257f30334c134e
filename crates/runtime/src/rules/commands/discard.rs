//! `DiscardResource`.

use heapwright_d3d12::*;

use crate::rules::Refusal;
use crate::rules::operand::{Operand, subresource_count};

/// A part of a resource to discard: subresources, and rectangles in each.
pub(crate) struct Region<'a> {
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) rects: &'a [D3D12_RECT],
}

/// Checks a `DiscardResource` call on a list of a type. The contents are undefined afterwards, so there is nothing to
/// execute. Without a region, the whole resource is discarded.
///
/// The states of the subresources are not tracked and not checked. Rectangles may exceed the texture; the parts
/// outside have no effect.
pub(crate) fn check(
    list_type: D3D12_COMMAND_LIST_TYPE,
    resource: Operand<'_>,
    region: Option<&Region<'_>>,
) -> Result<(), Refusal> {
    let desc = resource.desc;
    let targets = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
    let is_compute = list_type == D3D12_COMMAND_LIST_TYPE_COMPUTE;
    if is_compute && desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS == 0 {
        return Err(Refusal::invalid("pResource must have ALLOW_UNORDERED_ACCESS on a compute list"));
    }
    if !is_compute && desc.Flags & (targets | D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS) == 0 {
        return Err(Refusal::invalid(
            "pResource must have ALLOW_RENDER_TARGET, ALLOW_DEPTH_STENCIL or ALLOW_UNORDERED_ACCESS",
        ));
    }
    let Some(region) = region else { return Ok(()) };
    let count = subresource_count(desc);
    let end = region.first.checked_add(region.count);
    if end.is_none_or(|end| end > count) {
        return Err(Refusal::invalid(format!(
            "pRegion has {} subresources starting at {}, but the resource has {count}",
            region.count, region.first
        ))
        .with_id(D3D12_MESSAGE_ID_DISCARD_INVALID_SUBRESOURCE_RANGE));
    }
    if !region.rects.is_empty() {
        if desc.Dimension != D3D12_RESOURCE_DIMENSION_TEXTURE2D {
            return Err(Refusal::invalid("pRegion has rectangles, but the resource is not a 2D texture")
                .with_id(D3D12_MESSAGE_ID_DISCARD_NO_RECTS_FOR_NON_TEXTURE2D));
        }
        // One rectangle applies to all subresources, but different mip levels have different sizes.
        if region.count != 1 && desc.MipLevels > 1 {
            return Err(Refusal::invalid(format!(
                "pRegion has rectangles and {} subresources; must be 1 for a texture with {} mip levels",
                region.count, desc.MipLevels
            ))
            .with_id(D3D12_MESSAGE_ID_DISCARD_ONE_SUBRESOURCE_FOR_MIPS_WITH_RECTS));
        }
    }
    Ok(())
}
