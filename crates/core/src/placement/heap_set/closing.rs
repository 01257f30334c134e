//! Closed heaps, in which nothing is placed, while their allocations may be freed.
//!
//! They are in no index, so allocating does not check whether a heap is closed. Freeing checks it only if the
//! heap becomes empty, or would move to another bin of its index.

use super::super::heap_index::IndexedHeaps as _;
use super::{HeapId, HeapSet, HeapUse, Placed, PlacementError, Slot};
use crate::suballoc::AuditError;
use crate::{Alignment, ByteSize};

/// The state of a heap while it is closed.
#[derive(Clone)]
pub(super) struct Closing {
    /// The class of the heap when it is open.
    open_class: HeapUse,
    /// Whether the heap was added closed, and nothing was placed in it yet.
    is_fresh: bool,
}

impl Default for Closing {
    fn default() -> Self {
        Self { open_class: HeapUse::Shared, is_fresh: false }
    }
}

/// An open heap in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OccupiedHeap {
    pub(crate) id: HeapId,
    pub(crate) size: ByteSize,
    /// The total size of its allocations and slabs.
    pub(crate) used: ByteSize,
}

impl<H> HeapSet<H> {
    /// Returns the heap in a slot, if it is open, in use, and shared. O(1).
    pub(crate) fn shared_heap(&self, slot: Slot) -> Option<OccupiedHeap> {
        let heap = self.table.entries.get(slot as usize)?.heap.as_ref()?;
        let is_shared = heap.class == HeapUse::Shared;
        (is_shared && !heap.suballocator.is_empty()).then(|| OccupiedHeap {
            id: self.table.id(slot),
            size: heap.suballocator.capacity(),
            used: heap.suballocator.used(),
        })
    }

    /// Closes a heap if it is open and in use. Returns whether it did. O(1).
    pub(crate) fn close(&mut self, id: HeapId) -> bool {
        let Some(heap) = self.table.find(id) else { return false };
        if heap.suballocator.is_empty() || heap.class == HeapUse::Closed {
            return false;
        }
        let class = heap.class;
        self.occupied[class.index()].remove(&mut self.table, id.slot);
        self.set_class(id.slot, HeapUse::Closed, class);
        true
    }

    /// Reopens a heap if it is closed and did not become empty. O(1).
    pub(crate) fn reopen(&mut self, id: HeapId) {
        let Some(heap) = self.table.find(id).filter(|heap| heap.class == HeapUse::Closed) else { return };
        let (class, is_fresh) = (heap.closing.open_class, heap.closing.is_fresh);
        if heap.suballocator.is_empty() && !is_fresh {
            return;
        }
        self.set_class(id.slot, class, class);
        if is_fresh {
            self.index_empty(id.slot);
        } else {
            self.occupied[class.index()].insert(&mut self.table, id.slot);
        }
    }

    /// Reopens all closed heaps, or the empty ones among them. O(1) if no heap is closed, and O(heaps) otherwise.
    pub(crate) fn reopen_all(&mut self, only_empty: bool) {
        for slot in self.closed_slots() {
            let heap = self.table.heap(slot);
            let (class, is_empty) = (heap.closing.open_class, heap.suballocator.is_empty());
            if !is_empty && only_empty {
                continue;
            }
            self.set_class(slot, class, class);
            if is_empty {
                self.index_empty(slot);
            } else {
                self.occupied[class.index()].insert(&mut self.table, slot);
            }
        }
        self.drained.clear();
    }

    /// Returns whether a heap is closed. O(1).
    pub(crate) fn is_closed(&self, id: HeapId) -> bool {
        self.table.find(id).is_some_and(|heap| heap.class == HeapUse::Closed)
    }

    /// Returns whether any heap is closed. O(1).
    pub(crate) fn has_closed(&self) -> bool {
        self.closed_count > 0
    }

    fn set_class(&mut self, slot: Slot, class: HeapUse, open_class: HeapUse) {
        if let Some(heap) = self.table.entry_mut(slot).heap.as_mut() {
            self.closed_count -= usize::from(heap.class == HeapUse::Closed);
            self.closed_count += usize::from(class == HeapUse::Closed);
            heap.class = class;
            heap.closing = Closing { open_class, is_fresh: false };
        }
    }

    /// Adds an empty closed heap, in which only [`allocate_in_closed`](Self::allocate_in_closed) places
    /// requests. O(1).
    pub(crate) fn insert_closed(&mut self, size: ByteSize, payload: H) -> Result<HeapId, PlacementError> {
        let id = self.insert(size, payload)?;
        self.unindex_empty(id.slot);
        self.set_class(id.slot, HeapUse::Closed, HeapUse::Shared);
        if let Some(heap) = self.table.entry_mut(id.slot).heap.as_mut() {
            heap.closing.is_fresh = true;
        }
        Ok(id)
    }

    /// Places a request in a closed heap. Returns `None` if the heap has no room, is open, or left the set.
    /// O(1).
    pub(crate) fn allocate_in_closed(
        &mut self,
        id: HeapId,
        size: ByteSize,
        alignment: Alignment,
    ) -> Option<Placed<'_, H>> {
        self.table.find(id).filter(|heap| heap.class == HeapUse::Closed)?;
        let heap = self.table.entry_mut(id.slot).heap.as_mut()?;
        let was_empty = heap.suballocator.is_empty();
        let suballocation = heap.suballocator.allocate(size, alignment).ok()?;
        heap.closing.is_fresh = false;
        if was_empty {
            self.drained.retain(|&slot| slot != id.slot);
            self.totals.empty_heap_count -= 1;
            self.totals.empty = self.totals.empty.saturating_sub(heap.suballocator.capacity());
        }
        self.totals.allocation_count += 1;
        self.totals.used = self.totals.used.saturating_add(size);
        self.room.note(&self.totals);
        Some(self.placed(id.slot, suballocation))
    }

    /// Places a request like [`allocate`](Self::allocate), but only in heaps in use. O(1).
    pub(crate) fn allocate_in_occupied(
        &mut self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Option<Placed<'_, H>> {
        let occupied = &self.occupied[HeapUse::Shared.index()];
        let heap_with = |enough: ByteSize| occupied.find_oldest(&self.table, enough.get());
        let found = self.find_by(HeapUse::Shared, size, alignment, heap_with)?;
        self.place(found)
    }

    /// Removes a closed heap whose last allocation was freed from the set. O(1).
    #[inline]
    pub(crate) fn take_drained(&mut self) -> Option<H> {
        let slot = self.drained.pop()?;
        Some(self.take_out_drained(slot))
    }

    #[cold]
    fn take_out_drained(&mut self, slot: Slot) -> H {
        let size = self.table.heap(slot).suballocator.capacity();
        // Memory that is released on purpose should not be retained in another form.
        self.times.most_in_use = self.times.most_in_use.saturating_sub(size);
        self.take_out(slot)
    }

    /// Removes one of the largest empty heaps from the set. O(1).
    pub(crate) fn take_one_empty(&mut self) -> Option<(ByteSize, H)> {
        let slot = self.empty.largest()?;
        let size = ByteSize::new(self.table.key(slot));
        Some((size, self.remove(slot)))
    }

    /// Returns whether a heap is in the set. O(1).
    pub(crate) fn contains(&self, id: HeapId) -> bool {
        self.table.find(id).is_some()
    }

    /// Returns the unit of heap sizes, and the approximate size of the largest heaps for many small requests.
    pub(crate) fn granularity(&self) -> (Alignment, ByteSize) {
        (self.sizing.granularity, self.sizing.maximum)
    }

    /// Returns the slots of closed heaps. O(1) if there are none, and O(heaps) otherwise.
    pub(super) fn closed_slots(&self) -> Vec<Slot> {
        if self.closed_count == 0 {
            return Vec::new();
        }
        let is_closed =
            |entry: &super::Entry<H>| entry.heap.as_ref().is_some_and(|heap| heap.class == HeapUse::Closed);
        (0..).zip(&self.table.entries).filter(|(_, entry)| is_closed(entry)).map(|(slot, _)| slot).collect()
    }

    /// Checks that each open heap is in the index of its class, and that empty closed heaps are recorded.
    pub(super) fn audit_closed(&self) -> Result<(), AuditError> {
        let fail = |finding: String| Err(AuditError::new(finding));
        for class in [HeapUse::Shared, HeapUse::Alone] {
            for slot in self.occupied[class.index()].slots(&self.table) {
                let found = self.table.heap(slot).class;
                if found == HeapUse::Closed || found.index() != class.index() {
                    return fail(format!("heap {slot} of class {found:?} is indexed as {class:?}"));
                }
            }
        }
        let is_closed =
            |entry: &&super::Entry<H>| entry.heap.as_ref().is_some_and(|heap| heap.class == HeapUse::Closed);
        let closed = self.table.entries.iter().filter(is_closed).count();
        if closed != self.closed_count {
            return fail(format!("{closed} heaps are closed, recorded are {}", self.closed_count));
        }
        let mut empties = Vec::new();
        for slot in self.closed_slots() {
            let heap = self.table.heap(slot);
            if heap.closing.is_fresh && !heap.suballocator.is_empty() {
                return fail(format!("heap {slot} is marked as fresh but not empty"));
            }
            if heap.suballocator.is_empty() && !heap.closing.is_fresh {
                empties.push(slot);
            }
        }
        let mut drained = self.drained.clone();
        drained.sort_unstable();
        empties.sort_unstable();
        if drained != empties {
            return fail(format!(
                "closed heaps {empties:?} are empty, but {drained:?} are recorded as drained"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::idle_times::IdleTimes;
    use crate::placement::{HeapSizing, PlacementId};

    const MIB: ByteSize = ByteSize::from_mib(1);
    const KIB_100: ByteSize = ByteSize::from_kib(100);

    /// Returns a set with a heap of one mebibyte, and an allocation in it.
    fn set() -> (HeapSet<u32>, HeapId, PlacementId) {
        let mut set = HeapSet::new(HeapSizing::default(), IdleTimes::default());
        let heap = set.insert(MIB, 1).unwrap();
        let id = set.allocate(KIB_100, Alignment::ONE).unwrap().unwrap().id;
        (set, heap, id)
    }

    #[test]
    fn drained_heaps_are_released_by_any_call() {
        type Take = fn(&mut HeapSet<u32>) -> Vec<u32>;
        let takes: [Take; 2] =
            [|set| set.make_way(MIB, ByteSize::ZERO), |set| set.take_drained().into_iter().collect()];
        for take in takes {
            let (mut set, heap, id) = set();
            set.close(heap);
            set.free_and_keep(id).unwrap();
            set.audit().unwrap();
            assert_eq!(set.allocate(KIB_100, Alignment::ONE).unwrap(), None);
            set.reopen(heap);
            assert_eq!(set.allocate(KIB_100, Alignment::ONE).unwrap(), None, "too late to reopen");
            assert_eq!(take(&mut set), [1]);
            set.audit().unwrap();
        }
    }

    #[test]
    fn an_emptied_heap_is_taken_like_any_other_empty_one() {
        type Take = fn(&mut HeapSet<u32>) -> Option<u32>;
        let takes: [Take; 3] = [
            |set| set.take_empty(MIB).pop().map(|(_, heap)| heap),
            |set| set.take_empty_fitting(KIB_100, MIB).map(|(_, heap)| heap),
            |set| {
                set.reopen_all(false);
                Some(*set.allocate(KIB_100, Alignment::ONE).unwrap()?.heap)
            },
        ];
        for take in takes {
            let (mut set, heap, id) = set();
            set.close(heap);
            set.free_and_keep(id).unwrap();
            assert_eq!(take(&mut set), Some(1));
            set.audit().unwrap();
            // One that was supplied and not used yet.
            let mut set = HeapSet::new(HeapSizing::default(), IdleTimes::default());
            set.insert_closed(MIB, 1).unwrap();
            assert_eq!(take(&mut set), Some(1));
            set.audit().unwrap();
        }
    }

    #[test]
    fn an_audit_finds_each_violation() {
        type Violation = fn(&mut HeapSet<u32>, HeapId, PlacementId);
        let violations: [(&str, Violation); 4] = [
            ("is indexed as", |set, heap, _| {
                set.reopen(heap);
                set.set_class(heap.slot, HeapUse::Closed, HeapUse::Shared);
            }),
            ("are recorded as drained", |set, _, id| {
                set.free_and_keep(id).unwrap();
                set.drained.clear();
            }),
            ("are recorded as drained", |set, heap, _| set.drained.push(heap.slot)),
            ("marked as fresh", |set, heap, _| {
                set.table.entry_mut(heap.slot).heap.as_mut().unwrap().closing.is_fresh = true;
            }),
        ];
        for (says, violate) in violations {
            let (mut set, heap, id) = set();
            set.close(heap);
            set.audit().unwrap();
            violate(&mut set, heap, id);
            assert!(set.audit().unwrap_err().to_string().contains(says), "{says}");
        }
    }
}
