//! User values, indexed by the slots of ids.

use std::num::NonZeroU32;

use crate::suballoc::SuballocationId;

/// The value of each live suballocation. O(1) per call; the tables grow by doubling, up to the highest slot
/// in use.
///
/// Slots are dense and reused, so a table is as long as the largest number of ranges at one time. Slots of
/// slabs are counted separately, with the top bit set.
pub(super) struct UserData<T> {
    ranges: Vec<Option<T>>,
    slab_slots: Vec<Option<T>>,
}

impl<T> UserData<T> {
    /// The bit that marks a slot of a slab.
    const SLAB_SLOT: u32 = 1 << 31;

    pub(super) const fn new() -> Self {
        Self { ranges: Vec::new(), slab_slots: Vec::new() }
    }

    /// Stores the value of a new suballocation.
    pub(super) fn insert(&mut self, id: SuballocationId, value: T) {
        let position = position(id.slot());
        let table = if is_slab_slot(id.slot()) { &mut self.slab_slots } else { &mut self.ranges };
        if position >= table.len() {
            table.resize_with(position + 1, || None);
        }
        table[position] = Some(value);
    }

    /// Returns the value of a live suballocation.
    pub(super) fn get(&self, id: SuballocationId) -> Option<&T> {
        let table = if is_slab_slot(id.slot()) { &self.slab_slots } else { &self.ranges };
        table.get(position(id.slot()))?.as_ref()
    }

    /// Returns the value of a live suballocation mutably.
    pub(super) fn get_mut(&mut self, id: SuballocationId) -> Option<&mut T> {
        let table = if is_slab_slot(id.slot()) { &mut self.slab_slots } else { &mut self.ranges };
        table.get_mut(position(id.slot()))?.as_mut()
    }

    /// Removes the value of a freed suballocation.
    pub(super) fn remove(&mut self, id: SuballocationId) -> Option<T> {
        let table = if is_slab_slot(id.slot()) { &mut self.slab_slots } else { &mut self.ranges };
        table.get_mut(position(id.slot()))?.take()
    }

    /// Drops all values. O(length of the tables).
    pub(super) fn clear(&mut self) {
        // The vectors are empty before the first value is dropped, so a value whose drop panics leaves no
        // gaps.
        self.ranges.clear();
        self.slab_slots.clear();
    }

    /// Returns the number of values. O(length of the tables); for the audit.
    pub(super) fn count(&self) -> usize {
        self.ranges.iter().chain(&self.slab_slots).flatten().count()
    }
}

fn is_slab_slot(slot: NonZeroU32) -> bool {
    slot.get() & UserData::<()>::SLAB_SLOT != 0
}

/// Returns the index in the table. Slots of ranges count from one; those of slabs from zero.
fn position(slot: NonZeroU32) -> usize {
    let number = slot.get() & !UserData::<()>::SLAB_SLOT;
    usize::try_from(number).expect("usize has at least 32 bits on every platform with a GPU")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suballoc::suballocation::Stamp;

    fn id(slot: u32) -> SuballocationId {
        SuballocationId::new(NonZeroU32::new(slot).unwrap(), Stamp::FIRST)
    }

    #[test]
    fn slots_of_slabs_are_not_those_of_ranges() {
        let mut values = UserData::new();
        let slots = [1, 700, 1 << 31 | 1, 1 << 31 | 700, 1 << 31];
        for slot in slots {
            values.insert(id(slot), slot);
        }
        assert_eq!(values.count(), slots.len());
        for slot in slots {
            assert_eq!(values.get(id(slot)), Some(&slot));
            *values.get_mut(id(slot)).unwrap() += 1;
            assert_eq!(values.remove(id(slot)), Some(slot + 1));
            assert_eq!(values.remove(id(slot)), None);
        }
        assert_eq!(values.count(), 0);
    }

    #[test]
    fn a_slot_beyond_the_table_has_no_value() {
        let mut values = UserData::new();
        values.insert(id(3), "three");
        for slot in [1, 2, 4, (1 << 31) - 1, u32::MAX] {
            assert_eq!(values.get(id(slot)), None);
            assert_eq!(values.get_mut(id(slot)), None);
            assert_eq!(values.remove(id(slot)), None);
        }
        values.clear();
        assert_eq!(values.get(id(3)), None);
    }
}
