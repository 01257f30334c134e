//! A device and its newer interfaces, asked for once.

use heapwright_d3d12::*;
use windows_core::Interface;

/// A device under each interface that a resource may be created through. `None`: the device does not have it.
#[derive(Debug, Clone)]
pub(super) struct Devices {
    pub(super) device: ID3D12Device,
    pub(super) device1: Option<ID3D12Device1>,
    pub(super) device4: Option<ID3D12Device4>,
    pub(super) device8: Option<ID3D12Device8>,
    pub(super) device10: Option<ID3D12Device10>,
    pub(super) device12: Option<ID3D12Device12>,
}

impl Devices {
    pub(super) fn of(device: &ID3D12Device) -> Self {
        Self {
            device: device.clone(),
            device1: device.cast().ok(),
            device4: device.cast().ok(),
            device8: device.cast().ok(),
            device10: device.cast().ok(),
            device12: device.cast().ok(),
        }
    }
}
