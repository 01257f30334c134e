//! gfx-rs' range allocator: exact best fit by linear search of a sorted list.

use std::ops::Range;

use heapwright_core::{Alignment, ByteSize, HeapOffset};
use range_alloc::RangeAllocator;

use crate::rival::{Rival, Terms, Unfit};

/// The allocator in its default configuration, with alignments.
#[derive(Debug)]
pub struct RangeAlloc(RangeAllocator<u64>);

impl Rival for RangeAlloc {
    type Handle = Range<u64>;

    fn new(terms: &Terms) -> Result<Self, Unfit> {
        Ok(Self(RangeAllocator::new(0..terms.capacity.get())))
    }

    #[inline]
    fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Option<(Range<u64>, HeapOffset)> {
        let range = self.0.allocate_range_aligned(size.get(), alignment.get()).ok()?;
        let start = HeapOffset::new(range.start);
        Some((range, start))
    }

    #[inline]
    fn free(&mut self, handle: Range<u64>) {
        self.0.free_range(handle);
    }
}
