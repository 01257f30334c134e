//! The exported functions. C++ calls them through the header's functions of namespace `gpgmm::d3d12`.

use std::ffi::c_void;

use heapwright::d3d12::*;
use heapwright::residency::{ResidencyHeap, ResidencyManager, ResidencyManagerDesc};
use heapwright::{RecordOptions, RecordScope, ResourceAllocator, ResourceAllocatorDesc};
use windows_core::{HRESULT, Interface};

use crate::allocator::Allocator;
use crate::call;
use crate::d3d12ma;
pub use crate::descriptors::{AllocatorDesc, HeapDesc, ManagerDesc, RecordingOptions};
pub use crate::extension::allocator::ExtendedAllocatorDesc;
use crate::failure::Failure;
use crate::log;
use crate::object::{Body, Out, Reference, optional, parameter};
use crate::residency_heap::Heap;
use crate::residency_list::List;
use crate::residency_manager::Manager;

/// Runs the body of a function that creates an object. With a null `out`, the object is released again: the call only
/// checks that it can be created.
///
/// # Safety
///
/// `out` is null or points to space for a pointer.
unsafe fn create<B: Body>(
    call: &str,
    out: *mut *mut c_void,
    make: impl FnOnce(Out) -> Result<Reference<B>, Failure>,
) -> HRESULT {
    call::hresult(call, || {
        // SAFETY: the caller's promise.
        let out = unsafe { Out::new(out) };
        Ok(out.give(make(out)?))
    })
}

/// Returns what to record of a new object: nothing if the call only checks, so that it changes no file, nor another
/// object's.
fn recording_of(out: Out, options: RecordOptions) -> RecordOptions {
    match out.is_null() {
        true => RecordOptions { scope: RecordScope::PerInstance, ..RecordOptions::default() },
        false => options,
    }
}

/// Converts the description of an allocator, and sets the level of the log.
///
/// # Safety
///
/// `desc` is null or points to a description, whose strings are null or zero-terminated.
unsafe fn allocator_desc(desc: *const AllocatorDesc, out: Out) -> Result<ResourceAllocatorDesc, Failure> {
    // SAFETY: the caller's promise.
    unsafe {
        let desc = call::reference(desc, "allocatorDescriptor")?;
        log::set_level(desc.min_log_level)?;
        let desc = desc.convert()?;
        Ok(ResourceAllocatorDesc { record_options: recording_of(out, desc.record_options), ..desc })
    }
}

/// Creates an allocator with a residency manager, or with null for none.
///
/// # Safety
///
/// `device` and `adapter` are null or point to live objects of these interfaces, and `manager` to any live object.
unsafe fn allocator_of(
    device: *mut c_void,
    adapter: *mut c_void,
    manager: *mut c_void,
    desc: ResourceAllocatorDesc,
) -> Result<Reference<Allocator>, Failure> {
    // SAFETY: the caller's promises.
    unsafe {
        let device = device_of(&device)?;
        // Without residency, null and an older adapter are allowed: nothing is known of them.
        let adapter = adapter_of(adapter).ok();
        let allocator = match manager_of(manager)? {
            Some(manager) => ResourceAllocator::with_residency(device, adapter.as_ref(), desc, manager)?,
            None => ResourceAllocator::new(device, adapter.as_ref(), desc)?,
        };
        Ok(Allocator::of(allocator))
    }
}

/// # Safety
///
/// `device` is null or points to an `ID3D12Device` that is alive.
unsafe fn device_of(device: &*mut c_void) -> Result<&ID3D12Device, Failure> {
    // SAFETY: the caller's promise.
    unsafe { ID3D12Device::from_raw_borrowed(device) }.ok_or_else(|| Failure::null("pDevice"))
}

/// Returns the adapter as the library needs it.
///
/// # Errors
///
/// E_POINTER for null, and E_NOINTERFACE for an adapter older than DXGI 1.4.
///
/// # Safety
///
/// `adapter` is null or points to a COM object that is alive.
unsafe fn adapter_of(adapter: *mut c_void) -> Result<IDXGIAdapter3, Failure> {
    // SAFETY: the caller's promise.
    let adapter = unsafe { windows_core::IUnknown::from_raw_borrowed(&adapter) };
    let adapter = adapter.ok_or_else(|| Failure::null("pAdapter"))?.cast();
    adapter.map_err(|error| Failure::Refused(error.code(), "pAdapter has no IDXGIAdapter3".into()))
}

/// Returns the residency manager of a parameter, or `None` for null.
///
/// # Safety
///
/// `manager` is null or points to a COM object that is alive for `'a`.
unsafe fn manager_of<'a>(manager: *mut c_void) -> Result<Option<&'a ResidencyManager>, Failure> {
    // SAFETY: the caller's promise.
    let manager = unsafe { optional(manager, "pResidencyManager") }?;
    Ok(manager.map(|Manager { manager, .. }| manager))
}

/// `CreateResidencyManager`.
///
/// # Safety
///
/// `desc` is null or points to a description, whose strings are null or zero-terminated; `device` and `adapter` are
/// null or point to live objects of these interfaces; `out` is null or points to space for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GpgmmCreateResidencyManager(
    desc: *const ManagerDesc,
    device: *mut c_void,
    adapter: *mut c_void,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller's promises.
    unsafe {
        create("CreateResidencyManager", out, |out| {
            let desc = call::reference(desc, "descriptor")?;
            log::set_level(desc.min_log_level)?;
            let mut desc = desc.convert()?;
            desc.record_options = recording_of(out, desc.record_options);
            let (device, adapter) = (device_of(&device)?, adapter_of(adapter)?);
            Ok(Manager::of(ResidencyManager::new(device, Some(&adapter), desc)?))
        })
    }
}

/// `CreateResidencyHeap` with a pageable.
///
/// # Safety
///
/// `desc` is null or points to a description; `manager` is null or points to a live object, and so does `pageable`, of
/// interface ID3D12Pageable; `out` is null or points to space for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GpgmmCreateResidencyHeap(
    desc: *const HeapDesc,
    manager: *mut c_void,
    pageable: *mut c_void,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller's promises.
    unsafe {
        create("CreateResidencyHeap", out, |_| {
            let desc = call::reference(desc, "descriptor")?.convert()?;
            let pageable = ID3D12Pageable::from_raw_borrowed(&pageable);
            let pageable = pageable.ok_or_else(|| Failure::null("pPageable"))?;
            let heap = match manager_of(manager)? {
                Some(manager) => manager.manage(&desc, pageable)?,
                None => ResidencyHeap::unmanaged(&desc, pageable)?,
            };
            Ok(Reference::new(Heap::new(heap)))
        })
    }
}

/// `CreateHeapFn`. It must not throw: an exception ends the process, and is not undefined behaviour.
pub type CreateHeapFn = unsafe extern "C-unwind" fn(*mut c_void, *mut *mut c_void) -> HRESULT;

/// `CreateResidencyHeap` with a callback.
///
/// # Safety
///
/// As [`GpgmmCreateResidencyHeap`]. `create_heap` may be called with `context`, and stores null or a reference to a
/// live ID3D12Pageable if it succeeds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GpgmmCreateResidencyHeapWithCallback(
    desc: *const HeapDesc,
    manager: *mut c_void,
    create_heap: Option<CreateHeapFn>,
    context: *mut c_void,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller's promises.
    unsafe {
        create("CreateResidencyHeap", out, |_| {
            let desc = call::reference(desc, "descriptor")?.convert()?;
            let create_heap = create_heap.ok_or_else(|| Failure::null("createHeapFn"))?;
            let create_heap = || {
                let mut pageable = std::ptr::null_mut();
                create_heap(context, &mut pageable).ok()?;
                if pageable.is_null() {
                    return Err(windows_core::Error::from_hresult(E_POINTER));
                }
                Ok(ID3D12Pageable::from_raw(pageable))
            };
            let heap = match manager_of(manager)? {
                Some(manager) => manager.create_heap(&desc, create_heap)?,
                None => ResidencyHeap::create_unmanaged(&desc, create_heap)?,
            };
            Ok(Reference::new(Heap::new(heap)))
        })
    }
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
    // SAFETY: the caller's promises.
    unsafe {
        create("CreateResourceAllocator", out, |out| {
            allocator_of(device, adapter, manager, allocator_desc(desc, out)?)
        })
    }
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
    // SAFETY: the caller's promises.
    unsafe {
        create("CreateResourceAllocator", out, |out| {
            let desc = allocator_desc(desc, out)?;
            let (device, adapter) = (device_of(&device)?, adapter_of(adapter)?);
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
            Ok(Allocator::of(allocator))
        })
    }
}

/// `CreateResourceAllocator` from an allocator.
///
/// # Safety
///
/// `desc` is null or points to a description, whose strings are null or zero-terminated; `parent` is null or points to
/// a live object; `out` is null or points to space for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GpgmmCreateNestedResourceAllocator(
    desc: *const AllocatorDesc,
    parent: *mut c_void,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller's promises.
    unsafe {
        create("CreateResourceAllocator", out, |out| {
            let desc = allocator_desc(desc, out)?;
            let parent: &Allocator = parameter(parent, "pResourceAllocator")?;
            Ok(Allocator::of(parent.allocator.create_nested(desc)?))
        })
    }
}

/// `heapwright::d3d12::CreateAllocator`.
///
/// # Safety
///
/// As [`GpgmmCreateResourceAllocator`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn HeapwrightCreateAllocator(
    desc: *const ExtendedAllocatorDesc,
    device: *mut c_void,
    adapter: *mut c_void,
    manager: *mut c_void,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: the caller's promises.
    unsafe {
        create("CreateAllocator", out, |out| {
            let desc = call::reference(desc, "desc")?;
            log::set_level(desc.base.min_log_level)?;
            let mut desc = desc.convert()?;
            desc.record_options = recording_of(out, desc.record_options);
            allocator_of(device, adapter, manager, desc)
        })
    }
}

/// `D3D12MA::CreateAllocator`, with a residency manager or with null for none.
///
/// # Safety
///
/// `desc` is null or points to a description, whose pointers are null or valid: callbacks may be called for as long as
/// an object of the allocator exists. `residency` is null or points to a description, whose strings are null or
/// zero-terminated. `out` is null or points to space for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn HeapwrightCreateD3D12MAAllocator(
    desc: *const d3d12ma::descriptors::AllocatorDesc,
    residency: *const ManagerDesc,
    out: *mut *mut c_void,
) -> HRESULT {
    call::hresult("CreateAllocator", || {
        // SAFETY: the caller's promises.
        unsafe {
            let out = Out::new(out);
            if out.is_null() {
                return Err(Failure::invalid_argument("ppAllocator is null"));
            }
            let residency = residency.as_ref().map(|residency| residency.convert()).transpose()?;
            Ok(out.give(d3d12ma::allocator::create(desc, residency)?))
        }
    })
}

/// `D3D12MA::CreateVirtualBlock`.
///
/// # Safety
///
/// `desc` is null or points to a description, whose callbacks are null or may be called for as long as the block
/// exists. `out` is null or points to space for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn HeapwrightCreateD3D12MAVirtualBlock(
    desc: *const d3d12ma::virtual_block::BlockDesc,
    out: *mut *mut c_void,
) -> HRESULT {
    call::hresult("CreateVirtualBlock", || {
        // SAFETY: the caller's promises.
        unsafe {
            let out = Out::new(out);
            if out.is_null() {
                return Err(Failure::invalid_argument("ppVirtualBlock is null"));
            }
            Ok(out.give(d3d12ma::virtual_block::create(desc)?))
        }
    })
}
