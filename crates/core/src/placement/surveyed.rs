//! Surveys of all ranges of a set, heap by heap.

use super::PlacementId;
use crate::{ByteSize, HeapOffset, HeapRange};

/// A heap of a set and its ranges, returned by [`SharedHeapSet::survey`](super::SharedHeapSet::survey).
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
        id: PlacementId,
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
        id: PlacementId,
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
