//! Empty heaps in the order in which they became empty, and their release.

use super::{HeapSet, Slot};
use crate::placement::heap_prices::{CLASSES, class_of};
use crate::placement::heap_table::{IdleLinks, NO_SLOT};
use crate::placement::idle_times::{IdleTimes, Moment};

/// Heaps that leave together because of periods cost at most so much, but for the last one: about half of it to release
/// them.
const SLICE_NANOS: u64 = 2_000_000;

/// The empty heaps of a class of sizes, in the order in which they became empty.
#[derive(Clone, Copy, Debug)]
struct List {
    longest: Slot,
    latest: Slot,
    pause: Pause,
}

/// The learned length of the pauses after which heaps of a class are needed again.
#[derive(Clone, Copy, Debug, Default)]
struct Pause {
    /// Since which period the heap that left last because of periods had been empty, until one is created.
    left: Option<u64>,
    /// The number of periods for which empty heaps are kept, if it is more than that of the retention.
    kept: u64,
}

/// The lists of empty heaps.
#[derive(Clone)]
pub(super) struct IdleOrder {
    lists: Box<[List; CLASSES]>,
    /// A bit for each list that is not empty.
    occupied: u32,
    /// No heap leaves by operations before this one.
    next_expiry: u64,
}

impl IdleOrder {
    pub(super) fn new() -> Self {
        let list = List { longest: NO_SLOT, latest: NO_SLOT, pause: Pause::default() };
        let lists = Box::new([list; CLASSES]);
        Self { lists, occupied: 0, next_expiry: 0 }
    }
}

impl<H> HeapSet<H> {
    /// Counts allocations and frees.
    #[inline]
    pub(crate) fn count_operations(&mut self, operations: u64) {
        let totals = &self.totals;
        self.times.count_operations(operations, || totals.reserved.saturating_sub(totals.empty));
    }

    fn class_of_heap(&self, slot: Slot) -> usize {
        class_of(self.table.heap(slot).ranges.capacity())
    }

    /// Notes that a heap is added: for one that left because of periods, if it is of the same class. Empty heaps of the
    /// class are then kept for twice the pause that was too long for that one.
    pub(super) fn note_return(&mut self, slot: Slot) {
        let class = self.class_of_heap(slot);
        let Pause { left, kept } = &mut self.idle.lists[class].pause;
        if let Some(since) = left.take() {
            *kept = self.times.kept_after_pause(since);
        }
    }

    /// Adds a heap to the empty ones, as the latest of its class.
    pub(super) fn index_empty(&mut self, slot: Slot, key_class: u32) {
        let class = self.class_of_heap(slot);
        let (before, since) = (self.idle.lists[class].latest, self.times.now());
        self.empty.insert(&mut self.table, slot, key_class);
        self.times.note_empty();
        self.table.entries[slot as usize].idle = IdleLinks { before, after: NO_SLOT, since };
        self.idle.occupied |= 1 << class;
        let expiry = since.operation.saturating_add(self.times.kept_operations(class));
        self.idle.next_expiry = self.idle.next_expiry.min(expiry);
        match before {
            NO_SLOT => self.idle.lists[class].longest = slot,
            before => self.table.entries[before as usize].idle.after = slot,
        }
        self.idle.lists[class].latest = slot;
    }

    /// Removes a heap from the empty ones, and puts it to use.
    pub(super) fn use_empty(&mut self, slot: Slot) {
        self.unindex_empty(slot);
        self.table.indexed[slot as usize].in_use_since = self.times.operation();
    }

    /// Removes a heap from the empty ones.
    pub(super) fn unindex_empty(&mut self, slot: Slot) {
        self.empty.remove(&mut self.table, slot);
        let class = self.class_of_heap(slot);
        let IdleLinks { before, after, .. } = self.table.entries[slot as usize].idle;
        match before {
            NO_SLOT => self.idle.lists[class].longest = after,
            before => self.table.entries[before as usize].idle.after = after,
        }
        match after {
            NO_SLOT => self.idle.lists[class].latest = before,
            after => self.table.entries[after as usize].idle.before = before,
        }
        if self.idle.lists[class].longest == NO_SLOT {
            self.idle.occupied &= !(1 << class);
        }
    }

    /// Returns the empty heaps. O(n) for n of them; for audits.
    pub(super) fn idle_slots(&self) -> Vec<Slot> {
        let next = |slot: Slot| (slot != NO_SLOT).then_some(slot);
        let of_list = |list: &List| {
            std::iter::successors(next(list.longest), |&slot| {
                next(self.table.entries[slot as usize].idle.after)
            })
        };
        self.idle.lists.iter().flat_map(of_list).collect()
    }

    /// Returns whether empty heaps stay until they are used or taken: if no other are kept than those that the owner
    /// added. With the default algorithm, these are not kept either.
    pub(super) fn keeps_added(&self) -> bool {
        self.keeps_none && !self.rule.is_default()
    }

    /// Returns a bit for each class that has empty heaps which may leave.
    fn idle_classes(&self) -> u32 {
        if self.keeps_added() { 0 } else { self.idle.occupied }
    }

    /// Removes a heap that has been empty for longest among those of its class, if `is_over` says so of the times, the
    /// class, its pause and the moment since when the heap is empty. Returns class and moment, too.
    fn take_longest_idle(
        &mut self,
        mut is_over: impl FnMut(&IdleTimes, usize, Pause, Moment) -> bool,
    ) -> Option<(usize, Moment, H)> {
        let mut left = self.idle_classes();
        while left != 0 {
            let class = left.trailing_zeros() as usize;
            let List { longest, pause, .. } = self.idle.lists[class];
            let since = self.table.entries[longest as usize].idle.since;
            if is_over(&self.times, class, pause, since) {
                return Some((class, since, self.remove(longest)));
            }
            left &= left - 1;
        }
        None
    }

    /// Removes the heap that has been empty for longest, if the operations since then do not let it be kept.
    #[inline]
    pub(crate) fn take_expired(&mut self) -> Option<H> {
        if self.times.operation() < self.idle.next_expiry { None } else { self.take_first_expired() }
    }

    fn take_first_expired(&mut self) -> Option<H> {
        let (operation, mut next_expiry) = (self.times.operation(), u64::MAX);
        let taken = self.take_longest_idle(|times, class, _, since| {
            let expiry = times.expiry(class, since);
            next_expiry = next_expiry.min(expiry);
            operation >= expiry
        });
        self.idle.next_expiry = next_expiry;
        taken.map(|(.., heap)| heap)
    }

    /// See [`SharedHeapSet::pass_frame`](crate::placement::SharedHeapSet::pass_frame).
    pub(crate) fn pass_frame(&mut self) -> Vec<H> {
        self.times.begin_frame();
        self.idle.next_expiry = 0;
        let most = self.totals.empty_heap_count.div_ceil(16);
        let is_over = |times: &IdleTimes, _, _, since| times.is_over_frames(since);
        let removed = (0..most).map_while(|_| Some(self.take_longest_idle(is_over)?.2)).collect();
        self.times.end_frame(self.totals.reserved);
        removed
    }

    /// See [`SharedHeapSet::pass_period`](crate::placement::SharedHeapSet::pass_period).
    pub(crate) fn pass_period(&mut self) -> Vec<H> {
        self.times.begin_period();
        let removed = self.take_overdue(u64::MAX);
        self.times.end_period(self.totals.reserved);
        removed
    }

    /// Counts a period, and removes nothing.
    pub(crate) fn count_period(&mut self) {
        self.times.begin_period();
        self.times.end_period(self.totals.reserved);
    }

    /// See [`SharedHeapSet::take_overdue`](crate::placement::SharedHeapSet::take_overdue).
    pub(crate) fn take_slice(&mut self) -> Vec<H> {
        self.take_overdue(SLICE_NANOS)
    }

    /// Removes heaps that were empty for too many periods, until their prices reach `most_nanos`.
    fn take_overdue(&mut self, most_nanos: u64) -> Vec<H> {
        let mut nanos = 0_u64;
        std::iter::from_fn(|| {
            let (class, heap) = if nanos < most_nanos { self.take_over_periods()? } else { return None };
            nanos = nanos.saturating_add(self.times.prices.nanos_of(class));
            Some(heap)
        })
        .collect()
    }

    /// Removes a heap that was empty for too many periods. Returns its class, too.
    fn take_over_periods(&mut self) -> Option<(usize, H)> {
        let is_over = |times: &IdleTimes, _, pause: Pause, since| times.is_over_periods(since, pause.kept);
        let (class, since, removed) = self.take_longest_idle(is_over)?;
        let List { longest, pause, .. } = &mut self.idle.lists[class];
        pause.left = Some(since.period);
        if *longest == NO_SLOT {
            // The pause is longer than it was expected to be.
            pause.kept = 0;
        }
        Some((class, removed))
    }
}
