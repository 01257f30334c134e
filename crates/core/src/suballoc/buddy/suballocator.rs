//! The buddy suballocator: rounding of requests, and counters.

use std::fmt;

use super::super::slots::SlotIndex;
use super::super::suballocation::{Stamp, Suballocation, SuballocationId, heap_range};
use super::super::suballocator::suballocator_by_methods;
use super::super::{AuditError, SuballocError};
use super::audit;
use super::blocks::{Block, Blocks};
use super::order::Order;
use super::ranges::Ranges;
use crate::{Alignment, ByteSize, HeapRange};

/// A suballocator that hands out blocks of powers of two by halving larger blocks and joining them again.
///
/// It manages the offsets from zero to its capacity, not the memory itself. The [module page](super)
/// describes the algorithm.
///
/// | call | cost |
/// |---|---|
/// | [`allocate`](Self::allocate), [`free`](Self::free) | O(log capacity), at most 63 steps of a few instructions; the table of blocks grows by doubling, see [`reserve`](Self::reserve) |
/// | counts, sizes, [`largest_free_range`](Self::largest_free_range) | O(1) |
/// | [`ranges`](Self::ranges) | O(1) per step |
/// | [`clear`](Self::clear) | O(log capacity) |
/// | [`audit`](Self::audit) | O(n log n) for n blocks; for tests |
///
/// It is deterministic: the same calls return the same offsets on every machine. Dropping it does not free
/// the memory, which it does not own.
///
/// # Examples
///
/// ```
/// use heapwright_core::suballoc::Buddy;
/// use heapwright_core::{Alignment, ByteSize};
///
/// let mut heap = Buddy::new(ByteSize::from_mib(64))?;
/// let tile = heap.allocate(ByteSize::from_kib(64), Alignment::ONE)?;
/// // A block is aligned to its own size, whether that was asked for or not.
/// assert!(tile.range.start().is_aligned(Alignment::new(64 << 10).unwrap()));
///
/// // 100 KiB need a block of 128 KiB. The rest of it is padding.
/// heap.allocate(ByteSize::from_kib(100), Alignment::ONE)?;
/// assert_eq!(heap.used(), ByteSize::from_kib(164));
/// assert_eq!(heap.free_size(), ByteSize::from_kib(64 * 1024 - 64 - 128));
/// # Ok::<(), heapwright_core::suballoc::SuballocError>(())
/// ```
///
/// A capacity that is not a power of two loses nothing, but no block extends beyond the end of a root:
///
/// ```
/// use heapwright_core::suballoc::Buddy;
/// use heapwright_core::{Alignment, ByteSize};
///
/// let mut heap = Buddy::new(ByteSize::from_mib(12))?;
/// assert_eq!(heap.largest_free_range(), ByteSize::from_mib(8));
/// heap.allocate(ByteSize::from_mib(8), Alignment::ONE)?;
/// heap.allocate(ByteSize::from_mib(4), Alignment::ONE)?;
/// assert_eq!(heap.free_size(), ByteSize::ZERO);
/// # Ok::<(), heapwright_core::suballoc::SuballocError>(())
/// ```
#[derive(Clone)]
pub struct Buddy {
    pub(super) blocks: Blocks,
    /// The capacity in bytes, 1 to 2^63.
    pub(super) capacity: u64,
    /// The order of the smallest blocks.
    pub(super) minimum: Order,
    /// The sum of the requested sizes, in bytes.
    pub(super) used: u64,
    /// The sum of the sizes of the free blocks, in bytes.
    pub(super) free: u64,
    /// The number of used blocks.
    pub(super) allocation_count: u64,
    /// The stamp of the next suballocation.
    pub(super) next_stamp: Stamp,
}

impl Buddy {
    /// The largest capacity: 2^63 bytes.
    pub const MAX_CAPACITY: ByteSize = ByteSize::new(1 << 63);

    /// Creates a suballocator for the offsets from zero to `capacity`, all free, with blocks down to one
    /// byte.
    ///
    /// Takes O(log capacity) time, and 3 KiB of host memory for the lists and the first blocks.
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::CapacityOutOfBounds`] if `capacity` is zero or exceeds
    /// [`MAX_CAPACITY`](Self::MAX_CAPACITY).
    pub fn new(capacity: ByteSize) -> Result<Self, SuballocError> {
        Self::with_minimum(capacity, Alignment::ONE)
    }

    /// Creates a suballocator like [`new`](Self::new), with no blocks smaller than `minimum`. Smaller
    /// requests get a block of that size.
    ///
    /// Every suballocation then starts at a multiple of the minimum, and there are fewer orders between the
    /// largest block and the smallest. The remainder of the capacity modulo the minimum is padding at the end
    /// of the range.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`new`](Self::new), and [`SuballocError::CapacityBelowMinimum`] if the minimum
    /// is larger than the capacity.
    ///
    /// ```
    /// use heapwright_core::suballoc::Buddy;
    /// use heapwright_core::{Alignment, ByteSize};
    ///
    /// let mut heap = Buddy::with_minimum(ByteSize::new(1000), Alignment::new(256).unwrap())?;
    /// // Three blocks, and 232 bytes of padding.
    /// assert_eq!(heap.free_size(), ByteSize::new(3 * 256));
    /// heap.allocate(ByteSize::new(1), Alignment::ONE)?;
    /// assert_eq!(heap.free_size(), ByteSize::new(2 * 256));
    /// # Ok::<(), heapwright_core::suballoc::SuballocError>(())
    /// ```
    pub fn with_minimum(capacity: ByteSize, minimum: Alignment) -> Result<Self, SuballocError> {
        Self::with_block_limit(capacity, minimum, u32::MAX)
    }

    /// Creates a suballocator like [`with_minimum`](Self::with_minimum), with at most `block_limit` blocks,
    /// used and free. The limit must be enough for the roots.
    pub(super) fn with_block_limit(
        capacity: ByteSize,
        minimum: Alignment,
        block_limit: u32,
    ) -> Result<Self, SuballocError> {
        if capacity.is_zero() || capacity > Self::MAX_CAPACITY {
            return Err(SuballocError::CapacityOutOfBounds { capacity, limit: Self::MAX_CAPACITY });
        }
        if capacity.get() < minimum.get() {
            return Err(SuballocError::CapacityBelowMinimum { capacity, minimum });
        }
        let in_blocks = capacity.get() & !minimum.mask();
        Ok(Self {
            blocks: Blocks::new(in_blocks, block_limit),
            capacity: capacity.get(),
            minimum: Order::of_alignment(minimum),
            used: 0,
            free: in_blocks,
            allocation_count: 0,
            next_stamp: Stamp::FIRST,
        })
    }

    /// Returns the number of bytes that blocks cover: all but the padding at the end.
    pub(super) const fn in_blocks(&self) -> u64 {
        self.capacity & !(self.minimum.bytes() - 1)
    }

    /// Returns the order of the block for a request of this size.
    #[inline]
    pub(super) fn order_for(&self, size: u64) -> Order {
        Order::holding(size).max(self.minimum)
    }

    /// Allocates `size` bytes at a multiple of `alignment`. O(log capacity).
    ///
    /// The request gets a block of its size rounded up to a power of two, or of the minimum if that is
    /// larger. The rest of the block is padding until it is freed.
    ///
    /// # The rule
    ///
    /// Let B be the size of that block. If the alignment is not larger than B, every block of B bytes or more
    /// satisfies it, because every block starts at a multiple of its size:
    ///
    /// - The smallest free block of B bytes or more is taken, and halved down to B, keeping the first half
    ///   each time. Among equal blocks, the one that was freed last is taken.
    ///
    /// A larger alignment does not make the block larger:
    ///
    /// 1. The smallest free block that is at least as large as the alignment is taken, and halved down to B.
    /// 2. If there is none, up to 64 free blocks of B bytes or more are examined in order of size, and the
    ///    first that starts at a multiple of the alignment is taken.
    ///
    /// A request is certain to succeed if any of these holds:
    ///
    /// - Some free block is at least as large as both the size and the alignment.
    /// - Some free block is at least as large as the size and starts at a multiple of the alignment, and at
    ///   most 64 free blocks of B bytes or more are smaller than the alignment.
    /// - It asks for at most [`largest_free_range`](Self::largest_free_range) bytes at alignment 1. A request
    ///   for more bytes than that is certain to fail.
    ///
    /// # Errors
    ///
    /// On error, the state is unchanged.
    ///
    /// - [`SuballocError::OutOfSpace`]: no free block was found.
    /// - [`SuballocError::LargerThanCapacity`], [`SuballocError::ZeroSize`]: this request can never succeed.
    /// - [`SuballocError::TooManyRanges`]: the limit of about two thousand million blocks is reached.
    ///
    /// # Examples
    ///
    /// ```
    /// use heapwright_core::suballoc::Buddy;
    /// use heapwright_core::{Alignment, ByteSize, HeapOffset};
    ///
    /// let mut heap = Buddy::new(ByteSize::from_kib(4))?;
    /// let kib = Alignment::new(1024).unwrap();
    /// // Four blocks of 64 bytes, not of 1,024: the rest can be used for something else.
    /// for at in 0..4 {
    ///     let aligned = heap.allocate(ByteSize::new(64), kib)?;
    ///     assert_eq!(aligned.range.start(), HeapOffset::new(at * 1024));
    /// }
    /// assert_eq!(heap.free_size(), ByteSize::new(4096 - 4 * 64));
    /// assert_eq!(heap.largest_free_range(), ByteSize::new(512));
    /// # Ok::<(), heapwright_core::suballoc::SuballocError>(())
    /// ```
    pub fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Result<Suballocation, SuballocError> {
        let FoundBlock { block, from, order } = self.find(size, alignment)?;
        if !self.blocks.slots.has_room_for(from.number() - order.number()) {
            return Err(SuballocError::TooManyRanges { limit: self.blocks.slots.note_limit() });
        }
        let stamp = self.next_stamp;
        let start = self.blocks.split(block, from, order, size.get(), stamp);
        self.next_stamp = stamp.next();
        self.used += size.get();
        self.free -= order.bytes();
        self.allocation_count += 1;
        Ok(Suballocation::new(block.slot(), stamp, start, size.get()))
    }

    /// Returns the block that [`allocate`](Self::allocate) would split for the request, ignoring the limit on
    /// the number of blocks. O(1).
    pub(crate) fn find(&self, size: ByteSize, alignment: Alignment) -> Result<FoundBlock, SuballocError> {
        if size.is_zero() {
            return Err(SuballocError::ZeroSize);
        }
        if size.get() > self.capacity {
            return Err(SuballocError::LargerThanCapacity { requested: size, capacity: self.capacity() });
        }
        let order = self.order_for(size.get());
        match self.search(order, alignment) {
            Some((block, from)) => Ok(FoundBlock { block, from, order }),
            None => Err(self.out_of_space(size, alignment)),
        }
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

    /// Frees a suballocation and returns its range. O(log capacity).
    ///
    /// Its block is joined with its buddy if that is free, and so on up to the root.
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::StaleId`] if the suballocation was freed before, or the id is not from this
    /// suballocator. The state is then unchanged.
    ///
    /// ```
    /// use heapwright_core::suballoc::{Buddy, SuballocError};
    /// use heapwright_core::{Alignment, ByteSize};
    ///
    /// let mut heap = Buddy::new(ByteSize::new(64))?;
    /// let four: Vec<_> =
    ///     (0..4).map(|_| heap.allocate(ByteSize::new(16), Alignment::ONE)).collect::<Result<_, _>>()?;
    /// // These two are neighbours, and no buddies: they are halves of different blocks.
    /// heap.free(four[1].id)?;
    /// heap.free(four[2].id)?;
    /// assert_eq!(heap.largest_free_range(), ByteSize::new(16));
    /// heap.free(four[3].id)?;
    /// assert_eq!(heap.largest_free_range(), ByteSize::new(32));
    /// assert_eq!(heap.free(four[3].id), Err(SuballocError::StaleId { id: four[3].id }));
    /// # Ok::<(), SuballocError>(())
    /// ```
    pub fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        let block = self.live(id)?;
        let (start, size) = (block.start(), block.size());
        let order = self.order_for(size);
        self.used -= size;
        self.free += order.bytes();
        self.allocation_count -= 1;
        if self.allocation_count > 0 {
            self.blocks.join(SlotIndex::from_slot(id.slot()), order);
        } else {
            self.blocks.reset(self.in_blocks());
        }
        Ok(heap_range(start, size))
    }

    /// Returns the block of a live suballocation.
    #[inline]
    fn live(&self, id: SuballocationId) -> Result<&Block, SuballocError> {
        match self.blocks.slots.get(SlotIndex::from_slot(id.slot())) {
            Some(block) if block.stamp() == Some(id.stamp()) => Ok(block),
            _ => Err(SuballocError::StaleId { id }),
        }
    }

    /// Continues the stamps of an earlier suballocator, so that its ids are stale here.
    pub(crate) fn continue_stamps(&mut self, next: Stamp) {
        self.next_stamp = self.next_stamp.max(next);
    }

    /// Returns the stamp of the next suballocation.
    pub(crate) const fn next_stamp(&self) -> Stamp {
        self.next_stamp
    }

    /// Returns the range of a live suballocation. O(1).
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::StaleId`] if it was freed, or the id is not from this suballocator.
    pub fn range_of(&self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        self.live(id).map(|block| heap_range(block.start(), block.size()))
    }

    /// Frees everything at once. Ids of live suballocations become stale. O(log capacity), however many are
    /// live.
    pub fn clear(&mut self) {
        if self.allocation_count > 0 {
            self.blocks.reset(self.in_blocks());
            (self.used, self.free, self.allocation_count) = (0, self.in_blocks(), 0);
        }
    }

    /// Returns the size of the managed range. O(1).
    #[must_use]
    pub const fn capacity(&self) -> ByteSize {
        ByteSize::new(self.capacity)
    }

    /// Returns the size of the smallest block. O(1).
    #[must_use]
    pub fn minimum(&self) -> Alignment {
        Alignment::new(self.minimum.bytes()).expect("block sizes are powers of two")
    }

    /// Returns the sum of the requested sizes, without rounding. O(1).
    #[must_use]
    pub const fn used(&self) -> ByteSize {
        ByteSize::new(self.used)
    }

    /// Returns the total size of the free blocks. O(1).
    ///
    /// Bytes counted neither here nor in [`used`](Self::used) are padding: the rounding of requests, and the
    /// remainder after the last block.
    #[must_use]
    pub const fn free_size(&self) -> ByteSize {
        ByteSize::new(self.free)
    }

    /// Returns the number of live suballocations. O(1).
    #[must_use]
    pub const fn allocation_count(&self) -> u64 {
        self.allocation_count
    }

    /// Returns the number of free blocks. O(1).
    #[must_use]
    pub fn free_range_count(&self) -> u64 {
        self.blocks.slots.count() - self.allocation_count
    }

    /// Returns whether there are no live suballocations. O(1).
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.allocation_count == 0
    }

    /// Returns the size of the largest free block, or zero if there is none. O(1).
    ///
    /// The value is exact: a request of this size at alignment 1 succeeds, and a larger request fails.
    #[must_use]
    pub fn largest_free_range(&self) -> ByteSize {
        ByteSize::new(self.blocks.largest_free().map_or(0, Order::bytes))
    }

    /// Returns an iterator over all ranges in address order. O(1) per step.
    ///
    /// A free range is one free block, so two free ranges may be neighbours. Padding follows the suballocation
    /// that was rounded up.
    ///
    /// ```
    /// use heapwright_core::suballoc::{Buddy, RangeUse};
    /// use heapwright_core::{Alignment, ByteSize};
    ///
    /// let mut heap = Buddy::new(ByteSize::new(128))?;
    /// let used = heap.allocate(ByteSize::new(24), Alignment::ONE)?;
    /// let ranges: Vec<_> = heap.ranges().collect();
    /// assert_eq!(ranges[0], RangeUse::Used(used));
    /// assert!(matches!(ranges[1], RangeUse::Padding(range) if range.size() == ByteSize::new(8)));
    /// assert!(matches!(ranges[2], RangeUse::Free(range) if range.size() == ByteSize::new(32)));
    /// assert!(matches!(ranges[3], RangeUse::Free(range) if range.size() == ByteSize::new(64)));
    /// # Ok::<(), heapwright_core::suballoc::SuballocError>(())
    /// ```
    #[must_use]
    pub fn ranges(&self) -> Ranges<'_> {
        Ranges::new(self)
    }

    /// Reserves space in the table for at least `additional` more blocks, used or free, of 32 bytes each.
    ///
    /// Otherwise the table doubles when it is full: O(1) on average, but O(n) for that one allocation.
    pub fn reserve(&mut self, additional: usize) {
        self.blocks.slots.reserve(additional);
    }

    /// Checks every invariant of the [module page](super). O(n log n) for n blocks; for tests.
    ///
    /// # Errors
    ///
    /// Returns an [`AuditError`] with the first violated invariant. It is a defect in this crate; no sequence
    /// of calls should cause one.
    pub fn audit(&self) -> Result<(), AuditError> {
        audit::audit(self).map_err(AuditError::new)
    }
}

/// A free block of order `from`, and the order that the request needs, at most `from`.
pub(crate) struct FoundBlock {
    block: SlotIndex,
    from: Order,
    order: Order,
}

suballocator_by_methods!(Buddy);

impl fmt::Debug for Buddy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buddy")
            .field("capacity", &self.capacity())
            .field("minimum", &self.minimum())
            .field("used", &self.used())
            .field("free_size", &self.free_size())
            .field("allocation_count", &self.allocation_count())
            .field("largest_free_range", &self.largest_free_range())
            .finish_non_exhaustive()
    }
}
