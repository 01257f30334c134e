//! The offline lower bound of paging, computed from the complete sequence of uses, with which policies are
//! compared.

use std::collections::BinaryHeap;

use heapwright_core::ByteSize;
use heapwright_core::SegmentGroup;

use crate::workload::{WorkHeap, Workload, as_index};

/// Returns the lower bound of the bytes paged in. O(uses × log heaps).
///
/// It is the sum of the bound for each segment group, under which heaps are divisible into bytes, the future is known,
/// and the GPU never blocks an eviction.
pub fn offline_bound(workload: &Workload) -> ByteSize {
    let bounds = SegmentGroup::ALL.map(|group| Sequence::of(workload, group).lower_bound());
    bounds[0].saturating_add(bounds[1])
}

/// A sequence of submissions, with the heaps that each uses and the budget that each runs under.
#[derive(Debug, Clone, Default)]
struct Sequence {
    heaps: Vec<Heap>,
    submissions: Vec<Submission>,
    /// The heaps of all submissions, one submission after the other. A heap may occur twice in a submission.
    uses: Vec<SequenceHeap>,
}

#[derive(Debug, Clone, Copy)]
struct Heap {
    size: ByteSize,
    beginning: Beginning,
}

#[derive(Debug, Clone, Copy)]
struct Submission {
    budget: ByteSize,
    uses_end: usize,
}

/// A heap of a [`Sequence`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct SequenceHeap(usize);

/// The residency of a heap of a [`Sequence`] before its first use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Beginning {
    /// The heap is created resident right before its first use, so nothing is paged in.
    Created,
    /// The heap is not resident, and is paged in for its first use.
    Evicted,
}

/// The value for no later use.
const NEVER: usize = usize::MAX;

impl Sequence {
    /// Returns the submissions of a workload, restricted to one segment group.
    fn of(workload: &Workload, group: SegmentGroup) -> Self {
        let mut sequence = Self::default();
        let add = |heap: &WorkHeap| {
            let beginning = if heap.is_resident { Beginning::Created } else { Beginning::Evicted };
            (heap.group == group).then(|| sequence.heap(heap.size, beginning))
        };
        let numbers: Vec<Option<SequenceHeap>> = workload.heaps.iter().map(add).collect();
        for frame in &workload.frames {
            for submission in frame.submissions.clone() {
                let used = workload.uses(submission).iter().filter_map(|&heap| numbers[as_index(heap)]);
                sequence.submission(frame.budget[group.index()], used);
            }
        }
        sequence
    }

    /// Adds a heap.
    fn heap(&mut self, size: ByteSize, beginning: Beginning) -> SequenceHeap {
        self.heaps.push(Heap { size, beginning });
        SequenceHeap(self.heaps.len() - 1)
    }

    /// Adds a submission that uses heaps of this sequence under a budget. A heap that is named twice counts once.
    fn submission(&mut self, budget: ByteSize, heaps: impl IntoIterator<Item = SequenceHeap>) {
        self.uses.extend(heaps);
        self.submissions.push(Submission { budget, uses_end: self.uses.len() });
    }

    /// Returns the bytes that any policy must page in at least.
    ///
    /// The bound is the optimum of a relaxed problem: heaps may be evicted and paged in byte by byte, and the
    /// GPU never blocks an eviction. Belady's rule is then optimal for heaps of different sizes as well: if
    /// more is resident than the budget, the bytes whose next use is farthest away are evicted, but never
    /// those of the submission itself.
    ///
    /// Proof: between two uses of a heap that are not in adjacent submissions, each of its bytes is either
    /// kept, which saves one byte paged in, or not. Keeping it takes one byte of what the budget of every
    /// submission in between leaves besides that submission's own heaps (nothing, if they exceed the budget).
    /// The bytes are thus intervals of equal value and equal width, of which as many as possible are to be
    /// kept, while at each point no more than a given number may overlap. Processing the points in order, and
    /// dropping the intervals that end last wherever too many overlap, keeps the most: an optimal choice that
    /// drops another interval there can drop the one that ends last instead, because the remainder of that
    /// one covers the remainder of the other.
    ///
    /// Cost: O(uses × log heaps) time, O(heaps + uses) space.
    fn lower_bound(&self) -> ByteSize {
        let (next_of_use, first_use) = self.next_uses();
        let mut state: Vec<_> = first_use
            .iter()
            .map(|&first| State { resident: ByteSize::ZERO, next_use: first, begun: false })
            .collect();
        // The heaps that can be evicted, the farthest next use on top. An entry is stale if the heap's next
        // use has changed.
        let mut farthest = BinaryHeap::<(usize, usize)>::with_capacity(self.heaps.len());
        let mut bytes_in = ByteSize::ZERO;
        // 128 bits, because the sum of 2^64 heaps of 2^64 bytes must not overflow.
        let mut usage = 0_u128;
        for (now, range) in self.ranges().enumerate() {
            for &SequenceHeap(number) in &self.uses[range.clone()] {
                let (heap, state) = (self.heaps[number], &mut state[number]);
                let missing = heap.size.saturating_sub(state.resident);
                let first = !std::mem::replace(&mut state.begun, true);
                usage += u128::from(missing.get());
                state.resident = heap.size;
                if !(first && heap.beginning == Beginning::Created) {
                    bytes_in = bytes_in.saturating_add(missing);
                }
            }
            let budget = u128::from(self.submissions[now].budget.get());
            while usage > budget {
                let Some(&(next_use, number)) = farthest.peek() else { break };
                if next_use == now {
                    // All other entries belong to this submission, or are stale.
                    break;
                }
                farthest.pop();
                let state = &mut state[number];
                if state.next_use != next_use || state.resident.is_zero() {
                    continue;
                }
                let given_up = u128::from(state.resident.get()).min(usage - budget);
                usage -= given_up;
                let given_up = u64::try_from(given_up).expect("at most the resident bytes");
                state.resident = state.resident.saturating_sub(ByteSize::new(given_up));
                if !state.resident.is_zero() {
                    farthest.push((next_use, number));
                }
            }
            for at in range {
                let number = self.uses[at].0;
                if state[number].next_use != next_of_use[at] {
                    state[number].next_use = next_of_use[at];
                    farthest.push((next_of_use[at], number));
                }
            }
        }
        bytes_in
    }

    /// Returns for each use the submission of the next use of the same heap, and for each heap its first use.
    fn next_uses(&self) -> (Vec<usize>, Vec<usize>) {
        let mut next_of = vec![NEVER; self.heaps.len()];
        let mut next = vec![NEVER; self.uses.len()];
        for (number, range) in self.ranges().enumerate().rev() {
            // All are read before any is written, because a heap may occur twice in a submission.
            for at in range.clone() {
                next[at] = next_of[self.uses[at].0];
            }
            for at in range {
                next_of[self.uses[at].0] = number;
            }
        }
        (next, next_of)
    }

    fn ranges(&self) -> impl DoubleEndedIterator<Item = std::ops::Range<usize>> + ExactSizeIterator {
        (0..self.submissions.len()).map(|number| {
            let start = number.checked_sub(1).map_or(0, |before| self.submissions[before].uses_end);
            start..self.submissions[number].uses_end
        })
    }
}

#[derive(Debug, Clone, Copy)]
struct State {
    resident: ByteSize,
    next_use: usize,
    begun: bool,
}

#[cfg(test)]
mod tests;
