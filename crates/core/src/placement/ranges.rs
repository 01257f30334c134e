//! The suballocator of one heap.

mod blocks;

pub(super) use self::blocks::Blocks;
use super::surveyed::SurveyedRanges;
use super::{HeapSurvey, PlacementId, PlacementRequest, SurveyedRange};
use crate::suballoc::{
    AuditError, Buddy, Linear, RangeUse, Stamp, SuballocError, Suballocation, SuballocationId, Tlsf,
};
use crate::{ByteSize, HeapRange};

/// The suballocator of a heap.
#[expect(
    clippy::large_enum_variant,
    reason = "the large variant is the usual one, and a box would be a further memory access of each call"
)]
pub(super) enum Ranges {
    Tlsf(Tlsf),
    Buddy(Buddy),
    Blocks(Blocks),
    Linear(Linear),
}

macro_rules! each {
    ($ranges:expr, $one:ident => $call:expr) => {
        match $ranges {
            Ranges::Tlsf($one) => $call,
            Ranges::Buddy($one) => $call,
            Ranges::Blocks($one) => $call,
            Ranges::Linear($one) => $call,
        }
    };
}

impl Ranges {
    /// Returns the suballocator of the default algorithm.
    pub(super) fn as_tlsf(&self) -> Option<&Tlsf> {
        if let Self::Tlsf(tlsf) = self { Some(tlsf) } else { None }
    }

    pub(super) fn as_tlsf_mut(&mut self) -> Option<&mut Tlsf> {
        if let Self::Tlsf(tlsf) = self { Some(tlsf) } else { None }
    }

    /// Returns the size of the blocks, if all have one.
    pub(super) fn block_size(&self) -> Option<ByteSize> {
        if let Self::Blocks(blocks) = self { Some(blocks.block_size()) } else { None }
    }

    /// Allocates a range, or returns `None` if there is no room.
    pub(super) fn allocate(&mut self, request: &PlacementRequest) -> Option<Suballocation> {
        let PlacementRequest { size, alignment, upper, .. } = *request;
        match self {
            Self::Tlsf(tlsf) => tlsf.allocate(size, alignment).ok(),
            Self::Buddy(buddy) => buddy.allocate(size, alignment),
            Self::Blocks(blocks) => blocks.allocate(size),
            Self::Linear(linear) if upper => linear.allocate_upper(size, alignment).ok(),
            Self::Linear(linear) => linear.allocate(size, alignment).ok(),
        }
    }

    /// Returns whether [`allocate`](Self::allocate) would succeed.
    pub(super) fn would_fit(&self, request: &PlacementRequest) -> bool {
        let PlacementRequest { size, alignment, upper, .. } = *request;
        match self {
            Self::Tlsf(tlsf) => tlsf.find(size, alignment).is_some(),
            Self::Buddy(buddy) => buddy.find(size, alignment).is_some(),
            Self::Blocks(blocks) => blocks.largest_free_range() >= size,
            Self::Linear(linear) if upper => linear.find_upper(size, alignment).is_ok(),
            Self::Linear(linear) => linear.find(size, alignment).is_ok(),
        }
    }

    pub(super) fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        each!(self, one => one.free(id))
    }

    /// Returns whether an id is live.
    pub(super) fn contains(&self, id: SuballocationId) -> bool {
        match self {
            Self::Tlsf(tlsf) => tlsf.range_of(id).is_ok(),
            Self::Buddy(buddy) => buddy.contains(id),
            Self::Blocks(blocks) => blocks.contains(id),
            Self::Linear(linear) => linear.range_of(id).is_ok(),
        }
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

    pub(super) fn is_empty(&self) -> bool {
        each!(self, one => one.allocation_count() == 0)
    }

    pub(super) fn largest_free_range(&self) -> ByteSize {
        each!(self, one => one.largest_free_range())
    }

    /// Returns the [class](Tlsf::size_class) of the largest free range, or zero if nothing is free.
    pub(super) fn largest_size_class(&self) -> u32 {
        match self {
            Self::Tlsf(tlsf) => tlsf.largest_size_class(),
            others => Tlsf::size_class(others.largest_free_range().get()),
        }
    }

    pub(super) fn continue_stamps(&mut self, next: Stamp) {
        each!(self, one => one.continue_stamps(next));
    }

    pub(super) fn next_stamp(&self) -> Stamp {
        each!(self, one => one.next_stamp())
    }

    pub(super) fn audit(&self) -> Result<(), AuditError> {
        each!(self, one => one.audit())
    }

    /// Returns all ranges of the heap with this number and this handle, without slabs. O(n).
    pub(super) fn survey<H>(&self, number: u32, heap: H) -> HeapSurvey<H> {
        let ranges = match self {
            // Its use decides about blocks.
            _ if self.is_empty() => {
                let ranges = SurveyedRanges::with_capacity(1);
                return ranges.into_heap(heap, self.capacity(), SurveyedRange::Free);
            }
            Self::Blocks(blocks) => {
                let ranges: SurveyedRanges = blocks.survey(number);
                return ranges.into_heap(heap, blocks.capacity(), SurveyedRange::Padding);
            }
            Self::Tlsf(tlsf) => tlsf.ranges().collect(),
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
            SurveyedRange::Used { id: PlacementId::new(number, id), range }
        }
        RangeUse::Free(range) => SurveyedRange::Free(range),
        RangeUse::Padding(range) => SurveyedRange::Padding(range),
    }
}
