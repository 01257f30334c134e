//! Heapwright's slabs over heaps, with one heap of the whole capacity, so that all rivals have the same range.

use heapwright_core::placement::{
    HeapRetention, HeapSizing, PlacementId, SharedHeapSet, SharedPlacementId, SlabHeapSet,
};
use heapwright_core::{Alignment, ByteSize, HeapOffset};

use crate::rival::{Rival, SharedRival, Terms, Unfit};

/// [`SlabHeapSet`], for one owner.
#[derive(Debug)]
pub struct OurCombined(SlabHeapSet<()>);

/// [`SharedHeapSet`], for many threads.
#[derive(Debug)]
pub struct OurShared(SharedHeapSet<()>);

/// Requests of all sizes are in the one heap.
fn one_heap() -> HeapSizing {
    HeapSizing {
        own_heap_from: ByteSize::new(u64::MAX),
        small_up_to: ByteSize::ZERO,
        ..HeapSizing::default()
    }
}

const REFUSES: Unfit = Unfit("refuses the capacity");

impl Rival for OurCombined {
    type Handle = PlacementId;

    fn new(terms: &Terms) -> Result<Self, Unfit> {
        let mut set = SlabHeapSet::new(one_heap(), HeapRetention::default(), SlabHeapSet::<()>::SLOTS_UP_TO);
        set.insert(terms.capacity, ()).map_err(|_| REFUSES)?;
        Ok(Self(set))
    }

    #[inline]
    fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Option<(PlacementId, HeapOffset)> {
        let placed = self.0.allocate(size, alignment).ok()??;
        Some((placed.id, placed.range.start()))
    }

    #[inline]
    fn free(&mut self, handle: PlacementId) {
        let released = self.0.free(handle).expect("a workload frees what is live");
        assert!(released.is_empty(), "the one heap stays");
    }
}

impl SharedRival for OurShared {
    type Handle = SharedPlacementId;

    fn new(terms: &Terms) -> Result<Self, Unfit> {
        let set = SharedHeapSet::new(
            one_heap(),
            HeapRetention::default(),
            SharedHeapSet::<()>::SLOTS_UP_TO,
            SharedHeapSet::<()>::LANES,
        );
        // The set makes its heap as its owner does, for a first request.
        let first =
            set.allocate_in_new(terms.capacity, (), ByteSize::new(1), Alignment::ONE).map_err(|_| REFUSES)?;
        set.free(first.id).map_err(|_| REFUSES)?;
        Ok(Self(set))
    }

    #[inline]
    fn allocate(&self, size: ByteSize, alignment: Alignment) -> Option<(SharedPlacementId, HeapOffset)> {
        let placed = self.0.allocate(size, alignment).ok()??;
        Some((placed.id, placed.range.start()))
    }

    #[inline]
    fn free(&self, handle: SharedPlacementId) {
        let released = self.0.free(handle).expect("a workload frees what is live");
        assert!(released.is_empty(), "the one heap stays");
    }
}
