//! A ring that becomes a double stack when its upper end is asked for.

use std::fmt;

use super::super::suballocation::{Stamp, Suballocation, SuballocationId};
use super::super::suballocator::suballocator_by_methods;
use super::super::{AuditError, SuballocError};
use super::audit;
use super::live_ranges::{Chain, LiveRanges};
use super::placement::{check_capacity, check_size, highest_in, lowest_in};
use super::ranges::{Ranges, Run};
use crate::{Alignment, ByteSize, HeapRange};

const LOWER: Chain = Chain::FIRST;
const UPPER: Chain = Chain::SECOND;

/// A [`Ring`](super::Ring) while nothing is live at the upper end, a [`DoubleStack`](super::DoubleStack) while something is:
/// D3D12MA's linear algorithm in one heap.
///
/// While the ring is wrapped, the upper end is taken: a request for it finds no room. While something is live at the upper
/// end, the ring does not wrap, and what was freed in front of the oldest is padding.
///
/// It costs what these two do: O(1), no loop. It is not for fences.
pub(crate) struct RingOrStacks {
    live: LiveRanges,
    /// In bytes: 1 to 2^63.
    capacity: u64,
}

/// What is free.
struct Gaps {
    /// From, and up to: what both ends may have, unless the ring is wrapped.
    middle: (u64, u64),
    /// How much lies in front of the oldest for the ring to wrap to.
    at_zero: u64,
    is_wrapped: bool,
}

impl RingOrStacks {
    /// A suballocator for the offsets from zero to `capacity`, all of them free. O(1).
    pub(crate) fn new(capacity: ByteSize) -> Result<Self, SuballocError> {
        let capacity = check_capacity(capacity)?;
        Ok(Self { live: LiveRanges::new([0, capacity], u32::MAX), capacity })
    }

    /// Hands out `size` bytes behind the newest of the lower end, or at zero where they do not fit there. O(1).
    pub(crate) fn allocate(
        &mut self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Suballocation, SuballocError> {
        let start = self.find(size, alignment)?;
        self.live.push(LOWER, start, size.get())
    }

    /// Hands out `size` bytes below the newest of the upper end; there is no room while the ring is wrapped. O(1).
    pub(crate) fn allocate_upper(
        &mut self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Suballocation, SuballocError> {
        let start = self.find_upper(size, alignment)?;
        self.live.push(UPPER, start, size.get())
    }

    /// Where [`allocate`](Self::allocate) would place the request, short of running out of numbers for ranges. O(1).
    pub(crate) fn find(&self, size: ByteSize, alignment: Alignment) -> Result<u64, SuballocError> {
        let bytes = check_size(size, self.capacity)?;
        let Gaps { middle: (start, end), at_zero, .. } = self.gaps();
        lowest_in(start, end, bytes, alignment)
            // Every alignment divides zero.
            .or_else(|| (bytes <= at_zero).then_some(0))
            .ok_or_else(|| self.out_of_space(size, alignment))
    }

    /// The same at the upper end. O(1).
    pub(crate) fn find_upper(&self, size: ByteSize, alignment: Alignment) -> Result<u64, SuballocError> {
        let bytes = check_size(size, self.capacity)?;
        let Gaps { middle: (start, end), is_wrapped, .. } = self.gaps();
        highest_in(start, end, bytes, alignment)
            .filter(|_| !is_wrapped)
            .ok_or_else(|| self.out_of_space(size, alignment))
    }

    fn gaps(&self) -> Gaps {
        let (oldest, newest) = (self.live.oldest(LOWER), self.live.newest(LOWER));
        let upper_start = self.live.newest(UPPER).start;
        if oldest.start > newest.start {
            return Gaps { middle: (newest.end(), oldest.start), at_zero: 0, is_wrapped: true };
        }
        let has_upper = upper_start < self.capacity;
        let at_zero = if has_upper { 0 } else { oldest.start };
        Gaps { middle: (newest.end(), upper_start), at_zero, is_wrapped: false }
    }

    #[cold]
    fn out_of_space(&self, requested: ByteSize, alignment: Alignment) -> SuballocError {
        SuballocError::OutOfSpace {
            requested,
            alignment,
            free: self.free_size(),
            largest_free: self.largest_free_range(),
        }
    }

    /// Takes a suballocation of either end back. O(1).
    pub(crate) fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        self.live.remove(id)
    }

    /// The range of a live suballocation. O(1).
    pub(crate) fn range_of(&self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        self.live.range_of(id)
    }

    /// Takes everything back. O(1).
    pub(crate) fn clear(&mut self) {
        self.live.clear();
    }

    /// The size of the whole range. O(1).
    pub(crate) const fn capacity(&self) -> ByteSize {
        ByteSize::new(self.capacity)
    }

    /// The sum of the sizes asked for. O(1).
    pub(crate) const fn used(&self) -> ByteSize {
        ByteSize::new(self.live.used)
    }

    /// The bytes that are not live or padding. O(1).
    pub(crate) fn free_size(&self) -> ByteSize {
        let Gaps { middle: (start, end), at_zero, .. } = self.gaps();
        ByteSize::new(end - start + at_zero)
    }

    /// How many suballocations are live. O(1).
    pub(crate) fn allocation_count(&self) -> u64 {
        self.live.count()
    }

    /// The larger of the free pieces, for the lower end exact. O(1).
    pub(crate) fn largest_free_range(&self) -> ByteSize {
        let Gaps { middle: (start, end), at_zero, .. } = self.gaps();
        ByteSize::new(at_zero.max(end - start))
    }

    /// All ranges from the lowest offset to the highest. O(1) a step, amortised.
    pub(crate) fn ranges(&self) -> Ranges<'_> {
        let Gaps { middle: (start, _), at_zero, is_wrapped } = self.gaps();
        let lower = Run::to_newer(&self.live, LOWER);
        let runs = if is_wrapped {
            let [older, wrapped] = lower.split(self.live.lowest_of_wrapped(LOWER));
            [wrapped, older]
        } else {
            [lower, Run::to_older(&self.live, UPPER)]
        };
        let free_at_zero = if at_zero > 0 { 0 } else { self.capacity };
        Ranges::new(&self.live, runs, [start, free_at_zero], self.capacity)
    }

    /// Goes on with these stamps, so that ids of a suballocator that was here before are stale.
    pub(crate) fn continue_stamps(&mut self, next: Stamp) {
        self.live.continue_stamps(next);
    }

    /// The stamp that the next suballocation gets.
    pub(crate) const fn next_stamp(&self) -> Stamp {
        self.live.next_stamp
    }

    /// Checks the whole structure. O(n); for tests.
    pub(crate) fn audit(&self) -> Result<(), AuditError> {
        self.audit_all().map_err(AuditError::new)
    }

    fn audit_all(&self) -> Result<(), String> {
        let [lower, upper] = audit::chains(&self.live, [LOWER, UPPER])?;
        let oldest = self.live.oldest(LOWER).start;
        match lower.iter().position(|range| range.start < oldest) {
            None => audit::ascending(lower.iter().chain(upper.iter().rev()), 0, self.capacity),
            Some(wrapped) => {
                audit::check(upper.is_empty(), || {
                    "a wrapped ring has something at the upper end".to_owned()
                })?;
                audit::ascending(lower[..wrapped].iter(), 0, self.capacity)?;
                audit::ascending(lower[wrapped..].iter(), 0, oldest)
            }
        }
    }
}

suballocator_by_methods!(RingOrStacks);

impl fmt::Debug for RingOrStacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RingOrStacks")
            .field("capacity", &self.capacity())
            .field("used", &self.used())
            .field("free_size", &self.free_size())
            .field("allocation_count", &self.allocation_count())
            .finish_non_exhaustive()
    }
}
