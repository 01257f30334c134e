//! Two stacks that grow towards each other.

use std::fmt;

use super::super::suballocation::{Suballocation, SuballocationId};
use super::super::suballocator::suballocator_by_methods;
use super::super::{AuditError, SuballocError};
use super::audit;
use super::live_ranges::{Chain, LiveRanges};
use super::methods::methods_by_live_ranges;
use super::placement::{MAX_CAPACITY, check_capacity, check_size, highest_in, lowest_in};
use super::ranges::{Ranges, Run};
use crate::{Alignment, ByteSize, HeapRange};

/// The stack that grows up from offset zero.
const LOWER: Chain = Chain::FIRST;

/// The stack that grows down from the capacity.
const UPPER: Chain = Chain::SECOND;

/// A suballocator with two stacks that share one range and grow towards each other.
///
/// It separates two kinds of data with different lifetimes, so that neither leaves gaps in the other: for
/// example, data of a level at the lower end, and data of a frame at the upper end.
///
/// Each end behaves like a [`Linear`](super::Linear): ranges freed in reverse order of that end become free
/// at once; other bytes are padding until everything between them and the middle is freed.
///
/// | call | cost |
/// |---|---|
/// | [`allocate_lower`](Self::allocate_lower), [`allocate_upper`](Self::allocate_upper), [`free`](Self::free) | O(1), no loop; the table of live ranges grows by doubling, see [`reserve`](Self::reserve) |
/// | [`clear`](Self::clear), counts, sizes | O(1) |
/// | [`ranges`](Self::ranges) | O(1) per step |
/// | [`audit`](Self::audit) | O(n); for tests |
///
/// It manages the offsets from zero to its capacity, not the memory itself. It is deterministic: the same
/// calls return the same offsets on every machine.
///
/// ```
/// use heapwright_core::suballoc::DoubleStack;
/// use heapwright_core::{Alignment, ByteSize, HeapOffset};
///
/// let mut heap = DoubleStack::new(ByteSize::new(1000))?;
/// let level = heap.allocate_lower(ByteSize::new(300), Alignment::ONE)?;
/// let frame = heap.allocate_upper(ByteSize::new(100), Alignment::new(64).unwrap())?;
/// assert_eq!(level.range.start(), HeapOffset::ZERO);
/// assert_eq!(frame.range.start(), HeapOffset::new(896));
/// assert_eq!(heap.free_size(), ByteSize::new(596));
///
/// heap.free(frame.id)?;
/// assert_eq!(heap.free_size(), ByteSize::new(700));
/// # Ok::<(), heapwright_core::suballoc::SuballocError>(())
/// ```
pub struct DoubleStack {
    pub(super) live: LiveRanges,
    /// The capacity in bytes, 1 to 2^63.
    pub(super) capacity: u64,
}

impl DoubleStack {
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
        Ok(Self { live: LiveRanges::new([0, capacity], range_limit), capacity })
    }

    /// Allocates at the lower end, like [`allocate_lower`](Self::allocate_lower).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`allocate_lower`](Self::allocate_lower).
    pub fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Result<Suballocation, SuballocError> {
        self.allocate_lower(size, alignment)
    }

    /// Allocates `size` bytes at the lowest free multiple of `alignment`. O(1).
    ///
    /// The request succeeds exactly when the range fits between the two ends. The bytes skipped for the
    /// alignment are padding until this suballocation and all newer ones of the lower end are freed.
    ///
    /// # Errors
    ///
    /// On error, the state is unchanged.
    ///
    /// - [`SuballocError::OutOfSpace`]: too little is free between the two ends.
    /// - [`SuballocError::LargerThanCapacity`], [`SuballocError::ZeroSize`]: this request can never succeed.
    /// - [`SuballocError::TooManyRanges`]: the limit of about two thousand million live ranges is reached.
    pub fn allocate_lower(
        &mut self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Suballocation, SuballocError> {
        let bytes = check_size(size, self.capacity)?;
        match lowest_in(self.lower_end(), self.upper_start(), bytes, alignment) {
            Some(start) => self.live.push(LOWER, start, bytes),
            None => Err(self.out_of_space(size, alignment)),
        }
    }

    /// Allocates `size` bytes at the highest free multiple of `alignment`. O(1).
    ///
    /// The request succeeds exactly when the range fits between the two ends. The bytes that the alignment
    /// leaves above it are padding until this suballocation and all newer ones of the upper end are freed.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`allocate_lower`](Self::allocate_lower).
    pub fn allocate_upper(
        &mut self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Suballocation, SuballocError> {
        let bytes = check_size(size, self.capacity)?;
        match highest_in(self.lower_end(), self.upper_start(), bytes, alignment) {
            Some(start) => self.live.push(UPPER, start, bytes),
            None => Err(self.out_of_space(size, alignment)),
        }
    }

    /// Returns the offset at which the free bytes start.
    #[inline]
    fn lower_end(&self) -> u64 {
        self.live.newest(LOWER).end()
    }

    /// Returns the offset at which the free bytes end.
    #[inline]
    fn upper_start(&self) -> u64 {
        self.live.newest(UPPER).start
    }

    /// Frees a suballocation of either end and returns its range. O(1).
    ///
    /// Its bytes become free once nothing live of its end lies between them and the middle, together with the
    /// bytes freed behind them before. Until then they are padding.
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::StaleId`] if the suballocation was freed before, or the id is not from this
    /// suballocator. The state is then unchanged.
    pub fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        self.live.remove(id)
    }

    /// Frees everything at both ends. Ids of live suballocations become stale. O(1), however many are live.
    pub fn clear(&mut self) {
        self.live.clear();
    }

    /// Returns the number of bytes between the two ends. O(1).
    ///
    /// Bytes counted neither here nor in [`used`](Self::used) are padding: the gaps within each end.
    #[must_use]
    pub fn free_size(&self) -> ByteSize {
        ByteSize::new(self.upper_start() - self.lower_end())
    }

    /// Returns the same as [`free_size`](Self::free_size), because the free bytes are contiguous. O(1).
    ///
    /// The value is exact: a request of this size at alignment 1 succeeds at either end, and a larger request
    /// fails.
    #[must_use]
    pub fn largest_free_range(&self) -> ByteSize {
        self.free_size()
    }

    /// Returns an iterator over all ranges in address order. O(1) per step.
    ///
    /// The range between the two ends is free; other gaps are padding.
    #[must_use]
    pub fn ranges(&self) -> Ranges<'_> {
        let runs = [Run::to_newer(&self.live, LOWER), Run::to_older(&self.live, UPPER)];
        Ranges::new(&self.live, runs, [self.lower_end(), self.capacity], self.capacity)
    }

    fn audit_all(&self) -> Result<(), String> {
        let [lower, upper] = audit::chains(&self.live, [LOWER, UPPER])?;
        audit::ascending(lower.iter().chain(upper.iter().rev()), 0, self.capacity)
    }
}

methods_by_live_ranges!(DoubleStack);
suballocator_by_methods!(DoubleStack);

impl fmt::Debug for DoubleStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DoubleStack")
            .field("capacity", &self.capacity())
            .field("used", &self.used())
            .field("free_size", &self.free_size())
            .field("allocation_count", &self.allocation_count())
            .finish_non_exhaustive()
    }
}
