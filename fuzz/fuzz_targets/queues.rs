//! Random command lists on random queues. Checks that no panic crosses a COM call, that nothing is undefined,
//! and that everything is released.
//!
//! Handles, offsets and counts are hostile; pointers are null or point to what D3D12 requires.
#![no_main]
#![expect(non_snake_case, reason = "fields have D3D12's names")]

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::{null, null_mut};

use arbitrary::Arbitrary;
use heapwright_d3d12::*;
use heapwright_runtime::{HostProfile, Instance};
use libfuzzer_sys::fuzz_target;
use windows_core::{IUnknown, Interface};

/// A number with a bias towards interesting values.
#[derive(Debug, Clone, Copy, Arbitrary)]
enum Number {
    Small(u8),
    Tiles(u8),
    Any(u64),
    Max,
}

impl Number {
    fn get(self) -> u64 {
        match self {
            Self::Small(n) => n.into(),
            Self::Tiles(n) => u64::from(n % 8) * 65536,
            Self::Any(n) => n,
            Self::Max => u64::MAX,
        }
    }

    fn u32(self) -> u32 {
        self.get() as u32
    }
}

/// A texture copy location, which may or may not fit its resource.
#[derive(Debug, Clone, Copy, Arbitrary)]
struct Location {
    resource: u8,
    kind: u8,
    index: u8,
    offset: Number,
    format: u8,
    size: [u8; 3],
    pitch: Number,
}

#[derive(Debug, Arbitrary)]
enum Op {
    Queue { kind: u8 },
    Allocator { kind: u8 },
    List { kind: u8, allocator: u8, closed: bool },
    Fence { value: Number, flags: u8 },
    Buffer { heap: u8, size: u8, writable: bool },
    Reserved { tiles: u8 },
    Texture { dimension: u8, size: [u8; 3], mips: u8, format: u8, samples: u8, flags: u8, reserved: bool },
    Heap { tiles: u8 },
    DescriptorHeap { kind: u8, count: Number, flags: u8 },
    View { kind: u8, resource: u8, handle: Number, format: u8, dimension: u8, numbers: [Number; 4] },
    CopyDescriptors { counts: [u8; 2], handles: [Number; 2], kind: u8 },
    Release { index: u8 },
    Evict { index: u8, evict: bool },
    ResetAllocator { index: u8 },
    Record { list: u8, command: Command },
    Execute { queue: u8, lists: Vec<u8> },
    Signal { queue: u8, fence: u8, value: Number },
    Wait { queue: u8, fence: u8, value: u8 },
    SetFence { fence: u8, value: Number },
    MapTiles { queue: u8, resource: u8, heap: u8, counts: [u8; 2], numbers: [Number; 6], nulls: u8 },
    CopyMappings { queue: u8, to: u8, from: u8, numbers: [Number; 4] },
}

/// A call of a command list.
#[derive(Debug, Arbitrary)]
enum Command {
    Close,
    Reset { allocator: u8 },
    CopyBuffer { to: u8, at: Number, from: u8, start: Number, size: Number },
    CopyResource { to: u8, from: u8 },
    CopyTexture { to: Location, at: [u8; 3], from: Location, region: Option<[u8; 6]> },
    CopyTiles { tiled: u8, buffer: u8, numbers: [Number; 4], boxed: bool, flags: u8 },
    Barrier { kind: u8, flags: u8, resources: [u8; 2], subresource: Number, states: [u32; 2] },
    Enhanced { kind: u8, resource: u8, scopes: Scopes, range: [u8; 6] },
    Discard { resource: u8, region: Option<[Number; 3]> },
    Clear { kind: u8, cpu: Number, gpu: Number, resource: u8, values: [u32; 4], heap: u8 },
    Write { address: Number, resource: u8, value: u32 },
    Draw,
}

/// The two sides of an enhanced barrier: the values before, and those after.
#[derive(Debug, Clone, Copy, Arbitrary)]
struct Scopes {
    syncs: [u32; 2],
    accesses: [u32; 2],
    layouts: [i8; 2],
}

#[derive(Default)]
struct Objects {
    all: Vec<IUnknown>,
    first_handle: usize,
}

impl Objects {
    fn pick_as<T: Interface>(&self, index: u8) -> Option<T> {
        let fitting: Vec<T> = self.all.iter().filter_map(|object| object.cast().ok()).collect();
        // One index beyond the objects means null.
        fitting.get(usize::from(index) % (fitting.len() + 1)).cloned()
    }

    fn resource(&self, index: u8) -> Option<ID3D12Resource> {
        self.pick_as(index)
    }

    fn raw(&self, index: u8) -> *mut c_void {
        // The objects outlive every call of an operation.
        self.resource(index).map_or(null_mut(), |object| object.as_raw())
    }

    fn keep<T: Interface>(&mut self, object: windows_core::Result<T>) {
        self.all.extend(object.ok().and_then(|object| object.cast().ok()));
    }

    fn handle(&self, offset: Number) -> usize {
        self.first_handle.wrapping_add((offset.get() as usize).wrapping_mul(8))
    }
}

fuzz_target!(|ops: Vec<Op>| {
    let gpu = Instance::open(HostProfile::default_profile()).expect("a fresh instance");
    let device: ID3D12Device14 = gpu.device.cast().expect("known");
    let mut objects = Objects::default();
    // The objects that most sequences need.
    for op in scaffold() {
        // SAFETY: as below.
        unsafe { perform(&device, &mut objects, op) };
    }
    for op in ops.into_iter().take(200) {
        // SAFETY: pointers are null or point to live values of their type.
        unsafe { perform(&device, &mut objects, op) };
    }
    // Removing the device ends all waits, so that the queues end.
    unsafe { device.RemoveDevice() };
    drop(objects);
    for group in [DXGI_MEMORY_SEGMENT_GROUP_LOCAL, DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL] {
        let mut info = DXGI_QUERY_VIDEO_MEMORY_INFO::default();
        // SAFETY: the structure is writable.
        unsafe { gpu.adapter.QueryVideoMemoryInfo(0, group, &mut info) }.ok().expect("answered");
        assert_eq!(info.CurrentUsage, 0, "memory was leaked");
    }
    drop(gpu);
    let raw = device.into_raw();
    // SAFETY: the last reference is released by hand, to check that it is the last.
    let left = unsafe { (IUnknown::from_raw_borrowed(&raw).expect("not null").vtable().Release)(raw) };
    assert_eq!(left, 0, "an object still holds the device");
});

fn scaffold() -> Vec<Op> {
    let (size, depth) = ([63, 63, 1], DXGI_FORMAT_D32_FLOAT_S8X24_UINT as u8);
    let texture = |format: u8, flags, reserved| {
        let samples = 0;
        Op::Texture { dimension: 1, size, mips: 2, format, samples, flags, reserved }
    };
    vec![
        Op::Queue { kind: 0 },
        Op::Queue { kind: 3 },
        Op::Allocator { kind: 0 },
        Op::List { kind: 0, allocator: 0, closed: false },
        Op::Allocator { kind: 3 },
        Op::List { kind: 3, allocator: 1, closed: false },
        Op::Fence { value: Number::Small(0), flags: 0 },
        Op::Buffer { heap: 0, size: 63, writable: true },
        Op::Buffer { heap: 1, size: 63, writable: false },
        Op::Buffer { heap: 2, size: 63, writable: false },
        Op::Reserved { tiles: 3 },
        Op::Heap { tiles: 3 },
        texture(28, 1, false),
        texture(28, 4, false),
        texture(depth, 2, false),
        texture(71, 0, false),
        texture(28, 0, true),
        Op::DescriptorHeap { kind: 0, count: Number::Small(4), flags: 1 },
        Op::DescriptorHeap { kind: 2, count: Number::Small(4), flags: 0 },
        Op::DescriptorHeap { kind: 0, count: Number::Small(4), flags: 0 },
    ]
}

fn buffer(width: u64, flags: D3D12_RESOURCE_FLAGS) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC { Flags: flags, ..heapwright::buffer_desc(heapwright::ByteSize::new(width)) }
}

unsafe fn commit(device: &ID3D12Device14, objects: &mut Objects, heap: i32, desc: &D3D12_RESOURCE_DESC) {
    let properties = D3D12_HEAP_PROPERTIES { Type: heap, ..Default::default() };
    let (mut made, state): (Option<ID3D12Resource>, _) = (None, D3D12_RESOURCE_STATE_COMMON);
    let result = unsafe {
        device.CreateCommittedResource(&properties, D3D12_HEAP_FLAG_NONE, desc, state, None, &mut made)
    };
    if let (Ok(()), Some(made)) = (result, made) {
        objects.keep(made.cast::<IUnknown>());
    }
}

unsafe fn reserve(device: &ID3D12Device14, objects: &mut Objects, desc: &D3D12_RESOURCE_DESC) {
    let mut made: Option<ID3D12Resource> = None;
    let result = unsafe { device.CreateReservedResource(desc, D3D12_RESOURCE_STATE_COMMON, None, &mut made) };
    if let (Ok(()), Some(made)) = (result, made) {
        objects.keep(made.cast::<IUnknown>());
    }
}

/// Creates a reference that the callee borrows.
unsafe fn borrowed(raw: &*mut c_void) -> ManuallyDrop<Option<ID3D12Resource>> {
    ManuallyDrop::new((!raw.is_null()).then(|| unsafe { ID3D12Resource::from_raw(*raw) }))
}

unsafe fn location(objects: &Objects, place: Location) -> D3D12_TEXTURE_COPY_LOCATION {
    let raw = objects.raw(place.resource);
    let footprint = D3D12_PLACED_SUBRESOURCE_FOOTPRINT {
        Offset: place.offset.get(),
        Footprint: D3D12_SUBRESOURCE_FOOTPRINT {
            Format: place.format.into(),
            Width: place.size[0].into(),
            Height: place.size[1].into(),
            Depth: place.size[2].into(),
            RowPitch: place.pitch.u32(),
        },
    };
    let anonymous = if place.kind % 2 == 0 {
        D3D12_TEXTURE_COPY_LOCATION_0 { SubresourceIndex: place.index.into() }
    } else {
        D3D12_TEXTURE_COPY_LOCATION_0 { PlacedFootprint: footprint }
    };
    D3D12_TEXTURE_COPY_LOCATION {
        pResource: unsafe { borrowed(&raw) },
        Type: i32::from(place.kind % 3),
        Anonymous: anonymous,
    }
}

#[expect(clippy::too_many_lines, reason = "one arm for each operation")]
unsafe fn perform(device: &ID3D12Device14, objects: &mut Objects, op: Op) {
    match op {
        Op::Queue { kind } => {
            let desc = D3D12_COMMAND_QUEUE_DESC { Type: i32::from(kind % 5), ..Default::default() };
            // Each queue is a thread.
            let queues =
                objects.all.iter().filter(|object| object.cast::<ID3D12CommandQueue>().is_ok()).count();
            if queues < 4 {
                objects.keep(unsafe { device.CreateCommandQueue::<ID3D12CommandQueue>(&desc) });
            }
        }
        Op::Allocator { kind } => {
            objects.keep(unsafe {
                device.CreateCommandAllocator::<ID3D12CommandAllocator>(i32::from(kind % 5))
            });
        }
        Op::List { kind, allocator, closed } => {
            let allocator = objects.pick_as::<ID3D12CommandAllocator>(allocator);
            let kind = i32::from(kind % 5);
            objects.keep::<ID3D12GraphicsCommandList>(unsafe {
                if closed {
                    device.CreateCommandList1(0, kind, D3D12_COMMAND_LIST_FLAG_NONE)
                } else {
                    device.CreateCommandList(0, kind, allocator.as_ref(), None)
                }
            });
        }
        Op::Fence { value, flags } => {
            objects.keep(unsafe { device.CreateFence::<ID3D12Fence>(value.get(), u32::from(flags % 16)) });
        }
        Op::Buffer { heap, size, writable } => {
            let flags = if writable { D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS } else { 0 };
            let desc = buffer((u64::from(size) + 1) * 4096, flags);
            unsafe { commit(device, objects, 1 + i32::from(heap % 5), &desc) };
        }
        Op::Reserved { tiles } => unsafe {
            reserve(device, objects, &buffer((u64::from(tiles % 8) + 1) * 65536, 0))
        },
        Op::Texture { dimension, size, mips, format, samples, flags, reserved } => {
            let desc = D3D12_RESOURCE_DESC {
                Dimension: 2 + i32::from(dimension % 3),
                Width: u64::from(size[0]) + 1,
                Height: if dimension % 3 == 0 { 1 } else { u32::from(size[1]) + 1 },
                DepthOrArraySize: u16::from(size[2] % 8) + 1,
                MipLevels: (mips % 5).into(),
                Format: (format % 120).into(),
                SampleDesc: DXGI_SAMPLE_DESC { Count: 1 << (samples % 3), Quality: 0 },
                Layout: if reserved {
                    D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE
                } else {
                    D3D12_TEXTURE_LAYOUT_UNKNOWN
                },
                Flags: (flags % 8).into(),
                ..Default::default()
            };
            unsafe {
                if reserved { reserve(device, objects, &desc) } else { commit(device, objects, 1, &desc) }
            }
        }
        Op::Heap { tiles } => {
            let properties = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
            let size = (u64::from(tiles % 8) + 1) * 65536;
            let desc = D3D12_HEAP_DESC { SizeInBytes: size, Properties: properties, ..Default::default() };
            let mut heap: Option<ID3D12Heap> = None;
            if let (Ok(()), Some(heap)) = (unsafe { device.CreateHeap(&desc, &mut heap) }, heap.as_ref()) {
                objects.keep(heap.cast::<IUnknown>());
            }
        }
        Op::DescriptorHeap { kind, count, flags } => {
            let desc = D3D12_DESCRIPTOR_HEAP_DESC {
                Type: i32::from(kind % 5),
                NumDescriptors: count.u32(),
                Flags: u32::from(flags % 3),
                NodeMask: 0,
            };
            let heap = unsafe { device.CreateDescriptorHeap::<ID3D12DescriptorHeap>(&desc) };
            if let Ok(heap) = &heap {
                let first = unsafe { heap.GetCPUDescriptorHandleForHeapStart() }.ptr;
                if objects.first_handle == 0 {
                    objects.first_handle = first;
                }
            }
            objects.keep(heap);
        }
        Op::View { kind, resource, handle, format, dimension, numbers } => {
            let resource = objects.resource(resource);
            let resource = resource.as_ref();
            let handle = D3D12_CPU_DESCRIPTOR_HANDLE { ptr: objects.handle(handle) };
            let (format, [a, b, c, d]) = (u32::from(format), numbers);
            unsafe {
                match kind % 4 {
                    0 => {
                        let view = D3D12_UNORDERED_ACCESS_VIEW_DESC {
                            Format: format as _,
                            ViewDimension: i32::from(dimension % 10),
                            Anonymous: D3D12_UNORDERED_ACCESS_VIEW_DESC_0 {
                                Buffer: D3D12_BUFFER_UAV {
                                    FirstElement: a.get(),
                                    NumElements: b.u32(),
                                    StructureByteStride: c.u32(),
                                    CounterOffsetInBytes: d.get(),
                                    Flags: u32::from(dimension / 10 % 3),
                                },
                            },
                        };
                        device.CreateUnorderedAccessView(resource, None, Some(&view), handle);
                    }
                    1 => {
                        let view = D3D12_RENDER_TARGET_VIEW_DESC {
                            Format: format as _,
                            ViewDimension: i32::from(dimension % 10),
                            Anonymous: D3D12_RENDER_TARGET_VIEW_DESC_0 {
                                Texture2DArray: D3D12_TEX2D_ARRAY_RTV {
                                    MipSlice: a.u32(),
                                    FirstArraySlice: b.u32(),
                                    ArraySize: c.u32(),
                                    PlaneSlice: d.u32(),
                                },
                            },
                        };
                        device.CreateRenderTargetView(resource, Some(&view), handle);
                    }
                    2 => device.CreateRenderTargetView(resource, None, handle),
                    _ => device.CreateDepthStencilView(resource, None, handle),
                }
            }
        }
        Op::CopyDescriptors { counts, handles, kind } => {
            let starts = handles.map(|handle| D3D12_CPU_DESCRIPTOR_HANDLE { ptr: objects.handle(handle) });
            let sizes = counts.map(u32::from);
            let kind = i32::from(kind % 5);
            unsafe {
                device.CopyDescriptors(1, &starts[0], Some(&sizes[0]), 1, &starts[1], Some(&sizes[1]), kind);
                device.CopyDescriptors(
                    2,
                    starts.as_ptr(),
                    None,
                    2,
                    starts.as_ptr(),
                    Some(sizes.as_ptr()),
                    kind,
                );
            }
        }
        Op::Release { index } => {
            if !objects.all.is_empty() {
                objects.all.swap_remove(usize::from(index) % objects.all.len());
            }
        }
        Op::Evict { index, evict } => {
            let objects = [objects.pick_as::<ID3D12Pageable>(index)];
            let _ = unsafe { if evict { device.Evict(&objects) } else { device.MakeResident(&objects) } };
        }
        Op::ResetAllocator { index } => {
            if let Some(allocator) = objects.pick_as::<ID3D12CommandAllocator>(index) {
                let _ = unsafe { allocator.Reset() };
            }
        }
        Op::Record { list, command } => {
            if let Some(list) = objects.pick_as::<ID3D12GraphicsCommandList7>(list) {
                // SAFETY: as the caller promises.
                unsafe { record(&list, objects, command) };
            }
        }
        Op::Execute { queue, lists } => {
            let Some(queue) = objects.pick_as::<ID3D12CommandQueue>(queue) else { return };
            let lists: Vec<Option<ID3D12CommandList>> =
                lists.into_iter().take(4).map(|list| objects.pick_as(list)).collect();
            unsafe { queue.ExecuteCommandLists(&lists) };
        }
        Op::Signal { queue, fence, value } => {
            let fence = objects.pick_as::<ID3D12Fence>(fence);
            if let Some(queue) = objects.pick_as::<ID3D12CommandQueue>(queue) {
                let _ = unsafe { queue.Signal(fence.as_ref(), value.get()) };
            }
        }
        Op::Wait { queue, fence, value } => {
            let fence = objects.pick_as::<ID3D12Fence>(fence);
            if let Some(queue) = objects.pick_as::<ID3D12CommandQueue>(queue) {
                let _ = unsafe { queue.Wait(fence.as_ref(), value.into()) };
            }
        }
        Op::SetFence { fence, value } => {
            if let Some(fence) = objects.pick_as::<ID3D12Fence>(fence) {
                let _ = unsafe { fence.Signal(value.get()) };
            }
        }
        Op::MapTiles { queue, resource, heap, counts: [regions, ranges], numbers, nulls } => {
            let Some(queue) = objects.pick_as::<ID3D12CommandQueue>(queue) else { return };
            let (resource, heap) = (objects.resource(resource), objects.pick_as::<ID3D12Heap>(heap));
            let [x, subresource, count, offset, tiles, flag] = numbers;
            let start = D3D12_TILED_RESOURCE_COORDINATE {
                X: x.u32(),
                Subresource: subresource.u32(),
                ..Default::default()
            };
            let size = D3D12_TILE_REGION_SIZE { NumTiles: count.u32(), ..Default::default() };
            let (starts, sizes) = ([start; 2], [size; 2]);
            let (flags, offsets, counts) =
                ([(flag.u32() % 8) as i32; 2], [offset.u32(); 2], [tiles.u32(); 2]);
            let given = |bit: u8| nulls & (1 << bit) == 0;
            unsafe {
                queue.UpdateTileMappings(
                    resource.as_ref(),
                    u32::from(regions % 3),
                    given(0).then_some(starts.as_ptr()),
                    given(1).then_some(sizes.as_ptr()),
                    heap.as_ref(),
                    u32::from(ranges % 3),
                    given(2).then_some(flags.as_ptr()),
                    given(3).then_some(offsets.as_ptr()),
                    given(4).then_some(counts.as_ptr()),
                    u32::from(nulls / 64),
                );
            }
        }
        Op::CopyMappings { queue, to, from, numbers } => {
            let Some(queue) = objects.pick_as::<ID3D12CommandQueue>(queue) else { return };
            let (to, from) = (objects.resource(to), objects.resource(from));
            let at = |x: Number| D3D12_TILED_RESOURCE_COORDINATE { X: x.u32(), ..Default::default() };
            let size = D3D12_TILE_REGION_SIZE { NumTiles: numbers[2].u32(), ..Default::default() };
            let (first, second) = (at(numbers[0]), at(numbers[1]));
            let flags = u32::from(numbers[3].u32() == 7);
            unsafe { queue.CopyTileMappings(to.as_ref(), &first, from.as_ref(), &second, &size, flags) };
        }
    }
}

/// Makes a call of a command list.
///
/// # Safety
///
/// As for `perform`.
unsafe fn record(list: &ID3D12GraphicsCommandList7, objects: &Objects, command: Command) {
    match command {
        Command::Close => drop(unsafe { list.Close() }),
        Command::Reset { allocator } => {
            let allocator = objects.pick_as::<ID3D12CommandAllocator>(allocator);
            let _ = unsafe { list.Reset(allocator.as_ref(), None) };
        }
        Command::CopyBuffer { to, at, from, start, size } => {
            let (to, from) = (objects.resource(to), objects.resource(from));
            unsafe { list.CopyBufferRegion(to.as_ref(), at.get(), from.as_ref(), start.get(), size.get()) };
        }
        Command::CopyResource { to, from } => {
            let (to, from) = (objects.resource(to), objects.resource(from));
            unsafe { list.CopyResource(to.as_ref(), from.as_ref()) };
        }
        Command::CopyTexture { to, at, from, region } => {
            let region = region.map(|r| r.map(u32::from)).map(|[left, top, front, right, bottom, back]| {
                D3D12_BOX { left, top, front, right, bottom, back }
            });
            let region = region.as_ref().map(std::ptr::from_ref);
            let [x, y, z] = at.map(u32::from);
            unsafe {
                let (to, from) = (location(objects, to), location(objects, from));
                list.CopyTextureRegion(&to, x, y, z, &from, region);
            }
        }
        Command::CopyTiles { tiled, buffer, numbers, boxed, flags } => {
            let [x, subresource, count, offset] = numbers;
            let start = D3D12_TILED_RESOURCE_COORDINATE {
                X: x.u32(),
                Subresource: subresource.u32(),
                ..Default::default()
            };
            let size = D3D12_TILE_REGION_SIZE {
                NumTiles: count.u32(),
                UseBox: boxed.into(),
                Width: count.u32(),
                Height: 1,
                Depth: 1,
            };
            let (tiled, buffer) = (objects.resource(tiled), objects.resource(buffer));
            let flags = u32::from(flags % 16);
            unsafe { list.CopyTiles(tiled.as_ref(), &start, &size, buffer.as_ref(), offset.get(), flags) };
        }
        Command::Barrier { kind, flags, resources, subresource, states } => {
            let raws = resources.map(|index| objects.raw(index));
            let anonymous = unsafe {
                if kind % 4 == 1 {
                    let (before, after) = (borrowed(&raws[0]), borrowed(&raws[1]));
                    let barrier =
                        D3D12_RESOURCE_ALIASING_BARRIER { pResourceBefore: before, pResourceAfter: after };
                    D3D12_RESOURCE_BARRIER_0 { Aliasing: ManuallyDrop::new(barrier) }
                } else {
                    let barrier = D3D12_RESOURCE_TRANSITION_BARRIER {
                        pResource: borrowed(&raws[0]),
                        Subresource: subresource.u32(),
                        StateBefore: states[0] as _,
                        StateAfter: states[1] as _,
                    };
                    D3D12_RESOURCE_BARRIER_0 { Transition: ManuallyDrop::new(barrier) }
                }
            };
            let (kind, flags) = (i32::from(kind % 4), i32::from(flags % 4));
            let barrier = D3D12_RESOURCE_BARRIER { Type: kind, Flags: flags as _, Anonymous: anonymous };
            unsafe { list.ResourceBarrier(&[barrier]) };
        }
        Command::Enhanced { kind, resource, scopes, range } => {
            let raw = objects.raw(resource);
            let [first, mips, slice, slices, plane, planes] = range.map(u32::from);
            let global = D3D12_GLOBAL_BARRIER {
                SyncBefore: scopes.syncs[0],
                SyncAfter: scopes.syncs[1],
                AccessBefore: scopes.accesses[0],
                AccessAfter: scopes.accesses[1],
            };
            let D3D12_GLOBAL_BARRIER { SyncBefore, SyncAfter, AccessBefore, AccessAfter } = global;
            let texture = D3D12_TEXTURE_BARRIER {
                SyncBefore,
                SyncAfter,
                AccessBefore,
                AccessAfter,
                LayoutBefore: scopes.layouts[0].into(),
                LayoutAfter: scopes.layouts[1].into(),
                pResource: unsafe { borrowed(&raw) },
                Subresources: D3D12_BARRIER_SUBRESOURCE_RANGE {
                    IndexOrFirstMipLevel: first,
                    NumMipLevels: mips,
                    FirstArraySlice: slice,
                    NumArraySlices: slices,
                    FirstPlane: plane,
                    NumPlanes: planes,
                },
                Flags: D3D12_TEXTURE_BARRIER_FLAG_NONE,
            };
            let pResource = unsafe { borrowed(&raw) };
            let (Offset, Size) = (first.into(), u64::MAX);
            let buffer = D3D12_BUFFER_BARRIER {
                SyncBefore,
                SyncAfter,
                AccessBefore,
                AccessAfter,
                pResource,
                Offset,
                Size,
            };
            // The member and the type agree, as in any valid program; other types have no barriers.
            let (kind, anonymous) = match kind % 4 {
                0 => (0, D3D12_BARRIER_GROUP_0 { pGlobalBarriers: &global }),
                1 => (1, D3D12_BARRIER_GROUP_0 { pTextureBarriers: &texture }),
                2 => (2, D3D12_BARRIER_GROUP_0 { pBufferBarriers: &buffer }),
                _ => (i32::from(kind % 8), D3D12_BARRIER_GROUP_0 { pBufferBarriers: null() }),
            };
            let group = D3D12_BARRIER_GROUP { Type: kind, NumBarriers: 1, Anonymous: anonymous };
            unsafe { list.Barrier(&[group]) };
        }
        Command::Discard { resource, region } => {
            let resource = objects.resource(resource);
            let region = region.map(|[first, count, rects]| D3D12_DISCARD_REGION {
                NumRects: rects.u32(),
                pRects: null(),
                FirstSubresource: first.u32(),
                NumSubresources: count.u32(),
            });
            let region = region.as_ref().map(std::ptr::from_ref);
            unsafe { list.DiscardResource(resource.as_ref(), region) };
        }
        Command::Clear { kind, cpu, gpu, resource, values, heap } => {
            let cpu = D3D12_CPU_DESCRIPTOR_HANDLE { ptr: objects.handle(cpu) };
            let heap = objects.pick_as::<ID3D12DescriptorHeap>(heap);
            let first =
                heap.as_ref().map_or(0, |heap| unsafe { heap.GetGPUDescriptorHandleForHeapStart() }.ptr);
            let gpu = D3D12_GPU_DESCRIPTOR_HANDLE { ptr: first.wrapping_add(gpu.get()) };
            let resource = objects.resource(resource);
            let floats = values.map(f32::from_bits);
            unsafe {
                list.SetDescriptorHeaps(&[heap]);
                match kind % 4 {
                    0 => list.ClearRenderTargetView(cpu, &floats, &[]),
                    1 => list.ClearDepthStencilView(cpu, u32::from(kind / 4 % 5), floats[0], kind, &[]),
                    2 => list.ClearUnorderedAccessViewUint(gpu, cpu, resource.as_ref(), &values, &[]),
                    _ => list.ClearUnorderedAccessViewFloat(gpu, cpu, resource.as_ref(), &floats, &[]),
                }
            }
        }
        Command::Write { address, resource, value } => {
            let resource = objects.resource(resource);
            let start = resource.map_or(0, |resource| unsafe { resource.GetGPUVirtualAddress() }.0);
            let param = D3D12_WRITEBUFFERIMMEDIATE_PARAMETER {
                Dest: D3D12_GPU_VIRTUAL_ADDRESS(start.wrapping_add(address.get())),
                Value: value,
            };
            unsafe { list.WriteBufferImmediate(1, &param, None) };
        }
        Command::Draw => unsafe { list.DrawInstanced(3, 1, 0, 0) },
    }
}
