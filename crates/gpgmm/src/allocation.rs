//! IResourceAllocation.

use std::cell::{RefCell, UnsafeCell};
use std::ffi::c_void;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard};

use heapwright::d3d12::*;
use heapwright::{Error, ResourceAllocation};
use windows_core::{GUID, HRESULT, IUnknown, Interface};

use crate::allocator::Allocator;
use crate::debug_name::{DebugName, IID_DEBUG_OBJECT, Named, get_debug_name, set_debug_name};
use crate::descriptors::AllocationInfo;
use crate::failure::Failure;
use crate::object::{Body, Memory, Methods, Out, Reference, This, getter, method, returning};
use crate::residency_heap::Heap;

/// The body of an IResourceAllocation.
pub(crate) struct Allocation {
    /// Borrowed under the lock alone. Not within the lock, because it could only be moved there, which takes longer
    /// than all else that this library adds to an allocation.
    allocation: Locked<ResourceAllocation>,
    /// Locked for writing only to set the name.
    lock: RwLock<()>,
    /// State that only few allocations need.
    extras: OnceLock<Box<Extras>>,
}

/// A value that is borrowed under a lock beside it.
#[repr(transparent)]
struct Locked<T>(UnsafeCell<T>);

// SAFETY: under the lock, threads have either shared references, as `T: Sync` allows, or one of them has an exclusive
// one, as `T: Send` allows.
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

    /// Changes the allocation while nobody else uses it.
    fn change<T>(&self, change: impl FnOnce(&mut ResourceAllocation) -> T) -> T {
        let _lock = self.lock.write().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: under the lock.
        change(unsafe { &mut *self.allocation.0.get() })
    }

    fn extras(&self) -> &Extras {
        self.extras.get_or_init(Box::default)
    }
}

/// Number of released objects whose memory a thread keeps for its next ones.
const MAX_SPARE: usize = 64;

thread_local! {
    /// Memory of released objects: programs create and release more of these than of all others, and a heap takes
    /// longer.
    static SPARE: RefCell<Vec<Memory<Allocation>>> = const { RefCell::new(Vec::new()) };
}

impl Drop for Allocation {
    #[inline]
    fn drop(&mut self) {
        if let Some(extras) = self.extras.get_mut() {
            let mapped = *extras.mapped.get_mut();
            if mapped != 0 {
                tracing::warn!(
                    "IResourceAllocation: released while mapped; Unmap calls that are missing: {mapped}"
                );
                self.allocation.0.get_mut().release_mappings(mapped);
            }
            // Before the memory becomes available to others.
            *extras.memory.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

static METHODS: Methods<10> = Methods::of::<Allocation>([
    get_debug_name::<Allocation> as *const (),
    set_debug_name::<Allocation> as *const (),
    map as *const (),
    unmap as *const (),
    get_resource as *const (),
    get_gpu_virtual_address as *const (),
    get_offset_from_resource as *const (),
    get_info as *const (),
    get_memory as *const (),
    get_resource_allocator as *const (),
]);

const IID_RESOURCE_ALLOCATION: GUID = GUID::from_u128(0xd7682f15_c4ae_47d2_93b7_e81c5b9d2f45);

impl Body for Allocation {
    fn methods() -> *const c_void {
        METHODS.as_table()
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

impl Named for Allocation {
    const INTERFACE: &'static str = "IResourceAllocation";

    fn debug_name(&self) -> &DebugName {
        &self.extras().name
    }

    fn library_name(&self) -> Option<Arc<str>> {
        self.read().debug_name().map(Into::into)
    }

    fn set_library_name(&self, name: &str) -> Result<(), Error> {
        self.change(|allocation| allocation.set_debug_name(name))
    }
}

unsafe extern "system" fn map(
    this: This,
    subresource: u32,
    read_range: *const D3D12_RANGE,
    data_out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or a range, and null or writable space for a pointer.
    // The other duties are those of `Map` in D3D12, and the caller's. `Unmap` never unmaps more often than this maps,
    // and the allocation is not moved.
    unsafe {
        method(this, "IResourceAllocation::Map", |this: &Allocation| {
            let (read_range, out) = (read_range.as_ref().copied(), Out::new(data_out));
            let allocation = this.read();
            let address = allocation.map_subresource(subresource, read_range, !out.is_null())?;
            this.extras().mapped.fetch_add(1, Ordering::Relaxed);
            if let Some(address) = address {
                out.set(address.as_ptr().cast());
            }
            Ok(S_OK)
        })
    }
}

unsafe extern "system" fn unmap(this: This, subresource: u32, written_range: *const D3D12_RANGE) {
    // SAFETY: C++ calls the method of a live object, with null or a range. It is mapped: which subresource is the
    // caller's duty, as in D3D12.
    unsafe {
        getter(this, "IResourceAllocation::Unmap", |this: &Allocation| {
            let one_less = |mapped: u32| mapped.checked_sub(1);
            if this.extras().mapped.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_err() {
                tracing::error!("IResourceAllocation::Unmap: the allocation is not mapped");
                return;
            }
            this.read().unmap_subresource(subresource, written_range.as_ref().copied());
        });
    }
}

unsafe extern "system" fn get_resource(this: This) -> *mut c_void {
    let address = |this: &Allocation| this.read().resource().as_raw() as usize;
    // SAFETY: C++ calls the method of a live object.
    unsafe { getter(this, "IResourceAllocation::GetResource", address) as *mut c_void }
}

unsafe extern "system" fn get_gpu_virtual_address(this: This) -> u64 {
    let address = |this: &Allocation| this.read().gpu_virtual_address().map_or(0, |address| address.get());
    // SAFETY: C++ calls the method of a live object.
    unsafe { getter(this, "IResourceAllocation::GetGPUVirtualAddress", address) }
}

unsafe extern "system" fn get_offset_from_resource(this: This) -> u64 {
    let offset = |this: &Allocation| this.read().offset_from_resource().get();
    // SAFETY: C++ calls the method of a live object.
    unsafe { getter(this, "IResourceAllocation::GetOffsetFromResource", offset) }
}

returning!(get_info, AllocationInfo, |this| {
    let info = |this: &Allocation| this.read().info().into();
    // SAFETY: C++ calls the method of a live object.
    unsafe { getter(this, "IResourceAllocation::GetInfo", info) }
});

unsafe extern "system" fn get_memory(this: This) -> *mut c_void {
    let memory = |this: &Allocation| {
        let allocation = this.read();
        let mut memory = this.extras().memory.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.is_none() {
            match Heap::of_allocation(&allocation) {
                Ok(found) => *memory = Some(found),
                Err(error) => tracing::error!("IResourceAllocation::GetMemory: {error}"),
            }
        }
        memory.as_ref().map_or(0, |memory| memory.as_raw() as usize)
    };
    // SAFETY: C++ calls the method of a live object.
    unsafe { getter(this, "IResourceAllocation::GetMemory", memory) as *mut c_void }
}

unsafe extern "system" fn get_resource_allocator(this: This, out: *mut *mut c_void) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or writable space for a pointer.
    unsafe {
        method(this, "IResourceAllocation::GetResourceAllocator", |this: &Allocation| {
            let out = Out::new(out);
            let gone = || Failure::Refused(E_FAIL, "the allocator was released".into());
            Ok(out.give(Allocator::of(this.read().allocator().ok_or_else(gone)?)))
        })
    }
}
