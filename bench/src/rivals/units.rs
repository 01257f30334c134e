//! Counting in units of the alignment, for rivals that know none.

use heapwright_core::{ByteSize, HeapOffset};

use crate::rival::Terms;

/// One unit is the alignment of the workload, so that whatever starts at a unit is aligned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    log2: u32,
}

impl Units {
    pub(super) fn new(terms: &Terms) -> Self {
        Self { log2: terms.alignment.log2() }
    }

    /// How many whole units are in a capacity.
    pub(super) fn within(self, capacity: ByteSize) -> u64 {
        capacity.get() >> self.log2
    }

    /// How many units hold a size; no size of a workload is near 2^64.
    #[inline]
    pub(super) fn holding(self, size: ByteSize) -> u64 {
        (size.get() + ((1 << self.log2) - 1)) >> self.log2
    }

    #[inline]
    pub(super) fn offset(self, unit: u64) -> HeapOffset {
        HeapOffset::new(unit << self.log2)
    }
}
