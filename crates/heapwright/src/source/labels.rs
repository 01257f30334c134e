//! Names and user data of allocations, and the list of those that no heap lists.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heapwright_core::ByteSize;
use heapwright_core::placement::SharedPlacementId;

use crate::HeapType;
use crate::request::Placement;

/// The id of an allocation, valid until the allocation is freed or moved. A move of a defragmentation changes it.
///
/// An id is a plain value, and is never reused within a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AllocationId(Place);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    InHeap { heaps: u64, own: bool, id: SharedPlacementId },
    Alone(u64),
}

impl AllocationId {
    pub(crate) const fn placed(heaps: u64, own: bool, id: SharedPlacementId) -> Self {
        Self(Place::InHeap { heaps, own, id })
    }

    /// Returns the id of an allocation with memory of its own.
    pub(crate) const fn alone(number: u64) -> Self {
        Self(Place::Alone(number))
    }
}

/// The properties of an allocation that reports list and that defragmentation depends on, apart from its range.
#[derive(Clone, Default)]
pub(crate) struct Label {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) user_data: u64,
    /// Set for a backing buffer: defragmentation does not move it, and reports list its contents.
    pub(crate) backing: Option<BackingAddress>,
    pub(crate) listed: Option<Listed>,
}

/// An allocation that is listed by itself: a committed or imported one, and with
/// [`NEVER_LEAK`](crate::ResourceAllocatorFlags::NEVER_LEAK) each one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listed {
    /// From [`next_number`].
    pub(crate) number: u64,
    pub(crate) size: ByteSize,
    pub(crate) heap_type: HeapType,
    pub(crate) placement: Placement,
    pub(crate) is_buffer: bool,
}

/// The labels of the allocations of an allocator. Only allocations with a label have an entry. Each call but the last is O(1)
/// under a lock.
#[derive(Default)]
pub(crate) struct Labels {
    labels: Mutex<LabelsById>,
}

type LabelsById = HashMap<AllocationId, Label, BuildHasherDefault<IdHasher>>;

/// Hashes ids. No program chooses their parts, and the standard hasher takes a third of the time of naming and dropping an allocation.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            // 2^64 over the golden ratio. The upper half depends on all bits, and the map uses the lowest ones.
            let product = (self.0 ^ u64::from_ne_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            self.0 = product.rotate_left(32);
        }
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

impl Labels {
    fn lock(&self) -> MutexGuard<'_, LabelsById> {
        self.labels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, id: AllocationId, note: Label) {
        self.lock().insert(id, note);
    }

    pub(crate) fn get(&self, id: AllocationId) -> Option<Label> {
        self.lock().get(&id).cloned()
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    pub(crate) fn remove(&self, id: AllocationId) {
        self.lock().remove(&id);
    }

    /// Returns the allocations that are listed by themselves, oldest first.
    pub(crate) fn listed(&self) -> Vec<(Listed, Label)> {
        let labels = self.lock();
        let listed = labels.values().filter_map(|label| Some((label.listed?, label.clone())));
        let mut listed: Vec<_> = listed.collect();
        listed.sort_unstable_by_key(|(listed, _)| listed.number);
        listed
    }
}

/// Returns a number for an entry or for heaps, unique in the process.
pub(crate) fn next_number() -> u64 {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// The identity of a backing buffer, for comparisons only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct BackingAddress(usize);

impl BackingAddress {
    pub(crate) fn of<T>(buffer: *const T) -> Self {
        Self(buffer as usize)
    }
}
