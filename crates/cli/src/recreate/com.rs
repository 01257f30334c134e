//! Calls of Direct3D 12 that reserve addresses and create objects at them.

#![expect(
    unsafe_code,
    reason = "calls of COM, each on live objects and with pointers that are valid during the call"
)]

use std::ffi::c_void;

use heapwright_d3d12::windows_core::{IUnknown, Interface, Result};
use heapwright_d3d12::*;

/// Returns whether a device can create objects at addresses: `D3D12_RECREATE_AT_TIER`.
pub(super) fn has_tier(device: &ID3D12Device) -> bool {
    let mut options = D3D12_FEATURE_DATA_D3D12_OPTIONS20::default();
    let size = u32::try_from(size_of_val(&options)).expect("a small structure");
    let data: *mut c_void = (&raw mut options).cast();
    // SAFETY: `data` points to a structure of the feature and of the given size.
    let answer = unsafe { device.CheckFeatureSupport(D3D12_FEATURE_D3D12_OPTIONS20, data, size) };
    answer.is_ok() && options.RecreateAtTier != D3D12_RECREATE_AT_TIER_NOT_SUPPORTED
}

/// Creates a device that reserves ranges of addresses, each a start and a size. Without an adapter, it is on the
/// default one.
pub(super) fn create_reserving(
    factory: &ID3D12DeviceFactory,
    adapter: Option<&IDXGIAdapter3>,
    ranges: &[(u64, u64)],
) -> Result<ID3D12Device> {
    let ranges: Vec<_> = ranges
        .iter()
        .map(|&(start, size)| D3D12_GPU_VIRTUAL_ADDRESS_RANGE {
            StartAddress: D3D12_GPU_VIRTUAL_ADDRESS(start),
            SizeInBytes: size,
        })
        .collect();
    // SAFETY: a live COM object; the result is of the interface that is asked for.
    let tools: ID3D12Tools1 = unsafe { factory.GetConfigurationInterface(&CLSID_D3D12Tools) }?;
    // SAFETY: a live COM object and a slice that is only read.
    unsafe { tools.ReserveGPUVARangesAtCreate(&ranges) }.ok()?;
    let mut device: Option<ID3D12Device> = None;
    let adapter = adapter.map(<&IUnknown>::from);
    // SAFETY: live COM objects.
    unsafe { factory.CreateDevice(adapter, D3D_FEATURE_LEVEL_11_0, &mut device) }?;
    device.ok_or_else(|| E_POINTER.into())
}

/// Creates objects, at addresses if there are any.
pub(super) struct Creator {
    device: ID3D12Device,
    tools: Option<ID3D12DeviceTools>,
}

impl Creator {
    /// Wraps a device. `at_addresses` says whether it has reserved them.
    pub(super) fn new(device: ID3D12Device, at_addresses: bool) -> Result<Self> {
        let tools = if at_addresses { Some(device.cast()?) } else { None };
        Ok(Self { device, tools })
    }

    pub(super) fn device(&self) -> &ID3D12Device {
        &self.device
    }

    /// Sets the address of the next object, or clears it.
    fn set_next(&self, address: Option<u64>) {
        if let Some(tools) = &self.tools {
            // SAFETY: a live COM object. An address that cannot be used makes the next creation fail.
            unsafe { tools.SetNextAllocationAddress(D3D12_GPU_VIRTUAL_ADDRESS(address.unwrap_or(0))) };
        }
    }

    pub(super) fn heap(&self, desc: &D3D12_HEAP_DESC, address: Option<u64>) -> Result<ID3D12Heap> {
        self.set_next(address);
        let mut heap: Option<ID3D12Heap> = None;
        // SAFETY: a live COM object, a description that is read, and a result of the right interface.
        let made = unsafe { self.device.CreateHeap(desc, &mut heap) };
        // A creation that failed leaves the address set.
        self.set_next(None);
        made?;
        heap.ok_or_else(|| E_POINTER.into())
    }

    pub(super) fn committed(
        &self,
        properties: &D3D12_HEAP_PROPERTIES,
        desc: &D3D12_RESOURCE_DESC,
        state: D3D12_RESOURCE_STATES,
        address: Option<u64>,
    ) -> Result<ID3D12Resource> {
        self.set_next(address);
        let mut buffer: Option<ID3D12Resource> = None;
        let flags = D3D12_HEAP_FLAG_NONE;
        // SAFETY: a live COM object, descriptions that are read, and a result of the right interface.
        let made =
            unsafe { self.device.CreateCommittedResource(properties, flags, desc, state, None, &mut buffer) };
        self.set_next(None);
        made?;
        buffer.ok_or_else(|| E_POINTER.into())
    }

    pub(super) fn placed(
        &self,
        heap: &ID3D12Heap,
        offset: u64,
        desc: &D3D12_RESOURCE_DESC,
        state: D3D12_RESOURCE_STATES,
    ) -> Result<ID3D12Resource> {
        let mut buffer: Option<ID3D12Resource> = None;
        // SAFETY: live COM objects, a description that is read, and a result of the right interface.
        unsafe { self.device.CreatePlacedResource(heap, offset, desc, state, None, &mut buffer) }?;
        buffer.ok_or_else(|| E_POINTER.into())
    }
}

/// Returns the GPU virtual address of a buffer.
pub(super) fn address_of(buffer: &ID3D12Resource) -> u64 {
    // SAFETY: a live COM object.
    unsafe { buffer.GetGPUVirtualAddress() }.0
}

/// Returns the width of a buffer.
pub(super) fn width_of(buffer: &ID3D12Resource) -> u64 {
    // SAFETY: a live COM object.
    unsafe { buffer.GetDesc() }.Width
}

/// Writes bytes to a buffer whose memory the CPU can access and the GPU does not use.
pub(super) fn write(buffer: &ID3D12Resource, offset: u64, bytes: &[u8]) -> Result<()> {
    let range = range_of(buffer, offset, bytes.len())?;
    let mut mapped: *mut c_void = std::ptr::null_mut();
    // SAFETY: a live COM object, a range that is read, and a writable pointer.
    unsafe { buffer.Map(0, Some(&NOTHING), &mut mapped) }.ok()?;
    // SAFETY: `Map` returns the address of the buffer's first byte, and `range_of` has checked the range. No slice of
    // the program has these bytes, because only this function and `is_equal` map buffers.
    unsafe { mapped.cast::<u8>().add(range.Begin).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    // SAFETY: mapped above; the range was written.
    unsafe { buffer.Unmap(0, Some(&range)) };
    Ok(())
}

/// Returns whether a buffer has these bytes. The CPU can access its memory, and the GPU does not use it.
pub(super) fn is_equal(buffer: &ID3D12Resource, offset: u64, bytes: &[u8]) -> Result<bool> {
    let range = range_of(buffer, offset, bytes.len())?;
    let mut mapped: *mut c_void = std::ptr::null_mut();
    // SAFETY: a live COM object, a range that is read, and a writable pointer.
    unsafe { buffer.Map(0, Some(&range), &mut mapped) }.ok()?;
    // SAFETY: as in `write`; nothing writes the bytes until they have been compared.
    let found = unsafe { std::slice::from_raw_parts(mapped.cast::<u8>().add(range.Begin), bytes.len()) };
    let is_equal = found == bytes;
    // SAFETY: mapped above; nothing was written.
    unsafe { buffer.Unmap(0, Some(&NOTHING)) };
    Ok(is_equal)
}

const NOTHING: D3D12_RANGE = D3D12_RANGE { Begin: 0, End: 0 };

/// Checks that bytes from an offset on are in a buffer, and returns their range.
fn range_of(buffer: &ID3D12Resource, offset: u64, len: usize) -> Result<D3D12_RANGE> {
    let begin = usize::try_from(offset).map_err(|_| E_INVALIDARG)?;
    let is_within = offset.checked_add(len as u64).is_some_and(|end| end <= width_of(buffer));
    if is_within { Ok(D3D12_RANGE { Begin: begin, End: begin + len }) } else { Err(E_INVALIDARG.into()) }
}
