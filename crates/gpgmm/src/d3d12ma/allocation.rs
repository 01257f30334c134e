//! Allocation.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heapwright::d3d12::*;
use heapwright::defragmentation::Move;
use heapwright::{
    AllocationId, HeapOffset, MemoryAllocation, ResourceAllocation, ResourceDesc, SegmentGroup,
};
use windows_core::{GUID, IUnknown, Interface};

use super::pool::PoolState;
use super::state::{Place, State};
use crate::call::{Failure, Fallible};
use crate::debug_name::{self, WideChar, address_of};
use crate::object::{Body, Methods, Object, methods, nothing};
use crate::residency_heap::Heap;

/// The body of an Allocation.
pub(crate) struct Allocation {
    /// A shard of the state keeps it as long as the allocation is live.
    state: *const State,
    pub(super) place: Place,
    pub(super) private_data: AtomicUsize,
    contents: Mutex<Contents>,
}

// SAFETY: the pointer is to a state, which is `Send` and `Sync`.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

/// What an allocation has.
// Fields are dropped in order: the resource before the memory that it is placed in.
pub(super) struct Contents {
    pub(super) resource: OwnResource,
    pub(super) memory: Memory,
    pub(super) name: Option<Box<[WideChar]>>,
    /// The pool whose totals do not count it, because it is committed.
    pub(super) pool: Option<Arc<PoolState>>,
    pub(super) size: u64,
    pub(super) group: SegmentGroup,
}

/// The memory of an allocation.
pub(super) enum Memory {
    /// As the library created it: with its resource.
    Resource(ResourceAllocation),
    /// A range of a heap, in which the resource is placed if there is one.
    Range(MemoryAllocation),
    /// The target of a move, which the defragmentation has.
    Target(Arc<Mutex<Option<Move>>>),
    /// Only while it is changed.
    None,
}

/// The resource of an allocation.
pub(super) enum OwnResource {
    /// That of the memory.
    OfMemory,
    /// Another one, or none.
    Set(Option<ID3D12Resource>),
}

impl Contents {
    #[inline(always)]
    pub(super) fn new(memory: Memory, resource: OwnResource, size: u64, group: SegmentGroup) -> Self {
        Self { memory, resource, name: None, pool: None, size, group }
    }

    pub(super) fn resource(&self) -> Option<&ID3D12Resource> {
        match (&self.resource, &self.memory) {
            (OwnResource::Set(resource), _) => resource.as_ref(),
            (OwnResource::OfMemory, Memory::Resource(allocation)) => Some(allocation.resource()),
            (OwnResource::OfMemory, _) => None,
        }
    }

    /// Returns the address of the heap and the offset in it, unless it is committed.
    pub(super) fn heap(&self) -> Option<(usize, u64)> {
        let place = |(heap, offset): (&ID3D12Heap, HeapOffset)| (heap.as_raw() as usize, offset.get());
        match &self.memory {
            Memory::Resource(allocation) => allocation.heap().map(|heap| place((heap, allocation.offset()))),
            Memory::Range(memory) => Some(place((memory.heap(), memory.offset()))),
            Memory::Target(planned) => lock(planned).as_ref()?.destination().map(place),
            Memory::None => None,
        }
    }

    pub(super) fn id(&self) -> Option<AllocationId> {
        match &self.memory {
            Memory::Resource(allocation) => Some(allocation.id()),
            Memory::Range(memory) => Some(memory.id()),
            Memory::Target(_) | Memory::None => None,
        }
    }

    /// Separates the resource from its memory, unless it is committed.
    fn range(&mut self) -> Fallible<&mut MemoryAllocation> {
        if let Memory::Resource(_) = &self.memory {
            if let Memory::Resource(allocation) = std::mem::replace(&mut self.memory, Memory::None) {
                match (allocation.into_memory(), &self.resource) {
                    (Ok((memory, resource)), OwnResource::OfMemory) => {
                        (self.memory, self.resource) =
                            (Memory::Range(memory), OwnResource::Set(Some(resource)));
                    }
                    (Ok((memory, _replaced)), OwnResource::Set(_)) => self.memory = Memory::Range(memory),
                    (Err(committed), _) => self.memory = Memory::Resource(*committed),
                }
            }
        }
        match &mut self.memory {
            Memory::Range(memory) => Ok(memory),
            _ => Err(Failure::invalid_argument("the allocation is committed")),
        }
    }

    /// Creates a resource in the memory.
    pub(super) fn place(&mut self, at: HeapOffset, resource: &ResourceDesc<'_>) -> Fallible<ID3D12Resource> {
        if let Memory::Target(planned) = &self.memory {
            let ended = || Failure::invalid_argument("pAllocation: the pass has ended");
            return Ok(lock(planned).as_ref().ok_or_else(ended)?.place(at, *resource)?);
        }
        Ok(self.range()?.create_resource(at, *resource)?)
    }

    /// Completes a move: the memory is that of the target.
    pub(super) fn complete(&mut self, planned: Move) -> Fallible<()> {
        Ok(planned.complete_memory(self.range()?)?)
    }
}

impl Drop for Contents {
    fn drop(&mut self) {
        if let Some(pool) = &self.pool {
            pool.count_committed(self.size, false);
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Allocation {
    #[inline(always)]
    pub(super) fn new(state: *const State, place: Place, contents: Contents, private_data: usize) -> Self {
        Self { state, place, private_data: AtomicUsize::new(private_data), contents: Mutex::new(contents) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Contents> {
        lock(&self.contents)
    }

    /// Returns the state, which lives as long as the allocation.
    pub(super) fn state(&self) -> *const State {
        self.state
    }

    /// Takes the contents out.
    ///
    /// # Safety
    ///
    /// The allocation is not used again.
    #[inline(always)]
    pub(super) unsafe fn take_contents(&mut self) -> Contents {
        let contents = self.contents.get_mut().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the caller's promise: they are not dropped again.
        unsafe { std::ptr::from_mut(contents).read() }
    }
}

impl Body for Allocation {
    fn methods() -> *const c_void {
        METHODS.as_table()
    }

    const INTERFACES: &'static [GUID] = &[];

    /// A defragmentation finds it while it may be released.
    const IS_REGISTERED: bool = true;

    /// The memory, as the residency manager knows it, is an IResidencyHeap.
    fn inner_object(&self) -> Option<IUnknown> {
        let memory = match &self.lock().memory {
            Memory::Resource(allocation) => allocation.memory_reference(),
            Memory::Range(memory) => memory.memory_reference(),
            Memory::Target(planned) => lock(planned).as_ref()?.destination_memory_reference(),
            Memory::None => None,
        };
        Some(Heap::of_memory(memory?).into_unknown())
    }

    #[inline]
    unsafe fn destroy(object: NonNull<Object<Self>>) {
        // SAFETY: the caller's promise.
        unsafe { State::leave(object) };
    }
}

/// The methods of an allocation that was released, until another one has its memory.
pub(super) static RELEASED: Methods<10> = Methods::of_released([nothing as *const (); 10]);

methods!(METHODS, Allocation, "Allocation":
    getter GetOffset(this) -> u64 { this.lock().heap().map_or(0, |(_, offset)| offset) }
    getter GetAlignment(this) -> u64 {
        let contents = this.lock();
        match &contents.memory {
            Memory::Resource(allocation) => allocation.alignment().get(),
            Memory::Range(memory) => memory.alignment().get(),
            // A multiple of it are size and offset.
            _ => 1 << (contents.heap().map_or(0, |(_, offset)| offset) | contents.size).trailing_zeros().min(22),
        }
    }
    getter GetSize(this) -> u64 { this.lock().size }
    getter GetResource(this) -> usize { this.lock().resource().map_or(0, |resource| resource.as_raw() as usize) }
    getter SetResource(this, resource: *mut c_void) -> () {
        let resource = ID3D12Resource::from_raw_borrowed(&resource).cloned();
        let mut contents = this.lock();
        // Committed, it keeps the one that it was created with, too.
        let _ = contents.range();
        let previous = std::mem::replace(&mut contents.resource, OwnResource::Set(resource));
        // The device is called without the lock.
        drop(contents);
        drop(previous);
    }
    getter GetHeap(this) -> usize { this.lock().heap().map_or(0, |(heap, _)| heap) }
    getter SetPrivateData(this, data: usize) -> () { this.private_data.store(data, Ordering::Relaxed) }
    getter GetPrivateData(this) -> usize { this.private_data.load(Ordering::Relaxed) }
    getter SetName(this, name: *const WideChar) -> () {
        let (name, mut contents) = (debug_name::text(name), this.lock());
        let label = name.as_deref().unwrap_or_default();
        match &mut contents.memory {
            Memory::Resource(allocation) => allocation.set_label(label),
            Memory::Range(memory) => memory.set_debug_name(label),
            Memory::Target(_) | Memory::None => {}
        }
        contents.name = name.map(|name| debug_name::encode(&name));
    }
    getter GetName(this) -> usize { address_of(&this.lock().name) }
);
