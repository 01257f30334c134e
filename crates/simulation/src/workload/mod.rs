//! Workloads: the actions of a program on its heaps, frame by frame, independent of the policy.
//!
//! [`from_trace`] creates a workload from a trace, and [`from_session`] from a session.

mod from_session;
mod from_trace;

use std::ops::Range;
use std::time::Duration;

use heapwright::ByteSize;
use heapwright_core::SegmentGroup;

pub use self::from_trace::{CannotDerive, from_records};

/// The budget in percent of the peak, where records have none.
const BUDGET_PERCENT: u32 = 60;

/// The number of frames by which the CPU may be ahead, where records have none.
const FRAMES_IN_FLIGHT: usize = 2;

/// Frames of submissions, with the heaps that each submission uses.
#[derive(Debug)]
pub struct Workload {
    /// The name.
    pub name: String,
    /// All heaps that ever live.
    pub heaps: Vec<WorkHeap>,
    /// The frames, in order.
    pub frames: Vec<Frame>,
    /// The submissions, in order. Each frame has a range of them.
    pub submissions: Vec<WorkSubmission>,
    /// The heaps of each submission, without duplicates, one submission after the other.
    uses: Vec<HeapNumber>,
    /// The number of frames by which the CPU may be ahead.
    pub frames_in_flight: usize,
    /// The number of queues.
    pub queue_count: usize,
    /// Where the recorded session breaks off, in bytes, if it has no end.
    pub truncated_at: Option<u64>,
}

/// An index into [`Workload::heaps`].
pub type HeapNumber = u32;

/// A heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkHeap {
    /// The size.
    pub size: ByteSize,
    /// The segment group.
    pub group: SegmentGroup,
    /// Whether it is created resident.
    pub is_resident: bool,
}

/// A frame.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The budgets of the local and the non-local segment group.
    pub budget: [ByteSize; 2],
    /// The heaps that are created before the submissions.
    pub born: Vec<HeapNumber>,
    /// The submissions, as indices into [`Workload::submissions`].
    pub submissions: Range<usize>,
    /// The heaps that are released when the submissions are done.
    pub died: Vec<HeapNumber>,
}

/// A submission.
#[derive(Debug, Clone, Copy)]
pub struct WorkSubmission {
    /// The index of the queue.
    pub queue: usize,
    /// The GPU time.
    pub gpu: Duration,
    uses_end: usize,
}

impl Workload {
    /// Creates a workload without heaps and frames.
    #[must_use]
    pub fn new(name: impl Into<String>, frames_in_flight: usize, queue_count: usize) -> Self {
        Self {
            name: name.into(),
            heaps: Vec::new(),
            frames: Vec::new(),
            submissions: Vec::new(),
            uses: Vec::new(),
            frames_in_flight,
            queue_count,
            truncated_at: None,
        }
    }

    /// Returns the heaps of a submission, without duplicates.
    pub fn uses(&self, submission: usize) -> &[HeapNumber] {
        let begin = submission.checked_sub(1).map_or(0, |before| self.submissions[before].uses_end);
        &self.uses[begin..self.submissions[submission].uses_end]
    }

    /// Returns a heap.
    pub fn heap(&self, number: HeapNumber) -> &WorkHeap {
        &self.heaps[as_index(number)]
    }

    /// Sets the budget of the local segment group, in percent of the peak size of its live heaps.
    pub fn set_local_budget(&mut self, percent: u32) {
        let size = |heap: &WorkHeap| match heap.group {
            SegmentGroup::Local => u128::from(heap.size.get()),
            SegmentGroup::NonLocal => 0,
        };
        let sum = |heaps: &[HeapNumber]| heaps.iter().map(|&heap| size(self.heap(heap))).sum::<u128>();
        let (mut live, mut peak) = (0, 0);
        for frame in &self.frames {
            live += sum(&frame.born);
            peak = peak.max(live);
            live -= sum(&frame.died);
        }
        let share = peak * u128::from(percent) / 100;
        let budget = ByteSize::new(u64::try_from(share).unwrap_or(u64::MAX));
        for frame in &mut self.frames {
            frame.budget[SegmentGroup::Local.index()] = budget;
        }
    }

    /// Adds a submission that uses `set`.
    pub fn submit(&mut self, queue: usize, gpu: Duration, set: impl IntoIterator<Item = HeapNumber>) {
        self.uses.extend(set);
        self.submissions.push(WorkSubmission { queue, gpu, uses_end: self.uses.len() });
    }

    /// Adds a heap.
    pub fn add_heap(&mut self, heap: WorkHeap) -> HeapNumber {
        self.heaps.push(heap);
        HeapNumber::try_from(self.heaps.len() - 1).expect("every workload has fewer than 2^32 heaps")
    }
}

/// Converts a number to an index.
pub(super) fn as_index(number: HeapNumber) -> usize {
    usize::try_from(number).expect("usize has at least 32 bits")
}
