//! Everything that lives in a set, heap by heap.

use super::{SharedHeapSet, SharedPlacementId};
use crate::placement::PlacementId;
use crate::placement::heap_set::UsedRange;
use crate::sync::lock;
use crate::{ByteSize, HeapOffset, HeapRange};

/// A heap of a set and what is in it, as [`SharedHeapSet::survey`] found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeapSurvey<H> {
    /// What the owner holds for the heap.
    pub heap: H,
    /// All its bytes.
    pub size: ByteSize,
    /// It is being emptied: nothing is placed in it.
    pub is_closed: bool,
    /// From the lowest offset up, without a gap.
    pub ranges: Vec<SurveyedRange>,
}

/// What a range of a heap is: each byte lies in exactly one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurveyedRange {
    /// A live allocation.
    Used {
        /// To free it by.
        id: SharedPlacementId,
        /// The bytes that were asked for.
        range: HeapRange,
    },
    /// Free for a request of any size.
    Free(HeapRange),
    /// In a slab: free slots, for requests of the slab's class alone, and what a used slot has more than was asked for.
    InSlab(HeapRange),
    /// Neither used nor free: what a block has more than was asked for, and what cannot be used until something beside it is
    /// freed. The default algorithm has none.
    Padding(HeapRange),
}

impl SurveyedRange {
    /// The bytes in question.
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
    /// Every heap with everything that is in it, in the order of the set's table. O(heaps · lanes + allocations).
    ///
    /// Each heap is shown as it was at one moment, for which the calls of other threads wait; two heaps may be shown as they
    /// were at two moments. So what is allocated, freed or moved meanwhile may be missing, or be shown in both its places.
    ///
    /// # Locking
    ///
    /// For one heap at a time, the locks of all lanes in the order of their numbers, then that of the heaps.
    ///
    /// ```
    /// use heapwright_core::placement::{SharedHeapSet, SurveyedRange};
    /// use heapwright_core::{Alignment, ByteSize};
    ///
    /// let heaps: SharedHeapSet<&str> = SharedHeapSet::default();
    /// let size = ByteSize::new(200);
    /// let placed = heaps.allocate_in_new(ByteSize::from_kib(256), "a heap", size, Alignment::ONE)?;
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
        // All of them: one that has no slab now may have one before the lock of the heaps is taken.
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

/// Ranges up to an offset.
pub(in crate::placement) struct SurveyedRanges {
    ranges: Vec<SurveyedRange>,
    end: HeapOffset,
}

impl SurveyedRanges {
    pub(in crate::placement) fn with_capacity(count: usize) -> Self {
        Self { ranges: Vec::with_capacity(count), end: HeapOffset::ZERO }
    }

    /// Adds what lies between the last range and this offset.
    pub(in crate::placement) fn fill_to(
        &mut self,
        end: HeapOffset,
        gap: impl Fn(HeapRange) -> SurveyedRange,
    ) {
        let size = ByteSize::new(end.get().saturating_sub(self.end.get()));
        if !size.is_zero() {
            if let Some(range) = HeapRange::new(self.end, size) {
                self.ranges.push(gap(range));
            }
        }
        self.end = end;
    }

    /// Adds an allocation, and what lies between the last range and it.
    pub(in crate::placement) fn push_used(
        &mut self,
        id: SharedPlacementId,
        range: HeapRange,
        gap: impl Fn(HeapRange) -> SurveyedRange,
    ) {
        self.fill_to(range.start(), gap);
        self.ranges.push(SurveyedRange::Used { id, range });
        self.end = range.end();
    }

    /// The heap whose ranges these are, and what lies behind them.
    pub(in crate::placement) fn into_heap<H>(
        mut self,
        heap: H,
        size: ByteSize,
        gap: impl Fn(HeapRange) -> SurveyedRange,
    ) -> HeapSurvey<H> {
        self.fill_to(HeapOffset::new(size.get()), gap);
        HeapSurvey { heap, size, is_closed: false, ranges: self.ranges }
    }
}
