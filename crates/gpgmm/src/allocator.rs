//! IResourceAllocator.

use std::ffi::c_void;

use heapwright::d3d12::*;
use heapwright::{ByteSize, ClearValue, ResourceAllocator};
use windows_core::{GUID, HRESULT, Interface};

use crate::allocation::Allocation;
use crate::call::{self, Failure, Out};
use crate::debug_name::{DebugName, WideChar};
use crate::descriptors::{AllocationDesc, AllocationSupport, AllocatorStats};
use crate::extension::{self, allocator::Extension};
use crate::identity::{Registration, Registry};
use crate::interfaces::{
    DebugObject, IID_DEBUG_OBJECT, IID_RESOURCE_ALLOCATOR, ResourceAllocatorMethods, This,
};
use crate::object::{Body, Reference, SecondInterface, Unknown, body};
use crate::residency_heap::Name;

/// The body of an IResourceAllocator.
pub(crate) struct Allocator {
    pub(crate) allocator: ResourceAllocator,
    pub(crate) extension: Extension,
    name: DebugName,
}

static ALLOCATORS: Registry = Registry::new();

impl Allocator {
    /// Returns the object that stands for an allocator.
    pub(crate) fn of(allocator: ResourceAllocator) -> Reference<Self> {
        let registration = Registration { registry: &ALLOCATORS, number: allocator.id() };
        registration.find_or_create(|| Self {
            allocator,
            extension: Extension::NEW,
            name: DebugName::default(),
        })
    }
}

static METHODS: ResourceAllocatorMethods = ResourceAllocatorMethods {
    debug_object: DebugObject { unknown: Unknown::of::<Allocator>(), get_debug_name, set_debug_name },
    create_resource,
    import_resource,
    release_resource_heaps,
    query_stats,
    check_feature_support,
};

impl Body for Allocator {
    type Methods = ResourceAllocatorMethods;

    fn methods() -> &'static ResourceAllocatorMethods {
        &METHODS
    }

    const INTERFACES: &'static [GUID] = &[IID_DEBUG_OBJECT, IID_RESOURCE_ALLOCATOR];

    const SECOND: Option<SecondInterface> = Some(extension::allocator::SECOND);

    const IS_REGISTERED: bool = true;

    fn registration(&self) -> Option<Registration> {
        Some(Registration { registry: &ALLOCATORS, number: self.allocator.id() })
    }
}

unsafe extern "system" fn get_debug_name(this: This) -> *const WideChar {
    call::value("IResourceAllocator::GetDebugName", || {
        // SAFETY: C++ calls the method of a live object.
        let this = unsafe { body::<Allocator>(this) };
        Name(this.name.get(|| this.allocator.debug_name()))
    })
    .0
}

unsafe extern "system" fn set_debug_name(this: This, name: *const WideChar) -> HRESULT {
    call::hresult("IResourceAllocator::SetDebugName", || {
        // SAFETY: C++ calls the method of a live object, with null or a terminated string.
        unsafe {
            let this = body::<Allocator>(this);
            this.name.set(name, |name| {
                this.allocator.set_debug_name(name);
                Ok(())
            })
        }
    })
}

unsafe extern "system" fn create_resource(
    this: This,
    allocation: *const AllocationDesc,
    resource: *const D3D12_RESOURCE_DESC,
    initial_state: D3D12_RESOURCE_STATES,
    clear_value: *const D3D12_CLEAR_VALUE,
    out: *mut *mut c_void,
) -> HRESULT {
    call::hresult("IResourceAllocator::CreateResource", || {
        // SAFETY: C++ calls the method of a live object, with references, null or a clear value, and null or writable space for a
        // pointer.
        let (allocator, out, allocation, resource, clear_value) = unsafe {
            (
                &body::<Allocator>(this).allocator,
                Out::new(out),
                call::reference(allocation, "allocationDescriptor")?.convert()?,
                call::reference(resource, "resourceDescriptor")?,
                clear_value.as_ref().map(|value| ClearValue::from_d3d12(value)),
            )
        };
        let realigned = realigned(resource);
        let resource = realigned.as_ref().unwrap_or(resource);
        // Without `?`, which would move the allocation once more.
        match allocator.create_resource(&allocation, resource, initial_state, clear_value) {
            // Only the device knows whether there is memory. The heap is kept for the next resource.
            Ok(_) if out.is_null() => return Ok(S_FALSE),
            Ok(made) => out.set(Allocation::object_of(made).into_raw()),
            Err(error) => return Err(error.into()),
        }
        Ok(S_OK)
    })
}

/// Returns the description of a buffer with another alignment, if GPGMM realigns it: no buffer has an alignment of more than
/// 64 KiB or one that is no power of two, and parts have 4 bytes at least.
pub(crate) fn realigned(desc: &D3D12_RESOURCE_DESC) -> Option<D3D12_RESOURCE_DESC> {
    let alignment = match desc.Alignment {
        0 => return None,
        1 | 2 => 4,
        asked if asked.is_power_of_two() && asked <= 64 << 10 => return None,
        _ => 0,
    };
    let is_buffer = desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER;
    is_buffer.then_some(D3D12_RESOURCE_DESC { Alignment: alignment, ..*desc })
}

unsafe extern "system" fn import_resource(
    this: This,
    allocation: *const AllocationDesc,
    resource: *mut c_void,
    out: *mut *mut c_void,
) -> HRESULT {
    call::hresult("IResourceAllocator::CreateResource", || {
        // SAFETY: C++ calls the method of a live object, with a reference, null or a resource, and null or writable space for a
        // pointer.
        let (allocator, out, allocation, resource) = unsafe {
            (
                &body::<Allocator>(this).allocator,
                Out::new(out),
                call::reference(allocation, "allocationDescriptor")?.convert()?,
                ID3D12Resource::from_raw_borrowed(&resource),
            )
        };
        let resource = resource.ok_or_else(|| Failure::null("pCommittedResource"))?;
        // SAFETY: no `Mapping` is ever created of an allocation of this library.
        let made = unsafe { allocator.import(&allocation, resource) }?;
        if out.is_null() {
            return Ok(S_FALSE);
        }
        out.set(Allocation::object_of(made).into_raw());
        Ok(S_OK)
    })
}

unsafe extern "system" fn release_resource_heaps(this: This, bytes: u64, released_out: *mut u64) -> HRESULT {
    call::hresult("IResourceAllocator::ReleaseResourceHeaps", || {
        // SAFETY: C++ calls the method of a live object, with null or writable space.
        let (allocator, released_out) =
            unsafe { (&body::<Allocator>(this).allocator, released_out.as_mut()) };
        let released = allocator.release_resource_heaps(ByteSize::new(bytes)).get();
        if let Some(released_out) = released_out {
            *released_out = released;
        }
        Ok(if released >= bytes { S_OK } else { S_FALSE })
    })
}

unsafe extern "system" fn query_stats(this: This, stats_out: *mut AllocatorStats) -> HRESULT {
    call::hresult("IResourceAllocator::QueryStats", || {
        // SAFETY: C++ calls the method of a live object.
        let allocator = unsafe { &body::<Allocator>(this).allocator };
        let stats = allocator.stats();
        allocator.record_counters();
        if stats_out.is_null() {
            return Ok(S_FALSE);
        }
        // SAFETY: writable space.
        unsafe { stats_out.write(stats.into()) };
        Ok(S_OK)
    })
}

unsafe extern "system" fn check_feature_support(
    this: This,
    feature: u32,
    data: *mut c_void,
    size: u32,
) -> HRESULT {
    call::hresult("IResourceAllocator::CheckFeatureSupport", || {
        let refuse = |rule: String| Err(Failure::invalid_argument(rule));
        if feature != 0 {
            return refuse(format!("feature: {feature} is not a RESOURCE_ALLOCATOR_FEATURE value"));
        }
        if data.is_null() {
            return refuse("pFeatureSupportData is null".into());
        }
        let needed = size_of::<AllocationSupport>();
        if size as usize != needed {
            return refuse(format!(
                "featureSupportDataSize is {size}; the feature's structure has {needed} bytes"
            ));
        }
        // SAFETY: C++ calls the method of a live object, with writable space for the structure.
        unsafe {
            let support = body::<Allocator>(this).allocator.resource_allocation_support();
            data.cast::<AllocationSupport>().write(AllocationSupport {
                is_resource_allocation_within_coherent: support.is_resource_allocation_within_coherent,
            });
        }
        Ok(S_OK)
    })
}
