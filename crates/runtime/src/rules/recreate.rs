//! Objects at GPU virtual addresses that the application chooses (Recreate-at-GPUVA specification).

use heapwright_core::{ByteSize, GpuVirtualAddress};
use heapwright_d3d12::{
    D3D12_MESSAGE_ID_RECREATEAT_INSUFFICIENT_SUPPORT, D3D12_MESSAGE_ID_RECREATEAT_INVALID_TARGET,
    DXGI_ERROR_UNSUPPORTED,
};

use super::Refusal;
use super::resource::Resource;
use crate::ddi::{DriverCaps, GpuVirtualAddressRange};

/// Checks whether an object may be created at the address from `SetNextAllocationAddress`. `resource` is `None` for a
/// heap; `heap_has_address` says of a placed resource whether its heap was created at an address, and is true for all
/// others.
pub(crate) fn check(
    address: Option<GpuVirtualAddress>,
    resource: Option<&Resource>,
    heap_has_address: bool,
    caps: &DriverCaps,
) -> Result<(), Refusal> {
    let Some(address) = address else { return Ok(()) };
    let cannot =
        |what| format!("cannot create {what} at {address}, the address from SetNextAllocationAddress");
    check_support(caps, || cannot("an object"))?;
    let refused = match resource {
        Some(Resource::Texture(_)) => {
            cannot("a texture") + "; only heaps and buffers can be created at an address"
        }
        _ if !heap_has_address => {
            cannot("a placed buffer") + ", because its heap was not created at an address"
        }
        _ => return Ok(()),
    };
    Err(Refusal::invalid(refused).with_id(D3D12_MESSAGE_ID_RECREATEAT_INVALID_TARGET))
}

/// Checks that a device may be created with `ranges` of addresses reserved.
///
/// # Errors
///
/// DXGI_ERROR_UNSUPPORTED if the tier is NOT_SUPPORTED and `ranges` has a non-empty range; the HRESULT is our choice.
pub(crate) fn check_ranges(ranges: &[GpuVirtualAddressRange], caps: &DriverCaps) -> Result<(), Refusal> {
    let count = ranges.iter().filter(|range| range.size != ByteSize::ZERO).count();
    if count == 0 {
        return Ok(());
    }
    check_support(caps, || format!("cannot reserve {count} ranges of GPU virtual addresses"))
}

fn check_support(caps: &DriverCaps, what: impl FnOnce() -> String) -> Result<(), Refusal> {
    if caps.has_recreate_at() {
        return Ok(());
    }
    let why = if caps.developer_mode { "" } else { ", because developer mode is off" };
    let message = format!("{}: RecreateAtTier is NOT_SUPPORTED{why}", what());
    Err(Refusal::new(DXGI_ERROR_UNSUPPORTED, message)
        .with_id(D3D12_MESSAGE_ID_RECREATEAT_INSUFFICIENT_SUPPORT))
}
