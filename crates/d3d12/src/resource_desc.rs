//! Conversions between the two generations of resource descriptions. The second adds one field, which is usually zero.

use crate::{D3D12_MIP_REGION, D3D12_RESOURCE_DESC, D3D12_RESOURCE_DESC1};

/// Converts a description to the second generation, without a mip region of sampler feedback.
#[must_use]
pub fn upgrade(desc: &D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC1 {
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

/// Converts a description to the first generation, which has no mip region.
#[must_use]
pub fn downgrade(desc: &D3D12_RESOURCE_DESC1) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
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
    }
}
