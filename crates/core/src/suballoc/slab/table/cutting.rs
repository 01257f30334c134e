//! Cutting the free slots off a slab: the used slots stay in place, and the memory between them is released.

use super::super::class::SizeClass;
use super::super::slabs::SlabIndex;
use super::{MAX_BYTES, MAX_SLOTS, SlabTable};
use crate::ByteSize;

/// The slots of a slab before and after cutting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CutSlots {
    kept: u64,
    cut: u64,
    /// The size of a slot.
    pub(crate) slot_size: ByteSize,
}

impl CutSlots {
    /// Iterates over the slots that existed before, in descending order.
    pub(crate) fn highest_first(self) -> impl Iterator<Item = u32> {
        let mut rest = self.kept | self.cut;
        std::iter::from_fn(move || {
            let slot = rest.checked_ilog2()?;
            rest &= !(1 << slot);
            Some(slot)
        })
    }

    /// Returns whether a slot still exists.
    pub(crate) const fn keeps(self, slot: u32) -> bool {
        self.kept >> slot & 1 == 1
    }
}

/// Free slots of a slab that follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FreeRun {
    /// Offset of the first byte, in the heap.
    pub(crate) start: u64,
    /// Offset after the last byte.
    pub(crate) end: u64,
    /// Whether the run begins with the first slot of the slab.
    pub(crate) begins_slab: bool,
    /// Whether the run ends with the last slot of the slab.
    pub(crate) ends_slab: bool,
}

impl<P> SlabTable<P> {
    /// Iterates over the runs of free slots of a slab from which none was cut; a closed slab has none. O(runs).
    pub(crate) fn free_runs(&self, number: u32) -> impl Iterator<Item = FreeRun> + use<P> {
        let slab = self.slabs[SlabIndex::of(number)];
        let mut left = if slab.class == SizeClass::CLOSED { 0 } else { slab.free };
        std::iter::from_fn(move || {
            let first = left.checked_ilog2().map(|_| left.trailing_zeros())?;
            let next = first + (left >> first).trailing_ones();
            left &= u64::MAX.checked_shl(next).unwrap_or(0);
            Some(FreeRun {
                start: slab.slot_start(first),
                end: slab.slot_start(next),
                begins_slab: first == 0,
                ends_slab: next == slab.made_slots,
            })
        })
    }

    /// Returns the bytes of the largest slab that has a free slot, at most. O(classes).
    pub(crate) fn largest_with_free_slots(&self) -> u64 {
        let largest = SizeClass::all().filter(|&class| self.slabs.has_free_slots(class)).last();
        largest.map_or(0, |class| (u64::from(MAX_SLOTS) * class.slot_size()).min(MAX_BYTES))
    }

    /// Cuts the free slots off a slab that has both free and used slots. Returns `None` for any other slab,
    /// for a closed one, and if no slab has this number. O(1).
    ///
    /// The memory of the cut slots then belongs to the owner.
    pub(crate) fn cut_free_slots(&mut self, number: u32) -> Option<CutSlots> {
        self.parent(number)?;
        let index = SlabIndex::of(number);
        let slab = self.slabs[index];
        let (kept, cut) = (slab.all & !slab.free, slab.free);
        if kept == 0 || cut == 0 || slab.class == SizeClass::CLOSED {
            return None;
        }
        self.slabs.unlink(index);
        (self.slabs[index].all, self.slabs[index].free) = (kept, 0);
        self.slabs.keep_alone(index);
        self.class_slots[slab.class.index()] -= cut.count_ones();
        self.totals.slab_bytes -= u64::from(cut.count_ones()) * slab.slot_size;
        Some(CutSlots { kept, cut, slot_size: ByteSize::new(slab.slot_size) })
    }

    /// Returns the slabs with a free slot, except closed ones. O(n) for n of them.
    pub(crate) fn with_free_slots(&self) -> Vec<u32> {
        let mut slabs = Vec::new();
        for class in SizeClass::all() {
            slabs.extend(self.slabs.ring(class).map(SlabIndex::number));
        }
        slabs
    }

    /// Returns the owner's handle of a slab's memory.
    pub(crate) fn parent_mut(&mut self, number: u32) -> Option<&mut P> {
        self.parents.get_mut(number as usize)?.as_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Alignment, HeapOffset};

    #[test]
    fn only_used_slots_remain_and_are_reused() {
        let mut table = SlabTable::default();
        let size = ByteSize::new(100);
        let class = SizeClass::of(size, Alignment::ONE).unwrap();
        let (number, first) = table.insert(table.shape(class), HeapOffset::ZERO, "memory", size).unwrap();
        assert_eq!(table.cut_free_slots(number + 1), None, "unknown slab");
        let others: Vec<_> = (0..4).map(|_| table.allocate(class, size).unwrap().0).collect();
        table.free(others[1].id).unwrap();
        let cut = table.cut_free_slots(number).unwrap();
        let (kept, cut_off): (Vec<_>, Vec<_>) = cut.highest_first().partition(|&slot| cut.keeps(slot));
        assert_eq!((kept, cut_off), (vec![4, 3, 1, 0], vec![7, 6, 5, 2]));
        table.audit().unwrap();
        assert_eq!(table.totals().slab_bytes, 4 * cut.slot_size.get());
        assert!(!table.has_room(class));
        assert_eq!(table.cut_free_slots(number), None, "the slab has no free slot");

        table.free(others[2].id).unwrap();
        table.audit().unwrap();
        let again = table.allocate(class, size).unwrap().0;
        assert_eq!(again.range, others[2].range, "a kept slot is reused");
        for live in [first, others[0], again, others[3]] {
            table.free(live.id).unwrap();
            table.audit().unwrap();
        }
        assert_eq!(table.cut_free_slots(number), None, "no slot is used");
        assert_eq!(table.take_empty(), Some("memory"));
        table.audit().unwrap();
        // All of its numbers serve a new slab.
        let records = table.slots.len();
        table.insert(table.shape(class), HeapOffset::ZERO, "memory", size).unwrap();
        assert_eq!(table.slots.len(), records);
    }

    #[test]
    fn runs_are_what_follows_one_another() {
        let mut table = SlabTable::default();
        let size = ByteSize::new(128);
        let class = SizeClass::of(size, Alignment::ONE).unwrap();
        let shape = table.shape(class);
        let (number, first) = table.insert(shape, HeapOffset::new(1000), "memory", size).unwrap();
        let slots = shape.bytes().get() / 128;
        let all: Vec<_> = std::iter::once(first)
            .chain((1..slots).map(|_| table.allocate(class, size).unwrap().0))
            .collect();
        assert_eq!(table.free_runs(number).next(), None);
        let last = all.len() - 1;
        for freed in [0, 1, 3, last] {
            table.free(all[freed].id).unwrap();
        }
        let runs: Vec<_> = table
            .free_runs(number)
            .map(|run| ((run.start - 1000) / 128, (run.end - 1000) / 128, run.begins_slab, run.ends_slab))
            .collect();
        assert_eq!(runs, [(0, 2, true, false), (3, 4, false, false), (slots - 1, slots, false, true)]);
        assert_eq!(table.largest_with_free_slots(), 64 * 128);
    }

    #[test]
    fn a_closed_slab_is_not_cut_and_a_cut_one_is_closed_and_opened() {
        let mut table = SlabTable::default();
        let size = ByteSize::new(100);
        let class = SizeClass::of(size, Alignment::ONE).unwrap();
        let (number, _) = table.insert(table.shape(class), HeapOffset::ZERO, "memory", size).unwrap();
        let second = table.allocate(class, size).unwrap().0;
        table.close(number);
        assert_eq!((table.cut_free_slots(number), table.free_runs(number).next()), (None, None));
        table.reopen(number);
        assert!(table.cut_free_slots(number).is_some());
        table.close(number);
        table.audit().unwrap();
        table.free(second.id).unwrap();
        assert!(!table.has_room(class));
        table.reopen(number);
        table.audit().unwrap();
        assert!(table.has_room(class));
    }
}
