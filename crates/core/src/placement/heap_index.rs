//! Heaps by a size: their largest free range, or their own size when they are empty.

/// A position in the set's table of heaps.
pub(super) type Slot = u32;

const NONE: Slot = Slot::MAX;

/// Bins per power of two.
const SUBDIVISIONS_LOG2: u32 = 3;
const BIN_COUNT: usize = 64 << SUBDIVISIONS_LOG2;
const WORD_COUNT: usize = BIN_COUNT / 64;

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
}

/// Access to the links and keys of the heaps that an index holds.
pub(super) trait IndexedHeaps {
    fn links(&self, slot: Slot) -> Links;
    fn links_mut(&mut self, slot: Slot) -> &mut Links;
    /// The size by which the heap is found.
    fn key(&self, slot: Slot) -> u64;
}

/// Doubly linked lists of heaps in bins of similar size, with a bitmap of the bins that are not empty.
///
/// Insert, remove and find are O(1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeapIndex {
    heads: Box<[Slot; BIN_COUNT]>,
    bitmap: [u64; WORD_COUNT],
}

impl HeapIndex {
    pub(super) fn new() -> Self {
        Self { heads: Box::new([NONE; BIN_COUNT]), bitmap: [0; WORD_COUNT] }
    }

    pub(super) fn insert(&mut self, heaps: &mut impl IndexedHeaps, slot: Slot) {
        let bin = bin_of(heaps.key(slot));
        let head = std::mem::replace(&mut self.heads[usize::from(bin)], slot);
        *heaps.links_mut(slot) = Links { bin, before: NONE, after: head };
        if head != NONE {
            heaps.links_mut(head).before = slot;
        }
        self.bitmap[usize::from(bin) / 64] |= 1 << (bin % 64);
    }

    pub(super) fn remove(&mut self, heaps: &mut impl IndexedHeaps, slot: Slot) {
        let Links { bin, before, after } = heaps.links(slot);
        if before == NONE {
            self.heads[usize::from(bin)] = after;
            if after == NONE {
                self.bitmap[usize::from(bin) / 64] &= !(1 << (bin % 64));
            }
        } else {
            heaps.links_mut(before).after = after;
        }
        if after != NONE {
            heaps.links_mut(after).before = before;
        }
    }

    /// Moves a heap to the bin of its present key; nothing to do most of the time.
    pub(super) fn update(&mut self, heaps: &mut impl IndexedHeaps, slot: Slot) {
        if heaps.links(slot).bin != bin_of(heaps.key(slot)) {
            self.remove(heaps, slot);
            self.insert(heaps, slot);
        }
    }

    /// A heap whose key is at least `size`, the smallest of the candidates that were looked at.
    ///
    /// Heaps in the bin of `size` may or may not be large enough: a bounded number of them is tried. In the bins above all
    /// are.
    pub(super) fn find(&self, heaps: &impl IndexedHeaps, size: u64) -> Option<Slot> {
        let own = bin_of(size);
        self.smallest_in(heaps, own, size)
            .or_else(|| self.bin_from(own + 1).and_then(|bin| self.smallest_in(heaps, bin, size)))
    }

    /// A heap of the highest bin that is not empty.
    pub(super) fn largest(&self) -> Option<Slot> {
        let word = self.bitmap.iter().rposition(|&word| word != 0)?;
        let bit = self.bitmap[word].ilog2() as usize;
        Some(self.heads[word * 64 + bit])
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
        let mut next = *self.heads.get(usize::from(bin))?;
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
    fn bin_from(&self, first: u16) -> Option<u16> {
        let start = usize::from(first) / 64;
        let mut word = *self.bitmap.get(start)? & (u64::MAX << (first % 64));
        let mut index = start;
        while word == 0 {
            index += 1;
            word = *self.bitmap.get(index)?;
        }
        u16::try_from(index * 64 + word.trailing_zeros() as usize).ok()
    }
}

/// The bin of a size: its power of two and the next three bits below.
fn bin_of(size: u64) -> u16 {
    let log2 = size.checked_ilog2().unwrap_or(0);
    let mantissa = (size << (63 - log2)) >> (63 - SUBDIVISIONS_LOG2);
    let below = mantissa & ((1 << SUBDIVISIONS_LOG2) - 1);
    u16::try_from((u64::from(log2) << SUBDIVISIONS_LOG2) | below).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_grow_with_the_size() {
        let sizes = [0, 1, 2, 3, 255, 256, 257, 65_535, 65_536, 1 << 40, (1 << 40) + (1 << 37), u64::MAX];
        for pair in sizes.windows(2) {
            assert!(bin_of(pair[0]) <= bin_of(pair[1]), "{pair:?}");
        }
        assert_eq!(usize::from(bin_of(u64::MAX)), BIN_COUNT - 1);
        assert_eq!(bin_of(1 << 40) + 1, bin_of((1 << 40) + (1 << 37)));
    }
}
