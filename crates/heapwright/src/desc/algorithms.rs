//! How heaps are divided, and how empty ones are kept.

use std::fmt;

/// How resources share heaps: `RESOURCE_ALLOCATION_ALGORITHM` (document GPGMM), where it says so, and D3D12MA's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SuballocationAlgorithm {
    /// Slots for small sizes and a TLSF in each heap for the rest; heaps of whatever size is wanted, kept while they are likely
    /// to be used again. O(1).
    #[default]
    Default,
    /// GPGMM's slabs: each size has heaps of its own, whose sizes are powers of two. O(1).
    Slab,
    /// Heaps of one size, halved until a request fits. O(log heap size). What is larger than a heap gets one of its own.
    BuddySystem,
    /// Each resource gets a heap of its own size. O(1).
    Dedicated,
    /// For custom pools: one after the other, or from both ends of a single heap. O(1).
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

/// How heaps that nothing is in are kept: `RESOURCE_ALLOCATION_ALGORITHM` (document GPGMM).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum EmptyHeapPolicy {
    /// With [`SuballocationAlgorithm::Default`], as many heaps as were needed lately; more go back to the device, the sooner the less is
    /// in use. Otherwise as `SegmentedPool`.
    #[default]
    Default,
    /// Heaps of exactly the preferred size are kept, others go; the size is rounded up as the algorithm rounds it. With a
    /// preferred size of zero nothing is kept.
    FixedPool,
    /// Heaps of every size are kept until
    /// [`release_resource_heaps`](crate::ResourceAllocator::release_resource_heaps) or a shortage.
    SegmentedPool,
}
