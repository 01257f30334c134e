//! A generated program: its heaps, and the submissions that use them.
#![expect(clippy::cast_possible_wrap, clippy::cast_sign_loss, reason = "sizes of heaps are far below 2^63")]

use std::ops::Range;
use std::time::Duration;

use heapwright::ByteSize;
use heapwright_core::SegmentGroup;

use crate::workload::{Frame, HeapNumber, Random, WorkHeap, Workload};

/// The GPU may still execute the submission that is two before the current one.
const FRAMES_IN_FLIGHT: usize = 3;
const GPU: Duration = Duration::from_micros(16_667);

/// The state of a heap before its first use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beginning {
    /// Its content must be paged in.
    Evicted,
    /// It is created resident.
    Created,
}

/// A heap.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heap {
    size: u64,
    beginning: Beginning,
    /// Whether it is destroyed after its last use.
    pub(super) transient: bool,
}

/// A submission, with the budget at its time.
#[derive(Debug)]
pub(super) struct Submission {
    queue: usize,
    pub(super) budget: u64,
    heaps: Vec<usize>,
}

/// Heaps, and submissions that use them.
#[derive(Debug)]
pub(super) struct Program {
    name: String,
    pub(super) heaps: Vec<Heap>,
    pub(super) submissions: Vec<Submission>,
}

impl Program {
    /// Creates a program that does nothing.
    pub(super) fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), heaps: Vec::new(), submissions: Vec::new() }
    }

    /// Adds a heap.
    pub(super) fn heap(&mut self, size: u64, beginning: Beginning) -> usize {
        // The size that the device allocates.
        let size = size.next_multiple_of(64 << 10);
        self.heaps.push(Heap { size, beginning, transient: false });
        self.heaps.len() - 1
    }

    /// Adds heaps of random sizes.
    pub(super) fn heaps(
        &mut self,
        count: usize,
        sizes: Range<u64>,
        beginning: Beginning,
        random: &mut Random,
    ) -> Vec<usize> {
        (0..count).map(|_| self.heap(random.range(sizes.start, sizes.end), beginning)).collect()
    }

    /// Adds a submission. Heaps that occur twice in it count once.
    pub(super) fn submit(&mut self, queue: usize, budget: u64, mut heaps: Vec<usize>) {
        heaps.sort_unstable();
        heaps.dedup();
        self.submissions.push(Submission { queue, budget, heaps });
    }

    fn bytes(&self, heaps: &[usize]) -> u64 {
        heaps.iter().map(|&heap| self.heaps[heap].size).sum()
    }

    /// Returns the maximum size of the heaps that `passes` consecutive submissions use, from a submission on.
    pub(super) fn peak_from(&self, begin: usize, passes: usize) -> u64 {
        let frame = |submissions: &[Submission]| {
            let mut heaps: Vec<_> =
                submissions.iter().flat_map(|submission| &submission.heaps).copied().collect();
            heaps.sort_unstable();
            heaps.dedup();
            self.bytes(&heaps)
        };
        self.submissions[begin..].windows(passes).map(frame).max().unwrap_or(0)
    }

    /// Returns the first and the last submission that use each heap.
    fn lives(&self) -> Vec<Option<(usize, usize)>> {
        let mut lives = vec![None; self.heaps.len()];
        for (number, submission) in self.submissions.iter().enumerate() {
            for &heap in &submission.heaps {
                lives[heap].get_or_insert((number, number)).1 = number;
            }
        }
        lives
    }

    /// Returns the most bytes that are alive at a time, of the heaps that are first used from `begin` on.
    pub(super) fn most_alive(&self, begin: usize) -> u64 {
        let mut changes = vec![0_i64; self.submissions.len() + 1];
        for (heap, life) in self.heaps.iter().zip(self.lives()) {
            let Some((first, last)) = life.filter(|&(first, _)| first >= begin) else { continue };
            changes[first] += heap.size as i64;
            if heap.transient {
                changes[last + 1] -= heap.size as i64;
            }
        }
        let alive = changes.iter().scan(0, |alive, change| {
            *alive += change;
            Some(*alive)
        });
        alive.max().unwrap_or(0) as u64
    }

    /// Returns the workload with one frame per submission.
    pub(super) fn done(self) -> Workload {
        let lives = self.lives();
        let queues = self.submissions.iter().map(|submission| submission.queue + 1).max().unwrap_or(1);
        let mut workload = Workload::new(self.name.clone(), FRAMES_IN_FLIGHT, queues);
        let mut numbers: Vec<Option<HeapNumber>> = vec![None; self.heaps.len()];
        for (at, submission) in self.submissions.iter().enumerate() {
            let (mut born, mut died) = (Vec::new(), Vec::new());
            for &heap in &submission.heaps {
                let Heap { size, beginning, transient } = self.heaps[heap];
                let number = *numbers[heap].get_or_insert_with(|| {
                    let number = workload.add_heap(WorkHeap {
                        size: ByteSize::new(size),
                        group: SegmentGroup::Local,
                        is_resident: beginning == Beginning::Created,
                    });
                    born.push(number);
                    number
                });
                if transient && lives[heap].is_some_and(|(_, last)| last == at) {
                    died.push(number);
                }
            }
            let set: Vec<_> = submission.heaps.iter().filter_map(|&heap| numbers[heap]).collect();
            workload.submit(submission.queue, GPU, set);
            workload.frames.push(Frame {
                budget: [ByteSize::new(submission.budget), ByteSize::ZERO],
                born,
                submissions: at..at + 1,
                died,
            });
        }
        workload
    }
}
