//! How heaps are divided, and how empty heaps are kept.

use std::fmt;

/// How resources share heaps. `RESOURCE_ALLOCATION_ALGORITHM` of GPGMM, and D3D12MA's algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SuballocationAlgorithm {
    /// Slots for small sizes, and a TLSF for the rest of each heap. Heap sizes follow the requests; empty heaps are
    /// kept while they are likely to be used again. O(1).
    #[default]
    Default,
    /// GPGMM's slabs: each size has heaps of its own, whose sizes are powers of two. O(1).
    Slab,
    /// Heaps of one size, halved until a request fits. O(log heap size). A resource larger than a heap gets a heap of
    /// its own.
    BuddySystem,
    /// Each resource gets a heap of its own size. O(1).
    Dedicated,
    /// For custom pools: allocations follow one another, or grow from both ends of a single heap. O(1).
    Linear,
}

impl fmt::Display for SuballocationAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Default => "default",
            Self::Slab => "slab",
            Self::BuddySystem => "buddy system",
            Self::Dedicated => "dedicated",
            Self::Linear => "linear",
        })
    }
}

/// How empty heaps are kept. `RESOURCE_ALLOCATION_ALGORITHM` of GPGMM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum EmptyHeapPolicy {
    /// With [`SuballocationAlgorithm::Default`], keeps an empty heap for as long as keeping it is cheaper than creating
    /// it again: for 500 allocations and frees, for 120 frames
    /// ([`on_frame`](crate::ResourceAllocator::on_frame)), or for a second. With other algorithms, the same as
    /// `SegmentedPool`.
    #[default]
    Default,
    /// As `Default`, but new heaps are a sixth as large, and empty ones are kept for a fifth of the operations and a quarter of the
    /// frames: least memory, more hitches. [`HeapRetention`](heapwright_core::placement::HeapRetention) has the figures.
    LeastMemory,
    /// As `Default`, but keeps empty heaps for 40 times as many operations, and for 600 frames: fewest hitches, more
    /// memory.
    FewestHitches,
    /// Keeps heaps of exactly the preferred size, rounded up as the algorithm rounds it, and releases the others. With
    /// a preferred size of zero, no heap is kept.
    FixedPool,
    /// Keeps heaps of every size until [`release_resource_heaps`](crate::ResourceAllocator::release_resource_heaps) is
    /// called or memory is short.
    SegmentedPool,
}
