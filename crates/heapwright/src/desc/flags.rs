//! GPGMM's flags under GPGMM's numbers; from bit 16 on ours.

use bitflags::bitflags;

bitflags! {
    /// How an allocator behaves: `RESOURCE_ALLOCATOR_FLAGS` (document GPGMM).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct ResourceAllocatorFlags: u32 {
        /// Every resource is committed: D3D12 makes its heap, and no heap is used again. Buffers may still be suballocated
        /// within a resource, if the allocation allows it.
        const ALWAYS_COMMITTED = 0x1;
        /// Heaps and committed resources are created within the budget or not at all: that of the residency manager, for which what is
        /// idle is evicted, or without one the operating system's, which needs an adapter.
        const ALWAYS_IN_BUDGET = 0x2;
        /// The next heap may be created on a background thread before it is needed.
        const ALLOW_PREFETCH = 0x4;
        /// No heap is kept once nothing is in it: the least memory, and the most calls of CreateHeap.
        const ALWAYS_ON_DEMAND = 0x8;
        /// On cache-coherent UMA one CUSTOM kind of heap is used for everything but what asks for READBACK. Elsewhere it has no effect,
        /// and a warning is logged.
        ///
        /// Heaps and committed resources of unified memory are accounted for as DEFAULT; see [`HeapLimits`](crate::HeapLimits). What
        /// the device does not create in such memory gets a heap of the type that was asked for.
        const ALLOW_UNIFIED_MEMORY = 0x10;
        /// Live allocations are tracked; those that are left when the last handle of the allocator is dropped are logged.
        /// Costs a lock and a tree entry an allocation.
        const NEVER_LEAK = 0x20;
        /// Heaps get `D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT`, where the device has it: whoever uses them makes them resident. A residency
        /// manager does so for their first use.
        const CREATE_NOT_RESIDENT = 0x40;
        /// No empty heaps are given back to make room for a new one, neither before the budget or a limit is passed nor when the
        /// device is out of memory. Memory that is held is still used before an allocation fails.
        const NEVER_OVER_ALLOCATE = 0x80;
        /// Tight alignment is never asked for. (It is measured to save memory and is legal wherever it is applied; some tools
        /// track writes by pages and want resources apart.)
        const NEVER_TIGHT_ALIGNMENT = 0x1_0000;
        /// Heaps of the allocator's own get `D3D12_HEAP_FLAG_CREATE_NOT_ZEROED`, where the device has it: quicker to create, and
        /// what a resource holds at first is undefined, also across processes' lives.
        const CREATE_NOT_ZEROED = 0x2_0000;
    }
}

bitflags! {
    /// How an allocation is made: `RESOURCE_ALLOCATION_FLAGS` (document GPGMM).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct ResourceAllocationFlags: u32 {
        /// Only memory that is held already may be used; where that does not do, the answer is out of memory.
        const NEVER_ALLOCATE_HEAP = 0x1;
        /// A small buffer may share one resource with others, byte-aligned; see
        /// [`ResourceAllocation::offset_from_resource`](crate::ResourceAllocation::offset_from_resource).
        const ALLOW_SUBALLOCATE_WITHIN_RESOURCE = 0x2;
        /// The resource shares its heap with no other.
        const NEVER_SUBALLOCATE_HEAP = 0x4;
        /// Has the next heap made in the background, if the allocator
        /// [allows it](ResourceAllocatorFlags::ALLOW_PREFETCH). Not with `NEVER_ALLOCATE_HEAP`.
        const ALWAYS_PREFETCH_HEAP = 0x8;
        /// Keeps the tables for resources of this size when the last of them is gone
        /// ([`SuballocationAlgorithm::Slab`](crate::SuballocationAlgorithm::Slab)).
        const ALWAYS_CACHE_SIZE = 0x10;
        /// The heap has the type asked for, although the allocator
        /// [unifies memory](ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY).
        const ALWAYS_ATTRIBUTE_HEAPS = 0x20;
        /// Where no heap can be had, the resource is not committed as the last resort: it fails.
        const NEVER_FALLBACK = 0x40;
        /// The residency manager leaves the allocation alone: its heap is nobody else's, before and after.
        const NEVER_RESIDENT = 0x80;
        /// A warning is logged when the allocation takes more bytes than were asked for: a buffer's width, or what the texels of a
        /// texture take, in formats of which that is known. A heap of its own counts as a whole, a part of a buffer with its alignment.
        const ALWAYS_WARN_ON_ALIGNMENT_MISMATCH = 0x100;
        /// The resource is committed: D3D12 makes its heap.
        const ALWAYS_COMMITTED = 0x200;
        /// A heap that must be created for it is created within the budget or not at all: that of the residency manager, or without one
        /// the operating system's, which needs an adapter.
        const WITHIN_BUDGET = 0x1_0000;
        /// Committed if that is possible, placed otherwise.
        const PREFER_COMMITTED = 0x2_0000;
        /// From the upper end, in a pool of [`Linear`](crate::SuballocationAlgorithm::Linear) with one heap at most.
        const UPPER_ADDRESS = 0x4_0000;
    }
}
