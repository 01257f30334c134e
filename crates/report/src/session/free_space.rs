//! Free ranges of a heap in which allocations may overlap.

use std::collections::BTreeMap;

/// Free ranges of a heap. Ranges that are taken twice, as by aliased resources, are free once both are given back.
#[derive(Clone, Debug)]
pub(super) struct FreeSpace {
    /// Size of the heap, in bytes.
    size: u64,
    /// Start of each segment, and by how many allocations it is covered. Segments reach up to the next one or to the
    /// end of the heap, and neighbours differ in their number.
    segments: BTreeMap<u64, u32>,
    /// Number of free segments, by size.
    free_sizes: BTreeMap<u64, u32>,
    free: u64,
}

impl FreeSpace {
    pub(super) fn new(size: u64) -> Self {
        let mut space = Self { size, segments: BTreeMap::new(), free_sizes: BTreeMap::new(), free: 0 };
        if size > 0 {
            space.segments.insert(0, 0);
            space.add_free(size);
        }
        space
    }

    /// Returns the number of free bytes.
    pub(super) fn free(&self) -> u64 {
        self.free
    }

    /// Returns the size of the largest free range.
    pub(super) fn largest(&self) -> u64 {
        self.free_sizes.last_key_value().map_or(0, |(&size, _)| size)
    }

    /// Covers a range. The part beyond the heap is ignored.
    pub(super) fn take(&mut self, offset: u64, size: u64) {
        self.change(offset, size, |count| count.saturating_add(1));
    }

    /// Uncovers a range that was covered by [`take`](Self::take).
    pub(super) fn give_back(&mut self, offset: u64, size: u64) {
        self.change(offset, size, |count| count.saturating_sub(1));
    }

    fn change(&mut self, offset: u64, size: u64, change: impl Fn(u32) -> u32) {
        let start = offset.min(self.size);
        let end = offset.saturating_add(size).min(self.size);
        if start >= end {
            return;
        }
        self.split(start);
        self.split(end);
        let starts: Vec<u64> = self.segments.range(start..end).map(|(&start, _)| start).collect();
        for start in starts {
            let len = self.end_of(start) - start;
            let Some(count) = self.segments.get_mut(&start) else { continue };
            let before = std::mem::replace(count, change(*count));
            let after = *count;
            match (before, after) {
                (0, 1..) => self.remove_free(len),
                (1.., 0) => self.add_free(len),
                _ => {}
            }
        }
        self.merge(end);
        self.merge(start);
    }

    /// Returns the end of the segment that starts at `start`.
    fn end_of(&self, start: u64) -> u64 {
        self.segments.range(start.saturating_add(1)..).next().map_or(self.size, |(&next, _)| next)
    }

    /// Makes `at` the start of a segment, unless it is the end of the heap.
    fn split(&mut self, at: u64) {
        let Some((&start, &count)) = self.segments.range(..=at).next_back() else { return };
        if at == start || at == self.size {
            return;
        }
        if count == 0 {
            let end = self.end_of(start);
            self.remove_free(end - start);
            self.add_free(at - start);
            self.add_free(end - at);
        }
        self.segments.insert(at, count);
    }

    /// Joins the segments before and after `at` if they are covered alike.
    fn merge(&mut self, at: u64) {
        let Some(&count) = self.segments.get(&at) else { return };
        let Some((&before, &count_before)) = self.segments.range(..at).next_back() else { return };
        if count != count_before {
            return;
        }
        if count == 0 {
            let end = self.end_of(at);
            self.remove_free(at - before);
            self.remove_free(end - at);
            self.add_free(end - before);
        }
        self.segments.remove(&at);
    }

    fn add_free(&mut self, size: u64) {
        *self.free_sizes.entry(size).or_default() += 1;
        self.free += size;
    }

    fn remove_free(&mut self, size: u64) {
        self.free -= size;
        if let Some(count) = self.free_sizes.get_mut(&size) {
            *count -= 1;
            if *count == 0 {
                self.free_sizes.remove(&size);
            }
        }
    }
}

/// Sums of the free ranges of heaps, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FreeBytes {
    free: u128,
    /// Sum of the largest free range of each heap.
    largest: u128,
}

impl FreeBytes {
    pub(super) fn add(&mut self, space: &FreeSpace) {
        self.free += u128::from(space.free());
        self.largest += u128::from(space.largest());
    }

    pub(super) fn remove(&mut self, space: &FreeSpace) {
        self.free -= u128::from(space.free());
        self.largest -= u128::from(space.largest());
    }

    /// Returns the free bytes that are outside of the largest free range of each heap.
    pub(super) fn scattered(self) -> u64 {
        u64::try_from(self.free - self.largest).unwrap_or(u64::MAX)
    }

    /// Returns the external fragmentation: those bytes as a fraction of the free bytes, in steps of a hundredth of a
    /// percent.
    pub(super) fn fragmentation(self) -> f64 {
        let hundredths = ((self.free - self.largest) * 10_000).checked_div(self.free).unwrap_or(0);
        f64::from(u16::try_from(hundredths).unwrap_or(10_000)) / 1e4
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranges_beyond_the_heap_are_ignored() {
        let mut space = FreeSpace::new(100);
        space.take(90, u64::MAX);
        assert_eq!((space.free(), space.largest()), (90, 90));
        space.take(u64::MAX, 5);
        space.give_back(90, u64::MAX);
        assert_eq!((space.free(), space.largest()), (100, 100));
        assert_eq!(FreeSpace::new(0).largest(), 0);
    }

    proptest! {
        /// The model counts the allocations that cover each byte.
        #[test]
        fn free_ranges_match_a_count_for_each_byte(
            calls in proptest::collection::vec((0_u64..60, 0_u64..30, any::<bool>()), 1..60)
        ) {
            const SIZE: usize = 64;
            let mut space = FreeSpace::new(SIZE as u64);
            let mut bytes = [0_u32; SIZE];
            let mut taken: Vec<(u64, u64)> = Vec::new();
            for (offset, size, gives_back) in calls {
                if gives_back && !taken.is_empty() {
                    let (offset, size) = taken.swap_remove(usize::try_from(offset).unwrap() % taken.len());
                    space.give_back(offset, size);
                    (0..).zip(&mut bytes).filter(|(byte, _)| (offset..offset + size).contains(byte)).for_each(|(_, count)| *count -= 1);
                } else {
                    space.take(offset, size);
                    taken.push((offset, size));
                    (0..).zip(&mut bytes).filter(|(byte, _)| (offset..offset + size).contains(byte)).for_each(|(_, count)| *count += 1);
                }
                let free = bytes.iter().filter(|&&count| count == 0).count();
                let largest = bytes.split(|&count| count != 0).map(<[u32]>::len).max().unwrap();
                prop_assert_eq!((space.free(), space.largest()), (free as u64, largest as u64));
                // Neighbours differ, so that the number of segments is bounded by that of the allocations.
                let counts: Vec<u32> = space.segments.values().copied().collect();
                prop_assert!(counts.windows(2).all(|pair| pair[0] != pair[1]));
            }
        }
    }
}
