//! IResidencyHeap.

use std::ffi::c_void;
use std::sync::Arc;

use heapwright::d3d12::*;
use heapwright::residency::ResidencyHeap;
use heapwright::{Error, MemoryReference, ResourceAllocation};
use windows_core::{GUID, HRESULT, IUnknown, Interface};

use crate::debug_name::{DebugName, IID_DEBUG_OBJECT, Named, get_debug_name, set_debug_name};
use crate::descriptors::HeapInfo;
use crate::failure::Failure;
use crate::identity::{Registration, Registry};
use crate::object::{Body, Methods, Out, Reference, This, getter, method, returning};
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
        let heap = ResidencyHeap::of_memory(&pageable)?;
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

static METHODS: Methods<6> = Methods::of::<Heap>([
    get_debug_name::<Heap> as *const (),
    set_debug_name::<Heap> as *const (),
    get_info as *const (),
    lock as *const (),
    unlock as *const (),
    get_residency_manager as *const (),
]);

const IID_RESIDENCY_HEAP: GUID = GUID::from_u128(0x6f0c3f4e_2f52_4a87_8a0f_0bb0a7d2e912);

impl Body for Heap {
    fn methods() -> *const c_void {
        METHODS.as_table()
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

impl Named for Heap {
    const INTERFACE: &'static str = "IResidencyHeap";

    fn debug_name(&self) -> &DebugName {
        &self.name
    }

    fn library_name(&self) -> Option<Arc<str>> {
        self.heap().debug_name()
    }

    fn set_library_name(&self, name: &str) -> Result<(), Error> {
        self.heap().set_debug_name(name);
        Ok(())
    }
}

returning!(get_info, HeapInfo, |this| {
    // SAFETY: C++ calls the method of a live object.
    unsafe { getter(this, "IResidencyHeap::GetInfo", |this: &Heap| this.heap().info().into()) }
});

unsafe extern "system" fn lock(this: This) -> HRESULT {
    // SAFETY: C++ calls the method of a live object.
    unsafe {
        method(this, "IResidencyHeap::Lock", |this: &Heap| {
            if this.heap().manager().is_none() {
                return Ok(S_FALSE);
            }
            this.heap().lock()?;
            Ok(S_OK)
        })
    }
}

unsafe extern "system" fn unlock(this: This) -> HRESULT {
    // SAFETY: C++ calls the method of a live object.
    unsafe {
        method(this, "IResidencyHeap::Unlock", |this: &Heap| {
            if this.heap().manager().is_none() {
                return Ok(S_FALSE);
            }
            match this.heap().unlock() {
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
}

unsafe extern "system" fn get_residency_manager(this: This, out: *mut *mut c_void) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or writable space for a pointer.
    unsafe {
        method(this, "IResidencyHeap::GetResidencyManager", |this: &Heap| {
            let out = Out::new(out);
            let none = || Failure::Refused(E_POINTER, "the heap has no residency manager".into());
            Ok(out.give(Manager::of(this.heap().manager().ok_or_else(none)?)))
        })
    }
}
