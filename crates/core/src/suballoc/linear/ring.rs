//! First in, first out: a ring.

use std::fmt;

use super::super::suballocation::{Suballocation, SuballocationId};
use super::super::suballocator::suballocator_by_methods;
use super::super::{AuditError, SuballocError};
use super::batches::{Batches, Retired};
use super::live_ranges::{Chain, LiveRanges};
use super::methods::methods_by_live_ranges;
use super::placement::{MAX_CAPACITY, check_capacity, check_size, lowest_in};
use super::ranges::{Ranges, Run};
use super::{FenceOrderError, audit};
use crate::{Alignment, ByteSize, FenceValue, HeapRange};

/// Hands out what lies behind the newest live range, and goes on at offset zero when the end is reached.
///
/// It serves where the first in is the first out, as with what is uploaded to a GPU. A range never wraps round the end: one
/// that does not fit there starts at zero.
///
/// ```text
///   not wrapped    |         |####..####|              |    free behind the newest, and in front of the oldest
///                  0         oldest     newest         capacity
///
///   wrapped        |####.###|          |####..#####|...|    free between them; what is left at the end is padding
///                           newest     oldest
/// ```
///
/// What is freed in another order comes back when all that is older is freed, or all that is newer; until then it is
/// padding.
///
/// | call | cost |
/// |---|---|
/// | [`allocate`](Self::allocate), [`free`](Self::free) | O(1), no loop; the table of live ranges grows by doubling, see [`reserve`](Self::reserve) |
/// | [`clear`](Self::clear), [`submit`](Self::submit), counts, sizes | O(1) |
/// | [`retire`](Self::retire) | O(1) for each suballocation |
/// | [`ranges`](Self::ranges) | O(1) a step, amortised |
/// | [`audit`](Self::audit) | O(n): for tests |
///
/// It manages the offsets from zero to its capacity and knows nothing of the memory behind them. It is deterministic: the
/// same calls get the same offsets, on every machine.
///
/// # Example: uploads with three frames in flight
///
/// The GPU reads an upload until the fence has the value that was signalled after its frame. [`submit`](Self::submit) notes
/// the value, [`retire`](Self::retire) takes back what the GPU is done with, and nobody keeps ids.
///
/// ```
/// use heapwright_core::suballoc::{Ring, Suballocation, SuballocError};
/// use heapwright_core::{Alignment, ByteSize, FenceValue};
///
/// # struct Gpu { done: FenceValue }
/// # impl Gpu {
/// #     fn signal(&mut self, value: FenceValue) { self.done = FenceValue::new(value.get().saturating_sub(2)); }
/// #     fn completed(&self) -> FenceValue { self.done }
/// #     fn wait_for(&mut self, value: FenceValue) { self.done = self.done.max(value); }
/// # }
/// # let mut gpu = Gpu { done: FenceValue::ZERO };
/// let constants = Alignment::new(256).unwrap();
/// let mut uploads = Ring::new(ByteSize::from_kib(16))?;
/// for frame in 1..=100 {
///     let fence = FenceValue::new(frame);
///     // What the GPU has finished in the meantime.
///     uploads.retire(gpu.completed());
///     for _ in 0..20 {
///         let upload: Suballocation = loop {
///             match uploads.allocate(ByteSize::new(200), constants) {
///                 Ok(upload) => break upload,
///                 // The frames in flight fill the ring: wait for the oldest.
///                 Err(SuballocError::OutOfSpace { .. }) => {
///                     let oldest = uploads.oldest_fence().expect("one frame alone fits");
///                     gpu.wait_for(oldest);
///                     uploads.retire(oldest);
///                 }
///                 Err(error) => return Err(error.into()),
///             }
///         };
///         // Write at upload.range, and record a command that reads it.
/// #       let _ = upload;
///     }
///     // Execute the commands, then signal the fence behind them.
///     gpu.signal(fence);
///     uploads.submit(fence)?;
/// }
/// // Three frames of 20 uploads are in flight.
/// assert_eq!(uploads.allocation_count(), 60);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Ring {
    pub(super) live: LiveRanges,
    pub(super) batches: Batches,
    /// In bytes: 1 to 2^63.
    pub(super) capacity: u64,
}

impl Ring {
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

    /// Hands out `size` bytes at the first multiple of `alignment` behind the newest live range. O(1).
    ///
    /// Where they do not fit between there and the end, they start at zero. It is served exactly when they fit into one of
    /// the free ranges that [`ranges`](Self::ranges) shows. What the alignment skips, and what is left at the end, is
    /// padding until all older ones are freed, or this one and all newer ones.
    ///
    /// # Errors
    ///
    /// The state is what it was before the call.
    ///
    /// - [`SuballocError::OutOfSpace`]: too little is free in one piece.
    /// - [`SuballocError::LargerThanCapacity`], [`SuballocError::ZeroSize`]: this request never succeeds.
    /// - [`SuballocError::TooManyRanges`]: some two thousand million ranges are live.
    ///
    /// ```
    /// use heapwright_core::suballoc::Ring;
    /// use heapwright_core::{Alignment, ByteSize, HeapOffset};
    ///
    /// let mut ring = Ring::new(ByteSize::new(100))?;
    /// let first = ring.allocate(ByteSize::new(40), Alignment::ONE)?;
    /// ring.allocate(ByteSize::new(40), Alignment::ONE)?;
    /// // 20 bytes are free behind the second, and none in front of the first.
    /// assert!(ring.allocate(ByteSize::new(30), Alignment::ONE).is_err());
    /// ring.free(first.id)?;
    /// let third = ring.allocate(ByteSize::new(30), Alignment::ONE)?;
    /// assert_eq!(third.range.start(), HeapOffset::ZERO);
    /// // The 20 bytes at the end were skipped: padding.
    /// assert_eq!(ring.free_size(), ByteSize::new(10));
    /// # Ok::<(), heapwright_core::suballoc::SuballocError>(())
    /// ```
    pub fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Result<Suballocation, SuballocError> {
        let bytes = check_size(size, self.capacity)?;
        let Gaps { behind_newest: (start, end), at_zero } = self.gaps();
        match lowest_in(start, end, bytes, alignment) {
            Some(start) => self.live.push(Chain::FIRST, start, bytes),
            // Every alignment divides zero.
            None if bytes <= at_zero => self.live.push(Chain::FIRST, 0, bytes),
            None => Err(self.out_of_space(size, alignment)),
        }
    }

    /// What is free.
    #[inline]
    fn gaps(&self) -> Gaps {
        let (oldest, newest) = (self.live.oldest(Chain::FIRST), self.live.newest(Chain::FIRST));
        if oldest.start <= newest.start {
            Gaps { behind_newest: (newest.end(), self.capacity), at_zero: oldest.start }
        } else {
            Gaps { behind_newest: (newest.end(), oldest.start), at_zero: 0 }
        }
    }

    /// Takes a suballocation back and answers its range. O(1).
    ///
    /// Its bytes are free when it was the oldest that is live, or the newest, together with what was freed beside it before.
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
    ///
    /// ```
    /// use heapwright_core::suballoc::Ring;
    /// use heapwright_core::{ByteSize, FenceValue};
    ///
    /// let mut ring = Ring::new(ByteSize::from_kib(1))?;
    /// ring.submit(FenceValue::new(8))?;
    /// let refused = ring.submit(FenceValue::new(7)).unwrap_err();
    /// assert_eq!(refused.to_string(), "fence value 7 was submitted after 8");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn submit(&mut self, fence: FenceValue) -> Result<(), FenceOrderError> {
        self.batches.submit(fence, self.live.next_stamp, self.live.newest(Chain::FIRST).stamp)
    }

    /// Takes back all batches whose fence value is `completed` or less, and answers what that was. O(1) for each
    /// suballocation, amortised over their allocation.
    ///
    /// What was not submitted stays. What was freed before, one by one, is not counted. A value lower than before takes
    /// nothing back. [`FenceValue::DEVICE_REMOVED`] takes all back that was submitted: a device that is gone reads nothing.
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

    /// Takes everything back at once, submitted or not; ids that were live are stale from then on. O(1), whatever is live.
    ///
    /// The fence value that was submitted last is forgotten, so that a new fence may start anew.
    pub fn clear(&mut self) {
        self.live.clear();
        self.batches.clear();
    }

    /// The bytes behind the newest live range and in front of the oldest. O(1).
    ///
    /// They are in two pieces, or in one when the ring has wrapped. What neither this nor [`used`](Self::used) counts is
    /// padding.
    #[must_use]
    pub fn free_size(&self) -> ByteSize {
        let Gaps { behind_newest: (start, end), at_zero } = self.gaps();
        ByteSize::new(end - start + at_zero)
    }

    /// The larger of the free pieces. O(1).
    ///
    /// It is exact: a request of this size at alignment 1 succeeds, and one of more bytes does not.
    #[must_use]
    pub fn largest_free_range(&self) -> ByteSize {
        let Gaps { behind_newest: (start, end), at_zero } = self.gaps();
        ByteSize::new(at_zero.max(end - start))
    }

    /// All ranges from the lowest offset to the highest. O(1) a step, amortised: the first looks for the lowest.
    #[must_use]
    pub fn ranges(&self) -> Ranges<'_> {
        let whole = Run::to_newer(&self.live, Chain::FIRST);
        let [older, lower] = whole.split(self.live.lowest_of_wrapped(Chain::FIRST));
        let Gaps { behind_newest: (start, _), at_zero } = self.gaps();
        let free_at_zero = if at_zero > 0 { 0 } else { self.capacity };
        Ranges::new(&self.live, [lower, older], [start, free_at_zero], self.capacity)
    }

    fn audit_all(&self) -> Result<(), String> {
        let [ranges] = audit::chains(&self.live, [Chain::FIRST])?;
        let oldest = self.live.oldest(Chain::FIRST);
        let wrapped = ranges.iter().position(|range| range.start < oldest.start);
        let (older, lower) = ranges.split_at(wrapped.unwrap_or(ranges.len()));
        audit::ascending(older.iter(), 0, self.capacity)?;
        audit::ascending(lower.iter(), 0, oldest.start)?;
        self.batches.audit(oldest.stamp, self.live.next_stamp)
    }
}

/// What is free of a ring.
#[derive(Clone, Copy, Debug)]
struct Gaps {
    /// From, and up to.
    behind_newest: (u64, u64),
    /// How much lies in front of the oldest, from zero on, and not behind the newest.
    at_zero: u64,
}

methods_by_live_ranges!(Ring);
suballocator_by_methods!(Ring);

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring")
            .field("capacity", &self.capacity())
            .field("used", &self.used())
            .field("free_size", &self.free_size())
            .field("allocation_count", &self.allocation_count())
            .field("oldest_fence", &self.oldest_fence())
            .finish_non_exhaustive()
    }
}
