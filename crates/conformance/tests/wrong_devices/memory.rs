//! Heaps and resources with replaced methods.

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_void;

use heapwright_d3d12::*;
use heapwright_intercept::{intercept, method};
use windows_core::Interface;

use crate::lies::{Liar, Lies, Map, PrivateData, identity};
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
    recreate::intercept_allocation(heap, lies, true);
    // SAFETY: this is the newest interface of its chain, and nobody else uses a fresh heap. The replacements
    // pass on what their callers promise.
    unsafe {
        intercept(heap, lies, |methods| {
            let (heap, child) = (methods.of::<ID3D12Heap>(), methods.of::<ID3D12DeviceChild>());
            heap.replace(method!(GetDesc), |call, (out,)| {
                (call.original.GetDesc)(call.this, out);
                if let Some(lie) = call.data.heap_desc {
                    lie(&mut *out);
                }
                out
            });
            child.replace(method!(GetDevice), |call, (iid, out)| {
                if call.data.orphans { E_FAIL } else { (call.original.GetDevice)(call.this, iid, out) }
            });
        });
    }
}

fn intercept_resource(resource: &ID3D12Resource2, lies: &'static Lies) {
    recreate::intercept_allocation(resource, lies, false);
    // SAFETY: as for a heap.
    unsafe {
        intercept(resource, lies, |methods| {
            let resource = methods.of::<ID3D12Resource>();
            let (object, child) = (methods.of::<ID3D12Object>(), methods.of::<ID3D12DeviceChild>());
            resource.replace(method!(GetDesc), |call, (out,)| {
                (call.original.GetDesc)(call.this, out);
                if let Some(lie) = call.data.desc {
                    lie(&mut *out);
                }
                out
            });
            resource.replace(method!(GetGPUVirtualAddress), |call, ()| {
                let base = call.original;
                let D3D12_GPU_VIRTUAL_ADDRESS(address) = (base.GetGPUVirtualAddress)(call.this);
                let Some(lie) = call.data.address else { return D3D12_GPU_VIRTUAL_ADDRESS(address) };
                let mut desc = D3D12_RESOURCE_DESC::default();
                (base.GetDesc)(call.this, &mut desc);
                D3D12_GPU_VIRTUAL_ADDRESS(lie(&desc, address))
            });
            resource.replace(method!(GetHeapProperties), |call, (properties, flags)| {
                let hresult = (call.original.GetHeapProperties)(call.this, properties, flags);
                if let (Some(lie), Some(properties)) = (call.data.heap_properties, properties.as_mut()) {
                    lie(properties);
                }
                hresult
            });
            resource.replace(method!(Map), |call, (subresource, range, out)| {
                let base = call.original;
                let hresult = (base.Map)(call.this, subresource, range, out);
                if hresult.is_ok() {
                    LAST_MAPPED.set(identity(call.this, call.data));
                }
                let Some(lie) = call.data.map else { return hresult };
                let mut map = Map {
                    subresource,
                    begin: range.as_ref().map_or(0, |range| range.Begin),
                    address: (base.GetGPUVirtualAddress)(call.this).0,
                    hresult,
                    start: out.as_ref().map_or(std::ptr::null_mut(), |start| start.cast()),
                    elsewhere: ELSEWHERE.0.get().cast(),
                };
                lie(&mut map);
                if let Some(out) = out.as_mut() {
                    *out = map.start.cast();
                }
                map.hresult
            });
            child.replace(method!(GetDevice), |call, (iid, out)| {
                if call.data.orphans { E_FAIL } else { (call.original.GetDevice)(call.this, iid, out) }
            });
            object.replace(method!(SetPrivateData), |call, (guid, size, data)| {
                let set = call.original.SetPrivateData;
                match call.data.private_data {
                    Some(PrivateData::Forgotten) => S_OK,
                    Some(PrivateData::SizeNeedsData) if data.is_null() && size > 0 => E_INVALIDARG,
                    Some(PrivateData::RemovesNothing) => match set(call.this, guid, size, data) {
                        S_FALSE => S_OK,
                        hresult => hresult,
                    },
                    _ => set(call.this, guid, size, data),
                }
            });
            object.replace(method!(SetPrivateDataInterface), |call, (guid, object)| {
                let base = call.original;
                if call.data.private_data == Some(PrivateData::NullInterfaceRemoves) && object.is_null() {
                    return (base.SetPrivateData)(call.this, guid, 0, std::ptr::null());
                }
                (base.SetPrivateDataInterface)(call.this, guid, object)
            });
            resource.replace(
                method!(WriteToSubresource),
                |call, (index, part, from, row_pitch, depth_pitch)| {
                    if refuses_texels(call, part) {
                        return E_INVALIDARG;
                    }
                    (call.original.WriteToSubresource)(call.this, index, part, from, row_pitch, depth_pitch)
                },
            );
            resource.replace(
                method!(ReadFromSubresource),
                |call, (to, row_pitch, depth_pitch, index, part)| {
                    if refuses_texels(call, part) {
                        return E_INVALIDARG;
                    }
                    (call.original.ReadFromSubresource)(call.this, to, row_pitch, depth_pitch, index, part)
                },
            );
        });
    }
}

/// Returns whether a resource refuses to have texels of a box read or written.
///
/// # Safety
///
/// `part` is null or points to a box.
unsafe fn refuses_texels(resource: &Liar<ID3D12Resource>, part: *const D3D12_BOX) -> bool {
    let is_mapped = LAST_MAPPED.get() == identity(resource.this, resource.data);
    // SAFETY: the caller upholds the contract of this function.
    resource.data.refuses_texels.is_some_and(|lie| lie(is_mapped, unsafe { part.as_ref() }))
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
