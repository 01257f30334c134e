//! Heaps by a size: their largest free range, or their own size when they are empty.

use std::iter::successors;

use crate::suballoc::Tlsf;

/// A position in the set's table of heaps.
pub(super) type Slot = u32;

const NONE: Slot = Slot::MAX;

/// Size classes of a suballocator in a bin: 4 of 32, so that there are 8 bins for each power of two.
const CLASSES_LOG2: u32 = 2;
const BIN_COUNT: usize = 1920 >> CLASSES_LOG2;
const WORD_COUNT: usize = BIN_COUNT.div_ceil(64);

/// How many heaps of a bin are looked at before one is taken; what keeps a search O(1).
const CANDIDATES: usize = 8;

/// Where a heap stands in its index. It lives in the heap's slot, so the index allocates nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Links {
    bin: u16,
    before: Slot,
    after: Slot,
}

impl Links {
    pub(super) const NONE: Self = Self { bin: 0, before: NONE, after: NONE };

    /// Whether a heap of this size class is in the bin that it should be in.
    #[inline]
    pub(super) fn fit(self, key_class: u32) -> bool {
        self.bin == bin_of(key_class)
    }
}

/// Access to the links and keys of the heaps that an index holds.
pub(super) trait IndexedHeaps {
    fn links(&self, slot: Slot) -> Links;
    fn links_mut(&mut self, slot: Slot) -> &mut Links;
    /// The size by which the heap is found.
    fn key(&self, slot: Slot) -> u64;
    /// The size class of that size, as a suballocator counts them.
    fn key_class(&self, slot: Slot) -> u32;
}

/// Doubly linked lists of heaps in bins of similar size, with a bitmap of the bins that are not empty.
///
/// Insert, remove and find are O(1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeapIndex {
    heads: [Slot; BIN_COUNT],
    bitmap: [u64; WORD_COUNT],
    /// Bit w: word w of the bitmap is not zero.
    words: u32,
    /// How many heaps there are, and which one if there is one; `only` means nothing otherwise.
    count: u32,
    only: Slot,
}

impl HeapIndex {
    pub(super) fn new() -> Self {
        Self { heads: [NONE; BIN_COUNT], bitmap: [0; WORD_COUNT], words: 0, count: 0, only: NONE }
    }

    /// Adds a heap.
    pub(super) fn insert(&mut self, heaps: &mut impl IndexedHeaps, slot: Slot) {
        self.link(heaps, slot, bin_of(heaps.key_class(slot)));
        self.count += 1;
        self.only = slot;
    }

    /// Takes a heap out.
    pub(super) fn remove(&mut self, heaps: &mut impl IndexedHeaps, slot: Slot) {
        self.unlink(heaps, slot);
        self.count -= 1;
        if self.count == 1 {
            self.only = self.largest().unwrap_or(NONE);
        }
    }

    /// Moves a heap to the bin of this size class, when it does not [fit](Links::fit) its bin any more.
    #[inline]
    pub(super) fn update(&mut self, heaps: &mut impl IndexedHeaps, slot: Slot, key_class: u32) {
        self.unlink(heaps, slot);
        self.link(heaps, slot, bin_of(key_class));
    }

    #[inline]
    fn link(&mut self, heaps: &mut impl IndexedHeaps, slot: Slot, bin: u16) {
        let head = std::mem::replace(&mut self.heads[usize::from(bin)], slot);
        *heaps.links_mut(slot) = Links { bin, before: NONE, after: head };
        if head != NONE {
            heaps.links_mut(head).before = slot;
        }
        self.bitmap[usize::from(bin) / 64] |= 1 << (bin % 64);
        self.words |= 1 << (bin / 64);
    }

    #[inline]
    fn unlink(&mut self, heaps: &mut impl IndexedHeaps, slot: Slot) {
        let Links { bin, before, after } = heaps.links(slot);
        if before == NONE {
            self.heads[usize::from(bin)] = after;
            if after == NONE {
                let word = &mut self.bitmap[usize::from(bin) / 64];
                *word &= !(1 << (bin % 64));
                self.words &= !(u32::from(*word == 0) << (bin / 64));
            }
        } else {
            heaps.links_mut(before).after = after;
        }
        if after != NONE {
            heaps.links_mut(after).before = before;
        }
    }

    /// A heap whose key is at least `size`, the smallest of the candidates that were looked at.
    ///
    /// Heaps in the bin of `size` may or may not be large enough: a bounded number of them is tried. In the bins above all
    /// are.
    #[inline(always)]
    pub(super) fn find(&self, heaps: &impl IndexedHeaps, size: u64) -> Option<Slot> {
        let own = bin_of(Tlsf::size_class(size));
        // Often there is one heap; without the look-up, the next steps need not wait for it (8 of 50 ns, 2026-11-21).
        if self.count == 1 {
            let is_enough = heaps.links(self.only).bin > own || heaps.key(self.only) >= size;
            return is_enough.then_some(self.only);
        }
        self.find_among(heaps, own, size)
    }

    /// The same among any number of heaps.
    fn find_among(&self, heaps: &impl IndexedHeaps, own: u16, size: u64) -> Option<Slot> {
        let bin = self.bin_from(own)?;
        let first = self.heads[usize::from(bin)];
        // One heap that is certain to be large enough needs no comparing.
        if bin > own && heaps.links(first).after == NONE {
            return Some(first);
        }
        self.smallest_from(heaps, own, bin, size)
    }

    /// The rest of [`find`](Self::find): `bin` is the lowest that is not empty, from `own` on.
    #[cold]
    fn smallest_from(&self, heaps: &impl IndexedHeaps, own: u16, bin: u16, size: u64) -> Option<Slot> {
        self.smallest_in(heaps, bin, size).or_else(|| {
            let next = self.bin_from(own + 1).filter(|_| bin == own)?;
            self.smallest_in(heaps, next, size)
        })
    }

    /// A heap of the highest bin that is not empty.
    pub(super) fn largest(&self) -> Option<Slot> {
        let word = self.words.checked_ilog2()? as usize;
        let bit = self.bitmap[word].checked_ilog2()? as usize;
        Some(self.heads[word * 64 + bit])
    }

    /// The heaps whose key may be `size` or more, and larger ones: those with the smallest keys first, as far as bins tell. O(1) a
    /// step.
    pub(super) fn from(&self, heaps: &impl IndexedHeaps, size: u64) -> impl Iterator<Item = Slot> {
        let or_none = |slot: Slot| (slot != NONE).then_some(slot);
        let bins = successors(self.bin_from(bin_of(Tlsf::size_class(size))), |&bin| self.bin_from(bin + 1));
        bins.flat_map(move |bin| {
            successors(or_none(self.heads[usize::from(bin)]), move |&slot| or_none(heaps.links(slot).after))
        })
    }

    /// Every heap, for audits. O(heaps).
    pub(super) fn slots(&self, heaps: &impl IndexedHeaps) -> Vec<Slot> {
        let mut slots = Vec::new();
        for &head in self.heads.iter() {
            let mut next = head;
            while next != NONE {
                slots.push(next);
                next = heaps.links(next).after;
            }
        }
        slots
    }

    fn smallest_in(&self, heaps: &impl IndexedHeaps, bin: u16, size: u64) -> Option<Slot> {
        let mut best: Option<(u64, Slot)> = None;
        let mut next = self.heads[usize::from(bin)];
        for _ in 0..CANDIDATES {
            if next == NONE {
                break;
            }
            let key = heaps.key(next);
            if key >= size && best.is_none_or(|(smallest, _)| key < smallest) {
                best = Some((key, next));
            }
            next = heaps.links(next).after;
        }
        best.map(|(_, slot)| slot)
    }

    /// The lowest bin from `first` on that holds a heap.
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

/// The bin of a size class.
#[inline]
fn bin_of(size_class: u32) -> u16 {
    u16::try_from(size_class >> CLASSES_LOG2).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_grow_with_the_size() {
        let bin_of = |size| bin_of(Tlsf::size_class(size));
        let sizes = [0, 1, 2, 3, 255, 256, 257, 65_535, 65_536, 1 << 40, (1 << 40) + (1 << 37), 1 << 63];
        for pair in sizes.windows(2) {
            assert!(bin_of(pair[0]) <= bin_of(pair[1]), "{pair:?}");
        }
        assert!(usize::from(bin_of(u64::MAX)) < BIN_COUNT);
        assert_eq!(bin_of(1 << 40) + 1, bin_of((1 << 40) + (1 << 37)));
    }
}
