//! Calls of D3D12 itself: resources of the application, which a recorded program imported, and sizes of heaps.

#![expect(
    unsafe_code,
    reason = "calls of COM, each on live objects and with pointers that are valid during the call"
)]

use heapwright::d3d12::{
    D3D12_HEAP_FLAG_NONE, D3D12_HEAP_PROPERTIES, D3D12_RESOURCE_DESC,
    D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT, ID3D12Heap, ID3D12Resource,
};
use heapwright::{HeapType, ResourceAllocation, ResourceAllocator};
use heapwright_loader::Gpu;

use super::request::Request;

/// Creates a committed resource as the application did, and imports it. Nothing maps it.
pub(super) fn import(
    gpu: &Gpu,
    allocator: &ResourceAllocator,
    request: &Request,
) -> Result<ResourceAllocation, String> {
    let asked = request.allocation.heap_type.and_then(|asked| asked.heap_types().first().copied());
    let heap_type = asked.unwrap_or(HeapType::Default).to_d3d12();
    let properties = D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() };
    let mut desc = request.resource;
    if desc.Flags & D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT != 0 {
        // The recorded alignment is the actual one, which must not be requested together with the flag.
        desc = D3D12_RESOURCE_DESC { Alignment: 0, ..desc };
    }
    let mut resource: Option<ID3D12Resource> = None;
    // SAFETY: the device is a live COM object, both descriptions outlive the call, and the result is of the interface
    // that is asked for.
    unsafe {
        gpu.device.CreateCommittedResource(
            &properties,
            D3D12_HEAP_FLAG_NONE,
            &desc,
            request.initial_state,
            None,
            &mut resource,
        )
    }
    .map_err(|error| format!("ID3D12Device::CreateCommittedResource: {error}"))?;
    let resource = resource.ok_or("ID3D12Device::CreateCommittedResource returned no resource")?;
    // SAFETY: only the allocation has the resource from here on.
    unsafe { allocator.import(&request.allocation, &resource) }.map_err(|error| error.to_string())
}

/// Returns the size of a heap, in bytes.
pub(super) fn heap_size(heap: &ID3D12Heap) -> u64 {
    // SAFETY: the heap is a live COM object.
    unsafe { heap.GetDesc() }.SizeInBytes
}
