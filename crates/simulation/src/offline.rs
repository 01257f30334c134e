//! The offline lower bound of paging, computed from the complete sequence of uses, with which policies are
//! compared.

use std::collections::BinaryHeap;
use std::error::Error;
use std::fmt;

use heapwright_core::ByteSize;

/// A sequence of submissions, with the heaps that each uses and the budget that each runs under.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sequence {
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
pub(crate) struct SequenceHeap(usize);

/// The residency of a heap of a [`Sequence`] before its first use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Beginning {
    /// The heap is resident before the first submission, unless it is evicted.
    Resident,
    /// The heap is created resident right before its first use, so nothing is paged in.
    Created,
    /// The heap is not resident, and is paged in for its first use.
    Evicted,
}

/// A submission named a heap that the sequence does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnknownHeap {
    submission: usize,
    heap: usize,
    heaps: usize,
}

impl fmt::Display for UnknownHeap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { submission, heap, heaps } = self;
        write!(f, "submission {submission} uses heap {heap}, but the number of heaps is {heaps}")
    }
}

impl Error for UnknownHeap {}

/// The lower bound for every policy; see [`Sequence::lower_bound`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LowerBound {
    /// The total bytes paged in.
    pub(crate) bytes_in: ByteSize,
    /// The bytes paged in for the first use of a heap, which no budget can avoid.
    pub(crate) cold_bytes_in: ByteSize,
}

/// The bytes that [`Sequence::belady`] moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Belady {
    /// The total bytes paged in.
    pub(crate) bytes_in: ByteSize,
    /// The total bytes evicted, including heaps that are never used again.
    pub(crate) bytes_out: ByteSize,
    /// The number of submissions over their budget, because their own heaps exceed it.
    pub(crate) over_budget: usize,
}

/// The value for no later use.
const NEVER: usize = usize::MAX;

impl Sequence {
    /// Creates a sequence without heaps and submissions.
    #[must_use]
    pub(crate) const fn new() -> Self {
        Self { heaps: Vec::new(), submissions: Vec::new(), uses: Vec::new() }
    }

    /// Adds a heap.
    pub(crate) fn heap(&mut self, size: ByteSize, beginning: Beginning) -> SequenceHeap {
        self.heaps.push(Heap { size, beginning });
        SequenceHeap(self.heaps.len() - 1)
    }

    /// Adds a submission that uses `heaps` under a budget. A heap that is named twice counts once.
    ///
    /// # Errors
    ///
    /// Returns [`UnknownHeap`] if a heap belongs to another sequence with more heaps. The submission is then
    /// not added.
    pub(crate) fn submission(
        &mut self,
        budget: ByteSize,
        heaps: impl IntoIterator<Item = SequenceHeap>,
    ) -> Result<(), UnknownHeap> {
        let uses = self.uses.len();
        self.uses.extend(heaps);
        if let Some(unknown) = self.uses[uses..].iter().find(|heap| heap.0 >= self.heaps.len()) {
            let (submission, heap) = (self.submissions.len(), unknown.0);
            self.uses.truncate(uses);
            return Err(UnknownHeap { submission, heap, heaps: self.heaps.len() });
        }
        self.submissions.push(Submission { budget, uses_end: self.uses.len() });
        Ok(())
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
    #[must_use]
    pub(crate) fn lower_bound(&self) -> LowerBound {
        let mut bound = LowerBound::default();
        self.replay(Whole::Bytes, |paged| {
            bound.bytes_in = bound.bytes_in.saturating_add(paged.bytes);
            if paged.first {
                bound.cold_bytes_in = bound.cold_bytes_in.saturating_add(paged.bytes);
            }
        });
        bound
    }

    /// Returns the bytes that Belady's rule moves if whole heaps are evicted. This is achievable if the
    /// future is known and the GPU never blocks an eviction. With heaps of different sizes it need not be the
    /// optimum, which is hard to compute.
    ///
    /// If room is short, the heaps whose next use is farthest away are evicted, first those that are never
    /// used again. Of these, the heaps that turn out not to be needed are then kept, the nearest next use
    /// first.
    ///
    /// Cost: O(uses × log heaps) time, O(heaps + uses) space.
    #[must_use]
    pub(crate) fn belady(&self) -> Belady {
        let mut belady = Belady::default();
        let moved = self.replay(Whole::Heaps, |paged| {
            belady.bytes_in = belady.bytes_in.saturating_add(paged.bytes);
        });
        belady.bytes_out = moved.bytes_out;
        belady.over_budget = moved.over_budget;
        belady
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
    fn replay(&self, whole: Whole, mut page_in: impl FnMut(PagedIn)) -> Moved {
        let (next_of_use, first_use) = self.next_uses();
        let mut moved = Moved::default();
        let mut state: Vec<_> = first_use
            .iter()
            .map(|&first| State { resident: ByteSize::ZERO, next_use: first, begun: false })
            .collect();
        // The heaps that can be evicted, the farthest next use on top. An entry is stale if the heap's next
        // use has changed.
        let mut farthest = BinaryHeap::with_capacity(self.heaps.len());
        // 128 bits, because the sum of 2^64 heaps of 2^64 bytes must not overflow.
        let mut usage = 0_u128;
        for (number, heap) in self.heaps.iter().enumerate() {
            if heap.beginning == Beginning::Resident {
                state[number].resident = heap.size;
                usage += u128::from(heap.size.get());
                farthest.push((state[number].next_use, number));
            }
        }
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
                moved.bytes_out = moved.bytes_out.saturating_add(state.resident.saturating_sub(rest));
                state.resident = rest;
                if rest.is_zero() {
                    victims.push((next_use, number));
                } else {
                    farthest.push((next_use, number));
                }
            }
            if usage > budget {
                moved.over_budget += 1;
            }
            // Heaps evicted beyond the need are kept. (Byte by byte, there are none.)
            for &(next_use, number) in victims.iter().rev() {
                let size = self.heaps[number].size;
                if whole == Whole::Heaps && usage + u128::from(size.get()) <= budget {
                    usage += u128::from(size.get());
                    moved.bytes_out = moved.bytes_out.saturating_sub(size);
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
        moved
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

#[derive(Debug, Default)]
struct Moved {
    bytes_out: ByteSize,
    over_budget: usize,
}

#[cfg(test)]
mod tests;
