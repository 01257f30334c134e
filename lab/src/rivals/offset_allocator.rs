//! The Rust port of Sebastian Aaltonen's OffsetAllocator.

use heapwright_core::{Alignment, ByteSize, HeapOffset};
use offset_allocator::{Allocation, Allocator};

use crate::rival::{Rival, Terms};

/// Counts in units of the alignment, as it supports neither alignments nor 64-bit offsets.
pub struct OffsetAllocator {
    allocator: Allocator,
    units: Units,
}

impl Rival for OffsetAllocator {
    type Handle = Allocation;

    fn new(terms: &Terms) -> Self {
        let units = Units::new(terms);
        let size = u32::try_from(units.within(terms.capacity)).expect("offsets have 32 bits");
        // A free range before each used one and one after the last; the allocator does not use its last node.
        let nodes = terms.most_live.saturating_mul(2).saturating_add(2);
        Self { allocator: Allocator::with_max_allocs(size, nodes), units }
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

/// Units of the workload's alignment, so that each unit is aligned.
#[derive(Clone, Copy, Debug)]
struct Units {
    log2: u32,
}

impl Units {
    fn new(terms: &Terms) -> Self {
        Self { log2: terms.alignment.log2() }
    }

    /// Returns the number of whole units in a capacity.
    fn within(self, capacity: ByteSize) -> u64 {
        capacity.get() >> self.log2
    }

    /// Returns the number of units that hold a size. Sizes of workloads are far below 2^64.
    #[inline]
    fn holding(self, size: ByteSize) -> u64 {
        (size.get() + ((1 << self.log2) - 1)) >> self.log2
    }

    #[inline]
    fn offset(self, unit: u64) -> HeapOffset {
        HeapOffset::new(unit << self.log2)
    }
}
