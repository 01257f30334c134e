//! A ring that becomes a double stack when its upper end is used.

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

/// D3D12MA's linear algorithm in one heap: a [`Ring`](super::Ring) while nothing is live at the upper end, a
/// [`DoubleStack`](super::DoubleStack) while something is.
///
/// While the ring is wrapped, a request at the upper end fails. While something is live at the upper end, the
/// ring does not wrap, and the bytes freed before the oldest range are padding.
///
/// Costs are those of the two types: O(1), no loop. It has no batches.
#[derive(Clone)]
pub(crate) struct RingOrStacks {
    live: LiveRanges,
    /// The capacity in bytes, 1 to 2^63.
    capacity: u64,
}

/// The free ranges.
struct Gaps {
    /// The start and the end of the range available to both ends, or only to the lower end if the ring is
    /// wrapped.
    middle: (u64, u64),
    /// The number of bytes before the oldest range to which the ring can wrap.
    at_zero: u64,
    is_wrapped: bool,
}

impl RingOrStacks {
    /// Creates a suballocator for the offsets from zero to `capacity`, all free. O(1).
    pub(crate) fn new(capacity: ByteSize) -> Result<Self, SuballocError> {
        let capacity = check_capacity(capacity)?;
        Ok(Self { live: LiveRanges::new([0, capacity], u32::MAX), capacity })
    }

    /// Allocates `size` bytes after the newest of the lower end, or at zero if they do not fit there. O(1).
    pub(crate) fn allocate(
        &mut self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Suballocation, SuballocError> {
        let start = self.find(size, alignment)?;
        self.live.push(LOWER, start, size.get())
    }

    /// Allocates `size` bytes below the newest of the upper end. Fails while the ring is wrapped. O(1).
    pub(crate) fn allocate_upper(
        &mut self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Suballocation, SuballocError> {
        let start = self.find_upper(size, alignment)?;
        self.live.push(UPPER, start, size.get())
    }

    /// Returns the offset at which [`allocate`](Self::allocate) would place the request, ignoring the limit
    /// on the number of ranges. O(1).
    pub(crate) fn find(&self, size: ByteSize, alignment: Alignment) -> Result<u64, SuballocError> {
        let bytes = check_size(size, self.capacity)?;
        let Gaps { middle: (start, end), at_zero, .. } = self.gaps();
        lowest_in(start, end, bytes, alignment)
            // Offset zero satisfies every alignment.
            .or_else(|| (bytes <= at_zero).then_some(0))
            .ok_or_else(|| self.out_of_space(size, alignment))
    }

    /// Returns the offset at which [`allocate_upper`](Self::allocate_upper) would place the request. O(1).
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

    /// Frees a suballocation of either end and returns its range. O(1).
    pub(crate) fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        self.live.remove(id)
    }

    /// Returns the range of a live suballocation. O(1).
    pub(crate) fn range_of(&self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        self.live.range_of(id)
    }

    /// Frees everything. O(1).
    pub(crate) fn clear(&mut self) {
        self.live.clear();
    }

    /// Returns the size of the managed range. O(1).
    pub(crate) const fn capacity(&self) -> ByteSize {
        ByteSize::new(self.capacity)
    }

    /// Returns the sum of the requested sizes. O(1).
    pub(crate) const fn used(&self) -> ByteSize {
        ByteSize::new(self.live.used)
    }

    /// Returns the number of bytes that are neither live nor padding. O(1).
    pub(crate) fn free_size(&self) -> ByteSize {
        let Gaps { middle: (start, end), at_zero, .. } = self.gaps();
        ByteSize::new(end - start + at_zero)
    }

    /// Returns the number of live suballocations. O(1).
    pub(crate) fn allocation_count(&self) -> u64 {
        self.live.count()
    }

    /// Returns the size of the largest free range. Exact for the lower end. O(1).
    pub(crate) fn largest_free_range(&self) -> ByteSize {
        let Gaps { middle: (start, end), at_zero, .. } = self.gaps();
        ByteSize::new(at_zero.max(end - start))
    }

    /// Returns an iterator over all ranges in address order. Amortized O(1) per step.
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

    /// Continues the stamps of an earlier suballocator, so that its ids are stale here.
    pub(crate) fn continue_stamps(&mut self, next: Stamp) {
        self.live.continue_stamps(next);
    }

    /// Returns the stamp of the next suballocation.
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
                audit::check(upper.is_empty(), || "a wrapped ring has ranges at the upper end".to_owned())?;
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
