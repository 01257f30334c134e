//! Objects at GPU virtual addresses that the application chooses (Recreate-at-GPUVA specification).

use heapwright_core::{ByteSize, GpuVirtualAddress};
use heapwright_d3d12::{
    D3D12_MESSAGE_ID_RECREATEAT_INSUFFICIENT_SUPPORT, D3D12_MESSAGE_ID_RECREATEAT_INVALID_TARGET,
    DXGI_ERROR_UNSUPPORTED,
};

use super::Refusal;
use super::resource::Resource;
use crate::ddi::{DriverCaps, GpuVirtualAddressRange};

/// Checks that a heap may be created at `address`, if one was set.
///
/// # Errors
///
/// DXGI_ERROR_UNSUPPORTED if the tier is NOT_SUPPORTED. The specification requires the refusal; the HRESULT is our
/// choice.
pub(crate) fn check_heap(address: Option<GpuVirtualAddress>, caps: &DriverCaps) -> Result<(), Refusal> {
    match address {
        Some(address) => check_support(caps, || {
            format!("cannot create an object at {address}, the address from SetNextAllocationAddress")
        }),
        None => Ok(()),
    }
}

/// Checks that a resource may be created at `address`, if one was set. Only buffers may, by any kind of creation.
///
/// # Errors
///
/// The error of [`check_heap`], or E_INVALIDARG for a texture.
pub(crate) fn check_resource(
    address: Option<GpuVirtualAddress>,
    resource: &Resource,
    caps: &DriverCaps,
) -> Result<(), Refusal> {
    check_heap(address, caps)?;
    match address {
        Some(address) if resource.texture().is_some() => Err(Refusal::invalid(format!(
            "cannot create a texture at {address}, the address from SetNextAllocationAddress; only heaps and buffers \
             can be created at an address"
        ))
        .with_id(D3D12_MESSAGE_ID_RECREATEAT_INVALID_TARGET)),
        _ => Ok(()),
    }
}

/// Checks that a resource may be placed at `address`, if one was set. `heap_has_address` tells whether its heap was
/// created at an address.
///
/// # Errors
///
/// E_INVALIDARG if the heap was not created at an address, as the Recreate-at-GPUVA specification requires.
pub(crate) fn check_placed(
    address: Option<GpuVirtualAddress>,
    heap_has_address: bool,
) -> Result<(), Refusal> {
    match address {
        Some(address) if !heap_has_address => Err(Refusal::invalid(format!(
            "cannot create a placed buffer at {address}, the address from SetNextAllocationAddress, because its heap \
             was not created at an address"
        ))
        .with_id(D3D12_MESSAGE_ID_RECREATEAT_INVALID_TARGET)),
        _ => Ok(()),
    }
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
