//! Flags with GPGMM's names and values. Bits 16 and up are our own.

use std::fmt;

use bitflags::bitflags;

bitflags! {
    /// Options of an allocator: `RESOURCE_ALLOCATOR_FLAGS` of GPGMM.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct ResourceAllocatorFlags: u32 {
        /// Creates every resource as committed, with an implicit heap that is never reused. Buffers may still be
        /// suballocated within a resource, if the allocation allows it; that resource is then committed, too.
        const ALWAYS_COMMITTED = 0x1;
        /// Creates heaps and committed resources within the budget or not at all. The budget is the residency
        /// manager's, which evicts idle heaps for them. Without a manager it is the operating system's, which requires
        /// an adapter.
        const ALWAYS_IN_BUDGET = 0x2;
        /// Allows the next heap to be created on a background thread before it is needed.
        const ALLOW_PREFETCH = 0x4;
        /// Releases each heap as soon as it is empty. This minimizes memory and maximizes the calls of CreateHeap.
        const ALWAYS_ON_DEMAND = 0x8;
        /// On cache-coherent UMA, uses one kind of CUSTOM heap for all requests except those that name READBACK. On
        /// other architectures it has no effect, and a warning is logged.
        ///
        /// Heaps and committed resources of unified memory are accounted for as DEFAULT; see
        /// [`HeapLimits`](crate::HeapLimits). A resource that the device does not create in unified memory gets a heap
        /// of the requested type.
        const ALLOW_UNIFIED_MEMORY = 0x10;
        /// Tracks live allocations, and logs those that are left when the last handle of the allocator is dropped.
        /// Costs a lock and a tree entry for each allocation.
        const NEVER_LEAK = 0x20;
        /// Creates heaps with `D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT`, where the device supports it. The application
        /// makes them resident before use. A residency manager does so before their first use.
        const CREATE_NOT_RESIDENT = 0x40;
        /// Does not release empty heaps to create a new heap, neither before the budget or a limit is exceeded nor when
        /// the device is out of memory. Memory that is held is still used before an allocation fails.
        const NEVER_OVER_ALLOCATE = 0x80;
        /// Never requests tight alignment. (It is measured to save memory and is legal wherever it is applied. Some
        /// tools track writes by pages and need separate pages for resources.)
        const NEVER_TIGHT_ALIGNMENT = 0x1_0000;
        /// Creates the allocator's heaps with `D3D12_HEAP_FLAG_CREATE_NOT_ZEROED`, where the device supports it.
        /// Creation is faster. The initial contents of a resource are then undefined and may come from another process.
        const CREATE_NOT_ZEROED = 0x2_0000;
    }
}

bitflags! {
    /// Options of an allocation: `RESOURCE_ALLOCATION_FLAGS` of GPGMM.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct ResourceAllocationFlags: u32 {
        /// Uses only memory that is already held. If it does not suffice, the error is out of memory.
        const NEVER_ALLOCATE_HEAP = 0x1;
        /// Allows a small buffer to share one resource with others, aligned to bytes; see
        /// [`ResourceAllocation::offset_from_resource`](crate::ResourceAllocation::offset_from_resource).
        const ALLOW_SUBALLOCATE_WITHIN_RESOURCE = 0x2;
        /// Places the resource in a heap of its own.
        const NEVER_SUBALLOCATE_HEAP = 0x4;
        /// Creates the next heap in the background, if the allocator [allows
        /// it](ResourceAllocatorFlags::ALLOW_PREFETCH). Excludes `NEVER_ALLOCATE_HEAP`.
        const ALWAYS_PREFETCH_HEAP = 0x8;
        /// Keeps the tables for resources of this size after the last of them is freed
        /// ([`SuballocationAlgorithm::Slab`](crate::SuballocationAlgorithm::Slab)).
        const ALWAYS_CACHE_SIZE = 0x10;
        /// Uses a heap of the requested type, even if the allocator [unifies
        /// memory](ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY).
        const ALWAYS_ATTRIBUTE_HEAPS = 0x20;
        /// Does not fall back to a committed resource when no heap is available; the allocation fails.
        const NEVER_FALLBACK = 0x40;
        /// Excludes the allocation from the residency manager. Its heap is shared with no other allocation, before or
        /// after.
        const NEVER_RESIDENT = 0x80;
        /// Logs a warning when the allocation takes more bytes than were requested: a buffer's width, or the size of a
        /// texture's texels in formats whose texel size is known. A heap of its own counts as a whole, a part of a
        /// buffer with its alignment.
        const ALWAYS_WARN_ON_ALIGNMENT_MISMATCH = 0x100;
        /// Creates a committed resource, with an implicit heap.
        const ALWAYS_COMMITTED = 0x200;
        /// Creates a heap for the allocation within the budget or not at all. The budget is the residency manager's, or
        /// without a manager the operating system's, which requires an adapter.
        const WITHIN_BUDGET = 0x1_0000;
        /// Creates a committed resource if possible, a placed one otherwise.
        const PREFER_COMMITTED = 0x2_0000;
        /// Allocates from the upper end of the heap, in a pool of [`Linear`](crate::SuballocationAlgorithm::Linear)
        /// with at most one heap.
        const UPPER_ADDRESS = 0x4_0000;
    }
}

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
/// However long they are kept, before a heap is created, empty heaps of its kind or pool are released until with it no
/// more is held than was in use at once, or with `FewestHitches` and `SegmentedPool` twice as much.
/// [`NEVER_OVER_ALLOCATE`](crate::ResourceAllocatorFlags::NEVER_OVER_ALLOCATE) prevents that.
///
/// Operations and frames are counted by calls, which then release heaps: allocations and frees count as operations
/// (those of at most 16 KiB count an eighth), and [`end_frame`](crate::ResourceAllocator::end_frame) counts a frame. By
/// time, a thread of the allocator releases heaps, also if no call is made; it sleeps while nothing can be idle, and
/// ends with the allocator. While a recording is made, creations do this instead, so that a replay can do the same; and
/// [`on_time`](crate::ResourceAllocator::on_time) replaces the clock. Operations count for all nested allocators
/// together, and frames and time of an allocator also count for those that are nested in it. Where an unused buffer or
/// slab keeps a heap in use, the heap is empty once that has been released, so it leaves after up to twice as long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum EmptyHeapPolicy {
    /// Keeps an empty heap for as long as keeping it is cheaper than creating it again. What heaps cost is learned from
    /// the device's calls that create and free them: each MiB may be empty for one operation for each 90 ns of the
    /// heap's price, for at most 5,000 operations. So a heap of 64 MiB is kept for about 430 operations where it takes
    /// 2.5 ms, and for 46 where it takes 0.26 ms. As many operations as two frames have do not release it (up to 40
    /// times as many), but 120 frames do, or 0.4 to 0.8 seconds (while ten frames pass in a second, they are counted
    /// instead). Where heaps of a size are needed again after a pause that was too long for that, the next pauses may
    /// be twice as long, up to a minute. A new heap is a tenth of the memory that was held, and 4 to 64 MiB. With other
    /// algorithms than [`SuballocationAlgorithm::Default`], the sizes of new heaps are theirs, and pauses are not
    /// learned.
    #[default]
    Default,
    /// Keeps an empty heap for 8 operations, whatever it cost, 30 frames, or 0.4 to 0.8 seconds whatever the pauses
    /// are, and the operations of a frame release it, too. New heaps are a 64th of the memory that was held instead of
    /// a tenth, and at most 32 MiB instead of 64. Heaps of a kind of which nothing is allocated meanwhile leave a few
    /// hundred operations later. It holds less than `Default`, and creates more heaps.
    LeastMemory,
    /// As `SegmentedPool`, but a new heap is a third of the memory that was held instead of a tenth, and at most 128
    /// MiB instead of 64. It creates the fewest heaps of all policies.
    FewestHitches,
    /// Keeps heaps of exactly the preferred size, rounded up as the algorithm rounds it, and releases the others.
    /// Without a preferred size, no heap is kept. Custom pools keep empty heaps as with `Default`.
    FixedPool,
    /// Keeps heaps of every size until [`release_resource_heaps`](crate::ResourceAllocator::release_resource_heaps) is
    /// called or memory is short. Together with those in use, they are at most twice what was in use at once.
    SegmentedPool,
    /// Keeps a heap that became empty until the next allocation is freed in heaps of its kind, as D3D12MA does; so
    /// there is at most one for each kind. Nothing leaves by time or because of other kinds. With frames, it may stay
    /// for 40 operations, and leaves after 120 frames.
    UntilNextFree,
}
