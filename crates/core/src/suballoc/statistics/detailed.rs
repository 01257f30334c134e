//! Statistics from one walk over all ranges.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use super::{RangeStatistics, SizeHistogram, Statistics, share};
use crate::ByteSize;
use crate::suballoc::{RangeUse, Suballocator};

/// The sizes of all ranges of one or several heaps, and their fragmentation. O(ranges).
///
/// The ranges are those of [`Suballocator::ranges`]: two neighbouring free slots of a slab, or two neighbouring
/// free buddies of different sizes, are two free ranges.
///
/// ```
/// use heapwright_core::suballoc::{DetailedStatistics, SuballocError, Tlsf};
/// use heapwright_core::{Alignment, ByteSize};
///
/// let mut heap = Tlsf::new(ByteSize::new(1000))?;
/// let all: Vec<_> = (0..4).map(|_| heap.allocate(ByteSize::new(200), Alignment::ONE)).collect::<Result<_, _>>()?;
/// heap.free(all[1].id)?;
/// heap.free(all[3].id)?;
///
/// let statistics = DetailedStatistics::of(&heap);
/// assert_eq!((statistics.used.count, statistics.used.total), (2, ByteSize::new(400)));
/// // 200 bytes between the two, 400 behind them: a third of what is free is not in the largest piece.
/// assert_eq!((statistics.free.smallest, statistics.free.largest), (ByteSize::new(200), ByteSize::new(400)));
/// assert_eq!(statistics.external_fragmentation(), 1.0 / 3.0);
/// assert_eq!(statistics.internal_fragmentation(), 0.0);
/// # Ok::<(), SuballocError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DetailedStatistics {
    /// The total size of the managed ranges.
    pub capacity: ByteSize,
    /// The used ranges. The count is the number of live suballocations.
    pub used: RangeStatistics,
    /// The free ranges. Their largest size is exact.
    pub free: RangeStatistics,
    /// The padding: [`RangeUse::Padding`].
    pub padding: RangeStatistics,
    /// A histogram of the free ranges by size.
    pub free_sizes: SizeHistogram,
    /// The sum over the heaps of the largest free range in each; for one heap, the largest free range.
    pub largest_in_each: ByteSize,
}

impl DetailedStatistics {
    /// Returns the statistics of a suballocator at this moment. O(ranges).
    #[must_use]
    pub fn of<S: Suballocator + ?Sized>(suballocator: &S) -> Self {
        let mut all = Self { capacity: suballocator.capacity(), ..Self::default() };
        for range_use in suballocator.ranges() {
            let range = range_use.range();
            match range_use {
                RangeUse::Used(_) => all.used.count_range(range.size()),
                RangeUse::Free(_) => {
                    all.free.count_range(range.size());
                    all.free_sizes.count_range(range);
                }
                RangeUse::Padding(_) => all.padding.count_range(range.size()),
            }
        }
        all.largest_in_each = all.free.largest;
        all
    }

    /// Returns the statistics that a suballocator reports in O(1). The largest free range is exact here, not
    /// a lower bound.
    #[must_use]
    pub const fn summary(&self) -> Statistics {
        Statistics {
            capacity: self.capacity,
            used: self.used.total,
            free: self.free.total,
            padding: self.padding.total,
            allocation_count: self.used.count,
            largest_free_range: self.free.largest,
        }
    }

    /// Returns the fraction of the taken bytes that no request asked for, 0 to 1: `padding / (used +
    /// padding)`, or 0 if none are taken.
    ///
    /// The [module page](super) explains the formula.
    #[must_use]
    pub fn internal_fragmentation(&self) -> f64 {
        self.summary().internal_fragmentation()
    }

    /// Returns the fraction of the free bytes that one request cannot have, 0 to 1: `1 - largest free range /
    /// free`, or 0 if nothing is free.
    ///
    /// For several heaps, it is `1 - largest_in_each / free`: the mean over the heaps, weighted by the free
    /// bytes of each. The [module page](super) explains the formula.
    #[must_use]
    pub fn external_fragmentation(&self) -> f64 {
        share(self.free.total.saturating_sub(self.largest_in_each), self.free.total)
    }
}

impl AddAssign for DetailedStatistics {
    /// Adds the statistics of another heap. Sums saturate at the largest 64-bit number.
    fn add_assign(&mut self, other: Self) {
        self.capacity = self.capacity.saturating_add(other.capacity);
        self.used += other.used;
        self.free += other.free;
        self.padding += other.padding;
        self.free_sizes += other.free_sizes;
        self.largest_in_each = self.largest_in_each.saturating_add(other.largest_in_each);
    }
}

impl Add for DetailedStatistics {
    type Output = Self;

    /// Returns the statistics of both together, like `+=`.
    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl Sum for DetailedStatistics {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Alignment;
    use crate::suballoc::Tlsf;

    /// Returns a heap with suballocations of these sizes, in order, of which every second is free again.
    fn heap(capacity: u64, sizes: &[u64]) -> Tlsf {
        let mut heap = Tlsf::new(ByteSize::new(capacity)).unwrap();
        let all: Vec<_> =
            sizes.iter().map(|&size| heap.allocate(ByteSize::new(size), Alignment::ONE).unwrap()).collect();
        for suballocation in all.iter().skip(1).step_by(2) {
            heap.free(suballocation.id).unwrap();
        }
        heap
    }

    #[test]
    fn a_walk_counts_every_range() {
        let all = DetailedStatistics::of(&heap(1000, &[10, 64, 30, 100, 50]));
        assert_eq!((all.used.count, all.used.total.get()), (3, 90));
        assert_eq!((all.used.smallest.get(), all.used.largest.get()), (10, 50));
        assert_eq!((all.free.count, all.free.total.get()), (3, 910));
        assert_eq!((all.free.smallest.get(), all.free.largest.get()), (64, 746));
        assert_eq!(all.free_sizes.to_string(), "64 B: 2, 512 B: 1");
        assert_eq!(all.padding, RangeStatistics::default());
        assert_eq!(all.external_fragmentation(), 164.0 / 910.0);
    }

    #[test]
    fn the_largest_free_range_is_exact_after_a_walk() {
        // 1,000 and 1,001 are in one bin; the range freed last is at the front.
        let heap = heap(5000, &[1, 1001, 1, 1000, 2997]);
        let (quick, exact) = (Statistics::of(&heap), DetailedStatistics::of(&heap).summary());
        assert_eq!(Statistics { largest_free_range: exact.largest_free_range, ..quick }, exact);
        assert_eq!((quick.largest_free_range.get(), exact.largest_free_range.get()), (1000, 1001));
    }

    #[test]
    fn neither_a_full_heap_nor_no_heap_is_fragmented() {
        let full = DetailedStatistics::of(&heap(100, &[100]));
        for none in [full, DetailedStatistics::default()] {
            assert_eq!((none.external_fragmentation(), none.internal_fragmentation()), (0.0, 0.0));
        }
    }

    #[test]
    fn fragmentation_of_heaps_is_weighted_by_free_bytes() {
        let whole = DetailedStatistics::of(&heap(100, &[]));
        assert_eq!((whole + whole).external_fragmentation(), 0.0, "two empty heaps are not fragmented");

        let halves = DetailedStatistics::of(&heap(300, &[50, 100, 50]));
        assert_eq!((halves.free.total.get(), halves.external_fragmentation()), (200, 0.5));
        let both: DetailedStatistics = [whole, halves].into_iter().sum();
        assert_eq!(both.external_fragmentation(), 0.5 * 200.0 / 300.0);
        assert_eq!((both.capacity.get(), both.used.count, both.free.count), (400, 2, 3));
        assert_eq!((both.free.largest.get(), both.largest_in_each.get()), (100, 200));
    }
}
