//! Conversion to units of the alignment, for rivals without alignments.

use heapwright_core::{ByteSize, HeapOffset};

use crate::rival::Terms;

/// Units of the workload's alignment, so that each unit is aligned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    log2: u32,
}

impl Units {
    pub(super) fn new(terms: &Terms) -> Self {
        Self { log2: terms.alignment.log2() }
    }

    /// Returns the number of whole units in a capacity.
    pub(super) fn within(self, capacity: ByteSize) -> u64 {
        capacity.get() >> self.log2
    }

    /// Returns the number of units that hold a size. Sizes of workloads are far below 2^64.
    #[inline]
    pub(super) fn holding(self, size: ByteSize) -> u64 {
        (size.get() + ((1 << self.log2) - 1)) >> self.log2
    }

    #[inline]
    pub(super) fn offset(self, unit: u64) -> HeapOffset {
        HeapOffset::new(unit << self.log2)
    }
}
