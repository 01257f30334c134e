//! Closed slabs, from which nothing is allocated, while their live suballocations may still be freed.
//!
//! They are in a ring of their own, which belongs to no size class, so neither allocating nor freeing has to
//! check whether a slab is closed.

use super::super::super::Suballocation;
use super::super::class::SizeClass;
use super::super::slabs::{Slab, SlabIndex};
use super::SlabTable;
use crate::{Alignment, ByteSize};

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

    /// Returns the class of a slab and its live suballocations, or that in one slot, in address order; or `None` if no
    /// slab has this number. O(slots).
    pub(crate) fn live_in(
        &self,
        number: u32,
        only: Option<u32>,
    ) -> Option<(SizeClass, impl Iterator<Item = Suballocation>)> {
        self.parent(number)?;
        let class = class_by_slots(&self.slabs[SlabIndex::of(number)])?;
        Some((class, self.used_in(number, only)))
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

    /// Reopens all closed slabs. O(slabs).
    pub(crate) fn reopen_all(&mut self) {
        for number in 0..self.place_count() {
            if self.slabs[SlabIndex::of(number)].class == SizeClass::CLOSED {
                self.reopen(number);
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
            self.note_empties(class);
        }
    }

    /// Removes a closed slab without a used slot from the table. O(1).
    pub(crate) fn take_closed_empty(&mut self) -> Option<P> {
        let has_one = self.with_empty.lowest_from(SizeClass::CLOSED).is_some();
        has_one.then(|| self.take_empty_of(SizeClass::CLOSED))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HeapOffset;

    #[test]
    fn an_audit_finds_each_violation() {
        type Violation = fn(&mut SlabTable<&'static str>);
        let violations: [(&str, Violation); 2] = [
            ("invalid shape", |table| {
                table.close(0);
                table.slabs[SlabIndex::of(0)].slot_size = 103;
            }),
            ("does not belong there", |table| table.slabs[SlabIndex::of(0)].class = SizeClass::CLOSED),
        ];
        for (says, violate) in violations {
            let mut table = SlabTable::default();
            let (class, size) =
                (SizeClass::of(ByteSize::new(100), Alignment::ONE).unwrap(), ByteSize::new(100));
            table.insert(table.shape(class), HeapOffset::ZERO, "memory", size).unwrap();
            violate(&mut table);
            assert!(table.audit().unwrap_err().contains(says), "{says}");
        }
    }
}
