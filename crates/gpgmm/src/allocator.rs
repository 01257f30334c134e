//! IResourceAllocator.

use std::ffi::c_void;
use std::sync::Arc;

use heapwright::d3d12::*;
use heapwright::{ByteSize, ClearValue, Error, ResourceAllocator};
use windows_core::{GUID, HRESULT, Interface};

use crate::allocation::Allocation;
use crate::call;
use crate::debug_name::{DebugName, IID_DEBUG_OBJECT, Named, get_debug_name, set_debug_name};
use crate::descriptors::{AllocationDesc, AllocatorStats};
use crate::extension::allocator as extension;
use crate::failure::Failure;
use crate::identity::{Registration, Registry};
use crate::object::{Body, Methods, Out, Reference, This, method};

/// The body of an IResourceAllocator, which is an IAllocator of the extension.
pub(crate) struct Allocator {
    pub(crate) allocator: ResourceAllocator,
    name: DebugName,
}

static ALLOCATORS: Registry = Registry::new();

impl Allocator {
    /// Returns the object that stands for an allocator.
    pub(crate) fn of(allocator: ResourceAllocator) -> Reference<Self> {
        let registration = Registration { registry: &ALLOCATORS, number: allocator.id() };
        registration.find_or_create(|| Self { allocator, name: DebugName::default() })
    }
}

static METHODS: Methods<10> = Methods::of::<Allocator>([
    get_debug_name::<Allocator> as *const (),
    set_debug_name::<Allocator> as *const (),
    OVERLOADS[cfg!(windows) as usize],
    OVERLOADS[!cfg!(windows) as usize],
    release_resource_heaps as *const (),
    query_stats as *const (),
    check_feature_support as *const (),
    extension::on_frame as *const (),
    extension::create_transient_heaps as *const (),
    extension::get_report as *const (),
]);

/// IResourceAllocator::CreateResource, in the order of the declarations.
const OVERLOADS: [*const (); 2] = [create_resource as *const (), import_resource as *const ()];

const IID_RESOURCE_ALLOCATOR: GUID = GUID::from_u128(0xf9e3714a_16db_4f38_a2c5_74d0368e1b56);

impl Body for Allocator {
    fn methods() -> *const c_void {
        METHODS.as_table()
    }

    const INTERFACES: &'static [GUID] = &[IID_DEBUG_OBJECT, IID_RESOURCE_ALLOCATOR, extension::IID_ALLOCATOR];

    const IS_REGISTERED: bool = true;

    fn registration(&self) -> Option<Registration> {
        Some(Registration { registry: &ALLOCATORS, number: self.allocator.id() })
    }
}

impl Named for Allocator {
    const INTERFACE: &'static str = "IResourceAllocator";

    fn debug_name(&self) -> &DebugName {
        &self.name
    }

    fn library_name(&self) -> Option<Arc<str>> {
        self.allocator.debug_name()
    }

    fn set_library_name(&self, name: &str) -> Result<(), Error> {
        self.allocator.set_debug_name(name);
        Ok(())
    }
}

unsafe extern "system" fn create_resource(
    this: This,
    allocation: *const AllocationDesc,
    resource: *const D3D12_RESOURCE_DESC,
    initial_state: D3D12_RESOURCE_STATES,
    clear_value: *const D3D12_CLEAR_VALUE,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with references, null or a clear value, and null or writable space
    // for a pointer.
    unsafe {
        method(this, "IResourceAllocator::CreateResource", |Allocator { allocator, .. }| {
            let out = Out::new(out);
            let allocation = call::reference(allocation, "allocationDescriptor")?.convert()?;
            let resource = call::reference(resource, "resourceDescriptor")?;
            let clear_value = clear_value.as_ref().map(|value| ClearValue::from_d3d12(value));
            let realigned = realigned(resource);
            let resource = realigned.as_ref().unwrap_or(resource);
            // Without `?`, which would move the allocation once more.
            match allocator.create_resource(&allocation, resource, initial_state, clear_value) {
                // Only the device knows whether there is memory. The heap is kept for the next resource.
                Ok(_) if out.is_null() => Ok(S_FALSE),
                Ok(made) => Ok(out.give(Allocation::object_of(made))),
                Err(error) => Err(error.into()),
            }
        })
    }
}

/// Returns the description of a buffer with another alignment, if GPGMM realigns it: no buffer has an alignment of more
/// than 64 KiB or one that is no power of two, and parts have 4 bytes at least.
fn realigned(desc: &D3D12_RESOURCE_DESC) -> Option<D3D12_RESOURCE_DESC> {
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
    // SAFETY: C++ calls the method of a live object, with a reference, null or a resource, and null or writable space
    // for a pointer. No `Mapping` is ever created of an allocation of this library.
    unsafe {
        method(this, "IResourceAllocator::CreateResource", |Allocator { allocator, .. }| {
            let out = Out::new(out);
            let allocation = call::reference(allocation, "allocationDescriptor")?.convert()?;
            let resource = ID3D12Resource::from_raw_borrowed(&resource);
            let resource = resource.ok_or_else(|| Failure::null("pCommittedResource"))?;
            Ok(out.give(Allocation::object_of(allocator.import(&allocation, resource)?)))
        })
    }
}

unsafe extern "system" fn release_resource_heaps(this: This, bytes: u64, released_out: *mut u64) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or writable space.
    unsafe {
        method(this, "IResourceAllocator::ReleaseResourceHeaps", |Allocator { allocator, .. }| {
            let released = allocator.release_resource_heaps(ByteSize::new(bytes)).get();
            let _ = call::store(released_out, released);
            Ok(if released >= bytes { S_OK } else { S_FALSE })
        })
    }
}

unsafe extern "system" fn query_stats(this: This, stats_out: *mut AllocatorStats) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or writable space.
    unsafe {
        method(this, "IResourceAllocator::QueryStats", |Allocator { allocator, .. }| {
            let stats = allocator.stats();
            allocator.record_counters();
            Ok(call::store(stats_out, stats.into()))
        })
    }
}

unsafe extern "system" fn check_feature_support(
    this: This,
    feature: u32,
    data: *mut c_void,
    size: u32,
) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with writable space for the structure.
    unsafe {
        method(this, "IResourceAllocator::CheckFeatureSupport", |Allocator { allocator, .. }| {
            let refuse = |rule: String| Err(Failure::invalid_argument(rule));
            if feature != 0 {
                return refuse(format!("feature: {feature} is not a RESOURCE_ALLOCATOR_FEATURE value"));
            }
            if data.is_null() {
                return refuse("pFeatureSupportData is null".into());
            }
            // FEATURE_DATA_RESOURCE_ALLOCATION_SUPPORT
            let needed = size_of::<bool>();
            if size as usize != needed {
                return refuse(format!(
                    "featureSupportDataSize is {size}; the feature's structure has {needed} bytes"
                ));
            }
            let support = allocator.resource_allocation_support();
            data.cast::<bool>().write(support.is_resource_allocation_within_coherent);
            Ok(S_OK)
        })
    }
}
