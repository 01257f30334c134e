//! The buddy suballocator: rounding of requests, and counters.

use std::fmt;

use super::super::slots::SlotIndex;
use super::super::suballocation::{Stamp, Suballocation, SuballocationId, heap_range};
use super::super::{AuditError, SuballocError};
use super::audit;
use super::blocks::{Block, Blocks};
use super::order::Order;
use super::ranges::Ranges;
use crate::{Alignment, ByteSize, HeapRange};

/// A suballocator that hands out blocks of powers of two by halving larger blocks and joining them again. The
/// [module page](super) describes the algorithm.
#[derive(Clone)]
pub(crate) struct Buddy {
    pub(super) blocks: Blocks,
    /// The capacity in bytes, 1 to 2^63.
    pub(super) capacity: u64,
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
    const MAX_CAPACITY: ByteSize = ByteSize::new(1 << 63);

    /// Creates a suballocator for the offsets from zero to `capacity`, all free, with blocks down to one
    /// byte. Fails if the capacity is zero or exceeds 2^63. O(log capacity).
    pub(crate) fn new(capacity: ByteSize) -> Result<Self, SuballocError> {
        Self::with_block_limit(capacity, u32::MAX)
    }

    /// Creates a suballocator like [`new`](Self::new), with at most `block_limit` blocks, used and free. The
    /// limit must be enough for the roots.
    pub(super) fn with_block_limit(capacity: ByteSize, block_limit: u32) -> Result<Self, SuballocError> {
        if capacity.is_zero() || capacity > Self::MAX_CAPACITY {
            return Err(SuballocError::CapacityOutOfBounds { capacity, limit: Self::MAX_CAPACITY });
        }
        Ok(Self {
            blocks: Blocks::new(capacity.get(), block_limit),
            capacity: capacity.get(),
            used: 0,
            free: capacity.get(),
            allocation_count: 0,
            next_stamp: Stamp::FIRST,
        })
    }

    /// Allocates `size` bytes at a multiple of `alignment`. O(log capacity).
    ///
    /// The request gets a block of its size rounded up to a power of two. The rest of the block is padding until it is freed.
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
    /// On error, the state is unchanged.
    pub(crate) fn allocate(
        &mut self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Suballocation, SuballocError> {
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
        let order = Order::holding(size.get());
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
    /// Fails if the id is not live. The state is then unchanged.
    pub(crate) fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        let block = self.live(id)?;
        let (start, size) = (block.start(), block.size());
        let order = Order::holding(size);
        self.used -= size;
        self.free += order.bytes();
        self.allocation_count -= 1;
        if self.allocation_count > 0 {
            self.blocks.join(SlotIndex::from_slot(id.slot()), order);
        } else {
            self.blocks.reset(self.capacity);
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

    /// Returns the size of the managed range. O(1).
    pub(crate) const fn capacity(&self) -> ByteSize {
        ByteSize::new(self.capacity)
    }

    /// Returns the sum of the requested sizes, without rounding. O(1).
    pub(crate) const fn used(&self) -> ByteSize {
        ByteSize::new(self.used)
    }

    /// Returns the total size of the free blocks. O(1).
    ///
    /// Bytes counted neither here nor in [`used`](Self::used) are padding: the rounding of requests.
    pub(crate) const fn free_size(&self) -> ByteSize {
        ByteSize::new(self.free)
    }

    /// Returns the number of live suballocations. O(1).
    pub(crate) const fn allocation_count(&self) -> u64 {
        self.allocation_count
    }

    /// Returns the number of free blocks. O(1).
    pub(crate) fn free_range_count(&self) -> u64 {
        self.blocks.slots.count() - self.allocation_count
    }

    /// Returns the size of the largest free block, or zero if there is none. O(1).
    ///
    /// The value is exact: a request of this size at alignment 1 succeeds, and a larger request fails.
    pub(crate) fn largest_free_range(&self) -> ByteSize {
        ByteSize::new(self.blocks.largest_free().map_or(0, Order::bytes))
    }

    /// Returns an iterator over all ranges in address order. O(1) per step.
    ///
    /// A free range is one free block, so two free ranges may be neighbours. Padding follows the suballocation
    /// that was rounded up.
    pub(crate) fn ranges(&self) -> Ranges<'_> {
        Ranges::new(self)
    }

    /// Checks every invariant of the [module page](super). O(n log n) for n blocks; for tests.
    pub(crate) fn audit(&self) -> Result<(), AuditError> {
        audit::audit(self).map_err(AuditError::new)
    }
}

/// A free block of order `from`, and the order that the request needs, at most `from`.
pub(crate) struct FoundBlock {
    block: SlotIndex,
    from: Order,
    order: Order,
}

impl fmt::Debug for Buddy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buddy")
            .field("capacity", &self.capacity())
            .field("used", &self.used())
            .field("free_size", &self.free_size())
            .field("allocation_count", &self.allocation_count())
            .field("largest_free_range", &self.largest_free_range())
            .finish_non_exhaustive()
    }
}
