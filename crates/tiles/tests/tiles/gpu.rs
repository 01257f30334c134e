//! A device, queues with recyclable lists, and copies of few bytes into and out of tiles.

use std::collections::VecDeque;
use std::mem::ManuallyDrop;

use heapwright::d3d12::*;
use heapwright::{
    ByteSize, FenceValue, HeapType, PoolDesc, ResourceAllocation, ResourceAllocationDesc, ResourceAllocator,
    ResourceKind, buffer_desc,
};
use heapwright_runtime::aliasing::AliasingTracking;
use heapwright_runtime::{DeviceOptions, HostProfile, Instance, VulkanGpu};
use heapwright_tiles::TilePool;
use windows_core::Interface;

pub(crate) const TILE: u64 = 65536;
pub(crate) const FORMAT: DXGI_FORMAT = DXGI_FORMAT_R8G8B8A8_UNORM;
/// Bytes of a stamp: two texels.
pub(crate) const STAMP: usize = 8;

/// Opens the device that the environment names, which tracks aliasing and scrambles undefined contents.
pub(crate) fn tracked() -> Instance {
    let options = DeviceOptions { aliasing: Some(AliasingTracking::ADVANCED), ..Default::default() };
    let name = std::env::var("HEAPWRIGHT_TEST_DEVICE").unwrap_or_else(|_| "host".into());
    if let Some(index) = VulkanGpu::parse_name(&name) {
        return Instance::open_vulkan(index, options, &[]).expect("HEAPWRIGHT_TEST_DEVICE is suitable");
    }
    let profile = match name.strip_prefix("host:") {
        Some(profile) => HostProfile::find(profile).expect("a profile of that name"),
        None => HostProfile::default_profile(),
    };
    Instance::open_with(profile, options).expect("a fresh instance")
}

pub(crate) fn open(profile: &str) -> Instance {
    Instance::open(HostProfile::find(profile).expect("a profile of that name")).expect("a fresh instance")
}

pub(crate) fn allocator(gpu: &Instance) -> ResourceAllocator {
    ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default()).expect("a sound device")
}

pub(crate) fn pool_desc(resources: ResourceKind, heap_size: ByteSize) -> PoolDesc {
    PoolDesc { name: "tiles".into(), resources, heap_size: Some(heap_size), ..Default::default() }
}

/// Creates a pool of small heaps for buffers.
pub(crate) fn pool(allocator: &ResourceAllocator) -> TilePool {
    TilePool::new(allocator, pool_desc(ResourceKind::Buffers, ByteSize::from_mib(1))).expect("tiles")
}

pub(crate) fn buffer_of(tiles: u64) -> D3D12_RESOURCE_DESC {
    buffer_desc(ByteSize::new(tiles * TILE))
}

pub(crate) fn texture_of(size: u32, mips: u16) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: size.into(),
        Height: size,
        DepthOrArraySize: 1,
        MipLevels: mips,
        Format: FORMAT,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        ..Default::default()
    }
}

pub(crate) fn plain_buffer(
    allocator: &ResourceAllocator,
    heap_type: HeapType,
    size: u64,
) -> ResourceAllocation {
    let desc = ResourceAllocationDesc::new(heap_type);
    allocator.create(&desc, buffer_desc(ByteSize::new(size))).expect("a buffer")
}

pub(crate) fn fence(device: &ID3D12Device) -> ID3D12Fence {
    unsafe { device.CreateFence(0, D3D12_FENCE_FLAG_NONE) }.expect("a fence")
}

/// A queue whose submissions have numbers, which its fence reaches.
pub(crate) struct Queue {
    pub(crate) queue: ID3D12CommandQueue,
    pub(crate) fence: ID3D12Fence,
    kind: D3D12_COMMAND_LIST_TYPE,
    device: ID3D12Device,
    /// The value of the last submission.
    last: u64,
    /// Lists with the values after which they can be recorded again.
    used: VecDeque<(u64, ID3D12CommandAllocator, ID3D12GraphicsCommandList)>,
}

impl Queue {
    pub(crate) fn new(device: &ID3D12Device, kind: D3D12_COMMAND_LIST_TYPE) -> Self {
        let desc = D3D12_COMMAND_QUEUE_DESC { Type: kind, ..Default::default() };
        let queue = unsafe { device.CreateCommandQueue(&desc) }.expect("a queue");
        Self { queue, fence: fence(device), kind, device: device.clone(), last: 0, used: VecDeque::new() }
    }

    /// Returns the value of the next submission.
    pub(crate) fn next(&self) -> FenceValue {
        FenceValue::new(self.last + 1)
    }

    pub(crate) fn last(&self) -> FenceValue {
        FenceValue::new(self.last)
    }

    /// Executes a list that `record` records, and signals the next value.
    pub(crate) fn submit(&mut self, record: impl FnOnce(&ID3D12GraphicsCommandList)) {
        unsafe {
            let completed = self.fence.GetCompletedValue();
            let is_free = self.used.front().is_some_and(|(value, ..)| *value <= completed);
            let (commands, list) = match self.used.pop_front().filter(|_| is_free) {
                Some((_, commands, list)) => {
                    commands.Reset().ok().expect("the GPU is done with it");
                    list.Reset(&commands, None).ok().expect("it is closed");
                    (commands, list)
                }
                None => {
                    let commands: ID3D12CommandAllocator =
                        self.device.CreateCommandAllocator(self.kind).expect("an allocator");
                    let list = self.device.CreateCommandList(0, self.kind, &commands, None).expect("a list");
                    (commands, list)
                }
            };
            record(&list);
            list.Close().ok().expect("a valid list");
            self.queue.ExecuteCommandLists(&[Some(list.cast().expect("a list"))]);
            self.last += 1;
            self.queue.Signal(&self.fence, self.last).ok().expect("signaled");
            self.used.push_back((self.last, commands, list));
        }
    }

    pub(crate) fn wait_for(&self, other: &Self, value: FenceValue) {
        unsafe { self.queue.Wait(&other.fence, value.get()) }.ok().expect("it waits");
    }

    pub(crate) fn finish(&self) {
        unsafe { self.fence.SetEventOnCompletion(self.last, HANDLE::default()) }.ok().expect("reached");
    }
}

pub(crate) fn transition(
    list: &ID3D12GraphicsCommandList,
    resource: &ID3D12Resource,
    before: D3D12_RESOURCE_STATES,
    after: D3D12_RESOURCE_STATES,
) {
    let transition = D3D12_RESOURCE_TRANSITION_BARRIER {
        pResource: borrow(resource),
        Subresource: D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES,
        StateBefore: before,
        StateAfter: after,
    };
    let barrier = D3D12_RESOURCE_BARRIER {
        Type: D3D12_RESOURCE_BARRIER_TYPE_TRANSITION,
        Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE,
        Anonymous: D3D12_RESOURCE_BARRIER_0 { Transition: ManuallyDrop::new(transition) },
    };
    unsafe { list.ResourceBarrier(&[barrier]) };
}

fn borrow(resource: &ID3D12Resource) -> ManuallyDrop<Option<ID3D12Resource>> {
    ManuallyDrop::new(Some(unsafe { ID3D12Resource::from_raw(resource.as_raw()) }))
}

/// A place in a resource for a stamp.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    Byte(u64),
    Texel { subresource: u32, x: u32, y: u32 },
}

fn of_texture(texture: &ID3D12Resource, subresource: u32) -> D3D12_TEXTURE_COPY_LOCATION {
    D3D12_TEXTURE_COPY_LOCATION {
        pResource: borrow(texture),
        Type: D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX,
        Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { SubresourceIndex: subresource },
    }
}

fn of_buffer(buffer: &ID3D12Resource, offset: u64) -> D3D12_TEXTURE_COPY_LOCATION {
    let footprint =
        D3D12_SUBRESOURCE_FOOTPRINT { Format: FORMAT, Width: 2, Height: 1, Depth: 1, RowPitch: 256 };
    D3D12_TEXTURE_COPY_LOCATION {
        pResource: borrow(buffer),
        Type: D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT,
        Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 {
            PlacedFootprint: D3D12_PLACED_SUBRESOURCE_FOOTPRINT { Offset: offset, Footprint: footprint },
        },
    }
}

/// Copies a stamp from a buffer to a place of a resource.
pub(crate) fn write(
    list: &ID3D12GraphicsCommandList,
    (resource, place): (&ID3D12Resource, Place),
    (buffer, offset): (&ID3D12Resource, u64),
) {
    unsafe {
        match place {
            Place::Byte(at) => list.CopyBufferRegion(resource, at, buffer, offset, STAMP as u64),
            Place::Texel { subresource, x, y } => {
                let to = of_texture(resource, subresource);
                list.CopyTextureRegion(&to, x, y, 0, &of_buffer(buffer, offset), None);
            }
        }
    }
}

/// Copies a stamp from a place of a resource to a buffer.
pub(crate) fn read(
    list: &ID3D12GraphicsCommandList,
    (resource, place): (&ID3D12Resource, Place),
    (buffer, offset): (&ID3D12Resource, u64),
) {
    unsafe {
        match place {
            Place::Byte(at) => list.CopyBufferRegion(buffer, offset, resource, at, STAMP as u64),
            Place::Texel { subresource, x, y } => {
                let region = D3D12_BOX { left: x, top: y, front: 0, right: x + 2, bottom: y + 1, back: 1 };
                let from = of_texture(resource, subresource);
                list.CopyTextureRegion(&of_buffer(buffer, offset), 0, 0, 0, &from, Some(&raw const region));
            }
        }
    }
}
