//! A ring buffer.

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

/// A suballocator that allocates after the newest live range, and continues at offset zero when it reaches
/// the end.
///
/// It suits first-in-first-out lifetimes, such as uploads to a GPU. A range never wraps around the end: one
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
/// A range freed in another order becomes free when everything older is freed, or everything newer; until
/// then it is padding.
///
/// | call | cost |
/// |---|---|
/// | [`allocate`](Self::allocate), [`free`](Self::free) | O(1), no loop; the table of live ranges grows by doubling, see [`reserve`](Self::reserve) |
/// | [`clear`](Self::clear), [`submit`](Self::submit), counts, sizes | O(1) |
/// | [`retire`](Self::retire) | O(1) per suballocation |
/// | [`ranges`](Self::ranges) | amortized O(1) per step |
/// | [`audit`](Self::audit) | O(n); for tests |
///
/// It manages the offsets from zero to its capacity, not the memory itself. It is deterministic: the same
/// calls return the same offsets on every machine.
///
/// # Example: uploads with three frames in flight
///
/// The GPU reads an upload until the fence reaches the value that was signalled after its frame.
/// [`submit`](Self::submit) records the value, and [`retire`](Self::retire) frees what the GPU has finished
/// reading, so the program need not store ids.
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
    /// The capacity in bytes, 1 to 2^63.
    pub(super) capacity: u64,
}

impl Ring {
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

    /// Allocates `size` bytes at the first multiple of `alignment` after the newest live range. O(1).
    ///
    /// If they do not fit there, they start at offset zero. The request succeeds exactly when it fits into
    /// one of the free ranges that [`ranges`](Self::ranges) lists. The bytes skipped for the alignment and
    /// the rest at the end are padding until all older suballocations are freed, or this one and all newer
    /// ones.
    ///
    /// # Errors
    ///
    /// On error, the state is unchanged.
    ///
    /// - [`SuballocError::OutOfSpace`]: no free range is large enough.
    /// - [`SuballocError::LargerThanCapacity`], [`SuballocError::ZeroSize`]: this request can never succeed.
    /// - [`SuballocError::TooManyRanges`]: the limit of about two thousand million live ranges is reached.
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
            // Offset zero satisfies every alignment.
            None if bytes <= at_zero => self.live.push(Chain::FIRST, 0, bytes),
            None => Err(self.out_of_space(size, alignment)),
        }
    }

    /// Returns the free ranges.
    #[inline]
    fn gaps(&self) -> Gaps {
        let (oldest, newest) = (self.live.oldest(Chain::FIRST), self.live.newest(Chain::FIRST));
        if oldest.start <= newest.start {
            Gaps { behind_newest: (newest.end(), self.capacity), at_zero: oldest.start }
        } else {
            Gaps { behind_newest: (newest.end(), oldest.start), at_zero: 0 }
        }
    }

    /// Frees a suballocation and returns its range. O(1).
    ///
    /// If it was the oldest or the newest live suballocation, its bytes become free, together with the bytes
    /// freed next to them before. Otherwise they are padding until then. A suballocation that belongs to a
    /// submitted batch may be freed; the rest of the batch is unaffected. The oldest batches are dropped once
    /// they have no live suballocation, O(1) each, amortized over [`submit`](Self::submit).
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
    ///
    /// ```
    /// use heapwright_core::suballoc::Ring;
    /// use heapwright_core::{ByteSize, FenceValue};
    ///
    /// let mut ring = Ring::new(ByteSize::from_kib(1))?;
    /// ring.submit(FenceValue::new(8))?;
    /// let refused = ring.submit(FenceValue::new(7)).unwrap_err();
    /// assert_eq!(refused.to_string(), "fence value 7 is less than 8, which was submitted earlier");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn submit(&mut self, fence: FenceValue) -> Result<(), FenceOrderError> {
        self.batches.submit(fence, self.live.next_stamp, self.live.newest(Chain::FIRST).stamp)
    }

    /// Frees all batches whose fence value is at most `completed`, and returns how much that was. O(1) per
    /// suballocation, amortized over their allocation.
    ///
    /// Suballocations that were not submitted stay live. Suballocations freed individually before are not
    /// counted. A value lower than before frees nothing. [`FenceValue::DEVICE_REMOVED`] frees everything that
    /// was submitted, because a removed device no longer reads it.
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

    /// Frees everything at once, submitted or not. Ids of live suballocations become stale. O(1), however
    /// many are live.
    ///
    /// The last submitted fence value is forgotten, so a new fence may start from the beginning.
    pub fn clear(&mut self) {
        self.live.clear();
        self.batches.clear();
    }

    /// Returns the number of bytes after the newest live range and before the oldest. O(1).
    ///
    /// They are two free ranges, or one if the ring has wrapped. Bytes counted neither here nor in
    /// [`used`](Self::used) are padding.
    #[must_use]
    pub fn free_size(&self) -> ByteSize {
        let Gaps { behind_newest: (start, end), at_zero } = self.gaps();
        ByteSize::new(end - start + at_zero)
    }

    /// Returns the size of the largest free range. O(1).
    ///
    /// The value is exact: a request of this size at alignment 1 succeeds, and a larger request fails.
    #[must_use]
    pub fn largest_free_range(&self) -> ByteSize {
        let Gaps { behind_newest: (start, end), at_zero } = self.gaps();
        ByteSize::new(at_zero.max(end - start))
    }

    /// Returns an iterator over all ranges in address order. Amortized O(1) per step: the call itself
    /// searches for the lowest range.
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

/// The free ranges of a ring.
#[derive(Clone, Copy, Debug)]
struct Gaps {
    /// The start and the end of the free range after the newest live range.
    behind_newest: (u64, u64),
    /// The size of the free range at offset zero, before the oldest live range; zero if the ring has wrapped.
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
