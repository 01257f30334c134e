//! A shadow of a suballocator: the free and used bytes, as intervals.
//!
//! It makes no decisions. It records allocations and frees, and panics if they are not possible.

use std::collections::BTreeMap;

/// The free and used intervals of a heap, by start; the values are sizes.
pub(crate) struct IntervalMap {
    capacity: u64,
    free: BTreeMap<u64, u64>,
    used: BTreeMap<u64, u64>,
}

impl IntervalMap {
    pub(crate) fn new(capacity: u64) -> Self {
        Self { capacity, free: BTreeMap::from([(0, capacity)]), used: BTreeMap::new() }
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Returns the total size of the free intervals.
    pub(crate) fn free(&self) -> u64 {
        self.free.values().sum()
    }

    /// Returns the free intervals as (start, size), in ascending order.
    pub(crate) fn free_ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        self.free.iter().map(|(&start, &size)| (start, size))
    }

    /// Returns the used intervals as (start, size), in ascending order.
    pub(crate) fn used_ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        self.used.iter().map(|(&start, &size)| (start, size))
    }

    /// Records an allocation, whose bytes must all be free.
    pub(crate) fn take(&mut self, start: u64, size: u64) {
        let (&around_start, &around_size) = self
            .free
            .range(..=start)
            .next_back()
            .unwrap_or_else(|| panic!("{start:#x} is in no free interval"));
        let (end, around_end) = (start + size, around_start + around_size);
        assert!(end <= around_end, "{start:#x}..{end:#x} is not free: {around_start:#x}..{around_end:#x} is");
        self.free.remove(&around_start);
        if around_start < start {
            self.free.insert(around_start, start - around_start);
        }
        if end < around_end {
            self.free.insert(end, around_end - end);
        }
        self.used.insert(start, size);
    }

    /// Records a free, whose interval must match an allocation.
    pub(crate) fn give_back(&mut self, start: u64, size: u64) {
        assert_eq!(self.used.remove(&start), Some(size), "{start:#x} was not handed out with this size");
        let (mut start, mut size) = (start, size);
        if let Some(upper_size) = self.free.remove(&(start + size)) {
            size += upper_size;
        }
        if let Some((&lower_start, &lower_size)) = self.free.range(..start).next_back()
            && lower_start + lower_size == start
        {
            start = lower_start;
            size += lower_size;
        }
        self.free.insert(start, size);
    }
}
