//! The state that nested allocators share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::heap_kinds::HeapKinds;
use super::typed_heaps::TypedHeaps;

/// An allocator and its nested allocators.
pub(crate) struct Nesting {
    /// The heaps of all of them, by kind.
    kinds: Box<[Arc<Siblings<TypedHeaps>>]>,
    members: Mutex<Vec<Member>>,
}

/// The heaps of an allocator, and of the one that it is nested in.
struct Member {
    heaps: Weak<HeapKinds>,
    parent: Option<Weak<HeapKinds>>,
}

impl Nesting {
    /// Creates the state of an outermost allocator with `kind_count` kinds of heaps.
    pub(crate) fn of_root(root: &Weak<HeapKinds>, kind_count: usize) -> Arc<Self> {
        Arc::new(Self {
            kinds: (0..kind_count).map(|_| Arc::default()).collect(),
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

    /// Returns the heaps of one kind of all members.
    pub(crate) fn kind(&self, index: usize) -> Arc<Siblings<TypedHeaps>> {
        Arc::clone(&self.kinds[index])
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

    /// Returns the existing members except one.
    pub(crate) fn others(&self, but: &T) -> Vec<Arc<T>> {
        let members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        let others = members.iter().filter(|member| !std::ptr::eq(member.as_ptr(), but));
        others.filter_map(Weak::upgrade).collect()
    }
}
