//! IResourceAllocation.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard};

use heapwright::ResourceAllocation;
use heapwright::d3d12::*;
use windows_core::{GUID, HRESULT, IUnknown, Interface};

use crate::allocator::Allocator;
use crate::call::{self, Failure, Out};
use crate::debug_name::{DebugName, WideChar};
use crate::descriptors::AllocationInfo;
use crate::interfaces::{
    DebugObject, IID_DEBUG_OBJECT, IID_RESOURCE_ALLOCATION, ResourceAllocationMethods, This, returning,
};
use crate::object::{Body, Reference, Unknown, body};
use crate::residency_heap::{Heap, Name};

/// The body of an IResourceAllocation.
pub(crate) struct Allocation {
    /// Written only to set the name.
    allocation: RwLock<ResourceAllocation>,
    /// State that only few allocations need.
    extras: OnceLock<Box<Extras>>,
}

#[derive(Default)]
struct Extras {
    /// Number of `Map` calls without `Unmap`.
    mapped: AtomicU32,
    /// The object that `GetMemory` returned, which does not add a reference for its caller.
    memory: OnceLock<Reference<Heap>>,
    name: DebugName,
}

impl Allocation {
    #[inline]
    pub(crate) fn new(allocation: ResourceAllocation) -> Self {
        Self { allocation: RwLock::new(allocation), extras: OnceLock::new() }
    }

    fn read(&self) -> RwLockReadGuard<'_, ResourceAllocation> {
        self.allocation.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn extras(&self) -> &Extras {
        self.extras.get_or_init(Box::default)
    }
}

impl Drop for Allocation {
    #[inline]
    fn drop(&mut self) {
        if let Some(extras) = self.extras.get_mut() {
            let mapped = *extras.mapped.get_mut();
            if mapped != 0 {
                let allocation = self.allocation.get_mut().unwrap_or_else(PoisonError::into_inner);
                release_mapped(allocation, mapped);
            }
        }
    }
}

/// Releases what `Map` keeps resident.
#[cold]
fn release_mapped(allocation: &ResourceAllocation, mapped: u32) {
    tracing::warn!("IResourceAllocation: released while mapped; Unmap calls that are missing: {mapped}");
    let Some(heap) = allocation.memory() else { return };
    for _ in 0..mapped {
        if let Err(error) = heap.unlock() {
            tracing::error!("IResourceAllocation: {error}");
        }
    }
}

static METHODS: ResourceAllocationMethods = ResourceAllocationMethods {
    debug_object: DebugObject { unknown: Unknown::of::<Allocation>(), get_debug_name, set_debug_name },
    map,
    unmap,
    get_resource,
    get_gpu_virtual_address,
    get_offset_from_resource,
    get_info,
    get_memory,
    get_resource_allocator,
};

impl Body for Allocation {
    type Methods = ResourceAllocationMethods;

    fn methods() -> &'static ResourceAllocationMethods {
        &METHODS
    }

    const INTERFACES: &'static [GUID] = &[IID_DEBUG_OBJECT, IID_RESOURCE_ALLOCATION];

    /// A resource with memory of its own that no manager pages is what GPGMM lets programs take out of the allocation.
    fn inner_object(&self) -> Option<IUnknown> {
        let allocation = self.read();
        let is_own = allocation.heap().is_none() && allocation.memory().is_none();
        is_own.then(|| allocation.resource().clone().into())
    }
}

unsafe extern "system" fn get_debug_name(this: This) -> *const WideChar {
    call::value("IResourceAllocation::GetDebugName", || {
        // SAFETY: C++ calls the method of a live object.
        let this = unsafe { body::<Allocation>(this) };
        Name(this.extras().name.get(|| this.read().debug_name().map(Into::into)))
    })
    .0
}

unsafe extern "system" fn set_debug_name(this: This, name: *const WideChar) -> HRESULT {
    call::hresult("IResourceAllocation::SetDebugName", || {
        // SAFETY: C++ calls the method of a live object, with null or a terminated string.
        unsafe {
            let this = body::<Allocation>(this);
            this.extras().name.set(name, |name| {
                this.allocation.write().unwrap_or_else(PoisonError::into_inner).set_debug_name(name)
            })
        }
    })
}

unsafe extern "system" fn map(
    this: This,
    subresource: u32,
    read_range: *const D3D12_RANGE,
    data_out: *mut *mut c_void,
) -> HRESULT {
    call::hresult("IResourceAllocation::Map", || {
        // SAFETY: C++ calls the method of a live object, with null or a range, and null or writable space for a pointer.
        let (this, read_range, out) =
            unsafe { (body::<Allocation>(this), read_range.as_ref().copied(), Out::new(data_out)) };
        // SAFETY: the duties are those of `Map` in D3D12, and the caller's. `Unmap` never unmaps more often than this maps, and
        // the allocation is not moved.
        let address = unsafe { this.read().map_subresource(subresource, read_range, !out.is_null()) }?;
        this.extras().mapped.fetch_add(1, Ordering::Relaxed);
        if let Some(address) = address {
            out.set(address.as_ptr().cast());
        }
        Ok(S_OK)
    })
}

unsafe extern "system" fn unmap(this: This, subresource: u32, written_range: *const D3D12_RANGE) {
    call::value("IResourceAllocation::Unmap", || {
        // SAFETY: C++ calls the method of a live object, with null or a range.
        let (this, written_range) = unsafe { (body::<Allocation>(this), written_range.as_ref().copied()) };
        let one_less = |mapped: u32| mapped.checked_sub(1);
        if this.extras().mapped.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_err() {
            tracing::error!("IResourceAllocation::Unmap: the allocation is not mapped");
            return;
        }
        // SAFETY: it is mapped. Which subresource is the caller's duty, as in D3D12.
        unsafe { this.read().unmap_subresource(subresource, written_range) };
    });
}

unsafe extern "system" fn get_resource(this: This) -> *mut c_void {
    // SAFETY: C++ calls the method of a live object.
    let address = || unsafe { body::<Allocation>(this) }.read().resource().as_raw() as usize;
    call::value("IResourceAllocation::GetResource", address) as *mut c_void
}

unsafe extern "system" fn get_gpu_virtual_address(this: This) -> u64 {
    call::value("IResourceAllocation::GetGPUVirtualAddress", || {
        // SAFETY: C++ calls the method of a live object.
        let address = unsafe { body::<Allocation>(this) }.read().gpu_virtual_address();
        address.map_or(0, |address| address.get())
    })
}

unsafe extern "system" fn get_offset_from_resource(this: This) -> u64 {
    call::value("IResourceAllocation::GetOffsetFromResource", || {
        // SAFETY: C++ calls the method of a live object.
        unsafe { body::<Allocation>(this) }.read().offset_from_resource().get()
    })
}

returning!(get_info, AllocationInfo, |this| {
    call::value("IResourceAllocation::GetInfo", || {
        // SAFETY: C++ calls the method of a live object.
        unsafe { body::<Allocation>(this) }.read().info().into()
    })
});

unsafe extern "system" fn get_memory(this: This) -> *mut c_void {
    call::value("IResourceAllocation::GetMemory", || {
        // SAFETY: C++ calls the method of a live object.
        let this = unsafe { body::<Allocation>(this) };
        let memory = match this.extras().memory.get() {
            Some(memory) => memory,
            None => match Heap::of_allocation(&this.read()) {
                Ok(memory) => this.extras().memory.get_or_init(|| memory),
                Err(error) => {
                    tracing::error!("IResourceAllocation::GetMemory: {error}");
                    return 0;
                }
            },
        };
        memory.as_raw() as usize
    }) as *mut c_void
}

unsafe extern "system" fn get_resource_allocator(this: This, out: *mut *mut c_void) -> HRESULT {
    call::hresult("IResourceAllocation::GetResourceAllocator", || {
        // SAFETY: C++ calls the method of a live object, with null or writable space for a pointer.
        let (this, out) = unsafe { (body::<Allocation>(this), Out::new(out)) };
        let allocator = this.read().allocator();
        let Some(allocator) = allocator else {
            return Err(Failure::Refused(E_FAIL, "the allocator was released".into()));
        };
        if out.is_null() {
            return Ok(S_FALSE);
        }
        out.set(Allocator::of(allocator).into_raw());
        Ok(S_OK)
    })
}
