//! A suballocator with blocks of one size.

use std::num::NonZeroU32;

use crate::placement::heap_set::PlacementId;
use crate::placement::shared_heap_set::SurveyedRanges;
use crate::placement::{SharedPlacementId, SurveyedRange};
use crate::suballoc::{AuditError, Stamp, SuballocError, Suballocation, SuballocationId};
use crate::{ByteSize, HeapOffset, HeapRange};

/// Suballocates the blocks of a heap. The bytes after the last whole block, the *tail*, are never used.
///
/// O(1). The block freed last is taken; if no block is free, the first that was never used. Takes 16 bytes of
/// host memory for each block that was ever used.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    capacity: ByteSize,
    block_size: ByteSize,
    /// The number of blocks in the heap, at least 1.
    block_count: u32,
    live: u32,
    /// The sum of the requested sizes.
    used: ByteSize,
    /// The blocks that were ever used, in address order.
    blocks: Vec<Block>,
    /// The block that was freed last.
    first_free: Option<u32>,
    next_stamp: Stamp,
}

#[derive(Debug, Clone, Copy)]
enum Block {
    Live {
        stamp: Stamp,
        /// The requested size.
        size: ByteSize,
    },
    Free {
        next: Option<u32>,
    },
}

const _: () = assert!(size_of::<Block>() == 16);

/// The largest number of blocks: a block number plus one has 31 bits in an id.
const MAX_BLOCKS: u32 = (1 << 31) - 2;

impl Blocks {
    /// Divides a heap of `capacity` bytes into as many blocks as fit, up to `most`. Returns `None` if none
    /// fits.
    pub(super) fn new(capacity: ByteSize, block_size: ByteSize, most: u32) -> Option<Self> {
        let fits = capacity.get().checked_div(block_size.get())?;
        let block_count = u32::try_from(fits).unwrap_or(u32::MAX).min(MAX_BLOCKS).min(most);
        (block_count > 0).then_some(Self {
            capacity,
            block_size,
            block_count,
            live: 0,
            used: ByteSize::ZERO,
            blocks: Vec::new(),
            first_free: None,
            next_stamp: Stamp::FIRST,
        })
    }

    pub(super) fn block_count(&self) -> u32 {
        self.block_count
    }

    pub(super) fn has_room(&self) -> bool {
        self.live < self.block_count
    }

    /// Allocates a block for a request that is no larger than a block.
    pub(super) fn allocate(&mut self, size: ByteSize) -> Result<Suballocation, SuballocError> {
        let stamp = self.next_stamp;
        let block = if size <= self.block_size { self.take(Block::Live { stamp, size }) } else { None };
        let range = block.and_then(|number| Some((number, HeapRange::new(self.start_of(number), size)?)));
        let Some((number, range)) = range else {
            return Err(SuballocError::LargerThanCapacity { requested: size, capacity: self.block_size });
        };
        self.next_stamp = stamp.next();
        self.live += 1;
        self.used = self.used.saturating_add(size);
        Ok(Suballocation { id: id_of(number, stamp), range })
    }

    fn take(&mut self, block: Block) -> Option<u32> {
        match self.first_free {
            Some(number) => {
                let Block::Free { next } = std::mem::replace(&mut self.blocks[number as usize], block) else {
                    return None;
                };
                self.first_free = next;
                Some(number)
            }
            None => {
                let number = u32::try_from(self.blocks.len()).ok().filter(|&n| n < self.block_count)?;
                self.blocks.push(block);
                Some(number)
            }
        }
    }

    /// Frees a block and returns the range of its request.
    pub(super) fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        let stale = SuballocError::StaleId { id };
        let number = id.slot().get() - 1;
        let start = self.start_of(number);
        let block = self.blocks.get_mut(number as usize).ok_or(stale)?;
        let Block::Live { stamp, size } = *block else { return Err(stale) };
        let range = HeapRange::new(start, size).filter(|_| stamp == id.stamp()).ok_or(stale)?;
        *block = Block::Free { next: self.first_free };
        self.first_free = Some(number);
        self.live -= 1;
        self.used = self.used.saturating_sub(size);
        Ok(range)
    }

    pub(super) fn capacity(&self) -> ByteSize {
        self.capacity
    }

    pub(super) fn used(&self) -> ByteSize {
        self.used
    }

    pub(super) fn allocation_count(&self) -> u64 {
        u64::from(self.live)
    }

    /// Returns the block size if a block is free, and zero otherwise.
    pub(super) fn largest_free_range(&self) -> ByteSize {
        if self.has_room() { self.block_size } else { ByteSize::ZERO }
    }

    pub(super) fn continue_stamps(&mut self, next: Stamp) {
        self.next_stamp = self.next_stamp.max(next);
    }

    pub(super) fn next_stamp(&self) -> Stamp {
        self.next_stamp
    }

    fn start_of(&self, number: u32) -> HeapOffset {
        HeapOffset::new(u64::from(number).saturating_mul(self.block_size.get()))
    }

    /// Returns all ranges but the tail of the heap with this number.
    pub(super) fn survey(&self, number: u32) -> SurveyedRanges {
        let mut ranges = SurveyedRanges::with_capacity(2 * self.live as usize + 2);
        for (block, at) in self.blocks.iter().zip(0_u32..) {
            if let Block::Live { stamp, size } = *block {
                if let Some(range) = HeapRange::new(self.start_of(at), size) {
                    let id = SharedPlacementId(PlacementId::new(number, id_of(at, stamp)));
                    ranges.push_used(id, range, SurveyedRange::InSlab);
                }
            }
        }
        ranges.fill_to(self.start_of(self.block_count), SurveyedRange::InSlab);
        ranges
    }

    /// Checks the blocks. O(n) for the blocks that were ever used.
    pub(super) fn audit(&self) -> Result<(), AuditError> {
        let (mut live, mut used) = (0_u32, ByteSize::ZERO);
        for block in &self.blocks {
            if let Block::Live { stamp, size } = *block {
                if stamp >= self.next_stamp || size > self.block_size {
                    return Err(AuditError::new(format!(
                        "{block:?} is invalid for blocks of {}",
                        self.block_size
                    )));
                }
                (live, used) = (live + 1, used.saturating_add(size));
            }
        }
        let (mut free, mut next) = (0, self.first_free);
        while let Some(number) = next {
            match self.blocks.get(number as usize) {
                Some(Block::Free { next: after }) if free < self.blocks.len() => next = *after,
                other => {
                    return Err(AuditError::new(format!(
                        "{other:?} is in the list of free blocks but not free"
                    )));
                }
            }
            free += 1;
        }
        let end = u64::from(self.block_count).checked_mul(self.block_size.get());
        if (live, used) != (self.live, self.used)
            || free + live as usize != self.blocks.len()
            || self.blocks.len() > self.block_count as usize
            || end.is_none_or(|end| end > self.capacity.get())
        {
            let noted = (self.live, self.used, self.block_count);
            return Err(AuditError::new(format!(
                "counted {live} live blocks of {used} and {free} free blocks, recorded {noted:?}"
            )));
        }
        Ok(())
    }
}

fn id_of(block: u32, stamp: Stamp) -> SuballocationId {
    SuballocationId::new(NonZeroU32::MIN.saturating_add(block), stamp)
}
