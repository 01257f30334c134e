//! Submissions in flight.

use std::collections::VecDeque;

use super::heap_table::Record;
use crate::FenceValue;

/// An event to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitFor {
    /// The end of a submission.
    Submission {
        /// The queue.
        queue: QueueSlot,
        /// The value of the queue's fence.
        value: FenceValue,
        /// The number of the submission among all queues.
        number: u64,
    },
    /// A value of the paging fence.
    Paging(FenceValue),
}

/// Identifies a queue of a planner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QueueSlot(u32);

impl QueueSlot {
    fn index(self) -> usize {
        usize::try_from(self.0).expect("usize has at least 32 bits on every platform with a GPU")
    }

    /// Returns the queue's bit. Queues beyond the 31st share one bit.
    #[inline]
    fn bit(self) -> u32 {
        self.0.min(SHARED_BIT)
    }
}

const SHARED_BIT: u32 = 31;

/// A submission in preparation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submission {
    pub(super) queue: QueueSlot,
    /// The number of the submission among all queues.
    pub(super) number: u64,
    /// The value that the queue's fence reaches when the GPU has finished the submission.
    pub value: FenceValue,
    /// The number of the submission on the policies' clock, on which cancelled ones do not count.
    pub(super) clock: u64,
}

/// The part that all uses of heaps by a submission have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct UsesBy {
    pub(super) number: u64,
    mask: u32,
    oldest: u64,
}

impl UsesBy {
    /// Records the use of a heap.
    #[inline]
    pub(super) fn stamp(self, record: &mut Record) {
        let others = if record.last_use < self.oldest { 0 } else { record.queues };
        record.queues = others | self.mask;
        record.last_use = record.last_use.max(self.number);
    }
}

/// The unfinished submissions of each queue: numbers that increase over all queues, with values of the
/// queue's own fence.
pub(super) struct InFlight {
    queues: Vec<VecDeque<(u64, FenceValue)>>,
    vacant: Vec<QueueSlot>,
    last_number: u64,
    /// The oldest unfinished submission of any queue; `u64::MAX` if there is none.
    oldest: u64,
}

impl Default for InFlight {
    fn default() -> Self {
        Self { queues: Vec::new(), vacant: Vec::new(), last_number: 0, oldest: u64::MAX }
    }
}

impl InFlight {
    pub(super) fn add_queue(&mut self) -> QueueSlot {
        if let Some(slot) = self.vacant.pop() {
            return slot;
        }
        self.queues.push(VecDeque::new());
        QueueSlot(u32::try_from(self.queues.len() - 1).expect("fewer than 2^32 queues"))
    }

    /// Removes a queue and its unfinished submissions.
    pub(super) fn remove_queue(&mut self, queue: QueueSlot) {
        self.queues[queue.index()].clear();
        self.vacant.push(queue);
        self.find_oldest();
    }

    /// Begins a submission of a queue, after all earlier ones.
    #[inline]
    pub(super) fn begin(&mut self, queue: QueueSlot, value: FenceValue) -> u64 {
        self.last_number += 1;
        self.queues[queue.index()].push_back((self.last_number, value));
        self.oldest = self.oldest.min(self.last_number);
        self.last_number
    }

    /// Cancels the last submission of a queue.
    pub(super) fn cancel(&mut self, submission: &Submission) {
        let queue = &mut self.queues[submission.queue.index()];
        if queue.back().is_some_and(|&(number, _)| number == submission.number) {
            queue.pop_back();
        }
        self.find_oldest();
    }

    /// Records that the fence of a queue has reached a value.
    #[inline]
    pub(super) fn complete(&mut self, queue: QueueSlot, completed: FenceValue) {
        let queue = &mut self.queues[queue.index()];
        let mut has_changed = false;
        while queue.front().is_some_and(|&(_, value)| value <= completed) {
            queue.pop_front();
            has_changed = true;
        }
        if has_changed {
            self.find_oldest();
        }
    }

    fn find_oldest(&mut self) {
        self.oldest = oldest_of(&self.queues);
    }

    /// Notes in `ends`, for each queue that may still use a heap, the last use that the heap waits for, unless the
    /// queue has an earlier one.
    pub(super) fn note_end(&self, record: &Record, ends: &mut Vec<u64>) {
        ends.resize(self.queues.len(), u64::MAX);
        for ((slot, queue), end) in (0..).map(QueueSlot).zip(&self.queues).zip(ends) {
            let uses = record.queues >> slot.bit() & 1 == 1;
            if uses && queue.front().is_some_and(|&(number, _)| number <= record.last_use) {
                *end = record.last_use.min(*end);
            }
        }
    }

    /// Returns the last submission of each queue up to the one that [`note_end`](Self::note_end) noted, except for
    /// number `not`.
    pub(super) fn noted(&self, ends: &[u64], not: u64) -> impl Iterator<Item = WaitFor> {
        (0..).map(QueueSlot).zip(&self.queues).zip(ends).filter_map(move |((queue, submissions), &end)| {
            let mut latest_first = submissions.iter().rev().filter(|_| end < u64::MAX);
            let &(number, value) = latest_first.find(|&&(number, _)| number <= end && number != not)?;
            Some(WaitFor::Submission { queue, value, number })
        })
    }

    /// Returns the number of the last submission that was begun; zero before the first.
    pub(super) const fn last_number(&self) -> u64 {
        self.last_number
    }

    /// Returns the number of unfinished submissions.
    pub(super) fn len(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    /// Returns what the uses by a submission have in common. It holds until a submission begins or is finished.
    #[inline]
    pub(super) fn uses_by(&self, submission: &Submission) -> UsesBy {
        UsesBy { number: submission.number, mask: 1 << submission.queue.bit(), oldest: self.oldest }
    }

    /// Returns whether the GPU has finished using a heap.
    #[inline]
    pub(super) fn is_idle(&self, record: &Record) -> bool {
        if record.last_use < self.oldest {
            return true;
        }
        let mut bits = record.queues;
        while bits != 0 {
            let bit = bits.trailing_zeros();
            bits &= bits - 1;
            if self.oldest_of_bit(bit) <= record.last_use {
                return false;
            }
        }
        true
    }

    /// Returns the oldest submission of the queues that have a bit, or `u64::MAX` if there is none.
    fn oldest_of_bit(&self, bit: u32) -> u64 {
        let queue = QueueSlot(bit);
        if bit == SHARED_BIT {
            return self.queues.get(queue.index()..).map_or(u64::MAX, oldest_of);
        }
        self.queues.get(queue.index()).and_then(VecDeque::front).map_or(u64::MAX, |&(number, _)| number)
    }
}

fn oldest_of(queues: &[VecDeque<(u64, FenceValue)>]) -> u64 {
    queues.iter().filter_map(VecDeque::front).map(|&(number, _)| number).min().unwrap_or(u64::MAX)
}
