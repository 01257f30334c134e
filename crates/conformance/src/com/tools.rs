//! `ID3D12PageableTools`, `ID3D12DeviceTools` and `ID3D12Tools1`: the GPU virtual addresses of objects.

use heapwright_d3d12::*;
use windows_core::{IUnknown, Interface};

use super::{cast, created, done, returned};
use crate::answer::Answer;

/// A range of GPU virtual addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allocation {
    pub(crate) start: u64,
    pub(crate) size: u64,
}

impl Allocation {
    /// Returns the first address after the range, saturating at `u64::MAX`.
    pub(crate) fn end(self) -> u64 {
        self.start.saturating_add(self.size)
    }

    pub(crate) fn overlaps(self, other: Self) -> bool {
        self.start < other.end() && other.start < self.end()
    }

    pub(crate) fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end() <= self.end()
    }
}

/// `ID3D12PageableTools::GetAllocation` of a heap or a resource.
pub(crate) fn allocation<I: Interface>(object: &I) -> Answer<Allocation> {
    let mut found = D3D12_GPU_VIRTUAL_ADDRESS_RANGE::default();
    let result = object.cast::<ID3D12PageableTools>().and_then(|tools| {
        // SAFETY: the object is live, and found is the structure that the call writes.
        unsafe { tools.GetAllocation(&mut found) }.ok()
    });
    returned("GetAllocation", result)
        .map(|()| Allocation { start: found.StartAddress.0, size: found.SizeInBytes })
}

/// `ID3D12DeviceTools::SetNextAllocationAddress`.
pub(crate) fn set_next_address(device: &ID3D12Device, address: u64) -> Answer<()> {
    let tools = cast::<ID3D12DeviceTools>(device).map(|tools| {
        // SAFETY: the device is live.
        unsafe { tools.SetNextAllocationAddress(D3D12_GPU_VIRTUAL_ADDRESS(address)) };
    });
    Answer::new("QueryInterface for ID3D12DeviceTools", tools)
}

/// Returns the tools of a device factory.
pub(crate) fn of_factory(factory: &ID3D12DeviceFactory) -> Answer<ID3D12Tools1> {
    // SAFETY: the factory is live.
    let tools = unsafe { factory.GetConfigurationInterface(&CLSID_D3D12Tools) };
    returned("GetConfigurationInterface of D3D12Tools", tools)
}

pub(crate) fn reserve(tools: &ID3D12Tools1, ranges: &[Allocation]) -> Answer<()> {
    let ranges: Vec<_> = ranges
        .iter()
        .map(|range| D3D12_GPU_VIRTUAL_ADDRESS_RANGE {
            StartAddress: D3D12_GPU_VIRTUAL_ADDRESS(range.start),
            SizeInBytes: range.size,
        })
        .collect();
    // SAFETY: the tools are live, the slice is the array.
    done("ReserveGPUVARangesAtCreate", unsafe { tools.ReserveGPUVARangesAtCreate(&ranges) })
}

pub(crate) fn clear(tools: &ID3D12Tools1) {
    // SAFETY: the tools are live.
    unsafe { tools.ClearReservedGPUVARangesList() };
}

/// `ID3D12DeviceFactory::CreateDevice` with feature level 11_0.
pub(crate) fn create_device(
    factory: &ID3D12DeviceFactory,
    adapter: Option<&IDXGIAdapter3>,
) -> Answer<ID3D12Device> {
    let mut device = None;
    let result = adapter.map(Interface::cast::<IUnknown>).transpose().and_then(|adapter| {
        // SAFETY: factory and adapter are live, and device takes one interface.
        unsafe { factory.CreateDevice(adapter.as_ref(), D3D_FEATURE_LEVEL_11_0, &mut device) }
    });
    created("ID3D12DeviceFactory::CreateDevice", result, device)
}
