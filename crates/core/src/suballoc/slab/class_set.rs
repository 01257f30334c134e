//! A set of size classes.

use super::class::SizeClass;

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
