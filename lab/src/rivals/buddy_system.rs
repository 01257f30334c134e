//! rCore's `buddy_system_allocator`, through its frame allocator, which allocates numbers.

use buddy_system_allocator::FrameAllocator;
use heapwright_core::{Alignment, ByteSize, HeapOffset};

use super::units::Units;
use crate::rival::{Rival, Terms, Unfit};

/// The frame allocator. A frame is one unit of the alignment.
pub struct BuddySystem {
    // 2^39 frames at most.
    frames: FrameAllocator<40>,
    units: Units,
}

impl Rival for BuddySystem {
    /// The first frame and the number of frames.
    type Handle = (usize, usize);

    fn new(terms: &Terms) -> Result<Self, Unfit> {
        let units = Units::new(terms);
        let count = units.within(terms.capacity);
        let count =
            usize::try_from(count).ok().filter(|count| count >> 39 <= 1).ok_or(Unfit("too many frames"))?;
        let mut frames = FrameAllocator::new();
        frames.add_frame(0, count);
        Ok(Self { frames, units })
    }

    #[inline]
    fn allocate(&mut self, size: ByteSize, _alignment: Alignment) -> Option<(Self::Handle, HeapOffset)> {
        let count = usize::try_from(self.units.holding(size)).ok()?;
        let first = self.frames.alloc(count)?;
        Some(((first, count), self.units.offset(first as u64)))
    }

    #[inline]
    fn free(&mut self, (first, count): Self::Handle) {
        self.frames.dealloc(first, count);
    }
}
