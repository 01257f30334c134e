//! Shared handles: `CreateSharedHandle`, `OpenSharedHandle` and `OpenSharedHandleByName`, within this process.
//!
//! A handle is an operating system event that is never signalled. The application owns it and closes it like any other
//! handle. A process-wide registry maps handles to objects; in another process a handle has no meaning, so its security
//! attributes have no effect. The registry holds a duplicate handle of each event, so that a new event with the number
//! of a closed handle is not mistaken for it. Entries of objects that are gone are removed when the next handle is
//! created and when a device is destroyed.
//!
//! # Lifetimes
//!
//! The registry does not keep objects alive: memory, resources and fence values exist as long as one of the D3D12
//! objects over them. On Windows, an open handle suffices to keep them alive. A handle whose object is gone is stale
//! and yields E_INVALIDARG, as does a closed handle. A name stays in use until its object is gone, even if its handles
//! are closed.
//!
//! # Shared state
//!
//! Objects opened from one handle share the same memory at the same GPU virtual address and one residency count, or the
//! same fence value. Private data is separate for each object.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use heapwright_d3d12::event::{Event, EventReset};
use heapwright_d3d12::*;
use windows_core::{ComObject, GUID, Interface as _};

use super::device::Device;
use super::fence::Fence;
use super::heap::Heap;
use super::object::Owned as _;
use super::resource::{Resource, SharedResource};
use super::{call, wide_string};
use crate::ddi::DriverHeap;
use crate::fence::Fence as FenceValue;
use crate::rules::Refusal;

/// Windows' `GENERIC_ALL`, the only access right that D3D12 supports.
const GENERIC_ALL: u32 = 0x1000_0000;

/// Windows' `MAX_PATH`: maximum length of a name, in UTF-16 units.
const MAX_NAME_LEN: usize = 260;

/// The UTF-16 units of a checked name.
type Name = Vec<u16>;

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { handles: BTreeMap::new(), names: BTreeMap::new() });

/// The handles and names of this process.
struct Registry {
    /// By the numeric value of the HANDLE.
    handles: BTreeMap<usize, Handle>,
    names: BTreeMap<Name, Entry>,
}

/// The object that an application's handle refers to, and the event behind the handle.
struct Handle {
    event: Event,
    entry: Entry,
}

/// A shared object and the adapter that it belongs to.
#[derive(Clone)]
struct Entry {
    adapter_luid: u64,
    object: Shared,
}

/// A weak reference to a shared object.
#[derive(Clone)]
enum Shared {
    /// Description, whether the application chose the address, and the memory.
    Heap(D3D12_HEAP_DESC, bool, Weak<dyn DriverHeap>),
    Resource(Box<SharedResource>),
    Fence(D3D12_FENCE_FLAGS, Weak<FenceValue>),
}

/// Implements `CreateSharedHandle`: creates a handle to `object`, which the caller must close. Cost: O(n) in the
/// handles of the process.
///
/// # Errors
///
/// Returns E_INVALIDARG for an object that does not belong to the device or was not created as shared, for an access
/// other than GENERIC_ALL, and for an invalid name; DXGI_ERROR_NAME_ALREADY_EXISTS for a name that is in use;
/// E_OUTOFMEMORY if the process has no handles left.
///
/// # Safety
///
/// `name` is null or a zero-terminated UTF-16 string.
pub(super) unsafe fn create(
    device: &Device,
    object: Option<&ID3D12DeviceChild>,
    access: u32,
    name: PCWSTR,
) -> Result<HANDLE, Refusal> {
    let check = || {
        let object = object.ok_or_else(|| Refusal::invalid("pObject is null"))?;
        let object = Shared::of(device, object)?;
        check_access(access)?;
        // SAFETY: guaranteed by the caller.
        let name = if name.is_null() { None } else { Some(check_name(unsafe { wide_string::read(name) })?) };
        Ok((object, name))
    };
    let (object, name) = check()
        .map_err(|refusal: Refusal| refusal.or_id(D3D12_MESSAGE_ID_DEVICE_CREATE_SHARED_HANDLE_INVALIDARG))?;
    let entry = Entry { adapter_luid: device.driver().identity().luid, object };
    let mut registry = registry();
    registry.forget_what_is_gone();
    if name.as_ref().is_some_and(|name| registry.names.contains_key(name)) {
        return Err(Refusal::new(
            DXGI_ERROR_NAME_ALREADY_EXISTS,
            "Name is already in use by another shared object",
        ));
    }
    let handle = registry.add_handle(entry.clone())?;
    registry.names.extend(name.map(|name| (name, entry)));
    Ok(handle)
}

/// Implements `OpenSharedHandle`: creates an object of `device` over the object that `handle` refers to.
///
/// # Errors
///
/// Returns E_INVALIDARG for a handle that is not a shared handle, closed, or stale, and for a handle of another
/// adapter; E_NOTIMPL for a handle of another adapter whose object was created as shared across adapters; E_NOINTERFACE
/// if the object does not implement `riid`; DXGI_ERROR_DEVICE_REMOVED if the device is removed.
///
/// # Safety
///
/// `riid` is null or points to a GUID, `ppv` is null or points to writable space for one pointer.
pub(super) unsafe fn open(
    device: &ComObject<Device>,
    handle: HANDLE,
    riid: *const GUID,
    ppv: *mut *mut c_void,
) -> Result<(), Refusal> {
    // SAFETY: by the COM contract, the pointer is null or points to writable space for one pointer.
    unsafe { call::clear(ppv) };
    device.removal().check_present()?;
    let entry = registry()
        .handles
        .get(&handle.0.addr())
        .filter(|known| known.event.is_behind(handle))
        .map(|known| known.entry.clone());
    let entry = entry
        .ok_or_else(|| Refusal::invalid(format!("NTHandle {:p} is not an open shared handle", handle.0)))?;
    entry.check_adapter(device)?;
    // SAFETY: guaranteed by the caller.
    unsafe { entry.object.hand_out(device, riid, ppv) }
}

/// Implements `OpenSharedHandleByName`: creates a handle to the object named `name`, which the caller must close.
///
/// # Errors
///
/// Returns E_INVALIDARG for an unknown or invalid name, for an object of another adapter, and for an access other than
/// GENERIC_ALL; E_NOTIMPL for an object of another adapter that was created as shared across adapters; E_OUTOFMEMORY if
/// the process has no handles left.
///
/// # Safety
///
/// `name` is null or a zero-terminated UTF-16 string.
pub(super) unsafe fn open_by_name(device: &Device, name: PCWSTR, access: u32) -> Result<HANDLE, Refusal> {
    check_access(access)?;
    // SAFETY: guaranteed by the caller. A null name is read as an empty name, which is refused.
    let name = check_name(unsafe { wide_string::read(name) })?;
    let mut registry = registry();
    registry.forget_what_is_gone();
    let entry = registry.names.get(&name).cloned();
    let entry = entry.ok_or_else(|| {
        Refusal::invalid(format!("no shared object is named '{}'", String::from_utf16_lossy(&name)))
    })?;
    entry.check_adapter(device)?;
    registry.add_handle(entry)
}

/// Removes the registry's entries for objects that are gone.
pub(super) fn forget_what_is_gone() {
    registry().forget_what_is_gone();
}

fn check_access(access: u32) -> Result<(), Refusal> {
    if access == GENERIC_ALL {
        return Ok(());
    }
    Err(Refusal::invalid(format!(
        "Access {access:#x} is not supported; must be GENERIC_ALL ({GENERIC_ALL:#x})"
    )))
}

/// Checks a name and removes the prefix `Local\`, which names the default namespace, that of the session.
fn check_name(name: Name) -> Result<Name, Refusal> {
    if name.is_empty() || name.len() > MAX_NAME_LEN {
        return Err(Refusal::invalid(format!(
            "Name has {} characters; it must have 1 to {MAX_NAME_LEN}",
            name.len()
        )));
    }
    let without = |prefix: &str| name.strip_prefix(prefix.encode_utf16().collect::<Vec<_>>().as_slice());
    let local = without("Local\\");
    let rest = local.or_else(|| without("Global\\")).unwrap_or(&name);
    if rest.contains(&u16::from(b'\\')) {
        return Err(Refusal::invalid("Name has a backslash outside of the prefix Local\\ or Global\\"));
    }
    Ok(local.map(<[u16]>::to_vec).unwrap_or(name))
}

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    /// Creates a handle that refers to `entry`. Replaces the entry of a closed handle with the same number.
    fn add_handle(&mut self, entry: Entry) -> Result<HANDLE, Refusal> {
        let refused = |error: io::Error| match error.kind() {
            io::ErrorKind::Unsupported => Refusal::not_implemented("shared handles on this operating system"),
            _ => Refusal::out_of_memory(format!("failed to create a handle: {error}")),
        };
        let event = Event::new(EventReset::Manual).map_err(refused)?;
        let handle = event.duplicate_handle().map_err(refused)?;
        self.handles.insert(handle.0.addr(), Handle { event, entry });
        Ok(handle)
    }

    fn forget_what_is_gone(&mut self) {
        self.handles.retain(|_, known| known.entry.object.is_alive());
        self.names.retain(|_, entry| entry.object.is_alive());
    }
}

impl Entry {
    fn check_adapter(&self, device: &Device) -> Result<(), Refusal> {
        if self.adapter_luid == device.driver().identity().luid {
            return Ok(());
        }
        if self.object.is_cross_adapter() {
            return Err(Refusal::not_implemented("opening cross-adapter objects of another adapter"));
        }
        Err(Refusal::invalid("the shared object belongs to another adapter"))
    }
}

impl Shared {
    /// Returns a reference to `object`, which must belong to `device` and have been created as shared.
    fn of(device: &Device, object: &ID3D12DeviceChild) -> Result<Self, Refusal> {
        let (child, shared, needs) = if let Ok(heap) = object.cast_object_ref::<Heap>() {
            let memory = || Arc::downgrade(heap.memory());
            let is_shared = heap.desc().Flags & D3D12_HEAP_FLAG_SHARED != 0;
            let shared = is_shared.then(|| Self::Heap(*heap.desc(), heap.inner().has_address(), memory()));
            (heap.child(), shared, "pObject is a heap created without D3D12_HEAP_FLAG_SHARED")
        } else if let Ok(resource) = object.cast_object_ref::<Resource>() {
            let shared = resource.shared().map(|shared| Self::Resource(Box::new(shared)));
            (resource.child(), shared, "pObject is a resource not committed with D3D12_HEAP_FLAG_SHARED")
        } else if let Ok(fence) = object.cast_object_ref::<Fence>() {
            let value = || Arc::downgrade(fence.value());
            let is_shared = fence.flags() & D3D12_FENCE_FLAG_SHARED != 0;
            let shared = is_shared.then(|| Self::Fence(fence.flags(), value()));
            (fence.child(), shared, "pObject is a fence created without D3D12_FENCE_FLAG_SHARED")
        } else {
            return Err(Refusal::invalid("pObject is not a heap, resource or fence created by this runtime"));
        };
        if !child.belongs_to(device) {
            return Err(Refusal::invalid("pObject belongs to another device"));
        }
        shared.ok_or_else(|| Refusal::invalid(needs))
    }

    /// Checks whether the object was created as shared across adapters. Fences of this kind cannot be created.
    fn is_cross_adapter(&self) -> bool {
        let heap_flags = match self {
            Self::Heap(desc, ..) => desc.Flags,
            Self::Resource(resource) => resource.heap_flags(),
            Self::Fence(..) => D3D12_HEAP_FLAG_NONE,
        };
        heap_flags & D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER != 0
    }

    /// Checks whether the object still exists.
    fn is_alive(&self) -> bool {
        match self {
            Self::Heap(_, _, memory) => memory.strong_count() != 0,
            Self::Resource(resource) => resource.is_alive(),
            Self::Fence(_, value) => value.strong_count() != 0,
        }
    }

    /// Creates an object of `device` and writes its interface `riid` to `ppv`.
    ///
    /// # Safety
    ///
    /// `riid` is null or points to a GUID, `ppv` is null or points to writable space for one pointer.
    unsafe fn hand_out(
        &self,
        device: &ComObject<Device>,
        riid: *const GUID,
        ppv: *mut *mut c_void,
    ) -> Result<(), Refusal> {
        let gone = || Refusal::invalid("NTHandle is stale; the shared object it refers to was released");
        let device = device.clone();
        match self {
            Self::Heap(desc, has_address, memory) => {
                let memory = memory.upgrade().ok_or_else(gone)?;
                let heap = Heap::opened(device, memory, *desc, *has_address);
                // SAFETY: guaranteed by the caller.
                unsafe { call::hand_out(&ComObject::new(heap), riid, ppv) }
            }
            Self::Resource(shared) => {
                let resource = Resource::opened(device, shared).ok_or_else(gone)?;
                // SAFETY: guaranteed by the caller.
                unsafe { call::hand_out(&ComObject::new(resource), riid, ppv) }
            }
            Self::Fence(flags, value) => {
                let fence = Fence::opened(device, value.upgrade().ok_or_else(gone)?, *flags);
                // SAFETY: guaranteed by the caller.
                unsafe { call::hand_out(&ComObject::new(fence), riid, ppv) }
            }
        }
    }
}
