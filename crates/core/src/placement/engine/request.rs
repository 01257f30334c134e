//! What is asked of an engine.

use crate::suballoc::Strategy;
use crate::{Alignment, ByteSize};

/// A request for a range of some heap.
///
/// ```
/// use heapwright_core::placement::PlacementRequest;
/// use heapwright_core::suballoc::Strategy;
/// use heapwright_core::{Alignment, ByteSize};
///
/// let request = PlacementRequest::new(ByteSize::from_kib(4), Alignment::ONE);
/// assert!(!request.upper && !request.cache_size);
/// let low = PlacementRequest { strategy: Strategy::MinOffset, ..request };
/// assert_eq!(low.size, request.size);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacementRequest {
    /// How many bytes; zero is refused.
    pub size: ByteSize,
    /// How many of the bytes are there only because the size was rounded up to the alignment; less than that. What
    /// [`SlabBySize`](super::PlacementAlgorithm::SlabBySize) loses by rounding counts them.
    pub rounding: ByteSize,
    /// What the offset is a multiple of.
    pub alignment: Alignment,
    /// What matters most. Only [`Strategy::MinOffset`] makes a difference, and only to the
    /// [default algorithm](super::PlacementAlgorithm::Default); others have one way.
    pub strategy: Strategy,
    /// From the upper end of the heap, which only [`Linear`](super::PlacementAlgorithm::Linear) in one heap at most has;
    /// others refuse it.
    pub upper: bool,
    /// Nothing else is placed in the heap. Only the [default algorithm](super::PlacementAlgorithm::Default) heeds it; beside another
    /// one, requests with heaps of their own have an engine of [`Dedicated`](super::PlacementAlgorithm::Dedicated) heaps.
    pub own_heap: bool,
    /// What is known of the size is kept when nothing of that size is live any more: GPGMM's `ALWAYS_CACHE_SIZE`. It makes
    /// a difference to [`SlabBySize`](super::PlacementAlgorithm::SlabBySize) only.
    pub cache_size: bool,
}

impl PlacementRequest {
    /// A request of `size` bytes at a multiple of `alignment`, and nothing special about it.
    #[inline]
    #[must_use]
    pub const fn new(size: ByteSize, alignment: Alignment) -> Self {
        Self {
            size,
            rounding: ByteSize::ZERO,
            alignment,
            strategy: Strategy::MinMemory,
            upper: false,
            own_heap: false,
            cache_size: false,
        }
    }
}
