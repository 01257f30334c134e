//! A bump allocator, which also serves as a stack.

use std::fmt;

use super::super::suballocation::{Stamp, Suballocation, SuballocationId};
use super::super::suballocator::suballocator_by_methods;
use super::super::{AuditError, SuballocError};
use super::batches::{Batches, Retired};
use super::live_ranges::{Chain, LiveRanges};
use super::methods::methods_by_live_ranges;
use super::placement::{MAX_CAPACITY, check_capacity, check_size, lowest_in};
use super::ranges::{Ranges, Run};
use super::{FenceOrderError, audit};
use crate::{Alignment, ByteSize, FenceValue, HeapRange};

/// A suballocator that allocates above the highest live range: a bump allocator, an arena or a stack,
/// depending on use.
///
/// - As an arena: allocate, then [`clear`](Self::clear) when everything is done with.
/// - As a stack: ranges freed in reverse order become free at once, with the padding below them.
/// - In any order: a range freed below a live range is padding until everything above it is freed, too.
///
/// | call | cost |
/// |---|---|
/// | [`allocate`](Self::allocate), [`free`](Self::free) | O(1), no loop; the table of live ranges grows by doubling, see [`reserve`](Self::reserve) |
/// | [`clear`](Self::clear), [`submit`](Self::submit), counts, sizes | O(1) |
/// | [`retire`](Self::retire) | O(1) per suballocation |
/// | [`ranges`](Self::ranges) | O(1) per step |
/// | [`audit`](Self::audit) | O(n); for tests |
///
/// It manages the offsets from zero to its capacity, not the memory itself. It is deterministic: the same
/// calls return the same offsets on every machine.
///
/// # Examples
///
/// ```
/// use heapwright_core::suballoc::Linear;
/// use heapwright_core::{Alignment, ByteSize, HeapOffset};
///
/// let mut stack = Linear::new(ByteSize::from_kib(1))?;
/// let first = stack.allocate(ByteSize::new(100), Alignment::ONE)?;
/// let second = stack.allocate(ByteSize::new(100), Alignment::new(256).unwrap())?;
/// let third = stack.allocate(ByteSize::new(100), Alignment::ONE)?;
/// assert_eq!(third.range.start(), HeapOffset::new(356));
///
/// // There is something above it, so its bytes do not come back yet.
/// stack.free(second.id)?;
/// assert_eq!(stack.free_size(), ByteSize::new(1024 - 456));
/// // Now they do, with the padding that the alignment needed.
/// stack.free(third.id)?;
/// assert_eq!(stack.free_size(), ByteSize::new(1024 - 100));
/// # Ok::<(), heapwright_core::suballoc::SuballocError>(())
/// ```
#[derive(Clone)]
pub struct Linear {
    pub(super) live: LiveRanges,
    pub(super) batches: Batches,
    /// The capacity in bytes, 1 to 2^63.
    pub(super) capacity: u64,
}

impl Linear {
    /// The largest capacity: 2^63 bytes.
    pub const MAX_CAPACITY: ByteSize = MAX_CAPACITY;

    /// Creates a suballocator for the offsets from zero to `capacity`, all free. O(1).
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::CapacityOutOfBounds`] if `capacity` is zero or exceeds
    /// [`MAX_CAPACITY`](Self::MAX_CAPACITY).
    pub fn new(capacity: ByteSize) -> Result<Self, SuballocError> {
        Self::with_range_limit(capacity, u32::MAX)
    }

    /// Creates a suballocator like [`new`](Self::new), with at most `range_limit` live ranges.
    pub(super) fn with_range_limit(capacity: ByteSize, range_limit: u32) -> Result<Self, SuballocError> {
        let capacity = check_capacity(capacity)?;
        Ok(Self { live: LiveRanges::new([0], range_limit), batches: Batches::default(), capacity })
    }

    /// Allocates `size` bytes at the first multiple of `alignment` above the highest live range. O(1).
    ///
    /// The request succeeds exactly when the range lies within the capacity. The bytes skipped for the
    /// alignment are padding until this suballocation and all above it are freed.
    ///
    /// # Errors
    ///
    /// On error, the state is unchanged.
    ///
    /// - [`SuballocError::OutOfSpace`]: too little is free above the highest live range.
    /// - [`SuballocError::LargerThanCapacity`], [`SuballocError::ZeroSize`]: this request can never succeed.
    /// - [`SuballocError::TooManyRanges`]: the limit of about two thousand million live ranges is reached.
    pub fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Result<Suballocation, SuballocError> {
        let start = self.find(size, alignment)?;
        self.live.push(Chain::FIRST, start, size.get())
    }

    /// Returns the offset at which [`allocate`](Self::allocate) would place the request, ignoring the limit
    /// on the number of ranges. O(1).
    pub(crate) fn find(&self, size: ByteSize, alignment: Alignment) -> Result<u64, SuballocError> {
        let bytes = check_size(size, self.capacity)?;
        let start = lowest_in(self.top(), self.capacity, bytes, alignment);
        start.ok_or_else(|| self.out_of_space(size, alignment))
    }

    /// Returns the offset at which the free bytes start.
    #[inline]
    fn top(&self) -> u64 {
        self.live.newest(Chain::FIRST).end()
    }

    /// Frees a suballocation and returns its range. O(1).
    ///
    /// Its bytes become free once nothing live lies above them, together with the bytes freed right below
    /// them before. Until then they are padding. A suballocation that belongs to a submitted batch may be
    /// freed; the rest of the batch is unaffected. The oldest batches are dropped once they have no live
    /// suballocation, O(1) each, amortized over [`submit`](Self::submit).
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::StaleId`] if the suballocation was freed or retired before, or the id is not
    /// from this suballocator. The state is then unchanged.
    pub fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        let range = self.live.remove(id)?;
        self.batches.drop_before(self.live.oldest(Chain::FIRST).stamp);
        Ok(range)
    }

    /// Closes a batch: everything allocated since the last batch is in use until the fence reaches this
    /// value. O(1).
    ///
    /// With the fence value of the last batch, the new batch becomes part of that one. A batch costs 16 bytes
    /// until it is retired, or until it and all batches before it have no live suballocation. A batch without
    /// live suballocations costs nothing.
    ///
    /// # Errors
    ///
    /// Returns [`FenceOrderError`] if the value is below the one submitted last; the state is then unchanged.
    pub fn submit(&mut self, fence: FenceValue) -> Result<(), FenceOrderError> {
        self.batches.submit(fence, self.live.next_stamp, self.live.newest(Chain::FIRST).stamp)
    }

    /// Frees all batches whose fence value is at most `completed`, and returns how much that was. O(1) per
    /// suballocation, amortized over their allocation.
    ///
    /// Suballocations that were not submitted stay live. Suballocations freed individually before are not
    /// counted. The bytes become free once nothing live lies above them, so a [`Ring`](super::Ring) suits a
    /// continuous stream better, and this type a load that ends.
    ///
    /// ```
    /// use heapwright_core::suballoc::Linear;
    /// use heapwright_core::{Alignment, ByteSize, FenceValue};
    ///
    /// let mut staging = Linear::new(ByteSize::from_mib(1))?;
    /// staging.allocate(ByteSize::from_kib(300), Alignment::ONE)?;
    /// staging.allocate(ByteSize::from_kib(500), Alignment::ONE)?;
    /// staging.submit(FenceValue::new(1))?;
    ///
    /// assert_eq!(staging.retire(FenceValue::ZERO).suballocations, 0);
    /// assert_eq!(staging.retire(FenceValue::new(1)).bytes, ByteSize::from_kib(800));
    /// assert_eq!(staging.free_size(), staging.capacity());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn retire(&mut self, completed: FenceValue) -> Retired {
        let Some(end) = self.batches.retire(completed) else { return Retired::default() };
        let retired = self.live.remove_before(Chain::FIRST, end);
        self.batches.drop_before(self.live.oldest(Chain::FIRST).stamp);
        retired
    }

    /// Frees the oldest suballocation that [`retire`](Self::retire) would free, and returns it. Amortized
    /// O(1).
    ///
    /// Calling it until it returns `None` is equivalent to one call of `retire`. Use it to keep data about
    /// each suballocation, which has to be removed with it.
    pub fn retire_next(&mut self, completed: FenceValue) -> Option<Suballocation> {
        // The oldest batch has a live suballocation, so the oldest suballocation is in that batch.
        self.batches.oldest().filter(|&fence| fence <= completed)?;
        let oldest = self.live.oldest_suballocation(Chain::FIRST)?;
        self.free(oldest.id).ok()?;
        Some(oldest)
    }

    /// Returns the fence value of the oldest batch with a live suballocation: the value to wait for when
    /// space is short. O(1).
    ///
    /// Returns `None` if no submitted suballocation is live.
    #[must_use]
    pub fn oldest_fence(&self) -> Option<FenceValue> {
        self.batches.oldest()
    }

    /// Continues the stamps of an earlier suballocator, so that its ids are stale here.
    pub(crate) fn continue_stamps(&mut self, next: Stamp) {
        self.live.continue_stamps(next);
    }

    /// Returns the stamp of the next suballocation.
    pub(crate) const fn next_stamp(&self) -> Stamp {
        self.live.next_stamp
    }

    /// Frees everything at once, submitted or not. Ids of live suballocations become stale. O(1), however
    /// many are live.
    ///
    /// The last submitted fence value is forgotten, so a new fence may start from the beginning.
    pub fn clear(&mut self) {
        self.live.clear();
        self.batches.clear();
    }

    /// Returns the number of bytes above the highest live range. O(1).
    ///
    /// Bytes counted neither here nor in [`used`](Self::used) are padding: the gaps between and below live
    /// ranges.
    #[must_use]
    pub fn free_size(&self) -> ByteSize {
        ByteSize::new(self.capacity - self.top())
    }

    /// Returns the same as [`free_size`](Self::free_size), because the free bytes are contiguous. O(1).
    ///
    /// The value is exact: a request of this size at alignment 1 succeeds, and a larger request fails.
    #[must_use]
    pub fn largest_free_range(&self) -> ByteSize {
        self.free_size()
    }

    /// Returns an iterator over all ranges in address order. O(1) per step.
    ///
    /// Gaps between live ranges are padding; the range above the highest live range is free.
    #[must_use]
    pub fn ranges(&self) -> Ranges<'_> {
        let runs = [Run::to_newer(&self.live, Chain::FIRST), Run::NONE];
        Ranges::new(&self.live, runs, [self.top(), self.capacity], self.capacity)
    }

    fn audit_all(&self) -> Result<(), String> {
        let [ranges] = audit::chains(&self.live, [Chain::FIRST])?;
        audit::ascending(ranges.iter(), 0, self.capacity)?;
        self.batches.audit(self.live.oldest(Chain::FIRST).stamp, self.live.next_stamp)
    }
}

methods_by_live_ranges!(Linear);
suballocator_by_methods!(Linear);

impl fmt::Debug for Linear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Linear")
            .field("capacity", &self.capacity())
            .field("used", &self.used())
            .field("free_size", &self.free_size())
            .field("allocation_count", &self.allocation_count())
            .field("oldest_fence", &self.oldest_fence())
            .finish_non_exhaustive()
    }
}
