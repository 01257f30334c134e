//! Heapwright's slabs over heaps, with one heap of the whole capacity, so that all rivals have the same range.

use heapwright_core::placement::{HeapRetention, HeapSetDesc, PlacementId, PlacementRequest, SharedHeapSet};
use heapwright_core::{Alignment, ByteSize, HeapOffset};

use crate::rival::{Rival, Terms};

/// [`SharedHeapSet`] on one thread, with its locks, as the library uses it.
pub struct OurCombined(SharedHeapSet<()>);

/// The retention by which the heap stays when it is empty.
const FOR_EVER: HeapRetention = HeapRetention::FOR_EVER;

impl Rival for OurCombined {
    type Handle = PlacementId;

    fn new(terms: &Terms) -> Self {
        let set = SharedHeapSet::new(&HeapSetDesc { retention: FOR_EVER, ..HeapSetDesc::default() });
        set.insert(terms.capacity, ()).expect("one heap of any capacity");
        Self(set)
    }

    #[inline]
    fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Option<(PlacementId, HeapOffset)> {
        let placed = self.0.allocate(&PlacementRequest::new(size, alignment)).ok()??;
        Some((placed.id, placed.range.start()))
    }

    #[inline]
    fn free(&mut self, handle: PlacementId) {
        let released = self.0.free(handle).expect("a workload frees what is live");
        assert!(released.is_empty(), "the one heap stays");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms =
        Terms { capacity: ByteSize::from_mib(16), alignment: Alignment::ONE, most_live: 100 };

    #[test]
    fn the_one_heap_serves_until_it_is_full() {
        let mut combined = OurCombined::new(&TERMS);
        // From empty each time, so that the heap is much too large for the request.
        for _ in 0..5000 {
            let sizes = [ByteSize::from_mib(9), ByteSize::new(100), ByteSize::from_mib(6)];
            let held: Vec<_> = sizes
                .into_iter()
                .map(|size| combined.allocate(size, Alignment::ONE).expect("there is room").0)
                .collect();
            assert!(combined.allocate(ByteSize::from_mib(2), Alignment::ONE).is_none());
            held.into_iter().for_each(|handle| combined.free(handle));
        }
    }
}
