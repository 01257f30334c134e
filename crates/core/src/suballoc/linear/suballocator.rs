//! The linear suballocator: a ring that becomes two stacks when its upper end is used.

mod audit;

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroU32;

use super::super::suballocation::{NoValue, RangeUse, Stamp, Suballocation, SuballocationId, heap_range};
use super::super::{AuditError, SuballocError};
use super::batches::{Batches, FenceOrderError, Retired};
use crate::{Alignment, ByteSize, FenceValue, HeapRange};

/// A suballocator that allocates after the newest live range: a ring, a stack, two stacks or an arena,
/// depending on use. It is D3D12MA's linear algorithm, with retirement by fence values.
///
/// - As a ring, for uploads and other first-in-first-out lifetimes: a request that does not fit after the
///   newest range starts at offset zero. No range extends across the end.
/// - As a stack: ranges freed in reverse order become free at once, with the padding below them.
/// - As two stacks that grow towards each other: [`allocate_upper`](Self::allocate_upper) allocates downwards
///   from the capacity. While something is live there, the ring does not wrap; while it is wrapped, nothing
///   can be allocated there.
/// - As an arena: allocate, then [`clear`](Self::clear) when everything is done with.
///
/// ```text
///   not wrapped    |         |####..####|              |    free behind the newest, and in front of the oldest
///                  0         oldest     newest         capacity
///
///   wrapped        |####.###|          |####..#####|...|    free between them; what is left at the end is padding
///                           newest     oldest
/// ```
///
/// A range freed in another order becomes free when everything older of its end is freed, or everything newer;
/// until then it is padding.
///
/// | call | cost |
/// |---|---|
/// | [`allocate`](Self::allocate) | O(1); the queue of ranges grows by doubling, see [`reserve`](Self::reserve) |
/// | [`free`](Self::free), [`value`](Self::value) | amortized O(1) for the oldest and the newest of an end, O(log n) for those between |
/// | [`submit`](Self::submit), counts, sizes | O(1) |
/// | [`clear`](Self::clear) | O(1); O(n) with values |
/// | [`retire`](Self::retire) | O(1) per suballocation |
/// | [`ranges`](Self::ranges) | amortized O(1) per step |
/// | [`audit`](Self::audit) | O(n); for tests |
///
/// It manages the offsets from zero to its capacity, not the memory itself. It is deterministic: the same
/// calls return the same offsets on every machine. Each suballocation may have a value of type `T`, like those
/// of [`Tlsf`](crate::suballoc::Tlsf).
///
/// # Examples
///
/// Uploads with three frames in flight. The GPU reads an upload until the fence reaches the value that was
/// signalled after its frame. [`submit`](Self::submit) records the value, and [`retire`](Self::retire) frees
/// what the GPU has finished reading, so the program need not store ids:
///
/// ```
/// use heapwright_core::suballoc::{Linear, Suballocation, SuballocError};
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
/// let mut uploads = Linear::new(ByteSize::from_kib(16))?;
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
///
/// Two stacks:
///
/// ```
/// use heapwright_core::suballoc::Linear;
/// use heapwright_core::{Alignment, ByteSize, HeapOffset};
///
/// let mut heap = Linear::new(ByteSize::new(1000))?;
/// let level = heap.allocate(ByteSize::new(300), Alignment::ONE)?;
/// let frame = heap.allocate_upper(ByteSize::new(100), Alignment::new(64).unwrap())?;
/// assert_eq!(level.range.start(), HeapOffset::ZERO);
/// assert_eq!(frame.range.start(), HeapOffset::new(896));
/// assert_eq!(heap.free_size(), ByteSize::new(596));
/// heap.free(frame.id)?;
/// assert_eq!(heap.free_size(), ByteSize::new(700));
/// # Ok::<(), heapwright_core::suballoc::SuballocError>(())
/// ```
#[derive(Clone)]
#[doc(alias = "VirtualBlock")]
#[doc(alias = "ring")]
pub struct Linear<T = NoValue> {
    /// The ranges of the lower end, or of the whole ring, and those of the upper end, in the order of their allocation.
    pub(super) ends: [VecDeque<Allocated<T>>; 2],
    pub(super) batches: Batches,
    /// The capacity in bytes, 1 to 2^63.
    pub(super) capacity: u64,
    /// The sum of the sizes of the live ranges, in bytes.
    pub(super) used: u64,
    /// The number of live ranges.
    pub(super) allocation_count: u64,
    /// The stamp of the next suballocation.
    pub(super) next_stamp: Stamp,
}

/// The ends, as indices of their queues.
pub(super) const LOWER: usize = 0;
pub(super) const UPPER: usize = 1;
/// The slots of the ids of each end.
const SLOTS: [NonZeroU32; 2] = [NonZeroU32::MIN, NonZeroU32::MIN.saturating_add(1)];

/// A live range, or one that was freed between two live ones.
#[derive(Clone)]
#[cfg_attr(test, derive(PartialEq, Eq))]
pub(super) struct Allocated<T> {
    /// The offset of the first byte.
    pub(super) start: u64,
    /// The size in bytes, at most 2^63; zero once it is freed.
    pub(super) size: u64,
    pub(super) stamp: Stamp,
    /// The user's value.
    value: Option<T>,
}

impl<T> Allocated<T> {
    fn is_live(&self) -> bool {
        self.size > 0
    }

    const fn end(&self) -> u64 {
        self.start + self.size
    }
}

impl<T> fmt::Debug for Allocated<T> {
    /// Omits the value, so that `T` need not be `Debug`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "range {:?} at {:#x} of {:#x} bytes", self.stamp, self.start, self.size)
    }
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

impl Linear {
    /// The largest capacity: 2^63 bytes.
    pub const MAX_CAPACITY: ByteSize = ByteSize::new(1 << 63);

    /// Creates a suballocator without values for the offsets from zero to `capacity`, all free. O(1).
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::CapacityOutOfBounds`] if `capacity` is zero or exceeds
    /// [`MAX_CAPACITY`](Self::MAX_CAPACITY).
    pub fn new(capacity: ByteSize) -> Result<Self, SuballocError> {
        Self::with_values(capacity)
    }
}

impl<T> Linear<T> {
    /// Creates a suballocator like [`new`](Linear::new), with an optional value for each suballocation.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`new`](Linear::new).
    pub fn with_values(capacity: ByteSize) -> Result<Self, SuballocError> {
        if capacity.is_zero() || capacity > Linear::MAX_CAPACITY {
            return Err(SuballocError::CapacityOutOfBounds { capacity, limit: Linear::MAX_CAPACITY });
        }
        Ok(Self {
            ends: [VecDeque::new(), VecDeque::new()],
            batches: Batches::default(),
            capacity: capacity.get(),
            used: 0,
            allocation_count: 0,
            next_stamp: Stamp::FIRST,
        })
    }

    /// Allocates `size` bytes at the first multiple of `alignment` after the newest live range. O(1).
    ///
    /// If they do not fit there and nothing is live at the upper end, they start at offset zero. The request
    /// succeeds exactly when it fits into one of the free ranges that [`ranges`](Self::ranges) lists. The
    /// bytes skipped for the alignment and the rest at the end are padding until all older suballocations are
    /// freed, or this one and all newer ones.
    ///
    /// # Errors
    ///
    /// On error, the state is unchanged.
    ///
    /// - [`SuballocError::OutOfSpace`]: no free range is large enough.
    /// - [`SuballocError::LargerThanCapacity`], [`SuballocError::ZeroSize`]: this request can never succeed.
    pub fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Result<Suballocation, SuballocError> {
        let start = self.find(size, alignment)?;
        Ok(self.push(LOWER, start, size.get()))
    }

    /// Allocates `size` bytes at the highest free multiple of `alignment`, below everything live at the upper
    /// end. O(1).
    ///
    /// Fails while the ring is wrapped. The bytes that the alignment leaves above it are padding until this
    /// suballocation and all newer ones of the upper end are freed.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`allocate`](Self::allocate).
    pub fn allocate_upper(
        &mut self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Suballocation, SuballocError> {
        let start = self.find_upper(size, alignment)?;
        Ok(self.push(UPPER, start, size.get()))
    }

    #[inline]
    fn push(&mut self, end: usize, start: u64, size: u64) -> Suballocation {
        let stamp = self.next_stamp;
        self.ends[end].push_back(Allocated { start, size, stamp, value: None });
        self.next_stamp = stamp.next();
        self.used += size;
        self.allocation_count += 1;
        Suballocation::new(SLOTS[end], stamp, start, size)
    }

    /// Returns the offset at which [`allocate`](Self::allocate) would place the request. O(1).
    pub(crate) fn find(&self, size: ByteSize, alignment: Alignment) -> Result<u64, SuballocError> {
        let bytes = self.check_size(size)?;
        let Gaps { middle: (start, end), at_zero, .. } = self.gaps();
        lowest_in(start, end, bytes, alignment)
            // Offset zero satisfies every alignment.
            .or_else(|| (bytes <= at_zero).then_some(0))
            .ok_or_else(|| self.out_of_space(size, alignment))
    }

    /// Returns the offset at which [`allocate_upper`](Self::allocate_upper) would place the request. O(1).
    pub(crate) fn find_upper(&self, size: ByteSize, alignment: Alignment) -> Result<u64, SuballocError> {
        let bytes = self.check_size(size)?;
        let Gaps { middle: (start, end), is_wrapped, .. } = self.gaps();
        highest_in(start, end, bytes, alignment)
            .filter(|_| !is_wrapped)
            .ok_or_else(|| self.out_of_space(size, alignment))
    }

    /// Returns the size of a request in bytes: 1 to the capacity.
    #[inline]
    fn check_size(&self, size: ByteSize) -> Result<u64, SuballocError> {
        match size.get() {
            0 => Err(SuballocError::ZeroSize),
            bytes if bytes <= self.capacity => Ok(bytes),
            _ => Err(SuballocError::LargerThanCapacity { requested: size, capacity: self.capacity() }),
        }
    }

    #[inline]
    fn gaps(&self) -> Gaps {
        let [lower, upper] = &self.ends;
        let oldest = lower.front().map_or(0, |oldest| oldest.start);
        let (newest, newest_end) = lower.back().map_or((0, 0), |newest| (newest.start, newest.end()));
        if oldest > newest {
            return Gaps { middle: (newest_end, oldest), at_zero: 0, is_wrapped: true };
        }
        let (upper_start, at_zero) = upper.back().map_or((self.capacity, oldest), |newest| (newest.start, 0));
        Gaps { middle: (newest_end, upper_start), at_zero, is_wrapped: false }
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

    /// Frees a suballocation of either end, drops its value, and returns its range. Amortized O(1) if nothing older
    /// of its end is live, or nothing newer; otherwise O(log n).
    ///
    /// Its bytes become free once nothing older of its end is live, or nothing newer. Until then they are
    /// padding. A suballocation that belongs to a submitted batch may be freed; the rest of the batch is
    /// unaffected. The oldest batches are dropped once they have no live suballocation, O(1) each, amortized
    /// over [`submit`](Self::submit).
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::StaleId`] if the suballocation was freed or retired before, or the id is not
    /// from this suballocator. The state is then unchanged.
    pub fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        let (range, _value) = self.remove(id)?;
        Ok(range)
    }

    #[inline]
    fn remove(&mut self, id: SuballocationId) -> Result<(HeapRange, Option<T>), SuballocError> {
        let (end, at) = self.find_live(id)?;
        let queue = &mut self.ends[end];
        let removed = &mut queue[at];
        let (range, value) = (heap_range(removed.start, removed.size), removed.value.take());
        removed.size = 0;
        while queue.front().is_some_and(|range| !range.is_live()) {
            queue.pop_front();
        }
        while queue.back().is_some_and(|range| !range.is_live()) {
            queue.pop_back();
        }
        self.used -= range.size().get();
        self.allocation_count -= 1;
        self.batches.drop_before(self.oldest_id().map(SuballocationId::stamp));
        Ok((range, value))
    }

    /// Returns the end of a live suballocation, and its position there.
    #[inline]
    fn find_live(&self, id: SuballocationId) -> Result<(usize, usize), SuballocError> {
        let end = usize::from(id.slot() != SLOTS[LOWER]);
        let queue = &self.ends[end];
        let is_it = |range: &Allocated<T>| range.stamp == id.stamp();
        let at = if queue.front().is_some_and(is_it) {
            Some(0)
        } else if queue.back().is_some_and(is_it) {
            Some(queue.len() - 1)
        } else {
            queue.binary_search_by_key(&id.stamp(), |range| range.stamp).ok()
        };
        at.filter(|&at| id.slot() == SLOTS[end] && queue[at].is_live())
            .map(|at| (end, at))
            .ok_or(SuballocError::StaleId { id })
    }

    /// Returns the id of the oldest live suballocation.
    pub(super) fn oldest_id(&self) -> Option<SuballocationId> {
        let oldest = [LOWER, UPPER].into_iter().filter_map(|end| Some((self.ends[end].front()?.stamp, end)));
        oldest.min().map(|(stamp, end)| SuballocationId::new(SLOTS[end], stamp))
    }

    /// Closes a batch: everything allocated since the last batch, at either end, is in use until the fence
    /// reaches this value. O(1).
    ///
    /// With the fence value of the last batch, the new batch becomes part of that one. A batch costs 16 bytes
    /// until it is retired, or until it and all batches before it have no live suballocation. A batch without
    /// live suballocations costs nothing.
    ///
    /// # Errors
    ///
    /// Returns [`FenceOrderError`] if the value is below the one submitted last; the state is then unchanged.
    pub fn submit(&mut self, fence: FenceValue) -> Result<(), FenceOrderError> {
        let newest = self.ends.iter().filter_map(|end| end.back()).map(|newest| newest.stamp).max();
        self.batches.submit(fence, self.next_stamp, newest)
    }

    /// Frees all batches whose fence value is at most `completed`, drops their values, and returns how much
    /// that was. O(1) per suballocation.
    ///
    /// Suballocations that were not submitted stay live. Suballocations freed individually before are not
    /// counted.
    pub fn retire(&mut self, completed: FenceValue) -> Retired {
        self.retire_each(completed, |_, _| ())
    }

    /// Frees batches like [`retire`](Self::retire), and passes each suballocation with its value to `take`,
    /// the oldest first.
    ///
    /// If `take` panics, the suballocations after the one that it was called with are still live.
    ///
    /// ```
    /// use heapwright_core::suballoc::Linear;
    /// use heapwright_core::{Alignment, ByteSize, FenceValue};
    ///
    /// let mut uploads = Linear::with_values(ByteSize::from_kib(64))?;
    /// for (frame, name) in [(1, "first frame"), (2, "second frame")] {
    ///     let upload = uploads.allocate(ByteSize::from_kib(10), Alignment::ONE)?;
    ///     uploads.set_value(upload.id, Some(name))?;
    ///     uploads.submit(FenceValue::new(frame))?;
    /// }
    /// let mut done = Vec::new();
    /// uploads.retire_each(FenceValue::new(1), |_, name| done.extend(name));
    /// assert_eq!(done, ["first frame"]);
    /// assert_eq!(uploads.oldest_fence(), Some(FenceValue::new(2)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn retire_each(
        &mut self,
        completed: FenceValue,
        mut take: impl FnMut(Suballocation, Option<T>),
    ) -> Retired {
        let mut retired = Retired::default();
        while self.batches.oldest().is_some_and(|fence| fence <= completed) {
            // The oldest batch has a live suballocation, so the oldest suballocation is in that batch.
            let Some(id) = self.oldest_id() else { break };
            let Ok((range, value)) = self.remove(id) else { break };
            retired.suballocations += 1;
            retired.bytes = retired.bytes.saturating_add(range.size());
            take(Suballocation { id, range }, value);
        }
        retired
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
        self.next_stamp = self.next_stamp.max(next);
    }

    /// Returns the stamp of the next suballocation.
    pub(crate) const fn next_stamp(&self) -> Stamp {
        self.next_stamp
    }

    /// Frees everything at once, submitted or not, and drops all values. Ids of live suballocations become
    /// stale.
    ///
    /// The last submitted fence value is forgotten, so a new fence may start from the beginning.
    pub fn clear(&mut self) {
        // If the drop of a value panics, the ranges are still live.
        if std::mem::needs_drop::<T>() {
            self.ends.iter_mut().flatten().for_each(|range| range.value = None);
        }
        self.ends.iter_mut().for_each(VecDeque::clear);
        (self.used, self.allocation_count) = (0, 0);
        self.batches.clear();
    }

    /// Returns the value of a live suballocation, or `None` if it has none, was freed, or the id is not from
    /// this suballocator. O(1).
    #[must_use]
    pub fn value(&self, id: SuballocationId) -> Option<&T> {
        let (end, at) = self.find_live(id).ok()?;
        self.ends[end][at].value.as_ref()
    }

    /// Sets or removes the value of a live suballocation, and returns the previous one. O(1).
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::StaleId`] if it was freed, or the id is not from this suballocator.
    pub fn set_value(&mut self, id: SuballocationId, value: Option<T>) -> Result<Option<T>, SuballocError> {
        let (end, at) = self.find_live(id)?;
        Ok(std::mem::replace(&mut self.ends[end][at].value, value))
    }

    /// Returns the range of a live suballocation. O(1).
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::StaleId`] if it was freed, or the id is not from this suballocator.
    pub fn range_of(&self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        let (end, at) = self.find_live(id)?;
        let live = &self.ends[end][at];
        Ok(heap_range(live.start, live.size))
    }

    /// Returns the size of the managed range. O(1).
    #[must_use]
    pub const fn capacity(&self) -> ByteSize {
        ByteSize::new(self.capacity)
    }

    /// Returns the sum of the requested sizes of all live suballocations. O(1).
    #[must_use]
    pub const fn used(&self) -> ByteSize {
        ByteSize::new(self.used)
    }

    /// Returns the number of bytes in free ranges. O(1).
    ///
    /// Bytes counted neither here nor in [`used`](Self::used) are padding.
    #[must_use]
    pub fn free_size(&self) -> ByteSize {
        let Gaps { middle: (start, end), at_zero, .. } = self.gaps();
        ByteSize::new(end - start + at_zero)
    }

    /// Returns the number of live suballocations. O(1).
    #[must_use]
    pub const fn allocation_count(&self) -> u64 {
        self.allocation_count
    }

    /// Returns whether there are no live suballocations. O(1).
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.allocation_count == 0
    }

    /// Returns the size of the largest free range. O(1).
    ///
    /// The value is exact for the lower end: a request of this size at alignment 1 succeeds, and a larger
    /// request fails.
    #[must_use]
    pub fn largest_free_range(&self) -> ByteSize {
        let Gaps { middle: (start, end), at_zero, .. } = self.gaps();
        ByteSize::new(at_zero.max(end - start))
    }

    /// Returns an iterator over all ranges in address order. Amortized O(1) per step.
    pub fn ranges(&self) -> impl Iterator<Item = RangeUse> {
        let Gaps { middle: (free, _), at_zero, .. } = self.gaps();
        let (mut used, mut end) = (self.in_address_order().peekable(), 0);
        std::iter::from_fn(move || {
            if let Some((slot, live)) = used.next_if(|(_, live)| live.start == end) {
                end = live.end();
                return Some(RangeUse::Used(Suballocation::new(slot, live.stamp, live.start, live.size)));
            }
            let to = used.peek().map_or(self.capacity, |(_, live)| live.start);
            let start = std::mem::replace(&mut end, to);
            let gap = (start < to).then(|| heap_range(start, to - start))?;
            let is_free = start == free || (start == 0 && at_zero > 0);
            Some(if is_free { RangeUse::Free(gap) } else { RangeUse::Padding(gap) })
        })
    }

    /// Iterates over the live ranges in address order, with the slots of their ids.
    fn in_address_order(&self) -> impl Iterator<Item = (NonZeroU32, &Allocated<T>)> {
        let [lower, upper] = &self.ends;
        let wrapped = self.first_wrapped();
        let lower = lower.range(wrapped..).chain(lower.range(..wrapped)).map(|range| (SLOTS[LOWER], range));
        let upper = upper.iter().rev().map(|range| (SLOTS[UPPER], range));
        lower.chain(upper).filter(|(_, range)| range.is_live())
    }

    /// Returns the position at the lower end of the first range that was allocated after the ring wrapped.
    fn first_wrapped(&self) -> usize {
        let lower = &self.ends[LOWER];
        let oldest = lower.front().map_or(0, |oldest| oldest.start);
        lower.partition_point(|range| range.start >= oldest)
    }

    /// Reserves space for at least `additional` more suballocations of the lower end, of 32 bytes each without
    /// values.
    ///
    /// Otherwise the queue doubles when it is full: O(1) on average, but O(n) for that one allocation.
    pub fn reserve(&mut self, additional: usize) {
        self.ends[LOWER].reserve(additional);
    }
}

impl<T> fmt::Debug for Linear<T> {
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

/// Returns the lowest aligned start in the gap from `start` to `end`, if the request fits there. No argument
/// exceeds 2^63.
#[inline]
const fn lowest_in(start: u64, end: u64, size: u64, alignment: Alignment) -> Option<u64> {
    // The sum is at most 2^64 - 1.
    let aligned = (start + alignment.mask()) & !alignment.mask();
    match end.checked_sub(aligned) {
        Some(room) if room >= size => Some(aligned),
        _ => None,
    }
}

/// Returns the highest aligned start in the gap from `start` to `end`, if the request fits there.
#[inline]
const fn highest_in(start: u64, end: u64, size: u64, alignment: Alignment) -> Option<u64> {
    match end.checked_sub(size) {
        Some(latest) if latest & !alignment.mask() >= start => Some(latest & !alignment.mask()),
        _ => None,
    }
}
