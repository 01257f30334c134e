//! A device and an adapter with replaced methods.

use std::ffi::c_void;

use heapwright_d3d12::*;
use windows_core::{GUID, HRESULT, IUnknown, IUnknown_Vtbl, Interface};

use crate::intercept::{behind, intercept as replace};
use crate::lies::{Dirt, Feature, Lies, Request};
use crate::{commands, creation, memory, recreate, tracker};

/// Makes a device, its adapter and all objects that the device creates tell lies.
pub(crate) fn intercept(device: &ID3D12Device, adapter: &IDXGIAdapter3, lies: &'static Lies) {
    intercept_device(device, lies);
    let adapter: IDXGIAdapter4 = adapter.cast().expect("the runtime has the newest adapter interface");
    replace(&adapter, lies, |table| table.base__.QueryVideoMemoryInfo = query_video_memory_info);
}

/// Makes a device and all objects that it creates tell lies.
pub(crate) fn intercept_device(device: &ID3D12Device, lies: &'static Lies) {
    recreate::intercept_tools(device, lies);
    tracker::intercept_device(device, lies);
    let device: ID3D12Device14 = device.cast().expect("the runtime has the newest device interface");
    replace(&device, lies, |table| {
        let fourteen = table;
        let twelve = &mut fourteen.base__.base__;
        twelve.GetResourceAllocationInfo3 = allocation_info3;
        let ten = &mut twelve.base__.base__;
        ten.CreateCommittedResource3 = create_committed3;
        ten.CreatePlacedResource2 = create_placed2;
        let eight = &mut ten.base__.base__;
        eight.GetResourceAllocationInfo2 = allocation_info2;
        eight.CreateCommittedResource2 = create_committed2;
        eight.CreatePlacedResource1 = create_placed1;
        let four = &mut eight.base__.base__.base__.base__;
        four.GetResourceAllocationInfo1 = allocation_info1;
        four.CreateHeap1 = create_heap1;
        let base = &mut four.base__.base__.base__.base__;
        base.CheckFeatureSupport = check_feature_support;
        base.GetResourceAllocationInfo = allocation_info;
        base.GetCustomHeapProperties = custom_heap_properties;
        base.CreateHeap = create_heap;
        base.CreateCommittedResource = create_committed;
        base.CreatePlacedResource = create_placed;
        base.GetCopyableFootprints = footprints;
        base.GetAdapterLuid = adapter_luid;
        base.GetNodeCount = node_count;
        base.GetDeviceRemovedReason = removed_reason;
        base.MakeResident = make_resident;
        base.Evict = evict;
        base.CreateCommandQueue = create_command_queue;
        base.CreateCommandList = create_command_list;
        base.CreateFence = create_fence;
        base.GetResourceTiling = resource_tiling;
        base.CreateReservedResource = create_reserved;
        creation::replace(base);
        object(base).QueryInterface = query_interface;
    });
}

fn object(base: &mut ID3D12Device_Vtbl) -> &mut IUnknown_Vtbl {
    &mut base.base__.base__
}

/// Returns the lies of an intercepted device, and its original methods.
///
/// # Safety
///
/// `this` must be a device that was intercepted here.
pub(crate) unsafe fn device(this: *mut c_void) -> (&'static Lies, &'static ID3D12Device14_Vtbl) {
    // SAFETY: the caller upholds the contract of this function.
    unsafe { behind::<ID3D12Device14_Vtbl>(this) }
}

fn twelve(table: &ID3D12Device14_Vtbl) -> &ID3D12Device12_Vtbl {
    &table.base__.base__
}

fn ten(table: &ID3D12Device14_Vtbl) -> &ID3D12Device10_Vtbl {
    &twelve(table).base__.base__
}

fn eight(table: &ID3D12Device14_Vtbl) -> &ID3D12Device8_Vtbl {
    &ten(table).base__.base__
}

fn four(table: &ID3D12Device14_Vtbl) -> &ID3D12Device4_Vtbl {
    &eight(table).base__.base__.base__.base__
}

pub(crate) fn one(table: &ID3D12Device14_Vtbl) -> &ID3D12Device_Vtbl {
    &four(table).base__.base__.base__.base__
}

// The methods below are only in the tables of intercepted devices. They pass their arguments on unchanged
// or as a lie changed them, and have the contracts of the original methods.

unsafe extern "system" fn query_interface(
    this: *mut c_void,
    iid: *const GUID,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = device(this);
        if lies.denies.is_some_and(|denied| iid.as_ref() == Some(&denied)) {
            if let Some(out) = out.as_mut() {
                *out = std::ptr::null_mut();
            }
            return E_NOINTERFACE;
        }
        (one(table).base__.base__.QueryInterface)(this, iid, out)
    }
}

unsafe extern "system" fn check_feature_support(
    this: *mut c_void,
    feature: D3D12_FEATURE,
    data: *mut c_void,
    size: u32,
) -> HRESULT {
    // SAFETY: the contract of the original method; the data has the size that the caller gave, in 4-byte
    // fields.
    unsafe {
        let (lies, table) = device(this);
        let asked = lies.feature_size.map_or(size, |lie| lie(feature, size));
        let hresult = (one(table).CheckFeatureSupport)(this, feature, data, asked);
        let Some(lie) = lies.feature else { return hresult };
        if data.is_null() {
            return hresult;
        }
        let fields =
            std::slice::from_raw_parts_mut(data.cast::<u32>(), usize::try_from(size / 4).unwrap_or(0));
        let mut answer = Feature { hresult, fields };
        lie(feature, &mut answer);
        answer.hresult
    }
}

unsafe extern "system" fn custom_heap_properties(
    this: *mut c_void,
    out: *mut D3D12_HEAP_PROPERTIES,
    node_mask: u32,
    heap_type: D3D12_HEAP_TYPE,
) -> *mut D3D12_HEAP_PROPERTIES {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = device(this);
        (one(table).GetCustomHeapProperties)(this, out, node_mask, heap_type);
        if let Some(lie) = lies.custom_properties {
            lie(heap_type, &mut *out);
        }
        out
    }
}

fn upgrade(desc: &D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC1 {
    D3D12_RESOURCE_DESC1 {
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
        SamplerFeedbackMipRegion: D3D12_MIP_REGION::default(),
    }
}

fn downgrade(desc: &D3D12_RESOURCE_DESC1) -> D3D12_RESOURCE_DESC {
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

/// Returns a copy of an array of descriptions, as a lie may have changed it.
unsafe fn requested<T: Copy>(
    lies: &Lies,
    count: u32,
    descs: *const T,
    to_new: fn(&T) -> D3D12_RESOURCE_DESC1,
) -> Vec<D3D12_RESOURCE_DESC1> {
    if descs.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller passes an array of count descriptions.
    let descs = unsafe { std::slice::from_raw_parts(descs, usize::try_from(count).unwrap_or(0)) };
    let mut descs: Vec<D3D12_RESOURCE_DESC1> = descs.iter().map(to_new).collect();
    if let Some(lie) = lies.allocation_request {
        descs.iter_mut().for_each(lie);
    }
    descs
}

/// Applies the lies to allocation info.
unsafe fn answered(
    lies: &Lies,
    descs: &[D3D12_RESOURCE_DESC1],
    out: *mut D3D12_RESOURCE_ALLOCATION_INFO,
    parts: *mut D3D12_RESOURCE_ALLOCATION_INFO1,
) {
    // SAFETY: out is writable; parts is null or has one element for each description.
    unsafe {
        // If the whole is invalid, nothing is written about its parts.
        let has_parts = !parts.is_null() && (*out).SizeInBytes != u64::MAX;
        if let Some(lie) = lies.allocation {
            lie(descs, &mut *out);
            // A lie about a single resource applies to each part as well.
            if has_parts {
                for (index, desc) in descs.iter().enumerate() {
                    let part = &mut *parts.add(index);
                    let mut info = D3D12_RESOURCE_ALLOCATION_INFO {
                        SizeInBytes: part.SizeInBytes,
                        Alignment: part.Alignment,
                    };
                    lie(std::slice::from_ref(desc), &mut info);
                    (part.SizeInBytes, part.Alignment) = (info.SizeInBytes, info.Alignment);
                }
            }
        }
        if let Some(lie) = lies.parts.filter(|_| has_parts) {
            lie(std::slice::from_raw_parts_mut(parts, descs.len()));
        }
    }
}

unsafe extern "system" fn allocation_info(
    this: *mut c_void,
    out: *mut D3D12_RESOURCE_ALLOCATION_INFO,
    visible_mask: u32,
    count: u32,
    descs: *const D3D12_RESOURCE_DESC,
) -> *mut D3D12_RESOURCE_ALLOCATION_INFO {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = device(this);
        let changed = requested(lies, count, descs, upgrade);
        let older: Vec<D3D12_RESOURCE_DESC> = changed.iter().map(downgrade).collect();
        (one(table).GetResourceAllocationInfo)(this, out, visible_mask, count, older.as_ptr());
        answered(lies, &changed, out, std::ptr::null_mut());
        out
    }
}

unsafe extern "system" fn allocation_info1(
    this: *mut c_void,
    out: *mut D3D12_RESOURCE_ALLOCATION_INFO,
    visible_mask: u32,
    count: u32,
    descs: *const D3D12_RESOURCE_DESC,
    parts: *mut D3D12_RESOURCE_ALLOCATION_INFO1,
) -> *mut D3D12_RESOURCE_ALLOCATION_INFO {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = device(this);
        let changed = requested(lies, count, descs, upgrade);
        let older: Vec<D3D12_RESOURCE_DESC> = changed.iter().map(downgrade).collect();
        (four(table).GetResourceAllocationInfo1)(this, out, visible_mask, count, older.as_ptr(), parts);
        answered(lies, &changed, out, parts);
        out
    }
}

unsafe extern "system" fn allocation_info2(
    this: *mut c_void,
    out: *mut D3D12_RESOURCE_ALLOCATION_INFO,
    visible_mask: u32,
    count: u32,
    descs: *const D3D12_RESOURCE_DESC1,
    parts: *mut D3D12_RESOURCE_ALLOCATION_INFO1,
) -> *mut D3D12_RESOURCE_ALLOCATION_INFO {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = device(this);
        let changed = requested(lies, count, descs, |desc| *desc);
        (eight(table).GetResourceAllocationInfo2)(this, out, visible_mask, count, changed.as_ptr(), parts);
        answered(lies, &changed, out, parts);
        if let Some(lie) = lies.newer_allocation {
            lie(&mut *out);
        }
        out
    }
}

unsafe extern "system" fn allocation_info3(
    this: *mut c_void,
    out: *mut D3D12_RESOURCE_ALLOCATION_INFO,
    visible_mask: u32,
    count: u32,
    descs: *const D3D12_RESOURCE_DESC1,
    castable_counts: *const u32,
    castable: *const *const DXGI_FORMAT,
    parts: *mut D3D12_RESOURCE_ALLOCATION_INFO1,
) -> *mut D3D12_RESOURCE_ALLOCATION_INFO {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = device(this);
        let changed = requested(lies, count, descs, |desc| *desc);
        let ask = twelve(table).GetResourceAllocationInfo3;
        ask(this, out, visible_mask, count, changed.as_ptr(), castable_counts, castable, parts);
        answered(lies, &changed, out, parts);
        out
    }
}

/// Applies the lies about a created object and returns the final HRESULT.
unsafe fn made(lies: &'static Lies, hresult: HRESULT, out: *mut *mut c_void) -> HRESULT {
    // SAFETY: after success, out is null or points to a heap or a resource.
    unsafe {
        if hresult == S_OK {
            memory::intercept_made(out, lies);
        }
        match lies.check_only {
            Some(lie) if out.is_null() => lie(hresult),
            _ => hresult,
        }
    }
}

/// Returns a copy of a heap description, as a lie may have changed it.
unsafe fn heap_request(lies: &Lies, desc: *const D3D12_HEAP_DESC) -> Option<D3D12_HEAP_DESC> {
    // SAFETY: the pointer is null or points to a description.
    let mut desc = unsafe { desc.as_ref() }.copied()?;
    if let Some(lie) = lies.heap {
        lie(&mut desc);
    }
    Some(desc)
}

fn pointer<T>(value: Option<&T>) -> *const T {
    value.map_or(std::ptr::null(), std::ptr::from_ref)
}

unsafe extern "system" fn create_heap(
    this: *mut c_void,
    desc: *const D3D12_HEAP_DESC,
    iid: *const GUID,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = device(this);
        let changed = heap_request(lies, desc);
        recreate::before_creation(this, lies, false, false);
        let create = || (one(table).CreateHeap)(this, pointer(changed.as_ref()), iid, out);
        let hresult = recreate::created(this, lies, create(), create);
        if hresult == S_OK {
            if lies.dirt == Some(Dirt::Heaps) {
                soil_heap(this, table, out);
            }
            if lies.leaks_device {
                (one(table).base__.base__.AddRef)(this);
            }
        }
        made(lies, hresult, out)
    }
}

unsafe extern "system" fn create_heap1(
    this: *mut c_void,
    desc: *const D3D12_HEAP_DESC,
    session: *mut c_void,
    iid: *const GUID,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = device(this);
        let changed = heap_request(lies, desc);
        let hresult = (four(table).CreateHeap1)(this, pointer(changed.as_ref()), session, iid, out);
        made(lies, hresult, out)
    }
}

/// Fills all memory of a new heap that the CPU can access.
unsafe fn soil_heap(this: *mut c_void, table: &ID3D12Device14_Vtbl, out: *mut *mut c_void) {
    // SAFETY: the contract of the original method; out holds a new heap.
    unsafe {
        let Some(heap) = out.as_ref().and_then(|raw| IUnknown::from_raw_borrowed(raw)) else { return };
        let Ok(heap) = heap.cast::<ID3D12Heap>() else { return };
        let desc = heap.GetDesc();
        let buffer = D3D12_RESOURCE_DESC {
            Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
            Width: desc.SizeInBytes,
            Height: 1,
            DepthOrArraySize: 1,
            MipLevels: 1,
            SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
            Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
            ..Default::default()
        };
        let mut resource = std::ptr::null_mut();
        let state = D3D12_RESOURCE_STATE_COMMON;
        let (none, iid) = (std::ptr::null(), &ID3D12Resource::IID);
        let place = one(table).CreatePlacedResource;
        if place(this, heap.as_raw(), 0, &buffer, state, none, iid, &mut resource).is_ok() {
            soil(&ID3D12Resource::from_raw(resource));
        }
    }
}

/// Fills a buffer that the CPU can access.
fn soil(resource: &ID3D12Resource) {
    // SAFETY: the resource is live, and a mapped buffer has as many bytes as its description says.
    unsafe {
        let mut start = std::ptr::null_mut();
        if resource.Map(0, None, &mut start).is_ok() && !start.is_null() {
            let len = usize::try_from(resource.GetDesc().Width).expect("small");
            start.cast::<u8>().write_bytes(0x5a, len);
            resource.Unmap(0, None);
        }
    }
}

/// Returns the arguments of a call that creates a committed resource.
unsafe fn committed(
    properties: *const D3D12_HEAP_PROPERTIES,
    flags: D3D12_HEAP_FLAGS,
    desc: Option<D3D12_RESOURCE_DESC>,
    state: D3D12_RESOURCE_STATES,
    clear: *const D3D12_CLEAR_VALUE,
) -> Option<Request> {
    // SAFETY: the pointer is null or points to heap properties.
    let properties = unsafe { properties.as_ref() }.copied();
    let has_clear_value = !clear.is_null();
    properties.zip(desc).map(|(properties, desc)| Request {
        properties: Some(properties),
        flags,
        place: None,
        desc,
        state,
        has_clear_value,
    })
}

/// Returns the arguments of a call that creates a placed resource.
unsafe fn placed(
    heap: *mut c_void,
    offset: u64,
    desc: Option<D3D12_RESOURCE_DESC>,
    state: D3D12_RESOURCE_STATES,
    clear: *const D3D12_CLEAR_VALUE,
) -> Option<Request> {
    // SAFETY: the pointer is null or a heap.
    let heap = unsafe { ID3D12Heap::from_raw_borrowed(&heap).map(|heap| heap.GetDesc()) };
    let has_clear_value = !clear.is_null();
    heap.zip(desc).map(|(heap, desc)| Request {
        properties: None,
        flags: D3D12_HEAP_FLAG_NONE,
        place: Some((offset, heap)),
        desc,
        state,
        has_clear_value,
    })
}

/// Performs a creation call of any generation: `create` gets the request as a lie may have changed it.
unsafe fn creation(
    this: *mut c_void,
    mut request: Option<Request>,
    out: *mut *mut c_void,
    create: impl FnOnce(&ID3D12Device14_Vtbl, Option<&Request>) -> HRESULT,
) -> HRESULT {
    // SAFETY: the contract of the original method; after success, out is null or points to a resource.
    unsafe {
        let (lies, table) = device(this);
        if let (Some(lie), Some(request)) = (lies.resource, request.as_mut()) {
            lie(request);
        }
        let asked = request.as_ref();
        let is_texture = asked.is_some_and(|asked| asked.desc.Dimension != D3D12_RESOURCE_DIMENSION_BUFFER);
        let is_placed = asked.is_some_and(|asked| asked.place.is_some());
        recreate::before_creation(this, lies, is_texture, is_placed);
        let hresult = create(table, asked);
        let is_committed = request.is_some_and(|request| request.properties.is_some());
        if hresult == S_OK && is_committed && lies.dirt == Some(Dirt::Committed) {
            let made = out.as_ref().and_then(|raw| IUnknown::from_raw_borrowed(raw));
            made.iter().filter_map(|made| made.cast().ok()).for_each(|resource| soil(&resource));
        }
        made(lies, hresult, out)
    }
}

/// Returns the newer description with the changes that a lie made to its older part.
unsafe fn newer(desc: *const D3D12_RESOURCE_DESC1, request: &Request) -> D3D12_RESOURCE_DESC1 {
    // SAFETY: a request exists only with a description.
    let region = unsafe { (*desc).SamplerFeedbackMipRegion };
    D3D12_RESOURCE_DESC1 { SamplerFeedbackMipRegion: region, ..upgrade(&request.desc) }
}

unsafe extern "system" fn create_committed(
    this: *mut c_void,
    properties: *const D3D12_HEAP_PROPERTIES,
    flags: D3D12_HEAP_FLAGS,
    desc: *const D3D12_RESOURCE_DESC,
    state: D3D12_RESOURCE_STATES,
    clear: *const D3D12_CLEAR_VALUE,
    iid: *const GUID,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let request = committed(properties, flags, desc.as_ref().copied(), state, clear);
        creation(this, request, out, |table, request| {
            let create = one(table).CreateCommittedResource;
            match request {
                None => create(this, properties, flags, desc, state, clear, iid, out),
                Some(request) => {
                    let clear = if request.has_clear_value { clear } else { std::ptr::null() };
                    let home = pointer(request.properties.as_ref());
                    create(this, home, request.flags, &request.desc, request.state, clear, iid, out)
                }
            }
        })
    }
}

unsafe extern "system" fn create_committed2(
    this: *mut c_void,
    properties: *const D3D12_HEAP_PROPERTIES,
    flags: D3D12_HEAP_FLAGS,
    desc: *const D3D12_RESOURCE_DESC1,
    state: D3D12_RESOURCE_STATES,
    clear: *const D3D12_CLEAR_VALUE,
    session: *mut c_void,
    iid: *const GUID,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let older = desc.as_ref().map(downgrade);
        let request = committed(properties, flags, older, state, clear);
        creation(this, request, out, |table, request| {
            let create = eight(table).CreateCommittedResource2;
            match request {
                None => create(this, properties, flags, desc, state, clear, session, iid, out),
                Some(request) => {
                    let clear = if request.has_clear_value { clear } else { std::ptr::null() };
                    let (home, desc) = (pointer(request.properties.as_ref()), newer(desc, request));
                    create(this, home, request.flags, &desc, request.state, clear, session, iid, out)
                }
            }
        })
    }
}

unsafe extern "system" fn create_committed3(
    this: *mut c_void,
    properties: *const D3D12_HEAP_PROPERTIES,
    flags: D3D12_HEAP_FLAGS,
    desc: *const D3D12_RESOURCE_DESC1,
    layout: D3D12_BARRIER_LAYOUT,
    clear: *const D3D12_CLEAR_VALUE,
    session: *mut c_void,
    castable_count: u32,
    castable: *const DXGI_FORMAT,
    iid: *const GUID,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let older = desc.as_ref().map(downgrade);
        let state = D3D12_RESOURCE_STATE_COMMON;
        let request = committed(properties, flags, older, state, clear);
        creation(this, request, out, |table, request| {
            let create = ten(table).CreateCommittedResource3;
            let Some(request) = request else {
                let (count, formats) = (castable_count, castable);
                return create(
                    this, properties, flags, desc, layout, clear, session, count, formats, iid, out,
                );
            };
            let (home, desc) = (pointer(request.properties.as_ref()), newer(desc, request));
            let (flags, count, formats) = (request.flags, castable_count, castable);
            create(this, home, flags, &desc, layout, clear, session, count, formats, iid, out)
        })
    }
}

unsafe extern "system" fn create_placed(
    this: *mut c_void,
    heap: *mut c_void,
    offset: u64,
    desc: *const D3D12_RESOURCE_DESC,
    state: D3D12_RESOURCE_STATES,
    clear: *const D3D12_CLEAR_VALUE,
    iid: *const GUID,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let request = placed(heap, offset, desc.as_ref().copied(), state, clear);
        creation(this, request, out, |table, request| {
            let create = one(table).CreatePlacedResource;
            match request {
                None => create(this, heap, offset, desc, state, clear, iid, out),
                Some(request) => {
                    let clear = if request.has_clear_value { clear } else { std::ptr::null() };
                    let offset = request.place.map_or(offset, |(offset, _)| offset);
                    let hresult = create(this, heap, offset, &request.desc, request.state, clear, iid, out);
                    if let (S_OK, true) = (hresult, device(this).0.counts_placed) {
                        std::mem::forget(IUnknown::from_raw_borrowed(&heap).cloned());
                    }
                    hresult
                }
            }
        })
    }
}

unsafe extern "system" fn create_placed1(
    this: *mut c_void,
    heap: *mut c_void,
    offset: u64,
    desc: *const D3D12_RESOURCE_DESC1,
    state: D3D12_RESOURCE_STATES,
    clear: *const D3D12_CLEAR_VALUE,
    iid: *const GUID,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let older = desc.as_ref().map(downgrade);
        let request = placed(heap, offset, older, state, clear);
        creation(this, request, out, |table, request| {
            let create = eight(table).CreatePlacedResource1;
            match request {
                None => create(this, heap, offset, desc, state, clear, iid, out),
                Some(request) => {
                    let clear = if request.has_clear_value { clear } else { std::ptr::null() };
                    let offset = request.place.map_or(offset, |(offset, _)| offset);
                    create(this, heap, offset, &newer(desc, request), request.state, clear, iid, out)
                }
            }
        })
    }
}

unsafe extern "system" fn create_placed2(
    this: *mut c_void,
    heap: *mut c_void,
    offset: u64,
    desc: *const D3D12_RESOURCE_DESC1,
    layout: D3D12_BARRIER_LAYOUT,
    clear: *const D3D12_CLEAR_VALUE,
    castable_count: u32,
    castable: *const DXGI_FORMAT,
    iid: *const GUID,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let older = desc.as_ref().map(downgrade);
        let state = D3D12_RESOURCE_STATE_COMMON;
        let request = placed(heap, offset, older, state, clear);
        creation(this, request, out, |table, request| {
            let create = ten(table).CreatePlacedResource2;
            let Some(request) = request else {
                return create(this, heap, offset, desc, layout, clear, castable_count, castable, iid, out);
            };
            let offset = request.place.map_or(offset, |(offset, _)| offset);
            let desc = newer(desc, request);
            create(this, heap, offset, &desc, layout, clear, castable_count, castable, iid, out)
        })
    }
}

unsafe extern "system" fn footprints(
    this: *mut c_void,
    desc: *const D3D12_RESOURCE_DESC,
    first: u32,
    count: u32,
    base_offset: u64,
    layouts: *mut D3D12_PLACED_SUBRESOURCE_FOOTPRINT,
    row_counts: *mut u32,
    row_sizes: *mut u64,
    total: *mut u64,
) {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = device(this);
        let ask = one(table).GetCopyableFootprints;
        ask(this, desc, first, count, base_offset, layouts, row_counts, row_sizes, total);
        if let (Some(lie), Some(total)) = (lies.footprints, total.as_mut()) {
            let len = if layouts.is_null() { 0 } else { usize::try_from(count).unwrap_or(0) };
            let layouts = if len == 0 { &mut [] } else { std::slice::from_raw_parts_mut(layouts, len) };
            lie(layouts, total);
        }
    }
}

unsafe extern "system" fn create_reserved(
    this: *mut c_void,
    desc: *const D3D12_RESOURCE_DESC,
    state: D3D12_RESOURCE_STATES,
    clear: *const D3D12_CLEAR_VALUE,
    iid: *const GUID,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = device(this);
        let mut changed = desc.as_ref().copied();
        if let (Some(lie), Some(desc)) = (lies.reserved, changed.as_mut()) {
            lie(desc);
        }
        (one(table).CreateReservedResource)(this, pointer(changed.as_ref()), state, clear, iid, out)
    }
}

unsafe extern "system" fn resource_tiling(
    this: *mut c_void,
    resource: *mut c_void,
    tile_count: *mut u32,
    packed: *mut D3D12_PACKED_MIP_INFO,
    shape: *mut D3D12_TILE_SHAPE,
    subresource_count: *mut u32,
    first: u32,
    subresources: *mut D3D12_SUBRESOURCE_TILING,
) {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = device(this);
        let ask = one(table).GetResourceTiling;
        ask(this, resource, tile_count, packed, shape, subresource_count, first, subresources);
        if let (Some(lie), Some(tile_count)) = (lies.tile_count, tile_count.as_mut()) {
            *tile_count = lie(*tile_count);
        }
        if let (Some(lie), Some(shape)) = (lies.tile_shape, shape.as_mut()) {
            lie(shape);
        }
    }
}

unsafe extern "system" fn adapter_luid(this: *mut c_void, out: *mut LUID) -> *mut LUID {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = device(this);
        (one(table).GetAdapterLuid)(this, out);
        if let Some(lie) = lies.luid {
            lie(&mut *out);
        }
        out
    }
}

unsafe extern "system" fn node_count(this: *mut c_void) -> u32 {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = device(this);
        lies.node_count.unwrap_or_else(|| (one(table).GetNodeCount)(this))
    }
}

unsafe extern "system" fn removed_reason(this: *mut c_void) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = device(this);
        lies.removed.unwrap_or_else(|| (one(table).GetDeviceRemovedReason)(this))
    }
}

unsafe extern "system" fn make_resident(
    this: *mut c_void,
    count: u32,
    objects: *const *mut c_void,
) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = device(this);
        if lies.uncounted {
            return S_OK;
        }
        let answer = lies.make_resident.or(lies.residency);
        answer.unwrap_or_else(|| (one(table).MakeResident)(this, count, objects))
    }
}

unsafe extern "system" fn evict(this: *mut c_void, count: u32, objects: *const *mut c_void) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = device(this);
        lies.residency.unwrap_or_else(|| (one(table).Evict)(this, count, objects))
    }
}

unsafe extern "system" fn create_command_queue(
    this: *mut c_void,
    desc: *const D3D12_COMMAND_QUEUE_DESC,
    iid: *const GUID,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = device(this);
        let hresult = (one(table).CreateCommandQueue)(this, desc, iid, out);
        if hresult == S_OK {
            commands::intercept_made(out, lies);
        }
        hresult
    }
}

unsafe extern "system" fn create_command_list(
    this: *mut c_void,
    node_mask: u32,
    list_type: D3D12_COMMAND_LIST_TYPE,
    allocator: *mut c_void,
    state: *mut c_void,
    iid: *const GUID,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = device(this);
        let hresult = (one(table).CreateCommandList)(this, node_mask, list_type, allocator, state, iid, out);
        if hresult == S_OK {
            commands::intercept_made(out, lies);
        }
        hresult
    }
}

unsafe extern "system" fn create_fence(
    this: *mut c_void,
    value: u64,
    flags: D3D12_FENCE_FLAGS,
    iid: *const GUID,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = device(this);
        let hresult = (one(table).CreateFence)(this, value, flags, iid, out);
        if hresult == S_OK {
            commands::intercept_made(out, lies);
        }
        hresult
    }
}

unsafe extern "system" fn query_video_memory_info(
    this: *mut c_void,
    node: u32,
    group: DXGI_MEMORY_SEGMENT_GROUP,
    out: *mut DXGI_QUERY_VIDEO_MEMORY_INFO,
) -> HRESULT {
    // SAFETY: only intercepted adapters have this method; the arguments are passed on.
    unsafe {
        let (lies, table) = behind::<IDXGIAdapter4_Vtbl>(this);
        let asked = lies.segment_group.map_or(group, |lie| lie(group));
        let hresult = (table.base__.QueryVideoMemoryInfo)(this, node, asked, out);
        if let (Some(lie), true) = (lies.video_memory, hresult == S_OK) {
            lie(group, &mut *out);
        }
        hresult
    }
}
