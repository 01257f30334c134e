//! Names and user data of allocations, and the list of those that no heap lists.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heapwright_core::ByteSize;
use heapwright_core::placement::PlacementId;

use crate::HeapType;
use crate::request::Placement;

/// The id of an allocation, valid until the allocation is freed or moved. A move of a defragmentation changes it.
///
/// An id is a plain value, and is never reused within a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AllocationId(Place);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    InHeap { heaps: u64, id: PlacementId },
    Alone(u64),
}

impl AllocationId {
    pub(crate) const fn placed(heaps: u64, id: PlacementId) -> Self {
        Self(Place::InHeap { heaps, id })
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

/// The labels of the allocations of an allocator. Only allocations with a label have an entry.
///
/// [`add`](Self::add) and [`remove`](Self::remove) are O(1) under a lock and hash nothing: many programs name each
/// allocation, and reports and defragmentation ask for few. [`get`](Self::get) first indexes what was added since the
/// last call: O(1) amortized over the calls of `add`, unless [`index_some`](Self::index_some) did that before, in
/// parts.
#[derive(Default)]
pub(crate) struct Labels {
    table: Mutex<LabelTable>,
}

/// The index of a label in its table. It removes the label.
#[derive(Debug)]
pub(crate) struct LabelSlot(usize);

#[derive(Default)]
struct LabelTable {
    entries: Vec<Option<(AllocationId, Label)>>,
    vacant: Vec<usize>,
    index: Index,
    /// The slots that were written and are not in the index yet.
    unindexed: Vec<usize>,
}

/// The slots of the labels by their ids. A slot may have another label since, or none.
#[derive(Default)]
struct Index {
    /// Parts by hash, so that no insertion grows all of the table: none, or [`PARTS`](Self::PARTS).
    parts: Vec<HashMap<AllocationId, usize, BuildHasherDefault<IdHasher>>>,
    len: usize,
}

impl Index {
    const PARTS: usize = 64;

    fn part_of(id: AllocationId) -> usize {
        // The upper and the lowest bits are used within a part.
        usize::try_from(BuildHasherDefault::<IdHasher>::new().hash_one(id) >> 32).unwrap_or(0) % Self::PARTS
    }

    fn insert(&mut self, id: AllocationId, slot: usize) {
        self.parts.resize_with(Self::PARTS, HashMap::default);
        self.len += usize::from(self.parts[Self::part_of(id)].insert(id, slot).is_none());
    }

    fn get(&self, id: AllocationId) -> Option<usize> {
        self.parts.get(Self::part_of(id))?.get(&id).copied()
    }
}

/// Hashes ids, whose parts no program chooses.
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

impl LabelTable {
    fn add(&mut self, id: AllocationId, label: Label) -> LabelSlot {
        self.limit_index();
        let slot = self.vacant.pop().unwrap_or(self.entries.len());
        match self.entries.get_mut(slot) {
            Some(entry) => *entry = Some((id, label)),
            None => self.entries.push(Some((id, label))),
        }
        self.unindexed.push(slot);
        LabelSlot(slot)
    }

    fn remove(&mut self, LabelSlot(slot): LabelSlot) -> Option<(AllocationId, Label)> {
        let removed = self.entries.get_mut(slot)?.take();
        self.vacant.push(slot);
        removed
    }

    /// Indexes at most so many of the slots that are not in the index. Returns whether none is left.
    fn index_some(&mut self, most: usize) -> bool {
        let rest = self.unindexed.len().saturating_sub(most);
        for slot in self.unindexed.drain(rest..) {
            if let Some(Some((id, _))) = self.entries.get(slot) {
                self.index.insert(*id, slot);
            }
        }
        rest == 0
    }

    fn get(&mut self, id: AllocationId) -> Option<&Label> {
        self.index_some(usize::MAX);
        let (found, label) = self.entries.get(self.index.get(id)?)?.as_ref()?;
        (*found == id).then_some(label)
    }

    /// Forgets slots that have another label since, if there are many.
    #[inline]
    fn limit_index(&mut self) {
        if self.index.len + self.unindexed.len() > 2 * self.entries.len() + 64 {
            self.index = Index::default();
            let slots = self.entries.iter().enumerate();
            self.unindexed = slots.filter_map(|(slot, entry)| entry.is_some().then_some(slot)).collect();
        }
    }
}

impl Labels {
    fn lock(&self) -> MutexGuard<'_, LabelTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, id: AllocationId, label: Label) -> LabelSlot {
        self.lock().add(id, label)
    }

    pub(crate) fn get(&self, id: AllocationId) -> Option<Label> {
        self.lock().get(id).cloned()
    }

    /// Indexes at most so many labels, so that [`get`](Self::get) has less to do. Returns whether none is left.
    /// O(most).
    pub(crate) fn index_some(&self, most: usize) -> bool {
        self.lock().index_some(most)
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.lock().entries.iter().flatten().count()
    }

    pub(crate) fn remove(&self, slot: LabelSlot) {
        // Dropped without the lock.
        let _removed = self.lock().remove(slot);
    }

    /// Returns the allocations that are listed by themselves, oldest first.
    pub(crate) fn listed(&self) -> Vec<(Listed, Label)> {
        let table = self.lock();
        let labels = table.entries.iter().flatten();
        let listed = labels.filter_map(|(_, label)| Some((label.listed?, label.clone())));
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 4 } else { 64 }, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn labels_are_those_of_a_model(steps in prop::collection::vec((0..5_u8, any::<prop::sample::Index>()), 1..600)) {
            let (labels, mut model, mut slots) = (Labels::default(), HashMap::new(), Vec::new());
            for (number, (step, index)) in (0_u64..).zip(steps) {
                let id = AllocationId::alone(number);
                match step {
                    0 | 1 => {
                        slots.push((id, labels.add(id, Label { user_data: number, ..Label::default() })));
                        model.insert(id, number);
                    }
                    2 if !slots.is_empty() => {
                        let (id, slot) = slots.swap_remove(index.index(slots.len()));
                        labels.remove(slot);
                        model.remove(&id);
                    }
                    3 => {
                        let (before, most) = (labels.lock().unindexed.len(), index.index(20));
                        let is_done = labels.index_some(most);
                        let left = labels.lock().unindexed.len();
                        prop_assert_eq!((left, is_done), (before.saturating_sub(most), before <= most));
                    }
                    _ => {
                        let id = AllocationId::alone(index.index(600) as u64 % (number + 1));
                        prop_assert_eq!(labels.get(id).map(|label| label.user_data), model.get(&id).copied());
                    }
                }
                let table = labels.lock();
                prop_assert!(table.index.len + table.unindexed.len() <= 2 * table.entries.len() + 65);
            }
            prop_assert_eq!(labels.count(), model.len());
            for (id, number) in model {
                prop_assert_eq!(labels.get(id).map(|label| label.user_data), Some(number));
            }
        }
    }
}
