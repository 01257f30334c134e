//! Heaps of one kind that exchange empty heaps.

use std::sync::{Arc, Mutex, PoisonError, Weak};

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
