//! The trait of suballocators that take part.

use heapwright_core::{Alignment, ByteSize, HeapOffset};

/// The requirements of a workload, known in advance.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Size of the range to suballocate.
    pub capacity: ByteSize,
    /// Alignment of all requests. A rival without alignments may count in units of it.
    pub alignment: Alignment,
    /// Maximum number of live allocations. Rivals may size their tables by it.
    pub most_live: u32,
}

/// A suballocator of the offsets from zero to a capacity, for one thread at a time.
pub trait Rival: Sized {
    /// The handle to free an allocation.
    type Handle;

    /// Creates a suballocator whose capacity is entirely free.
    ///
    /// # Panics
    ///
    /// Panics if the rival cannot meet the terms.
    fn new(terms: &Terms) -> Self;

    /// Allocates a range and returns its handle and offset, or `None` if there is no room.
    ///
    /// `alignment` is never above that of the terms, `size` never zero.
    fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Option<(Self::Handle, HeapOffset)>;

    /// Frees an allocation that [`allocate`](Self::allocate) of the same rival returned.
    fn free(&mut self, handle: Self::Handle);
}
