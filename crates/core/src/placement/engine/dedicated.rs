//! GPGMM's dedicated allocator: a heap for each request.

use super::locked::{HeapTable, InUse, LockedEngine};
use super::{EmptyHeaps, PlacementRequest};
use crate::placement::heap_set::PlacementId;
use crate::placement::shared_heap_set::SurveyedRanges;
use crate::placement::{
    HeapSetTotals, HeapSurvey, PlacementError, SharedPlaced, SharedPlacementId, SurveyedRange,
};
use crate::suballoc::{AuditError, Stamp, SuballocError, SuballocationId};
use crate::{Alignment, ByteSize, HeapOffset, HeapRange};

/// Every request has a heap to itself, of exactly its size rounded up to the granularity of heaps.
///
/// O(1), and O(log n) where a heap was inserted before, for n distinct sizes of those.
#[derive(Debug)]
pub(super) struct Dedicated<H> {
    granularity: Alignment,
    heaps: HeapTable<Heap<H>>,
    empty: EmptyHeaps<H>,
    in_use: InUse,
    next_stamp: Stamp,
}

#[derive(Debug)]
struct Heap<H> {
    heap: H,
    heap_size: ByteSize,
    /// Of the request.
    size: ByteSize,
    stamp: Stamp,
}

impl<H: Clone> Dedicated<H> {
    pub(super) fn new(granularity: Alignment) -> Self {
        Self {
            granularity,
            heaps: HeapTable::default(),
            empty: EmptyHeaps::default(),
            in_use: InUse::default(),
            next_stamp: Stamp::FIRST,
        }
    }

    fn place(
        &mut self,
        number: u32,
        heap_size: ByteSize,
        heap: H,
        request: &PlacementRequest,
    ) -> Result<SharedPlaced<H>, PlacementError> {
        let too_large = PlacementError::TooLarge { requested: request.size };
        let range = HeapRange::new(HeapOffset::ZERO, request.size).ok_or(too_large)?;
        let stamp = self.next_stamp;
        self.next_stamp = stamp.next();
        self.in_use.allocated(request.size);
        self.in_use.reserved = self.in_use.reserved.saturating_add(heap_size);
        self.heaps.insert(Heap { heap: heap.clone(), heap_size, size: request.size, stamp });
        let id = PlacementId::new(number, SuballocationId::new(ONLY, stamp));
        Ok(SharedPlaced { id: SharedPlacementId(id), range, heap })
    }
}

/// What is in a heap has no number there.
const ONLY: std::num::NonZeroU32 = std::num::NonZeroU32::MIN;

impl<H: Clone> LockedEngine<H> for Dedicated<H> {
    fn allocate(&mut self, request: &PlacementRequest) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        let heap_size = self.heap_size(request)?;
        let number = self.heaps.next_number()?;
        let heap = self.empty.take(heap_size);
        heap.map(|heap| self.place(number, heap_size, heap, request)).transpose()
    }

    fn heap_size(&self, request: &PlacementRequest) -> Result<ByteSize, PlacementError> {
        if request.size.is_zero() {
            return Err(SuballocError::ZeroSize.into());
        }
        let size = request.size.align_up(self.granularity);
        let too_large = PlacementError::TooLarge { requested: request.size };
        size.filter(|&size| size <= self.largest_heap()).ok_or(too_large)
    }

    fn allocate_in_new(
        &mut self,
        heap_size: ByteSize,
        heap: H,
        request: &PlacementRequest,
    ) -> Result<SharedPlaced<H>, PlacementError> {
        let number = self.heaps.next_number()?;
        if heap_size < request.size {
            self.empty.insert(heap_size, heap);
            return Err(PlacementError::TooLarge { requested: request.size });
        }
        self.place(number, heap_size, heap, request)
    }

    fn free(&mut self, id: PlacementId) -> Result<Option<H>, PlacementError> {
        let stale = SuballocError::StaleId { id: id.suballocation() };
        let live = self.heaps.get(id.heap()).ok_or(PlacementError::UnknownHeap)?;
        if (live.stamp, ONLY) != (id.suballocation().stamp(), id.suballocation().slot()) {
            return Err(stale.into());
        }
        let Some(gone) = self.heaps.remove(id.heap()) else { return Err(stale.into()) };
        self.in_use.freed(gone.size);
        self.in_use.reserved = self.in_use.reserved.saturating_sub(gone.heap_size);
        Ok(Some(gone.heap))
    }

    fn has_room(&self, request: &PlacementRequest) -> Result<bool, PlacementError> {
        let heap_size = self.heap_size(request)?;
        self.heaps.next_number()?;
        Ok(self.empty.contains(heap_size))
    }

    fn survey(&self) -> Vec<HeapSurvey<H>> {
        let heaps = self.heaps.iter().map(|(number, live)| {
            let mut ranges = SurveyedRanges::with_capacity(2);
            if let Some(range) = HeapRange::new(HeapOffset::ZERO, live.size) {
                let id = PlacementId::new(number, SuballocationId::new(ONLY, live.stamp));
                ranges.push_used(SharedPlacementId(id), range, SurveyedRange::Padding);
            }
            ranges.into_heap(live.heap.clone(), live.heap_size, SurveyedRange::Padding)
        });
        heaps.collect()
    }

    fn empties(&self) -> &EmptyHeaps<H> {
        &self.empty
    }

    fn empty_heaps(&mut self) -> &mut EmptyHeaps<H> {
        &mut self.empty
    }

    fn largest_heap(&self) -> ByteSize {
        ByteSize::new(1 << 63)
    }

    fn totals(&self) -> HeapSetTotals {
        self.in_use.totals(self.heaps.count(), &self.empty)
    }

    fn audit(&self) -> Result<(), AuditError> {
        self.empty.audit()?;
        self.heaps.audit()?;
        let mut counted = InUse::default();
        for (number, live) in self.heaps.iter() {
            if live.size > live.heap_size || live.stamp >= self.next_stamp {
                return Err(AuditError::new(format!(
                    "heap {number} holds {} of {}",
                    live.size, live.heap_size
                )));
            }
            counted.allocated(live.size);
            counted.reserved = counted.reserved.saturating_add(live.heap_size);
        }
        counted.agrees_with(&self.in_use)
    }
}
