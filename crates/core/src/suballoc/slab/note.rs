//! What is noted of a slot: how much of it was asked for, and which suballocation it is.

use super::super::suballocation::Stamp;
use super::class::SizeClass;

/// The size asked for, less one, in the low 16 bits; above them, how many suballocations the slot had, from one up.
///
/// As a whole it is the stamp of the suballocation that the slot holds. A count of 48 bits comes round again after one
/// slot was reused 2^48 times, which takes a month of doing nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotNote(u64);

impl SlotNote {
    const SIZE_BITS: u32 = 16;

    /// Of a slot that held nothing yet.
    pub(super) const FRESH: Self = Self(1 << Self::SIZE_BITS);

    /// The slot is handed out for `size` bytes, 1 to 64 KiB.
    #[inline]
    pub(super) const fn set_size(&mut self, size: u64) {
        self.0 = self.0 >> Self::SIZE_BITS << Self::SIZE_BITS | (size - 1);
    }

    /// The slot was freed.
    #[inline]
    pub(super) const fn next_generation(&mut self) {
        // Around the count of zero, with which the stamp might be zero.
        let next = self.0.wrapping_add(1 << Self::SIZE_BITS);
        self.0 = if next >> Self::SIZE_BITS == 0 { Self::FRESH.0 } else { next };
    }

    /// The size asked for of what is live in the slot.
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
    fn a_count_that_comes_round_is_no_zero() {
        let mut note = SlotNote(u64::MAX);
        note.next_generation();
        assert_eq!(note, SlotNote::FRESH);
    }
}
