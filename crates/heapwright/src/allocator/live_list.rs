//! Allocations that are listed one by one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heapwright_core::ByteSize;

use crate::memory::next_number;
use crate::{HeapType, Placement};

/// Allocations that are listed one by one: committed and imported ones, and all of them with
/// [`NEVER_LEAK`](crate::ResourceAllocatorFlags::NEVER_LEAK).
#[derive(Debug, Default)]
pub(crate) struct LiveList {
    entries: Mutex<BTreeMap<u64, LiveAllocation>>,
}

/// An allocation that lives, as the list has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveAllocation {
    /// Bytes that it takes.
    pub size: ByteSize,
    /// The kind of heap that it is in.
    pub heap_type: HeapType,
    /// How it was made.
    pub placement: Placement,
    /// Whether it is a buffer.
    pub is_buffer: bool,
    /// Its debug name, if it has one.
    pub name: Option<Arc<str>>,
    /// The owner's number for it.
    pub user_data: u64,
}

/// A place on the list, which ends when this is dropped.
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

    /// Everything on the list, the oldest first.
    pub(crate) fn all(&self) -> Vec<LiveAllocation> {
        self.lock().values().cloned().collect()
    }
}

impl LiveEntry {
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Changes what the list says.
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
