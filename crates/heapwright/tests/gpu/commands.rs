//! Queues, command lists, and buffers that they copy.

use std::ptr::null_mut;

use heapwright::d3d12::*;
use heapwright::{ByteSize, buffer_desc};

pub(crate) fn queue_of(device: &ID3D12Device, kind: D3D12_COMMAND_LIST_TYPE) -> ID3D12CommandQueue {
    let desc = D3D12_COMMAND_QUEUE_DESC { Type: kind, ..Default::default() };
    // SAFETY: a live device, a description that outlives the call, and a result of the interface that is asked for.
    unsafe { device.CreateCommandQueue(&desc) }.expect("a queue")
}

/// Creates an open list, and the allocator of its commands.
pub(crate) fn list_of(
    device: &ID3D12Device,
    kind: D3D12_COMMAND_LIST_TYPE,
) -> (ID3D12CommandAllocator, ID3D12GraphicsCommandList) {
    // SAFETY: live objects, and results of the interfaces that are asked for.
    unsafe {
        let commands: ID3D12CommandAllocator = device.CreateCommandAllocator(kind).expect("an allocator");
        let list = device.CreateCommandList(0, kind, &commands, None).expect("a list");
        (commands, list)
    }
}

/// Returns the initial state that every D3D12 accepts for a heap type.
pub(crate) fn state_in(heap_type: D3D12_HEAP_TYPE) -> D3D12_RESOURCE_STATES {
    match heap_type {
        D3D12_HEAP_TYPE_UPLOAD => D3D12_RESOURCE_STATE_GENERIC_READ,
        D3D12_HEAP_TYPE_READBACK => D3D12_RESOURCE_STATE_COPY_DEST,
        _ => D3D12_RESOURCE_STATE_COMMON,
    }
}

/// Creates a committed resource without an allocator.
pub(crate) fn committed_with(
    device: &ID3D12Device,
    properties: &D3D12_HEAP_PROPERTIES,
    desc: &D3D12_RESOURCE_DESC,
) -> ID3D12Resource {
    let (flags, state) = (D3D12_HEAP_FLAG_NONE, state_in(properties.Type));
    let mut made: Option<ID3D12Resource> = None;
    // SAFETY: a live device, descriptions that outlive the call, and a result of the interface that is asked for.
    unsafe { device.CreateCommittedResource(properties, flags, desc, state, None, &mut made) }
        .expect("the device takes it, and there is room");
    made.expect("S_OK comes with a resource")
}

/// Creates a committed buffer without an allocator.
pub(crate) fn committed_buffer(
    device: &ID3D12Device,
    heap_type: D3D12_HEAP_TYPE,
    size: u64,
) -> ID3D12Resource {
    let properties = D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() };
    committed_with(device, &properties, &buffer_desc(ByteSize::new(size)))
}

/// Returns the bytes of a buffer that the CPU can access, which stays mapped.
#[allow(clippy::mut_from_ref, reason = "mapped memory is not the resource's own")]
pub(crate) fn mapped(buffer: &ID3D12Resource) -> &mut [u8] {
    let mut start = null_mut();
    // SAFETY: a live buffer, which has as many bytes as it is wide; tests look at them while the GPU does not.
    unsafe {
        buffer.Map(0, None, &mut start).ok().expect("mapped");
        let size = usize::try_from(buffer.GetDesc().Width).expect("small");
        std::slice::from_raw_parts_mut(start.cast(), size)
    }
}
