//! Free GPU virtual addresses, indexed by address and by size.

use std::collections::{BTreeMap, BTreeSet};

use heapwright_core::{Alignment, ByteSize};

/// Addresses from `start` up to but not including `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Interval {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Interval {
    pub(super) fn len(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    pub(super) fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// Returns the common addresses; empty if there are none.
    pub(super) fn intersection(self, other: Self) -> Self {
        Self { start: self.start.max(other.start), end: self.end.min(other.end) }
    }

    pub(super) fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// Free addresses, in ranges that do not touch.
///
/// They are allocated at a given address, or by size: from the smallest sufficient range, the lowest if several have
/// that size. O(log n) in the number of ranges, except for [`take`](Self::take) when addresses run short.
#[derive(Debug, Default)]
pub(super) struct FreeAddresses {
    /// The end of each range, by its start.
    ends: BTreeMap<u64, u64>,
    /// Size and start of each range.
    sizes: BTreeSet<(u64, u64)>,
}

impl FreeAddresses {
    /// Creates a value in which only `range` is free.
    pub(super) fn of(range: Interval) -> Self {
        let mut free = Self::default();
        free.give_back(range);
        free
    }

    /// Returns the ranges in ascending order.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Interval> {
        self.ends.iter().map(|(&start, &end)| Interval { start, end })
    }

    /// Frees `range`, none of which may be free, and joins it with adjacent ranges.
    pub(super) fn give_back(&mut self, range: Interval) {
        let Interval { mut start, mut end } = range;
        if range.is_empty() {
            return;
        }
        let below = self.ends.range(..=start).next_back().map(|(&start, &end)| Interval { start, end });
        debug_assert!(below.is_none_or(|below| below.end <= start), "addresses were freed twice");
        if let Some(below) = below.filter(|below| below.end == start) {
            self.remove(below);
            start = below.start;
        }
        if let Some(&above) = self.ends.get(&end) {
            self.remove(Interval { start: end, end: above });
            end = above;
        }
        self.insert(Interval { start, end });
    }

    /// Allocates `size` bytes, not zero, at a multiple of `alignment`.
    ///
    /// O(log n) in most cases; O(n) if no range is large enough whatever its start.
    pub(super) fn take(&mut self, size: ByteSize, alignment: Alignment) -> Option<Interval> {
        let fit = |&(bytes, start): &(u64, u64)| {
            let taken = start.checked_next_multiple_of(alignment.get())?;
            let end = taken.checked_add(size.get())?;
            (end - start <= bytes).then_some(Interval { start: taken, end })
        };
        let smallest = self.sizes.range((size.get(), 0)..).next().and_then(fit);
        let wherever = || {
            let enough = size.get().checked_add(alignment.get() - 1)?;
            self.sizes.range((enough, 0)..).next().and_then(fit)
        };
        let any = || self.sizes.range((size.get(), 0)..).find_map(fit);
        let taken = smallest.or_else(wherever).or_else(any)?;
        self.take_at(taken).then_some(taken)
    }

    /// Allocates exactly `range` if all of it is free. Returns whether it was.
    pub(super) fn take_at(&mut self, range: Interval) -> bool {
        let Some(around) = self.around(range.start).filter(|around| around.contains(range)) else {
            return range.is_empty();
        };
        if !range.is_empty() {
            self.remove(around);
            self.insert(Interval { start: around.start, end: range.start });
            self.insert(Interval { start: range.end, end: around.end });
        }
        true
    }

    /// Returns the lowest address of `range` that is not free.
    pub(super) fn first_missing(&self, range: Interval) -> Option<u64> {
        let first = self.around(range.start).map_or(range.start, |around| around.end);
        (first < range.end).then_some(first)
    }

    /// Returns the free range that contains `address`.
    fn around(&self, address: u64) -> Option<Interval> {
        let (&start, &end) = self.ends.range(..=address).next_back()?;
        (address < end).then_some(Interval { start, end })
    }

    fn insert(&mut self, range: Interval) {
        if !range.is_empty() {
            self.ends.insert(range.start, range.end);
            self.sizes.insert((range.len(), range.start));
        }
    }

    fn remove(&mut self, range: Interval) {
        self.ends.remove(&range.start);
        self.sizes.remove(&(range.len(), range.start));
    }
}

#[cfg(test)]
mod tests;
