//! Heaps, resources and queries about them.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use arbitrary::Arbitrary;
use heapwright_d3d12::*;
use windows_core::{GUID, Interface};

use crate::args::{Desc, Heap, Number};
use crate::world::{IIDS, World};

#[derive(Debug, Arbitrary)]
pub enum Op {
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

/// Makes one call on the first device.
///
/// # Safety
///
/// The objects of the world are live.
pub unsafe fn perform(world: &mut World, op: Op) {
    let World { gpu, objects, .. } = world;
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
                let _ = unsafe {
                    create(device.as_raw(), heap, offset.get(), &desc, state, clear, iid, &mut out)
                };
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
        Op::Release { index } => objects.release(index),
        Op::Map { index, subresource, range, unmap } => {
            let Some(resource) = objects.pick_as::<ID3D12Resource>(index) else { return };
            let range = range
                .map(|(begin, end)| D3D12_RANGE { Begin: begin.get() as usize, End: end.get() as usize });
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
            let found = found.expect("handed out").as_raw();
            assert!(found == device || world.second.as_ref().is_some_and(|second| second.as_raw() == found));
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
    world.objects.take(out);
}
