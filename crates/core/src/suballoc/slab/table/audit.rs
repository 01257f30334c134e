//! Full check of a table of slabs.

use super::super::class::{ClassSet, SizeClass};
use super::super::slabs::{MAX_SLOTS, SlabIndex};
use super::super::slots::SlotRecord;
use super::{SlabTable, SlabTotals, closing};

impl<P> SlabTable<P> {
    /// Returns the first violated invariant.
    #[inline]
    pub(crate) fn audit(&self) -> Result<(), String> {
        let (linked, vacant) = self.slabs.audit()?;
        let mut counted = SlabTotals::default();
        let (mut class_slots, mut full, mut free_count, mut numbers) =
            ([0_u32; SizeClass::RING_COUNT], 0, 0, 0);
        let mut with_empty = ClassSet::default();
        for (number, parent) in (0..self.slabs.place_count()).zip(&self.parents) {
            let slab = self.slabs[SlabIndex::of(number)];
            if parent.is_none() {
                if slab.all != 0 {
                    return Err(format!("slab {number} has slots but no memory"));
                }
                free_count += 1;
                continue;
            }
            if Some(slab.slot_size) != closing::slot_size_of(&slab)
                || slab.made_slots > MAX_SLOTS
                || slab.all == 0
                || slab.all.checked_ilog2().is_some_and(|last| last >= slab.made_slots)
                || slab.free & !slab.all != 0
            {
                return Err(format!("slab {number} has an invalid shape: {slab:?}"));
            }
            full += u32::from(slab.free == 0);
            numbers += slab.made_slots.next_power_of_two() as usize;
            for slot in slab.slots().map(|slot| slab.first_slot + slot) {
                if self.slots.get(slot).map(SlotRecord::slab) != Some(SlabIndex::of(number)) {
                    return Err(format!("slot {slot} of slab {number} does not record its slab"));
                }
            }
            class_slots[slab.class.index()] += slab.slot_count();
            counted.slab_count += 1;
            counted.slab_bytes += slab.bytes();
            if slab.is_empty() {
                with_empty.set(slab.class, true);
                counted.empty_slab_bytes += slab.bytes();
            }
            for suballocation in self.used_in(number, None) {
                counted.used += suballocation.range.size().get();
                counted.allocation_count += 1;
            }
        }
        if counted != self.totals {
            return Err(format!("counted {counted:?}, recorded {:?}", self.totals));
        }
        if linked + full + vacant != self.slabs.place_count() || vacant != free_count {
            return Err(format!(
                "{linked} slabs in rings, {full} full, {vacant} vacant, {free_count} without memory"
            ));
        }
        if class_slots != self.class_slots {
            return Err("the recorded number of slots of a class is wrong".to_owned());
        }
        if with_empty != self.with_empty {
            return Err("the recorded set of classes with empty slabs is wrong".to_owned());
        }
        let numbers = numbers + self.slots.audit_vacant()?;
        if numbers != self.slots.len() || self.parents.len() > self.slabs.place_count() as usize {
            return Err(format!("found {numbers} of {} slot numbers", self.slots.len()));
        }
        Ok(())
    }
}
