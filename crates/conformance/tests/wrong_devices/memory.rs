//! Heaps and resources with replaced methods.

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_void;

use heapwright_d3d12::*;
use windows_core::{GUID, HRESULT, Interface};

use crate::intercept::{behind, identity, intercept, is_intercepted};
use crate::lies::{Lies, Map, PrivateData};
use crate::recreate;

/// Replaces methods of a heap or a resource that a creation call made, if it made one.
///
/// # Safety
///
/// `object` is null, or points to null or to an interface pointer of a heap or a resource.
pub(crate) unsafe fn intercept_made(object: *mut *mut c_void, lies: &'static Lies) {
    // SAFETY: the caller upholds the contract of this function.
    let raw = unsafe { object.as_ref() }.copied().unwrap_or_default();
    // SAFETY: as above; the reference stays the caller's.
    let Some(unknown) = (unsafe { windows_core::IUnknown::from_raw_borrowed(&raw) }) else { return };
    if let Ok(heap) = unknown.cast::<ID3D12Heap1>() {
        intercept_heap(&heap, lies);
    } else if let Ok(resource) = unknown.cast::<ID3D12Resource2>() {
        intercept_resource(&resource, lies);
    }
}

fn intercept_heap(heap: &ID3D12Heap1, lies: &'static Lies) {
    if !is_intercepted(heap) {
        recreate::intercept_allocation(heap, lies, true);
        intercept(heap, lies, |table| {
            table.base__.GetDesc = heap_get_desc;
            table.base__.base__.base__.GetDevice = heap_get_device;
        });
    }
}

fn intercept_resource(resource: &ID3D12Resource2, lies: &'static Lies) {
    if is_intercepted(resource) {
        return;
    }
    recreate::intercept_allocation(resource, lies, false);
    intercept(resource, lies, |table| {
        let base = &mut table.base__.base__;
        base.GetDesc = get_desc;
        base.GetGPUVirtualAddress = get_address;
        base.GetHeapProperties = get_heap_properties;
        base.Map = map;
        base.base__.base__.GetDevice = get_device;
        base.base__.base__.base__.SetPrivateData = set_private_data;
        base.base__.base__.base__.SetPrivateDataInterface = set_private_data_interface;
        base.WriteToSubresource = write_to_subresource;
        base.ReadFromSubresource = read_from_subresource;
    });
}

unsafe extern "system" fn heap_get_desc(
    this: *mut c_void,
    out: *mut D3D12_HEAP_DESC,
) -> *mut D3D12_HEAP_DESC {
    // SAFETY: only intercepted heaps have this method; the arguments are passed on unchanged.
    unsafe {
        let (lies, original) = behind::<ID3D12Heap1_Vtbl>(this);
        (original.base__.GetDesc)(this, out);
        if let Some(lie) = lies.heap_desc {
            lie(&mut *out);
        }
        out
    }
}

unsafe extern "system" fn get_desc(
    this: *mut c_void,
    out: *mut D3D12_RESOURCE_DESC,
) -> *mut D3D12_RESOURCE_DESC {
    // SAFETY: only intercepted resources have this method; the arguments are passed on unchanged.
    unsafe {
        let (lies, original) = behind::<ID3D12Resource2_Vtbl>(this);
        (original.base__.base__.GetDesc)(this, out);
        if let Some(lie) = lies.desc {
            lie(&mut *out);
        }
        out
    }
}

unsafe extern "system" fn get_address(this: *mut c_void) -> D3D12_GPU_VIRTUAL_ADDRESS {
    // SAFETY: as in get_desc.
    unsafe {
        let (lies, original) = behind::<ID3D12Resource2_Vtbl>(this);
        let base = &original.base__.base__;
        let D3D12_GPU_VIRTUAL_ADDRESS(address) = (base.GetGPUVirtualAddress)(this);
        let Some(lie) = lies.address else { return D3D12_GPU_VIRTUAL_ADDRESS(address) };
        let mut desc = D3D12_RESOURCE_DESC::default();
        (base.GetDesc)(this, &mut desc);
        D3D12_GPU_VIRTUAL_ADDRESS(lie(&desc, address))
    }
}

unsafe extern "system" fn get_heap_properties(
    this: *mut c_void,
    properties: *mut D3D12_HEAP_PROPERTIES,
    flags: *mut D3D12_HEAP_FLAGS,
) -> HRESULT {
    // SAFETY: as in get_desc.
    unsafe {
        let (lies, original) = behind::<ID3D12Resource2_Vtbl>(this);
        let hresult = (original.base__.base__.GetHeapProperties)(this, properties, flags);
        if let (Some(lie), Some(properties)) = (lies.heap_properties, properties.as_mut()) {
            lie(properties);
        }
        hresult
    }
}

/// The largest buffer that a check maps, in bytes.
const LARGEST: usize = 32 << 20;

/// Memory that a lie about `Map` may return.
struct Elsewhere(UnsafeCell<[u8; LARGEST]>);

// SAFETY: it is accessed through raw pointers only, by checks that expect false bytes.
unsafe impl Sync for Elsewhere {}

static ELSEWHERE: Elsewhere = Elsewhere(UnsafeCell::new([0; LARGEST]));

thread_local! {
    /// The identity of the resource that this thread mapped last.
    static LAST_MAPPED: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

unsafe extern "system" fn map(
    this: *mut c_void,
    subresource: u32,
    range: *const D3D12_RANGE,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: as in get_desc.
    unsafe {
        let (lies, original) = behind::<ID3D12Resource2_Vtbl>(this);
        let base = &original.base__.base__;
        let hresult = (base.Map)(this, subresource, range, out);
        if hresult.is_ok() {
            LAST_MAPPED.set(identity(this, lies));
        }
        let Some(lie) = lies.map else { return hresult };
        let mut map = Map {
            subresource,
            begin: range.as_ref().map_or(0, |range| range.Begin),
            address: (base.GetGPUVirtualAddress)(this).0,
            hresult,
            start: out.as_ref().map_or(std::ptr::null_mut(), |start| start.cast()),
            elsewhere: ELSEWHERE.0.get().cast(),
        };
        lie(&mut map);
        if let Some(out) = out.as_mut() {
            *out = map.start.cast();
        }
        map.hresult
    }
}

unsafe extern "system" fn set_private_data(
    this: *mut c_void,
    guid: *const GUID,
    size: u32,
    data: *const c_void,
) -> HRESULT {
    // SAFETY: as in get_desc.
    unsafe {
        let (lies, original) = behind::<ID3D12Resource2_Vtbl>(this);
        let set = original.base__.base__.base__.base__.base__.SetPrivateData;
        match lies.private_data {
            Some(PrivateData::Forgotten) => S_OK,
            Some(PrivateData::SizeNeedsData) if data.is_null() && size > 0 => E_INVALIDARG,
            Some(PrivateData::RemovesNothing) => match set(this, guid, size, data) {
                S_FALSE => S_OK,
                hresult => hresult,
            },
            _ => set(this, guid, size, data),
        }
    }
}

unsafe extern "system" fn set_private_data_interface(
    this: *mut c_void,
    guid: *const GUID,
    object: *mut c_void,
) -> HRESULT {
    // SAFETY: as in get_desc.
    unsafe {
        let (lies, original) = behind::<ID3D12Resource2_Vtbl>(this);
        let base = &original.base__.base__.base__.base__.base__;
        if lies.private_data == Some(PrivateData::NullInterfaceRemoves) && object.is_null() {
            return (base.SetPrivateData)(this, guid, 0, std::ptr::null());
        }
        (base.SetPrivateDataInterface)(this, guid, object)
    }
}

unsafe extern "system" fn write_to_subresource(
    this: *mut c_void,
    subresource: u32,
    part: *const D3D12_BOX,
    from: *const c_void,
    row_pitch: u32,
    depth_pitch: u32,
) -> HRESULT {
    // SAFETY: as in get_desc.
    unsafe {
        let (lies, original) = behind::<ID3D12Resource2_Vtbl>(this);
        let is_mapped = LAST_MAPPED.get() == identity(this, lies);
        if lies.refuses_texels.is_some_and(|lie| lie(is_mapped, part.as_ref())) {
            return E_INVALIDARG;
        }
        let write = original.base__.base__.WriteToSubresource;
        write(this, subresource, part, from, row_pitch, depth_pitch)
    }
}

unsafe extern "system" fn read_from_subresource(
    this: *mut c_void,
    to: *mut c_void,
    row_pitch: u32,
    depth_pitch: u32,
    subresource: u32,
    part: *const D3D12_BOX,
) -> HRESULT {
    // SAFETY: as in get_desc.
    unsafe {
        let (lies, original) = behind::<ID3D12Resource2_Vtbl>(this);
        let is_mapped = LAST_MAPPED.get() == identity(this, lies);
        if lies.refuses_texels.is_some_and(|lie| lie(is_mapped, part.as_ref())) {
            return E_INVALIDARG;
        }
        (original.base__.base__.ReadFromSubresource)(this, to, row_pitch, depth_pitch, subresource, part)
    }
}

unsafe extern "system" fn heap_get_device(
    this: *mut c_void,
    iid: *const GUID,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: as in heap_get_desc.
    unsafe {
        let (lies, original) = behind::<ID3D12Heap1_Vtbl>(this);
        if lies.orphans { E_FAIL } else { (original.base__.base__.base__.GetDevice)(this, iid, out) }
    }
}

unsafe extern "system" fn get_device(this: *mut c_void, iid: *const GUID, out: *mut *mut c_void) -> HRESULT {
    // SAFETY: as in get_desc.
    unsafe {
        let (lies, original) = behind::<ID3D12Resource2_Vtbl>(this);
        if lies.orphans { E_FAIL } else { (original.base__.base__.base__.base__.GetDevice)(this, iid, out) }
    }
}
