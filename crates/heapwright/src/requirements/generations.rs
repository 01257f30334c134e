//! The two generations of resource descriptions; they differ by a field that is zero for most.

use heapwright_d3d12::*;

/// What a description of the first generation is in the second.
#[inline]
pub(crate) fn upgrade(desc: &D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC1 {
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
        SamplerFeedbackMipRegion: D3D12_MIP_REGION::default(),
    }
}

/// A description of the second generation in the first; `None` for one with a sampler feedback region, which has no place
/// there.
#[inline]
pub(crate) fn downgrade(desc: &D3D12_RESOURCE_DESC1) -> Option<D3D12_RESOURCE_DESC> {
    (desc.SamplerFeedbackMipRegion == D3D12_MIP_REGION::default()).then_some(D3D12_RESOURCE_DESC {
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
    })
}
