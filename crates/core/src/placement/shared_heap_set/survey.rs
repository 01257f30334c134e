//! Surveys of all ranges of a set, heap by heap.

use super::{SharedHeapSet, SharedPlacementId};
use crate::placement::PlacementId;
use crate::placement::heap_set::UsedRange;
use crate::sync::lock;
use crate::{ByteSize, HeapOffset, HeapRange};

/// A heap of a set and its ranges, returned by [`SharedHeapSet::survey`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeapSurvey<H> {
    /// The owner's handle of the heap.
    pub heap: H,
    /// The size of the heap.
    pub size: ByteSize,
    /// Whether the heap is being emptied, so that nothing is placed in it.
    pub is_closed: bool,
    /// All ranges in address order, without gaps.
    pub ranges: Vec<SurveyedRange>,
}

/// The use of a range of a heap. Each byte lies in exactly one such range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurveyedRange {
    /// A live allocation.
    Used {
        /// The id that frees it.
        id: SharedPlacementId,
        /// The requested bytes.
        range: HeapRange,
    },
    /// Free for a request of any size.
    Free(HeapRange),
    /// Unused bytes of a slab: free slots, available only to requests of the slab's class, and the padding of
    /// used slots.
    InSlab(HeapRange),
    /// Padding: the unused rest of a block, and bytes that cannot be used until a neighbour is freed. The
    /// default algorithm has none.
    Padding(HeapRange),
}

impl SurveyedRange {
    /// Returns the range.
    #[must_use]
    pub const fn range(&self) -> HeapRange {
        match self {
            Self::Used { range, .. } | Self::Free(range) | Self::InSlab(range) | Self::Padding(range) => {
                *range
            }
        }
    }
}

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
        let heap = heaps.ranges_of(slot)?;
        let mut ranges = SurveyedRanges::with_capacity(2 * heap.used.len() + 1);
        for UsedRange { id, range, slab } in heap.used {
            let Some(place) = slab else {
                ranges.push_used(SharedPlacementId(id), range, SurveyedRange::Free);
                continue;
            };
            ranges.fill_to(range.start(), SurveyedRange::Free);
            let slab = lanes.get(place.lane as usize).and_then(|lane| lane.live_in(place.number, id));
            for slot in slab.into_iter().flat_map(|(_, live)| live) {
                let id = SharedPlacementId(PlacementId::of_slot(place.lane, slot.id));
                ranges.push_used(id, slot.range, SurveyedRange::InSlab);
            }
            ranges.fill_to(range.end(), SurveyedRange::InSlab);
        }
        let survey = ranges.into_heap(heap.payload.clone(), heap.size, SurveyedRange::Free);
        Some(HeapSurvey { is_closed: heap.is_closed, ..survey })
    }
}

/// The ranges up to an offset.
pub(crate) struct SurveyedRanges {
    ranges: Vec<SurveyedRange>,
    end: HeapOffset,
}

impl SurveyedRanges {
    pub(crate) fn with_capacity(count: usize) -> Self {
        Self { ranges: Vec::with_capacity(count), end: HeapOffset::ZERO }
    }

    /// Adds the gap from the last range to this offset.
    pub(crate) fn fill_to(&mut self, end: HeapOffset, gap: impl Fn(HeapRange) -> SurveyedRange) {
        let size = ByteSize::new(end.get().saturating_sub(self.end.get()));
        if !size.is_zero() {
            if let Some(range) = HeapRange::new(self.end, size) {
                self.ranges.push(gap(range));
            }
        }
        self.end = end;
    }

    /// Adds an allocation, and the gap from the last range to it.
    pub(crate) fn push_used(
        &mut self,
        id: SharedPlacementId,
        range: HeapRange,
        gap: impl Fn(HeapRange) -> SurveyedRange,
    ) {
        self.fill_to(range.start(), gap);
        self.ranges.push(SurveyedRange::Used { id, range });
        self.end = range.end();
    }

    /// Adds the gap after the last range, and returns the heap with its ranges.
    pub(crate) fn into_heap<H>(
        mut self,
        heap: H,
        size: ByteSize,
        gap: impl Fn(HeapRange) -> SurveyedRange,
    ) -> HeapSurvey<H> {
        self.fill_to(HeapOffset::new(size.get()), gap);
        HeapSurvey { heap, size, is_closed: false, ranges: self.ranges }
    }
}
