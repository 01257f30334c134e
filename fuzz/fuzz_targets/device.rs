//! Random calls with hostile arguments: no panic crosses a COM call, nothing is undefined, and all memory comes back.
//!
//! What the sanitizer cannot see is checked here: usage is zero once every object is released.
#![no_main]

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use arbitrary::Arbitrary;
use heapwright_d3d12::*;
use heapwright_runtime::{HostProfile, Instance};
use libfuzzer_sys::fuzz_target;
use windows_core::{GUID, IUnknown, Interface};

/// A number of which the interesting ones are likely.
#[derive(Debug, Clone, Copy, Arbitrary)]
enum Number {
    Small(u16),
    Power { log2: u8, minus: u8 },
    Any(u64),
    Max,
}

impl Number {
    fn get(self) -> u64 {
        match self {
            Self::Small(n) => n.into(),
            Self::Power { log2, minus } => (1_u64 << (log2 % 64)).wrapping_sub(u64::from(minus % 4)).wrapping_add(1),
            Self::Any(n) => n,
            Self::Max => u64::MAX,
        }
    }

    fn u32(self) -> u32 {
        self.get() as u32
    }
}

#[derive(Debug, Clone, Copy, Arbitrary)]
struct Desc {
    is_sound: bool,
    dimension: u8,
    alignment: Number,
    width: Number,
    height: Number,
    depth: Number,
    mips: u8,
    format: u8,
    samples: u8,
    layout: u8,
    flags: Number,
}

impl Desc {
    fn get(self) -> D3D12_RESOURCE_DESC1 {
        let mut desc = D3D12_RESOURCE_DESC1 {
            Dimension: i32::from(self.dimension % 6),
            Alignment: self.alignment.get(),
            Width: self.width.get(),
            Height: self.height.u32(),
            DepthOrArraySize: self.depth.get() as u16,
            MipLevels: self.mips.into(),
            Format: self.format.into(),
            SampleDesc: DXGI_SAMPLE_DESC { Count: self.samples.into(), Quality: 0 },
            Layout: i32::from(self.layout % 5),
            Flags: self.flags.u32(),
            ..Default::default()
        };
        if self.is_sound {
            desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
            (desc.Height, desc.DepthOrArraySize, desc.MipLevels) = (1, 1, 1);
            (desc.Format, desc.SampleDesc.Count) = (DXGI_FORMAT_UNKNOWN, 1);
            desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
            desc.Flags = if self.mips % 2 == 0 { D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT } else { 0 };
            desc.Alignment = if self.mips % 5 == 0 { desc.Alignment } else { 0 };
        }
        desc
    }

    fn first_generation(self) -> D3D12_RESOURCE_DESC {
        let desc = self.get();
        D3D12_RESOURCE_DESC {
            Dimension: desc.Dimension,
            Alignment: desc.Alignment,
            Width: desc.Width,
            Height: desc.Height,
            DepthOrArraySize: desc.DepthOrArraySize,
            MipLevels: desc.MipLevels,
            Format: desc.Format,
            SampleDesc: desc.SampleDesc,
            Layout: desc.Layout,
            Flags: desc.Flags,
        }
    }
}

#[derive(Debug, Clone, Copy, Arbitrary)]
struct Heap {
    is_sound: bool,
    size: Number,
    alignment: Number,
    kind: u8,
    page: u8,
    pool: u8,
    nodes: u8,
    flags: Number,
}

impl Heap {
    fn properties(self) -> D3D12_HEAP_PROPERTIES {
        let custom = !self.is_sound || self.kind % 6 == 4;
        D3D12_HEAP_PROPERTIES {
            Type: i32::from(self.kind % 7),
            CPUPageProperty: if custom { i32::from(self.page % 5) } else { 0 },
            MemoryPoolPreference: if custom { i32::from(self.pool % 4) } else { 0 },
            CreationNodeMask: if self.is_sound { 0 } else { self.nodes.into() },
            VisibleNodeMask: 0,
        }
    }

    fn flags(self) -> D3D12_HEAP_FLAGS {
        if self.is_sound { D3D12_HEAP_FLAG_NONE } else { self.flags.u32() }
    }

    fn get(self) -> D3D12_HEAP_DESC {
        let alignment = if self.is_sound { 0 } else { self.alignment.get() };
        D3D12_HEAP_DESC {
            SizeInBytes: self.size.get(),
            Properties: self.properties(),
            Alignment: alignment,
            Flags: self.flags(),
        }
    }
}

#[derive(Debug, Arbitrary)]
enum Op {
    CreateHeap { heap: Heap, null_desc: bool, null_result: bool, iid: u8 },
    CreatePlaced { heap: u8, offset: Number, desc: Desc, state: Number, newest: bool, clear: bool },
    CreateCommitted { heap: Heap, desc: Desc, state: Number, null_properties: bool, null_result: bool },
    CreateReserved { desc: Desc, state: Number },
    Release { index: u8 },
    Map { index: u8, subresource: Number, range: Option<(Number, Number)>, unmap: bool },
    MakeResident { indices: Vec<u8>, evict: bool },
    AllocationInfo { descs: Vec<Desc>, mask: Number, infos: bool },
    Footprints { desc: Desc, first: Number, count: u8, base: Number },
    CheckFeature { feature: u8, size: u8, byte: u8, null: bool },
    PrivateData { index: u8, guid: u8, size: u8, get: bool, null: bool },
    Query { index: u8, iid: u8 },
    GetDevice { index: u8 },
    CustomProperties { mask: Number, kind: u8 },
    VideoMemory { node: u8, group: u8, reservation: Option<Number> },
}

const IIDS: [GUID; 10] = [
    ID3D12Heap::IID,
    ID3D12Heap1::IID,
    ID3D12Resource::IID,
    ID3D12Resource2::IID,
    ID3D12Pageable::IID,
    ID3D12Object::IID,
    ID3D12DeviceChild::IID,
    IUnknown::IID,
    ID3D12Device14::IID,
    GUID::from_u128(0x1234_5678),
];

/// Live objects.
struct Objects(Vec<IUnknown>);

impl Objects {
    fn pick(&self, index: u8) -> Option<&IUnknown> {
        self.0.get(usize::from(index) % self.0.len().max(1))
    }

    fn pick_as<T: Interface>(&self, index: u8) -> Option<T> {
        self.pick(index)?.cast().ok()
    }

    /// Keeps what a call wrote.
    fn take(&mut self, raw: *mut c_void) {
        if !raw.is_null() {
            // SAFETY: a creating call hands out an interface pointer with a reference, or null.
            self.0.push(unsafe { IUnknown::from_raw(raw) });
        }
    }
}

fuzz_target!(|input: (u8, Vec<Op>)| {
    let (profile, ops) = input;
    let profiles = HostProfile::all();
    // The one whose budget changes by itself would start a thread for each input.
    let profile = profiles.iter().filter(|profile| profile.budget_schedule.is_empty()).nth(usize::from(profile) % 6);
    let gpu = Instance::open(profile.expect("six and more")).expect("a fresh instance");
    let mut objects = Objects(Vec::new());
    for op in ops.into_iter().take(200) {
        // SAFETY: pointers are null where D3D12 allows that to be tested, and else point to live values of their type.
        unsafe { perform(&gpu, &mut objects, op) };
    }
    objects.0.clear();
    for group in [DXGI_MEMORY_SEGMENT_GROUP_LOCAL, DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL] {
        let mut info = DXGI_QUERY_VIDEO_MEMORY_INFO::default();
        // SAFETY: the structure is writable.
        unsafe { gpu.adapter.QueryVideoMemoryInfo(0, group, &mut info) }.ok().expect("answered");
        assert_eq!(info.CurrentUsage, 0, "memory was leaked");
    }
    let Instance { device, .. } = gpu;
    let raw = device.into_raw();
    // SAFETY: the last reference is released by hand, to see that it is the last.
    let left = unsafe { (IUnknown::from_raw_borrowed(&raw).expect("not null").vtable().Release)(raw) };
    assert_eq!(left, 0, "an object still holds the device");
});

unsafe fn perform(gpu: &Instance, objects: &mut Objects, op: Op) {
    let (device, table) = (gpu.device.as_raw(), gpu.device.vtable());
    let mut out: *mut c_void = null_mut();
    match op {
        Op::CreateHeap { heap, null_desc, null_result, iid } => {
            let desc = heap.get();
            let desc = if null_desc { null() } else { &raw const desc };
            let iid = if heap.is_sound { &ID3D12Heap::IID } else { &IIDS[usize::from(iid) % IIDS.len()] };
            let result = if null_result { null_mut() } else { &raw mut out };
            let _ = unsafe { (table.CreateHeap)(device, desc, iid, result) };
        }
        Op::CreatePlaced { heap, offset, desc, state, newest, clear } => {
            let heap = objects.pick_as::<ID3D12Heap>(heap);
            let heap = heap.as_ref().map_or(null_mut(), Interface::as_raw);
            let clear_value = D3D12_CLEAR_VALUE::default();
            let clear = if clear { &raw const clear_value } else { null() };
            let state = if desc.is_sound { 0 } else { state.u32() };
            if newest {
                let desc = desc.get();
                let device: ID3D12Device8 = gpu.device.cast().expect("known");
                let create = device.vtable().CreatePlacedResource1;
                let iid = &ID3D12Resource2::IID;
                let _ =
                    unsafe { create(device.as_raw(), heap, offset.get(), &desc, state, clear, iid, &mut out) };
            } else {
                let desc = desc.first_generation();
                let iid = &ID3D12Resource::IID;
                let create = table.CreatePlacedResource;
                let _ = unsafe { create(device, heap, offset.get(), &desc, state, clear, iid, &mut out) };
            }
        }
        Op::CreateCommitted { heap, desc, state, null_properties, null_result } => {
            let properties = heap.properties();
            let properties = if null_properties { null() } else { &raw const properties };
            let state = if desc.is_sound { 0 } else { state.u32() };
            let desc = desc.first_generation();
            let result = if null_result { null_mut() } else { &raw mut out };
            let (iid, flags) = (&ID3D12Resource::IID, heap.flags());
            let create = table.CreateCommittedResource;
            let _ = unsafe { create(device, properties, flags, &desc, state, null(), iid, result) };
        }
        Op::CreateReserved { desc, state } => {
            let desc = desc.first_generation();
            let iid = &ID3D12Resource::IID;
            let _ =
                unsafe { (table.CreateReservedResource)(device, &desc, state.u32(), null(), iid, &mut out) };
        }
        Op::Release { index } => {
            if !objects.0.is_empty() {
                objects.0.swap_remove(usize::from(index) % objects.0.len());
            }
        }
        Op::Map { index, subresource, range, unmap } => {
            let Some(resource) = objects.pick_as::<ID3D12Resource>(index) else { return };
            let range =
                range.map(|(begin, end)| D3D12_RANGE { Begin: begin.get() as usize, End: end.get() as usize });
            let range = range.as_ref().map(std::ptr::from_ref);
            if unmap {
                return unsafe { resource.Unmap(subresource.u32(), range) };
            }
            let mut start = null_mut();
            let mapped = unsafe { resource.Map(subresource.u32(), range, &mut start) };
            let desc = unsafe { resource.GetDesc() };
            if mapped.is_ok() && !start.is_null() && desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
                let last = usize::try_from(desc.Width - 1).expect("it is mapped");
                unsafe { start.cast::<u8>().add(last).write(1) };
            }
        }
        Op::MakeResident { indices, evict } => {
            let pageables: Vec<Option<ID3D12Pageable>> =
                indices.iter().take(8).map(|&index| objects.pick_as(index)).collect();
            let _ = unsafe {
                if evict { gpu.device.Evict(&pageables) } else { gpu.device.MakeResident(&pageables) }
            };
        }
        Op::AllocationInfo { descs, mask, infos } => {
            let descs: Vec<_> = descs.into_iter().take(16).map(Desc::first_generation).collect();
            let device: ID3D12Device4 = gpu.device.cast().expect("known");
            let mut results = vec![D3D12_RESOURCE_ALLOCATION_INFO1::default(); descs.len()];
            let results = infos.then_some(results.as_mut_ptr());
            let count = descs.len() as u32;
            let info =
                unsafe { device.GetResourceAllocationInfo1(mask.u32(), count, descs.as_ptr(), results) };
            assert!(info.Alignment.is_power_of_two());
        }
        Op::Footprints { desc, first, count, base } => {
            let desc = desc.first_generation();
            let count = u32::from(count % 16);
            let mut layouts = [D3D12_PLACED_SUBRESOURCE_FOOTPRINT::default(); 16];
            let (mut rows, mut row_sizes, mut total) = ([0_u32; 16], [0_u64; 16], 0_u64);
            unsafe {
                (table.GetCopyableFootprints)(
                    device,
                    &desc,
                    first.u32(),
                    count,
                    base.get(),
                    layouts.as_mut_ptr(),
                    rows.as_mut_ptr(),
                    row_sizes.as_mut_ptr(),
                    &mut total,
                );
            }
        }
        Op::CheckFeature { feature, size, byte, null } => {
            let mut data = [byte; 256];
            let pointer = if null { null_mut() } else { data.as_mut_ptr().cast::<c_void>() };
            let feature = i32::from(feature % 80);
            let _ = unsafe { gpu.device.CheckFeatureSupport(feature, pointer, size.into()) };
        }
        Op::PrivateData { index, guid, size, get, null } => {
            let Some(object) = objects.pick_as::<ID3D12Object>(index) else { return };
            let guid = GUID::from_u128(u128::from(guid % 4));
            let mut data = [0_u8; 256];
            let pointer = data.as_mut_ptr().cast::<c_void>();
            let mut len = u32::from(size);
            let _ = unsafe {
                if get {
                    object.GetPrivateData(&guid, &mut len, (!null).then_some(pointer))
                } else {
                    object.SetPrivateData(&guid, len, (!null).then_some(pointer.cast_const()))
                }
            };
        }
        Op::Query { index, iid } => {
            if let Some(object) = objects.pick(index) {
                let _ = unsafe { object.query(&IIDS[usize::from(iid) % IIDS.len()], &mut out) };
            }
        }
        Op::GetDevice { index } => {
            let Some(child) = objects.pick_as::<ID3D12DeviceChild>(index) else { return };
            let mut found: Option<ID3D12Device> = None;
            unsafe { child.GetDevice(&mut found) }.expect("a child has a device");
            assert_eq!(found.expect("handed out").as_raw(), device);
        }
        Op::CustomProperties { mask, kind } => {
            let _ = unsafe { gpu.device.GetCustomHeapProperties(mask.u32(), i32::from(kind)) };
        }
        Op::VideoMemory { node, group, reservation } => {
            let mut info = DXGI_QUERY_VIDEO_MEMORY_INFO::default();
            let (node, group) = (u32::from(node % 3), i32::from(group % 4));
            let _ = unsafe { gpu.adapter.QueryVideoMemoryInfo(node, group, &mut info) };
            if let Some(reservation) = reservation {
                let _ = unsafe { gpu.adapter.SetVideoMemoryReservation(node, group, reservation.get()) };
            }
        }
    }
    objects.take(out);
}
