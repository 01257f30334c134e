//! Names and numbers that users give to allocations.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heapwright_core::ByteSize;
use heapwright_core::placement::SharedPlacementId;

use super::HeapType;

/// Names an allocation as long as it lives where it is. A move of a defragmentation gives it a new one.
///
/// It is a plain value, and none is ever used twice within a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AllocationId(Place);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    InHeap { heaps: u64, own: bool, id: SharedPlacementId },
    Listed(u64),
}

impl AllocationId {
    pub(super) const fn placed(heaps: u64, own: bool, id: SharedPlacementId) -> Self {
        Self(Place::InHeap { heaps, own, id })
    }

    pub(super) const fn listed(number: u64) -> Self {
        Self(Place::Listed(number))
    }
}

/// What the user noted of an allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) name: Option<Arc<str>>,
    pub(super) user_data: u64,
    /// No defragmentation moves it.
    pub(super) is_pinned: bool,
}

/// The notes on a heaps's allocations. Only what has a note has an entry; each call is O(1) under a lock.
#[derive(Debug, Default)]
pub(super) struct Notes {
    notes: Mutex<HashMap<AllocationId, Note>>,
}

impl Notes {
    fn lock(&self) -> MutexGuard<'_, HashMap<AllocationId, Note>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, id: AllocationId, note: Note) {
        self.lock().insert(id, note);
    }

    pub(super) fn get(&self, id: AllocationId) -> Option<Note> {
        self.lock().get(&id).cloned()
    }

    pub(super) fn remove(&self, id: AllocationId) {
        self.lock().remove(&id);
    }
}

/// Allocations that are listed one by one: committed and imported ones, and all of them with
/// [`NEVER_LEAK`](crate::ResourceAllocatorFlags::NEVER_LEAK).
#[derive(Debug, Default)]
pub(super) struct LiveList {
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
    pub placement: crate::Placement,
    /// Whether it is a buffer.
    pub is_buffer: bool,
    /// Its debug name, if it has one.
    pub name: Option<Arc<str>>,
    /// The owner's number for it.
    pub user_data: u64,
}

/// A place on the list, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Ticket {
    list: Arc<LiveList>,
    number: u64,
}

/// Numbers of tickets and members: never the same twice in a process.
pub(super) fn next_number() -> u64 {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

impl LiveList {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, LiveAllocation>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(self: &Arc<Self>, allocation: LiveAllocation) -> Ticket {
        let number = next_number();
        self.lock().insert(number, allocation);
        Ticket { list: Arc::clone(self), number }
    }

    /// Everything on the list, the oldest first.
    pub(super) fn all(&self) -> Vec<LiveAllocation> {
        self.lock().values().cloned().collect()
    }
}

impl Ticket {
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Changes what the list says.
    pub(super) fn update(&self, change: impl FnOnce(&mut LiveAllocation)) {
        if let Some(entry) = self.list.lock().get_mut(&self.number) {
            change(entry);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.list.lock().remove(&self.number);
    }
}
