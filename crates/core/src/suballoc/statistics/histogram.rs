//! Histograms of range sizes.

use std::fmt;
use std::ops::AddAssign;

use crate::{ByteSize, HeapRange};

/// The number of ranges for each power of two: from 2^n bytes to 2^(n+1) - 1 bytes, for n from 0 to 63.
///
/// ```
/// use heapwright_core::suballoc::{DetailedStatistics, SuballocError, Tlsf};
/// use heapwright_core::{Alignment, ByteSize};
///
/// let mut heap = Tlsf::new(ByteSize::new(1000))?;
/// let first = heap.allocate(ByteSize::new(100), Alignment::ONE)?;
/// heap.allocate(ByteSize::new(300), Alignment::ONE)?;
/// heap.free(first.id)?;
/// // 100 bytes are free in front, 600 behind.
/// let sizes = DetailedStatistics::of(&heap).free_sizes;
/// assert_eq!(sizes.to_string(), "64 B: 1, 512 B: 1");
/// assert_eq!(sizes.count_of(ByteSize::new(127)), 1);
/// assert_eq!(sizes.count_of(ByteSize::new(128)), 0);
/// # Ok::<(), SuballocError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SizeHistogram {
    counts: [u64; 64],
}

impl SizeHistogram {
    /// Returns the number of ranges in the interval that contains `size`, or zero if `size` is zero.
    #[must_use]
    pub fn count_of(&self, size: ByteSize) -> u64 {
        magnitude(size).map_or(0, |magnitude| self.counts[magnitude])
    }

    /// Iterates over the intervals that are not empty, in ascending order, as the smallest size, a power of
    /// two, and the number of ranges.
    pub fn iter(&self) -> impl Iterator<Item = (ByteSize, u64)> + '_ {
        let sizes = (0..u64::BITS).map(|log2| ByteSize::new(1 << log2));
        sizes.zip(self.counts).filter(|&(_, count)| count > 0)
    }

    /// Counts one range.
    pub(super) fn count_range(&mut self, range: HeapRange) {
        if let Some(magnitude) = magnitude(range.size()) {
            self.counts[magnitude] += 1;
        }
    }
}

/// Returns the index of the interval that contains a size.
fn magnitude(size: ByteSize) -> Option<usize> {
    size.get().checked_ilog2().and_then(|log2| usize::try_from(log2).ok())
}

impl Default for SizeHistogram {
    /// Creates an empty histogram.
    fn default() -> Self {
        Self { counts: [0; 64] }
    }
}

impl AddAssign for SizeHistogram {
    /// Adds the counts of another histogram.
    fn add_assign(&mut self, other: Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count = count.saturating_add(more);
        }
    }
}

impl fmt::Display for SizeHistogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (size, count)) in self.iter().enumerate() {
            // Formats an exact power of two as "1 KiB" instead of "1.00 KiB".
            let size = size.to_string().replace(".00", "");
            write!(f, "{}{size}: {count}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl fmt::Debug for SizeHistogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SizeHistogram({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_magnitude_goes_from_a_power_of_two_to_below_the_next() {
        let mut histogram = SizeHistogram::default();
        for size in [1, 2, 3, 4, 7, 8, 1 << 20, u64::MAX] {
            histogram.count_range(HeapRange::whole(ByteSize::new(size)));
        }
        let magnitudes: Vec<_> = histogram.iter().map(|(size, count)| (size.get(), count)).collect();
        assert_eq!(magnitudes, [(1, 1), (2, 2), (4, 2), (8, 1), (1 << 20, 1), (1 << 63, 1)]);
        assert_eq!(histogram.count_of(ByteSize::MAX), 1);
        assert_eq!(histogram.count_of(ByteSize::ZERO), 0);
        assert_eq!(histogram.to_string(), "1 B: 1, 2 B: 2, 4 B: 2, 8 B: 1, 1 MiB: 1, 8 EiB: 1");
    }
}
