//! The offline lower bound of paging, computed from the complete sequence of uses, with which policies are
//! compared.

use std::collections::BinaryHeap;

use heapwright_core::ByteSize;
use heapwright_core::SegmentGroup;

use crate::workload::{WorkHeap, Workload, as_index};

/// The lower bound of paging over both segment groups.
///
/// It is the sum of the bound for each group, under which heaps are divisible into bytes, the future is known, and the GPU
/// never blocks an eviction.
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
        let sequence = Sequence::of(workload, group);
        let bound = sequence.lower_bound();
        sum.bytes_in = sum.bytes_in.saturating_add(bound.bytes_in);
        sum.cold_bytes = sum.cold_bytes.saturating_add(bound.cold_bytes_in);
        sum.belady_bytes = sum.belady_bytes.saturating_add(sequence.belady());
    }
    sum
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

/// The lower bound for every policy; see [`Sequence::lower_bound`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct LowerBound {
    /// The total bytes paged in.
    bytes_in: ByteSize,
    /// The bytes paged in for the first use of a heap, which no budget can avoid.
    cold_bytes_in: ByteSize,
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
    fn lower_bound(&self) -> LowerBound {
        let mut bound = LowerBound::default();
        self.replay(Whole::Bytes, |paged| {
            bound.bytes_in = bound.bytes_in.saturating_add(paged.bytes);
            if paged.first {
                bound.cold_bytes_in = bound.cold_bytes_in.saturating_add(paged.bytes);
            }
        });
        bound
    }

    /// Returns the bytes that Belady's rule pages in if whole heaps are evicted. This is achievable if the
    /// future is known and the GPU never blocks an eviction. With heaps of different sizes it need not be the
    /// optimum, which is hard to compute.
    ///
    /// If room is short, the heaps whose next use is farthest away are evicted, first those that are never
    /// used again. Of these, the heaps that turn out not to be needed are then kept, the nearest next use
    /// first.
    ///
    /// Cost: O(uses × log heaps) time, O(heaps + uses) space.
    fn belady(&self) -> ByteSize {
        let mut bytes_in = ByteSize::ZERO;
        self.replay(Whole::Heaps, |paged| bytes_in = bytes_in.saturating_add(paged.bytes));
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

    /// Processes all submissions by Belady's rule, and calls `page_in` for everything that is paged in.
    fn replay(&self, whole: Whole, mut page_in: impl FnMut(PagedIn)) {
        let (next_of_use, first_use) = self.next_uses();
        let mut state: Vec<_> = first_use
            .iter()
            .map(|&first| State { resident: ByteSize::ZERO, next_use: first, begun: false })
            .collect();
        // The heaps that can be evicted, the farthest next use on top. An entry is stale if the heap's next
        // use has changed.
        let mut farthest = BinaryHeap::<(usize, usize)>::with_capacity(self.heaps.len());
        // 128 bits, because the sum of 2^64 heaps of 2^64 bytes must not overflow.
        let mut usage = 0_u128;
        let mut victims = Vec::new();
        for (now, range) in self.ranges().enumerate() {
            for &SequenceHeap(number) in &self.uses[range.clone()] {
                let (heap, state) = (self.heaps[number], &mut state[number]);
                let missing = heap.size.saturating_sub(state.resident);
                let first = !std::mem::replace(&mut state.begun, true);
                if !missing.is_zero() {
                    usage += u128::from(missing.get());
                    state.resident = heap.size;
                    if !(first && heap.beginning == Beginning::Created) {
                        page_in(PagedIn { bytes: missing, first });
                    }
                }
            }
            let budget = u128::from(self.submissions[now].budget.get());
            victims.clear();
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
                let resident = u128::from(state.resident.get());
                let given_up = match whole {
                    Whole::Heaps => resident,
                    Whole::Bytes => resident.min(usage - budget),
                };
                usage -= given_up;
                let rest = u64::try_from(resident - given_up).expect("less than the resident bytes");
                let rest = ByteSize::new(rest);
                state.resident = rest;
                if rest.is_zero() {
                    victims.push((next_use, number));
                } else {
                    farthest.push((next_use, number));
                }
            }
            // Heaps evicted beyond the need are kept. (Byte by byte, there are none.)
            for &(next_use, number) in victims.iter().rev() {
                let size = self.heaps[number].size;
                if whole == Whole::Heaps && usage + u128::from(size.get()) <= budget {
                    usage += u128::from(size.get());
                    state[number].resident = size;
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
    }
}

/// The unit of eviction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whole {
    Bytes,
    Heaps,
}

#[derive(Debug, Clone, Copy)]
struct State {
    resident: ByteSize,
    next_use: usize,
    begun: bool,
}

struct PagedIn {
    bytes: ByteSize,
    first: bool,
}

#[cfg(test)]
mod tests;
