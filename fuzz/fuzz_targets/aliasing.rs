//! Random programs over overlapping resources on a device that tracks aliasing. Checks that nothing panics,
//! that the tracker's state is consistent after each submission, and that everything is released.
#![no_main]

use std::mem::ManuallyDrop;

use arbitrary::Arbitrary;
use heapwright_d3d12::*;
use heapwright_runtime::aliasing::AliasingTracking;
use heapwright_runtime::{DeviceOptions, HostProfile, Instance};
use libfuzzer_sys::fuzz_target;
use windows_core::{IUnknown, Interface};

const KIB_64: u64 = 64 * 1024;
const HEAP_TILES: u8 = 16;
const MAX_QUEUES: usize = 3;

#[derive(Debug, Arbitrary)]
struct Program {
    simple: bool,
    scramble: bool,
    ops: Vec<Op>,
}

#[derive(Debug, Arbitrary)]
enum Op {
    Heap { flags: u8 },
    Queue,
    Buffer { heap: u8, at: u8, size: u16, tight: bool },
    Texture { heap: u8, at: u8, side: u8, mips: u8, slices: u8, layout: u8, flags: u8, reserved: bool },
    Reserved { tiles: u8 },
    Release { resource: u8 },
    ReleaseHeap { heap: u8 },
    ReleaseQueue { queue: u8 },
    CopyBytes { to: u8, at: u16, from: u8, start: u16, size: u16 },
    CopyTexels { texture: u8, index: u8, buffer: u8, to_texture: bool, region: Option<[u8; 4]> },
    CopyResource { to: u8, from: u8 },
    CopyTiles { tiled: u8, first: u8, count: u8, buffer: u8, to_buffer: bool },
    Discard { resource: u8, first: u8, count: u8 },
    Alias { before: Option<u8>, after: Option<u8> },
    Transition { resource: u8, subresource: Option<u8>, before: u8, after: u8 },
    Enhanced { resource: u8, syncs: [u8; 2], accesses: [u8; 2], layouts: [i8; 2], discard: bool },
    Execute { queue: u8 },
    Signal { queue: u8 },
    Wait { queue: u8, back: u8 },
    Map { queue: u8, resource: u8, heap: u8, first: u8, count: u8, tile: u8, kind: u8 },
    CopyMappings { queue: u8, to: u8, from: u8, at: u8, start: u8, count: u8 },
    Touch { resource: u8, keep: bool },
    Track { simple: Option<bool> },
}

struct World {
    gpu: Instance,
    device: ID3D12Device14,
    queues: Vec<ID3D12CommandQueue>,
    heaps: Vec<ID3D12Heap>,
    resources: Vec<ID3D12Resource>,
    allocator: ID3D12CommandAllocator,
    list: ID3D12GraphicsCommandList7,
    fence: ID3D12Fence,
    signalled: u64,
    /// Set by [`World::drain`] alone.
    drained: ID3D12Fence,
}

fn pick<T>(from: &[T], index: u8) -> Option<&T> {
    from.get(usize::from(index).checked_rem(from.len())?)
}

/// Returns the flags whose bits are set in `bits`.
fn chosen<const COUNT: usize>(bits: u8, flags: [u32; COUNT]) -> u32 {
    flags.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1).fold(0, |all, (_, flag)| all | flag)
}

fn borrowed(resource: Option<&ID3D12Resource>) -> ManuallyDrop<Option<ID3D12Resource>> {
    // SAFETY: the resource outlives the call, and the reference is not released.
    ManuallyDrop::new(resource.map(|resource| unsafe { ID3D12Resource::from_raw(resource.as_raw()) }))
}

fn tracking(simple: bool, scramble: bool) -> AliasingTracking {
    let base = if simple { AliasingTracking::SIMPLE } else { AliasingTracking::ADVANCED };
    AliasingTracking { scramble_seed: scramble.then_some(7), ..base }
}

fn desc(dimension: i32, width: u64, height: u32, layout: i32) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: dimension,
        Width: width,
        Height: height,
        DepthOrArraySize: 1,
        MipLevels: 1,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: layout,
        ..Default::default()
    }
}

const STATES: [D3D12_RESOURCE_STATES; 5] = [
    D3D12_RESOURCE_STATE_COMMON,
    D3D12_RESOURCE_STATE_RENDER_TARGET,
    D3D12_RESOURCE_STATE_COPY_DEST,
    D3D12_RESOURCE_STATE_COPY_SOURCE,
    D3D12_RESOURCE_STATE_UNORDERED_ACCESS,
];

impl World {
    fn new(tracking: AliasingTracking) -> Self {
        let options = DeviceOptions { aliasing: Some(tracking), ..DeviceOptions::default() };
        let gpu = Instance::open_with(HostProfile::default_profile(), options).expect("a fresh instance");
        let device: ID3D12Device14 = gpu.device.cast().expect("known");
        let list_type = D3D12_COMMAND_LIST_TYPE_DIRECT;
        // SAFETY: all arguments are live.
        let (allocator, list, [fence, drained]) = unsafe {
            let allocator: ID3D12CommandAllocator =
                device.CreateCommandAllocator(list_type).expect("created");
            let list = device.CreateCommandList(0, list_type, &allocator, None).expect("created");
            (
                allocator,
                list,
                [(); 2].map(|()| device.CreateFence(0, D3D12_FENCE_FLAG_NONE).expect("created")),
            )
        };
        let (queues, heaps, resources) = (Vec::new(), Vec::new(), Vec::new());
        let signalled = 0;
        let mut world =
            Self { gpu, device, queues, heaps, resources, allocator, list, fence, signalled, drained };
        for op in [Op::Queue, Op::Heap { flags: 0 }, Op::Heap { flags: 1 }] {
            world.perform(op);
        }
        world
    }

    fn two(&self, resources: [u8; 2]) -> Option<[&ID3D12Resource; 2]> {
        let [one, other] = resources.map(|index| pick(&self.resources, index));
        Some([one?, other?])
    }

    fn place(&mut self, heap: u8, offset: u64, desc: &D3D12_RESOURCE_DESC) {
        let Some(heap) = pick(&self.heaps, heap) else { return };
        let (mut made, state): (Option<ID3D12Resource>, _) = (None, D3D12_RESOURCE_STATE_COMMON);
        // SAFETY: the heap is live, and the description readable.
        let result = unsafe { self.device.CreatePlacedResource(heap, offset, desc, state, None, &mut made) };
        self.resources.extend(result.ok().and(made));
    }

    fn reserve(&mut self, desc: &D3D12_RESOURCE_DESC) {
        let (mut made, state): (Option<ID3D12Resource>, _) = (None, D3D12_RESOURCE_STATE_COMMON);
        // SAFETY: the description is readable.
        let result = unsafe { self.device.CreateReservedResource(desc, state, None, &mut made) };
        self.resources.extend(result.ok().and(made));
    }

    fn barrier(&self, kind: D3D12_RESOURCE_BARRIER_TYPE, anonymous: D3D12_RESOURCE_BARRIER_0) {
        let flags = D3D12_RESOURCE_BARRIER_FLAG_NONE;
        let barrier = D3D12_RESOURCE_BARRIER { Type: kind, Flags: flags, Anonymous: anonymous };
        // SAFETY: its resources are live or null.
        unsafe { self.list.ResourceBarrier(&[barrier]) };
    }

    /// Waits for all submitted work, and checks the tracker's state.
    fn drain(&mut self) {
        for queue in &self.queues {
            self.signalled += 1;
            // SAFETY: all are live.
            unsafe {
                queue.Signal(&self.drained, self.signalled).ok().expect("signalled");
                while self.drained.GetCompletedValue() < self.signalled {
                    // A queue's signal may have set the fence back before another queue began to wait for a larger
                    // value.
                    self.fence.Signal(self.signalled).ok().expect("signalled");
                    std::thread::yield_now();
                }
            }
        }
        self.gpu.audit_aliasing().expect("what the tracker knows fits together");
        for violation in self.gpu.aliasing_violations() {
            assert!(!violation.to_string().is_empty());
        }
        self.gpu.clear_aliasing_violations();
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    fn perform(&mut self, op: Op) {
        // SAFETY of all below: objects are live, and structures readable for the call.
        match op {
            Op::Heap { flags } => {
                let kinds = [D3D12_HEAP_FLAG_SHARED, D3D12_HEAP_FLAG_CREATE_NOT_ZEROED];
                let desc = D3D12_HEAP_DESC {
                    SizeInBytes: u64::from(HEAP_TILES) * KIB_64,
                    Properties: D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() },
                    Flags: chosen(flags, kinds),
                    ..Default::default()
                };
                let mut heap: Option<ID3D12Heap> = None;
                let result = unsafe { self.device.CreateHeap(&desc, &mut heap) };
                self.heaps.extend(result.ok().and(heap));
            }
            Op::Queue => {
                // Each queue is a thread.
                if self.queues.len() < MAX_QUEUES {
                    let desc = D3D12_COMMAND_QUEUE_DESC::default();
                    self.queues.extend(unsafe { self.device.CreateCommandQueue(&desc) }.ok());
                }
            }
            Op::Buffer { heap, at, size, tight } => {
                let width = (u64::from(size) + 1) * 16;
                let mut desc =
                    desc(D3D12_RESOURCE_DIMENSION_BUFFER, width, 1, D3D12_TEXTURE_LAYOUT_ROW_MAJOR);
                let mut offset = u64::from(at % HEAP_TILES) * KIB_64;
                if tight {
                    desc.Flags = D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;
                    offset = u64::from(at) * 256;
                }
                self.place(heap, offset, &desc);
            }
            Op::Texture { heap, at, side, mips, slices, layout, flags, reserved } => {
                let side = 32 << (side % 5);
                let layout = [
                    D3D12_TEXTURE_LAYOUT_UNKNOWN,
                    D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE,
                    D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE,
                ][usize::from(layout % 3)];
                let mut desc = desc(D3D12_RESOURCE_DIMENSION_TEXTURE2D, side.into(), side, layout);
                desc.Format = DXGI_FORMAT_R8G8B8A8_UNORM;
                desc.MipLevels = u16::from(mips % 4) + 1;
                desc.DepthOrArraySize = u16::from(slices % 3) + 1;
                let kinds = [
                    D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
                    D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS,
                    D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
                ];
                desc.Flags = chosen(flags, kinds);
                if reserved {
                    desc.Layout = D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE;
                    self.reserve(&desc);
                } else {
                    self.place(heap, u64::from(at % HEAP_TILES) * KIB_64, &desc);
                }
            }
            Op::Reserved { tiles } => {
                let width = (u64::from(tiles % 8) + 1) * KIB_64;
                let layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
                self.reserve(&desc(D3D12_RESOURCE_DIMENSION_BUFFER, width, 1, layout));
            }
            // A list may still name a released object. The GPU must not be using it, which draining the
            // queues ensures.
            Op::Release { resource } => {
                self.drain();
                if !self.resources.is_empty() {
                    self.resources.swap_remove(usize::from(resource) % self.resources.len());
                }
            }
            Op::ReleaseHeap { heap } => {
                self.drain();
                if self.heaps.len() > 1 {
                    self.heaps.swap_remove(usize::from(heap) % self.heaps.len());
                }
            }
            Op::ReleaseQueue { queue } => {
                self.drain();
                if self.queues.len() > 1 {
                    self.queues.swap_remove(usize::from(queue) % self.queues.len());
                }
            }
            Op::CopyBytes { to, at, from, start, size } => {
                let Some([to, from]) = self.two([to, from]) else { return };
                let [at, start, size] = [at, start, size].map(|bytes| u64::from(bytes) * 8);
                unsafe { self.list.CopyBufferRegion(to, at, from, start, size) };
            }
            Op::CopyTexels { texture, index, buffer, to_texture, region } => {
                let Some([texture, buffer]) = self.two([texture, buffer]) else { return };
                let desc = unsafe { texture.GetDesc() };
                let mut layout = D3D12_PLACED_SUBRESOURCE_FOOTPRINT::default();
                let out = Some(&raw mut layout);
                unsafe {
                    self.device.GetCopyableFootprints(&desc, index.into(), 1, 0, out, None, None, None);
                }
                let texture = D3D12_TEXTURE_COPY_LOCATION {
                    pResource: borrowed(Some(texture)),
                    Type: D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX,
                    Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { SubresourceIndex: index.into() },
                };
                let buffer = D3D12_TEXTURE_COPY_LOCATION {
                    pResource: borrowed(Some(buffer)),
                    Type: D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT,
                    Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { PlacedFootprint: layout },
                };
                let (to, from) = if to_texture { (&texture, &buffer) } else { (&buffer, &texture) };
                let region = region.map(|region| region.map(u32::from)).map(|[left, top, right, bottom]| {
                    D3D12_BOX { left, top, front: 0, right, bottom, back: 1 }
                });
                let region = region.as_ref().map(std::ptr::from_ref);
                unsafe { self.list.CopyTextureRegion(to, 0, 0, 0, from, region) };
            }
            Op::CopyResource { to, from } => {
                let Some([to, from]) = self.two([to, from]) else { return };
                unsafe { self.list.CopyResource(to, from) };
            }
            Op::CopyTiles { tiled, first, count, buffer, to_buffer } => {
                let Some([tiled, buffer]) = self.two([tiled, buffer]) else { return };
                let start = D3D12_TILED_RESOURCE_COORDINATE { X: first.into(), ..Default::default() };
                let size = D3D12_TILE_REGION_SIZE { NumTiles: count.into(), ..Default::default() };
                let flags = if to_buffer {
                    D3D12_TILE_COPY_FLAG_SWIZZLED_TILED_RESOURCE_TO_LINEAR_BUFFER
                } else {
                    D3D12_TILE_COPY_FLAG_LINEAR_BUFFER_TO_SWIZZLED_TILED_RESOURCE
                };
                unsafe { self.list.CopyTiles(tiled, &start, &size, buffer, 0, flags) };
            }
            Op::Discard { resource, first, count } => {
                let Some(resource) = pick(&self.resources, resource) else { return };
                let region = D3D12_DISCARD_REGION {
                    FirstSubresource: first.into(),
                    NumSubresources: count.into(),
                    ..Default::default()
                };
                let region = (count != 0).then_some(std::ptr::from_ref(&region));
                unsafe { self.list.DiscardResource(resource, region) };
            }
            Op::Alias { before, after } => {
                let [before, after] =
                    [before, after].map(|end| end.and_then(|end| pick(&self.resources, end)));
                let aliasing = D3D12_RESOURCE_ALIASING_BARRIER {
                    pResourceBefore: borrowed(before),
                    pResourceAfter: borrowed(after),
                };
                let anonymous = D3D12_RESOURCE_BARRIER_0 { Aliasing: ManuallyDrop::new(aliasing) };
                self.barrier(D3D12_RESOURCE_BARRIER_TYPE_ALIASING, anonymous);
            }
            Op::Transition { resource, subresource, before, after } => {
                let state = |index: u8| STATES[usize::from(index) % STATES.len()];
                let transition = D3D12_RESOURCE_TRANSITION_BARRIER {
                    pResource: borrowed(pick(&self.resources, resource)),
                    Subresource: subresource.map_or(D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES, u32::from),
                    StateBefore: state(before),
                    StateAfter: state(after),
                };
                let anonymous = D3D12_RESOURCE_BARRIER_0 { Transition: ManuallyDrop::new(transition) };
                self.barrier(D3D12_RESOURCE_BARRIER_TYPE_TRANSITION, anonymous);
            }
            Op::Enhanced { resource, syncs, accesses, layouts, discard } => {
                let sync = |of: u8| {
                    [
                        D3D12_BARRIER_SYNC_NONE,
                        D3D12_BARRIER_SYNC_ALL,
                        D3D12_BARRIER_SYNC_COPY,
                        D3D12_BARRIER_SYNC_RENDER_TARGET,
                    ][usize::from(of % 4)]
                };
                let access = |of: u8| {
                    [
                        D3D12_BARRIER_ACCESS_COMMON,
                        D3D12_BARRIER_ACCESS_NO_ACCESS,
                        D3D12_BARRIER_ACCESS_COPY_DEST,
                        D3D12_BARRIER_ACCESS_COPY_SOURCE,
                        D3D12_BARRIER_ACCESS_RENDER_TARGET,
                    ][usize::from(of % 5)]
                };
                let Some(of) = pick(&self.resources, resource) else { return };
                let is_buffer = unsafe { of.GetDesc() }.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER;
                let texture = D3D12_TEXTURE_BARRIER {
                    SyncBefore: sync(syncs[0]),
                    SyncAfter: sync(syncs[1]),
                    AccessBefore: access(accesses[0]),
                    AccessAfter: access(accesses[1]),
                    LayoutBefore: i32::from(layouts[0] % 12),
                    LayoutAfter: i32::from(layouts[1] % 12),
                    pResource: borrowed(Some(of)),
                    Subresources: D3D12_BARRIER_SUBRESOURCE_RANGE {
                        IndexOrFirstMipLevel: u32::MAX,
                        ..Default::default()
                    },
                    Flags: if discard {
                        D3D12_TEXTURE_BARRIER_FLAG_DISCARD
                    } else {
                        D3D12_TEXTURE_BARRIER_FLAG_NONE
                    },
                };
                let buffer = D3D12_BUFFER_BARRIER {
                    SyncBefore: texture.SyncBefore,
                    SyncAfter: texture.SyncAfter,
                    AccessBefore: texture.AccessBefore,
                    AccessAfter: texture.AccessAfter,
                    pResource: borrowed(Some(of)),
                    Offset: 0,
                    Size: u64::MAX,
                };
                let (kind, anonymous) = if is_buffer {
                    (D3D12_BARRIER_TYPE_BUFFER, D3D12_BARRIER_GROUP_0 { pBufferBarriers: &buffer })
                } else {
                    (D3D12_BARRIER_TYPE_TEXTURE, D3D12_BARRIER_GROUP_0 { pTextureBarriers: &texture })
                };
                let group = D3D12_BARRIER_GROUP { Type: kind, NumBarriers: 1, Anonymous: anonymous };
                unsafe { self.list.Barrier(&[group]) };
            }
            Op::Execute { queue } => {
                let Some(queue) = pick(&self.queues, queue) else { return };
                unsafe {
                    if self.list.Close().is_ok() {
                        queue.ExecuteCommandLists(&[self.list.cast().ok()]);
                    }
                }
                self.drain();
                unsafe {
                    let _ = self.allocator.Reset();
                    let _ = self.list.Reset(&self.allocator, None);
                }
            }
            Op::Signal { queue } => {
                let Some(queue) = pick(&self.queues, queue) else { return };
                self.signalled += 1;
                let _ = unsafe { queue.Signal(&self.fence, self.signalled) };
            }
            Op::Wait { queue, back } => {
                let Some(queue) = pick(&self.queues, queue) else { return };
                // Only values that were signalled: no wait outlasts `drain`.
                let value = self.signalled.saturating_sub(back.into());
                let _ = unsafe { queue.Wait(&self.fence, value) };
            }
            Op::Map { queue, resource, heap, first, count, tile, kind } => {
                let (Some(queue), Some(of)) = (pick(&self.queues, queue), pick(&self.resources, resource))
                else {
                    return;
                };
                let start = D3D12_TILED_RESOURCE_COORDINATE { X: first.into(), ..Default::default() };
                let size = D3D12_TILE_REGION_SIZE { NumTiles: count.into(), ..Default::default() };
                let flags = [
                    D3D12_TILE_RANGE_FLAG_NONE,
                    D3D12_TILE_RANGE_FLAG_NULL,
                    D3D12_TILE_RANGE_FLAG_REUSE_SINGLE_TILE,
                ][usize::from(kind % 3)];
                let (tile, count) = (u32::from(tile), u32::from(count));
                unsafe {
                    queue.UpdateTileMappings(
                        of,
                        1,
                        Some(&start),
                        Some(&size),
                        pick(&self.heaps, heap),
                        1,
                        Some(&flags),
                        Some(&tile),
                        Some(&count),
                        D3D12_TILE_MAPPING_FLAG_NONE,
                    );
                }
                self.drain();
            }
            Op::CopyMappings { queue, to, from, at, start, count } => {
                let (Some(queue), Some(to), Some(from)) =
                    (pick(&self.queues, queue), pick(&self.resources, to), pick(&self.resources, from))
                else {
                    return;
                };
                let [at, start] = [at, start]
                    .map(|x| D3D12_TILED_RESOURCE_COORDINATE { X: x.into(), ..Default::default() });
                let size = D3D12_TILE_REGION_SIZE { NumTiles: count.into(), ..Default::default() };
                let flags = D3D12_TILE_MAPPING_FLAG_NONE;
                unsafe { queue.CopyTileMappings(to, &at, from, &start, &size, flags) };
                self.drain();
            }
            Op::Touch { resource, keep } => {
                let Some(resource) = pick(&self.resources, resource) else { return };
                unsafe {
                    if resource.Map(0, None, std::ptr::null_mut()).is_ok() && !keep {
                        resource.Unmap(0, None);
                    }
                }
            }
            Op::Track { simple } => {
                self.drain();
                self.gpu.track_aliasing(simple.map(|simple| tracking(simple, true)));
            }
        }
    }
}

fuzz_target!(|program: Program| {
    let mut world = World::new(tracking(program.simple, program.scramble));
    for op in program.ops.into_iter().take(120) {
        world.perform(op);
    }
    world.drain();
    let World { gpu, device, queues, heaps, resources, allocator, list, fence, drained, .. } = world;
    drop((queues, list, allocator, resources, heaps, fence, drained));
    drop(gpu);
    let raw = device.into_raw();
    // SAFETY: the last reference is released by hand, to check that it is the last.
    let left = unsafe { (IUnknown::from_raw_borrowed(&raw).expect("not null").vtable().Release)(raw) };
    assert_eq!(left, 0, "an object still holds the device");
});
