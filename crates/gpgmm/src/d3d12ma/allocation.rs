//! Allocation.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heapwright::d3d12::*;
use heapwright::defragmentation::Move;
use heapwright::{
    Alignment, AllocationId, ByteSize, HeapOffset, MemoryAllocation, ResourceAllocation, ResourceDesc,
};
use windows_core::{IUnknown, Interface};

use super::pool::PoolState;
use super::state::State;
use crate::call;
use crate::debug_name::{self, WideChar, address_of};
use crate::failure::{Failure, Fallible};
use crate::object::{Body, Methods, This, methods, nothing};
use crate::residency_heap::Heap;

/// The body of an Allocation.
pub(crate) struct Allocation {
    /// A shard of the state keeps it as long as the allocation is live.
    pub(super) state: *const State,
    /// The number of that shard.
    pub(super) shard: u32,
    pub(super) private_data: AtomicUsize,
    /// Borrowed under the lock alone. Not within it, because they could only be moved there, which takes longer than
    /// the rest.
    pub(super) contents: UnsafeCell<Contents>,
    lock: Mutex<()>,
}

// SAFETY: the pointer is to a state, which is `Send` and `Sync`, and so are the contents.
unsafe impl Send for Allocation {}
// SAFETY: as above; one thread at a time borrows the contents.
unsafe impl Sync for Allocation {}

/// What an allocation has.
// Fields are dropped in order: the resource before the memory that it is placed in.
pub(super) struct Contents {
    pub(super) resource: OwnResource,
    pub(super) memory: Memory,
    pub(super) name: Option<Box<[WideChar]>>,
    /// The pool whose totals do not count it, because it is committed.
    pub(super) pool: Option<Arc<PoolState>>,
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
    pub(super) fn new(memory: Memory, resource: OwnResource, pool: Option<Arc<PoolState>>) -> Self {
        Self { memory, resource, name: None, pool }
    }

    pub(super) fn resource(&self) -> Option<&ID3D12Resource> {
        match (&self.resource, &self.memory) {
            (OwnResource::Set(resource), _) => resource.as_ref(),
            (OwnResource::OfMemory, Memory::Resource(allocation)) => Some(allocation.resource()),
            (OwnResource::OfMemory, _) => None,
        }
    }

    /// Returns what the library says of the memory; of the target of a move, `None`.
    fn known<T>(
        &self,
        of_resource: impl FnOnce(&ResourceAllocation) -> T,
        of_range: impl FnOnce(&MemoryAllocation) -> T,
    ) -> Option<T> {
        match &self.memory {
            Memory::Resource(allocation) => Some(of_resource(allocation)),
            Memory::Range(memory) => Some(of_range(memory)),
            Memory::Target(_) | Memory::None => None,
        }
    }

    /// Returns what the planned move says, if the memory is its target.
    fn planned<T>(&self, of_target: impl FnOnce(&Move) -> Option<T>) -> Option<T> {
        match &self.memory {
            Memory::Target(planned) => of_target(lock(planned).as_ref()?),
            _ => None,
        }
    }

    /// Returns the address of the heap and the offset in it, unless it is committed.
    pub(super) fn heap(&self) -> Option<(usize, u64)> {
        let place = |(heap, offset): (&ID3D12Heap, HeapOffset)| (heap.as_raw() as usize, offset.get());
        self.known(
            |it| it.heap().map(|heap| place((heap, it.offset()))),
            |it| Some(place((it.heap(), it.offset()))),
        )
        .unwrap_or_else(|| self.planned(|planned| planned.destination().map(place)))
    }

    pub(super) fn size(&self) -> u64 {
        let known = self.known(ResourceAllocation::size, MemoryAllocation::size);
        known.or_else(|| self.planned(|planned| Some(planned.size()))).map_or(0, ByteSize::get)
    }

    pub(super) fn id(&self) -> Option<AllocationId> {
        self.known(ResourceAllocation::id, MemoryAllocation::id)
    }

    fn alignment(&self) -> u64 {
        let known = self.known(ResourceAllocation::alignment, MemoryAllocation::alignment);
        // Size and offset of a target are multiples of it.
        let offset_or_size = || self.heap().map_or(0, |(_, offset)| offset) | self.size();
        known.map_or_else(|| 1 << offset_or_size().trailing_zeros().min(22), Alignment::get)
    }

    /// Separates the resource from its memory, unless it is committed.
    fn range(&mut self) -> Fallible<&mut MemoryAllocation> {
        self.memory = match std::mem::replace(&mut self.memory, Memory::None) {
            Memory::Resource(allocation) => match allocation.into_memory() {
                Ok((memory, resource)) => {
                    if let OwnResource::OfMemory = self.resource {
                        self.resource = OwnResource::Set(Some(resource));
                    }
                    Memory::Range(memory)
                }
                Err(committed) => Memory::Resource(*committed),
            },
            other => other,
        };
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

    fn set_name(&mut self, name: Option<String>) {
        let label = name.as_deref().unwrap_or_default();
        match &mut self.memory {
            Memory::Resource(allocation) => allocation.set_label(label),
            Memory::Range(memory) => memory.set_debug_name(label),
            Memory::Target(_) | Memory::None => {}
        }
        self.name = name.map(|name| debug_name::encode(&name));
    }

    /// Completes a move: the memory is that of the target.
    pub(super) fn complete(&mut self, planned: Move) -> Fallible<()> {
        Ok(planned.complete_memory(self.range()?)?)
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Allocation {
    /// Writes an allocation of a shard.
    ///
    /// # Safety
    ///
    /// The place is writable.
    #[inline(always)]
    pub(super) unsafe fn write(
        place: *mut Self,
        (state, shard): (*const State, u32),
        private_data: usize,
        contents: impl FnOnce() -> Contents,
    ) {
        // SAFETY: the caller's promise. One by one, so that the contents, which are large, are moved once.
        unsafe {
            (&raw mut (*place).state).write(state);
            (&raw mut (*place).shard).write(shard);
            (&raw mut (*place).private_data).write(AtomicUsize::new(private_data));
            (&raw mut (*place).lock).write(Mutex::new(()));
            (&raw mut (*place).contents).cast::<Contents>().write(contents());
        }
    }

    /// Calls a function with the contents, which nobody else uses meanwhile.
    pub(super) fn with<T>(&self, run: impl FnOnce(&mut Contents) -> T) -> T {
        let _lock = lock(&self.lock);
        // SAFETY: under the lock.
        run(unsafe { &mut *self.contents.get() })
    }
}

impl Body for Allocation {
    fn methods() -> *const c_void {
        METHODS.as_table()
    }

    const RELEASE: unsafe extern "system" fn(This) -> u32 = release;

    /// The memory, as the residency manager knows it, is an IResidencyHeap.
    fn inner_object(&self) -> Option<IUnknown> {
        let memory = self.with(|contents| {
            let known =
                contents.known(ResourceAllocation::memory_reference, MemoryAllocation::memory_reference);
            known.unwrap_or_else(|| contents.planned(Move::destination_memory_reference))
        });
        Some(Heap::of_memory(memory?).into_unknown())
    }
}

unsafe extern "system" fn release(this: This) -> u32 {
    // SAFETY: C++ calls the method of a live object, to give up a reference.
    call::value("Allocation::Release", || unsafe { State::release(NonNull::new_unchecked(this.cast())) })
}

/// The methods of an allocation that was released, until another one has its memory.
pub(super) static RELEASED: Methods<10> = Methods::of_released([nothing as *const (); 10]);

methods!(METHODS, Allocation, "Allocation":
    getter GetOffset(this) -> u64 { this.with(|contents| contents.heap().map_or(0, |(_, offset)| offset)) }
    getter GetAlignment(this) -> u64 { this.with(|contents| contents.alignment()) }
    getter GetSize(this) -> u64 { this.with(|contents| contents.size()) }
    getter GetResource(this) -> usize {
        this.with(|contents| contents.resource().map_or(0, |resource| resource.as_raw() as usize))
    }
    getter SetResource(this, resource: *mut c_void) -> () {
        let resource = ID3D12Resource::from_raw_borrowed(&resource).cloned();
        let previous = this.with(|contents| {
            // Committed, it keeps the one that it was created with, too.
            let _ = contents.range();
            std::mem::replace(&mut contents.resource, OwnResource::Set(resource))
        });
        // The device is called without the lock.
        drop(previous);
    }
    getter GetHeap(this) -> usize { this.with(|contents| contents.heap().map_or(0, |(heap, _)| heap)) }
    getter SetPrivateData(this, data: usize) -> () { this.private_data.store(data, Ordering::Relaxed) }
    getter GetPrivateData(this) -> usize { this.private_data.load(Ordering::Relaxed) }
    getter SetName(this, name: *const WideChar) -> () {
        let name = debug_name::text(name);
        this.with(|contents| contents.set_name(name));
    }
    getter GetName(this) -> usize { this.with(|contents| address_of(&contents.name)) }
);
