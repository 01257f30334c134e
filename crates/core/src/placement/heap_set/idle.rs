//! Empty heaps in the order in which they became empty, and their release.

use std::sync::Arc;

use super::{HeapSet, Slot};
use crate::ByteSize;
use crate::placement::heap_prices::{CLASSES, class_of};
use crate::placement::heap_tally::OPERATIONS_PER_SUM;

const NONE: Slot = Slot::MAX;

/// With each frame, `most_held` sinks by a 64th of its distance to what is held: by half in 44 frames.
const FRAME_DECAY_LOG2: u32 = 6;
/// With each period, it sinks by a 16th of the distance; and to what is held, if little happened.
const PERIOD_DECAY_LOG2: u32 = 4;

/// A period with fewer operations is quiet.
const QUIET_OPERATIONS: u64 = 64;

/// With frames, a heap is kept for the operations of so many frames.
const KEPT_FRAMES: u64 = 2;
/// But for no more than so many times the operations of the retention.
const MOST_OPERATIONS: u64 = 40;

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

/// A moment in the three times of a set.
#[derive(Debug, Clone, Copy, Default)]
struct Moment {
    operation: u64,
    frame: u64,
    period: u64,
}

impl IdleLinks {
    pub(super) const NONE: Self = Self {
        before: NONE,
        after: NONE,
        since: Moment { operation: 0, frame: 0, period: 0 },
        is_oversized: false,
    };
}

/// The empty heaps of a class of sizes, in the order in which they became empty.
#[derive(Clone, Copy, Debug)]
struct List {
    longest: Slot,
    latest: Slot,
}

/// The lists, and the times that are compared with those in them.
#[derive(Clone, Debug)]
pub(super) struct IdleOrder {
    lists: Box<[List; CLASSES]>,
    /// A bit for each list that is not empty.
    occupied: u32,
    /// No heap leaves by operations before this one.
    next_expiry: u64,
    /// The number of frames that the owner told of.
    frame: u64,
    /// The number of periods that the owner told of.
    period: u64,
    /// The number of allocations and frees that are not in the tally yet.
    not_summed: u64,
    /// The number of operations when the last period ended.
    period_operation: u64,
    /// The number of operations when the last frame ended.
    frame_operation: u64,
    /// The number of operations in the last frame.
    operations_per_frame: u64,
}

impl IdleOrder {
    pub(super) fn new() -> Self {
        Self {
            lists: Box::new([List { longest: NONE, latest: NONE }; CLASSES]),
            occupied: 0,
            next_expiry: 0,
            frame: 0,
            period: 0,
            not_summed: 0,
            period_operation: 0,
            frame_operation: 0,
            operations_per_frame: 0,
        }
    }
}

impl<H> HeapSet<H> {
    /// Returns the number of allocations and frees, including those of sets with the same tally.
    #[inline]
    pub(super) fn operation(&self) -> u64 {
        self.tally.operations() + self.idle.not_summed
    }

    /// Counts allocations and frees.
    #[inline]
    pub(in crate::placement) fn count_operations(&mut self, operations: u64) {
        self.idle.not_summed += operations;
        if self.idle.not_summed >= OPERATIONS_PER_SUM {
            self.tally.count_operations(std::mem::take(&mut self.idle.not_summed));
        }
    }

    fn now(&self) -> Moment {
        Moment { operation: self.operation(), frame: self.idle.frame, period: self.idle.period }
    }

    fn class_of_heap(&self, slot: Slot) -> usize {
        class_of(self.table.heap(slot).suballocator.capacity())
    }

    /// Returns for how many operations a heap of a class is kept.
    fn kept_operations(&self, class: usize) -> u64 {
        self.retention.keeping.operations(class, &self.prices)
    }

    /// Adds a new heap to the empty ones.
    pub(super) fn index_empty(&mut self, slot: Slot) {
        let class = self.class_of_heap(slot);
        self.link_empty(slot, class, self.idle.lists[class].latest, self.now());
    }

    /// Adds a heap that became empty to the empty ones: as the latest, or if it was not really used, where it was.
    pub(super) fn index_emptied(&mut self, slot: Slot) {
        let entry = self.table.entry(slot);
        let IdleLinks { since, is_oversized, .. } = entry.idle;
        let class = self.class_of_heap(slot);
        if !is_oversized || self.operation() - entry.in_use_since >= self.kept_operations(class) {
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
        if (1..u32::MAX).contains(&self.retention.periods) {
            self.tally.note_became_empty();
        }
        let after = self.after(class, before);
        self.table.entry_mut(slot).idle = IdleLinks { before, after, since, is_oversized: false };
        self.idle.occupied |= 1 << class;
        let expiry = since.operation.saturating_add(self.kept_operations(class));
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
        let new = self.new_heap_size(size).unwrap_or(ByteSize::MAX);
        let operation = self.operation();
        let entry = self.table.entry_mut(slot);
        entry.in_use_since = operation;
        entry.idle.is_oversized = capacity > new.saturating_add(new);
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

    /// Removes a heap that has been empty for longest among those of its class, if `is_over` says so of the class and the
    /// times now and then.
    fn take_longest_idle(&mut self, mut is_over: impl FnMut(usize, Moment, Moment) -> bool) -> Option<H> {
        let mut left = self.idle.occupied;
        while left != 0 {
            let class = left.trailing_zeros() as usize;
            let slot = self.idle.lists[class].longest;
            if is_over(class, self.now(), self.table.entry(slot).idle.since) {
                return Some(self.remove(slot));
            }
            left &= left - 1;
        }
        None
    }

    /// Removes the heap that has been empty for longest, if the operations since then do not let it be kept.
    #[inline]
    pub(in crate::placement) fn take_expired(&mut self) -> Option<H> {
        if self.operation() < self.idle.next_expiry { None } else { self.take_first_expired() }
    }

    fn take_first_expired(&mut self) -> Option<H> {
        let of_frames = self.idle.operations_per_frame.saturating_mul(KEPT_FRAMES);
        let (keeping, prices) = (self.retention.keeping, Arc::clone(&self.prices));
        let mut next_expiry = u64::MAX;
        let taken = self.take_longest_idle(|class, now, since| {
            let operations = keeping.operations(class, &prices);
            let most = of_frames.clamp(operations, operations.saturating_mul(MOST_OPERATIONS));
            next_expiry = next_expiry.min(since.operation.saturating_add(most));
            now.operation - since.operation >= most
        });
        self.idle.next_expiry = if taken.is_some() { 0 } else { next_expiry };
        taken
    }

    /// Counts a frame, and removes heaps that have been empty for [`HeapRetention::frames`].
    ///
    /// At most a 16th of the empty heaps leave with each frame, so that no frame pays for all of them. O(1)
    /// each.
    ///
    /// [`HeapRetention::frames`]: crate::placement::HeapRetention::frames
    pub fn pass_frame(&mut self) -> Vec<H> {
        let operation = self.operation();
        self.idle.operations_per_frame = operation - self.idle.frame_operation;
        self.idle.frame_operation = operation;
        self.idle.next_expiry = 0;
        self.idle.frame += 1;
        let most = self.totals.empty_heap_count.div_ceil(16);
        let frames = u64::from(self.retention.frames);
        let is_over = |_, now: Moment, since: Moment| now.frame - since.frame >= frames;
        let removed = (0..most).map_while(|_| self.take_longest_idle(is_over)).collect();
        self.forget_most_held(FRAME_DECAY_LOG2);
        removed
    }

    /// Lets the most bytes that were held sink by a fraction of its distance to what is held now.
    #[inline]
    pub(super) fn forget_most_held(&mut self, fraction_log2: u32) {
        let above = self.most_held.saturating_sub(self.totals.reserved).get();
        self.most_held = self.most_held.saturating_sub(ByteSize::new(above >> fraction_log2));
    }

    /// Returns whether enough frames passed for unused slabs to be returned again.
    pub(in crate::placement) fn is_time_for_slabs(&self) -> bool {
        self.idle.frame.is_multiple_of(u64::from(self.retention.frames.max(2)) / 2)
    }

    /// Counts a period, and removes the heaps that were empty during [`HeapRetention::periods`] whole ones, by
    /// default during the whole time since the call before the last one. O(1) each.
    ///
    /// The set has no clock. This is for owners that do not tell of [frames](Self::pass_frame), and whose calls
    /// may be so few that counting them would keep empty heaps for ever.
    ///
    /// ```
    /// use heapwright_core::ByteSize;
    /// use heapwright_core::placement::HeapSet;
    ///
    /// let mut heaps = HeapSet::default();
    /// heaps.insert(ByteSize::from_mib(1), "a heap")?;
    /// assert!(heaps.pass_period().is_empty());
    /// assert_eq!(heaps.pass_period(), ["a heap"]);
    /// # Ok::<(), heapwright_core::placement::PlacementError>(())
    /// ```
    ///
    /// [`HeapRetention::periods`]: crate::placement::HeapRetention::periods
    pub fn pass_period(&mut self) -> Vec<H> {
        self.idle.period += 1;
        let periods = u64::from(self.retention.periods);
        let is_over = |_, now: Moment, since: Moment| now.period - since.period >= periods;
        let removed = std::iter::from_fn(|| self.take_longest_idle(is_over)).collect();
        let operations = self.operation() - self.idle.period_operation;
        self.idle.period_operation = self.operation();
        let is_quiet = operations < QUIET_OPERATIONS;
        self.forget_most_held(if is_quiet { 0 } else { PERIOD_DECAY_LOG2 });
        removed
    }
}
