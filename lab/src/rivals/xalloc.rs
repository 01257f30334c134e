//! xalloc: a TLSF and a ring without access to memory, by the author of rlsf.

use heapwright_core::{Alignment, ByteSize, HeapOffset};
use xalloc::{Ring, RingRegion, SysTlsf, SysTlsfRegion};

use crate::rival::{Rival, Terms, Unfit};

/// xalloc's TLSF, with the arena that it recommends for production.
#[derive(Debug)]
pub struct Xalloc(SysTlsf<u64>);

impl Rival for Xalloc {
    type Handle = SysTlsfRegion;

    fn new(terms: &Terms) -> Result<Self, Unfit> {
        Ok(Self(SysTlsf::new(terms.capacity.get())))
    }

    #[inline]
    fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Option<(SysTlsfRegion, HeapOffset)> {
        let (region, offset) = self.0.alloc_aligned(size.get(), alignment.get())?;
        Some((region, HeapOffset::new(offset)))
    }

    #[inline]
    fn free(&mut self, handle: SysTlsfRegion) {
        // SAFETY: the region is of this TLSF and live, as the trait requires, and it is consumed. This arena has no
        // checked variant.
        unsafe { self.0.dealloc_unchecked(handle) };
    }
}

/// xalloc's ring, in which the oldest allocation must be freed first.
#[derive(Debug)]
pub struct XallocRing(Ring<u64>);

impl Rival for XallocRing {
    type Handle = RingRegion<u64>;

    fn new(terms: &Terms) -> Result<Self, Unfit> {
        Ok(Self(Ring::new(terms.capacity.get())))
    }

    #[inline]
    fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Option<(RingRegion<u64>, HeapOffset)> {
        let (region, offset) = self.0.alloc_back_aligned(size.get(), alignment.get())?;
        Some((region, HeapOffset::new(offset)))
    }

    #[inline]
    fn free(&mut self, handle: RingRegion<u64>) {
        self.0.dealloc_front(handle);
    }
}
