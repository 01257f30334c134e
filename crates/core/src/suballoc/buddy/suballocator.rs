//! The suballocator: which order a request has, and the counters.

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

/// Hands out blocks of powers of two, halved from larger ones and joined again.
///
/// It manages the offsets from zero to its capacity and knows nothing of the memory behind them. The
/// [module page](super) tells how it works.
///
/// | call | cost |
/// |---|---|
/// | [`allocate`](Self::allocate), [`free`](Self::free) | O(log capacity), 63 times a few instructions at most; the table of blocks grows by doubling, see [`reserve`](Self::reserve) |
/// | counts, sizes, [`largest_free_range`](Self::largest_free_range) | O(1) |
/// | [`ranges`](Self::ranges) | O(1) a step |
/// | [`clear`](Self::clear) | O(log capacity) |
/// | [`audit`](Self::audit) | O(n log n) for n blocks: for tests |
///
/// It is deterministic: the same calls get the same offsets, on every machine. Dropping it frees nothing, as nothing
/// was its own.
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
/// A capacity that is no power of two loses nothing, but a block never reaches over the end of a root:
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
pub struct Buddy {
    pub(super) blocks: Blocks,
    /// In bytes: 1 to 2^63.
    pub(super) capacity: u64,
    /// No block is smaller.
    pub(super) minimum: Order,
    /// The sum of the sizes asked for.
    pub(super) used: u64,
    /// The sum of the sizes of the free blocks.
    pub(super) free: u64,
    /// How many blocks are used.
    pub(super) allocation_count: u64,
    /// What the next suballocation gets.
    pub(super) next_stamp: Stamp,
}

impl Buddy {
    /// The largest capacity: 2^63 bytes.
    pub const MAX_CAPACITY: ByteSize = ByteSize::new(1 << 63);

    /// A suballocator for the offsets from zero to `capacity`, all of them free, with blocks down to one byte.
    ///
    /// It takes O(log capacity) time, and 3 KiB of memory for its lists and its first blocks.
    ///
    /// # Errors
    ///
    /// [`SuballocError::CapacityOutOfBounds`] for zero, and for more than [`MAX_CAPACITY`](Self::MAX_CAPACITY).
    pub fn new(capacity: ByteSize) -> Result<Self, SuballocError> {
        Self::with_minimum(capacity, Alignment::ONE)
    }

    /// As [`new`](Self::new), with no blocks smaller than `minimum`: smaller requests get a block of that size.
    ///
    /// Every suballocation then starts at a multiple of the minimum, and there are fewer steps from the largest block to
    /// the smallest. What the capacity has beyond a multiple of the minimum is padding at its end, always.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), and [`SuballocError::CapacityBelowMinimum`] when the minimum is larger than the capacity.
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

    /// As [`with_minimum`](Self::with_minimum), with no more than `block_limit` blocks, used and free; it has to be enough
    /// for the roots.
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

    /// The bytes that are in blocks: all but the padding at the end.
    pub(super) const fn in_blocks(&self) -> u64 {
        self.capacity & !(self.minimum.bytes() - 1)
    }

    /// The order of the block that a request of this size gets.
    #[inline]
    pub(super) fn order_for(&self, size: u64) -> Order {
        Order::holding(size).max(self.minimum)
    }

    /// Hands out `size` bytes that start at a multiple of `alignment`. O(log capacity).
    ///
    /// The size is rounded up to a power of two, and to the minimum: that is the block it gets, and what it does not use of
    /// it is padding until it is freed.
    ///
    /// # The rule
    ///
    /// Let B be the size of that block. Where the alignment is no larger than B, as every block starts at a multiple of
    /// its size:
    ///
    /// - The smallest free block of B bytes or more is taken, and halved down to B, of which the first half is kept each
    ///   time. Among equal ones, it is the one that became free last.
    ///
    /// A larger alignment does not make the block larger:
    ///
    /// 1. The smallest free block that is as large as the alignment is taken, and halved down to B.
    /// 2. When there is none, up to 64 free blocks of B bytes or more are looked at, from the smallest up: the first that
    ///    happens to start at a multiple of the alignment is taken.
    ///
    /// A request is certain to be served
    ///
    /// - when some free block is as large as the size and the alignment,
    /// - when some free block is as large as the size and starts at a multiple of the alignment, and there are no more than
    ///   64 free blocks of B bytes or more that are smaller than the alignment,
    /// - when it asks for [`largest_free_range`](Self::largest_free_range) bytes at alignment 1; and then no more than that
    ///   would be.
    ///
    /// # Errors
    ///
    /// The state is what it was before the call.
    ///
    /// - [`SuballocError::OutOfSpace`]: no free block was found.
    /// - [`SuballocError::LargerThanCapacity`], [`SuballocError::ZeroSize`]: this request never succeeds.
    /// - [`SuballocError::TooManyRanges`]: there are some two thousand million blocks.
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

    /// Which block [`allocate`](Self::allocate) would split for the request, short of running out of numbers for blocks. O(1).
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

    /// Takes a suballocation back and answers its range. O(log capacity).
    ///
    /// Its block is joined with its buddy if that is free, and so on up to the root.
    ///
    /// # Errors
    ///
    /// [`SuballocError::StaleId`] when it was freed before, or the id never came from here. The state is what it was
    /// before the call.
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

    /// The block of a live suballocation.
    #[inline]
    fn live(&self, id: SuballocationId) -> Result<&Block, SuballocError> {
        match self.blocks.slots.get(SlotIndex::from_slot(id.slot())) {
            Some(block) if block.stamp() == Some(id.stamp()) => Ok(block),
            _ => Err(SuballocError::StaleId { id }),
        }
    }

    /// Goes on with these stamps, so that ids of a suballocator that was here before are stale.
    pub(crate) fn continue_stamps(&mut self, next: Stamp) {
        self.next_stamp = self.next_stamp.max(next);
    }

    /// The stamp that the next suballocation gets.
    pub(crate) const fn next_stamp(&self) -> Stamp {
        self.next_stamp
    }

    /// The range of a live suballocation. O(1).
    ///
    /// # Errors
    ///
    /// [`SuballocError::StaleId`] when it was freed, or the id never came from here.
    pub fn range_of(&self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        self.live(id).map(|block| heap_range(block.start(), block.size()))
    }

    /// Takes everything back at once; ids that were live are stale from then on. O(log capacity), whatever is live.
    pub fn clear(&mut self) {
        if self.allocation_count > 0 {
            self.blocks.reset(self.in_blocks());
            (self.used, self.free, self.allocation_count) = (0, self.in_blocks(), 0);
        }
    }

    /// The size of the whole range that is managed. O(1).
    #[must_use]
    pub const fn capacity(&self) -> ByteSize {
        ByteSize::new(self.capacity)
    }

    /// The size of the smallest block. O(1).
    #[must_use]
    pub fn minimum(&self) -> Alignment {
        Alignment::new(self.minimum.bytes()).expect("the size of a block is a power of two")
    }

    /// The sum of the sizes asked for, without what they were rounded up by. O(1).
    #[must_use]
    pub const fn used(&self) -> ByteSize {
        ByteSize::new(self.used)
    }

    /// The bytes of all free blocks. O(1).
    ///
    /// What neither this nor [`used`](Self::used) counts is padding: what sizes were rounded up by, and what lies behind
    /// the last block.
    #[must_use]
    pub const fn free_size(&self) -> ByteSize {
        ByteSize::new(self.free)
    }

    /// How many suballocations are live. O(1).
    #[must_use]
    pub const fn allocation_count(&self) -> u64 {
        self.allocation_count
    }

    /// How many blocks are free. O(1).
    #[must_use]
    pub fn free_range_count(&self) -> u64 {
        self.blocks.slots.count() - self.allocation_count
    }

    /// Whether nothing is handed out. O(1).
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.allocation_count == 0
    }

    /// The size of the largest free block; zero when there is none. O(1).
    ///
    /// It is exact: a request of this size at alignment 1 succeeds, and one of more bytes does not.
    #[must_use]
    pub fn largest_free_range(&self) -> ByteSize {
        ByteSize::new(self.blocks.largest_free().map_or(0, Order::bytes))
    }

    /// All ranges from the lowest offset to the highest. O(1) a step.
    ///
    /// A free range is one free block, so two of them may be neighbours. Padding is behind the suballocation that was
    /// rounded up.
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

    /// Makes room in the table for `additional` more blocks, used or free, 32 bytes for each.
    ///
    /// Without it, the table doubles as it fills, which copies it: O(1) on average, and O(n) for that one allocation.
    pub fn reserve(&mut self, additional: usize) {
        self.blocks.slots.reserve(additional);
    }

    /// Checks the whole structure: every invariant of the [module page](super). O(n log n) for n blocks; for tests.
    ///
    /// # Errors
    ///
    /// [`AuditError`] with the first rule found broken. That is a defect in this crate; no sequence of calls is meant to
    /// bring it about.
    pub fn audit(&self) -> Result<(), AuditError> {
        audit::audit(self).map_err(AuditError::new)
    }
}

/// A free block of one order, from which a request gets a block of another, the same or a lower one.
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
