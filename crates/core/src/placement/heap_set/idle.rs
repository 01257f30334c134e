//! Empty heaps in the order in which they became empty, and their release.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{HeapSet, Slot};
use crate::ByteSize;
use crate::placement::HeapRetention;

const NONE: Slot = Slot::MAX;

/// With each frame, `most_held` sinks by a 64th of its distance to what is held: by half in 44 frames.
const FRAME_DECAY_LOG2: u32 = 6;
/// With each period, it sinks by a 16th of the distance; and to what is held, if little happened.
const PERIOD_DECAY_LOG2: u32 = 4;

/// The place of a heap among the empty ones, and when it became empty.
#[derive(Debug, Clone, Copy)]
pub(super) struct IdleLinks {
    before: Slot,
    after: Slot,
    operation: u64,
    frame: u64,
    period: u64,
}

impl IdleLinks {
    pub(super) const NONE: Self = Self { before: NONE, after: NONE, operation: 0, frame: 0, period: 0 };
}

/// The ends of the list, and the clocks that are compared with the times in it.
#[derive(Clone, Debug)]
pub(super) struct IdleOrder {
    longest: Slot,
    latest: Slot,
    /// The number of allocations and frees.
    pub(super) operation: u64,
    /// The number of frames that the owner told of.
    frame: u64,
    /// The number of periods that the owner told of.
    period: u64,
    /// The number of operations when the last period ended.
    period_operation: u64,
}

impl IdleOrder {
    pub(super) const fn new() -> Self {
        Self { longest: NONE, latest: NONE, operation: 0, frame: 0, period: 0, period_operation: 0 }
    }
}

impl<H> HeapSet<H> {
    /// Adds a heap that became empty to the empty ones.
    pub(super) fn index_empty(&mut self, slot: Slot) {
        self.empty.insert(&mut self.table, slot);
        let size = self.table.heap(slot).suballocator.capacity().get();
        self.empty_bytes.fetch_add(size, Ordering::Relaxed);
        let IdleOrder { latest, operation, frame, period, .. } = self.idle;
        self.table.entry_mut(slot).idle = IdleLinks { before: latest, after: NONE, operation, frame, period };
        match latest {
            NONE => self.idle.longest = slot,
            before => self.table.entry_mut(before).idle.after = slot,
        }
        self.idle.latest = slot;
    }

    /// Removes a heap from the empty ones.
    pub(super) fn unindex_empty(&mut self, slot: Slot) {
        self.empty.remove(&mut self.table, slot);
        let size = self.table.heap(slot).suballocator.capacity().get();
        self.empty_bytes.fetch_sub(size, Ordering::Relaxed);
        let IdleLinks { before, after, .. } = self.table.entry(slot).idle;
        match before {
            NONE => self.idle.longest = after,
            before => self.table.entry_mut(before).idle.after = after,
        }
        match after {
            NONE => self.idle.latest = before,
            after => self.table.entry_mut(after).idle.before = before,
        }
    }

    /// Returns the total size of the empty heaps, which changes with them.
    pub(in crate::placement) fn empty_bytes(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.empty_bytes)
    }

    /// Returns the heaps of the list, longest empty first. O(n) for n empty heaps; for audits.
    pub(super) fn idle_slots(&self) -> Vec<Slot> {
        let next = |slot: Slot| (slot != NONE).then_some(slot);
        std::iter::successors(next(self.idle.longest), |&slot| next(self.table.entry(slot).idle.after))
            .collect()
    }

    /// Removes the heap that has been empty for longest, if `is_over` says so of its times.
    fn take_longest_idle(&mut self, is_over: impl Fn(&IdleOrder, IdleLinks) -> bool) -> Option<H> {
        let slot = self.idle.longest;
        if slot == NONE || !is_over(&self.idle, self.table.entry(slot).idle) {
            return None;
        }
        Some(self.remove(slot))
    }

    /// Removes the heap that has been empty for longest, if the operations since then do not let it be kept.
    #[inline]
    pub(super) fn take_expired(&mut self) -> Option<H> {
        let most = self.retention.operations;
        self.take_longest_idle(|now, since| {
            let frames = now.frame - since.frame;
            let may_recur = now.frame > 0 && frames < u64::from(HeapRetention::FRAMES_IN_FLIGHT) && most > 0;
            now.operation - since.operation >= most && !may_recur
        })
    }

    /// Counts a frame, and removes heaps that have been empty for [`HeapRetention::frames`].
    ///
    /// At most a 16th of the empty heaps leave with each frame, so that no frame pays for all of them. O(1)
    /// each.
    pub fn pass_frame(&mut self) -> Vec<H> {
        self.idle.frame += 1;
        let most = self.totals.empty_heap_count.div_ceil(16);
        let frames = u64::from(self.retention.frames);
        let is_over = |now: &IdleOrder, since: IdleLinks| now.frame - since.frame >= frames;
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

    /// Removes the heaps that were empty during the whole time since the call of this function before the last
    /// one: call it at intervals of half the time for which empty heaps are kept. O(1) each.
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
    pub fn pass_period(&mut self) -> Vec<H> {
        self.idle.period += 1;
        let is_over = |now: &IdleOrder, since: IdleLinks| now.period - since.period >= 2;
        let removed = std::iter::from_fn(|| self.take_longest_idle(is_over)).collect();
        let operations = self.idle.operation - self.idle.period_operation;
        self.idle.period_operation = self.idle.operation;
        let is_quiet = operations < self.retention.operations / 8;
        self.forget_most_held(if is_quiet { 0 } else { PERIOD_DECAY_LOG2 });
        removed
    }
}
