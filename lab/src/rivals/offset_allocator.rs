//! The Rust port of Sebastian Aaltonen's OffsetAllocator.

use heapwright_core::{Alignment, ByteSize, HeapOffset};
use offset_allocator::{Allocation, Allocator};

use super::units::Units;
use crate::rival::{Rival, Terms, Unfit};

/// Counts in units of the alignment, as it supports neither alignments nor 64-bit offsets.
pub struct OffsetAllocator {
    allocator: Allocator,
    units: Units,
}

impl Rival for OffsetAllocator {
    type Handle = Allocation;

    fn new(terms: &Terms) -> Result<Self, Unfit> {
        let units = Units::new(terms);
        let size = u32::try_from(units.within(terms.capacity)).map_err(|_| Unfit("offsets have 32 bits"))?;
        // A free range before each used one and one after the last; the allocator does not use its last node.
        let nodes = terms.most_live.saturating_mul(2).saturating_add(2);
        Ok(Self { allocator: Allocator::with_max_allocs(size, nodes), units })
    }

    #[inline]
    fn allocate(&mut self, size: ByteSize, _alignment: Alignment) -> Option<(Allocation, HeapOffset)> {
        let size = u32::try_from(self.units.holding(size)).ok()?;
        let allocation = self.allocator.allocate(size)?;
        Some((allocation, self.units.offset(u64::from(allocation.offset))))
    }

    #[inline]
    fn free(&mut self, handle: Allocation) {
        self.allocator.free(handle);
    }
}
