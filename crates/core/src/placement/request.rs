//! Requests to an engine.

use crate::suballoc::FreeRangeChoice;
use crate::{Alignment, ByteSize};

/// A request for a range of some heap.
///
/// ```
/// use heapwright_core::placement::PlacementRequest;
/// use heapwright_core::suballoc::FreeRangeChoice;
/// use heapwright_core::{Alignment, ByteSize};
///
/// let request = PlacementRequest::new(ByteSize::from_kib(4), Alignment::ONE);
/// assert!(!request.upper && !request.cache_size);
/// let low = PlacementRequest { strategy: FreeRangeChoice::MinOffset, ..request };
/// assert_eq!(low.size, request.size);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacementRequest {
    /// The size in bytes. Zero is an error.
    pub size: ByteSize,
    /// The number of bytes that were added by rounding the size up to the alignment; less than the alignment.
    /// They count towards the rounding loss of [`SlabBySize`](super::PlacementAlgorithm::SlabBySize).
    pub rounding: ByteSize,
    /// The alignment of the offset.
    pub alignment: Alignment,
    /// The strategy. Only [`FreeRangeChoice::MinOffset`] makes a difference, and only with the [default
    /// algorithm](super::PlacementAlgorithm::Default); the other algorithms ignore it.
    pub strategy: FreeRangeChoice,
    /// Allocates at the upper end of the heap. Only [`Linear`](super::PlacementAlgorithm::Linear) limited to
    /// one heap supports this. [`Dedicated`](super::PlacementAlgorithm::Dedicated) ignores it; otherwise it
    /// is an error.
    pub upper: bool,
    /// Gives the request a heap of its own. Only the [default algorithm](super::PlacementAlgorithm::Default)
    /// supports this; the others ignore it. With another algorithm, use a separate engine with
    /// [`Dedicated`](super::PlacementAlgorithm::Dedicated) heaps.
    pub own_heap: bool,
    /// Keeps the data of the size after the last allocation of that size is freed: GPGMM's
    /// `ALWAYS_CACHE_SIZE`. It affects [`SlabBySize`](super::PlacementAlgorithm::SlabBySize) only.
    pub cache_size: bool,
}

impl PlacementRequest {
    /// Creates a request of `size` bytes at a multiple of `alignment`, with defaults for the rest.
    #[inline]
    #[must_use]
    pub const fn new(size: ByteSize, alignment: Alignment) -> Self {
        Self {
            size,
            rounding: ByteSize::ZERO,
            alignment,
            strategy: FreeRangeChoice::MinMemory,
            upper: false,
            own_heap: false,
            cache_size: false,
        }
    }
}
