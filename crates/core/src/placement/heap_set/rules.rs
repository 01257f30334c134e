//! Decisions that the set's rule makes: the place of a request, and the size of a new heap.

use super::super::heap_index::HeapIndex;
use super::{
    Effort, FoundRange, HeapSet, Placed, PlacementError, PlacementId, Ranges, SizeCacheCounts, Slot,
};
use crate::ByteSize;
use crate::placement::heap_table::HeapTable;
use crate::placement::rule::LARGEST_HEAP;
use crate::placement::{HeapSurvey, PlacementRequest, PlacementRule, Sharing, SlabSizing};
use crate::suballoc::FreeRangeChoice;

impl<H> HeapSet<H> {
    /// Finds the place of a request in an existing heap.
    ///
    /// With the default algorithm and the usual effort O(1), and at the lowest offset a comparison for each of at most
    /// 256 heaps, and O(n) for n ranges in those that may have room. See [`Effort`] for the rest.
    ///
    /// # Errors
    ///
    /// Returns an error if no heap of the set can ever serve the request.
    pub(crate) fn find(
        &self,
        request: &PlacementRequest,
        effort: Effort,
    ) -> Result<Option<FoundRange>, PlacementError> {
        self.rule.check(request)?;
        match self.rule.sharing_of(request) {
            Sharing::Alone { reusable: false } => Ok(None),
            Sharing::Alone { .. } => Ok(self.find_alone(request, effort)),
            Sharing::Shared if effort == Effort::Exhaustive => Ok(self.find_in_any(request)),
            Sharing::Shared if self.rule.is_default() => {
                let is_low = request.strategy == FreeRangeChoice::MinOffset;
                let lowest = if is_low { self.find_lowest(request) } else { None };
                let found = || {
                    let (heap, free) = self.find_good_fit(request.size, request.alignment)?;
                    Some(FoundRange { heap, free: Some(free) })
                };
                Ok(lowest.or_else(found))
            }
            Sharing::Shared => match self.find_in_use(request) {
                Some(found) => Ok(Some(found)),
                None => self.find_empty_by_rule(request),
            },
        }
    }

    /// Returns the heaps that a request shares.
    fn shared_by(&self, request: &PlacementRequest) -> Option<&HeapIndex> {
        match self.rule.block_size(request) {
            Some(size) => self.blocks.heaps(size),
            None => Some(&self.occupied),
        }
    }

    /// Finds a place in a heap in use that probably has room, or in one that certainly has.
    fn find_in_use(&self, request: &PlacementRequest) -> Option<FoundRange> {
        let heaps = self.shared_by(request)?;
        let find_in =
            |room: ByteSize| self.find_in_slot(heaps.find_oldest(&self.table, room.get())?, request);
        find_in(request.size).or_else(|| find_in(self.rule.certain_room(request)?))
    }

    /// Finds a place in an empty heap, where it is worth using instead of a new one.
    fn find_empty_by_rule(&self, request: &PlacementRequest) -> Result<Option<FoundRange>, PlacementError> {
        if !self.may_have_another() {
            return Ok(None);
        }
        let wanted = self.new_heap_size(request)?;
        let from = |size: ByteSize| self.empty.find(&self.table, size.get());
        let slot = match self.rule {
            // The size given by the rule, or the next larger one; if all are smaller, the largest that holds
            // the block.
            PlacementRule::SlabBySize(_) => from(wanted).or_else(|| self.empty.largest()),
            // A heap of another size begins with the largest block that it holds.
            _ => from(self.rule.least_heap_size(request)),
        };
        Ok(slot.and_then(|slot| self.find_in_slot(slot, request)))
    }

    /// Finds an empty heap for a request that is alone in it, with the usual effort one that is not too large.
    fn find_alone(&self, request: &PlacementRequest, effort: Effort) -> Option<FoundRange> {
        if effort == Effort::Exhaustive {
            let mut large_enough = self.empty.from(&self.table, request.size.get());
            return large_enough.find_map(|slot| self.find_in_slot(slot, request));
        }
        let whole = request.size.align_up(self.rule.granularity()).unwrap_or(request.size);
        // Nothing else may use the rest: at most a fifth.
        let rest = if self.rule.is_default() { whole.get() / 4 } else { 0 };
        let slot = self.empty.find(&self.table, request.size.get())?;
        if self.table.key(slot) > whole.get().saturating_add(rest) {
            return None;
        }
        self.find_in_slot(slot, request)
    }

    /// Returns whether another heap may be in use whose requests share it.
    pub(super) fn may_have_another(&self) -> bool {
        !self.rule.has_one_heap() || self.occupied.len() == 0
    }

    /// Places a request where it was found to fit, except by the default algorithm.
    #[inline(never)]
    pub(super) fn place_by_rule(
        &mut self,
        slot: Slot,
        sharing: Sharing,
        request: &PlacementRequest,
    ) -> Option<Placed<&H>> {
        let was_empty = self.table.heap(slot).ranges.is_empty();
        // Before the heap is counted.
        let by_rule = if was_empty { self.new_heap_size(request).ok() } else { None };
        let heap = self.table.get_mut(slot)?;
        if was_empty {
            let mut fresh = self.rule.ranges_for(request, heap.ranges.capacity())?;
            fresh.continue_stamps(heap.ranges.next_stamp());
            heap.ranges = fresh;
        }
        let suballocation = heap.ranges.allocate(request)?;
        if was_empty {
            heap.sharing = sharing;
            self.put_to_use(slot);
        }
        if sharing == Sharing::Shared {
            let (heaps, table) = self.heaps_like(slot);
            if was_empty {
                heaps.insert(table, slot, table.key_class(slot));
            } else {
                heaps.update_if_moved(table, slot)
            }
            if let (Some(size), Some(by_rule)) = (self.block_size_of(slot), by_rule) {
                self.blocks.set_last_heap_size(size, by_rule);
            }
        }
        self.note_placed(request.size);
        Some(self.placed(slot, suballocation))
    }

    /// Frees an allocation, except by the default algorithm, and keeps its heap.
    #[inline(never)]
    pub(super) fn free_by_rule(&mut self, id: PlacementId) -> Result<(), PlacementError> {
        let slot = id.heap();
        let heap = self.table.get_mut(slot);
        let heap = heap.ok_or(PlacementError::UnknownHeap)?;
        let range = heap.ranges.free(id.suballocation())?;
        let (is_empty, is_shared) = (heap.ranges.is_empty(), heap.sharing == Sharing::Shared);
        if is_shared {
            let (heaps, table) = self.heaps_like(slot);
            if is_empty { heaps.remove(table, slot) } else { heaps.update_if_moved(table, slot) }
        }
        if is_empty {
            let block_size = self.block_size_of(slot);
            let heap = self.table.get_mut(slot).ok_or(PlacementError::UnknownHeap)?;
            let mut unused = self.rule.ranges_of_empty(heap.ranges.capacity())?;
            unused.continue_stamps(heap.ranges.next_stamp());
            heap.ranges = unused;
            if let Some(size) = block_size {
                self.blocks.forget_if_unused(size);
            }
            self.note_emptied(slot, self.table.key_class(slot));
        }
        self.note_freed(range.size());
        Ok(())
    }

    /// Returns the index of the heaps in use that requests share like that in a slot.
    fn heaps_like(&mut self, slot: Slot) -> (&mut HeapIndex, &mut HeapTable<H>) {
        let heaps = match self.block_size_of(slot) {
            Some(size) => self.blocks.heaps_mut(size),
            None => &mut self.occupied,
        };
        (heaps, &mut self.table)
    }

    /// Returns the size of the blocks of a heap in use whose requests share it, if they have one.
    pub(super) fn block_size_of(&self, slot: Slot) -> Option<ByteSize> {
        self.table.heap(slot).ranges.block_size()
    }

    /// Adds a heap of `heap_size` bytes, and places a request in it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`insert`](Self::insert). After any other error, the heap is in the set: no heap of the
    /// set can ever serve the request, [`PlacementError::TooLarge`] if it does not fit into this one, and
    /// [`PlacementError::OneHeapFull`] if a second heap is not allowed.
    pub(crate) fn allocate_in_new(
        &mut self,
        heap_size: ByteSize,
        payload: H,
        request: &PlacementRequest,
    ) -> Result<Placed<&H>, PlacementError> {
        let heap = self.insert(heap_size, payload)?;
        self.rule.check(request)?;
        let PlacementRequest { size: requested, .. } = *request;
        let is_shared = self.rule.sharing_of(request) == Sharing::Shared;
        let (found, failure) = if is_shared && !self.may_have_another() {
            (self.find_in_use(request), PlacementError::OneHeapFull { requested })
        } else {
            (self.find_in_slot(heap.slot, request), PlacementError::TooLarge { requested })
        };
        found.and_then(|found| self.place(found, request)).ok_or(failure)
    }

    /// Returns the size of the new heap for a request. That of a request alone has its size, rounded up to the
    /// granularity. O(1), and O(n) for n heaps of blocks of the same size.
    ///
    /// # Errors
    ///
    /// Returns an error if no heap of the set can ever serve the request, the size of the heap overflows, or a second
    /// heap is not allowed.
    pub(crate) fn new_heap_size(&self, request: &PlacementRequest) -> Result<ByteSize, PlacementError> {
        self.rule.check(request)?;
        let PlacementRequest { size: requested, .. } = *request;
        let heap_size = match &self.rule {
            _ if self.rule.sharing_of(request) != Sharing::Shared => {
                requested.align_up(self.rule.granularity())
            }
            PlacementRule::Default(_) => self.usual_heap_size(requested),
            PlacementRule::SlabBySize(sizing) => {
                let refused = PlacementError::NeedsOwnHeap { requested, largest: sizing.largest() };
                return self.next_heap_of_blocks(sizing, request, None).ok_or(refused);
            }
            _ if !self.may_have_another() => return Err(PlacementError::OneHeapFull { requested }),
            PlacementRule::BuddySystem { heap_size, .. } | PlacementRule::Linear { heap_size, .. } => {
                Some(*heap_size)
            }
            PlacementRule::Dedicated { .. } => None,
        };
        heap_size.filter(|&size| size <= LARGEST_HEAP).ok_or(PlacementError::TooLarge { requested })
    }

    /// Returns the size of the next heap of blocks for a request, after a heap of `will_be_full` bytes is full, too.
    fn next_heap_of_blocks(
        &self,
        sizing: &SlabSizing,
        request: &PlacementRequest,
        will_be_full: Option<ByteSize>,
    ) -> Option<ByteSize> {
        let PlacementRequest { size, rounding, alignment, .. } = *request;
        let block_size = self.rule.block_size(request)?;
        let full_of = |heap_size| {
            let heaps =
                self.blocks.heaps(block_size).map(|heaps| heaps.slots(&self.table)).unwrap_or_default();
            let ranges = heaps.into_iter().map(|slot| &self.table.heap(slot).ranges);
            let full = ranges
                .filter(|ranges| ranges.largest_free_range().is_zero() && ranges.capacity() == heap_size);
            full.count() as u64 + u64::from(will_be_full == Some(heap_size))
        };
        let last = self.blocks.last_heap_size(block_size);
        sizing.next_heap_size(size.saturating_sub(rounding), alignment, last, full_of)
    }

    /// See [`SharedHeapSet::next_heap`](crate::placement::SharedHeapSet::next_heap).
    pub(crate) fn next_heap(&self, request: &PlacementRequest) -> Option<ByteSize> {
        let PlacementRule::SlabBySize(sizing) = &self.rule else { return None };
        let block_size = self.rule.block_size(request)?;
        let heaps = self.blocks.heaps(block_size)?;
        let ranges = heaps.from(&self.table, block_size.get()).map(|slot| &self.table.heap(slot).ranges);
        let mut with_room = ranges.filter(|ranges| !ranges.largest_free_range().is_zero());
        let last = with_room.next();
        let is_half_full = |ranges: &Ranges| {
            if let Ranges::Blocks(blocks) = ranges { blocks.is_half_full() } else { false }
        };
        if with_room.next().is_some() || last.is_some_and(|last| !is_half_full(last)) {
            return None;
        }
        // The free blocks of the last heap are used up before the next heap is needed.
        let next = self.next_heap_of_blocks(sizing, request, last.map(Ranges::capacity))?;
        let is_worth_it = next.get() / block_size.get() >= MIN_BLOCKS_TO_FETCH && next <= MAX_FETCHED;
        (is_worth_it && self.empty.find(&self.table, next.get()).is_none()).then_some(next)
    }

    /// Counts whether the size of a request is known, if its heaps have blocks of one size.
    pub(crate) fn count_size(&mut self, request: &PlacementRequest) {
        let Some(size) = self.rule.block_size(request) else { return };
        if request.sharing == Sharing::Shared && self.rule.check(request).is_ok() {
            self.blocks.count(size, request.cache_size);
        }
    }

    pub(crate) fn size_cache(&self) -> SizeCacheCounts {
        self.blocks.counts
    }

    pub(crate) fn rule(&self) -> &PlacementRule {
        &self.rule
    }

    /// Returns a heap that is not divided by the default algorithm, and all of its ranges.
    pub(crate) fn survey_by_rule(&self, slot: Slot) -> Option<HeapSurvey<&H>> {
        let heap = self.table.get(slot)?;
        heap.ranges.as_tlsf().is_none().then(|| heap.ranges.survey(slot, &heap.payload))
    }
}

/// GPGMM's limits for a heap that is created in advance: the minimum number of blocks, and the maximum size.
const MIN_BLOCKS_TO_FETCH: u64 = 4;
const MAX_FETCHED: ByteSize = ByteSize::from_mib(64);
