//! Surveys of all ranges of a set, heap by heap.

use super::SharedHeapSet;
use crate::placement::heap_set::UsedRange;
use crate::placement::surveyed::SurveyedRanges;
use crate::placement::{HeapSurvey, PlacementId, SurveyedRange};
use crate::sync::lock;

impl<H: Clone> SharedHeapSet<H> {
    /// Returns every heap with all of its ranges, in the order of the set's table. O(heaps · lanes +
    /// allocations).
    ///
    /// Each heap is read at one moment, for which the calls of other threads wait; two heaps may be read at
    /// two moments. Allocations that are created, freed or moved meanwhile may be missing, or appear in both
    /// places.
    ///
    /// # Locking
    ///
    /// For one heap at a time, locks all lanes in the order of their numbers, then the heaps.
    ///
    /// ```
    /// use heapwright_core::placement::{PlacementRequest, SharedHeapSet, SurveyedRange};
    /// use heapwright_core::{Alignment, ByteSize};
    ///
    /// let heaps: SharedHeapSet<&str> = SharedHeapSet::default();
    /// let request = PlacementRequest::new(ByteSize::new(200), Alignment::ONE);
    /// let placed = heaps.allocate_in_new(ByteSize::from_kib(256), "a heap", &request)?;
    /// let survey = heaps.survey();
    /// assert_eq!(survey[0].heap, "a heap");
    /// // A slab of slots of 208 bytes; the rest of the heap is free.
    /// assert_eq!(survey[0].ranges[0], SurveyedRange::Used { id: placed.id, range: placed.range });
    /// assert!(matches!(survey[0].ranges[1], SurveyedRange::InSlab(_)));
    /// assert!(matches!(survey[0].ranges[2], SurveyedRange::Free(_)));
    /// # Ok::<(), heapwright_core::placement::PlacementError>(())
    /// ```
    #[must_use]
    pub fn survey(&self) -> Vec<HeapSurvey<H>> {
        let mut heaps = Vec::new();
        let mut slot = 0;
        while slot < self.lock_heaps().slot_limit() {
            heaps.extend(self.survey_heap(slot));
            slot += 1;
        }
        heaps
    }

    fn survey_heap(&self, slot: u32) -> Option<HeapSurvey<H>> {
        // All lanes: one without slabs may get one before the heaps are locked.
        let lanes: Vec<_> = self.lanes.iter().map(|lane| lock(&lane.0)).collect();
        let heaps = self.lock_heaps();
        if let Some(HeapSurvey { heap, size, is_closed, ranges }) = heaps.survey_by_rule(slot) {
            return Some(HeapSurvey { heap: heap.clone(), size, is_closed, ranges });
        }
        let heap = heaps.ranges_of(slot)?;
        let mut ranges = SurveyedRanges::with_capacity(2 * heap.used.len() + 1);
        for UsedRange { id, range, slab } in heap.used {
            let Some(place) = slab else {
                ranges.push_used(id, range, SurveyedRange::Free);
                continue;
            };
            ranges.fill_to(range.start(), SurveyedRange::Free);
            let slab = lanes.get(place.lane as usize).and_then(|lane| lane.live_in(place.number, id));
            for slot in slab.into_iter().flat_map(|(_, live)| live) {
                let id = PlacementId::of_slot(place.lane, slot.id);
                ranges.push_used(id, slot.range, SurveyedRange::InSlab);
            }
            ranges.fill_to(range.end(), SurveyedRange::InSlab);
        }
        let survey = ranges.into_heap(heap.payload.clone(), heap.size, SurveyedRange::Free);
        Some(HeapSurvey { is_closed: heap.is_closed, ..survey })
    }
}
