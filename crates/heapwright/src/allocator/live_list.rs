//! Allocations that are listed individually.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heapwright_core::ByteSize;

use crate::memory::next_number;
use crate::{HeapType, Placement};

/// The list of committed and imported allocations, and of all allocations with
/// [`NEVER_LEAK`](crate::ResourceAllocatorFlags::NEVER_LEAK).
#[derive(Debug, Default)]
pub(crate) struct LiveList {
    entries: Mutex<BTreeMap<u64, LiveAllocation>>,
}

/// An entry of the list of live allocations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LiveAllocation {
    /// Size in bytes.
    pub(crate) size: ByteSize,
    /// Heap type.
    pub(crate) heap_type: HeapType,
    /// How the allocation was placed.
    pub(crate) placement: Placement,
    /// Whether it is a buffer.
    pub(crate) is_buffer: bool,
    /// Debug name, if one was set.
    pub(crate) name: Option<Arc<str>>,
    /// The application's value for the allocation.
    pub(crate) user_data: u64,
}

/// An entry of the list, which is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct LiveEntry {
    list: Arc<LiveList>,
    number: u64,
}

impl LiveList {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, LiveAllocation>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(self: &Arc<Self>, allocation: LiveAllocation) -> LiveEntry {
        let number = next_number();
        self.lock().insert(number, allocation);
        LiveEntry { list: Arc::clone(self), number }
    }

    /// Returns all entries, oldest first.
    pub(crate) fn all(&self) -> Vec<LiveAllocation> {
        self.lock().values().cloned().collect()
    }
}

impl LiveEntry {
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Updates the entry.
    pub(crate) fn update(&self, change: impl FnOnce(&mut LiveAllocation)) {
        if let Some(entry) = self.list.lock().get_mut(&self.number) {
            change(entry);
        }
    }
}

impl Drop for LiveEntry {
    fn drop(&mut self) {
        self.list.lock().remove(&self.number);
    }
}
