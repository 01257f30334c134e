//! Counts of a resource's mip levels, array slices and planes.

use heapwright_d3d12::*;

use crate::format;

/// Returns the number of planes of a format.
pub(in crate::api) fn plane_count(format: DXGI_FORMAT) -> u32 {
    format::properties(format).map_or(1, |format| format.plane_count())
}

/// Returns the numbers of mip levels, array slices and planes of a resource.
pub(in crate::api) fn extents(desc: &D3D12_RESOURCE_DESC1) -> [u32; 3] {
    if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
        return [1, 1, 1];
    }
    let slices = if desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D {
        1
    } else {
        u32::from(desc.DepthOrArraySize)
    };
    [u32::from(desc.MipLevels).max(1), slices, plane_count(desc.Format)]
}

/// Returns the number of subresources of a resource.
pub(in crate::api::command_list) fn subresource_count(desc: &D3D12_RESOURCE_DESC1) -> u32 {
    extents(desc).iter().product()
}
