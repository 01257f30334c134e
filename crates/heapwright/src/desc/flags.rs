//! Flags with GPGMM's names and values. Bits 16 and up are our own.

use bitflags::bitflags;

bitflags! {
    /// Options of an allocator: `RESOURCE_ALLOCATOR_FLAGS` of GPGMM.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct ResourceAllocatorFlags: u32 {
        /// Creates every resource as committed, with an implicit heap that is never reused. Buffers may still be
        /// suballocated within a resource, if the allocation allows it.
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
