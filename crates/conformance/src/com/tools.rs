//! The tools' interfaces: where objects are, where the next one is to be, and what a device reserves.

use heapwright_d3d12::*;
use windows_core::{IUnknown, Interface};

use super::{Result, created, done};

/// GPU virtual addresses: the first, and how many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allocation {
    pub(crate) start: u64,
    pub(crate) size: u64,
}

impl Allocation {
    /// The first address behind it; the largest there is where that has more than 64 bits.
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
pub(crate) fn allocation<I: Interface>(object: &I) -> Result<Allocation> {
    let tools: ID3D12PageableTools = object.cast().map_err(|error| error.code())?;
    let mut found = D3D12_GPU_VIRTUAL_ADDRESS_RANGE::default();
    // SAFETY: the object is live, found takes a range.
    done(unsafe { tools.GetAllocation(&mut found) })?;
    Ok(Allocation { start: found.StartAddress.0, size: found.SizeInBytes })
}

/// `ID3D12DeviceTools::SetNextAllocationAddress`.
pub(crate) fn set_next_address(device: &ID3D12Device, address: u64) -> Result<()> {
    let tools: ID3D12DeviceTools = device.cast().map_err(|error| error.code())?;
    // SAFETY: the device is live.
    unsafe { tools.SetNextAllocationAddress(D3D12_GPU_VIRTUAL_ADDRESS(address)) };
    Ok(())
}

/// The tools of a device factory.
pub(crate) fn of_factory(factory: &ID3D12DeviceFactory) -> Result<ID3D12Tools1> {
    // SAFETY: the factory is live.
    unsafe { factory.GetConfigurationInterface(&CLSID_D3D12Tools) }.map_err(|error| error.code())
}

/// `ReserveGPUVARangesAtCreate`.
pub(crate) fn reserve(tools: &ID3D12Tools1, ranges: &[Allocation]) -> Result<()> {
    let ranges: Vec<_> = ranges
        .iter()
        .map(|range| D3D12_GPU_VIRTUAL_ADDRESS_RANGE {
            StartAddress: D3D12_GPU_VIRTUAL_ADDRESS(range.start),
            SizeInBytes: range.size,
        })
        .collect();
    // SAFETY: the tools are live, the slice is the array.
    done(unsafe { tools.ReserveGPUVARangesAtCreate(&ranges) })
}

/// `ClearReservedGPUVARangesList`.
pub(crate) fn clear(tools: &ID3D12Tools1) {
    // SAFETY: the tools are live.
    unsafe { tools.ClearReservedGPUVARangesList() };
}

/// `ID3D12DeviceFactory::CreateDevice` of the lowest feature level.
pub(crate) fn create_device(
    factory: &ID3D12DeviceFactory,
    adapter: Option<&IDXGIAdapter3>,
) -> Result<ID3D12Device> {
    let adapter = adapter.map(Interface::cast::<IUnknown>).transpose().map_err(|error| error.code())?;
    let mut device = None;
    // SAFETY: factory and adapter are live, device takes one interface.
    created(unsafe { factory.CreateDevice(adapter.as_ref(), D3D_FEATURE_LEVEL_11_0, &mut device) }, device)
}
