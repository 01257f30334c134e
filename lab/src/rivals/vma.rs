//! AMD's Vulkan Memory Allocator 3: its virtual block, a suballocator without Vulkan.

use heapwright_core::{Alignment, ByteSize, HeapOffset};
use vk_mem::{
    VirtualAllocation, VirtualAllocationCreateFlags, VirtualAllocationCreateInfo, VirtualBlock,
    VirtualBlockCreateFlags, VirtualBlockCreateInfo,
};

use crate::rival::{Rival, Terms};

/// The flags of a VMA rival.
pub trait Choice {
    /// Flags of the block.
    const BLOCK: VirtualBlockCreateFlags = VirtualBlockCreateFlags::empty();
    /// Flags of each allocation.
    const ALLOCATION: VirtualAllocationCreateFlags = VirtualAllocationCreateFlags::empty();
}

/// TLSF with VMA's default strategy.
#[derive(Debug)]
pub struct Default;
impl Choice for Default {}

/// TLSF with the strategy for minimum waste.
#[derive(Debug)]
pub struct MinMemory;
impl Choice for MinMemory {
    const ALLOCATION: VirtualAllocationCreateFlags =
        VirtualAllocationCreateFlags::VMA_VIRTUAL_ALLOCATION_CREATE_STRATEGY_MIN_MEMORY_BIT;
}

/// TLSF with the strategy for minimum time.
#[derive(Debug)]
pub struct MinTime;
impl Choice for MinTime {
    const ALLOCATION: VirtualAllocationCreateFlags =
        VirtualAllocationCreateFlags::VMA_VIRTUAL_ALLOCATION_CREATE_STRATEGY_MIN_TIME_BIT;
}

/// The linear algorithm, which is a ring if the oldest allocations are freed first.
#[derive(Debug)]
pub struct Linear;
impl Choice for Linear {
    const BLOCK: VirtualBlockCreateFlags =
        VirtualBlockCreateFlags::VMA_VIRTUAL_BLOCK_CREATE_LINEAR_ALGORITHM_BIT;
}

/// A virtual block, which is VMA's name for suballocation without memory.
pub struct Vma<C> {
    block: VirtualBlock,
    choice: std::marker::PhantomData<C>,
}

// SAFETY: a virtual block has no tie to the thread that created it. VMA requires that no two threads use it at the same
// time, and each call here takes `&mut self`.
unsafe impl<C> Send for Vma<C> {}

impl<C: Choice> Rival for Vma<C> {
    type Handle = VirtualAllocation;

    fn new(terms: &Terms) -> Self {
        let info = VirtualBlockCreateInfo {
            size: terms.capacity.get(),
            flags: C::BLOCK,
            allocation_callbacks: None,
        };
        let block = VirtualBlock::new(info).expect("a capacity that VMA takes");
        Self { block, choice: std::marker::PhantomData }
    }

    #[inline]
    fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Option<(VirtualAllocation, HeapOffset)> {
        let info = VirtualAllocationCreateInfo {
            size: size.get(),
            alignment: alignment.get(),
            user_data: usize::try_from(size.get()).unwrap_or_default(),
            flags: C::ALLOCATION,
        };
        // SAFETY: VMA requires a size that is not zero, which workloads promise, and an alignment that is a power of
        // two, which the type promises. It reads only the description, which outlives the call.
        let (allocation, offset) = unsafe { self.block.allocate(info) }.ok()?;
        Some((allocation, HeapOffset::new(offset)))
    }

    #[inline]
    fn free(&mut self, mut handle: VirtualAllocation) {
        // SAFETY: the handle is of this block and live, as the trait requires; it cannot be freed twice, since it is
        // consumed and cannot be copied.
        unsafe { self.block.free(&mut handle) }
    }
}

impl<C> Drop for Vma<C> {
    fn drop(&mut self) {
        // SAFETY: remaining handles cannot be used any more, since each use requires the block.
        unsafe { self.block.clear() }
    }
}
