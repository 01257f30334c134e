//! Resource descriptions of the second generation, which adds one field.

use heapwright_d3d12::*;

/// Converts a description to one with a mip region of sampler feedback.
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
