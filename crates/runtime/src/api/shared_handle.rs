//! Shared handles: `CreateSharedHandle`, `OpenSharedHandle` and `OpenSharedHandleByName`, within this process.
//!
//! A handle is an operating system event that is never signalled. The application owns it and closes it like any other
//! handle. A process-wide registry maps handles to objects; in another process a handle has no meaning, so its security
//! attributes have no effect. The registry holds a duplicate handle of each event, so that a new event with the number
//! of a closed handle is not mistaken for it.
//!
//! # Lifetimes
//!
//! An open handle keeps memory, a resource or a fence value alive, as on Windows, even if all D3D12 objects over it are
//! released. A name is in use while a handle is open that was created or found with it.
//!
//! The operating system does not tell the registry that a handle is closed. What closed handles refer to is released
//! when the next handle is created, opened or found by name, and when a shared object or a device is released; with
//! more than 64 handles, when it is their turn to be checked. An object whose handle is never closed lives as long as
//! the process.
//!
//! # Shared state
//!
//! Objects opened from one handle share the same memory at the same GPU virtual address and one residency count, or the
//! same fence value. Private data is separate for each object.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::io;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heapwright_d3d12::event::{Event, EventReset};
use heapwright_d3d12::*;
use windows_core::{ComObject, GUID, Interface as _};

use super::call;
use super::device::Device;
use super::fence::Fence;
use super::heap::Heap;
use super::object::Owned as _;
use super::resource::{Resource, SharedResource};
use crate::drivers::heap::DriverHeap;
use crate::fence::Fence as FenceValue;
use crate::rules::Refusal;

/// Windows' `GENERIC_ALL`, the only access right that D3D12 supports.
const GENERIC_ALL: u32 = 0x1000_0000;

/// Windows' `MAX_PATH`: maximum length of a name, in UTF-16 units.
const MAX_NAME_LEN: usize = 260;

/// The number of handles that are checked at once for whether they are closed. A check takes some system calls.
const CHECKED_HANDLES: usize = 64;

/// The UTF-16 units of a checked name.
type Name = Vec<u16>;

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { handles: BTreeMap::new(), last_checked: 0 });

/// The handles of this process.
///
/// What they refer to is released under the registry's lock, so that it is gone when the call that found the handle
/// closed returns, and also when another thread's call found it closed first. No COM object is released by that, so
/// none of the calls that take the lock is made.
struct Registry {
    /// By the numeric value of the HANDLE.
    handles: BTreeMap<usize, Handle>,
    /// The number of the handle that was checked last.
    last_checked: usize,
}

/// The object that an application's handle refers to, and the event behind the handle.
struct Handle {
    event: Event,
    object: Arc<SharedObject>,
}

/// A shared object, its name, and the adapter that it belongs to.
struct SharedObject {
    adapter_luid: u64,
    name: Option<Name>,
    content: Shared,
}

/// The memory or fence value that a handle keeps alive. It refers to no COM object and so to no device.
enum Shared {
    /// Description, whether the application chose the address, and the memory.
    Heap(D3D12_HEAP_DESC, bool, Arc<DriverHeap>),
    Resource(Box<SharedResource>),
    /// The value counts this reference as one of its objects, because the application can open another one and signal
    /// it.
    Fence(D3D12_FENCE_FLAGS, Arc<FenceValue>),
}

/// Implements `CreateSharedHandle`: creates a handle to `object`, which the caller must close. Cost: O(n) in the
/// handles of the process if it has a name.
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
        let content = Shared::of(device, object)?;
        check_access(access)?;
        // SAFETY: guaranteed by the caller.
        let name = if name.is_null() { None } else { Some(check_name(unsafe { call::read_wide(name) })?) };
        Ok((content, name))
    };
    let (content, name) = check()
        .map_err(|refusal: Refusal| refusal.or_id(D3D12_MESSAGE_ID_DEVICE_CREATE_SHARED_HANDLE_INVALIDARG))?;
    release_closed();
    let object = Arc::new(SharedObject { adapter_luid: device.driver().identity().luid, name, content });
    let mut registry = registry();
    if object.name.as_ref().is_some_and(|name| registry.named(name).is_some()) {
        return Err(Refusal::new(
            DXGI_ERROR_NAME_ALREADY_EXISTS,
            "Name is already in use by another shared object",
        ));
    }
    registry.add_handle(object)
}

/// Implements `OpenSharedHandle`: creates an object of `device` over the object that `handle` refers to.
///
/// # Errors
///
/// Returns E_INVALIDARG for a handle that is not a shared handle or closed, and for a handle of another
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
    release_closed();
    let object = registry()
        .handles
        .get(&handle.0.addr())
        .filter(|known| known.event.is_behind(handle))
        .map(|known| Arc::clone(&known.object));
    let object = object
        .ok_or_else(|| Refusal::invalid(format!("NTHandle {:p} is not an open shared handle", handle.0)))?;
    object.check_adapter(device)?;
    // SAFETY: guaranteed by the caller.
    unsafe { object.content.hand_out(device, riid, ppv) }
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
    let name = check_name(unsafe { call::read_wide(name) })?;
    release_closed();
    let mut registry = registry();
    let object = registry.named(&name).cloned().ok_or_else(|| {
        Refusal::invalid(format!("no shared object is named '{}'", String::from_utf16_lossy(&name)))
    })?;
    object.check_adapter(device)?;
    registry.add_handle(object)
}

/// A part of each shared D3D12 object. Releasing the object also releases what closed handles refer to.
pub(super) struct SharedObjectRelease(());

impl SharedObjectRelease {
    /// Returns the part of an object, if it is shared. Others cost nothing.
    pub(super) fn of(is_shared: bool) -> Option<Self> {
        // Not `then_some`: its value would be dropped, and the process's handles checked, at every creation.
        is_shared.then(|| Self(()))
    }
}

impl Drop for SharedObjectRelease {
    fn drop(&mut self) {
        release_closed();
    }
}

/// Releases what the application's closed handles refer to, among the next [`CHECKED_HANDLES`]. Cost: O(1) in the
/// handles of the process.
pub(super) fn release_closed() {
    registry().release_closed();
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
    /// Creates a handle that refers to `object`. Releases what a closed handle with the same number refers to.
    fn add_handle(&mut self, object: Arc<SharedObject>) -> Result<HANDLE, Refusal> {
        let refused = |error: io::Error| match error.kind() {
            io::ErrorKind::Unsupported => Refusal::not_implemented("shared handles on this operating system"),
            _ => Refusal::out_of_memory(format!("failed to create a handle: {error}")),
        };
        let event = Event::new(EventReset::Manual).map_err(refused)?;
        let handle = event.duplicate_handle().map_err(refused)?;
        self.handles.insert(handle.0.addr(), Handle { event, object });
        Ok(handle)
    }

    /// Returns the object with a name, of which a handle is open.
    fn named(&self, name: &Name) -> Option<&Arc<SharedObject>> {
        let mut with_name = self.handles.iter().filter(|(_, known)| known.object.name.as_ref() == Some(name));
        with_name.find(|(number, known)| known.is_open(**number)).map(|(_, known)| &known.object)
    }

    /// Releases what closed handles refer to, among the next ones to be checked.
    fn release_closed(&mut self) {
        let last = self.last_checked;
        let rest = self.handles.range((Bound::Excluded(last), Bound::Unbounded));
        let mut closed = Vec::new();
        for (&number, known) in rest.chain(self.handles.range(..=last)).take(CHECKED_HANDLES) {
            self.last_checked = number;
            if !known.is_open(number) {
                closed.push(number);
            }
        }
        for number in closed {
            self.handles.remove(&number);
        }
    }
}

impl Handle {
    /// Returns whether the application's handle, which has this number, is open.
    fn is_open(&self, number: usize) -> bool {
        self.event.is_behind(HANDLE(std::ptr::without_provenance_mut(number)))
    }
}

impl SharedObject {
    fn check_adapter(&self, device: &Device) -> Result<(), Refusal> {
        if self.adapter_luid == device.driver().identity().luid {
            return Ok(());
        }
        if self.content.is_cross_adapter() {
            return Err(Refusal::not_implemented("opening cross-adapter objects of another adapter"));
        }
        Err(Refusal::invalid("the shared object belongs to another adapter"))
    }
}

impl Shared {
    /// Returns a reference to `object`, which must belong to `device` and have been created as shared.
    fn of(device: &Device, object: &ID3D12DeviceChild) -> Result<Self, Refusal> {
        let (child, shared, needs) = if let Ok(heap) = object.cast_object_ref::<Heap>() {
            let memory = || Arc::clone(heap.memory());
            let is_shared = heap.desc().Flags & D3D12_HEAP_FLAG_SHARED != 0;
            let shared = is_shared.then(|| Self::Heap(*heap.desc(), heap.inner().has_address(), memory()));
            (heap.child(), shared, "pObject is a heap created without D3D12_HEAP_FLAG_SHARED")
        } else if let Ok(resource) = object.cast_object_ref::<Resource>() {
            let shared = resource.shared().map(|shared| Self::Resource(Box::new(shared)));
            (resource.child(), shared, "pObject is a resource not committed with D3D12_HEAP_FLAG_SHARED")
        } else if let Ok(fence) = object.cast_object_ref::<Fence>() {
            let value = || {
                fence.value().add_object();
                Arc::clone(fence.value())
            };
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
            Self::Resource(resource) => resource.heap_flags,
            Self::Fence(..) => D3D12_HEAP_FLAG_NONE,
        };
        heap_flags & D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER != 0
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
        let device = device.clone();
        match self {
            Self::Heap(desc, has_address, memory) => {
                let heap = Heap::opened(device, Arc::clone(memory), *desc, *has_address);
                // SAFETY: guaranteed by the caller.
                unsafe { call::hand_out(&ComObject::new(heap), riid, ppv) }
            }
            Self::Resource(shared) => {
                let resource = Resource::opened(device, shared);
                // SAFETY: guaranteed by the caller.
                unsafe { call::hand_out(&ComObject::new(resource), riid, ppv) }
            }
            Self::Fence(flags, value) => {
                let fence = Fence::opened(device, Arc::clone(value), *flags);
                // SAFETY: guaranteed by the caller.
                unsafe { call::hand_out(&ComObject::new(fence), riid, ppv) }
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Self::Fence(_, value) = self {
            value.remove_object();
        }
    }
}
