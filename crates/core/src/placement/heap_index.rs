//! An index of heaps by size: by their largest free range, or by their own size if they are empty.

use std::iter::successors;

use super::heap_table::{HeapTable, Links, NO_SLOT};
use super::ids::Slot;
use crate::suballoc::Tlsf;

/// Base-2 logarithm of the number of suballocator size classes per bin: 4 of 32 classes, so 8 bins per power
/// of two.
const CLASSES_LOG2: u32 = 2;
const BIN_COUNT: usize = 1920 >> CLASSES_LOG2;
const WORD_COUNT: usize = BIN_COUNT.div_ceil(64);

/// The maximum number of heaps of a bin that a search compares, so that it is O(1).
const CANDIDATES: usize = 8;

impl Links {
    /// Returns whether a heap of this size class is in the right bin.
    #[inline]
    pub(super) fn fit(self, key_class: u32) -> bool {
        self.bin == bin_of(key_class)
    }
}

/// Doubly linked lists of heaps in bins of similar size, with a bitmap of the bins that are not empty.
///
/// Inserting, removing and finding a heap are O(1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeapIndex {
    heads: [Slot; BIN_COUNT],
    bitmap: [u64; WORD_COUNT],
    /// Bit w: word w of the bitmap is not zero.
    words: u32,
    /// The number of heaps, and the only heap if the number is one; otherwise `only` is meaningless.
    count: u32,
    only: Slot,
}

impl HeapIndex {
    pub(super) fn new() -> Self {
        Self { heads: [NO_SLOT; BIN_COUNT], bitmap: [0; WORD_COUNT], words: 0, count: 0, only: NO_SLOT }
    }

    /// Returns the number of heaps.
    pub(super) const fn len(&self) -> u32 {
        self.count
    }

    /// Adds a heap, whose key is of this size class.
    pub(super) fn insert<H>(&mut self, heaps: &mut HeapTable<H>, slot: Slot, key_class: u32) {
        self.link(heaps, slot, bin_of(key_class));
        self.count += 1;
        self.only = slot;
    }

    pub(super) fn remove<H>(&mut self, heaps: &mut HeapTable<H>, slot: Slot) {
        self.unlink(heaps, slot);
        self.count -= 1;
        if self.count == 1 {
            self.only = self.largest().unwrap_or(NO_SLOT);
        }
    }

    /// Moves a heap to the bin of this size class, if it no longer [fits](Links::fit) its bin.
    #[inline]
    pub(super) fn update<H>(&mut self, heaps: &mut HeapTable<H>, slot: Slot, key_class: u32) {
        self.unlink(heaps, slot);
        self.link(heaps, slot, bin_of(key_class));
    }

    /// Moves a heap to its bin, if its key changed.
    pub(super) fn update_if_moved<H>(&mut self, heaps: &mut HeapTable<H>, slot: Slot) {
        let key_class = heaps.key_class(slot);
        if !heaps.indexed[slot as usize].links.fit(key_class) {
            self.update(heaps, slot, key_class);
        }
    }

    #[inline]
    fn link<H>(&mut self, heaps: &mut HeapTable<H>, slot: Slot, bin: u16) {
        let head = std::mem::replace(&mut self.heads[usize::from(bin)], slot);
        heaps.indexed[slot as usize].links = Links { bin, before: NO_SLOT, after: head };
        if head != NO_SLOT {
            heaps.indexed[head as usize].links.before = slot;
        }
        self.bitmap[usize::from(bin) / 64] |= 1 << (bin % 64);
        self.words |= 1 << (bin / 64);
    }

    #[inline]
    fn unlink<H>(&mut self, heaps: &mut HeapTable<H>, slot: Slot) {
        let Links { bin, before, after } = heaps.indexed[slot as usize].links;
        if before == NO_SLOT {
            self.heads[usize::from(bin)] = after;
            if after == NO_SLOT {
                let word = &mut self.bitmap[usize::from(bin) / 64];
                *word &= !(1 << (bin % 64));
                self.words &= !(u32::from(*word == 0) << (bin / 64));
            }
        } else {
            heaps.indexed[before as usize].links.after = after;
        }
        if after != NO_SLOT {
            heaps.indexed[after as usize].links.before = before;
        }
    }

    /// Returns a heap whose key is at least `size`: the smallest of the heaps that the search compares.
    ///
    /// Heaps in the bin of `size` may be too small, so a bounded number of them is examined. Heaps in higher
    /// bins are all large enough.
    pub(super) fn find<H>(&self, heaps: &HeapTable<H>, size: u64) -> Option<Slot> {
        let own = bin_of(Tlsf::size_class(size));
        let bin = self.bin_from(own)?;
        self.smallest_in(heaps, bin, size).or_else(|| {
            let next = self.bin_from(own + 1).filter(|_| bin == own)?;
            self.smallest_in(heaps, next, size)
        })
    }

    /// Returns a heap whose key is at least `size`: of the first ones in ascending order of bins, the one that has
    /// been in use for longest.
    #[inline(always)]
    pub(super) fn find_oldest<H>(&self, heaps: &HeapTable<H>, size: u64) -> Option<Slot> {
        let own = bin_of(Tlsf::size_class(size));
        // There is often only one heap; skipping the search then saves dependent steps (8 of 50 ns,
        // 2026-11-21).
        if self.count == 1 {
            let is_enough = heaps.indexed[self.only as usize].links.bin > own || heaps.key(self.only) >= size;
            return is_enough.then_some(self.only);
        }
        self.oldest_from(heaps, own, size)
    }

    fn oldest_from<H>(&self, heaps: &HeapTable<H>, own: u16, size: u64) -> Option<Slot> {
        let mut best: Option<(u64, Slot)> = None;
        let (mut left, mut next_bin) = (CANDIDATES, own);
        while let Some(bin) = self.bin_from(next_bin) {
            let mut next = self.heads[usize::from(bin)];
            while next != NO_SLOT && left > 0 {
                let age = heaps.indexed[next as usize].in_use_since;
                if best.is_none_or(|(lowest, _)| age < lowest) && (bin > own || heaps.key(next) >= size) {
                    best = Some((age, next));
                }
                next = heaps.indexed[next as usize].links.after;
                left -= 1;
            }
            if left == 0 && best.is_none() {
                // The first bin holds more heaps than are compared, and any of the next bin is large enough.
                left = 1;
            }
            if left == 0 || bin as usize + 1 >= BIN_COUNT {
                break;
            }
            next_bin = bin + 1;
        }
        best.map(|(_, slot)| slot)
    }

    /// Returns a heap of the highest bin that is not empty.
    pub(super) fn largest(&self) -> Option<Slot> {
        let word = self.words.checked_ilog2()? as usize;
        let bit = self.bitmap[word].checked_ilog2()? as usize;
        Some(self.heads[word * 64 + bit])
    }

    /// Iterates over the heaps whose key may be at least `size`, in ascending order of bins. O(1) per step.
    pub(super) fn from<H>(&self, heaps: &HeapTable<H>, size: u64) -> impl Iterator<Item = Slot> {
        let or_none = |slot: Slot| (slot != NO_SLOT).then_some(slot);
        let bins = successors(self.bin_from(bin_of(Tlsf::size_class(size))), |&bin| self.bin_from(bin + 1));
        bins.flat_map(move |bin| {
            successors(or_none(self.heads[usize::from(bin)]), move |&slot| {
                or_none(heaps.indexed[slot as usize].links.after)
            })
        })
    }

    /// Returns all heaps, for audits. O(heaps).
    pub(super) fn slots<H>(&self, heaps: &HeapTable<H>) -> Vec<Slot> {
        let mut slots = Vec::new();
        for &head in self.heads.iter() {
            let mut next = head;
            while next != NO_SLOT {
                slots.push(next);
                next = heaps.indexed[next as usize].links.after;
            }
        }
        slots
    }

    fn smallest_in<H>(&self, heaps: &HeapTable<H>, bin: u16, size: u64) -> Option<Slot> {
        let mut best: Option<(u64, Slot)> = None;
        let mut next = self.heads[usize::from(bin)];
        for _ in 0..CANDIDATES {
            if next == NO_SLOT {
                break;
            }
            let key = heaps.key(next);
            if key >= size && best.is_none_or(|(smallest, _)| key < smallest) {
                best = Some((key, next));
            }
            next = heaps.indexed[next as usize].links.after;
        }
        best.map(|(_, slot)| slot)
    }

    /// Returns the lowest bin from `first` on that is not empty.
    #[inline]
    fn bin_from(&self, first: u16) -> Option<u16> {
        let start = usize::from(first) / 64;
        let bits = *self.bitmap.get(start)? & (u64::MAX << (first % 64));
        if bits != 0 {
            return u16::try_from(start * 64 + bits.trailing_zeros() as usize).ok();
        }
        let words = self.words & (u32::MAX << start << 1);
        let word = (words != 0).then(|| words.trailing_zeros() as usize)?;
        u16::try_from(word * 64 + self.bitmap[word].trailing_zeros() as usize).ok()
    }
}

/// Returns the bin of a size class.
#[inline]
fn bin_of(size_class: u32) -> u16 {
    u16::try_from(size_class >> CLASSES_LOG2).unwrap_or(u16::MAX)
}
