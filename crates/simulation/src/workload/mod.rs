//! What a program does with its heaps, frame by frame, whatever policy manages them.
//!
//! - [`expand`](mod@expand) makes one of a scenario, with [`patterns`] of [`random`] numbers; [`from_trace`](mod@from_trace) of a trace.
//! - [`bound`] is what paging costs at least for it.

pub(super) mod bound;
mod expand;
mod from_trace;
mod patterns;
mod random;

use std::ops::Range;
use std::time::Duration;

use heapwright::ByteSize;
use heapwright_core::residency::{PriorityLevel, SegmentGroup};

pub use self::expand::{TooMuch, expand};
pub use self::from_trace::{CannotDerive, from_trace};

/// Frames of submissions, each with the heaps that it uses.
#[derive(Debug)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// All that ever live.
    pub heaps: Vec<WorkHeap>,
    /// The frames, in order.
    pub frames: Vec<Frame>,
    /// The submissions, in order; a frame names its own.
    pub submissions: Vec<WorkSubmission>,
    /// The heaps of each submission, each once, one submission after the other.
    uses: Vec<HeapNumber>,
    /// What moving bytes costs.
    pub paging: PagingCost,
    /// How many frames the CPU may be ahead.
    pub frames_in_flight: usize,
    /// How many queues there are.
    pub queue_count: usize,
}

/// A place in [`Workload::heaps`].
pub type HeapNumber = u32;

/// A heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkHeap {
    /// Its size.
    pub size: ByteSize,
    /// The segment group that it is in.
    pub group: SegmentGroup,
    /// Its priority.
    pub level: PriorityLevel,
    /// Whether it is created resident.
    pub is_resident: bool,
    /// Whether it stays resident; then it is created so.
    pub is_locked: bool,
    /// Whether it is there before the first frame.
    pub is_first: bool,
}

/// What moving bytes costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PagingCost {
    /// In both directions.
    pub bytes_per_second: f64,
    /// Of each heap that moves.
    pub latency: Duration,
}

/// A frame.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Of the local and the non-local segment group.
    pub budget: [ByteSize; 2],
    /// What the CPU does before the submissions of the frame, in equal parts before each.
    pub cpu: Duration,
    /// Heaps that are created before its submissions.
    pub born: Vec<HeapNumber>,
    /// In [`Workload::submissions`].
    pub submissions: Range<usize>,
    /// Heaps that are released when its submissions are done.
    pub died: Vec<HeapNumber>,
}

/// A submission.
#[derive(Debug, Clone, Copy)]
pub struct WorkSubmission {
    /// The number of its queue.
    pub queue: usize,
    /// How long the GPU works on it.
    pub gpu: Duration,
    uses_end: usize,
}

impl Workload {
    /// Creates a workload without heaps and frames.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        paging: PagingCost,
        frames_in_flight: usize,
        queue_count: usize,
    ) -> Self {
        Self {
            name: name.into(),
            heaps: Vec::new(),
            frames: Vec::new(),
            submissions: Vec::new(),
            uses: Vec::new(),
            paging,
            frames_in_flight,
            queue_count,
        }
    }

    /// The heaps of a submission, each once.
    pub fn uses(&self, submission: usize) -> &[HeapNumber] {
        let begin = submission.checked_sub(1).map_or(0, |before| self.submissions[before].uses_end);
        &self.uses[begin..self.submissions[submission].uses_end]
    }

    /// Returns a heap.
    pub fn heap(&self, number: HeapNumber) -> &WorkHeap {
        &self.heaps[as_index(number)]
    }

    /// Adds a submission that uses `set`.
    pub fn submit(&mut self, queue: usize, gpu: Duration, set: impl IntoIterator<Item = HeapNumber>) {
        self.uses.extend(set);
        self.submissions.push(WorkSubmission { queue, gpu, uses_end: self.uses.len() });
    }

    /// Adds a heap.
    pub fn add_heap(&mut self, heap: WorkHeap) -> HeapNumber {
        self.heaps.push(heap);
        HeapNumber::try_from(self.heaps.len() - 1)
            .expect("the number of heaps is bounded by those who make workloads")
    }
}

/// A number as a place in a list.
pub(super) fn as_index(number: HeapNumber) -> usize {
    usize::try_from(number).expect("a usize has 32 bits or more")
}
