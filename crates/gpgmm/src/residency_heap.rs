//! IResidencyHeap.

use std::ffi::c_void;

use heapwright::d3d12::*;
use heapwright::residency::{ResidencyHeap, ResidencyHeapDesc};
use heapwright::{Error, MemoryReference, ResourceAllocation};
use windows_core::{GUID, HRESULT, IUnknown, Interface};

use crate::call::{self, Failure, Out};
use crate::debug_name::{DebugName, WideChar};
use crate::descriptors::HeapInfo;
use crate::identity::{Registration, Registry};
use crate::interfaces::{
    DebugObject, IID_DEBUG_OBJECT, IID_RESIDENCY_HEAP, ResidencyHeapMethods, This, returning,
};
use crate::object::{Body, Reference, Unknown, body};
use crate::residency_manager::Manager;

/// The body of an IResidencyHeap.
pub(crate) struct Heap {
    source: Source,
    name: DebugName,
}

enum Source {
    /// Created by CreateResidencyHeap.
    Own(ResidencyHeap),
    /// The memory of allocations.
    Managed(MemoryReference),
    /// The memory of allocations without a residency manager, with the number of the object.
    Unmanaged(ResidencyHeap),
}

static MEMORY: Registry = Registry::new();

impl Heap {
    pub(crate) fn new(heap: ResidencyHeap) -> Self {
        Self { source: Source::Own(heap), name: DebugName::default() }
    }

    /// Returns the object that stands for the memory of an allocation.
    ///
    /// # Errors
    ///
    /// The device's error.
    pub(crate) fn of_allocation(allocation: &ResourceAllocation) -> Result<Reference<Self>, Error> {
        if let Some(memory) = allocation.memory_reference() {
            return Ok(Self::of_memory(memory));
        }
        let pageable: ID3D12Pageable = match allocation.heap() {
            Some(heap) => heap.clone().into(),
            None => allocation.resource().clone().into(),
        };
        let heap = ResidencyHeap::unmanaged(&ResidencyHeapDesc::default(), &pageable)?;
        Ok(Self::of(Source::Unmanaged(heap)))
    }

    /// Returns the object that stands for memory of a residency manager.
    pub(crate) fn of_memory(memory: MemoryReference) -> Reference<Self> {
        Self::of(Source::Managed(memory))
    }

    fn of(source: Source) -> Reference<Self> {
        let heap = Self { source, name: DebugName::default() };
        match heap.registration() {
            Some(registration) => registration.find_or_create(|| heap),
            None => Reference::new(heap),
        }
    }

    pub(crate) fn heap(&self) -> &ResidencyHeap {
        match &self.source {
            Source::Own(heap) | Source::Unmanaged(heap) => heap,
            Source::Managed(memory) => memory,
        }
    }
}

static METHODS: ResidencyHeapMethods = ResidencyHeapMethods {
    debug_object: DebugObject { unknown: Unknown::of::<Heap>(), get_debug_name, set_debug_name },
    get_info,
    lock,
    unlock,
    get_residency_manager,
};

impl Body for Heap {
    type Methods = ResidencyHeapMethods;

    fn methods() -> &'static ResidencyHeapMethods {
        &METHODS
    }

    const INTERFACES: &'static [GUID] = &[IID_DEBUG_OBJECT, IID_RESIDENCY_HEAP];

    /// The object is how a program reaches the `ID3D12Heap`.
    fn inner_object(&self) -> Option<IUnknown> {
        Some(self.heap().pageable().clone().into())
    }

    const IS_REGISTERED: bool = true;

    fn registration(&self) -> Option<Registration> {
        let number = match &self.source {
            Source::Own(_) => return None,
            Source::Managed(memory) => std::ptr::from_ref::<ResidencyHeap>(memory) as usize,
            Source::Unmanaged(heap) => heap.pageable().as_raw() as usize,
        };
        Some(Registration { registry: &MEMORY, number })
    }
}

unsafe extern "system" fn get_debug_name(this: This) -> *const WideChar {
    call::value("IResidencyHeap::GetDebugName", || {
        // SAFETY: C++ calls the method of a live object.
        let this = unsafe { body::<Heap>(this) };
        Name(this.name.get(|| this.heap().debug_name()))
    })
    .0
}

/// A pointer to a name, null by default.
pub(crate) struct Name(pub(crate) *const WideChar);

impl Default for Name {
    fn default() -> Self {
        Self(std::ptr::null())
    }
}

unsafe extern "system" fn set_debug_name(this: This, name: *const WideChar) -> HRESULT {
    call::hresult("IResidencyHeap::SetDebugName", || {
        // SAFETY: C++ calls the method of a live object, with null or a terminated string.
        unsafe {
            let this = body::<Heap>(this);
            this.name.set(name, |name| {
                this.heap().set_debug_name(name);
                Ok(())
            })
        }
    })
}

returning!(get_info, HeapInfo, |this| {
    call::value("IResidencyHeap::GetInfo", || {
        // SAFETY: C++ calls the method of a live object.
        unsafe { body::<Heap>(this) }.heap().info().into()
    })
});

unsafe extern "system" fn lock(this: This) -> HRESULT {
    call::hresult("IResidencyHeap::Lock", || {
        // SAFETY: C++ calls the method of a live object.
        let heap = unsafe { body::<Heap>(this) }.heap();
        if heap.manager().is_none() {
            return Ok(S_FALSE);
        }
        heap.lock()?;
        Ok(S_OK)
    })
}

unsafe extern "system" fn unlock(this: This) -> HRESULT {
    call::hresult("IResidencyHeap::Unlock", || {
        // SAFETY: C++ calls the method of a live object.
        let heap = unsafe { body::<Heap>(this) }.heap();
        if heap.manager().is_none() {
            return Ok(S_FALSE);
        }
        match heap.unlock() {
            Ok(0) => Ok(S_OK),
            Ok(_) => Ok(S_FALSE),
            // As in GPGMM, one too many has no effect.
            Err(error) if error.is_invalid_argument() => {
                tracing::warn!("IResidencyHeap::Unlock: {error}");
                Ok(S_OK)
            }
            Err(error) => Err(error.into()),
        }
    })
}

unsafe extern "system" fn get_residency_manager(this: This, out: *mut *mut c_void) -> HRESULT {
    call::hresult("IResidencyHeap::GetResidencyManager", || {
        // SAFETY: C++ calls the method of a live object, with null or writable space for a pointer.
        let (this, out) = unsafe { (body::<Heap>(this), Out::new(out)) };
        let Some(manager) = this.heap().manager() else {
            return Err(Failure::Refused(E_POINTER, "the heap has no residency manager".into()));
        };
        if out.is_null() {
            return Ok(S_FALSE);
        }
        out.set(Manager::of(manager).into_raw());
        Ok(S_OK)
    })
}
