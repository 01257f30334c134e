//! Queues, command lists, and buffers that they copy.

use std::ptr::null_mut;

use heapwright::d3d12::*;
use heapwright::residency::{ResidencyHeap, ResidencyList};
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

pub(crate) fn fence_of(device: &ID3D12Device) -> ID3D12Fence {
    // SAFETY: a live device, and a result of the interface that is asked for.
    unsafe { device.CreateFence(0, D3D12_FENCE_FLAG_NONE) }.expect("a fence")
}

pub(crate) fn signal(fence: &ID3D12Fence, value: u64) {
    // SAFETY: a live fence.
    unsafe { fence.Signal(value) }.ok().expect("signalled");
}

/// Returns a residency list that names heaps.
pub(crate) fn naming<'a>(heaps: impl IntoIterator<Item = &'a ResidencyHeap>) -> ResidencyList {
    let list = ResidencyList::new();
    heaps.into_iter().for_each(|heap| list.add(heap).expect("heaps of one manager"));
    list
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
    flags: D3D12_HEAP_FLAGS,
    desc: &D3D12_RESOURCE_DESC,
) -> ID3D12Resource {
    let state = state_in(properties.Type);
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
    committed_with_flags(device, heap_type, D3D12_HEAP_FLAG_NONE, size)
}

/// Creates a committed buffer whose implicit heap has these flags.
pub(crate) fn committed_with_flags(
    device: &ID3D12Device,
    heap_type: D3D12_HEAP_TYPE,
    flags: D3D12_HEAP_FLAGS,
    size: u64,
) -> ID3D12Resource {
    let properties = D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() };
    committed_with(device, &properties, flags, &buffer_desc(ByteSize::new(size)))
}

/// Creates a heap for buffers without an allocator.
pub(crate) fn raw_heap(
    device: &ID3D12Device,
    heap_type: D3D12_HEAP_TYPE,
    size: u64,
    flags: D3D12_HEAP_FLAGS,
) -> Result<ID3D12Heap, windows_core::Error> {
    let desc = D3D12_HEAP_DESC {
        SizeInBytes: size,
        Properties: D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() },
        Flags: D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS | flags,
        ..Default::default()
    };
    let mut heap: Option<ID3D12Heap> = None;
    // SAFETY: a live device; the description outlives the call, and the result is of this interface.
    unsafe { device.CreateHeap(&desc, &mut heap) }?;
    Ok(heap.expect("S_OK comes with a heap"))
}

/// Creates a buffer at the beginning of a heap.
pub(crate) fn placed(
    device: &ID3D12Device,
    heap: &ID3D12Heap,
    heap_type: D3D12_HEAP_TYPE,
    size: u64,
) -> ID3D12Resource {
    let (desc, state) = (buffer_desc(ByteSize::new(size)), state_in(heap_type));
    let mut buffer: Option<ID3D12Resource> = None;
    // SAFETY: live objects; the description outlives the call, and the result is of this interface.
    unsafe { device.CreatePlacedResource(heap, 0, &desc, state, None, &mut buffer) }.expect("it fits");
    buffer.expect("S_OK comes with a buffer")
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
