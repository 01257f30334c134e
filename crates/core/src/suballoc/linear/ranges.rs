//! All ranges in address order.

use std::fmt;
use std::iter::FusedIterator;

use super::super::slots::SlotIndex;
use super::super::suballocation::{RangeUse, Suballocation, heap_range};
use super::live_ranges::{Chain, LiveRanges};

/// Walks the ranges of a [`Linear`](super::Linear), a [`DoubleStack`](super::DoubleStack) or a [`Ring`](super::Ring) from
/// the lowest offset to the highest, O(1) a step.
///
/// Made by their methods `ranges`.
#[derive(Clone)]
pub struct Ranges<'a> {
    live: &'a LiveRanges,
    /// The live ranges from the lowest to the highest.
    runs: [Run; 2],
    /// Where the free gaps start. What else is not live is padding.
    free_starts: [u64; 2],
    /// Where the range before ended.
    end: u64,
    capacity: u64,
}

/// Live ranges that lie one above the other, as they are linked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    next: SlotIndex,
    /// Where the run ends, without this one.
    until: SlotIndex,
    to_older: bool,
}

impl Run {
    pub(super) const NONE: Self = Self { next: SlotIndex::ZERO, until: SlotIndex::ZERO, to_older: false };

    /// A whole chain from the oldest to the newest.
    pub(super) fn to_newer(live: &LiveRanges, chain: Chain) -> Self {
        Self { next: live.slots[chain.head()].newer, until: chain.head(), to_older: false }
    }

    /// A whole chain from the newest to the oldest.
    pub(super) fn to_older(live: &LiveRanges, chain: Chain) -> Self {
        Self { next: live.slots[chain.head()].older, until: chain.head(), to_older: true }
    }

    /// The run split in two: what comes before `at`, and what comes from there on.
    pub(super) fn split(self, at: SlotIndex) -> [Self; 2] {
        [Self { until: at, ..self }, Self { next: at, ..self }]
    }

    fn peek(self) -> Option<SlotIndex> {
        (self.next != self.until).then_some(self.next)
    }
}

impl<'a> Ranges<'a> {
    pub(super) fn new(live: &'a LiveRanges, runs: [Run; 2], free_starts: [u64; 2], capacity: u64) -> Self {
        Self { live, runs, free_starts, end: 0, capacity }
    }

    /// The bytes from the end of the last range up to `end`.
    fn gap_up_to(&mut self, end: u64) -> RangeUse {
        let start = std::mem::replace(&mut self.end, end);
        let gap = heap_range(start, end - start);
        if self.free_starts.contains(&start) { RangeUse::Free(gap) } else { RangeUse::Padding(gap) }
    }
}

impl Iterator for Ranges<'_> {
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
        let stamp = live.stamp.expect("what is linked to a chain has a stamp");
        Some(RangeUse::Used(Suballocation::new(index.slot(), stamp, live.start, live.size)))
    }
}

impl FusedIterator for Ranges<'_> {}

impl fmt::Debug for Ranges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
