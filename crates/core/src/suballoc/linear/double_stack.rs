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

/// Hands out bytes at both ends of what is free: two stacks that share one range and grow towards each other.
///
/// It serves where two kinds of data live for different times, and neither should leave holes in the other: what stays for
/// a level at the lower end, what goes with the frame at the upper one.
///
/// Each end is as a [`Linear`](super::Linear): what is freed in reverse order of that end comes back at once; other bytes
/// are padding until all between them and the middle is freed.
///
/// | call | cost |
/// |---|---|
/// | [`allocate_lower`](Self::allocate_lower), [`allocate_upper`](Self::allocate_upper), [`free`](Self::free) | O(1), no loop; the table of live ranges grows by doubling, see [`reserve`](Self::reserve) |
/// | [`clear`](Self::clear), counts, sizes | O(1) |
/// | [`ranges`](Self::ranges) | O(1) a step |
/// | [`audit`](Self::audit) | O(n): for tests |
///
/// It manages the offsets from zero to its capacity and knows nothing of the memory behind them. It is deterministic: the
/// same calls get the same offsets, on every machine.
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
    /// In bytes: 1 to 2^63.
    pub(super) capacity: u64,
}

impl DoubleStack {
    /// The largest capacity: 2^63 bytes.
    pub const MAX_CAPACITY: ByteSize = MAX_CAPACITY;

    /// A suballocator for the offsets from zero to `capacity`, all of them free. O(1).
    ///
    /// # Errors
    ///
    /// [`SuballocError::CapacityOutOfBounds`] for zero, and for more than [`MAX_CAPACITY`](Self::MAX_CAPACITY).
    pub fn new(capacity: ByteSize) -> Result<Self, SuballocError> {
        Self::with_range_limit(capacity, u32::MAX)
    }

    /// As [`new`](Self::new), with no more than `range_limit` live ranges.
    pub(super) fn with_range_limit(capacity: ByteSize, range_limit: u32) -> Result<Self, SuballocError> {
        let capacity = check_capacity(capacity)?;
        Ok(Self { live: LiveRanges::new([0, capacity], range_limit), capacity })
    }

    /// The same as [`allocate_lower`](Self::allocate_lower).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Result<Suballocation, SuballocError> {
        self.allocate_lower(size, alignment)
    }

    /// Hands out `size` bytes at the lowest multiple of `alignment` in what is free. O(1).
    ///
    /// It is served exactly when they fit between the two ends. What the alignment skips is padding until this one and all
    /// newer ones of the lower end are freed.
    ///
    /// # Errors
    ///
    /// The state is what it was before the call.
    ///
    /// - [`SuballocError::OutOfSpace`]: too little is left between the two ends.
    /// - [`SuballocError::LargerThanCapacity`], [`SuballocError::ZeroSize`]: this request never succeeds.
    /// - [`SuballocError::TooManyRanges`]: some two thousand million ranges are live.
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

    /// Hands out `size` bytes at the highest multiple of `alignment` in what is free. O(1).
    ///
    /// It is served exactly when they fit between the two ends. What the alignment leaves above them is padding until this
    /// one and all newer ones of the upper end are freed.
    ///
    /// # Errors
    ///
    /// As [`allocate_lower`](Self::allocate_lower).
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

    /// Where the free bytes start.
    #[inline]
    fn lower_end(&self) -> u64 {
        self.live.newest(LOWER).end()
    }

    /// Where the free bytes end.
    #[inline]
    fn upper_start(&self) -> u64 {
        self.live.newest(UPPER).start
    }

    /// Takes a suballocation of either end back and answers its range. O(1).
    ///
    /// Its bytes are free when nothing live of its end lies between it and the middle, together with all that was freed
    /// behind it before. Otherwise they are padding until then.
    ///
    /// # Errors
    ///
    /// [`SuballocError::StaleId`] when it was freed before, or the id never came from here. The state is what it was
    /// before the call.
    pub fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        self.live.remove(id)
    }

    /// Takes everything back at once, at both ends; ids that were live are stale from then on. O(1), whatever is live.
    pub fn clear(&mut self) {
        self.live.clear();
    }

    /// The bytes between the two ends. O(1).
    ///
    /// What neither this nor [`used`](Self::used) counts is padding: the gaps within each end.
    #[must_use]
    pub fn free_size(&self) -> ByteSize {
        ByteSize::new(self.upper_start() - self.lower_end())
    }

    /// The same as [`free_size`](Self::free_size), as the free bytes are in one piece. O(1).
    ///
    /// It is exact: a request of this size at alignment 1 succeeds at either end, and one of more bytes does not.
    #[must_use]
    pub fn largest_free_range(&self) -> ByteSize {
        self.free_size()
    }

    /// All ranges from the lowest offset to the highest. O(1) a step.
    ///
    /// What lies between the two ends is free; other gaps are padding.
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
