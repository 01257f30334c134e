//! The state that nested allocators share.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use heapwright_core::placement::{HeapPool, HeapPooling};

use super::engine_desc::fixed_heap_size;
use super::heap_kinds::HeapKinds;
use super::typed_heaps::TypedHeaps;
use crate::desc::{EmptyHeapPolicy, ResourceAllocatorDesc, ResourceAllocatorFlags};
use crate::source::{Accounts, Heap};

/// An allocator, its nested allocators, and the state that they share.
pub(crate) struct Nesting {
    /// The heaps of the outermost allocator. It decides how empty heaps are pooled, and pooled heaps are charged to it.
    root: Weak<HeapKinds>,
    root_desc: ResourceAllocatorDesc,
    root_accounts: Arc<Accounts>,
    kinds: Box<[OnceLock<SharedKind>]>,
    members: Mutex<Vec<Member>>,
}

/// The heaps of an allocator, and of the one that it is nested in.
struct Member {
    heaps: Weak<HeapKinds>,
    parent: Option<Weak<HeapKinds>>,
}

/// The state that the heaps of one kind share with those of the other allocators.
#[derive(Clone)]
pub(crate) struct SharedKind {
    pub(crate) spare: Arc<SpareHeaps>,
    pub(crate) siblings: Arc<Siblings<TypedHeaps>>,
}

impl Nesting {
    /// Creates the state of an outermost allocator with `kind_count` kinds of heaps.
    pub(crate) fn of_root(
        desc: &ResourceAllocatorDesc,
        accounts: &Arc<Accounts>,
        root: &Weak<HeapKinds>,
        kind_count: usize,
    ) -> Arc<Self> {
        Arc::new(Self {
            root: Weak::clone(root),
            root_desc: desc.clone(),
            root_accounts: Arc::clone(accounts),
            kinds: (0..kind_count).map(|_| OnceLock::new()).collect(),
            members: Mutex::new(vec![Member { heaps: Weak::clone(root), parent: None }]),
        })
    }

    fn members(&self) -> MutexGuard<'_, Vec<Member>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a member, and returns the shared state.
    pub(crate) fn joined(self: &Arc<Self>, heaps: &Weak<HeapKinds>, parent: &Arc<HeapKinds>) -> Arc<Self> {
        let mut members = self.members();
        members.retain(|member| member.heaps.strong_count() > 0);
        members.push(Member { heaps: Weak::clone(heaps), parent: Some(Arc::downgrade(parent)) });
        Arc::clone(self)
    }

    /// Returns the members that are nested in one, except those that are nested deeper.
    pub(crate) fn nested_in(&self, heaps: &HeapKinds) -> Vec<Arc<HeapKinds>> {
        let members = self.members();
        let is_nested = |member: &&Member| member.parent.as_ref().is_some_and(|parent| is(parent, heaps));
        members.iter().filter(is_nested).filter_map(|member| member.heaps.upgrade()).collect()
    }

    /// Returns the heaps of the outermost allocator, unless `member` is the outermost one.
    pub(crate) fn root_of(&self, member: &HeapKinds) -> Option<Arc<HeapKinds>> {
        self.root.upgrade().filter(|_| !is(&self.root, member))
    }

    pub(crate) fn kind(&self, index: usize, heap_alignment: u64) -> SharedKind {
        let new = || SharedKind {
            spare: SpareHeaps::new(pooling(&self.root_desc, heap_alignment), &self.root_accounts),
            siblings: Arc::default(),
        };
        self.kinds[index].get_or_init(new).clone()
    }

    /// Returns the heaps of all other members, including those of their pools.
    pub(crate) fn heaps_of_others(&self, but: &HeapKinds) -> Vec<Arc<TypedHeaps>> {
        let others: Vec<_> = {
            let members = self.members();
            let others = members.iter().filter(|member| !is(&member.heaps, but));
            others.filter_map(|member| member.heaps.upgrade()).collect()
        };
        others.iter().flat_map(|member| member.all()).collect()
    }
}

fn is(heaps: &Weak<HeapKinds>, other: &HeapKinds) -> bool {
    std::ptr::eq(heaps.as_ptr(), other)
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
