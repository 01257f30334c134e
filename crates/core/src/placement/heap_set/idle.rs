//! Empty heaps in the order in which they became empty, and their release.

use super::{HeapSet, IndexedHeaps as _, Slot};
use crate::ByteSize;
use crate::placement::heap_prices::{CLASSES, class_of};
use crate::placement::idle_times::{IdleTimes, Moment};

const NONE: Slot = Slot::MAX;

/// A heap that was not used keeps its place among the empty ones, unless more than so many have been empty for
/// longer.
const FARTHEST: usize = 16;

/// The place of a heap among the empty ones, and when it became empty.
#[derive(Debug, Clone, Copy)]
pub(super) struct IdleLinks {
    before: Slot,
    after: Slot,
    since: Moment,
    /// Whether the heap is much larger than what was placed in it when it was last empty.
    is_oversized: bool,
}

impl IdleLinks {
    /// The links of a heap that is in no list.
    pub(super) fn none() -> Self {
        Self { before: NONE, after: NONE, since: Moment::default(), is_oversized: false }
    }
}

/// The empty heaps of a class of sizes, in the order in which they became empty.
#[derive(Clone, Copy, Debug)]
struct List {
    longest: Slot,
    latest: Slot,
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
        let lists = Box::new([List { longest: NONE, latest: NONE }; CLASSES]);
        Self { lists, occupied: 0, next_expiry: 0 }
    }
}

impl<H> HeapSet<H> {
    /// Counts allocations and frees.
    #[inline]
    pub(crate) fn count_operations(&mut self, operations: u64) {
        self.times.count_operations(operations);
    }

    fn class_of_heap(&self, slot: Slot) -> usize {
        class_of(self.table.heap(slot).suballocator.capacity())
    }

    /// Adds a new heap to the empty ones.
    pub(super) fn index_empty(&mut self, slot: Slot) {
        let class = self.class_of_heap(slot);
        self.link_empty(slot, class, self.idle.lists[class].latest, self.times.now());
    }

    /// Adds a heap that became empty to the empty ones: as the latest, or if it was not really used, where it was.
    pub(super) fn index_emptied(&mut self, slot: Slot) {
        let entry = self.table.entry(slot);
        let IdleLinks { since, is_oversized, .. } = entry.idle;
        let class = self.class_of_heap(slot);
        if !is_oversized || self.times.operation() - self.table.age(slot) >= self.times.kept_operations(class)
        {
            return self.index_empty(slot);
        }
        let mut before = NONE;
        for _ in 0..FARTHEST {
            let next = self.after(class, before);
            if next == NONE || self.table.entry(next).idle.since.operation > since.operation {
                break;
            }
            before = next;
        }
        let next = self.after(class, before);
        let since = match next {
            NONE => since,
            next => {
                let of_next = self.table.entry(next).idle.since;
                if of_next.operation < since.operation { of_next } else { since }
            }
        };
        self.link_empty(slot, class, before, since);
    }

    /// Returns the empty heap of a class after another one, or the first.
    fn after(&self, class: usize, slot: Slot) -> Slot {
        if slot == NONE { self.idle.lists[class].longest } else { self.table.entry(slot).idle.after }
    }

    fn link_empty(&mut self, slot: Slot, class: usize, before: Slot, since: Moment) {
        self.empty.insert(&mut self.table, slot);
        self.times.note_empty();
        let after = self.after(class, before);
        self.table.entry_mut(slot).idle = IdleLinks { before, after, since, is_oversized: false };
        self.idle.occupied |= 1 << class;
        let expiry = since.operation.saturating_add(self.times.kept_operations(class));
        self.idle.next_expiry = self.idle.next_expiry.min(expiry);
        match before {
            NONE => self.idle.lists[class].longest = slot,
            before => self.table.entry_mut(before).idle.after = slot,
        }
        match after {
            NONE => self.idle.lists[class].latest = slot,
            after => self.table.entry_mut(after).idle.before = slot,
        }
    }

    /// Removes a heap from the empty ones, and puts it to use for a request of `size` bytes.
    pub(super) fn use_empty(&mut self, slot: Slot, size: ByteSize) {
        self.unindex_empty(slot);
        let capacity = self.table.heap(slot).suballocator.capacity();
        let new = self.usual_heap_size(size).unwrap_or(ByteSize::MAX);
        self.table.indexed[slot as usize].in_use_since = self.times.operation();
        self.table.entry_mut(slot).idle.is_oversized = capacity > new.saturating_add(new);
    }

    /// Removes a heap from the empty ones.
    pub(super) fn unindex_empty(&mut self, slot: Slot) {
        self.empty.remove(&mut self.table, slot);
        let class = self.class_of_heap(slot);
        let IdleLinks { before, after, .. } = self.table.entry(slot).idle;
        match before {
            NONE => self.idle.lists[class].longest = after,
            before => self.table.entry_mut(before).idle.after = after,
        }
        match after {
            NONE => self.idle.lists[class].latest = before,
            after => self.table.entry_mut(after).idle.before = before,
        }
        if self.idle.lists[class].longest == NONE {
            self.idle.occupied &= !(1 << class);
        }
    }

    /// Returns the empty heaps. O(n) for n of them; for audits.
    pub(super) fn idle_slots(&self) -> Vec<Slot> {
        let next = |slot: Slot| (slot != NONE).then_some(slot);
        let of_list = |list: &List| {
            std::iter::successors(next(list.longest), |&slot| next(self.table.entry(slot).idle.after))
        };
        self.idle.lists.iter().flat_map(of_list).collect()
    }

    /// Removes a heap that has been empty for longest among those of its class, if `is_over` says so of the times, the
    /// class and the moment since when it is empty.
    fn take_longest_idle(&mut self, mut is_over: impl FnMut(&IdleTimes, usize, Moment) -> bool) -> Option<H> {
        let mut left = self.idle.occupied;
        while left != 0 {
            let class = left.trailing_zeros() as usize;
            let slot = self.idle.lists[class].longest;
            if is_over(&self.times, class, self.table.entry(slot).idle.since) {
                return Some(self.remove(slot));
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
        let taken = self.take_longest_idle(|times, class, since| {
            let expiry = times.expiry(class, since);
            next_expiry = next_expiry.min(expiry);
            operation >= expiry
        });
        self.idle.next_expiry = if taken.is_some() { 0 } else { next_expiry };
        taken
    }

    /// See [`SharedHeapSet::pass_frame`](crate::placement::SharedHeapSet::pass_frame).
    pub(crate) fn pass_frame(&mut self) -> Vec<H> {
        self.times.begin_frame();
        self.idle.next_expiry = 0;
        let most = self.totals.empty_heap_count.div_ceil(16);
        let is_over = |times: &IdleTimes, _, since| times.is_over_frames(since);
        let removed = (0..most).map_while(|_| self.take_longest_idle(is_over)).collect();
        self.times.end_frame(self.totals.reserved);
        removed
    }

    /// See [`SharedHeapSet::pass_period`](crate::placement::SharedHeapSet::pass_period).
    pub(crate) fn pass_period(&mut self) -> Vec<H> {
        self.times.begin_period();
        let is_over = |times: &IdleTimes, _, since| times.is_over_periods(since);
        let removed = std::iter::from_fn(|| self.take_longest_idle(is_over)).collect();
        self.times.end_period(self.totals.reserved);
        removed
    }
}
