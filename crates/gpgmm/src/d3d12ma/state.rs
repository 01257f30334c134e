//! What the objects of an allocator share, and the list of its allocations.
//!
//! An allocation is in one of several shards, by the thread that creates it, so that threads do not wait for each
//! other. Creating and releasing one takes the lock of its shard once.

use std::alloc::Layout;
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use heapwright::d3d12::*;
use heapwright::{Architecture, ByteSize, ResourceAllocator, SegmentGroup, VideoMemoryInfo};

use super::allocation::{Allocation, Contents, RELEASED, lock};
use super::host_memory::HostMemory;
use super::pool::PoolState;
use super::statistics::{Statistics, count};
use crate::call::Fallible;
use crate::object::{Object, Reference};

/// What the objects of an allocator share. They are released in any order.
pub(super) struct State {
    pub(super) allocator: ResourceAllocator,
    pub(super) adapter: Option<IDXGIAdapter3>,
    pub(super) adapter_desc: DXGI_ADAPTER_DESC,
    pub(super) options: D3D12_FEATURE_DATA_D3D12_OPTIONS,
    /// `ALLOCATOR_DESC::Flags`.
    pub(super) flags: u32,
    pub(super) host: HostMemory,
    pub(super) frame: AtomicU32,
    pub(super) pools: Mutex<Vec<Weak<PoolState>>>,
    pub(super) shards: [Mutex<Shard>; SHARDS as usize],
}

const SHARDS: u32 = 16;
/// The number of allocations for which memory is allocated at once.
const CHUNK: u32 = 32;

#[derive(Default)]
pub(super) struct Shard {
    slots: Vec<Slot>,
    vacant: Vec<u32>,
    chunks: Vec<NonNull<c_void>>,
    /// Number and bytes of the allocations in each segment group.
    live: [(u64, u64); SegmentGroup::ALL.len()],
    /// Keeps the state while allocations are live; and while the allocator is, so that not each of few allocations
    /// changes the count.
    state: Option<Arc<State>>,
    is_orphaned: bool,
}

/// Memory for an allocation.
struct Slot {
    object: NonNull<Object<Allocation>>,
    is_live: bool,
}

/// The place of an allocation: shard and slot.
#[derive(Clone, Copy)]
pub(super) struct Place(u32, u32);

// SAFETY: the pointers are to memory that the shard owns, with objects that are `Send`.
unsafe impl Send for Shard {}

impl State {
    /// Creates the object of an allocation.
    pub(super) fn enter(
        self: &Arc<Self>,
        data: usize,
        contents: Contents,
    ) -> Fallible<Reference<Allocation>> {
        Ok(self.vacancy()?.occupy(data, contents))
    }

    /// Returns memory for an allocation.
    #[inline(always)]
    pub(super) fn vacancy(self: &Arc<Self>) -> Fallible<Vacancy<'_>> {
        thread_local! {
            static SHARD: Cell<u32> = const { Cell::new(SHARDS) };
        }
        let number = SHARD.with(|shard| {
            static NEXT: AtomicU32 = AtomicU32::new(0);
            if shard.get() == SHARDS {
                shard.set(NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS);
            }
            shard.get() % SHARDS
        });
        let mut shard = lock(&self.shards[number as usize]);
        let index = match shard.vacant.last() {
            Some(&index) => index,
            None => shard.grow(self.host)?,
        };
        let object = shard.slots[index as usize].object;
        Ok(Vacancy { state: self, shard, place: Place(number, index), object })
    }

    /// Destroys the object of an allocation.
    ///
    /// # Safety
    ///
    /// As [`Body::destroy`](crate::object::Body::destroy).
    #[inline]
    pub(super) unsafe fn leave(object: NonNull<Object<Allocation>>) {
        // SAFETY: the object is alive, and with it the state, which its shard keeps until it is unlocked below.
        let (state, Place(number, index)) =
            unsafe { (&*object.as_ref().body.state(), object.as_ref().body.place) };
        let mut shard = lock(&state.shards[number as usize]);
        shard.slots[index as usize].is_live = false;
        shard.vacant.push(index);
        // SAFETY: nobody uses the object any more; those who visit all take the lock. The contents are not read again.
        let contents = unsafe {
            object.cast().write(RELEASED.as_table());
            (*object.as_ptr()).body.take_contents()
        };
        let live = &mut shard.live[contents.group.index()];
        *live = (live.0 - 1, live.1 - contents.size);
        let needless = shard.state_if_needless();
        // Without the lock: the device may be called, and the state may be gone.
        drop(shard);
        drop(contents);
        drop(needless);
    }

    /// Lets the allocations that are live keep the state, and nothing else.
    pub(super) fn orphan(&self) {
        for shard in &self.shards {
            let mut shard = lock(shard);
            shard.is_orphaned = true;
            let needless = shard.state_if_needless();
            drop(shard);
            drop(needless);
        }
    }

    /// Calls a function with each live allocation. No shard may be locked.
    pub(super) fn visit(&self, mut visit: impl FnMut(&Object<Allocation>)) {
        for shard in &self.shards {
            let shard = lock(shard);
            for slot in shard.slots.iter().filter(|slot| slot.is_live) {
                // SAFETY: the object is live, and stays so while the lock is held.
                visit(unsafe { slot.object.as_ref() });
            }
        }
    }

    /// Returns a reference to the allocation in a place, if one is live.
    pub(super) fn reference_to(&self, Place(number, index): Place) -> Option<Reference<Allocation>> {
        let shard = lock(&self.shards[number as usize]);
        let slot = shard.slots.get(index as usize).filter(|slot| slot.is_live)?;
        // SAFETY: the object is not freed while the lock is held.
        unsafe { Reference::add_unless_released(slot.object.cast()) }
    }

    /// Returns the statistics of a segment group, from the books.
    pub(super) fn statistics_of(&self, group: SegmentGroup) -> Statistics {
        let of = |shard: &Mutex<Shard>| lock(shard).live[group.index()];
        let live = self.shards.iter().map(of).fold((0, 0), |sum, live| (sum.0 + live.0, sum.1 + live.1));
        let held = self.allocator.held_in(group);
        Statistics {
            block_count: count(held.count),
            allocation_count: count(live.0),
            block_bytes: held.size.get(),
            allocation_bytes: live.1,
        }
    }

    /// Keeps memory of the program's source until nothing is left.
    pub(super) fn keep(&self, memory: NonNull<c_void>) {
        lock(&self.shards[0]).chunks.push(memory);
    }

    pub(super) fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// Returns whether resources have tight alignment by default.
    pub(super) fn is_tight(&self) -> bool {
        let flags = self.allocator.desc().flags;
        self.allocator.caps().tight_alignment_tier > 0
            && !flags.contains(heapwright::ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT)
    }

    /// Returns usage and budget of the process in a segment group: the adapter's, or an estimate.
    pub(super) fn usage_and_budget(&self, group: SegmentGroup) -> (u64, u64) {
        let known = self.adapter.as_ref().and_then(|adapter| VideoMemoryInfo::query(adapter, group).ok());
        match known {
            Some(info) => (info.current_usage.get(), info.budget.get()),
            None => (self.allocator.held_in(group).size.get(), self.capacity(group) / 5 * 4),
        }
    }

    /// Returns the bytes of a segment group's memory.
    pub(super) fn capacity(&self, group: SegmentGroup) -> u64 {
        let desc = &self.adapter_desc;
        let [own, shared] = [desc.DedicatedVideoMemory, desc.SharedSystemMemory].map(ByteSize::from_usize);
        match (self.allocator.caps().architecture, group) {
            (Architecture::Discrete, SegmentGroup::Local) => own.get(),
            (Architecture::Discrete, SegmentGroup::NonLocal) => shared.get(),
            (_, SegmentGroup::Local) => own.saturating_add(shared).get(),
            (_, SegmentGroup::NonLocal) => 0,
        }
    }

    /// Returns the pools, without those that are gone.
    pub(super) fn pools(&self) -> Vec<Arc<PoolState>> {
        lock(&self.pools).iter().filter_map(Weak::upgrade).collect()
    }
}

/// Memory for an allocation, in a shard that is locked. Dropped, it stays vacant.
pub(super) struct Vacancy<'a> {
    state: &'a Arc<State>,
    shard: MutexGuard<'a, Shard>,
    place: Place,
    object: NonNull<Object<Allocation>>,
}

impl Vacancy<'_> {
    /// Creates the object of an allocation.
    #[inline(always)]
    pub(super) fn occupy(mut self, data: usize, contents: Contents) -> Reference<Allocation> {
        let Place(_, index) = self.place;
        self.shard.vacant.pop();
        self.shard.slots[index as usize].is_live = true;
        let live = &mut self.shard.live[contents.group.index()];
        *live = (live.0 + 1, live.1 + contents.size);
        if self.shard.state.is_none() {
            self.shard.state = Some(Arc::clone(self.state));
        }
        // SAFETY: the slot was vacant, and is memory for an object; the body is written at once.
        unsafe {
            let (reference, body) = Reference::at(self.object);
            body.write(Allocation::new(Arc::as_ptr(self.state), self.place, contents, data));
            reference
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        for shard in &mut self.shards {
            for chunk in &shard.get_mut().unwrap_or_else(PoisonError::into_inner).chunks {
                // SAFETY: it is `grow`'s memory. No allocation is live, because it would keep the state.
                unsafe { self.host.free(chunk.as_ptr()) };
            }
        }
    }
}

impl Shard {
    /// Adds memory for allocations, and returns the slot of the next one.
    #[cold]
    fn grow(&mut self, host: HostMemory) -> Fallible<u32> {
        let chunk = host.allocate(Layout::new::<[Object<Allocation>; CHUNK as usize]>())?;
        let first = count(self.slots.len() as u64);
        for slot in 0..CHUNK {
            // SAFETY: the chunk has so many.
            let object = unsafe { chunk.cast::<Object<Allocation>>().add(slot as usize) };
            self.slots.push(Slot { object, is_live: false });
        }
        self.vacant.extend((first..first + CHUNK).rev());
        self.chunks.push(chunk);
        Ok(first)
    }

    /// Takes the reference to the state that is no longer needed, to be dropped without the lock.
    fn state_if_needless(&mut self) -> Option<Arc<State>> {
        let is_empty = self.live.iter().all(|&(number, _)| number == 0);
        if self.is_orphaned && is_empty { self.state.take() } else { None }
    }
}
