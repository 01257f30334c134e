//! The bins, each with the free ranges of one size class, and the bitmaps that find a bin that is not empty.

use super::nodes::{Link, NodeIndex, Rings};

/// The base-2 logarithm of the number of bins per power of two.
///
/// 32 bins give the same utilization as 64 within 0.2 %, at half the memory (2026-11-21, random churn of 1 B
/// to 8 MiB).
const SUBDIVISIONS_LOG2: u32 = 5;

/// The number of bins per power of two.
const SUBDIVISIONS: u32 = 1 << SUBDIVISIONS_LOG2;

/// The number of words in the second level. Sizes up to 2^63 need 60; with 64, a masked index needs no check.
const WORDS: u32 = u64::BITS;

/// A size class and the bin of its free ranges. Larger sizes have larger classes.
///
/// The class is in effect a floating-point number: an exponent, and a mantissa of 5 bits. Each size below 64
/// has its own class. From there on a class is 1/32 of a power of two wide: 64 and 65, 66 and 67, up to 126
/// and 127, then 128 to 131 and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bin(u32);

impl Bin {
    /// Returns the bin of a free range of `size` bytes.
    #[inline]
    pub(super) const fn of(size: u64) -> Self {
        let exponent = Self::exponent(size);
        // The mantissa, 32 to 63, includes its leading one, so the exponent counts from one; below 32 bytes
        // both are 0.
        let number = (low_half(size >> exponent)) + (exponent << SUBDIVISIONS_LOG2);
        Self(number)
    }

    /// Returns the lowest bin in which every free range has at least `size` bytes, or `None` if the sizes of
    /// that bin would exceed 64 bits.
    #[inline]
    pub(super) fn at_least(size: u64) -> Option<Self> {
        let class_width = 1_u64 << Self::exponent(size);
        Some(Self::of(size.checked_add(class_width - 1)?))
    }

    /// Returns the base-2 logarithm of the width of the class that contains `size`: 0 below 64 bytes, 1 below
    /// 128, and so on.
    #[inline]
    const fn exponent(size: u64) -> u32 {
        // Setting this bit gives all sizes below 32 the exponent of 32, which is zero.
        (size | 1 << SUBDIVISIONS_LOG2).ilog2() - SUBDIVISIONS_LOG2
    }

    /// Returns the number of the bin. Numbers count from zero without gaps.
    pub(super) const fn number(self) -> u32 {
        self.0
    }

    /// Returns the head of the ring of this bin's free ranges.
    #[inline]
    pub(super) const fn head(self) -> Link {
        Link::head_of_bin(self.0)
    }

    /// Returns the bin of the next larger sizes.
    #[inline]
    pub(super) const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// Returns the bin of the next smaller sizes.
    pub(super) fn previous(self) -> Option<Self> {
        self.0.checked_sub(1).map(Self)
    }

    /// Returns the bin of a bit in a word of the second level.
    const fn at(word: u32, bit: u32) -> Self {
        Self(word * SUBDIVISIONS + bit)
    }

    /// Returns the word of the second level.
    #[inline]
    const fn word(self) -> u32 {
        self.0 / SUBDIVISIONS % WORDS
    }

    /// Returns the bit in that word.
    #[inline]
    const fn bit(self) -> u32 {
        self.0 % SUBDIVISIONS
    }
}

/// Returns the lower 32 bits of a number.
#[inline]
const fn low_half(number: u64) -> u32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

#[inline]
fn position(word: u32) -> usize {
    (word % WORDS) as usize
}

/// The bitmaps of the bins that are not empty. The rings of free ranges are in the table of nodes.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(PartialEq, Eq))]
pub(super) struct Bins {
    /// Bit w: word w of the second level is not zero.
    first_level: u64,
    /// Bit b of word w: bin 32 * w + b is not empty.
    second_level: [u32; 64],
}

impl Bins {
    /// Creates bitmaps of empty bins.
    pub(super) const fn new() -> Self {
        Self { first_level: 0, second_level: [0; 64] }
    }

    /// Returns the lowest bin, not below `from`, that is not empty. O(1).
    #[inline]
    pub(super) fn lowest_from(&self, from: Bin) -> Option<Bin> {
        let word = from.word();
        let bits = self.second_level[position(word)] & (u32::MAX << from.bit());
        if bits != 0 {
            return Some(Bin::at(word, bits.trailing_zeros()));
        }
        // The last word is 59, so the shift is below 64.
        let words = self.first_level & (u64::MAX << (word + 1));
        if words == 0 {
            return None;
        }
        let word = words.trailing_zeros();
        Some(Bin::at(word, self.second_level[position(word)].trailing_zeros()))
    }

    /// Returns the highest bin, not above `from`, that is not empty. O(1).
    pub(super) fn highest_from(&self, from: Bin) -> Option<Bin> {
        let word = from.word();
        let bits = self.second_level[position(word)] & (u32::MAX >> (SUBDIVISIONS - 1 - from.bit()));
        if let Some(bit) = bits.checked_ilog2() {
            return Some(Bin::at(word, bit));
        }
        let word = (self.first_level & !(u64::MAX << word)).checked_ilog2()?;
        Some(Bin::at(word, self.second_level[position(word)].ilog2()))
    }

    /// Returns the highest bin that is not empty. O(1).
    #[inline]
    pub(super) fn highest(&self) -> Option<Bin> {
        let word = self.first_level.checked_ilog2()?;
        Some(Bin::at(word, self.second_level[position(word)].ilog2()))
    }

    /// Links a free range at the front of its bin. O(1).
    #[inline(always)]
    pub(super) fn insert(&mut self, rings: &mut Rings, index: NodeIndex, bin: Bin) {
        rings.insert(bin.head(), rings.link_of(index));
        self.second_level[position(bin.word())] |= 1 << bin.bit();
        self.first_level |= 1 << bin.word();
    }

    /// Removes a free range from its bin. O(1).
    ///
    /// Without a branch, because with random sizes it is unpredictable whether the bin becomes empty (2 of 47
    /// ns of an allocate and free of 1 to 2,056 bytes, 2026-11-21).
    #[inline(always)]
    pub(super) fn remove(&mut self, rings: &mut Rings, index: NodeIndex) {
        let [previous, next] = rings.remove(rings.link_of(index));
        // If both are the head, the bin is now empty. Otherwise `next` may be a range, and `bin` any number
        // whose word exists. In that case no bit changes: a word that is zero already has a clear bit in the
        // first level.
        let emptied = previous == next;
        let bin = Bin(next.bin_number());
        let word = &mut self.second_level[position(bin.word())];
        *word &= !(u32::from(emptied) << bin.bit());
        self.first_level &= !(u64::from(*word == 0) << bin.word());
    }

    /// Returns the first wrong bit, given which bins up to the highest are empty.
    pub(super) fn audit_bitmaps(&self, highest: Bin, is_empty: impl Fn(Bin) -> bool) -> Result<(), String> {
        for word in 0..WORDS {
            let bits = self.second_level[position(word)];
            if (self.first_level >> word & 1 == 1) != (bits != 0) {
                return Err(format!("the first-level bit of word {word} ({bits:#x}) is wrong"));
            }
            let bins = (0..SUBDIVISIONS).map(|bit| Bin::at(word, bit)).take_while(|&bin| bin <= highest);
            let expected = bins.filter(|&bin| !is_empty(bin)).fold(0, |bits, bin| bits | 1 << bin.bit());
            if bits != expected {
                return Err(format!("second-level word {word} is {bits:#x}, expected {expected:#x}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::suballocation::NoValue;
    use super::super::nodes::Nodes;
    use super::*;

    /// Returns sizes around the boundaries of classes.
    fn delicate_sizes() -> impl Iterator<Item = u64> {
        let powers = (0..64).map(|log2| 1_u64 << log2);
        let near =
            powers.flat_map(|power| [power - 1, power, power + 1, power + power / 32, power + power / 2]);
        let small = 1..if cfg!(miri) { 200 } else { 5000 };
        small.chain(near).chain([u64::MAX]).filter(|&size| size > 0)
    }

    #[test]
    fn classes_are_exact_below_64_bytes_and_a_32nd_wide_above() {
        for size in 1..64 {
            assert_eq!(Bin::of(size), Bin(low_half(size)));
        }
        assert_eq!(
            [64, 65, 66, 127, 128, 131, 132].map(|size| Bin::of(size).number()),
            [64, 64, 65, 95, 96, 96, 97]
        );
        assert_eq!(Bin::of(1 << 63).number(), 58 * 32 + 32);
        assert_eq!(Bin::of(u64::MAX).number(), 58 * 32 + 63);
        assert!(Bin::of(u64::MAX).next().word() < WORDS);
    }

    #[test]
    fn larger_sizes_never_have_smaller_classes() {
        let mut sizes: Vec<u64> = delicate_sizes().collect();
        sizes.sort_unstable();
        assert!(sizes.windows(2).all(|pair| Bin::of(pair[0]) <= Bin::of(pair[1])));
    }

    #[test]
    fn at_least_is_the_first_class_with_nothing_smaller_in_it() {
        for size in delicate_sizes() {
            let own = Bin::of(size);
            match Bin::at_least(size) {
                // The size's own class is right only if it contains no smaller size; otherwise the next one
                // is.
                Some(bin) if bin == own => assert_ne!(Bin::of(size - 1), own, "{size}"),
                Some(bin) => {
                    assert_eq!(bin, own.next(), "{size}");
                    assert_eq!(Bin::of(size - 1), own, "{size}");
                }
                None => assert_eq!(own, Bin::of(u64::MAX), "{size}"),
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: if cfg!(miri) { 1 } else { 64 },
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn scans_find_what_a_walk_over_all_bins_finds(
            sizes in prop::collection::vec((0_u32..63, any::<u64>()), 0..40),
            from in 0_u32..1889,
        ) {
            let mut nodes = Nodes::<NoValue>::new(Bin::of(1 << 63).number() + 1, u32::MAX);
            let mut bins = Bins::new();
            let mut linked = Vec::new();
            for (log2, low_bits) in sizes {
                let size = (1 << log2) | (low_bits & ((1 << log2) - 1));
                prop_assert!(nodes.prepare_two());
                let (slots, vacant, rings) = nodes.parts_mut();
                let index = vacant.take(slots);
                bins.insert(rings, index, Bin::of(size));
                linked.push((Bin::of(size), index));
            }
            loop {
                let filled = |bin: Bin| linked.iter().any(|&(other, _)| other == bin);
                bins.audit_bitmaps(Bin(1888), |bin| !filled(bin)).unwrap();
                prop_assert_eq!(bins.lowest_from(Bin(from)), (from..1889).map(Bin).find(|&bin| filled(bin)));
                prop_assert_eq!(bins.highest_from(Bin(from)), (0..=from).rev().map(Bin).find(|&bin| filled(bin)));
                prop_assert_eq!(bins.highest(), linked.iter().map(|&(bin, _)| bin).max());
                let Some((_, index)) = linked.pop() else { break };
                bins.remove(nodes.parts_mut().2, index);
            }
            prop_assert_eq!(bins, Bins::new());
        }
    }
}
