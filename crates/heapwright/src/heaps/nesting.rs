//! The state that nested allocators share.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use heapwright_core::placement::{HeapPool, HeapPooling};

use super::engine_desc::fixed_heap_size;
use super::typed_heaps::TypedHeaps;
use crate::desc::{EmptyHeapPolicy, ResourceAllocatorDesc, ResourceAllocatorFlags};
use crate::source::{Accounts, Heap};

/// The allocator, as its heaps see it: the only way by which they call what is above them.
pub(crate) trait Owner: Any + fmt::Debug + Send + Sync {
    /// Returns its own heaps and those of its pools.
    fn all_heaps(&self) -> Vec<Arc<TypedHeaps>>;

    /// Creates its own heaps of the kind with this index, if they do not exist.
    fn make_kind(&self, index: usize);

    /// Returns the memory of empty backing buffers to the heaps.
    fn release_unused_buffers(&self);

    /// Counts a frame of the allocator that this one is nested in.
    fn pass_frame_of_parent(&self);

    /// Sets the time that was told to the allocator that this one is nested in, and releases idle memory.
    fn tell_time_of_parent(&self, time: Duration);

    /// Reads the clock, and releases memory that was not used for too long.
    fn release_idle(&self);
}

/// An allocator, its nested allocators, and the state that they share.
#[derive(Debug)]
pub(crate) struct Nesting {
    /// The outermost allocator. It decides how empty heaps are pooled, and pooled heaps are charged to it.
    root: Weak<dyn Owner>,
    root_desc: ResourceAllocatorDesc,
    root_accounts: Arc<Accounts>,
    kinds: Box<[OnceLock<SharedKind>]>,
    members: Mutex<Vec<Member>>,
}

/// An allocator, and the one that it is nested in.
#[derive(Debug)]
struct Member {
    owner: Weak<dyn Owner>,
    parent: Option<Weak<dyn Owner>>,
}

/// The state that the heaps of one kind share with those of the other allocators.
#[derive(Debug, Clone)]
pub(crate) struct SharedKind {
    pub(crate) spare: Arc<SpareHeaps>,
    pub(crate) siblings: Arc<Siblings<TypedHeaps>>,
}

impl Nesting {
    /// Creates the state of an outermost allocator with `kind_count` kinds of heaps.
    pub(crate) fn of_root(
        desc: &ResourceAllocatorDesc,
        accounts: &Arc<Accounts>,
        root: &Weak<dyn Owner>,
        kind_count: usize,
    ) -> Arc<Self> {
        Arc::new(Self {
            root: Weak::clone(root),
            root_desc: desc.clone(),
            root_accounts: Arc::clone(accounts),
            kinds: (0..kind_count).map(|_| OnceLock::new()).collect(),
            members: Mutex::new(vec![Member { owner: Weak::clone(root), parent: None }]),
        })
    }

    fn members(&self) -> MutexGuard<'_, Vec<Member>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a member, and returns the shared state.
    pub(crate) fn joined(self: &Arc<Self>, owner: &Weak<dyn Owner>, parent: &Weak<dyn Owner>) -> Arc<Self> {
        let mut members = self.members();
        members.retain(|member| member.owner.strong_count() > 0);
        members.push(Member { owner: Weak::clone(owner), parent: Some(Weak::clone(parent)) });
        Arc::clone(self)
    }

    /// Returns the members that are nested in one, except those that are nested deeper.
    pub(crate) fn nested_in(&self, owner: &Weak<dyn Owner>) -> Vec<Arc<dyn Owner>> {
        let members = self.members();
        let nested =
            members.iter().filter(|member| member.parent.as_ref().is_some_and(|of| of.ptr_eq(owner)));
        nested.filter_map(|member| member.owner.upgrade()).collect()
    }

    /// Returns the outermost allocator, unless `member` is the outermost one.
    pub(crate) fn root_of(&self, member: &Weak<dyn Owner>) -> Option<Arc<dyn Owner>> {
        self.root.upgrade().filter(|_| !self.root.ptr_eq(member))
    }

    pub(crate) fn kind(&self, index: usize, heap_alignment: u64) -> SharedKind {
        let new = || SharedKind {
            spare: SpareHeaps::new(pooling(&self.root_desc, heap_alignment), &self.root_accounts),
            siblings: Arc::default(),
        };
        self.kinds[index].get_or_init(new).clone()
    }

    /// Returns the heaps of all other members, including those of their pools.
    pub(crate) fn heaps_of_others(&self, but: &Weak<dyn Owner>) -> Vec<Arc<TypedHeaps>> {
        let others: Vec<_> = {
            let members = self.members();
            let others = members.iter().filter(|member| !member.owner.ptr_eq(but));
            others.filter_map(|member| member.owner.upgrade()).collect()
        };
        others.iter().flat_map(|member| member.all_heaps()).collect()
    }
}

/// Returns which empty heaps the pool keeps that the allocator shares with its nested allocators. With the default
/// algorithms, the allocator's own heaps stay in their sets, and only nested allocators use the pool.
fn pooling(desc: &ResourceAllocatorDesc, heap_alignment: u64) -> HeapPooling {
    match desc.empty_heap_policy {
        _ if desc.flags.contains(ResourceAllocatorFlags::ALWAYS_ON_DEMAND) => HeapPooling::None,
        EmptyHeapPolicy::FixedPool if desc.preferred_heap_size.is_none() => HeapPooling::None,
        EmptyHeapPolicy::FixedPool => HeapPooling::Fixed(fixed_heap_size(desc, heap_alignment)),
        EmptyHeapPolicy::Default
        | EmptyHeapPolicy::LeastMemory
        | EmptyHeapPolicy::FewestHitches
        | EmptyHeapPolicy::SegmentedPool => HeapPooling::Segmented,
    }
}

/// The heaps of one kind (`T`) of an allocator and of those that are nested with it.
#[derive(Debug)]
pub(crate) struct Siblings<T> {
    members: Mutex<Vec<Weak<T>>>,
}

impl<T> Default for Siblings<T> {
    fn default() -> Self {
        Self { members: Mutex::default() }
    }
}

impl<T> Siblings<T> {
    pub(crate) fn join(&self, heaps: &Arc<T>) {
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        members.retain(|heaps| heaps.strong_count() > 0);
        members.push(Arc::downgrade(heaps));
    }

    /// Returns the existing members.
    pub(crate) fn members(&self) -> Vec<Arc<T>> {
        let members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        members.iter().filter_map(Weak::upgrade).collect()
    }

    /// Returns the members except one.
    pub(crate) fn others(&self, but: &T) -> Vec<Arc<T>> {
        {
            let members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
            if members.len() < 2 {
                return Vec::new();
            }
        }
        let mut members = self.members();
        members.retain(|member| !std::ptr::eq(Arc::as_ptr(member), but));
        members
    }
}

/// Empty heaps that no engine keeps, and the accounts of the outermost allocator, to which they are charged.
#[derive(Debug)]
pub(crate) struct SpareHeaps {
    pub(crate) pool: HeapPool<Arc<Heap>>,
    accounts: Arc<Accounts>,
}

impl SpareHeaps {
    pub(crate) fn new(pooling: HeapPooling, accounts: &Arc<Accounts>) -> Arc<Self> {
        Arc::new(Self { pool: HeapPool::new(pooling), accounts: Arc::clone(accounts) })
    }

    /// Keeps a heap if its size is pooled; drops it otherwise.
    pub(crate) fn put(&self, heap: Arc<Heap>) {
        if heap.transfer_to(&self.accounts).is_ok() {
            drop(self.pool.put(heap.size(), heap));
        }
    }

    /// Returns the heaps if they are charged to these accounts, and not to those of an outer allocator.
    pub(crate) fn owned_by(&self, accounts: &Arc<Accounts>) -> Option<&HeapPool<Arc<Heap>>> {
        Arc::ptr_eq(&self.accounts, accounts).then_some(&self.pool)
    }
}
