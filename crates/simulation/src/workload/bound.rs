//! The offline bound of a workload.

use crate::offline::{Beginning, Sequence, SequenceHeap};
use heapwright::ByteSize;
use heapwright_core::SegmentGroup;

use super::{Workload, as_index};

/// The lower bound of paging over both segment groups.
///
/// It is the sum of core's bound for each group, under which heaps are divisible into bytes, the future is
/// known, and the GPU never blocks an eviction. Locked heaps are part of every submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OfflineBound {
    /// The minimum bytes paged in.
    pub bytes_in: ByteSize,
    /// The bytes paged in for the first use of a heap.
    pub cold_bytes: ByteSize,
    /// The bytes that Belady's rule pages in with whole heaps. This is achievable if the future is known, but
    /// need not be the minimum.
    pub belady_bytes: ByteSize,
}

/// Computes the bound. O(uses × log heaps).
pub fn offline_bound(workload: &Workload) -> OfflineBound {
    let mut sum = OfflineBound::default();
    for group in SegmentGroup::ALL {
        let sequence = sequence(workload, group);
        let bound = sequence.lower_bound();
        sum.bytes_in = sum.bytes_in.saturating_add(bound.bytes_in);
        sum.cold_bytes = sum.cold_bytes.saturating_add(bound.cold_bytes_in);
        sum.belady_bytes = sum.belady_bytes.saturating_add(sequence.belady().bytes_in);
    }
    sum
}

/// Returns the submissions restricted to one segment group.
fn sequence(workload: &Workload, group: SegmentGroup) -> Sequence {
    let mut sequence = Sequence::new();
    let numbers: Vec<Option<SequenceHeap>> = workload
        .heaps
        .iter()
        .map(|heap| {
            let beginning = match (heap.is_resident, heap.is_first) {
                (true, true) => Beginning::Resident,
                (true, false) => Beginning::Created,
                (false, _) => Beginning::Evicted,
            };
            (heap.group == group).then(|| sequence.heap(heap.size, beginning))
        })
        .collect();
    // They live from the first frame to the last.
    let locked: Vec<SequenceHeap> = workload
        .heaps
        .iter()
        .zip(&numbers)
        .filter(|(heap, _)| heap.is_locked)
        .filter_map(|(_, number)| *number)
        .collect();
    for frame in &workload.frames {
        for submission in frame.submissions.clone() {
            let used = workload.uses(submission).iter().filter_map(|&heap| numbers[as_index(heap)]);
            sequence
                .submission(frame.budget[group.index()], used.chain(locked.iter().copied()))
                .expect("the heaps belong to this workload");
        }
    }
    sequence
}
