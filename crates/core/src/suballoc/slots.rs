//! A dense table of notes that reuses vacant slots.
//!
//! ```text
//!   slot    0 .. fixed                   after that
//!           heads of the owner's lists   notes and vacant slots, in no order
//! ```
//!
//! The owner links its notes to lists by slot indices. The vacant slots are a stack, linked through the slots
//! themselves: the slot vacated last is taken first, because it is likely to be in the cache.

use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};

/// The index of a slot in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotIndex(u32);

impl SlotIndex {
    /// The first slot. It is always a fixed slot, so it also means "none".
    pub(super) const ZERO: Self = Self(0);

    pub(super) const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Returns the index that an id names.
    #[inline]
    pub(super) const fn from_slot(slot: NonZeroU32) -> Self {
        Self(slot.get())
    }

    /// Returns the slot number for an id.
    #[inline]
    pub(super) fn slot(self) -> NonZeroU32 {
        NonZeroU32::new(self.0).expect("slot zero is reserved for a list head")
    }

    #[inline]
    pub(super) const fn get(self) -> u32 {
        self.0
    }

    #[inline]
    fn position(self) -> usize {
        usize::try_from(self.0).expect("usize has at least 32 bits on every platform with a GPU")
    }
}

/// The type of a table's entries.
pub(super) trait Note: Sized {
    /// Creates the content of a vacant slot, with the next slot in the stack of vacant slots.
    ///
    /// It must differ from every note that an id may name.
    fn vacant(next: SlotIndex) -> Self;

    /// Returns the next slot in the stack of vacant slots, or `None` if this is a note.
    fn next_vacant(&self) -> Option<SlotIndex>;
}

/// A dense table of notes.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(PartialEq, Eq))]
pub(super) struct Slots<N> {
    notes: Vec<N>,
    /// The top of the stack of vacant slots, or slot zero if there are none.
    first_vacant: SlotIndex,
    vacant_count: u32,
    /// The number of slots at the front that are never allocated.
    fixed: u32,
    /// The maximum number of slots.
    slot_limit: u32,
}

impl<N: Note> Slots<N> {
    /// The largest table. Bit 31 of an id's slot is reserved.
    const LARGEST_TABLE: u32 = 1 << 31;

    /// The number of notes before the table grows for the first time.
    const FIRST_NOTES: usize = 32;

    /// Creates a table with these fixed notes, and a limit of `note_limit` other notes, or of as many as can
    /// be numbered.
    ///
    /// There must be a first fixed note, and it must not be vacant: it ends the stack of vacant slots.
    pub(super) fn new(fixed_notes: impl ExactSizeIterator<Item = N>, note_limit: u32) -> Self {
        let mut notes = Vec::with_capacity(fixed_notes.len() + Self::FIRST_NOTES);
        notes.extend(fixed_notes);
        let fixed = u32::try_from(notes.len()).expect("at most one list for each order");
        Self {
            notes,
            first_vacant: SlotIndex::ZERO,
            vacant_count: 0,
            fixed,
            slot_limit: note_limit.saturating_add(fixed).min(Self::LARGEST_TABLE),
        }
    }

    /// Returns whether there is room for `count` more notes. O(1).
    #[inline]
    pub(super) fn has_room_for(&self, count: u32) -> bool {
        self.vacant_count >= count || self.can_grow_by(count - self.vacant_count)
    }

    #[inline]
    fn can_grow_by(&self, count: u32) -> bool {
        u32::try_from(self.notes.len()).is_ok_and(|length| self.slot_limit - length >= count)
    }

    /// Puts a note into a vacant slot. [`has_room_for`](Self::has_room_for) must have returned true.
    ///
    /// Amortized O(1).
    #[inline]
    pub(super) fn insert(&mut self, note: N) -> SlotIndex {
        let index = self.first_vacant;
        match self[index].next_vacant() {
            Some(next) => {
                self.first_vacant = next;
                self.vacant_count -= 1;
                self[index] = note;
                index
            }
            None => {
                let index =
                    SlotIndex(u32::try_from(self.notes.len()).expect("the slot limit fits in 32 bits"));
                self.notes.push(note);
                index
            }
        }
    }

    /// Removes a note. O(1).
    #[inline]
    pub(super) fn vacate(&mut self, index: SlotIndex) {
        self[index] = N::vacant(self.first_vacant);
        self.first_vacant = index;
        self.vacant_count += 1;
    }

    /// Removes all notes but the fixed ones. The table keeps its memory. O(1).
    pub(super) fn vacate_all(&mut self) {
        self.notes.truncate(SlotIndex(self.fixed).position());
        self.first_vacant = SlotIndex::ZERO;
        self.vacant_count = 0;
    }

    /// Calls a function for every slot, fixed and vacant ones included. O(n).
    pub(super) fn for_each(&mut self, change: impl FnMut(&mut N)) {
        self.notes.iter_mut().for_each(change);
    }

    /// Returns the note that an id names, if that slot exists.
    #[inline]
    pub(super) fn get(&self, index: SlotIndex) -> Option<&N> {
        self.notes.get(index.position())
    }

    /// Reserves space for `additional` more notes.
    pub(super) fn reserve(&mut self, additional: usize) {
        self.notes.reserve(additional);
    }

    /// Returns the number of notes other than the fixed ones. O(1).
    pub(super) fn count(&self) -> u64 {
        let slots = u64::try_from(self.notes.len()).unwrap_or(u64::MAX);
        slots - u64::from(self.fixed) - u64::from(self.vacant_count)
    }

    /// Returns the largest number of notes other than the fixed ones.
    pub(super) const fn note_limit(&self) -> u32 {
        self.slot_limit - self.fixed
    }

    /// Returns the first violated invariant of the vacant slots. O(n).
    pub(super) fn audit_vacant(&self) -> Result<(), String> {
        let (mut index, mut found) = (self.first_vacant, 0);
        while index != SlotIndex::ZERO {
            let note = self.get(index).ok_or_else(|| format!("vacant slot {index:?} is not in the table"))?;
            let next = note.next_vacant().ok_or_else(|| format!("vacant slot {index:?} is in use"))?;
            if found == self.vacant_count {
                return Err(format!("the list of vacant slots is longer than the recorded {found}"));
            }
            (index, found) = (next, found + 1);
        }
        if found == self.vacant_count {
            Ok(())
        } else {
            Err(format!("found {found} vacant slots, recorded {}", self.vacant_count))
        }
    }

    /// Returns the address of the table, which changes when it grows.
    #[cfg(test)]
    pub(super) fn address(&self) -> *const N {
        self.notes.as_ptr()
    }

    /// Returns the total number of slots.
    #[cfg(test)]
    pub(super) fn slot_count(&self) -> usize {
        self.notes.len()
    }
}

impl<N: Note> Index<SlotIndex> for Slots<N> {
    type Output = N;

    #[inline]
    fn index(&self, index: SlotIndex) -> &N {
        &self.notes[index.position()]
    }
}

impl<N: Note> IndexMut<SlotIndex> for Slots<N> {
    #[inline]
    fn index_mut(&mut self, index: SlotIndex) -> &mut N {
        &mut self.notes[index.position()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Word {
        Written(u32),
        Vacant(SlotIndex),
    }

    impl Note for Word {
        fn vacant(next: SlotIndex) -> Self {
            Self::Vacant(next)
        }

        fn next_vacant(&self) -> Option<SlotIndex> {
            match *self {
                Self::Written(_) => None,
                Self::Vacant(next) => Some(next),
            }
        }
    }

    fn table(note_limit: u32) -> Slots<Word> {
        Slots::new([Word::Written(0)].into_iter(), note_limit)
    }

    #[test]
    fn the_slot_vacated_last_is_taken_first_and_only_then_the_table_grows() {
        let mut table = table(10);
        let [a, b, c] = [1, 2, 3].map(|word| table.insert(Word::Written(word)));
        table.vacate(a);
        table.vacate(c);
        table.audit_vacant().unwrap();
        assert_eq!((table.count(), table[b]), (1, Word::Written(2)));
        assert_eq!(table.insert(Word::Written(4)), c);
        assert_eq!(table.insert(Word::Written(5)), a);
        assert_eq!(table.insert(Word::Written(6)), SlotIndex(4));
        assert_eq!(table.count(), 4);
        table.audit_vacant().unwrap();
    }

    #[test]
    fn the_number_of_entries_is_limited() {
        let mut table = table(2);
        assert_eq!(table.note_limit(), 2);
        assert!(table.has_room_for(2) && !table.has_room_for(3));
        let first = table.insert(Word::Written(1));
        table.insert(Word::Written(2));
        assert!(table.has_room_for(0) && !table.has_room_for(1));
        table.vacate(first);
        assert!(table.has_room_for(1) && !table.has_room_for(2));
        assert_eq!(self::table(u32::MAX).note_limit(), (1 << 31) - 1);
    }

    #[test]
    fn an_emptied_table_equals_a_new_one() {
        let mut table = table(10);
        let first = table.insert(Word::Written(1));
        table.insert(Word::Written(2));
        table.vacate(first);
        table.vacate_all();
        assert_eq!(table, self::table(10));
        assert_eq!(table.get(first), None);
    }
}
