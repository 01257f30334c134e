//! The exported functions. C++ calls them through the header's functions of namespace `gpgmm::d3d12`.

use std::ffi::c_void;

use heapwright::d3d12::*;
use heapwright::residency::{ResidencyHeap, ResidencyManager, ResidencyManagerDesc};
use heapwright::{RecordOptions, RecordScope, ResourceAllocator};
use windows_core::{HRESULT, Interface};

use crate::allocator::Allocator;
use crate::call::{self, Failure, Out};
pub use crate::descriptors::{AllocatorDesc, HeapDesc, ManagerDesc, RecordingOptions};
use crate::log;
use crate::object::{Body, Reference, recognize};
use crate::residency_heap::Heap;
use crate::residency_list::List;
use crate::residency_manager::{Manager, adapter_of};

/// Creates an object, or with a null `out` only checks that it could be created.
fn finish<B: Body>(out: Out, made: Reference<B>) -> HRESULT {
    if out.is_null() {
        return S_FALSE;
    }
    out.set(made.into_raw());
    S_OK
}

/// Returns what to record of a new object: nothing if the call only tests, so that it changes no file.
fn recording_of(out: Out, options: RecordOptions) -> RecordOptions {
    if out.is_null() { RecordOptions::default() } else { options }
}

/// # Safety
///
/// `device` is null or points to an `ID3D12Device` that is alive.
unsafe fn device_of(device: &*mut c_void) -> Result<&ID3D12Device, Failure> {
    // SAFETY: the caller's promise.
    unsafe { ID3D12Device::from_raw_borrowed(device) }.ok_or_else(|| Failure::null("pDevice"))
}

/// Returns the residency manager of a parameter, or `None` for null.
///
/// # Safety
///
/// `manager` is null or points to a COM object that is alive for `'a`.
unsafe fn manager_of<'a>(manager: *mut c_void) -> Result<Option<&'a ResidencyManager>, Failure> {
    if manager.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    match unsafe { recognize::<Manager>(manager) } {
        Some(Manager { manager, .. }) => Ok(Some(manager)),
        None => Err(Failure::invalid_argument("pResidencyManager is of another library")),
    }
}

/// `CreateResidencyManager`.
///
/// # Safety
///
/// `desc` is null or points to a description, whose strings are null or zero-terminated; `device` and `adapter` are null or point
/// to live objects of these interfaces; `out` is null or points to space for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GpgmmCreateResidencyManager(
    desc: *const ManagerDesc,
    device: *mut c_void,
    adapter: *mut c_void,
    out: *mut *mut c_void,
) -> HRESULT {
    call::hresult("CreateResidencyManager", || {
        // SAFETY: the caller's promises.
        unsafe {
            let (out, desc) = (Out::new(out), call::reference(desc, "descriptor")?);
            log::set_level(desc.min_log_level)?;
            let (device, adapter) = (device_of(&device)?, adapter_of(adapter)?);
            let adapter = adapter.ok_or_else(|| Failure::null("pAdapter"))?;
            let mut desc = desc.convert()?;
            desc.record_options = recording_of(out, desc.record_options);
            let manager = ResidencyManager::new(device, Some(&adapter), desc)?;
            Ok(finish(out, Manager::of(manager)))
        }
    })
}

/// `CreateResidencyHeap` with a pageable.
///
/// # Safety
///
/// `desc` is null or points to a description; `manager` is null or points to a live object, and so does `pageable`, of interface
/// ID3D12Pageable; `out` is null or points to space for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GpgmmCreateResidencyHeap(
    desc: *const HeapDesc,
    manager: *mut c_void,
    pageable: *mut c_void,
    out: *mut *mut c_void,
) -> HRESULT {
    call::hresult("CreateResidencyHeap", || {
        // SAFETY: the caller's promises.
        unsafe {
            let (out, desc) = (Out::new(out), call::reference(desc, "descriptor")?.convert()?);
            let pageable = ID3D12Pageable::from_raw_borrowed(&pageable);
            let pageable = pageable.ok_or_else(|| Failure::null("pPageable"))?;
            let heap = match manager_of(manager)? {
                Some(manager) => manager.manage(&desc, pageable)?,
                None => ResidencyHeap::unmanaged(&desc, pageable)?,
            };
            Ok(finish(out, Reference::new(Heap::new(heap))))
        }
    })
}

/// `CreateHeapFn`. It must not throw: an exception ends the process, and is not undefined behaviour.
pub type CreateHeapFn = unsafe extern "C-unwind" fn(*mut c_void, *mut *mut c_void) -> HRESULT;

/// `CreateResidencyHeap` with a callback.
///
/// # Safety
///
/// As [`GpgmmCreateResidencyHeap`]. `create` may be called with `context`, and stores null or a reference to a live ID3D12Pageable if
/// it succeeds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GpgmmCreateResidencyHeapWithCallback(
    desc: *const HeapDesc,
    manager: *mut c_void,
    create: Option<CreateHeapFn>,
    context: *mut c_void,
    out: *mut *mut c_void,
) -> HRESULT {
    call::hresult("CreateResidencyHeap", || {
        // SAFETY: the caller's promises.
        unsafe {
            let (out, desc) = (Out::new(out), call::reference(desc, "descriptor")?.convert()?);
            let create = create.ok_or_else(|| Failure::null("createHeapFn"))?;
            let create = || {
                let mut pageable = std::ptr::null_mut();
                create(context, &mut pageable).ok()?;
                if pageable.is_null() {
                    return Err(windows_core::Error::from_hresult(E_POINTER));
                }
                Ok(ID3D12Pageable::from_raw(pageable))
            };
            let heap = match manager_of(manager)? {
                Some(manager) => manager.create_heap(&desc, create)?,
                None => ResidencyHeap::create_unmanaged(&desc, create)?,
            };
            Ok(finish(out, Reference::new(Heap::new(heap))))
        }
    })
}

/// `CreateResidencyList`.
///
/// # Safety
///
/// `out` is null or points to space for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GpgmmCreateResidencyList(out: *mut *mut c_void) -> HRESULT {
    call::hresult("CreateResidencyList", || {
        // SAFETY: the caller's promise.
        let out = unsafe { Out::new(out) };
        // Nothing can fail, so there is nothing to test: the document has S_OK alone.
        if !out.is_null() {
            out.set(Reference::new(List::default()).into_raw());
        }
        Ok(S_OK)
    })
}

/// `CreateResourceAllocator` with a residency manager, or with null for none.
///
/// # Safety
///
/// As [`GpgmmCreateResidencyManager`]; `manager` is null or points to a live object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GpgmmCreateResourceAllocator(
    desc: *const AllocatorDesc,
    device: *mut c_void,
    adapter: *mut c_void,
    manager: *mut c_void,
    out: *mut *mut c_void,
) -> HRESULT {
    call::hresult("CreateResourceAllocator", || {
        // SAFETY: the caller's promises.
        unsafe {
            let (out, desc) = (Out::new(out), call::reference(desc, "allocatorDescriptor")?);
            log::set_level(desc.min_log_level)?;
            let (device, adapter, mut desc) = (device_of(&device)?, adapter_of(adapter)?, desc.convert()?);
            desc.record_options = recording_of(out, desc.record_options);
            let allocator = match manager_of(manager)? {
                Some(manager) => ResourceAllocator::with_residency(device, adapter.as_ref(), desc, manager)?,
                None => ResourceAllocator::new(device, adapter.as_ref(), desc)?,
            };
            Ok(finish(out, Allocator::of(allocator)))
        }
    })
}

/// `CreateResourceAllocator` that also creates a residency manager, or with a null `manager_out` none.
///
/// # Safety
///
/// As [`GpgmmCreateResidencyManager`]; `manager_out` is null or points to space for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GpgmmCreateResourceAllocatorAndResidencyManager(
    desc: *const AllocatorDesc,
    device: *mut c_void,
    adapter: *mut c_void,
    out: *mut *mut c_void,
    manager_out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller's promise.
    let manager_out = unsafe { Out::new(manager_out) };
    if manager_out.is_null() {
        // SAFETY: the caller's promises.
        return unsafe { GpgmmCreateResourceAllocator(desc, device, adapter, std::ptr::null_mut(), out) };
    }
    call::hresult("CreateResourceAllocator", || {
        // SAFETY: the caller's promises.
        unsafe {
            let (out, desc) = (Out::new(out), call::reference(desc, "allocatorDescriptor")?);
            log::set_level(desc.min_log_level)?;
            let (device, adapter, mut desc) = (device_of(&device)?, adapter_of(adapter)?, desc.convert()?);
            desc.record_options = recording_of(out, desc.record_options);
            let adapter = adapter.ok_or_else(|| Failure::null("pAdapter"))?;
            let record_options = match desc.record_options.scope {
                RecordScope::PerProcess => desc.record_options.clone(),
                // The file is the allocator's.
                _ => RecordOptions::default(),
            };
            let residency = ResidencyManagerDesc { record_options, ..Default::default() };
            let (allocator, manager) =
                ResourceAllocator::with_new_residency(device, Some(&adapter), desc, residency)?;
            if !out.is_null() {
                manager_out.set(Manager::of(manager).into_raw());
            }
            Ok(finish(out, Allocator::of(allocator)))
        }
    })
}

/// `CreateResourceAllocator` from an allocator.
///
/// # Safety
///
/// `desc` is null or points to a description, whose strings are null or zero-terminated; `parent` is null or points to a live object;
/// `out` is null or points to space for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GpgmmCreateNestedResourceAllocator(
    desc: *const AllocatorDesc,
    parent: *mut c_void,
    out: *mut *mut c_void,
) -> HRESULT {
    call::hresult("CreateResourceAllocator", || {
        // SAFETY: the caller's promises.
        unsafe {
            let (out, desc) = (Out::new(out), call::reference(desc, "allocatorDescriptor")?);
            log::set_level(desc.min_log_level)?;
            if parent.is_null() {
                return Err(Failure::null("pResourceAllocator"));
            }
            let Some(parent) = recognize::<Allocator>(parent) else {
                return Err(Failure::invalid_argument("pResourceAllocator is of another library"));
            };
            let mut desc = desc.convert()?;
            desc.record_options = recording_of(out, desc.record_options);
            let nested = parent.allocator.create_nested(desc)?;
            Ok(finish(out, Allocator::of(nested)))
        }
    })
}
