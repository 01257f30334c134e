//! The one object that stands for an allocator, a residency manager, or the memory of an allocation.
//!
//! COM requires that the same thing is always the same pointer, while somebody holds it.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use crate::object::{Body, Reference};

/// Objects of one kind, by the number of what they stand for.
pub(crate) struct Registry(Mutex<BTreeMap<usize, Address>>);

struct Address(NonNull<c_void>);

// SAFETY: it points to an object that is `Send` and `Sync`.
unsafe impl Send for Address {}

/// An object's place in a registry.
pub(crate) struct Registration {
    pub(crate) registry: &'static Registry,
    pub(crate) number: usize,
}

impl Registry {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }
}

impl Registration {
    /// Returns the object that is registered, or registers a new one.
    pub(crate) fn find_or_create<B: Body>(self, create: impl FnOnce() -> B) -> Reference<B> {
        let mut objects = self.registry.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Address(address)) = objects.get(&self.number) {
            // SAFETY: an object is removed, under this lock, before it is freed.
            if let Some(found) = unsafe { Reference::add_unless_released(*address) } {
                return found;
            }
        }
        let made = Reference::new(create());
        if let Some(address) = NonNull::new(made.as_raw()) {
            objects.insert(self.number, Address(address));
        }
        made
    }

    /// Removes an object whose count is zero, unless another one has taken its place.
    pub(crate) fn remove(self, object: *mut c_void) {
        let mut objects = self.registry.0.lock().unwrap_or_else(PoisonError::into_inner);
        if objects.get(&self.number).is_some_and(|address| address.0.as_ptr() == object) {
            objects.remove(&self.number);
        }
    }
}
