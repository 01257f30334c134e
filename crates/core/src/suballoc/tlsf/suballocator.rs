//! The TLSF suballocator: splitting and coalescing of free ranges.

use std::fmt;

use super::super::suballocation::{NoValue, Stamp, Suballocation, SuballocationId, heap_range};
use super::super::{FreeRangeChoice, SuballocError};
use super::bins::{Bin, Bins};
use super::nodes::{Node, NodeIndex, Nodes, Slot, suballocation};
use super::request::{Placement, Request};
use crate::{Alignment, ByteSize, HeapRange};

/// A suballocator with a good-fit search in constant time, however many suballocations are live.
///
/// It manages the offsets from zero to its capacity, to the byte, and not the memory itself. The [module
/// page](super) describes the algorithm.
///
/// | call | cost |
/// |---|---|
/// | [`allocate`](Self::allocate), [`free`](Self::free) | O(1); the table of ranges grows by doubling, see [`reserve`](Self::reserve) |
/// | [`allocate_with`](Self::allocate_with) | O(1), or O(n) at the lowest offset |
/// | [`value`](Self::value), [`set_value`](Self::set_value) | O(1) |
/// | counts, sizes, [`largest_free_range`](Self::largest_free_range) | O(1) |
/// | [`ranges`](Self::ranges) | O(1) per step |
/// | [`clear`](Self::clear) | O(number of bins); O(n) with values |
/// | [`audit`](Self::audit) | O(n log n) for n ranges; for tests |
///
/// It is deterministic: the same calls return the same offsets on every machine. Dropping it does not free
/// the memory, which it does not own.
///
/// # Values
///
/// What D3D12MA and VMA call a virtual block is a suballocator [`with_values`](Self::with_values): each
/// suballocation may have a value of type `T`, which is kept in its node, without hashing or host allocations
/// of its own. A value is dropped when its suballocation is freed, unless it was taken with
/// [`set_value`](Self::set_value) before. The suballocator is `Send` if `T` is.
///
/// ```
/// use heapwright_core::suballoc::Tlsf;
/// use heapwright_core::{Alignment, ByteSize};
///
/// let mut buffer = Tlsf::with_values(ByteSize::from_mib(64))?;
/// let rock = buffer.allocate(ByteSize::from_kib(48), Alignment::new(16).unwrap())?;
/// buffer.set_value(rock.id, Some("rock"))?;
/// assert_eq!(buffer.value(rock.id), Some(&"rock"));
/// buffer.free(rock.id)?;
/// assert_eq!(buffer.value(rock.id), None);
/// # Ok::<(), heapwright_core::suballoc::SuballocError>(())
/// ```
///
/// # Examples
///
/// ```
/// use heapwright_core::suballoc::Tlsf;
/// use heapwright_core::{Alignment, ByteSize};
///
/// let mut heap = Tlsf::new(ByteSize::from_mib(64))?;
/// let texture = heap.allocate(ByteSize::from_mib(4), Alignment::new(64 << 10).unwrap())?;
/// let constants = heap.allocate(ByteSize::new(640), Alignment::new(256).unwrap())?;
/// assert!(!texture.range.overlaps(constants.range));
/// assert_eq!(heap.used(), ByteSize::new((4 << 20) + 640));
///
/// assert_eq!(heap.free(texture.id)?, texture.range);
/// heap.free(constants.id)?;
/// assert_eq!(heap.largest_free_range(), heap.capacity());
/// # Ok::<(), heapwright_core::suballoc::SuballocError>(())
/// ```
///
/// A request needs one contiguous free range. Here half of the heap is free, in four ranges:
///
/// ```
/// use heapwright_core::suballoc::{SuballocError, Tlsf};
/// use heapwright_core::{Alignment, ByteSize};
///
/// let mib = ByteSize::from_mib(1);
/// let mut heap = Tlsf::new(ByteSize::from_mib(8))?;
/// let all: Vec<_> = (0..8).map(|_| heap.allocate(mib, Alignment::ONE)).collect::<Result<_, _>>()?;
/// for suballocation in all.iter().step_by(2) {
///     heap.free(suballocation.id)?;
/// }
///
/// let refused = heap.allocate(ByteSize::from_mib(2), Alignment::ONE).unwrap_err();
/// assert!(refused.is_out_of_space());
/// assert_eq!(
///     refused.to_string(),
///     "no free range holds 2.00 MiB at alignment 1 B: 4.00 MiB free, largest free range 1.00 MiB"
/// );
/// // The one between two of the pieces makes them a larger one.
/// heap.free(all[1].id)?;
/// assert_eq!(heap.largest_free_range(), ByteSize::from_mib(3));
/// heap.allocate(ByteSize::from_mib(2), Alignment::ONE)?;
/// # Ok::<(), SuballocError>(())
/// ```
#[derive(Clone)]
#[doc(alias = "VirtualBlock")]
pub struct Tlsf<T = NoValue> {
    pub(super) nodes: Nodes<T>,
    pub(super) bins: Bins,
    /// The highest bin: that of a free range of the whole capacity, or of the largest capacity it had.
    pub(super) highest_bin: Bin,
    /// The capacity in bytes, 1 to 2^63.
    pub(super) capacity: u64,
    /// The sum of the sizes of the used ranges.
    pub(super) used: u64,
    /// The number of used ranges.
    pub(super) allocation_count: u64,
    /// The stamp of the next suballocation.
    pub(super) next_stamp: Stamp,
}

impl Tlsf {
    /// The largest capacity: 2^63 bytes.
    pub const MAX_CAPACITY: ByteSize = ByteSize::new(1 << 63);

    /// Creates a suballocator without values for the offsets from zero to `capacity`, all free.
    ///
    /// Takes O(log capacity) time, and at most 15 KiB of host memory for the bins.
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::CapacityOutOfBounds`] if `capacity` is zero or exceeds
    /// [`MAX_CAPACITY`](Self::MAX_CAPACITY).
    pub fn new(capacity: ByteSize) -> Result<Self, SuballocError> {
        Self::with_values(capacity)
    }

    /// Returns the class of a size. Classes increase with the size, 32 per power of two, and are below 1,920.
    #[inline]
    pub(crate) const fn size_class(size: u64) -> u32 {
        Bin::of(size).number()
    }
}

impl<T> Tlsf<T> {
    /// Creates a suballocator like [`new`](Tlsf::new), with an optional value for each suballocation.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`new`](Tlsf::new).
    pub fn with_values(capacity: ByteSize) -> Result<Self, SuballocError> {
        Self::with_range_limit(capacity, u32::MAX)
    }

    /// Creates a suballocator with at most `range_limit` ranges, used and free; at least 1.
    pub(super) fn with_range_limit(capacity: ByteSize, range_limit: u32) -> Result<Self, SuballocError> {
        if capacity.is_zero() || capacity > Tlsf::MAX_CAPACITY {
            return Err(SuballocError::CapacityOutOfBounds { capacity, limit: Tlsf::MAX_CAPACITY });
        }
        let highest_bin = Bin::of(capacity.get());
        let mut tlsf = Self {
            nodes: Nodes::new(highest_bin.number() + 1, range_limit),
            bins: Bins::new(),
            highest_bin,
            capacity: capacity.get(),
            used: 0,
            allocation_count: 0,
            next_stamp: Stamp::FIRST,
        };
        tlsf.reset();
        Ok(tlsf)
    }

    /// Allocates `size` bytes at a multiple of `alignment`. O(1).
    ///
    /// The rest of the free range, before the suballocation for the alignment and after it, stays free:
    /// nothing is rounded.
    ///
    /// # The rule
    ///
    /// The first of these free ranges in which the request fits is taken, at the first aligned offset in it:
    ///
    /// 1. Let R be the size rounded up to a multiple of the alignment. The free range freed last in the bin
    ///    of R, then the one in the next bin that is not empty. At alignment 1, the latter fits if there is
    ///    one. At larger alignments, a range of R bytes fits if it starts or ends at a multiple of the
    ///    alignment: if all requests have the same alignment, each free range ends at one.
    /// 2. Up to 16 free ranges, in the bins from that of R up, that may fit.
    /// 3. One that is large enough to fit wherever it starts.
    /// 4. Up to 64 free ranges from the largest down to the requested size.
    ///
    /// The time is therefore bounded, but in a fragmented heap a request may be refused although a free range
    /// holds it. A request is certain to succeed if any of these holds:
    ///
    /// - Some free range has `size + alignment - 1` bytes and 1/32 more.
    /// - A free range fits, and there are no more than 64 free ranges.
    /// - It asks for [`largest_free_range`](Self::largest_free_range) bytes at alignment 1.
    ///
    /// # Errors
    ///
    /// On error, the state is unchanged.
    ///
    /// - [`SuballocError::OutOfSpace`]: no free range was found.
    /// - [`SuballocError::LargerThanCapacity`], [`SuballocError::ZeroSize`]: this request can never succeed.
    /// - [`SuballocError::TooManyRanges`]: the limit of about four thousand million ranges is reached.
    ///
    /// # Examples
    ///
    /// Padding before an aligned suballocation is a free range like any other:
    ///
    /// ```
    /// use heapwright_core::suballoc::Tlsf;
    /// use heapwright_core::{Alignment, ByteSize, HeapOffset};
    ///
    /// let mut heap = Tlsf::new(ByteSize::from_kib(4))?;
    /// heap.allocate(ByteSize::new(1), Alignment::ONE)?;
    /// let aligned = heap.allocate(ByteSize::new(100), Alignment::new(1024).unwrap())?;
    /// assert_eq!(aligned.range.start(), HeapOffset::new(1024));
    /// let small = heap.allocate(ByteSize::new(1023), Alignment::ONE)?;
    /// assert_eq!(small.range.start(), HeapOffset::new(1));
    /// # Ok::<(), heapwright_core::suballoc::SuballocError>(())
    /// ```
    #[inline]
    pub fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Result<Suballocation, SuballocError> {
        self.allocate_by(size, alignment, Self::search)
    }

    /// Allocates like [`allocate`](Self::allocate), which uses [`FreeRangeChoice::MinMemory`], by the given
    /// strategy.
    ///
    /// - [`FreeRangeChoice::MinTime`] takes the first free range that is certain to fit, once the size is rounded up
    ///   to the alignment; if there is none, it continues like `MinMemory`. O(1).
    /// - [`FreeRangeChoice::MinOffset`] takes the lowest free range in which the request fits, and refuses a request
    ///   only if no free range holds it. It walks the ranges by address: O(n) for n ranges, used and free.
    ///
    /// Whatever the strategy, the requests that are certain to succeed are the same.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`allocate`](Self::allocate).
    ///
    /// ```
    /// use heapwright_core::suballoc::{FreeRangeChoice, Tlsf};
    /// use heapwright_core::{Alignment, ByteSize, HeapOffset};
    ///
    /// let mut heap = Tlsf::new(ByteSize::new(1000))?;
    /// let low = heap.allocate(ByteSize::new(300), Alignment::ONE)?;
    /// heap.allocate(ByteSize::new(500), Alignment::ONE)?;
    /// heap.free(low.id)?;
    /// // 300 bytes are free below, and 200 above, which fit better.
    /// let (size, one) = (ByteSize::new(200), Alignment::ONE);
    /// let lowest = heap.allocate_with(size, one, FreeRangeChoice::MinOffset)?;
    /// assert_eq!(lowest.range.start(), HeapOffset::ZERO);
    /// assert_eq!(heap.allocate(size, one)?.range.start(), HeapOffset::new(800));
    /// # Ok::<(), heapwright_core::suballoc::SuballocError>(())
    /// ```
    pub fn allocate_with(
        &mut self,
        size: ByteSize,
        alignment: Alignment,
        strategy: FreeRangeChoice,
    ) -> Result<Suballocation, SuballocError> {
        match strategy {
            FreeRangeChoice::MinMemory => self.allocate_by(size, alignment, Self::search),
            FreeRangeChoice::MinTime => self.allocate_by(size, alignment, Self::search_fast),
            FreeRangeChoice::MinOffset => self.allocate_by(size, alignment, Self::search_lowest),
        }
    }

    // Inlined into the caller's caller: returning the result through memory costs 2 of 25 ns in a heap set
    // (2026-11-21).
    #[inline(always)]
    fn allocate_by(
        &mut self,
        size: ByteSize,
        alignment: Alignment,
        search: impl FnOnce(&Self, Request) -> Option<Placement>,
    ) -> Result<Suballocation, SuballocError> {
        if size.is_zero() {
            return Err(SuballocError::ZeroSize);
        }
        if size.get() > self.capacity {
            return Err(SuballocError::LargerThanCapacity { requested: size, capacity: self.capacity() });
        }
        let request = Request { size: size.get(), alignment_mask: alignment.mask() };
        let Some(placement) = search(self, request) else {
            return Err(self.out_of_space(size, alignment));
        };
        self.allocate_at(placement, size)
    }

    /// Allocates at the placement that [`find`](Self::find) or a similar function returned for this size.
    /// Nothing may have changed since. O(1).
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::TooManyRanges`] if the limit on the number of ranges is reached.
    #[inline(always)]
    pub(crate) fn allocate_at(
        &mut self,
        placement: Placement,
        size: ByteSize,
    ) -> Result<Suballocation, SuballocError> {
        if !self.nodes.prepare_two() {
            return Err(SuballocError::TooManyRanges { limit: self.nodes.range_limit() });
        }
        Ok(self.split(placement, size.get()))
    }

    /// Uses `size` bytes of a free range from `start` on. The bytes before and after stay free.
    #[inline(always)]
    fn split(&mut self, Placement { free, start }: Placement, size: u64) -> Suballocation {
        let (slots, vacant, rings) = self.nodes.parts_mut();
        let range = slots[free];
        let padding = start - range.start();
        let rest = range.size() - padding - size;

        let (mut used, mut below, mut above) = (free, range.below, range.above);
        if rest > 0 {
            // The rest keeps the node: if it is the larger part of a large range, it stays in its bin.
            used = vacant.take(slots);
            above = free;
            slots[free] = Node::free(start + size, rest, used, range.above);
            let bin = Bin::of(rest);
            if bin != Bin::of(range.size()) {
                self.bins.remove(rings, free);
                self.bins.insert(rings, free, bin);
            }
        } else {
            self.bins.remove(rings, free);
        }
        if padding > 0 {
            let front = vacant.take(slots);
            slots[front] = Node::free(range.start(), padding, below, used);
            self.bins.insert(rings, front, Bin::of(padding));
            slots[below].above = front;
            below = front;
        } else {
            slots[below].above = used;
        }
        let stamp = self.next_stamp;
        slots[used] = Node::used(start, size, below, above, stamp);
        self.next_stamp = stamp.next();
        self.used += size;
        self.allocation_count += 1;
        suballocation(used, stamp, start, size)
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

    /// Frees a suballocation, drops its value, and returns its range. O(1).
    ///
    /// Its bytes coalesce with the free neighbours on both sides.
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::StaleId`] if the suballocation was freed before, or the id is not from this
    /// suballocator. The state is then unchanged.
    ///
    /// ```
    /// use heapwright_core::suballoc::{SuballocError, Tlsf};
    /// use heapwright_core::{Alignment, ByteSize};
    ///
    /// let mut heap = Tlsf::new(ByteSize::from_kib(1))?;
    /// let old = heap.allocate(ByteSize::new(16), Alignment::ONE)?;
    /// heap.free(old.id)?;
    /// let new = heap.allocate(ByteSize::new(16), Alignment::ONE)?;
    /// // The same bytes, but not the same suballocation.
    /// assert_eq!(new.range, old.range);
    /// assert_eq!(heap.free(old.id), Err(SuballocError::StaleId { id: old.id }));
    /// assert_eq!(heap.allocation_count(), 1);
    /// # Ok::<(), SuballocError>(())
    /// ```
    #[inline(always)]
    pub fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        let index = NodeIndex::from_slot(id.slot());
        let freed = self.nodes.live(id)?.node;
        // Dropped at the end, when the state is consistent.
        let _value = self.nodes.value_mut(id)?.take();
        self.used -= freed.size();
        self.allocation_count -= 1;

        let (slots, vacant, rings) = self.nodes.parts_mut();
        let (mut start, mut size) = (freed.start(), freed.size());
        let (mut below, mut above) = (freed.below, freed.above);
        let lower = slots[below];
        if !lower.is_used() {
            self.bins.remove(rings, below);
            vacant.give_back(slots, below);
            start = lower.start();
            size += lower.size();
            below = lower.below;
            slots[below].above = index;
        }
        let upper = slots[above];
        if !upper.is_used() {
            self.bins.remove(rings, above);
            vacant.give_back(slots, above);
            size += upper.size();
            above = upper.above;
            slots[above].below = index;
        }
        if self.allocation_count > 0 {
            slots[index] = Node::free(start, size, below, above);
            self.bins.insert(rings, index, Bin::of(size));
        } else {
            self.reset();
        }
        Ok(heap_range(freed.start(), freed.size()))
    }

    /// Returns the range of a live suballocation. O(1).
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::StaleId`] if it was freed, or the id is not from this suballocator.
    pub fn range_of(&self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        self.nodes.live(id).map(|Slot { node, .. }| heap_range(node.start(), node.size()))
    }

    /// Returns the value of a live suballocation, or `None` if it has none, was freed, or the id is not from
    /// this suballocator. O(1).
    #[must_use]
    pub fn value(&self, id: SuballocationId) -> Option<&T> {
        self.nodes.live(id).ok()?.value.as_ref()
    }

    /// Sets or removes the value of a live suballocation, and returns the previous one. O(1).
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::StaleId`] if it was freed, or the id is not from this suballocator.
    #[inline]
    pub fn set_value(&mut self, id: SuballocationId, value: Option<T>) -> Result<Option<T>, SuballocError> {
        Ok(std::mem::replace(self.nodes.value_mut(id)?, value))
    }

    /// Frees everything at once, and drops all values. Ids of live suballocations become stale. O(number of
    /// bins), however many are live; O(n) if values have to be dropped.
    pub fn clear(&mut self) {
        if self.allocation_count > 0 {
            self.nodes.drop_values();
            self.nodes.unlink_all_bins();
            self.bins = Bins::new();
            (self.used, self.allocation_count) = (0, 0);
            self.reset();
        }
    }

    /// Makes the whole capacity one free range, as in a new suballocator. All bins must be empty. The stamps
    /// continue. O(1).
    fn reset(&mut self) {
        let whole = self.nodes.reset();
        let (slots, _, rings) = self.nodes.parts_mut();
        slots[whole] = Node::free(0, self.capacity, NodeIndex::EDGE, NodeIndex::EDGE);
        self.bins.insert(rings, whole, Bin::of(self.capacity));
    }

    /// Changes the capacity if nothing is allocated and the bins suffice for it. Returns whether it did. The
    /// stamps continue. O(1).
    pub(crate) fn try_resize(&mut self, capacity: ByteSize) -> bool {
        if !self.is_empty() || capacity.is_zero() || Bin::of(capacity.get()) > self.highest_bin {
            return false;
        }
        let (slots, _, rings) = self.nodes.parts_mut();
        self.bins.remove(rings, slots[NodeIndex::EDGE].above);
        self.capacity = capacity.get();
        self.reset();
        true
    }

    /// Returns the highest size class for which there is a bin.
    pub(crate) const fn highest_size_class(&self) -> u32 {
        self.highest_bin.number()
    }

    /// Returns the size of the managed range. O(1).
    #[must_use]
    pub const fn capacity(&self) -> ByteSize {
        ByteSize::new(self.capacity)
    }

    /// Returns the sum of the requested sizes; nothing is rounded. O(1).
    #[must_use]
    pub const fn used(&self) -> ByteSize {
        ByteSize::new(self.used)
    }

    /// Returns the total size of the free ranges. O(1).
    #[must_use]
    pub const fn free_size(&self) -> ByteSize {
        ByteSize::new(self.capacity - self.used)
    }

    /// Returns the number of live suballocations. O(1).
    #[must_use]
    pub const fn allocation_count(&self) -> u64 {
        self.allocation_count
    }

    /// Returns the number of free ranges. O(1).
    #[must_use]
    pub fn free_range_count(&self) -> u64 {
        self.nodes.range_count() - self.allocation_count
    }

    /// Returns whether there are no live suballocations. O(1).
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.allocation_count == 0
    }

    /// Returns the size of a large free range, or zero if nothing is free. O(1).
    ///
    /// The value is a lower bound of the largest: no free range is larger by 1/32 or more. It is exact if
    /// only one free range is in that size class. The range exists, so a request of this size at alignment 1
    /// succeeds.
    #[must_use]
    pub fn largest_free_range(&self) -> ByteSize {
        let size = |bin| self.nodes.slots()[self.first_in(bin)].size();
        ByteSize::new(self.bins.highest().map_or(0, size))
    }

    /// Continues the stamps of an earlier suballocator, so that its ids are stale here.
    pub(crate) fn continue_stamps(&mut self, next: Stamp) {
        self.next_stamp = self.next_stamp.max(next);
    }

    /// Returns the stamp of the next suballocation.
    pub(crate) const fn next_stamp(&self) -> Stamp {
        self.next_stamp
    }

    /// Returns the size class of the largest free range, or zero if nothing is free. O(1).
    ///
    /// The value is that of [`size_class`](Tlsf::size_class) for the range's size, obtained without reading
    /// the range.
    #[inline]
    pub(crate) fn largest_size_class(&self) -> u32 {
        self.bins.highest().map_or(0, Bin::number)
    }

    /// Reserves space in the table of ranges for at least `additional` more suballocations, of 80 bytes each
    /// without values.
    ///
    /// Otherwise the table doubles when it is full: O(1) on average, but O(n) for that one allocation.
    pub fn reserve(&mut self, additional: usize) {
        // An allocation turns one range into two or three.
        self.nodes.reserve(additional.saturating_mul(2));
    }
}

impl<T> fmt::Debug for Tlsf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tlsf")
            .field("capacity", &self.capacity())
            .field("used", &self.used())
            .field("allocation_count", &self.allocation_count())
            .field("free_range_count", &self.free_range_count())
            .field("largest_free_range", &self.largest_free_range())
            .finish_non_exhaustive()
    }
}
