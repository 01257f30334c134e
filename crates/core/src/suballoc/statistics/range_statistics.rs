//! Statistics of the ranges of one use.

use std::ops::AddAssign;

use crate::ByteSize;

/// The number and the sizes of the ranges of one use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RangeStatistics {
    /// The number of ranges.
    pub count: u64,
    /// Their total size.
    pub total: ByteSize,
    /// The size of the smallest range; zero if there are none.
    pub smallest: ByteSize,
    /// The size of the largest range; zero if there are none.
    pub largest: ByteSize,
}

impl RangeStatistics {
    /// Returns the mean size, rounded down, or zero if there are no ranges.
    #[must_use]
    pub const fn mean(&self) -> ByteSize {
        match self.total.get().checked_div(self.count) {
            Some(mean) => ByteSize::new(mean),
            None => ByteSize::ZERO,
        }
    }

    /// Counts one range.
    pub(super) fn count_range(&mut self, size: ByteSize) {
        *self += Self { count: 1, total: size, smallest: size, largest: size };
    }
}

impl AddAssign for RangeStatistics {
    /// Adds the statistics of other ranges. Sums saturate at the largest 64-bit number.
    fn add_assign(&mut self, other: Self) {
        self.smallest = match (self.count, other.count) {
            (0, _) => other.smallest,
            (_, 0) => self.smallest,
            _ => self.smallest.min(other.smallest),
        };
        self.largest = self.largest.max(other.largest);
        self.count = self.count.saturating_add(other.count);
        self.total = self.total.saturating_add(other.total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sizes: &[u64]) -> RangeStatistics {
        let mut all = RangeStatistics::default();
        for &size in sizes {
            all.count_range(ByteSize::new(size));
        }
        all
    }

    #[test]
    fn none_is_zero_everywhere() {
        assert_eq!(of(&[]).mean(), ByteSize::ZERO);
        assert_eq!(of(&[]).smallest, ByteSize::ZERO);
    }

    #[test]
    fn a_sum_equals_one_walk_over_both() {
        let sizes = [7, 3, 9, 3];
        for middle in 0..=sizes.len() {
            let (mut left, right) = (of(&sizes[..middle]), of(&sizes[middle..]));
            left += right;
            assert_eq!(left, of(&sizes), "{middle}");
        }
        let all = of(&sizes);
        assert_eq!((all.count, all.total.get(), all.mean().get()), (4, 22, 5));
        assert_eq!((all.smallest.get(), all.largest.get()), (3, 9));
    }
}
