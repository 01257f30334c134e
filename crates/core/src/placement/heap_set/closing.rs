//! Closed heaps, in which nothing is placed, while their allocations may be freed.
//!
//! They are in no index, so allocating does not check whether a heap is closed. Freeing checks it only if the
//! heap becomes empty, or would move to another bin of its index.

use super::{Closing, HeapId, HeapSet, Placed, PlacementError, Sharing, Slot};
use crate::suballoc::Tlsf;
use crate::{Alignment, ByteSize};

/// An open heap in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OccupiedHeap {
    pub(crate) id: HeapId,
    pub(crate) size: ByteSize,
    /// The total size of its allocations and slabs.
    pub(crate) used: ByteSize,
}

impl<H> HeapSet<H> {
    /// Returns the heap in a slot, if it is open, in use, shared, and divided by the default algorithm. O(1).
    pub(crate) fn shared_heap(&self, slot: Slot) -> Option<OccupiedHeap> {
        let heap = self.table.get(slot)?;
        let tlsf = heap.ranges.as_tlsf().filter(|tlsf| heap.is_found() && !tlsf.is_empty())?;
        Some(OccupiedHeap { id: self.table.id(slot), size: tlsf.capacity(), used: tlsf.used() })
    }

    /// Closes a [shared heap](Self::shared_heap). Returns whether it did. O(1).
    pub(crate) fn close(&mut self, id: HeapId) -> bool {
        let is_shared = self.shared_heap(id.slot).is_some_and(|heap| heap.id == id);
        if is_shared {
            self.occupied.remove(&mut self.table, id.slot);
            self.set_closing(id.slot, Closing::Closed);
        }
        is_shared
    }

    /// Reopens a heap if it is closed and did not become empty. O(1).
    pub(crate) fn reopen(&mut self, id: HeapId) {
        let Some(heap) = self.table.find(id) else { return };
        match heap.closing {
            Closing::Open => {}
            Closing::Closed if heap.ranges.is_empty() => {}
            Closing::Closed | Closing::Fresh => self.open(id.slot),
        }
    }

    fn open(&mut self, slot: Slot) {
        self.set_closing(slot, Closing::Open);
        let key_class = self.table.key_class(slot);
        if self.table.heap(slot).ranges.is_empty() {
            self.index_empty(slot, key_class);
        } else {
            self.occupied.insert(&mut self.table, slot, key_class);
        }
    }

    /// Reopens all closed heaps, or the empty ones among them. O(1) if no heap is closed, and O(heaps) otherwise.
    pub(crate) fn reopen_all(&mut self, only_empty: bool) {
        for slot in self.closed_slots() {
            if !only_empty || self.table.heap(slot).ranges.is_empty() {
                self.open(slot);
            }
        }
        self.drained.clear();
    }

    /// Returns whether a heap is closed. O(1).
    pub(crate) fn is_closed(&self, id: HeapId) -> bool {
        self.table.find(id).is_some_and(|heap| heap.closing != Closing::Open)
    }

    /// Returns whether any heap is closed. O(1).
    pub(crate) fn has_closed(&self) -> bool {
        self.closed_count > 0
    }

    fn set_closing(&mut self, slot: Slot, closing: Closing) {
        if let Some(heap) = self.table.get_mut(slot) {
            self.closed_count -= usize::from(heap.closing != Closing::Open);
            self.closed_count += usize::from(closing != Closing::Open);
            heap.closing = closing;
        }
    }

    /// Adds an empty closed heap, in which only [`allocate_in_closed`](Self::allocate_in_closed) places
    /// requests. O(1).
    pub(crate) fn insert_closed(&mut self, size: ByteSize, payload: H) -> Result<HeapId, PlacementError> {
        let id = self.insert(size, payload)?;
        self.unindex_empty(id.slot);
        self.set_closing(id.slot, Closing::Fresh);
        Ok(id)
    }

    /// Places a request in a closed heap. Returns `None` if the heap has no room, is open, or left the set.
    /// O(1).
    pub(crate) fn allocate_in_closed(
        &mut self,
        id: HeapId,
        size: ByteSize,
        alignment: Alignment,
    ) -> Option<Placed<&H>> {
        self.table.find(id).filter(|heap| heap.closing != Closing::Open)?;
        let heap = self.table.get_mut(id.slot)?;
        let tlsf = heap.ranges.as_tlsf_mut()?;
        let was_empty = tlsf.is_empty();
        let suballocation = tlsf.allocate(size, alignment).ok()?;
        heap.closing = Closing::Closed;
        if was_empty {
            self.drained.retain(|&slot| slot != id.slot);
            self.totals.empty_heap_count -= 1;
            self.totals.empty = self.totals.empty.saturating_sub(tlsf.capacity());
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
    ) -> Option<Placed<&H>> {
        let heap_with = |enough: ByteSize| self.occupied.find_oldest(&self.table, enough.get());
        let (heap, free) = self.find_by(size, alignment, heap_with)?;
        self.place_at(heap, Sharing::Shared, free, size)
    }

    /// Removes a closed heap whose last allocation was freed from the set. O(1).
    pub(crate) fn take_drained(&mut self) -> Option<H> {
        let slot = self.drained.pop()?;
        Some(self.take_out_drained(slot))
    }

    #[cold]
    fn take_out_drained(&mut self, slot: Slot) -> H {
        let size = self.table.heap(slot).ranges.capacity();
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
        (self.rule.granularity(), self.sizing().map_or(Tlsf::MAX_CAPACITY, |sizing| sizing.maximum))
    }

    /// Returns the slots of closed heaps. O(1) if there are none, and O(heaps) otherwise.
    pub(super) fn closed_slots(&self) -> Vec<Slot> {
        if self.closed_count == 0 {
            return Vec::new();
        }
        (0..self.slot_limit()).filter(|&slot| self.is_closed_slot(slot)).collect()
    }

    pub(super) fn is_closed_slot(&self, slot: Slot) -> bool {
        self.table.get(slot).is_some_and(|heap| heap.closing != Closing::Open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::idle_times::IdleTimes;
    use crate::placement::{HeapRetention, HeapSizing, PlacementId, PlacementRule};

    fn empty_set() -> HeapSet<u32> {
        HeapSet::new(PlacementRule::Default(HeapSizing::default()), IdleTimes::default())
    }

    const MIB: ByteSize = ByteSize::from_mib(1);
    const KIB_100: ByteSize = ByteSize::from_kib(100);

    /// Returns a set with a heap of one mebibyte, and an allocation in it.
    fn set() -> (HeapSet<u32>, HeapId, PlacementId) {
        let mut set = empty_set();
        let heap = set.insert(MIB, 1).unwrap();
        let id = set.allocate(KIB_100, Alignment::ONE).unwrap().id;
        (set, heap, id)
    }

    #[test]
    fn drained_heaps_are_released_by_any_call() {
        type Take = fn(&mut HeapSet<u32>) -> Vec<u32>;
        let takes: [(Take, ByteSize); 2] = [
            (|set| set.make_way(MIB), MIB),
            (|set| set.take_drained().into_iter().collect(), ByteSize::ZERO),
        ];
        for (take, most_in_use) in takes {
            let (mut set, heap, id) = set();
            set.close(heap);
            set.free_and_keep(id).unwrap();
            set.audit().unwrap();
            assert_eq!(set.allocate(KIB_100, Alignment::ONE), None);
            set.reopen(heap);
            assert_eq!(set.allocate(KIB_100, Alignment::ONE), None, "too late to reopen");
            assert_eq!((take(&mut set), set.times.most_in_use), (vec![1], most_in_use));
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
                Some(*set.allocate(KIB_100, Alignment::ONE)?.heap)
            },
        ];
        for take in takes {
            let (mut set, heap, id) = set();
            set.close(heap);
            set.free_and_keep(id).unwrap();
            assert!(set.empty_heaps().eq([&1]));
            assert_eq!(take(&mut set), Some(1));
            set.audit().unwrap();
            // One that was supplied and not used yet.
            let mut set = empty_set();
            set.insert_closed(MIB, 1).unwrap();
            assert_eq!(take(&mut set), Some(1));
            set.audit().unwrap();
        }
    }

    #[test]
    fn a_closed_heap_stays_closed_and_no_other_is() {
        let (mut set, heap, id) = set();
        assert_eq!(set.allocate_in_closed(heap, KIB_100, Alignment::ONE), None, "it is open");
        set.close(heap);
        assert!(set.take_empty(MIB).is_empty() && set.is_closed(heap));
        set.free_and_keep(id).unwrap();
        let again = set.allocate_in_closed(heap, KIB_100, Alignment::ONE).unwrap().id;
        set.audit().unwrap();
        assert_eq!(set.free(again).unwrap(), Some(1));
        set.insert(MIB, 2).unwrap();
        set.allocate(KIB_100, Alignment::ONE).unwrap();
        assert!(!set.close(heap), "another heap is in its slot");
        set.audit().unwrap();
    }

    #[test]
    fn a_drained_heap_leaves_also_where_no_empty_heap_is_kept() {
        let (mut set, heap, id) = set();
        (set.keeps_none, set.times.retention) = (true, HeapRetention::NONE);
        set.close(heap);
        assert_eq!(set.free(id), Ok(Some(1)));
        set.audit().unwrap();
    }

    #[test]
    fn an_audit_finds_each_violation() {
        type Violation = fn(&mut HeapSet<u32>, HeapId, PlacementId);
        let violations: [(&str, Violation); 4] = [
            ("is indexed as", |set, heap, _| {
                set.reopen(heap);
                set.set_closing(heap.slot, Closing::Closed);
            }),
            ("are recorded as drained", |set, _, id| {
                set.free_and_keep(id).unwrap();
                set.drained.clear();
            }),
            ("are recorded as drained", |set, heap, _| set.drained.push(heap.slot)),
            ("marked as fresh", |set, heap, _| {
                set.table.heap_mut(heap.slot).closing = Closing::Fresh;
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
