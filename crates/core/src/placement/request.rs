//! Requests to a set of heaps, and their places.

use super::PlacementId;
use crate::suballoc::FreeRangeChoice;
use crate::{Alignment, ByteSize, HeapRange};

/// A request for a range of some heap.
///
/// ```
/// use heapwright_core::placement::{PlacementRequest, Sharing};
/// use heapwright_core::suballoc::FreeRangeChoice;
/// use heapwright_core::{Alignment, ByteSize};
///
/// let request = PlacementRequest::new(ByteSize::from_kib(4), Alignment::ONE);
/// assert!(!request.upper && request.sharing == Sharing::Shared);
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
    /// one heap supports this. Requests that are alone in a heap ignore it, except with the [default
    /// algorithm](super::PlacementAlgorithm::Default); otherwise it is an error.
    pub upper: bool,
    /// Whether it shares its heap. With [`Dedicated`](super::PlacementAlgorithm::Dedicated), no request does.
    pub sharing: Sharing,
    /// Keeps the data of the size after the last allocation of that size is freed: GPGMM's
    /// `ALWAYS_CACHE_SIZE`. It affects [`SlabBySize`](super::PlacementAlgorithm::SlabBySize) only.
    pub cache_size: bool,
}

/// Whether a request shares its heap with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// With any.
    Shared,
    /// With none. The rest of the heap is not used.
    Alone {
        /// Whether the heap may be one that was used before, and is kept for others when it is empty.
        reusable: bool,
    },
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
            sharing: Sharing::Shared,
            cache_size: false,
        }
    }
}

/// The placement of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed<H> {
    /// The id that frees it.
    pub id: PlacementId,
    /// The range of the allocation in the heap.
    pub range: HeapRange,
    /// The owner's handle of the heap, or a reference to it.
    pub heap: H,
}

impl<H: Clone> Placed<&H> {
    /// Returns the placement with a clone of the handle.
    #[inline]
    pub(crate) fn cloned(self) -> Placed<H> {
        Placed { id: self.id, range: self.range, heap: self.heap.clone() }
    }
}
