//! The state that nested allocators share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::{HeapKinds, TypedHeaps};

/// An allocator and its nested allocators.
pub(crate) struct Nesting {
    members: Mutex<Vec<Member>>,
    /// The own heaps of all of them, with the numbers of their kinds.
    heaps: Mutex<Vec<(usize, Weak<TypedHeaps>)>>,
}

/// The heaps of an allocator, and of the one that it is nested in.
struct Member {
    heaps: Weak<HeapKinds>,
    parent: Option<Weak<HeapKinds>>,
}

impl Nesting {
    /// Creates the state of an outermost allocator.
    pub(crate) fn of_root(root: &Weak<HeapKinds>) -> Arc<Self> {
        let members = Mutex::new(vec![Member { heaps: Weak::clone(root), parent: None }]);
        Arc::new(Self { members, heaps: Mutex::default() })
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

    /// Adds a member's own heaps of a kind.
    pub(crate) fn add_heaps(&self, kind: usize, heaps: &Arc<TypedHeaps>) {
        let mut all = self.heaps.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, heaps)| heaps.strong_count() > 0);
        all.push((kind, Arc::downgrade(heaps)));
    }

    /// Returns the own heaps of a kind of all members, except `but`.
    pub(crate) fn siblings(&self, kind: usize, but: &TypedHeaps) -> Vec<Arc<TypedHeaps>> {
        let all = self.heaps.lock().unwrap_or_else(PoisonError::into_inner);
        let others = all.iter().filter(|(of, heaps)| *of == kind && !std::ptr::eq(heaps.as_ptr(), but));
        others.filter_map(|(_, heaps)| heaps.upgrade()).collect()
    }

    /// Returns the members that exist.
    pub(crate) fn alive(&self) -> Vec<Arc<HeapKinds>> {
        self.members().iter().filter_map(|member| member.heaps.upgrade()).collect()
    }

    /// Returns all members except `but`.
    pub(crate) fn others(&self, but: &HeapKinds) -> Vec<Arc<HeapKinds>> {
        let mut others = self.alive();
        others.retain(|member| !std::ptr::eq(&**member, but));
        others
    }
}

fn is(heaps: &Weak<HeapKinds>, other: &HeapKinds) -> bool {
    std::ptr::eq(heaps.as_ptr(), other)
}
