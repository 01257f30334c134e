//! When empty heaps are released.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{HeapPrices, HeapRetention};
use crate::ByteSize;

/// With each free, `most_in_use` sinks by 2^-16 of its distance to what is held.
pub(super) const FREE_DECAY_LOG2: u32 = 16;
/// With each frame, `most_in_use` sinks by a 64th of its distance to what is held: by half in 44 frames.
const FRAME_DECAY_LOG2: u32 = 6;
/// With each period, it sinks by a 16th of the distance; and to what is held, if little happened.
const PERIOD_DECAY_LOG2: u32 = 4;

/// A period with fewer operations is quiet.
const QUIET_OPERATIONS: u64 = 64;

/// The operations of frames keep a heap for no more than so many times the operations of the retention.
const MOST_OPERATIONS: u64 = 40;

/// The number of operations over which the bytes in use are averaged, as a base-2 logarithm.
const USUAL_LOG2: u32 = 12;

/// A set adds its operations to the shared number when it has so many.
const OPERATIONS_PER_SUM: u64 = 16;

/// Counters that the [sets](super::SharedHeapSet) of an allocator share, to decide which empty heaps to keep.
///
/// Every value is an atomic of its own, without a lock.
#[derive(Default)]
pub struct HeapTally {
    /// Allocations and frees. Counted by all tallies that [`beside`](Self::beside) created.
    operations: Arc<AtomicU64>,
    /// Whether a heap has become empty since the last call of `take_became_empty`.
    became_empty: AtomicBool,
}

impl HeapTally {
    /// Creates a tally that counts the same operations.
    #[must_use]
    pub fn beside(&self) -> Self {
        Self { operations: Arc::clone(&self.operations), ..Self::default() }
    }

    /// Returns the number of operations. Up to 16 of each set, and up to 64 slots of each of its lanes, are not in it
    /// yet.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// Returns whether a heap that is kept for a time has become empty since the last call of
    /// [`take_became_empty`](Self::take_became_empty).
    #[must_use]
    #[inline]
    pub fn became_empty(&self) -> bool {
        self.became_empty.load(Ordering::Relaxed)
    }

    /// Returns whether a heap that is kept for a time has become empty since the last call.
    #[must_use]
    pub fn take_became_empty(&self) -> bool {
        self.became_empty.swap(false, Ordering::Relaxed)
    }

    pub(super) fn count_operations(&self, operations: u64) {
        self.operations.fetch_add(operations, Ordering::Relaxed);
    }

    fn note_became_empty(&self) {
        self.became_empty.store(true, Ordering::Relaxed);
    }
}

/// A moment in the three times of a set.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moment {
    pub(super) operation: u64,
    frame: u64,
    pub(super) period: u64,
}

/// The times of a set of heaps, and what decides by them how long its empty heaps are kept.
#[derive(Clone, Default)]
pub(super) struct IdleTimes {
    pub(super) retention: HeapRetention,
    /// The sums over this set and others.
    tally: Arc<HeapTally>,
    /// What heaps of this type cost.
    pub(super) prices: Arc<HeapPrices>,
    /// The most bytes of heaps that were in use at once; if not all are kept, together with those that the owner added
    /// empty. It sinks slowly, so that long after a peak new heaps are small again, and little is kept.
    pub(super) most_in_use: ByteSize,
    /// The bytes of heaps that are usually in use: an average over thousands of operations, in which a peak counts for
    /// no more than its time. Zero before the first operations.
    usual_in_use: ByteSize,
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

impl IdleTimes {
    pub(super) fn new(retention: HeapRetention, tally: Arc<HeapTally>, prices: Arc<HeapPrices>) -> Self {
        Self { retention, tally, prices, ..Self::default() }
    }

    /// Returns the number of allocations and frees, including those of sets with the same tally.
    #[inline]
    pub(super) fn operation(&self) -> u64 {
        self.tally.operations() + self.not_summed
    }

    /// Counts allocations and frees. `in_use` returns the bytes of the heaps that are in use.
    #[inline]
    pub(super) fn count_operations(&mut self, operations: u64, in_use: impl FnOnce() -> ByteSize) {
        self.not_summed += operations;
        if self.not_summed >= OPERATIONS_PER_SUM {
            let operations = std::mem::take(&mut self.not_summed);
            self.tally.count_operations(operations);
            self.note_in_use(operations, in_use());
        }
    }

    /// Notes how many bytes are in use after some operations.
    fn note_in_use(&mut self, operations: u64, in_use: ByteSize) {
        let usual = self.usual_in_use;
        if usual.is_zero() {
            self.usual_in_use = in_use;
            return;
        }
        let part = |distance: ByteSize| {
            let counted = operations.min(1 << USUAL_LOG2);
            ByteSize::new((distance.get() >> USUAL_LOG2).saturating_mul(counted))
        };
        let (above, below) = (part(in_use.saturating_sub(usual)), part(usual.saturating_sub(in_use)));
        self.usual_in_use = usual.saturating_add(above).saturating_sub(below);
    }

    pub(super) fn now(&self) -> Moment {
        Moment { operation: self.operation(), frame: self.frame, period: self.period }
    }

    /// Notes that a heap became empty.
    pub(super) fn note_empty(&self) {
        if (1..u32::MAX).contains(&self.retention.periods) {
            self.tally.note_became_empty();
        }
    }

    /// Returns whether empty heaps leave before a heap of `heap_size` bytes is added to those that are in use, in the
    /// set and elsewhere: if more were then held than was ever in use at once, or, with [`HeapRetention::FOR_EVER`],
    /// more than twice as much.
    pub(super) fn makes_way(&mut self, in_use: ByteSize, empty: ByteSize, heap_size: ByteSize) -> bool {
        let needed = in_use.saturating_add(heap_size);
        self.most_in_use = self.most_in_use.max(needed);
        let factor = if self.keeps_all() { 2 } else { 1 };
        needed.saturating_add(empty) > self.most_in_use.checked_mul(factor).unwrap_or(ByteSize::MAX)
    }

    pub(super) fn keeps_all(&self) -> bool {
        self.retention == HeapRetention::FOR_EVER
    }

    /// Notes how many bytes of heaps are held.
    pub(super) fn note_held(&mut self, held: ByteSize) {
        if !self.keeps_all() {
            self.most_in_use = self.most_in_use.max(held);
        }
    }

    /// Lets the most bytes that were in use sink by a fraction of the distance to what is held now.
    #[inline]
    pub(super) fn forget_most_in_use(&mut self, held: ByteSize, fraction_log2: u32) {
        let above = self.most_in_use.saturating_sub(held).get();
        self.most_in_use = self.most_in_use.saturating_sub(ByteSize::new(above >> fraction_log2));
    }

    /// Returns for how many operations a heap of a class is kept.
    pub(super) fn kept_operations(&self, class: usize) -> u64 {
        self.retention.keeping.operations(class, &self.prices, self.usual_in_use)
    }

    /// Returns the operation with which an empty heap of a class leaves.
    pub(super) fn expiry(&self, class: usize, since: Moment) -> u64 {
        let operations = self.kept_operations(class);
        let of_frames = self.operations_per_frame.saturating_mul(u64::from(self.retention.kept_frames));
        let most = of_frames.clamp(operations, operations.saturating_mul(MOST_OPERATIONS));
        since.operation.saturating_add(most)
    }

    /// Returns whether a heap has been empty for too many frames.
    pub(super) fn is_over_frames(&self, since: Moment) -> bool {
        self.frame - since.frame >= u64::from(self.retention.frames)
    }

    /// Returns whether a heap was empty for too many periods: those of the retention, or `at_least` so many.
    pub(super) fn is_over_periods(&self, since: Moment, at_least: u64) -> bool {
        self.period - since.period >= u64::from(self.retention.periods).max(at_least)
    }

    /// Returns for how many periods empty heaps are kept after one is needed that had been empty since a period: twice
    /// as many, or none if the retention does not expect such a pause again.
    pub(super) fn kept_after_pause(&self, since: u64) -> u64 {
        let (pause, most) = (self.period - since, u64::from(self.retention.pauses));
        if pause <= most { most.min(2 * pause) } else { 0 }
    }

    /// Counts a frame.
    pub(super) fn begin_frame(&mut self) {
        let operation = self.operation();
        self.operations_per_frame = operation - self.frame_operation;
        self.frame_operation = operation;
        self.frame += 1;
    }

    /// Forgets memory that was in use earlier, after a frame.
    pub(super) fn end_frame(&mut self, held: ByteSize) {
        self.forget_most_in_use(held, FRAME_DECAY_LOG2);
    }

    /// Counts a period.
    pub(super) fn begin_period(&mut self) {
        self.period += 1;
    }

    /// Forgets memory that was in use earlier, after a period.
    pub(super) fn end_period(&mut self, held: ByteSize) {
        let operation = self.operation();
        let is_quiet = operation - self.period_operation < QUIET_OPERATIONS;
        self.period_operation = operation;
        self.forget_most_in_use(held, if is_quiet { 0 } else { PERIOD_DECAY_LOG2 });
    }

    /// Returns whether enough frames passed for unused slabs to be returned again.
    pub(super) fn is_time_for_slabs(&self) -> bool {
        self.frame.is_multiple_of(u64::from(self.retention.frames.max(2)) / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Keeping;
    use super::*;

    const MIB: ByteSize = ByteSize::from_mib(1);

    fn times(keeping: Keeping) -> IdleTimes {
        let retention = HeapRetention { keeping, kept_frames: 2, ..HeapRetention::default() };
        IdleTimes::new(retention, Arc::default(), Arc::default())
    }

    #[test]
    fn heaps_are_kept_for_the_operations_of_the_last_frames_up_to_40_times_those_of_the_retention() {
        let mut times = times(Keeping::Operations(10));
        let kept = |operations| {
            times.count_operations(operations, || MIB);
            times.begin_frame();
            times.expiry(0, Moment::default())
        };
        assert_eq!([3, 100, 1000, 50].map(kept), [10, 200, 400, 100]);
    }

    #[test]
    fn what_is_usually_in_use_is_an_average_over_thousands_of_operations() {
        let mut times = times(Keeping::Rent { nanos: 90, most: 400 });
        let mut kept_after = |operations, mib| {
            (0..operations / 16).for_each(|_| times.count_operations(16, || ByteSize::from_mib(mib)));
            // Half of what is in use, by the size of 1 GiB, of 400 operations.
            times.kept_operations(14)
        };
        assert_eq!(
            [(16, 512), (256, 1024), (4096, 1024)].map(|(count, mib)| kept_after(count, mib)),
            [100, 106, 165]
        );
    }

    #[test]
    fn a_quiet_period_forgets_what_was_in_use_and_a_busy_one_a_part_of_it() {
        let mut times = times(Keeping::Operations(10));
        times.note_held(ByteSize::from_mib(160));
        let left = |operations| {
            times.count_operations(operations, || MIB);
            times.end_period(ByteSize::ZERO);
            times.most_in_use.get() >> 20
        };
        assert_eq!([64, 63].map(left), [150, 0]);
    }
}
