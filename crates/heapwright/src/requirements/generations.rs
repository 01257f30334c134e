//! Resource descriptions of the second generation, which adds one field.

use heapwright_d3d12::resource_desc::upgrade;
use heapwright_d3d12::*;

/// Converts a description to one with a mip region of sampler feedback.
pub(crate) fn with_mip_region(desc: &D3D12_RESOURCE_DESC, region: D3D12_MIP_REGION) -> D3D12_RESOURCE_DESC1 {
    D3D12_RESOURCE_DESC1 { SamplerFeedbackMipRegion: region, ..upgrade(desc) }
}
