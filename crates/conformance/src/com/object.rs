//! The methods that all objects have (identity, private data, name, device), and residency.

use std::ffi::c_void;

use heapwright_d3d12::*;
use windows_core::{GUID, HRESULT, IUnknown, Interface};

use super::{count, created, done};
use crate::answer::Answer;

/// Returns the object's COM identity, which all of its interfaces share.
pub(crate) fn identity<I: Interface>(object: &I) -> usize {
    object.cast::<IUnknown>().map_or(0, |unknown| unknown.as_raw().addr())
}

/// Returns the number of messages that the debug layer has produced for a device, discarded ones included, or `None` if
/// it is off.
pub(crate) fn message_count(device: &ID3D12Device) -> Option<u64> {
    let queue: ID3D12InfoQueue = device.cast().ok()?;
    // SAFETY: the queue is live.
    Some(unsafe { queue.GetNumStoredMessages() + queue.GetNumMessagesDiscardedByMessageCountLimit() })
}

pub(crate) fn device_of<I: Interface>(object: &I) -> Answer<ID3D12Device> {
    let mut device = None;
    let result = object.cast::<ID3D12DeviceChild>().and_then(|child| {
        // SAFETY: the object is live, and device takes one interface.
        unsafe { child.GetDevice(&mut device) }
    });
    created("GetDevice", result, device)
}

/// `SetPrivateData`; `None` removes the data.
pub(crate) fn set_private_data(object: &ID3D12Object, guid: &GUID, data: Option<&[u8]>) -> HRESULT {
    let size = u32::try_from(data.map_or(0, <[u8]>::len)).expect("the size fits in 32 bits");
    // SAFETY: the pointer has size bytes, or is null.
    unsafe { object.SetPrivateData(guid, size, data.map(|data| data.as_ptr().cast::<c_void>())) }
}

/// `SetPrivateData` with a null pointer and a size.
pub(crate) fn remove_private_data(object: &ID3D12Object, guid: &GUID, size: u32) -> HRESULT {
    // SAFETY: a null pointer removes, whatever the size.
    unsafe { object.SetPrivateData(guid, size, None) }
}

/// `GetPrivateData` with a buffer of `capacity` bytes, at most 64. Returns the HRESULT, the size written and the bytes.
pub(crate) fn private_data(object: &ID3D12Object, guid: &GUID, capacity: u32) -> (HRESULT, u32, [u8; 64]) {
    let mut bytes = [0_u8; 64];
    assert!(capacity <= 64, "the buffer has 64 bytes");
    let mut size = capacity;
    // SAFETY: bytes has at least size bytes.
    let hresult = unsafe { object.GetPrivateData(guid, &mut size, Some(bytes.as_mut_ptr().cast())) };
    (hresult, size, bytes)
}

/// `GetPrivateData` with a null pointer. Returns the HRESULT and the size.
pub(crate) fn private_data_size(object: &ID3D12Object, guid: &GUID) -> (HRESULT, u32) {
    let mut size = 0;
    // SAFETY: without data only the size is written.
    let hresult = unsafe { object.GetPrivateData(guid, &mut size, None) };
    (hresult, size)
}

pub(crate) fn set_private_data_interface(
    object: &ID3D12Object,
    guid: &GUID,
    interface: Option<&IUnknown>,
) -> HRESULT {
    // SAFETY: both objects are live.
    unsafe { object.SetPrivateDataInterface(guid, interface) }
}

/// Returns the interface that private data holds.
pub(crate) fn private_interface(object: &ID3D12Object, guid: &GUID) -> Answer<IUnknown> {
    let mut interface: Option<IUnknown> = None;
    let mut size = u32::try_from(size_of::<*mut c_void>()).expect("the size fits in 32 bits");
    let start: *mut c_void = (&raw mut interface).cast();
    // SAFETY: an optional interface has the size of a pointer; D3D12 adds a reference to an interface that it returns.
    let hresult = unsafe { object.GetPrivateData(guid, &mut size, Some(start)) };
    created("GetPrivateData", hresult.ok(), interface)
}

/// Returns the reference count that `Release` reports after `AddRef`.
pub(crate) fn reference_count<I: Interface>(object: &I) -> u32 {
    let unknown = object.as_raw();
    // SAFETY: every interface begins with IUnknown's three methods; the pair leaves the count as it was.
    unsafe {
        let vtable = *unknown.cast::<*const windows_core::IUnknown_Vtbl>();
        ((*vtable).AddRef)(unknown);
        ((*vtable).Release)(unknown)
    }
}

pub(crate) fn set_name(object: &ID3D12Object, name: &str) -> HRESULT {
    let wide: Vec<u16> = name.encode_utf16().chain([0]).collect();
    // SAFETY: the name is zero-terminated and outlives the call.
    unsafe { object.SetName(PCWSTR(wide.as_ptr())) }
}

pub(crate) fn make_resident(device: &ID3D12Device, objects: &[Option<ID3D12Pageable>]) -> Answer<()> {
    // SAFETY: the slice is the array, its objects are live.
    done("MakeResident", unsafe { device.MakeResident(objects) })
}

pub(crate) fn evict(device: &ID3D12Device, objects: &[Option<ID3D12Pageable>]) -> Answer<()> {
    // SAFETY: as in make_resident.
    done("Evict", unsafe { device.Evict(objects) })
}

pub(crate) fn enqueue_make_resident(
    device: &ID3D12Device3,
    flags: D3D12_RESIDENCY_FLAGS,
    objects: &[Option<ID3D12Pageable>],
    fence: &ID3D12Fence,
    value: u64,
) -> Answer<()> {
    // SAFETY: as in make_resident; the fence is live.
    done("EnqueueMakeResident", unsafe { device.EnqueueMakeResident(flags, objects, fence, value) })
}

pub(crate) fn set_residency_priority(
    device: &ID3D12Device1,
    objects: &[Option<ID3D12Pageable>],
    priorities: &[D3D12_RESIDENCY_PRIORITY],
) -> Answer<()> {
    assert_eq!(objects.len(), priorities.len(), "one priority for each object");
    // SAFETY: both arrays have the same number of elements.
    done("SetResidencyPriority", unsafe {
        device.SetResidencyPriority(count(objects), objects.as_ptr(), priorities.as_ptr())
    })
}
