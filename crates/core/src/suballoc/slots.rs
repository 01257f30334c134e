//! A dense table of notes, whose vacant slots are used again.
//!
//! ```text
//!   slot    0 .. fixed                   after that
//!           heads of the owner's lists   notes and vacant slots, in no order
//! ```
//!
//! The owner links its notes to lists by the indices of their slots. The vacant slots are a stack, linked through
//! themselves: the slot that was vacated last is taken first, as it is likely to be in the cache.

use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};

/// The place of a note in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotIndex(u32);

impl SlotIndex {
    /// The first slot. It is always one of the fixed ones, so it also says "none".
    pub(super) const ZERO: Self = Self(0);

    pub(super) const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The place that an id names.
    #[inline]
    pub(super) const fn from_slot(slot: NonZeroU32) -> Self {
        Self(slot.get())
    }

    /// What an id names the place by.
    #[inline]
    pub(super) fn slot(self) -> NonZeroU32 {
        NonZeroU32::new(self.0).expect("slot zero is the head of a list")
    }

    #[inline]
    pub(super) const fn get(self) -> u32 {
        self.0
    }

    #[inline]
    fn position(self) -> usize {
        usize::try_from(self.0).expect("wherever there is a GPU, a usize has 32 bits or more")
    }
}

/// What a table holds.
pub(super) trait Note: Copy {
    /// What a vacant slot has in it, given the next in the stack of vacant slots.
    ///
    /// It must not look like anything that an id may name.
    fn vacant(next: SlotIndex) -> Self;

    /// The next in the stack of vacant slots; `None` when this is a note.
    fn next_vacant(&self) -> Option<SlotIndex>;
}

/// The table.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq))]
pub(super) struct Slots<N> {
    notes: Vec<N>,
    /// Slot zero when there are none.
    first_vacant: SlotIndex,
    vacant_count: u32,
    /// How many slots at the front are not given out.
    fixed: u32,
    /// How many slots there may be.
    slot_limit: u32,
}

impl<N: Note> Slots<N> {
    /// Bit 31 of a slot in an id is not for these tables.
    const LARGEST_TABLE: u32 = 1 << 31;

    /// How many notes there is room for before the table grows for the first time.
    const FIRST_NOTES: usize = 32;

    /// A table with these fixed notes, and room for `note_limit` others, or as many as can be numbered.
    ///
    /// The first of the fixed notes has to be there, and not to look vacant: it ends the stack of vacant slots.
    pub(super) fn new(fixed_notes: impl ExactSizeIterator<Item = N>, note_limit: u32) -> Self {
        let mut notes = Vec::with_capacity(fixed_notes.len() + Self::FIRST_NOTES);
        notes.extend(fixed_notes);
        let fixed = u32::try_from(notes.len()).expect("a list for each order at most");
        Self {
            notes,
            first_vacant: SlotIndex::ZERO,
            vacant_count: 0,
            fixed,
            slot_limit: note_limit.saturating_add(fixed).min(Self::LARGEST_TABLE),
        }
    }

    /// Whether there is room for `count` notes more. O(1).
    #[inline]
    pub(super) fn has_room_for(&self, count: u32) -> bool {
        self.vacant_count >= count || self.can_grow_by(count - self.vacant_count)
    }

    #[inline]
    fn can_grow_by(&self, count: u32) -> bool {
        u32::try_from(self.notes.len()).is_ok_and(|length| self.slot_limit - length >= count)
    }

    /// Puts a note into a vacant slot. [`has_room_for`](Self::has_room_for) has to have said that there is one.
    ///
    /// O(1), amortised over the growth of the table.
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
                let index = SlotIndex(u32::try_from(self.notes.len()).expect("the slot limit has 32 bits"));
                self.notes.push(note);
                index
            }
        }
    }

    /// Takes a note out. O(1).
    #[inline]
    pub(super) fn vacate(&mut self, index: SlotIndex) {
        self[index] = N::vacant(self.first_vacant);
        self.first_vacant = index;
        self.vacant_count += 1;
    }

    /// Takes all notes out but the fixed ones. The table keeps its memory. O(1).
    pub(super) fn vacate_all(&mut self) {
        self.notes.truncate(SlotIndex(self.fixed).position());
        self.first_vacant = SlotIndex::ZERO;
        self.vacant_count = 0;
    }

    /// The note that an id names, if there is a slot of that number.
    #[inline]
    pub(super) fn get(&self, index: SlotIndex) -> Option<&N> {
        self.notes.get(index.position())
    }

    /// Makes room for `additional` more notes, so that they allocate no memory.
    pub(super) fn reserve(&mut self, additional: usize) {
        self.notes.reserve(additional);
    }

    /// How many notes there are beside the fixed ones. O(1).
    pub(super) fn count(&self) -> u64 {
        let slots = u64::try_from(self.notes.len()).unwrap_or(u64::MAX);
        slots - u64::from(self.fixed) - u64::from(self.vacant_count)
    }

    /// The largest number of notes beside the fixed ones.
    pub(super) const fn note_limit(&self) -> u32 {
        self.slot_limit - self.fixed
    }

    /// Answers the first rule about vacant slots found broken. O(n).
    pub(super) fn audit_vacant(&self) -> Result<(), String> {
        let (mut index, mut found) = (self.first_vacant, 0);
        while index != SlotIndex::ZERO {
            let note = self.get(index).ok_or_else(|| format!("vacant {index:?} is not in the table"))?;
            let next = note.next_vacant().ok_or_else(|| format!("vacant {index:?} is in use"))?;
            if found == self.vacant_count {
                return Err(format!("more slots are vacant than the {found} counted"));
            }
            (index, found) = (next, found + 1);
        }
        if found == self.vacant_count {
            Ok(())
        } else {
            Err(format!("{found} slots are vacant, {} counted", self.vacant_count))
        }
    }

    /// Where the table lies in memory, which changes when it grows.
    #[cfg(test)]
    pub(super) fn address(&self) -> *const N {
        self.notes.as_ptr()
    }

    /// How many slots there are, of all kinds.
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
    fn the_number_of_notes_is_limited() {
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
    fn emptied_it_is_as_a_fresh_one() {
        let mut table = table(10);
        let first = table.insert(Word::Written(1));
        table.insert(Word::Written(2));
        table.vacate(first);
        table.vacate_all();
        assert_eq!(table, self::table(10));
        assert_eq!(table.get(first), None);
    }
}
