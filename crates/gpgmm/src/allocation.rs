//! IResourceAllocation.

use std::cell::{RefCell, UnsafeCell};
use std::ffi::c_void;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard};

use heapwright::d3d12::*;
use heapwright::defragmentation::Move;
use heapwright::{Error, ResourceAllocation};
use windows_core::{GUID, HRESULT, IUnknown, Interface};

use crate::allocator::Allocator;
use crate::call::{self, Failure, Out};
use crate::debug_name::{DebugName, WideChar};
use crate::descriptors::AllocationInfo;
use crate::interfaces::{
    DebugObject, IID_DEBUG_OBJECT, IID_RESOURCE_ALLOCATION, ResourceAllocationMethods, This, returning,
};
use crate::object::{Body, Memory, Reference, Unknown, body};
use crate::residency_heap::{Heap, Name};

/// The body of an IResourceAllocation.
pub(crate) struct Allocation {
    /// Borrowed under the lock alone. Not within the lock, because it could only be moved there, which takes longer than all else
    /// that this library adds to an allocation.
    allocation: Locked<ResourceAllocation>,
    /// Locked for writing only to set the name.
    lock: RwLock<()>,
    /// State that only few allocations need.
    extras: OnceLock<Box<Extras>>,
}

/// A value that is borrowed under a lock beside it.
#[repr(transparent)]
struct Locked<T>(UnsafeCell<T>);

// SAFETY: under the lock, threads have either shared references, as `T: Sync` allows, or one of them has an exclusive one, as `T: Send`
// allows.
unsafe impl<T: Send + Sync> Sync for Locked<T> {}

/// The allocation, borrowed to be read.
pub(crate) struct Reading<'a> {
    allocation: &'a ResourceAllocation,
    _lock: RwLockReadGuard<'a, ()>,
}

impl Deref for Reading<'_> {
    type Target = ResourceAllocation;

    fn deref(&self) -> &ResourceAllocation {
        self.allocation
    }
}

#[derive(Default)]
struct Extras {
    /// Number of `Map` calls without `Unmap`.
    mapped: AtomicU32,
    /// The object that `GetMemory` returned, which does not add a reference for its caller.
    memory: Mutex<Option<Reference<Heap>>>,
    name: DebugName,
}

impl Allocation {
    /// Creates the object of an allocation.
    #[inline]
    pub(crate) fn object_of(allocation: ResourceAllocation) -> Reference<Self> {
        // SAFETY: all fields are written at once. One by one, so that the allocation, which is large, is moved once.
        unsafe {
            let (reference, place) = Reference::<Self>::without_body();
            (&raw mut (*place).allocation).cast::<ResourceAllocation>().write(allocation);
            (&raw mut (*place).lock).write(RwLock::new(()));
            (&raw mut (*place).extras).write(OnceLock::new());
            reference
        }
    }

    pub(crate) fn read(&self) -> Reading<'_> {
        let lock = self.lock.read().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: under the lock.
        Reading { allocation: unsafe { &*self.allocation.0.get() }, _lock: lock }
    }

    fn set_debug_name(&self, name: &str) -> Result<(), Error> {
        self.change(|allocation| allocation.set_debug_name(name))
    }

    pub(crate) fn set_user_data(&self, user_data: u64) {
        self.change(|allocation| allocation.set_user_data(user_data));
    }

    /// Changes the allocation while nobody else uses it.
    fn change<T>(&self, change: impl FnOnce(&mut ResourceAllocation) -> T) -> T {
        let _lock = self.lock.write().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: under the lock.
        change(unsafe { &mut *self.allocation.0.get() })
    }

    /// Completes a move of the allocation, unless it is mapped: its address would be invalid.
    pub(crate) fn complete(&self, planned: &mut Option<Move>) -> Result<(), Failure> {
        self.change(|allocation| {
            if self.extras().mapped.load(Ordering::Relaxed) != 0 {
                return Err(Failure::invalid_argument("pAllocation is mapped"));
            }
            let ready = planned.take_if(|planned| planned.can_complete(allocation));
            let Some(ready) = ready else {
                let rule = "the move is completed, belongs to another allocation, or has no resource at the new place";
                return Err(Failure::invalid_argument(rule));
            };
            ready.complete(allocation)?;
            // The memory is another one.
            *self.extras().memory.lock().unwrap_or_else(PoisonError::into_inner) = None;
            Ok(())
        })
    }

    fn extras(&self) -> &Extras {
        self.extras.get_or_init(Box::default)
    }
}

/// Number of released objects whose memory a thread keeps for its next ones.
const MAX_SPARE: usize = 64;

thread_local! {
    /// Memory of released objects: programs create and release more of these than of all others, and a heap takes longer.
    static SPARE: RefCell<Vec<Memory<Allocation>>> = const { RefCell::new(Vec::new()) };
}

impl Drop for Allocation {
    #[inline]
    fn drop(&mut self) {
        if let Some(extras) = self.extras.get_mut() {
            let mapped = *extras.mapped.get_mut();
            if mapped != 0 {
                release_mapped(self.allocation.0.get_mut(), mapped);
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

    #[inline]
    fn memory() -> Memory<Self> {
        let spare = SPARE.try_with(|spare| spare.try_borrow_mut().ok()?.pop());
        spare.ok().flatten().unwrap_or_else(Box::new_uninit)
    }

    #[inline]
    fn free(memory: Memory<Self>) {
        // While the thread ends, the memory is dropped.
        let _ = SPARE.try_with(|spare| match spare.try_borrow_mut() {
            Ok(mut spare) if spare.len() < MAX_SPARE => spare.push(memory),
            _ => {}
        });
    }

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
            this.extras().name.set(name, |name| this.set_debug_name(name))
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
        let allocation = this.read();
        // SAFETY: as above.
        let address = unsafe { allocation.map_subresource(subresource, read_range, !out.is_null()) }?;
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
        // Until the end, so that no move is completed in between.
        let allocation = this.read();
        let one_less = |mapped: u32| mapped.checked_sub(1);
        if this.extras().mapped.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_err() {
            tracing::error!("IResourceAllocation::Unmap: the allocation is not mapped");
            return;
        }
        // SAFETY: it is mapped. Which subresource is the caller's duty, as in D3D12.
        unsafe { allocation.unmap_subresource(subresource, written_range) };
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
        let allocation = this.read();
        let mut memory = this.extras().memory.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.is_none() {
            match Heap::of_allocation(&allocation) {
                Ok(found) => *memory = Some(found),
                Err(error) => tracing::error!("IResourceAllocation::GetMemory: {error}"),
            }
        }
        memory.as_ref().map_or(0, |memory| memory.as_raw() as usize)
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
