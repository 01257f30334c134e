//! Uses that policies do not know of yet.
//!
//! Most heaps are used at regular intervals, so uses are kept as runs: a submission costs a comparison and an
//! addition per heap, in the record that it changes anyway. No use is lost.

use super::heap_table::{HeapTable, Record, Run};
use super::in_flight::UsesBy;
use super::policy::HeapSlot;

/// Uses of a heap that one call passes to its policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Uses {
    pub(super) heap: HeapSlot,
    /// Orders the uses by one submission.
    order: u32,
    /// The number of the last submission.
    pub(super) last: u64,
    /// The number of submissions from one use to the next.
    pub(super) interval: u64,
    pub(super) count: u64,
}

/// The number of uses outside of the current runs that are collected before they are passed to the policies.
const MOST_ENDED: usize = 4096;

/// The uses of all heaps that policies do not know of yet.
#[derive(Default)]
pub(super) struct UnlearnedUses {
    /// The heaps with a run, in the order of the first use.
    heaps: Vec<HeapSlot>,
    /// The runs that another use of their heaps ended.
    ended: Vec<Uses>,
}

impl UnlearnedUses {
    /// Records the use of a resident heap by a submission, unless it has used the heap before.
    #[inline]
    pub(super) fn use_record(&mut self, heap: HeapSlot, record: &mut Record, uses: UsesBy) {
        if record.last_use == uses.number {
            return;
        }
        // Policies know neither locked heaps nor uses by a submission that began before the last one that used the
        // heap.
        if let (false, Some(passed)) = (record.is_locked, uses.number.checked_sub(record.last_use)) {
            let run = &mut record.unlearned;
            if passed == u64::from(run.interval) && run.count < u16::MAX {
                run.count += 1;
            } else {
                self.add_irregular(heap, run, record.last_use, passed);
            }
        }
        uses.stamp(record);
    }

    fn add_irregular(&mut self, heap: HeapSlot, run: &mut Run, last: u64, passed: u64) {
        match (run.count, u16::try_from(passed)) {
            (0, _) => self.heaps.push(heap),
            (1, Ok(interval)) => {
                *run = Run { interval, count: 2 };
                return;
            }
            _ => self.ended.push(Uses::new(heap, last, *run)),
        }
        *run = Run::ONE;
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.heaps.is_empty()
    }

    /// Returns whether the uses should be passed to the policies, so that no more memory is needed.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.ended.len() >= MOST_ENDED
    }

    /// Removes all uses, and passes them to `learn` in the order of the submissions, each with the record of its heap.
    /// Those of one submission have an order that depends on the uses alone, but not the one in which they were
    /// recorded.
    ///
    /// The first use of a run comes by itself, at its own time, because what changes for a heap usually changes then.
    pub(super) fn take(&mut self, heaps: &mut HeapTable, mut learn: impl FnMut(Uses, &Record)) {
        let uses = &mut self.ended;
        for heap in self.heaps.drain(..) {
            if let Some((record, _)) = heaps.at_mut(heap) {
                let run = std::mem::replace(&mut record.unlearned, Run::NONE);
                uses.push(Uses::new(heap, record.last_use, run));
            }
        }
        for (at, order) in (0..uses.len()).zip(0..) {
            let first = &mut uses[at];
            first.order = order;
            if first.count > 1 {
                let rest = Uses { count: first.count - 1, ..*first };
                (first.last, first.count) = (first.last - first.interval * rest.count, 1);
                uses.push(rest);
            }
        }
        // A stable sort would allocate.
        uses.sort_unstable_by_key(|uses| (uses.last, uses.order));
        for uses in uses.drain(..) {
            if let Some((record, _)) = heaps.at_mut(uses.heap) {
                learn(uses, record);
            }
        }
    }
}

impl Uses {
    fn new(heap: HeapSlot, last: u64, run: Run) -> Self {
        Self { heap, order: 0, last, interval: run.interval.into(), count: run.count.into() }
    }
}
