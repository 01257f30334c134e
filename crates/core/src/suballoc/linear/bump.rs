//! One end that moves up: a bump allocator, and a stack.

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

/// Hands out what lies above the highest live range: a bump allocator, an arena or a stack, as it is used.
///
/// - As an arena: allocate, and [`clear`](Self::clear) when all is done with.
/// - As a stack: what is freed in reverse order comes back at once, with the padding in front of it.
/// - In any order: what is freed below a live range is padding until all above it is freed, too.
///
/// | call | cost |
/// |---|---|
/// | [`allocate`](Self::allocate), [`free`](Self::free) | O(1), no loop; the table of live ranges grows by doubling, see [`reserve`](Self::reserve) |
/// | [`clear`](Self::clear), [`submit`](Self::submit), counts, sizes | O(1) |
/// | [`retire`](Self::retire) | O(1) for each suballocation |
/// | [`ranges`](Self::ranges) | O(1) a step |
/// | [`audit`](Self::audit) | O(n): for tests |
///
/// It manages the offsets from zero to its capacity and knows nothing of the memory behind them. It is deterministic: the
/// same calls get the same offsets, on every machine.
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
pub struct Linear {
    pub(super) live: LiveRanges,
    pub(super) batches: Batches,
    /// In bytes: 1 to 2^63.
    pub(super) capacity: u64,
}

impl Linear {
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
        Ok(Self { live: LiveRanges::new([0], range_limit), batches: Batches::default(), capacity })
    }

    /// Hands out `size` bytes at the first multiple of `alignment` above the highest live range. O(1).
    ///
    /// It is served exactly when they lie within the capacity. What the alignment skips is padding until this one and all
    /// above it are freed.
    ///
    /// # Errors
    ///
    /// The state is what it was before the call.
    ///
    /// - [`SuballocError::OutOfSpace`]: too little is left above the highest live range.
    /// - [`SuballocError::LargerThanCapacity`], [`SuballocError::ZeroSize`]: this request never succeeds.
    /// - [`SuballocError::TooManyRanges`]: some two thousand million ranges are live.
    pub fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Result<Suballocation, SuballocError> {
        let start = self.find(size, alignment)?;
        self.live.push(Chain::FIRST, start, size.get())
    }

    /// Where [`allocate`](Self::allocate) would place the request, short of running out of numbers for ranges. O(1).
    pub(crate) fn find(&self, size: ByteSize, alignment: Alignment) -> Result<u64, SuballocError> {
        let bytes = check_size(size, self.capacity)?;
        let start = lowest_in(self.top(), self.capacity, bytes, alignment);
        start.ok_or_else(|| self.out_of_space(size, alignment))
    }

    /// Where the free bytes start.
    #[inline]
    fn top(&self) -> u64 {
        self.live.newest(Chain::FIRST).end()
    }

    /// Takes a suballocation back and answers its range. O(1).
    ///
    /// Its bytes are free when nothing live lies above it, together with all that was freed right below it before.
    /// Otherwise they are padding until then. That a batch was submitted which it belongs to does not matter: the batch goes
    /// on without it. The oldest batches are dropped once nothing in them is live, O(1) for each, amortised over
    /// [`submit`](Self::submit).
    ///
    /// # Errors
    ///
    /// [`SuballocError::StaleId`] when it was freed or retired before, or the id never came from here. The state is what it
    /// was before the call.
    pub fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        let range = self.live.remove(id)?;
        self.batches.drop_before(self.live.oldest(Chain::FIRST).stamp);
        Ok(range)
    }

    /// Closes a batch: all that was handed out since the last one is in use until the fence has this value. O(1).
    ///
    /// Under the value that was submitted last, the batch becomes part of that one. A batch costs 16 bytes until it is
    /// retired, or nothing in it and in those before it is live; one in which nothing is live costs nothing.
    ///
    /// # Errors
    ///
    /// [`FenceOrderError`] when the value is below the one submitted last; nothing is changed.
    pub fn submit(&mut self, fence: FenceValue) -> Result<(), FenceOrderError> {
        self.batches.submit(fence, self.live.next_stamp, self.live.newest(Chain::FIRST).stamp)
    }

    /// Takes back all batches whose fence value is `completed` or less, and answers what that was. O(1) for each
    /// suballocation, amortised over their allocation.
    ///
    /// What was not submitted stays. What was freed before, one by one, is not counted. The bytes are free when nothing live
    /// lies above them; so a [`Ring`](super::Ring) suits a steady stream better, and this type a load that ends.
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

    /// Takes back the oldest suballocation that [`retire`](Self::retire) would, and answers it. O(1), amortised.
    ///
    /// Called until it answers `None`, it is the same as one call of `retire`. It is for those who keep notes beside the
    /// suballocations, and have to hear which are gone.
    pub fn retire_next(&mut self, completed: FenceValue) -> Option<Suballocation> {
        // What is oldest is in the oldest batch, as that has something live in it.
        self.batches.oldest().filter(|&fence| fence <= completed)?;
        let oldest = self.live.oldest_suballocation(Chain::FIRST)?;
        self.free(oldest.id).ok()?;
        Some(oldest)
    }

    /// The fence value of the oldest batch that has something live in it: what to wait for when there is no room. O(1).
    ///
    /// `None` when nothing that was submitted is live.
    #[must_use]
    pub fn oldest_fence(&self) -> Option<FenceValue> {
        self.batches.oldest()
    }

    /// Goes on with these stamps, so that ids of a suballocator that was here before are stale.
    pub(crate) fn continue_stamps(&mut self, next: Stamp) {
        self.live.continue_stamps(next);
    }

    /// The stamp that the next suballocation gets.
    pub(crate) const fn next_stamp(&self) -> Stamp {
        self.live.next_stamp
    }

    /// Takes everything back at once, submitted or not; ids that were live are stale from then on. O(1), whatever is live.
    ///
    /// The fence value that was submitted last is forgotten, so that a new fence may start anew.
    pub fn clear(&mut self) {
        self.live.clear();
        self.batches.clear();
    }

    /// The bytes above the highest live range. O(1).
    ///
    /// What neither this nor [`used`](Self::used) counts is padding: the gaps between live ranges and below them.
    #[must_use]
    pub fn free_size(&self) -> ByteSize {
        ByteSize::new(self.capacity - self.top())
    }

    /// The same as [`free_size`](Self::free_size), as the free bytes are in one piece. O(1).
    ///
    /// It is exact: a request of this size at alignment 1 succeeds, and one of more bytes does not.
    #[must_use]
    pub fn largest_free_range(&self) -> ByteSize {
        self.free_size()
    }

    /// All ranges from the lowest offset to the highest. O(1) a step.
    ///
    /// Gaps between live ranges are padding; what lies above the highest is free.
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
