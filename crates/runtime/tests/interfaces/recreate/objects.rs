//! Short functions for devices with reserved addresses, and for objects at given addresses.

use heapwright_d3d12::*;
use heapwright_runtime::{HostProfile, Instance};
use windows_core::{Interface, Result};

use crate::gpu::{self, Answer as _, buffer_desc, create_heap, heap_desc, of_type, texture_desc};

pub(crate) const PAGE: u64 = 65_536;

/// Opens a GPU whose addresses depend on `seed`.
pub(crate) fn open(profile: &str, seed: u64) -> Instance {
    let profile = HostProfile::find(profile).expect("a profile of that name");
    Instance::open(&HostProfile { address_seed: Some(seed), ..*profile }).expect("a fresh instance")
}

pub(crate) fn range(start: u64, size: u64) -> D3D12_GPU_VIRTUAL_ADDRESS_RANGE {
    D3D12_GPU_VIRTUAL_ADDRESS_RANGE { StartAddress: D3D12_GPU_VIRTUAL_ADDRESS(start), SizeInBytes: size }
}

pub(crate) fn tools_of(factory: &ID3D12DeviceFactory) -> ID3D12Tools1 {
    unsafe { factory.GetConfigurationInterface(&CLSID_D3D12Tools) }.expect("the factory has tools")
}

/// Creates a device of the factory, with the debug layer.
pub(crate) fn device_of(factory: &ID3D12DeviceFactory, gpu: &Instance) -> Result<ID3D12Device14> {
    let layer: ID3D12Debug = unsafe { factory.GetConfigurationInterface(&CLSID_D3D12Debug) }
        .expect("the factory has a debug layer");
    unsafe { layer.EnableDebugLayer() };
    let mut device: Option<ID3D12Device14> = None;
    unsafe { factory.CreateDevice(&gpu.adapter, D3D_FEATURE_LEVEL_12_0, &mut device) }?;
    Ok(device.expect("S_OK comes with a device"))
}

/// Creates a device of the GPU that reserves `ranges`.
pub(crate) fn reserving(
    gpu: &Instance,
    ranges: &[D3D12_GPU_VIRTUAL_ADDRESS_RANGE],
) -> Result<ID3D12Device14> {
    let factory = gpu.device_factory().expect("the profile is new enough");
    unsafe { tools_of(&factory).ReserveGPUVARangesAtCreate(ranges) }.succeeds();
    device_of(&factory, gpu)
}

/// Sets the address of this thread's next heap or resource.
pub(crate) fn set_next(device: &ID3D12Device14, address: u64) {
    let tools: ID3D12DeviceTools = device.cast().expect("a device has tools");
    unsafe { tools.SetNextAllocationAddress(D3D12_GPU_VIRTUAL_ADDRESS(address)) };
}

pub(crate) fn allocation(object: &impl Interface) -> (u64, u64) {
    let tools: ID3D12PageableTools = object.cast().expect("heaps and resources have tools");
    let mut found = D3D12_GPU_VIRTUAL_ADDRESS_RANGE::default();
    unsafe { tools.GetAllocation(&mut found) }.succeeds();
    (found.StartAddress.0, found.SizeInBytes)
}

pub(crate) fn heap(device: &ID3D12Device14, size: u64) -> Result<ID3D12Heap> {
    let flags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
    let desc = D3D12_HEAP_DESC { Flags: flags, ..heap_desc(D3D12_HEAP_TYPE_READBACK, size) };
    Ok(create_heap(device, &desc)?)
}

pub(crate) fn heap_at(device: &ID3D12Device14, address: u64, size: u64) -> Result<ID3D12Heap> {
    set_next(device, address);
    heap(device, size)
}

pub(crate) fn committed(device: &ID3D12Device14, desc: &D3D12_RESOURCE_DESC) -> Result<ID3D12Resource> {
    let is_buffer = desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER;
    let heap_type = if is_buffer { D3D12_HEAP_TYPE_READBACK } else { D3D12_HEAP_TYPE_DEFAULT };
    let state = if is_buffer { D3D12_RESOURCE_STATE_COPY_DEST } else { D3D12_RESOURCE_STATE_COMMON };
    gpu::committed(device, of_type(heap_type), D3D12_HEAP_FLAG_NONE, desc, state)
}

pub(crate) fn placed(
    device: &ID3D12Device14,
    heap: &ID3D12Heap,
    offset: u64,
    desc: &D3D12_RESOURCE_DESC,
) -> Result<ID3D12Resource> {
    gpu::placed(device, heap, offset, desc, D3D12_RESOURCE_STATE_COPY_DEST)
}

pub(crate) fn reserved(device: &ID3D12Device14, desc: &D3D12_RESOURCE_DESC) -> Result<ID3D12Resource> {
    let mut resource = None;
    unsafe { device.CreateReservedResource(desc, D3D12_RESOURCE_STATE_COMMON, None, &mut resource) }?;
    Ok(resource.expect("S_OK comes with a resource"))
}

pub(crate) fn buffer(width: u64) -> D3D12_RESOURCE_DESC {
    buffer_desc(width, D3D12_RESOURCE_FLAG_NONE)
}

pub(crate) fn tight_buffer(width: u64) -> D3D12_RESOURCE_DESC {
    buffer_desc(width, D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT)
}

pub(crate) fn texture() -> D3D12_RESOURCE_DESC {
    texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, [64, 64])
}

pub(crate) fn address(resource: &ID3D12Resource) -> u64 {
    unsafe { resource.GetGPUVirtualAddress() }.0
}
