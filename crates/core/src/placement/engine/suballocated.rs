//! Heaps with a suballocator each, of an algorithm that has one way: GPGMM's buddy system, D3D12MA's linear pools.

use std::collections::BTreeSet;

use super::locked::{HeapTable, InUse, LockedEngine};
use super::{EmptyHeaps, PlacementAlgorithm, PlacementRequest};
use crate::placement::heap_set::PlacementId;
use crate::placement::{
    HeapSetTotals, HeapSurvey, PlacementError, SharedPlaced, SharedPlacementId, SurveyedRange,
};
use crate::suballoc::{
    AuditError, Buddy, Linear, RangeUse, RingOrStacks, Stamp, SuballocError, Suballocation, Suballocator,
};
use crate::{Alignment, ByteSize};

/// What an engine asks of its suballocators beside what all of them have.
pub(super) trait HeapSuballocator: Suballocator + Sized {
    const ALGORITHM: PlacementAlgorithm;
    const HAS_UPPER_END: bool = false;
    /// Whether there may be one heap at most.
    const ONE_HEAP: bool = false;

    fn with_capacity(capacity: ByteSize) -> Result<Self, SuballocError>;

    fn allocate_upper(
        &mut self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Suballocation, SuballocError> {
        self.allocate(size, alignment)
    }

    /// Whether `allocate` would serve the request, or `allocate_upper`, short of running out of numbers for ranges.
    fn would_fit(&self, size: ByteSize, alignment: Alignment, upper: bool) -> bool;

    /// With this as its largest free range, a heap has room for the request; `None` when that overflows.
    fn certain_room(size: ByteSize, alignment: Alignment) -> Option<ByteSize>;

    /// With this size, a fresh heap has room for the request.
    fn fresh_size(size: ByteSize) -> Option<ByteSize>;

    fn continue_stamps(&mut self, next: Stamp);

    fn next_stamp(&self) -> Stamp;
}

/// Heaps of one size that requests share, found by their largest free range.
///
/// A request goes to the heap that is in use with the least room that is enough, then to an empty one, then to a new one.
/// O(log n) for n heaps, and what the suballocator costs.
#[derive(Debug)]
pub(super) struct SuballocatedHeaps<H, S> {
    /// Of a new heap; larger requests need a heap of their own.
    heap_size: ByteSize,
    heaps: HeapTable<Heap<H, S>>,
    /// Heaps in use by their largest free range.
    by_room: BTreeSet<(ByteSize, u32)>,
    empty: EmptyHeaps<H>,
    in_use: InUse,
    /// No id of a heap that left has this stamp or a later one.
    next_stamp: Stamp,
}

#[derive(Debug)]
struct Heap<H, S> {
    heap: H,
    suballocator: S,
}

impl<H: Clone, S: HeapSuballocator> SuballocatedHeaps<H, S> {
    pub(super) fn new(heap_size: ByteSize) -> Self {
        Self {
            heap_size,
            heaps: HeapTable::default(),
            by_room: BTreeSet::new(),
            empty: EmptyHeaps::default(),
            in_use: InUse::default(),
            next_stamp: Stamp::FIRST,
        }
    }

    /// Refuses what no heap of the engine ever serves.
    fn check(&self, request: &PlacementRequest) -> Result<(), PlacementError> {
        let PlacementRequest { size, upper, .. } = *request;
        if size.is_zero() {
            return Err(SuballocError::ZeroSize.into());
        }
        if upper && !S::HAS_UPPER_END {
            return Err(PlacementError::NoUpperEnd { algorithm: S::ALGORITHM });
        }
        if size > self.heap_size {
            return Err(PlacementError::NeedsOwnHeap { requested: size, largest: self.heap_size });
        }
        Ok(())
    }

    /// Places a request in a heap that is in use.
    fn allocate_in_used(
        &mut self,
        request: &PlacementRequest,
    ) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        let PlacementRequest { size, alignment, .. } = *request;
        let likely = self.with_room(size);
        if let Some((room, number)) = likely {
            if let Some(placed) = self.allocate_in(room, number, request)? {
                return Ok(Some(placed));
            }
            // It has the size in the wrong place.
            let certain = S::certain_room(size, alignment).and_then(|room| self.with_room(room));
            if let Some((room, number)) = certain.filter(|certain| *certain != (room, number)) {
                return self.allocate_in(room, number, request);
            }
        }
        Ok(None)
    }

    /// The heap with the least room that is enough.
    fn with_room(&self, room: ByteSize) -> Option<(ByteSize, u32)> {
        self.by_room.range((room, 0)..).next().copied()
    }

    /// Places a request in a heap of the table, whose largest free range is `room`.
    fn allocate_in(
        &mut self,
        room: ByteSize,
        number: u32,
        request: &PlacementRequest,
    ) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        let Some(heap) = self.heaps.get_mut(number) else { return Ok(None) };
        let allocated = suballocate(&mut heap.suballocator, request);
        let suballocation = match allocated {
            Ok(suballocation) => suballocation,
            Err(error) if error.is_out_of_space() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let (left, payload) = (heap.suballocator.largest_free_range(), heap.heap.clone());
        if left != room {
            self.by_room.remove(&(room, number));
            self.by_room.insert((left, number));
        }
        self.in_use.allocated(request.size);
        Ok(Some(placed(number, suballocation, payload)))
    }

    /// Places a request in a heap that nothing is in; answers the heap if it does not fit.
    fn allocate_in_fresh(
        &mut self,
        heap_size: ByteSize,
        heap: H,
        request: &PlacementRequest,
    ) -> Result<SharedPlaced<H>, H> {
        let (Ok(number), Ok(mut suballocator)) = (self.heaps.next_number(), S::with_capacity(heap_size))
        else {
            return Err(heap);
        };
        suballocator.continue_stamps(self.next_stamp);
        let Ok(suballocation) = suballocate(&mut suballocator, request) else { return Err(heap) };
        self.by_room.insert((suballocator.largest_free_range(), number));
        self.in_use.allocated(request.size);
        self.in_use.reserved = self.in_use.reserved.saturating_add(heap_size);
        self.heaps.insert(Heap { heap: heap.clone(), suballocator });
        Ok(placed(number, suballocation, heap))
    }

    /// Whether [`allocate_in_used`](Self::allocate_in_used) would place the request.
    fn has_room_in_used(&self, request: &PlacementRequest) -> bool {
        let PlacementRequest { size, alignment, upper, .. } = *request;
        let fits = |(_, number)| {
            let heap = self.heaps.get(number);
            heap.is_some_and(|heap| heap.suballocator.would_fit(size, alignment, upper))
        };
        let certain = || S::certain_room(size, alignment).and_then(|room| self.with_room(room));
        self.with_room(size).is_some_and(|likely| fits(likely) || certain().is_some_and(fits))
    }

    /// Whether [`allocate_in_fresh`](Self::allocate_in_fresh) would place the request in a heap of this size.
    fn has_room_in_fresh(&self, heap_size: ByteSize, request: &PlacementRequest) -> bool {
        let PlacementRequest { size, alignment, upper, .. } = *request;
        let fresh = S::with_capacity(heap_size);
        self.heaps.next_number().is_ok() && fresh.is_ok_and(|fresh| fresh.would_fit(size, alignment, upper))
    }

    fn may_have_another(&self) -> bool {
        !S::ONE_HEAP || self.heaps.count() == 0
    }
}

fn suballocate<S: HeapSuballocator>(
    suballocator: &mut S,
    request: &PlacementRequest,
) -> Result<Suballocation, SuballocError> {
    let PlacementRequest { size, alignment, upper, .. } = *request;
    if upper { suballocator.allocate_upper(size, alignment) } else { suballocator.allocate(size, alignment) }
}

fn placed<H>(number: u32, suballocation: Suballocation, heap: H) -> SharedPlaced<H> {
    let id = SharedPlacementId(PlacementId::new(number, suballocation.id));
    SharedPlaced { id, range: suballocation.range, heap }
}

fn surveyed(number: u32, range_use: RangeUse) -> SurveyedRange {
    match range_use {
        RangeUse::Used(Suballocation { id, range }) => {
            SurveyedRange::Used { id: SharedPlacementId(PlacementId::new(number, id)), range }
        }
        RangeUse::Free(range) => SurveyedRange::Free(range),
        RangeUse::Padding(range) => SurveyedRange::Padding(range),
    }
}

impl<H: Clone, S: HeapSuballocator> LockedEngine<H> for SuballocatedHeaps<H, S> {
    fn allocate(&mut self, request: &PlacementRequest) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        self.check(request)?;
        if let Some(placed) = self.allocate_in_used(request)? {
            return Ok(Some(placed));
        }
        if !self.may_have_another() {
            return Ok(None);
        }
        let no_limit = ByteSize::new(u64::MAX);
        let Some((heap_size, heap)) =
            S::fresh_size(request.size).and_then(|size| self.empty.take_fitting(size, no_limit))
        else {
            return Ok(None);
        };
        match self.allocate_in_fresh(heap_size, heap, request) {
            Ok(placed) => Ok(Some(placed)),
            Err(heap) => {
                self.empty.insert(heap_size, heap);
                Ok(None)
            }
        }
    }

    fn heap_size(&self, request: &PlacementRequest) -> Result<ByteSize, PlacementError> {
        self.check(request)?;
        if self.may_have_another() {
            Ok(self.heap_size)
        } else {
            Err(PlacementError::OneHeapFull { requested: request.size })
        }
    }

    fn allocate_in_new(
        &mut self,
        heap_size: ByteSize,
        heap: H,
        request: &PlacementRequest,
    ) -> Result<SharedPlaced<H>, PlacementError> {
        if let Err(refused) = self.check(request) {
            self.empty.insert(heap_size, heap);
            return Err(refused);
        }
        if !self.may_have_another() {
            self.empty.insert(heap_size, heap);
            let full = PlacementError::OneHeapFull { requested: request.size };
            return self.allocate_in_used(request)?.ok_or(full);
        }
        self.heaps.next_number()?;
        self.allocate_in_fresh(heap_size, heap, request).map_err(|heap| {
            self.empty.insert(heap_size, heap);
            PlacementError::TooLarge { requested: request.size }
        })
    }

    fn free(&mut self, id: PlacementId) -> Result<Option<H>, PlacementError> {
        let number = id.heap();
        let heap = self.heaps.get_mut(number).ok_or(PlacementError::UnknownHeap)?;
        let room = heap.suballocator.largest_free_range();
        let range = heap.suballocator.free(id.suballocation())?;
        let is_empty = heap.suballocator.allocation_count() == 0;
        let left = heap.suballocator.largest_free_range();
        self.in_use.freed(range.size());
        if is_empty {
            self.by_room.remove(&(room, number));
            let Some(gone) = self.heaps.remove(number) else { return Ok(None) };
            self.next_stamp = self.next_stamp.max(gone.suballocator.next_stamp());
            self.in_use.reserved = self.in_use.reserved.saturating_sub(gone.suballocator.capacity());
            return Ok(Some(gone.heap));
        }
        if left != room {
            self.by_room.remove(&(room, number));
            self.by_room.insert((left, number));
        }
        Ok(None)
    }

    fn has_room(&self, request: &PlacementRequest) -> Result<bool, PlacementError> {
        self.check(request)?;
        if self.has_room_in_used(request) {
            return Ok(true);
        }
        let size = S::fresh_size(request.size).filter(|_| self.may_have_another());
        let empty = size.and_then(|size| self.empty.smallest_from(size));
        Ok(empty.is_some_and(|heap_size| self.has_room_in_fresh(heap_size, request)))
    }

    fn survey(&self) -> Vec<HeapSurvey<H>> {
        let heaps = self.heaps.iter().map(|(number, heap)| HeapSurvey {
            heap: heap.heap.clone(),
            size: heap.suballocator.capacity(),
            is_closed: false,
            ranges: heap.suballocator.ranges().map(|range_use| surveyed(number, range_use)).collect(),
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
        for (number, heap) in self.heaps.iter() {
            let suballocator = &heap.suballocator;
            suballocator.audit()?;
            let room = suballocator.largest_free_range();
            if suballocator.allocation_count() == 0 || !self.by_room.contains(&(room, number)) {
                return Err(AuditError::new(format!(
                    "heap {number} is in use, and not noted with {room} free"
                )));
            }
            counted.used = counted.used.saturating_add(suballocator.used());
            counted.allocation_count += suballocator.allocation_count();
            counted.reserved = counted.reserved.saturating_add(suballocator.capacity());
        }
        if self.by_room.len() != self.heaps.iter().count() || (S::ONE_HEAP && self.by_room.len() > 1) {
            return Err(AuditError::new(format!("{} heaps in use are noted", self.by_room.len())));
        }
        counted.agrees_with(&self.in_use)
    }
}

impl HeapSuballocator for Buddy {
    const ALGORITHM: PlacementAlgorithm = PlacementAlgorithm::BuddySystem;

    fn would_fit(&self, size: ByteSize, alignment: Alignment, _upper: bool) -> bool {
        self.would_fit(size, alignment)
    }

    fn with_capacity(capacity: ByteSize) -> Result<Self, SuballocError> {
        Self::new(capacity)
    }

    /// A free block is aligned to its size.
    fn certain_room(size: ByteSize, alignment: Alignment) -> Option<ByteSize> {
        Some(size.max(ByteSize::new(alignment.get())))
    }

    /// A heap of another size begins with the largest block that it holds.
    fn fresh_size(size: ByteSize) -> Option<ByteSize> {
        size.get().checked_next_power_of_two().map(ByteSize::new)
    }

    fn continue_stamps(&mut self, next: Stamp) {
        self.continue_stamps(next);
    }

    fn next_stamp(&self) -> Stamp {
        self.next_stamp()
    }
}

impl HeapSuballocator for Linear {
    const ALGORITHM: PlacementAlgorithm = PlacementAlgorithm::Linear;

    fn would_fit(&self, size: ByteSize, alignment: Alignment, _upper: bool) -> bool {
        self.would_fit(size, alignment)
    }

    fn with_capacity(capacity: ByteSize) -> Result<Self, SuballocError> {
        Self::new(capacity)
    }

    fn certain_room(size: ByteSize, alignment: Alignment) -> Option<ByteSize> {
        size.checked_add(ByteSize::new(alignment.get() - 1))
    }

    fn fresh_size(size: ByteSize) -> Option<ByteSize> {
        Some(size)
    }

    fn continue_stamps(&mut self, next: Stamp) {
        self.continue_stamps(next);
    }

    fn next_stamp(&self) -> Stamp {
        self.next_stamp()
    }
}

impl HeapSuballocator for RingOrStacks {
    const ALGORITHM: PlacementAlgorithm = PlacementAlgorithm::Linear;
    const HAS_UPPER_END: bool = true;
    const ONE_HEAP: bool = true;

    fn would_fit(&self, size: ByteSize, alignment: Alignment, upper: bool) -> bool {
        if upper { self.would_fit_upper(size, alignment) } else { self.would_fit(size, alignment) }
    }

    fn with_capacity(capacity: ByteSize) -> Result<Self, SuballocError> {
        Self::new(capacity)
    }

    fn allocate_upper(
        &mut self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Suballocation, SuballocError> {
        self.allocate_upper(size, alignment)
    }

    fn certain_room(size: ByteSize, alignment: Alignment) -> Option<ByteSize> {
        Linear::certain_room(size, alignment)
    }

    fn fresh_size(size: ByteSize) -> Option<ByteSize> {
        Some(size)
    }

    fn continue_stamps(&mut self, next: Stamp) {
        self.continue_stamps(next);
    }

    fn next_stamp(&self) -> Stamp {
        self.next_stamp()
    }
}
