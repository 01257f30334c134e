//! Shared handles: `CreateSharedHandle`, `OpenSharedHandle` and `OpenSharedHandleByName`, within this process.
//!
//! A handle is an operating system event that nobody signals. It is the application's, which closes it as any other
//! handle. A registry of the process knows what each handle refers to; in another process a handle means nothing, so
//! the security attributes of a handle have no effect. The registry holds a handle of its own to each event, so
//! that an event which takes the number of a closed handle is not mistaken for it. It closes those of objects that are gone when the
//! next handle is made and when a device goes.
//!
//! # How long things last
//!
//! The registry refers to objects without keeping them alive: memory, resources and fence values live as long as one of
//! the D3D12 objects over them. This differs from Windows, where an open handle is enough. A handle that refers to what is
//! gone is stale and answers E_INVALIDARG; so does one that is closed. A name is taken until its object is gone, whether
//! or not its handles are closed.
//!
//! # What is shared
//!
//! Objects opened from one handle have the same bytes at the same GPU virtual address, one residency count, or the same
//! fence value. Private data is each object's own.

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

/// Windows' right to do everything, the only access that D3D12 knows.
const GENERIC_ALL: u32 = 0x1000_0000;

/// Windows' `MAX_PATH`: the longest name, in UTF-16 units.
const MAX_NAME_LEN: usize = 260;

/// The UTF-16 units of a checked name.
type Name = Vec<u16>;

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { handles: BTreeMap::new(), names: BTreeMap::new() });

/// What the handles and names of this process refer to.
struct Registry {
    /// By the number that the HANDLE is.
    handles: BTreeMap<usize, Handle>,
    names: BTreeMap<Name, Entry>,
}

/// What a handle of the application refers to.
struct Handle {
    event: Event,
    entry: Entry,
}

/// An object of an adapter.
#[derive(Clone)]
struct Entry {
    adapter_luid: u64,
    object: Shared,
}

/// What is shared.
#[derive(Clone)]
enum Shared {
    /// With whether the application chose its address.
    Heap(D3D12_HEAP_DESC, bool, Weak<dyn DriverHeap>),
    Resource(Box<SharedResource>),
    Fence(D3D12_FENCE_FLAGS, Weak<FenceValue>),
}

/// `CreateSharedHandle`: a handle to `object`, which the caller closes. Cost: O(n) in the handles of the process.
///
/// # Errors
///
/// E_INVALIDARG for an object that is not this device's or was not created to be shared, for another access than
/// GENERIC_ALL, and for a name that breaks a rule; DXGI_ERROR_NAME_ALREADY_EXISTS; E_OUTOFMEMORY when the process has no
/// handles left.
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
        // SAFETY: the caller's promise.
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
            "Name is the name of another shared object",
        ));
    }
    let handle = registry.add_handle(entry.clone())?;
    registry.names.extend(name.map(|name| (name, entry)));
    Ok(handle)
}

/// `OpenSharedHandle`: an object of `device` over what `handle` refers to.
///
/// # Errors
///
/// E_INVALIDARG for a handle that is none of ours, closed, or stale, and for one of another adapter, E_NOTIMPL where it was created
/// to be shared across adapters; E_NOINTERFACE when the object is no `riid`; DXGI_ERROR_DEVICE_REMOVED.
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
    // SAFETY: the COM contract gives null or a pointer to writable space for one pointer.
    unsafe { call::clear(ppv) };
    device.removal().check_present()?;
    let entry = registry()
        .handles
        .get(&handle.0.addr())
        .filter(|known| known.event.is_behind(handle))
        .map(|known| known.entry.clone());
    let entry =
        entry.ok_or_else(|| Refusal::invalid(format!("NTHandle {:p} is no open shared handle", handle.0)))?;
    entry.check_adapter(device)?;
    // SAFETY: the caller's promise.
    unsafe { entry.object.hand_out(device, riid, ppv) }
}

/// `OpenSharedHandleByName`: a handle to what `name` refers to, which the caller closes.
///
/// # Errors
///
/// E_INVALIDARG for a name that refers to nothing or to an object of another adapter, E_NOTIMPL where that was created to be shared
/// across adapters, and E_INVALIDARG for another access than GENERIC_ALL; E_OUTOFMEMORY when the process has no handles left.
///
/// # Safety
///
/// `name` is null or a zero-terminated UTF-16 string.
pub(super) unsafe fn open_by_name(device: &Device, name: PCWSTR, access: u32) -> Result<HANDLE, Refusal> {
    check_access(access)?;
    // SAFETY: the caller's promise. A null name reads as an empty one, which is refused.
    let name = check_name(unsafe { wide_string::read(name) })?;
    let mut registry = registry();
    registry.forget_what_is_gone();
    let entry = registry.names.get(&name).cloned();
    let entry = entry.ok_or_else(|| {
        Refusal::invalid(format!("Name '{}' is no shared object's", String::from_utf16_lossy(&name)))
    })?;
    entry.check_adapter(device)?;
    registry.add_handle(entry)
}

/// Closes what the registry holds of objects that are gone.
pub(super) fn forget_what_is_gone() {
    registry().forget_what_is_gone();
}

fn check_access(access: u32) -> Result<(), Refusal> {
    if access == GENERIC_ALL {
        return Ok(());
    }
    Err(Refusal::invalid(format!("Access {access:#x} is not GENERIC_ALL ({GENERIC_ALL:#x})")))
}

/// Checks a name, and drops the prefix that says what is so without it: that the name is the session's.
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
        return Err(Refusal::invalid(
            "Name has a backslash that ends neither the prefix Local\\ nor Global\\",
        ));
    }
    Ok(local.map(<[u16]>::to_vec).unwrap_or(name))
}

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    /// Makes a handle that refers to `entry`. A closed handle of the same number is forgotten.
    fn add_handle(&mut self, entry: Entry) -> Result<HANDLE, Refusal> {
        let refused = |error: io::Error| match error.kind() {
            io::ErrorKind::Unsupported => Refusal::not_implemented("shared handles on this operating system"),
            _ => Refusal::out_of_memory(format!("the operating system gave no handle: {error}")),
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
            return Err(Refusal::not_implemented("opening what another adapter shares across adapters"));
        }
        Err(Refusal::invalid("the shared object belongs to another adapter"))
    }
}

impl Shared {
    /// What `object` shares, if it is one of `device` and was created to be shared.
    fn of(device: &Device, object: &ID3D12DeviceChild) -> Result<Self, Refusal> {
        let (child, shared, needs) = if let Ok(heap) = object.cast_object_ref::<Heap>() {
            let memory = || Arc::downgrade(heap.memory());
            let is_shared = heap.desc().Flags & D3D12_HEAP_FLAG_SHARED != 0;
            let shared = is_shared.then(|| Self::Heap(*heap.desc(), heap.inner().has_address(), memory()));
            (heap.child(), shared, "the heap was created without D3D12_HEAP_FLAG_SHARED")
        } else if let Ok(resource) = object.cast_object_ref::<Resource>() {
            let shared = resource.shared().map(|shared| Self::Resource(Box::new(shared)));
            (resource.child(), shared, "the resource is not committed with D3D12_HEAP_FLAG_SHARED")
        } else if let Ok(fence) = object.cast_object_ref::<Fence>() {
            let value = || Arc::downgrade(fence.value());
            let is_shared = fence.flags() & D3D12_FENCE_FLAG_SHARED != 0;
            let shared = is_shared.then(|| Self::Fence(fence.flags(), value()));
            (fence.child(), shared, "the fence was created without D3D12_FENCE_FLAG_SHARED")
        } else {
            return Err(Refusal::invalid("pObject is no heap, resource or fence of this runtime"));
        };
        if !child.belongs_to(device) {
            return Err(Refusal::invalid("pObject belongs to another device"));
        }
        shared.ok_or_else(|| Refusal::invalid(needs))
    }

    /// Whether it was created to be opened on other adapters as well. Fences of that kind cannot be created.
    fn is_cross_adapter(&self) -> bool {
        let heap_flags = match self {
            Self::Heap(desc, ..) => desc.Flags,
            Self::Resource(resource) => resource.heap_flags(),
            Self::Fence(..) => D3D12_HEAP_FLAG_NONE,
        };
        heap_flags & D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER != 0
    }

    /// Whether there is something left to open.
    fn is_alive(&self) -> bool {
        match self {
            Self::Heap(_, _, memory) => memory.strong_count() != 0,
            Self::Resource(resource) => resource.is_alive(),
            Self::Fence(_, value) => value.strong_count() != 0,
        }
    }

    /// Makes an object of `device` and writes its interface `riid` to `ppv`.
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
        let gone = || Refusal::invalid("NTHandle is stale: all objects over what it refers to are released");
        let device = device.clone();
        match self {
            Self::Heap(desc, has_address, memory) => {
                let memory = memory.upgrade().ok_or_else(gone)?;
                let heap = Heap::opened(device, memory, *desc, *has_address);
                // SAFETY: the caller's promise.
                unsafe { call::hand_out(&ComObject::new(heap), riid, ppv) }
            }
            Self::Resource(shared) => {
                let resource = Resource::opened(device, shared).ok_or_else(gone)?;
                // SAFETY: the caller's promise.
                unsafe { call::hand_out(&ComObject::new(resource), riid, ppv) }
            }
            Self::Fence(flags, value) => {
                let fence = Fence::opened(device, value.upgrade().ok_or_else(gone)?, *flags);
                // SAFETY: the caller's promise.
                unsafe { call::hand_out(&ComObject::new(fence), riid, ppv) }
            }
        }
    }
}
