//! The suballocator of one heap of GPGMM's and D3D12MA's algorithms.

use super::blocks::Blocks;
use crate::placement::heap_set::PlacementId;
use crate::placement::shared_heap_set::SurveyedRanges;
use crate::placement::{HeapSurvey, PlacementRequest, SharedPlacementId, SurveyedRange};
use crate::suballoc::{
    AuditError, Buddy, Linear, RangeUse, Stamp, SuballocError, Suballocation, SuballocationId,
};
use crate::{ByteSize, HeapRange};

/// The suballocator of a heap.
#[derive(Clone)]
pub(super) enum Ranges {
    Blocks(Blocks),
    Buddy(Buddy),
    Linear(Linear),
}

macro_rules! each {
    ($ranges:expr, $one:ident => $call:expr) => {
        match $ranges {
            Ranges::Blocks($one) => $call,
            Ranges::Buddy($one) => $call,
            Ranges::Linear($one) => $call,
        }
    };
}

impl Ranges {
    /// Allocates a range, or returns `None` if there is no room.
    pub(super) fn allocate(&mut self, request: &PlacementRequest) -> Option<Suballocation> {
        let PlacementRequest { size, alignment, upper, .. } = *request;
        match self {
            Self::Blocks(blocks) => blocks.allocate(size),
            Self::Buddy(buddy) => buddy.allocate(size, alignment),
            Self::Linear(linear) if upper => linear.allocate_upper(size, alignment).ok(),
            Self::Linear(linear) => linear.allocate(size, alignment).ok(),
        }
    }

    /// Returns whether [`allocate`](Self::allocate) would succeed.
    pub(super) fn would_fit(&self, request: &PlacementRequest) -> bool {
        let PlacementRequest { size, alignment, upper, .. } = *request;
        match self {
            Self::Blocks(blocks) => blocks.largest_free_range() >= size,
            Self::Buddy(buddy) => buddy.find(size, alignment).is_some(),
            Self::Linear(linear) if upper => linear.find_upper(size, alignment).is_ok(),
            Self::Linear(linear) => linear.find(size, alignment).is_ok(),
        }
    }

    pub(super) fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        each!(self, one => one.free(id))
    }

    pub(super) fn capacity(&self) -> ByteSize {
        each!(self, one => one.capacity())
    }

    pub(super) fn used(&self) -> ByteSize {
        each!(self, one => one.used())
    }

    pub(super) fn allocation_count(&self) -> u64 {
        each!(self, one => one.allocation_count())
    }

    pub(super) fn largest_free_range(&self) -> ByteSize {
        each!(self, one => one.largest_free_range())
    }

    pub(super) fn continue_stamps(&mut self, next: Stamp) {
        each!(self, one => one.continue_stamps(next));
    }

    pub(super) fn next_stamp(&self) -> Stamp {
        each!(self, one => one.next_stamp())
    }

    #[inline]
    pub(super) fn audit(&self) -> Result<(), AuditError> {
        each!(self, one => one.audit())
    }

    /// Returns all ranges of the heap with this number and this handle. O(n).
    pub(super) fn survey<H>(&self, number: u32, heap: H) -> HeapSurvey<H> {
        let ranges = match self {
            Self::Blocks(blocks) => {
                let ranges: SurveyedRanges = blocks.survey(number);
                return ranges.into_heap(heap, blocks.capacity(), SurveyedRange::Padding);
            }
            Self::Buddy(buddy) => buddy.ranges(),
            Self::Linear(linear) => linear.ranges().collect(),
        };
        let ranges = ranges.into_iter().map(|range| surveyed(number, range)).collect();
        HeapSurvey { heap, size: self.capacity(), is_closed: false, ranges }
    }
}

fn surveyed(number: u32, range: RangeUse) -> SurveyedRange {
    match range {
        RangeUse::Used(Suballocation { id, range }) => {
            SurveyedRange::Used { id: SharedPlacementId(PlacementId::new(number, id)), range }
        }
        RangeUse::Free(range) => SurveyedRange::Free(range),
        RangeUse::Padding(range) => SurveyedRange::Padding(range),
    }
}
