//! The second generation of resource descriptions, which adds one field.

use heapwright_d3d12::*;

/// A description with a mip region of sampler feedback, for calls that take one.
pub(crate) fn with_mip_region(desc: &D3D12_RESOURCE_DESC, region: D3D12_MIP_REGION) -> D3D12_RESOURCE_DESC1 {
    D3D12_RESOURCE_DESC1 {
        Dimension: desc.Dimension,
        Alignment: desc.Alignment,
        Width: desc.Width,
        Height: desc.Height,
        DepthOrArraySize: desc.DepthOrArraySize,
        MipLevels: desc.MipLevels,
        Format: desc.Format,
        SampleDesc: desc.SampleDesc,
        Layout: desc.Layout,
        Flags: desc.Flags,
        SamplerFeedbackMipRegion: region,
    }
}
