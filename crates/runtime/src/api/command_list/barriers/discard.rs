//! `DiscardResource`.

use heapwright_d3d12::*;

use super::subresource_count;
use crate::api::command_list::CommandList;
use crate::api::resource::Resource_Impl;
use crate::rules::Refusal;

impl CommandList {
    /// Checks a `DiscardResource` call. The contents are undefined afterwards, so there is nothing to execute.
    ///
    /// The states of the subresources are not tracked and not checked. Rectangles may exceed the texture; the parts
    /// outside have no effect.
    ///
    /// # Safety
    ///
    /// `region` is null or points to a region whose `pRects` has `NumRects` elements.
    pub(in crate::api::command_list) unsafe fn check_discard(
        &self,
        resource: &Resource_Impl,
        region: *const D3D12_DISCARD_REGION,
    ) -> Result<(), Refusal> {
        let desc = resource.desc();
        let targets = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
        let is_compute = self.list_type == D3D12_COMMAND_LIST_TYPE_COMPUTE;
        if is_compute && desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS == 0 {
            return Err(Refusal::invalid("pResource must have ALLOW_UNORDERED_ACCESS on a compute list"));
        }
        if !is_compute && desc.Flags & (targets | D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS) == 0 {
            return Err(Refusal::invalid(
                "pResource must have ALLOW_RENDER_TARGET, ALLOW_DEPTH_STENCIL or ALLOW_UNORDERED_ACCESS",
            ));
        }
        // SAFETY: by the COM contract, pRegion is null (the whole resource) or points to a region.
        let Some(region) = (unsafe { region.as_ref() }) else { return Ok(()) };
        let count = subresource_count(desc);
        let end = region.FirstSubresource.checked_add(region.NumSubresources);
        if end.is_none_or(|end| end > count) {
            return Err(Refusal::invalid(format!(
                "pRegion has {} subresources starting at {}, but the resource has {count}",
                region.NumSubresources, region.FirstSubresource
            ))
            .with_id(D3D12_MESSAGE_ID_DISCARD_INVALID_SUBRESOURCE_RANGE));
        }
        if region.NumRects != 0 {
            if desc.Dimension != D3D12_RESOURCE_DIMENSION_TEXTURE2D {
                return Err(Refusal::invalid("pRegion has rectangles, but the resource is not a 2D texture")
                    .with_id(D3D12_MESSAGE_ID_DISCARD_NO_RECTS_FOR_NON_TEXTURE2D));
            }
            // One rectangle applies to all subresources, but different mip levels have different sizes.
            if region.NumSubresources != 1 && desc.MipLevels > 1 {
                return Err(Refusal::invalid(format!(
                    "pRegion has rectangles and {} subresources; must be 1 for a texture with {} mip levels",
                    region.NumSubresources, desc.MipLevels
                ))
                .with_id(D3D12_MESSAGE_ID_DISCARD_ONE_SUBRESOURCE_FOR_MIPS_WITH_RECTS));
            }
            if region.pRects.is_null() {
                return Err(Refusal::invalid("pRegion->pRects is null but NumRects is not 0"));
            }
        }
        Ok(())
    }
}
