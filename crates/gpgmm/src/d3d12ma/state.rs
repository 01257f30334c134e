//! What the objects of an allocator share, and the list of its allocations.
//!
//! An allocation is in one of several shards, by the thread that creates it, so that threads do not wait for each
//! other. Creating and releasing one takes the lock of its shard once.

use std::alloc::Layout;
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use heapwright::d3d12::*;
use heapwright::{Architecture, ByteSize, ResourceAllocator, SegmentGroup, VideoMemoryInfo};

use super::allocation::{Allocation, Contents, RELEASED, lock};
use super::host_memory::HostMemory;
use super::pool::PoolState;
use crate::failure::Fallible;
use crate::object::{Object, Reference};

/// What the objects of an allocator share. They are released in any order.
pub(super) struct State {
    pub(super) allocator: ResourceAllocator,
    pub(super) adapter: Option<IDXGIAdapter3>,
    pub(super) adapter_desc: DXGI_ADAPTER_DESC,
    pub(super) options: D3D12_FEATURE_DATA_D3D12_OPTIONS,
    /// `ALLOCATOR_DESC::Flags`.
    pub(super) flags: u32,
    /// Whether resources have tight alignment by default.
    pub(super) is_tight: bool,
    pub(super) host: HostMemory,
    pub(super) frame: AtomicU32,
    pub(super) pools: Mutex<Vec<Weak<PoolState>>>,
    pub(super) shards: [Mutex<Shard>; SHARDS as usize],
}

const SHARDS: u32 = 16;
/// The number of allocations for which memory is allocated at once.
const CHUNK: usize = 32;

#[derive(Default)]
pub(super) struct Shard {
    /// Memory for [`CHUNK`] objects each. The count is zero where no allocation is.
    chunks: Vec<NonNull<Object<Allocation>>>,
    vacant: Vec<NonNull<Object<Allocation>>>,
    kept: Vec<NonNull<c_void>>,
    /// Keeps the state while allocations are live; and while the allocator is, so that not each of few allocations
    /// changes the count.
    state: Option<Arc<State>>,
    is_orphaned: bool,
}

/// The shard of an allocation, and the place in its memory, which may have another one later.
pub(super) type Place = (u32, NonNull<Object<Allocation>>);

// SAFETY: the pointers are to memory that the shard owns, with objects that are `Send`.
unsafe impl Send for Shard {}

impl State {
    /// Creates the object of an allocation, with what `contents` returns.
    // Within its callers: to move the contents takes longer than all else here.
    #[inline(always)]
    pub(super) fn enter(
        self: &Arc<Self>,
        data: usize,
        contents: impl FnOnce() -> Contents,
    ) -> Fallible<Reference<Allocation>> {
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
        let vacant = match shard.vacant.pop() {
            Some(vacant) => vacant,
            None => shard.grow(self.host)?,
        };
        if shard.state.is_none() {
            shard.state = Some(Arc::clone(self));
        }
        // SAFETY: it is memory for an object; the body is written at once.
        unsafe {
            let (reference, body) = Reference::at(vacant);
            Allocation::write(body, (Arc::as_ptr(self), number), data, contents);
            Ok(reference)
        }
    }

    /// Gives up a reference to an allocation, and returns how many are left.
    ///
    /// # Safety
    ///
    /// The object is alive, and the caller has the reference.
    #[inline]
    pub(super) unsafe fn release(object: NonNull<Object<Allocation>>) -> u32 {
        // SAFETY: the object is alive, and with it the state, which its shard keeps until it is unlocked below.
        let (state, count) = unsafe { (&*object.as_ref().body.state, &object.as_ref().count) };
        // SAFETY: as above.
        let mut shard = lock(&state.shards[unsafe { object.as_ref() }.body.shard as usize]);
        // References are given up under the lock alone, and without one nobody else adds another.
        if count.load(Ordering::Relaxed) != 1 {
            return count.fetch_sub(1, Ordering::Relaxed).wrapping_sub(1);
        }
        count.store(0, Ordering::Relaxed);
        shard.vacant.push(object);
        let _needless = shard.state_if_needless();
        // SAFETY: nobody uses the object any more; those who visit all take the lock. The contents are not read again.
        let _contents = unsafe {
            object.cast().write(RELEASED.as_table());
            object.as_ref().body.contents.get().read()
        };
        // The others are dropped without the lock, the contents first: the device may be called, and the state may be
        // gone.
        drop(shard);
        0
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
    pub(super) fn visit(&self, mut visit: impl FnMut(Place, &Allocation)) {
        for (number, shard) in (0..).zip(&self.shards) {
            let shard = lock(shard);
            for chunk in &shard.chunks {
                for slot in 0..CHUNK {
                    // SAFETY: the chunk has so many. A live object stays so while the lock is held.
                    unsafe {
                        let object = chunk.add(slot);
                        if (*object.as_ptr()).count.load(Ordering::Relaxed) != 0 {
                            visit((number, object), &object.as_ref().body);
                        }
                    }
                }
            }
        }
    }

    /// Returns a reference to the allocation in a place, if one is live.
    pub(super) fn reference_to(&self, (shard, object): Place) -> Option<Reference<Allocation>> {
        let _shard = lock(&self.shards[shard as usize]);
        // SAFETY: the memory is the shard's, and a live object is not released while the lock is held.
        unsafe { Reference::add_unless_released(object.cast()) }
    }

    /// Keeps memory of the program's source until nothing is left.
    pub(super) fn keep(&self, memory: NonNull<c_void>) {
        lock(&self.shards[0]).kept.push(memory);
    }

    pub(super) fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
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

impl Drop for State {
    fn drop(&mut self) {
        for shard in &mut self.shards {
            let shard = shard.get_mut().unwrap_or_else(PoisonError::into_inner);
            let chunks = shard.chunks.iter().map(|chunk| chunk.cast());
            for memory in chunks.chain(shard.kept.iter().copied()) {
                // SAFETY: it is from this source. No allocation is live, because it would keep the state.
                unsafe { self.host.free(memory.as_ptr()) };
            }
        }
    }
}

impl Shard {
    /// Adds memory for allocations, and returns that for one.
    #[cold]
    fn grow(&mut self, host: HostMemory) -> Fallible<NonNull<Object<Allocation>>> {
        let chunk = host.allocate(Layout::new::<[Object<Allocation>; CHUNK]>())?.cast();
        self.chunks.push(chunk);
        // Releasing an allocation never allocates.
        self.vacant.reserve(self.chunks.len() * CHUNK);
        for slot in (0..CHUNK).rev() {
            // SAFETY: the chunk has so many.
            unsafe {
                let object = chunk.add(slot);
                (&raw mut (*object.as_ptr()).count).write(AtomicU32::new(0));
                self.vacant.push(object);
            }
        }
        self.vacant.pop();
        Ok(chunk)
    }

    /// Takes the reference to the state that is no longer needed, to be dropped without the lock.
    #[inline]
    fn state_if_needless(&mut self) -> Option<Arc<State>> {
        if self.is_orphaned && self.vacant.len() == self.chunks.len() * CHUNK {
            self.state.take()
        } else {
            None
        }
    }
}
