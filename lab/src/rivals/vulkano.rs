//! vulkano's suballocators, which require no device.

use heapwright_core::{Alignment, ByteSize, HeapOffset};
use vulkano::memory::DeviceAlignment;
use vulkano::memory::allocator::suballocator::Region;
use vulkano::memory::allocator::{
    AllocationType, BuddyAllocator, DeviceLayout, FreeListAllocator, Suballocation, Suballocator,
};

use crate::rival::{Rival, Terms, Unfit};

/// Best fit over a sorted vector of free ranges.
#[derive(Debug)]
pub struct VulkanoFreeList(FreeListAllocator);

/// A buddy allocator with a minimum node size of 16 bytes.
#[derive(Debug)]
pub struct VulkanoBuddy(BuddyAllocator);

impl Rival for VulkanoFreeList {
    type Handle = Suballocation;

    fn new(terms: &Terms) -> Result<Self, Unfit> {
        Ok(Self(FreeListAllocator::new(region(terms)?)))
    }

    #[inline]
    fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Option<(Suballocation, HeapOffset)> {
        allocate(&mut self.0, size, alignment)
    }

    #[inline]
    fn free(&mut self, handle: Suballocation) {
        // SAFETY: the suballocation is of this suballocator and live, as the trait requires.
        unsafe { self.0.deallocate(handle) };
    }
}

impl Rival for VulkanoBuddy {
    type Handle = Suballocation;

    fn new(terms: &Terms) -> Result<Self, Unfit> {
        let capacity = terms.capacity.get();
        if !capacity.is_power_of_two() {
            return Err(Unfit("takes a power of two only"));
        }
        if !(16..16 << 32).contains(&capacity) {
            return Err(Unfit("takes 16 B to 32 GiB only"));
        }
        Ok(Self(BuddyAllocator::new(region(terms)?)))
    }

    #[inline]
    fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Option<(Suballocation, HeapOffset)> {
        allocate(&mut self.0, size, alignment)
    }

    #[inline]
    fn free(&mut self, handle: Suballocation) {
        // SAFETY: as above.
        unsafe { self.0.deallocate(handle) };
    }
}

fn region(terms: &Terms) -> Result<Region, Unfit> {
    Region::new(0, terms.capacity.get()).ok_or(Unfit("refuses the capacity"))
}

#[inline]
fn allocate<S: Suballocator>(
    suballocator: &mut S,
    size: ByteSize,
    alignment: Alignment,
) -> Option<(Suballocation, HeapOffset)> {
    let layout = DeviceLayout::from_size_alignment(size.get(), alignment.get())?;
    // Only buffers are allocated, so granularity between buffers and images does not matter.
    let suballocation = suballocator.allocate(layout, AllocationType::Linear, DeviceAlignment::MIN).ok()?;
    Some((suballocation, HeapOffset::new(suballocation.offset)))
}
