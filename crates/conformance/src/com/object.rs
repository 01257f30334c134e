//! What every object has: identity, private data, a name, a device; and what pageables have.

use std::ffi::c_void;

use heapwright_d3d12::*;
use windows_core::{GUID, HRESULT, IUnknown, Interface};

use super::{Result, created, done};

/// The object's identity: the same for all of its interfaces, different between objects.
pub(crate) fn identity<I: Interface>(object: &I) -> usize {
    object.cast::<IUnknown>().map_or(0, |unknown| unknown.as_raw().addr())
}

/// How many messages the debug layer has for a device so far, those included that it does not keep; `None` where it is off.
pub(crate) fn message_count(device: &ID3D12Device) -> Option<u64> {
    let queue: ID3D12InfoQueue = device.cast().ok()?;
    // SAFETY: the queue is live.
    Some(unsafe { queue.GetNumStoredMessages() + queue.GetNumMessagesDiscardedByMessageCountLimit() })
}

/// `GetDevice`.
pub(crate) fn device_of<I: Interface>(object: &I) -> Result<ID3D12Device> {
    let child: ID3D12DeviceChild = object.cast().map_err(|error| error.code())?;
    let mut device = None;
    // SAFETY: the object is live, device takes one interface.
    created(unsafe { child.GetDevice(&mut device) }, device)
}

/// An object as an `ID3D12Object`.
pub(crate) fn object<I: Interface>(object: &I) -> Result<ID3D12Object> {
    object.cast().map_err(|error| error.code())
}

/// `SetPrivateData`; `None` removes.
pub(crate) fn set_private_data(object: &ID3D12Object, guid: &GUID, data: Option<&[u8]>) -> HRESULT {
    let size = u32::try_from(data.map_or(0, <[u8]>::len)).expect("small");
    // SAFETY: the pointer has size bytes, or is null.
    unsafe { object.SetPrivateData(guid, size, data.map(|data| data.as_ptr().cast::<c_void>())) }
}

/// `SetPrivateData` without data, but with a size.
pub(crate) fn remove_private_data(object: &ID3D12Object, guid: &GUID, size: u32) -> HRESULT {
    // SAFETY: a null pointer removes, whatever the size.
    unsafe { object.SetPrivateData(guid, size, None) }
}

/// `GetPrivateData` into room for `room` bytes, at most 64: the HRESULT, the size written, and the bytes.
pub(crate) fn private_data(object: &ID3D12Object, guid: &GUID, room: u32) -> (HRESULT, u32, [u8; 64]) {
    let mut bytes = [0_u8; 64];
    assert!(room <= 64, "there is room for 64 bytes");
    let mut size = room;
    // SAFETY: bytes has at least size bytes.
    let hresult = unsafe { object.GetPrivateData(guid, &mut size, Some(bytes.as_mut_ptr().cast())) };
    (hresult, size, bytes)
}

/// `GetPrivateData` that asks for the size alone.
pub(crate) fn private_data_size(object: &ID3D12Object, guid: &GUID) -> (HRESULT, u32) {
    let mut size = 0;
    // SAFETY: without data only the size is written.
    let hresult = unsafe { object.GetPrivateData(guid, &mut size, None) };
    (hresult, size)
}

/// `SetPrivateDataInterface`.
pub(crate) fn set_private_data_interface(
    object: &ID3D12Object,
    guid: &GUID,
    interface: Option<&IUnknown>,
) -> HRESULT {
    // SAFETY: both objects are live.
    unsafe { object.SetPrivateDataInterface(guid, interface) }
}

/// The interface that private data holds.
pub(crate) fn private_interface(object: &ID3D12Object, guid: &GUID) -> Result<IUnknown> {
    let mut raw: *mut c_void = std::ptr::null_mut();
    let mut size = u32::try_from(size_of::<*mut c_void>()).expect("small");
    // SAFETY: raw has room for one pointer.
    done(unsafe { object.GetPrivateData(guid, &mut size, Some((&raw mut raw).cast())) })?;
    if raw.is_null() {
        return Err(E_POINTER);
    }
    // SAFETY: D3D12 adds a reference for the caller to an interface that it hands out.
    Ok(unsafe { IUnknown::from_raw(raw) })
}

/// How many references an object has, as AddRef and Release tell it.
pub(crate) fn reference_count<I: Interface>(object: &I) -> u32 {
    let unknown = object.as_raw();
    // SAFETY: every interface begins with IUnknown's three methods; the pair leaves the count as it was.
    unsafe {
        let vtable = *unknown.cast::<*const windows_core::IUnknown_Vtbl>();
        ((*vtable).AddRef)(unknown);
        ((*vtable).Release)(unknown)
    }
}

/// `SetName`.
pub(crate) fn set_name(object: &ID3D12Object, name: &str) -> HRESULT {
    let wide: Vec<u16> = name.encode_utf16().chain([0]).collect();
    // SAFETY: the name is zero-terminated and outlives the call.
    unsafe { object.SetName(PCWSTR(wide.as_ptr())) }
}

/// An object as a pageable.
pub(crate) fn pageable<I: Interface>(object: &I) -> Result<ID3D12Pageable> {
    object.cast().map_err(|error| error.code())
}

/// `MakeResident`.
pub(crate) fn make_resident(device: &ID3D12Device, objects: &[Option<ID3D12Pageable>]) -> Result<()> {
    // SAFETY: the slice is the array, its objects are live.
    done(unsafe { device.MakeResident(objects) })
}

/// `Evict`.
pub(crate) fn evict(device: &ID3D12Device, objects: &[Option<ID3D12Pageable>]) -> Result<()> {
    // SAFETY: as in make_resident.
    done(unsafe { device.Evict(objects) })
}

/// `EnqueueMakeResident`.
pub(crate) fn enqueue_make_resident(
    device: &ID3D12Device3,
    flags: D3D12_RESIDENCY_FLAGS,
    objects: &[Option<ID3D12Pageable>],
    fence: &ID3D12Fence,
    value: u64,
) -> Result<()> {
    // SAFETY: as in make_resident; the fence is live.
    done(unsafe { device.EnqueueMakeResident(flags, objects, fence, value) })
}

/// `SetResidencyPriority`.
pub(crate) fn set_residency_priority(
    device: &ID3D12Device1,
    objects: &[Option<ID3D12Pageable>],
    priorities: &[D3D12_RESIDENCY_PRIORITY],
) -> Result<()> {
    assert_eq!(objects.len(), priorities.len(), "one priority for each object");
    let count = u32::try_from(objects.len()).expect("few");
    // SAFETY: both arrays have count elements.
    done(unsafe { device.SetResidencyPriority(count, objects.as_ptr(), priorities.as_ptr()) })
}
