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
///
/// It applies to the heaps of the allocator, to its custom pools, and to the buffers of which
/// [`ALLOW_SUBALLOCATE_WITHIN_RESOURCE`](crate::ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE) hands out
/// parts. With [`ALWAYS_ON_DEMAND`](crate::ResourceAllocatorFlags::ALWAYS_ON_DEMAND), none of them is kept.
///
/// Operations and frames are counted by calls, which then release heaps: allocations and frees count as operations (those
/// of at most 16 KiB count an eighth), and [`end_frame`](crate::ResourceAllocator::end_frame) counts a frame. By time, a
/// thread of the allocator releases heaps, also if no call is made; it sleeps while nothing can be idle, and ends with
/// the allocator. While a recording is made, creations do this instead, so that a replay can do the same; and
/// [`on_time`](crate::ResourceAllocator::on_time) replaces the clock. Operations count for all nested allocators together,
/// and frames and time of an allocator also count for those that are nested in it. Where an unused buffer or slab keeps a
/// heap in use, the heap is empty once that has been released, so it leaves after up to twice as long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum EmptyHeapPolicy {
    /// Keeps an empty heap for as long as keeping it is cheaper than creating it again. What heaps cost is learned from the device's calls that create and free them: each MiB may be empty for one
    /// operation for each 90 ns of the heap's price, for at most 5,000 operations. So a heap of 64 MiB is kept for about 430
    /// operations where it takes 2.5 ms, and for 46 where it takes 0.26 ms. As many operations as two frames have do not
    /// release it (up to 40 times as many), but 120 frames do, or 0.4 to 0.8 seconds (while ten frames pass in a second, they are
    /// counted instead). With other algorithms than [`SuballocationAlgorithm::Default`], sizes of new heaps are those of the algorithm.
    #[default]
    Default,
    /// As `Default`, but an empty heap is kept for a fifth of that, at most 1,000 operations, 30 frames, or 0.4 to 0.8
    /// seconds. New heaps are a 64th of the memory that was held instead of a tenth, and the smallest has 64 KiB. Least
    /// memory, more hitches.
    LeastMemory,
    /// As `Default`, but keeps empty heaps 90 times as long, at most for 40,000 operations, 600 frames, or ten seconds. New heaps are
    /// an eighth of the memory that was held instead of a tenth, at most 128 MiB instead of 64. Fewest hitches, more memory.
    FewestHitches,
    /// Keeps heaps of exactly the preferred size, rounded up as the algorithm rounds it, and releases the others. Without
    /// a preferred size, no heap is kept. Custom pools keep empty heaps as with `Default`.
    FixedPool,
    /// Keeps heaps of every size until [`release_resource_heaps`](crate::ResourceAllocator::release_resource_heaps) is
    /// called or memory is short.
    SegmentedPool,
}
