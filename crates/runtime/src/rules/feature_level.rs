//! Hardware feature levels, by the features that they require (Microsoft's *Hardware Feature Levels*).

use heapwright_d3d12::*;

use super::Refusal;
use crate::ddi::DriverCaps;

/// Returns the highest feature level of a device with these caps: 12_1, or 11_1 without tiled resources tier 2, which
/// 12_0 requires, or 1_0_CORE of a compute-only device.
///
/// What else the levels require, every device has: resource binding tier 2, and features of shaders and of the
/// rasterizer, which nothing executes.
pub(crate) fn highest(caps: &DriverCaps) -> D3D_FEATURE_LEVEL {
    match caps.tiled_resources_tier {
        _ if caps.compute_only.is_some() => D3D_FEATURE_LEVEL_1_0_CORE,
        2.. => D3D_FEATURE_LEVEL_12_1,
        _ => D3D_FEATURE_LEVEL_11_1,
    }
}

/// Checks the minimum feature level requested by an application for a device with these caps.
///
/// # Errors
///
/// Returns DXGI_ERROR_UNSUPPORTED for a level that the device does not have, and E_INVALIDARG for a number that is not
/// a level of D3D12 devices. The levels 9_1 to 10_1 are for Direct3D 11 only; vkd3d-proton's test_create_device records
/// that Windows refuses them.
pub(crate) fn check_minimum(level: D3D_FEATURE_LEVEL, caps: &DriverCaps) -> Result<(), Refusal> {
    let highest = highest(caps);
    match level {
        D3D_FEATURE_LEVEL_1_0_GENERIC
        | D3D_FEATURE_LEVEL_1_0_CORE
        | D3D_FEATURE_LEVEL_11_0
        | D3D_FEATURE_LEVEL_11_1
        | D3D_FEATURE_LEVEL_12_0
        | D3D_FEATURE_LEVEL_12_1
            if level <= highest =>
        {
            Ok(())
        }
        D3D_FEATURE_LEVEL_11_0 | D3D_FEATURE_LEVEL_11_1 | D3D_FEATURE_LEVEL_12_0.. => Err(Refusal::new(
            DXGI_ERROR_UNSUPPORTED,
            format!("feature level {level:#x} is not supported; the highest supported is {highest:#x}"),
        )),
        _ => Err(Refusal::invalid(format!(
            "MinimumFeatureLevel {level:#x} is not a valid D3D12 feature level"
        ))),
    }
}
