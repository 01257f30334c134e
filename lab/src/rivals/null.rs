//! A rival without an allocator: it measures the harness itself, which no suballocator can beat.

use heapwright_core::{Alignment, ByteSize, HeapOffset};

use crate::rival::{Rival, Terms};

/// Counts bytes and refuses requests beyond the capacity, but does not keep ranges apart.
///
/// Its time is that of the harness. Its utilisation is that of compacting before each request, with each size a
/// multiple of the alignment: an upper bound, except for rivals that use the rest of the last unit for smaller
/// alignments.
#[derive(Debug)]
pub struct Null {
    capacity: ByteSize,
    used: ByteSize,
}

impl Rival for Null {
    /// As large as the handles of heapwright's suballocators.
    type Handle = (ByteSize, u64);

    fn new(terms: &Terms) -> Self {
        Self { capacity: terms.capacity, used: ByteSize::ZERO }
    }

    // Not inlined, like a real suballocator.
    #[inline(never)]
    fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Option<(Self::Handle, HeapOffset)> {
        let size = size.align_up(alignment)?;
        let end = self.used.checked_add(size).filter(|&end| end <= self.capacity)?;
        let start = std::mem::replace(&mut self.used, end);
        Some(((size, 0), HeapOffset::new(start.get())))
    }

    #[inline(never)]
    fn free(&mut self, handle: Self::Handle) {
        self.used = self.used.saturating_sub(handle.0);
    }
}
