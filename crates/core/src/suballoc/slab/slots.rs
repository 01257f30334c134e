//! Records of slots: the slab of each slot, its requested size and its suballocation.

use super::super::suballocation::Stamp;
use super::class::SizeClass;
use super::slabs::{FIRST_SLABS, MAX_SLOTS, SlabIndex};

/// The requested size minus one in the low 16 bits; above them, the number of suballocations that the slot
/// had, from one.
///
/// The whole word is the stamp of the suballocation in the slot. A count of 48 bits wraps after one slot was
/// reused 2^48 times, which takes a month of doing nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotNote(u64);

impl SlotNote {
    const SIZE_BITS: u32 = 16;

    /// The note of a slot that was never used.
    pub(super) const FRESH: Self = Self(1 << Self::SIZE_BITS);

    /// Records that the slot is used for `size` bytes, 1 to 64 KiB.
    #[inline]
    pub(super) const fn set_size(&mut self, size: u64) {
        self.0 = self.0 >> Self::SIZE_BITS << Self::SIZE_BITS | (size - 1);
    }

    /// Records that the slot was freed.
    #[inline]
    pub(super) const fn next_generation(&mut self) {
        // Skips the count zero, with which the stamp might be zero.
        let next = self.0.wrapping_add(1 << Self::SIZE_BITS);
        self.0 = if next >> Self::SIZE_BITS == 0 { Self::FRESH.0 } else { next };
    }

    /// Returns the requested size of the live suballocation in the slot.
    #[inline]
    pub(super) const fn size(self) -> u64 {
        (self.0 & (SizeClass::MAX_SIZE - 1)) + 1
    }

    #[inline]
    pub(super) fn stamp(self) -> Stamp {
        Stamp::new(self.0).expect("the count is never zero")
    }
}

const _: () = assert!(SizeClass::MAX_SIZE == 1 << SlotNote::SIZE_BITS);

/// A slot of a slab, or a number that belongs to no slab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotRecord {
    pub(super) note: SlotNote,
    /// The slab of the slot. In the first record of a vacant run, the next vacant run of the same length.
    link: u32,
}

impl SlotRecord {
    const FRESH: Self = Self { note: SlotNote::FRESH, link: SlotRecords::NONE };

    /// Returns the slab of the slot, if the slot belongs to one.
    #[inline]
    pub(super) const fn slab(self) -> SlabIndex {
        SlabIndex::of(self.link)
    }
}

/// The records of all slots, by their number. The slots of a slab have a run of numbers, whose length is the
/// number of slots rounded up to a power of two.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(PartialEq, Eq))]
pub(super) struct SlotRecords {
    records: Vec<SlotRecord>,
    /// The first vacant run of each length: 1, 2, 4 and so on up to 64 numbers.
    vacant: [u32; SlotRecords::LENGTHS],
}

impl SlotRecords {
    const LENGTHS: usize = MAX_SLOTS.ilog2() as usize + 1;

    /// The value that names no run and no slab.
    const NONE: u32 = u32::MAX >> 1;

    /// The number of slot numbers. They have 31 bits, and one value is reserved.
    const LIMIT: usize = (1 << 31) - 1;

    pub(super) fn new() -> Self {
        // Most slabs have eight slots at first.
        Self { records: Vec::with_capacity(8 * FIRST_SLABS), vacant: [Self::NONE; Self::LENGTHS] }
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<SlotRecord> {
        self.records.get(number as usize).copied()
    }

    #[inline]
    pub(super) fn note_mut(&mut self, number: u32) -> &mut SlotNote {
        &mut self.records[number as usize].note
    }

    /// Returns the number of slot numbers, including vacant ones.
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// Takes a run of numbers for the slots of a slab and returns the first, or `None` if the limit is
    /// reached. O(slots).
    pub(super) fn take_run(&mut self, slot_count: u32, slab: SlabIndex) -> Option<u32> {
        let length_log2 = slot_count.next_power_of_two().ilog2();
        let first = self.vacant_run(length_log2)?;
        for record in &mut self.records[first as usize..][..slot_count as usize] {
            record.link = slab.number();
        }
        Some(first)
    }

    fn vacant_run(&mut self, length_log2: u32) -> Option<u32> {
        for log2 in length_log2..=MAX_SLOTS.ilog2() {
            let first = self.vacant[log2 as usize];
            if first != Self::NONE {
                self.vacant[log2 as usize] = self.records[first as usize].link;
                // The rest of a longer run becomes shorter vacant runs.
                (length_log2..log2).for_each(|half| self.add_vacant(first + (1 << half), half));
                return Some(first);
            }
        }
        let length = self.records.len() + (1 << length_log2);
        (length <= Self::LIMIT).then(|| {
            let first = u32::try_from(self.records.len()).expect("it is below the limit");
            self.records.resize(length, SlotRecord::FRESH);
            first
        })
    }

    /// Releases the numbers of a slab whose slots are all free. O(1).
    pub(super) fn give_back_run(&mut self, first: u32, slot_count: u32) {
        self.add_vacant(first, slot_count.next_power_of_two().ilog2());
    }

    fn add_vacant(&mut self, first: u32, length_log2: u32) {
        let next = std::mem::replace(&mut self.vacant[length_log2 as usize], first);
        self.records[first as usize].link = next;
    }

    /// Returns the number of vacant slot numbers, or an error if a vacant run is not in the table.
    #[inline]
    pub(super) fn audit_vacant(&self) -> Result<usize, String> {
        let mut found = 0;
        for (log2, &first) in self.vacant.iter().enumerate() {
            let mut first = first;
            while first != Self::NONE {
                let record =
                    self.get(first).ok_or_else(|| format!("vacant run {first} is not in the table"))?;
                found += 1 << log2;
                if found > self.records.len() {
                    return Err("the vacant runs contain more slot numbers than the table".to_owned());
                }
                first = record.link;
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_any_size_and_never_the_same_stamp_twice() {
        let mut note = SlotNote::FRESH;
        let mut stamps = Vec::new();
        for size in [1, 2, 1000, SizeClass::MAX_SIZE, 1, 1] {
            note.set_size(size);
            assert_eq!(note.size(), size);
            stamps.push(note.stamp());
            note.next_generation();
        }
        assert!(stamps.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn a_wrapped_count_is_not_zero() {
        let mut note = SlotNote(u64::MAX);
        note.next_generation();
        assert_eq!(note, SlotNote::FRESH);
    }
}
