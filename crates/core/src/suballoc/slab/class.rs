//! Size classes of slots, and sets of them.

use crate::{Alignment, ByteSize};

/// The base-2 logarithm of the number of classes per power of two.
///
/// With 8 classes, a slot is larger than its size by less than 12.5 %. Sizes from 1 to 2,056 bytes lose 4.0 %
/// on average, and 2.0 % with 16 classes, which however need twice as many partly empty slabs (2026-11-21).
const SUBDIVISIONS_LOG2: u32 = 3;

/// A size class. Larger sizes have larger classes.
///
/// Each size up to 16 bytes has its own class. From there on a class is 1/8 of a power of two wide: 17 and
/// 18, 19 and 20, up to 31 and 32, then 33 to 36 and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SizeClass(u8);

impl SizeClass {
    /// The largest size that has a class: 64 KiB.
    pub(crate) const MAX_SIZE: u64 = 64 << 10;

    /// The class of one byte.
    pub(super) const SMALLEST: Self = Self(0);

    /// The number of classes.
    pub(crate) const COUNT: usize = 112;

    /// The class of closed slabs, from which nothing is allocated any more, whatever their slot size. No size
    /// has this class.
    pub(super) const CLOSED: Self = Self(112);

    /// The number of classes including that of closed slabs.
    pub(super) const RING_COUNT: usize = Self::COUNT + 1;

    /// Returns the class whose slots hold `size` bytes at the alignment, or `None` for zero bytes and above
    /// [`MAX_SIZE`](Self::MAX_SIZE).
    ///
    /// The class is that of the size rounded up to the alignment: the slot of a size that is a multiple of a
    /// power of two up to that size is a multiple of it, too.
    #[inline]
    pub(crate) fn of(size: ByteSize, alignment: Alignment) -> Option<Self> {
        let mask = alignment.mask();
        // Zero wraps to the largest number, which is refused like every size that is too large.
        let last = size.get().wrapping_sub(1) | mask;
        (last < Self::MAX_SIZE).then(|| Self::of_last(last))
    }

    /// Returns the class of the size `last + 1`, where `last` is below [`MAX_SIZE`](Self::MAX_SIZE).
    #[inline]
    const fn of_last(last: u64) -> Self {
        let exponent = (last | 1 << SUBDIVISIONS_LOG2).ilog2() - SUBDIVISIONS_LOG2;
        let [mantissa, ..] = (last >> exponent).to_le_bytes();
        let [exponent, ..] = exponent.to_le_bytes();
        // The sum is at most 15 + 12 * 8.
        Self(mantissa + (exponent << SUBDIVISIONS_LOG2))
    }

    /// Returns the size of a slot, in bytes.
    pub(crate) fn slot_size(self) -> u64 {
        const STEPS: u8 = 1 << SUBDIVISIONS_LOG2;
        let exponent = (self.0 >> SUBDIVISIONS_LOG2).saturating_sub(1);
        (u64::from(self.0 - exponent * STEPS) + 1) << exponent
    }

    /// Returns the largest power of two that divides the slot size.
    pub(crate) fn slot_alignment(self) -> Alignment {
        Alignment::from_log2(self.slot_size().trailing_zeros()).expect("slot sizes are not zero")
    }

    /// Returns the number of the class, counted from zero.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the class with a number below [`COUNT`](Self::COUNT).
    #[inline]
    pub(super) fn at(index: u32) -> Self {
        Self(u8::try_from(index).expect("the number of classes is 112"))
    }

    /// Iterates over all classes in ascending order.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0_u8..).take(Self::COUNT).map(Self)
    }

    /// Iterates over all classes, then that of closed slabs.
    pub(super) fn rings() -> impl Iterator<Item = Self> {
        (0_u8..).take(Self::RING_COUNT).map(Self)
    }
}

/// A bitmap with one bit per class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClassSet([u64; 2]);

impl ClassSet {
    #[inline]
    pub(super) fn set(&mut self, class: SizeClass, holds: bool) {
        let word = &mut self.0[class.index() / 64 % 2];
        let bit = class.index() % 64;
        *word = *word & !(1 << bit) | u64::from(holds) << bit;
    }

    /// Returns the smallest class in the set that is not below `from`.
    pub(super) fn lowest_from(self, from: SizeClass) -> Option<SizeClass> {
        let [low, high] = self.0.map(u128::from);
        let bits = (high << 64 | low) >> from.index() << from.index();
        (bits != 0).then(|| SizeClass::at(bits.trailing_zeros()))
    }

    /// Returns the largest class in the set.
    #[inline]
    pub(super) fn highest(self) -> Option<SizeClass> {
        let [low, high] = self.0;
        match high.checked_ilog2() {
            Some(bit) => Some(SizeClass::at(64 + bit)),
            None => Some(SizeClass::at(low.checked_ilog2()?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(size: u64, alignment: u64) -> Option<SizeClass> {
        SizeClass::of(ByteSize::new(size), Alignment::new(alignment).unwrap())
    }

    #[test]
    fn a_slot_holds_its_size_and_less_than_an_eighth_more() {
        let mut largest = SizeClass(0);
        let all = (1..=SizeClass::MAX_SIZE).step_by(if cfg!(miri) { 501 } else { 1 });
        for size in all.chain([SizeClass::MAX_SIZE]) {
            let class = of(size, 1).unwrap();
            let slot = class.slot_size();
            assert!(slot >= size && (slot - size) * 8 < size, "{size} in {slot}");
            assert!(class >= largest);
            largest = class;
        }
        assert_eq!(largest.index() + 1, SizeClass::COUNT);
        assert_eq!(SizeClass::all().last(), Some(largest));
    }

    #[test]
    fn classes_and_slot_sizes_belong_together() {
        for class in SizeClass::all() {
            assert_eq!(of(class.slot_size(), 1), Some(class));
        }
        let slots: Vec<_> = SizeClass::all().map(SizeClass::slot_size).collect();
        assert!(slots.is_sorted_by(|a, b| a < b));
        assert_eq!(slots[..19], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22]);
    }
}
