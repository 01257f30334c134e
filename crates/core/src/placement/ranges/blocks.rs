//! A suballocator with blocks of one size.

use std::num::NonZeroU32;

use crate::placement::surveyed::SurveyedRanges;
use crate::placement::{PlacementId, SurveyedRange};
use crate::suballoc::{AuditError, Stamp, SuballocError, Suballocation, SuballocationId};
use crate::{ByteSize, HeapOffset, HeapRange};

/// Suballocates the blocks of a heap. The bytes after the last whole block, the *tail*, are never used.
///
/// O(1). The block freed last is taken; if no block is free, the first that was never used.
#[derive(Debug)]
pub(crate) struct Blocks {
    capacity: ByteSize,
    block_size: ByteSize,
    /// The number of blocks in the heap, at least 1.
    block_count: u32,
    /// The sum of the requested sizes.
    used: ByteSize,
    /// The blocks that were ever used, in address order, with the requested size of each that is in use.
    blocks: Vec<Option<(Stamp, ByteSize)>>,
    /// Those of them that are free, the one that was freed last at the end.
    free: Vec<u32>,
    next_stamp: Stamp,
}

/// The largest number of blocks: a block number plus one has 31 bits in an id.
const MAX_BLOCKS: u32 = (1 << 31) - 2;

impl Blocks {
    /// Divides a heap of `capacity` bytes into as many blocks as fit, up to `most`. Returns `None` if none
    /// fits.
    pub(crate) fn new(capacity: ByteSize, block_size: ByteSize, most: u32) -> Option<Self> {
        let fits = capacity.get().checked_div(block_size.get())?;
        let block_count = u32::try_from(fits).unwrap_or(u32::MAX).min(MAX_BLOCKS).min(most);
        (block_count > 0).then_some(Self { block_size, block_count, ..Self::whole(capacity) })
    }

    /// Creates a heap of `capacity` bytes, 1 to 2^63, that is one block.
    pub(crate) fn whole(capacity: ByteSize) -> Self {
        Self {
            capacity,
            block_size: capacity,
            block_count: 1,
            used: ByteSize::ZERO,
            blocks: Vec::new(),
            free: Vec::new(),
            next_stamp: Stamp::FIRST,
        }
    }

    pub(crate) fn block_size(&self) -> ByteSize {
        self.block_size
    }

    /// Returns whether at least half of the blocks are in use.
    pub(crate) fn is_half_full(&self) -> bool {
        self.allocation_count() >= u64::from(self.block_count.div_ceil(2))
    }

    /// Returns whether an id is live.
    pub(crate) fn contains(&self, id: SuballocationId) -> bool {
        let block = self.blocks.get(id.slot().get() as usize - 1);
        block.is_some_and(|block| block.is_some_and(|(stamp, _)| stamp == id.stamp()))
    }

    /// Allocates a block for a request, or returns `None` if no block is free or the request is larger than a block.
    pub(crate) fn allocate(&mut self, size: ByteSize) -> Option<Suballocation> {
        if size > self.largest_free_range() {
            return None;
        }
        let number = match self.free.pop() {
            Some(number) => number,
            None => u32::try_from(self.blocks.len()).ok()?,
        };
        if number as usize == self.blocks.len() {
            self.blocks.push(None);
        }
        let stamp = self.next_stamp;
        self.blocks[number as usize] = Some((stamp, size));
        self.next_stamp = stamp.next();
        self.used = self.used.saturating_add(size);
        Some(self.suballocation(number, stamp, size))
    }

    /// Frees a block and returns the range of its request.
    pub(crate) fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        let number = id.slot().get() - 1;
        let block = self.blocks.get_mut(number as usize);
        let block = block.filter(|block| block.is_some_and(|(stamp, _)| stamp == id.stamp()));
        let (stamp, size) = block.and_then(Option::take).ok_or(SuballocError::StaleId { id })?;
        self.free.push(number);
        self.used = self.used.saturating_sub(size);
        Ok(self.suballocation(number, stamp, size).range)
    }

    fn suballocation(&self, number: u32, stamp: Stamp, size: ByteSize) -> Suballocation {
        let range = HeapRange::new(self.start_of(number), size).expect("blocks end at or below 2^63");
        Suballocation { id: SuballocationId::new(NonZeroU32::MIN.saturating_add(number), stamp), range }
    }

    pub(crate) fn capacity(&self) -> ByteSize {
        self.capacity
    }

    pub(crate) fn used(&self) -> ByteSize {
        self.used
    }

    pub(crate) fn allocation_count(&self) -> u64 {
        ByteSize::from_usize(self.blocks.len() - self.free.len()).get()
    }

    /// Returns the block size if a block is free, and zero otherwise.
    pub(crate) fn largest_free_range(&self) -> ByteSize {
        let has_room = self.allocation_count() < u64::from(self.block_count);
        if has_room { self.block_size } else { ByteSize::ZERO }
    }

    pub(crate) fn continue_stamps(&mut self, next: Stamp) {
        self.next_stamp = self.next_stamp.max(next);
    }

    pub(crate) fn next_stamp(&self) -> Stamp {
        self.next_stamp
    }

    fn start_of(&self, number: u32) -> HeapOffset {
        HeapOffset::new(u64::from(number).saturating_mul(self.block_size.get()))
    }

    /// Returns the blocks in use, in address order.
    fn live(&self) -> impl Iterator<Item = Suballocation> {
        let numbered = (0..).zip(&self.blocks);
        numbered
            .filter_map(|(number, block)| block.map(|(stamp, size)| self.suballocation(number, stamp, size)))
    }

    /// Returns all ranges but the tail of the heap with this number. Unused blocks are those of a slab.
    pub(crate) fn survey(&self, heap: u32) -> SurveyedRanges {
        let mut ranges = SurveyedRanges::with_capacity(2 * self.blocks.len() + 2);
        for Suballocation { id, range } in self.live() {
            ranges.push_used(PlacementId::new(heap, id), range, SurveyedRange::InSlab);
        }
        ranges.fill_to(self.start_of(self.block_count), SurveyedRange::InSlab);
        ranges
    }

    /// Checks the blocks. O(n log n) for the blocks that were ever used.
    pub(crate) fn audit(&self) -> Result<(), AuditError> {
        let used = self.live().fold(ByteSize::ZERO, |sum, live| sum.saturating_add(live.range.size()));
        let is_sound =
            self.live().all(|live| live.range.size() <= self.block_size && live.id.stamp() < self.next_stamp);
        let unused = (0..).zip(&self.blocks).filter(|(_, block)| block.is_none()).map(|(number, _)| number);
        let mut free = self.free.clone();
        free.sort_unstable();
        if used == self.used && is_sound && unused.eq(free) && self.blocks.len() <= self.block_count as usize
        {
            Ok(())
        } else {
            Err(AuditError::new(format!("{used} of the blocks are used, recorded {self:?}")))
        }
    }
}
