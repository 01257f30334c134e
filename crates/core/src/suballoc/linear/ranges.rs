//! Iterator over all ranges of a linear suballocator.

use std::fmt;
use std::iter::FusedIterator;

use super::super::slots::SlotIndex;
use super::super::suballocation::{NoValue, RangeUse, Suballocation, heap_range};
use super::live_ranges::{Chain, LiveRanges};

/// An iterator over the ranges of a [`Linear`](super::Linear) in address order, O(1) per step.
///
/// Created by [`Linear::ranges`](super::Linear::ranges).
pub struct Ranges<'a, T = NoValue> {
    live: &'a LiveRanges<T>,
    /// The live ranges in address order.
    runs: [Run; 2],
    /// The offsets at which free gaps start. All other gaps are padding.
    free_starts: [u64; 2],
    /// The end of the previous range.
    end: u64,
    capacity: u64,
}

/// Live ranges in address order, in the order of their links.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    next: SlotIndex,
    /// The exclusive end of the run.
    until: SlotIndex,
    to_older: bool,
}

impl Run {
    /// Creates the run of a whole chain from the oldest to the newest range.
    pub(super) fn to_newer<T>(live: &LiveRanges<T>, chain: Chain) -> Self {
        Self { next: live.slots[chain.head()].newer, until: chain.head(), to_older: false }
    }

    /// Creates the run of a whole chain from the newest to the oldest range.
    pub(super) fn to_older<T>(live: &LiveRanges<T>, chain: Chain) -> Self {
        Self { next: live.slots[chain.head()].older, until: chain.head(), to_older: true }
    }

    /// Splits the run before `at`.
    pub(super) fn split(self, at: SlotIndex) -> [Self; 2] {
        [Self { until: at, ..self }, Self { next: at, ..self }]
    }

    fn peek(self) -> Option<SlotIndex> {
        (self.next != self.until).then_some(self.next)
    }
}

impl<'a, T> Ranges<'a, T> {
    pub(super) fn new(live: &'a LiveRanges<T>, runs: [Run; 2], free_starts: [u64; 2], capacity: u64) -> Self {
        Self { live, runs, free_starts, end: 0, capacity }
    }

    /// Returns the gap from the end of the previous range to `end`.
    fn gap_up_to(&mut self, end: u64) -> RangeUse {
        let start = std::mem::replace(&mut self.end, end);
        let gap = heap_range(start, end - start);
        if self.free_starts.contains(&start) { RangeUse::Free(gap) } else { RangeUse::Padding(gap) }
    }
}

impl<T> Iterator for Ranges<'_, T> {
    type Item = RangeUse;

    fn next(&mut self) -> Option<RangeUse> {
        let Some((run, index)) = self.runs.iter_mut().find_map(|run| run.peek().map(|index| (run, index)))
        else {
            return (self.end < self.capacity).then(|| self.gap_up_to(self.capacity));
        };
        let live = &self.live.slots[index];
        if self.end < live.start {
            return Some(self.gap_up_to(live.start));
        }
        run.next = if run.to_older { live.older } else { live.newer };
        self.end = live.end();
        let stamp = live.stamp.expect("a linked range has a stamp");
        Some(RangeUse::Used(Suballocation::new(index.slot(), stamp, live.start, live.size)))
    }
}

impl<T> FusedIterator for Ranges<'_, T> {}

impl<T> Clone for Ranges<'_, T> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<T> fmt::Debug for Ranges<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
