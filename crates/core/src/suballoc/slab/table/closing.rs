//! Closed slabs, from which nothing is allocated, while their live suballocations may still be freed.
//!
//! They are in a ring of their own, which belongs to no size class, so neither allocating nor freeing has to
//! check whether a slab is closed.

use super::super::super::{RangeUse, Suballocation};
use super::super::class::SizeClass;
use super::super::slabs::{MAX_SLOTS, Slab, SlabIndex};
use super::{MAX_BYTES, SlabShape, SlabTable};
use crate::{Alignment, ByteSize};

/// How much of a slab is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlabOccupancy {
    /// The total size of its used slots, in bytes.
    pub(crate) used_slot_bytes: u64,
    /// The total size of its slots, in bytes.
    pub(crate) bytes: u64,
}

/// Returns the slot size that the slab should have: that of its class, or for a closed slab, that of the
/// class which its slot size determines.
pub(super) fn slot_size_of(slab: &Slab) -> Option<u64> {
    let class = if slab.class == SizeClass::CLOSED { class_by_slots(slab)? } else { slab.class };
    Some(class.slot_size())
}

/// Returns the class of a slab while it is not closed.
fn class_by_slots(slab: &Slab) -> Option<SizeClass> {
    SizeClass::of(ByteSize::new(slab.slot_size), Alignment::ONE)
}

impl<P> SlabTable<P> {
    /// Returns a number greater than the numbers of all slabs. O(1).
    pub(crate) fn place_count(&self) -> u32 {
        u32::try_from(self.parents.len()).unwrap_or(u32::MAX)
    }

    /// Returns how much of a slab is used, and the handle of its memory, or `None` if no slab has this
    /// number. O(1).
    pub(crate) fn occupancy(&self, number: u32) -> Option<(&P, SlabOccupancy)> {
        let parent = self.parent(number)?;
        let slab = self.slabs[SlabIndex::of(number)];
        let used = u64::from(slab.slot_count() - slab.free.count_ones());
        Some((parent, SlabOccupancy { used_slot_bytes: used * slab.slot_size, bytes: slab.bytes() }))
    }

    /// Returns the class of a slab and its live suballocations in address order, or `None` if no slab has
    /// this number. O(slots).
    pub(crate) fn live_in(&self, number: u32) -> Option<(SizeClass, impl Iterator<Item = Suballocation>)> {
        self.parent(number)?;
        let class = class_by_slots(&self.slabs[SlabIndex::of(number)])?;
        let live = self.slots(number).filter_map(|range_use| match range_use {
            RangeUse::Used(suballocation) => Some(suballocation),
            RangeUse::Free(_) | RangeUse::Padding(_) => None,
        });
        Some((class, live))
    }

    /// Returns the shape of a slab with `slots` slots, or with the maximum number of slots. O(1).
    pub(crate) fn shape_for(&self, class: SizeClass, slots: u32) -> SlabShape {
        let within = u32::try_from(MAX_BYTES / class.slot_size()).unwrap_or(u32::MAX);
        SlabShape { class, slot_count: slots.clamp(1, within.min(MAX_SLOTS)) }
    }

    /// Closes the slab with this number, if it exists. O(1).
    pub(crate) fn close(&mut self, number: u32) {
        if self.parent(number).is_some() {
            self.change_class(SlabIndex::of(number), SizeClass::CLOSED);
        }
    }

    /// Reopens a closed slab. O(1).
    pub(crate) fn reopen(&mut self, number: u32) {
        if self.parent(number).is_some() {
            if let Some(class) = class_by_slots(&self.slabs[SlabIndex::of(number)]) {
                self.change_class(SlabIndex::of(number), class);
            }
        }
    }

    fn change_class(&mut self, index: SlabIndex, class: SizeClass) {
        let slab = self.slabs[index];
        let before = slab.class;
        // A full slab is a ring of its own, and remains one.
        self.slabs.unlink(index);
        self.slabs[index].class = class;
        if slab.free == 0 {
            self.slabs.keep_alone(index);
        } else if slab.is_empty() {
            self.slabs.link_last(index);
        } else {
            self.slabs.link_first(index);
        }
        self.class_slots[before.index()] -= slab.slot_count();
        self.class_slots[class.index()] += slab.slot_count();
        for class in [before, class] {
            self.with_room.set(class, self.slabs.first(class) != SlabIndex::head(class));
            self.note_empties(class);
        }
    }

    /// Removes a closed slab without a used slot from the table. O(1).
    pub(crate) fn take_closed_empty(&mut self) -> Option<P> {
        let has_one = self.with_empty.lowest_from(SizeClass::CLOSED).is_some();
        has_one.then(|| self.take_empty_of(SizeClass::CLOSED))?
    }

    #[cfg(test)]
    pub(crate) fn is_closed(&self, number: u32) -> bool {
        self.parent(number).is_some() && self.slabs[SlabIndex::of(number)].class == SizeClass::CLOSED
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HeapOffset;

    fn class(size: u64) -> SizeClass {
        SizeClass::of(ByteSize::new(size), Alignment::ONE).unwrap()
    }

    /// Returns a table with one slab of eight slots, `count` of them used.
    fn table(count: u64) -> (SlabTable<&'static str>, Vec<Suballocation>) {
        let mut table = SlabTable::default();
        let (class, size) = (class(100), ByteSize::new(100));
        let (_, first) = table.insert(table.shape(class), HeapOffset::ZERO, "memory", size).unwrap();
        let mut live = vec![first];
        live.extend((1..count).map(|_| table.allocate(class, size).unwrap().0));
        (table, live)
    }

    #[test]
    fn nothing_is_allocated_from_a_closed_slab() {
        for count in [1, 3, 8] {
            let (mut table, live) = table(count);
            table.close(0);
            table.audit().unwrap();
            assert!(table.is_closed(0));
            assert!(!table.has_room(class(100)));
            assert!(table.allocate(class(100), ByteSize::new(100)).is_none());
            table.close(0);
            table.close(1);
            table.audit().unwrap();
            assert_eq!(table.live_in(0).unwrap().1.collect::<Vec<_>>(), live);
            for (left, one) in (0..count).rev().zip(&live) {
                assert!(table.take_closed_empty().is_none());
                table.free(one.id).unwrap();
                table.audit().unwrap();
                let (parent, occupancy) = table.occupancy(0).unwrap();
                assert_eq!((*parent, occupancy.used_slot_bytes), ("memory", left * 104));
                assert!(table.allocate(class(100), ByteSize::new(100)).is_none());
            }
            assert_eq!(table.take_closed_empty(), Some("memory"));
            table.audit().unwrap();
            assert!(table.live_in(0).is_none() && table.occupancy(0).is_none());
        }
    }

    #[test]
    fn a_reopened_slab_is_used_as_before() {
        for count in [1, 3, 8] {
            let (mut table, live) = table(count);
            table.close(0);
            table.free(live[0].id).unwrap();
            table.reopen(0);
            table.audit().unwrap();
            assert!(!table.is_closed(0));
            assert_eq!(table.class_slots[class(100).index()], 8);
            let again = table.allocate(class(100), ByteSize::new(100)).unwrap().0;
            assert_eq!(live[0].range, again.range);
            table.reopen(7);
            table.audit().unwrap();
        }
    }

    #[test]
    fn an_audit_finds_a_closed_slab_whose_slots_no_class_has() {
        let (mut table, _) = table(8);
        table.close(0);
        table.slabs[SlabIndex::of(0)].slot_size = 103;
        assert!(table.audit().unwrap_err().contains("invalid shape"));
    }

    #[test]
    fn an_audit_finds_a_closed_slab_in_the_ring_of_a_class() {
        let (mut table, _) = table(3);
        table.slabs[SlabIndex::of(0)].class = SizeClass::CLOSED;
        assert!(table.audit().unwrap_err().contains("does not belong there"));
    }
}
