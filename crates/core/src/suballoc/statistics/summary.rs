//! Statistics that need no walk over the ranges.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use super::share;
use crate::ByteSize;
use crate::suballoc::Suballocator;

/// The usage of one or several heaps. O(1) to obtain, however many suballocations are live.
///
/// Each byte counts once: `used + free + padding` equals `capacity`.
///
/// ```
/// use heapwright_core::suballoc::{Statistics, SuballocError, Suballocator, Tlsf};
/// use heapwright_core::{Alignment, ByteSize};
///
/// let mut heaps = [Tlsf::new(ByteSize::from_mib(64))?, Tlsf::new(ByteSize::from_mib(16))?];
/// heaps[0].allocate(ByteSize::from_mib(4), Alignment::ONE)?;
///
/// let one = Statistics::of(&heaps[0]);
/// assert_eq!((one.used, one.free), (ByteSize::from_mib(4), ByteSize::from_mib(60)));
///
/// let all: Statistics = heaps.iter().map(Statistics::of).sum();
/// assert_eq!((all.used, all.free), (ByteSize::from_mib(4), ByteSize::from_mib(76)));
/// assert_eq!(all.to_string(), "4.00 MiB of 80.00 MiB used in 1 allocation, 76.00 MiB free, 0 B padding");
/// # Ok::<(), SuballocError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// The total size of the managed ranges.
    pub capacity: ByteSize,
    /// The sum of the requested sizes of all live suballocations.
    pub used: ByteSize,
    /// The total size of the free ranges.
    pub free: ByteSize,
    /// The total size of the padding: [`RangeUse::Padding`](crate::suballoc::RangeUse::Padding).
    pub padding: ByteSize,
    /// The number of live suballocations.
    pub allocation_count: u64,
    /// A lower bound of the largest request that would succeed at alignment 1. A request of this size
    /// succeeds.
    ///
    /// Each algorithm documents how tight the bound is; for TLSF it is less than 1/32 below the largest free
    /// range. For several heaps, it is the largest value of any heap.
    pub largest_free_range: ByteSize,
}

impl Statistics {
    /// Returns the statistics of a suballocator at this moment. O(1).
    #[must_use]
    pub fn of<S: Suballocator + ?Sized>(suballocator: &S) -> Self {
        let (capacity, used) = (suballocator.capacity(), suballocator.used());
        let free = suballocator.free_size();
        Self {
            capacity,
            used,
            free,
            // Used bytes, free bytes and padding add up to the capacity.
            padding: capacity.saturating_sub(used).saturating_sub(free),
            allocation_count: suballocator.allocation_count(),
            largest_free_range: suballocator.largest_free_range(),
        }
    }

    /// Returns the fraction of the taken bytes that no request asked for, 0 to 1: `padding / (used +
    /// padding)`, or 0 if none are taken.
    ///
    /// The [module page](super) explains the formula. External fragmentation needs the exact largest free
    /// range; see [`DetailedStatistics`](super::DetailedStatistics).
    #[must_use]
    pub fn internal_fragmentation(&self) -> f64 {
        share(self.padding, self.used.saturating_add(self.padding))
    }
}

impl AddAssign for Statistics {
    /// Adds the statistics of another heap. Sums saturate at the largest 64-bit number.
    fn add_assign(&mut self, other: Self) {
        self.capacity = self.capacity.saturating_add(other.capacity);
        self.used = self.used.saturating_add(other.used);
        self.free = self.free.saturating_add(other.free);
        self.padding = self.padding.saturating_add(other.padding);
        self.allocation_count = self.allocation_count.saturating_add(other.allocation_count);
        self.largest_free_range = self.largest_free_range.max(other.largest_free_range);
    }
}

impl Add for Statistics {
    type Output = Self;

    /// Returns the statistics of both together, like `+=`.
    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl Sum for Statistics {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { capacity, used, free, padding, allocation_count, .. } = self;
        let plural = if *allocation_count == 1 { "" } else { "s" };
        write!(
            f,
            "{used} of {capacity} used in {allocation_count} allocation{plural}, {free} free, {padding} padding"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Alignment;
    use crate::suballoc::Tlsf;

    fn heap(capacity: u64, used: u64) -> Tlsf {
        let mut heap = Tlsf::new(ByteSize::new(capacity)).unwrap();
        heap.allocate(ByteSize::new(used), Alignment::ONE).unwrap();
        heap
    }

    #[test]
    fn a_sum_adds_sizes_and_takes_the_largest_range() {
        let sum = Statistics::of(&heap(100, 10)) + Statistics::of(&heap(1000, 400));
        let expected = Statistics {
            capacity: ByteSize::new(1100),
            used: ByteSize::new(410),
            free: ByteSize::new(690),
            padding: ByteSize::ZERO,
            allocation_count: 2,
            largest_free_range: ByteSize::new(600),
        };
        assert_eq!(sum, expected);
        assert_eq!(Statistics::default() + expected, expected);
        assert_eq!([expected; 0].into_iter().sum::<Statistics>(), Statistics::default());
    }

    #[test]
    fn sums_saturate() {
        let sum: Statistics = (0..3).map(|_| Statistics::of(&heap(1 << 63, 1))).sum();
        assert_eq!((sum.capacity, sum.free), (ByteSize::MAX, ByteSize::MAX));
        assert_eq!(sum.used, ByteSize::new(3));
    }

    #[test]
    fn internal_fragmentation_is_padding() {
        let of = |used, padding| Statistics {
            used: ByteSize::new(used),
            padding: ByteSize::new(padding),
            ..Statistics::default()
        };
        assert_eq!(of(0, 0).internal_fragmentation(), 0.0);
        assert_eq!(of(300, 100).internal_fragmentation(), 0.25);
        assert_eq!(of(0, 100).internal_fragmentation(), 1.0);
        assert_eq!(of(u64::MAX, u64::MAX).internal_fragmentation(), 1.0);
    }

    #[test]
    fn every_suballocator_has_statistics() {
        let heap = heap(100, 10);
        let any: &dyn Suballocator = &heap;
        assert_eq!(Statistics::of(any), Statistics::of(&heap));
    }
}
