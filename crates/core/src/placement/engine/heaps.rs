//! Heaps of GPGMM's and D3D12MA's algorithms, for one thread at a time.

use std::collections::HashMap;

use super::heap_table::{HeapTable, InUse};
use super::ranges::Ranges;
use super::rule::LARGEST_HEAP;
use super::{EmptyHeaps, PlacementRule};
use crate::ByteSize;
use crate::placement::heap_prices::class_of;
use crate::placement::heap_set::PlacementId;
use crate::placement::idle_times::{FREE_DECAY_LOG2, IdleTimes};
use crate::placement::{
    HeapRetention, HeapSetTotals, HeapSurvey, PlacementError, PlacementRequest, SharedPlaced,
    SharedPlacementId,
};
use crate::suballoc::{AuditError, OrderedSet, Stamp, SuballocError, Suballocation};

/// The numbers of requests of known and of new sizes: GPGMM's `SizeCacheHits` and `SizeCacheMisses`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SizeCacheCounts {
    /// The number of requests of a known size.
    pub hits: u64,
    /// The number of requests of a size that was new, or had been forgotten.
    pub misses: u64,
}

/// Heaps shared by the requests of one group, found by their largest free range. With slabs, a group is a
/// block size; the other algorithms have one group.
///
/// A request is placed in the heap in use with the smallest sufficient free range, among equals the one with the lowest
/// number; then in an empty heap, then in a new one. A heap whose last request is freed is kept as the retention says.
///
/// O(log n) for n heaps or block sizes, plus the cost of a heap's suballocator. The first and the last empty heap of a
/// size cost O(n) for n sizes of empty heaps.
#[derive(Clone)]
pub(super) struct Heaps<H> {
    rule: PlacementRule,
    times: IdleTimes,
    heaps: HeapTable<Heap<H>>,
    /// Heaps in use: group, largest free range, number.
    by_room: OrderedSet,
    empty: EmptyHeaps<H>,
    in_use: InUse,
    /// A stamp above those of all ids of heaps that have left.
    next_stamp: Stamp,
    /// The data of each block size, with slabs.
    sizes: HashMap<ByteSize, BlockSize>,
    size_cache: SizeCacheCounts,
}

#[derive(Clone)]
struct Heap<H> {
    heap: H,
    group: ByteSize,
    ranges: Ranges,
}

/// The data of a block size. It is dropped with the last heap of that size, unless it is to be remembered.
#[derive(Debug, Default, Clone, Copy)]
struct BlockSize {
    is_remembered: bool,
    /// The size of the last heap by the rule of sizes.
    last_heap_size: Option<ByteSize>,
    heap_count: u64,
}

impl<H: Clone> Heaps<H> {
    pub(super) fn new(rule: PlacementRule, times: IdleTimes) -> Self {
        Self {
            rule,
            times,
            heaps: HeapTable::default(),
            by_room: OrderedSet::default(),
            empty: EmptyHeaps::default(),
            in_use: InUse::default(),
            next_stamp: Stamp::FIRST,
            sizes: HashMap::new(),
            size_cache: SizeCacheCounts::default(),
        }
    }

    /// See [`HeapEngine::allocate`](super::HeapEngine::allocate).
    pub(super) fn allocate(
        &mut self,
        request: &PlacementRequest,
    ) -> Result<Option<SharedPlaced<H>>, PlacementError> {
        let group = self.rule.group_of(request)?;
        self.count_size(group, request);
        self.count_operation();
        if let Some(placed) = self.allocate_in_used(group, request) {
            return Ok(Some(placed));
        }
        let Some(heap_size) = self.empty_for(group, request)? else { return Ok(None) };
        let Some(heap) = self.empty.take(heap_size) else { return Ok(None) };
        match self.allocate_in_fresh(group, heap_size, heap, request) {
            Ok(placed) => Ok(Some(placed)),
            Err(heap) => {
                self.insert_empty(heap_size, heap);
                Ok(None)
            }
        }
    }

    /// Counts an allocation or a free.
    fn count_operation(&mut self) {
        let in_use = self.in_use.reserved;
        self.times.count_operations(1, || in_use);
    }

    /// See [`HeapEngine::least_heap_size`](super::HeapEngine::least_heap_size).
    pub(super) fn least_heap_size(&self, request: &PlacementRequest) -> ByteSize {
        match self.rule {
            PlacementRule::SlabBySize(_) => self.rule.group_of(request).unwrap_or(request.size),
            PlacementRule::BuddySystem { .. } => {
                request.size.get().checked_next_power_of_two().map_or(request.size, ByteSize::new)
            }
            PlacementRule::Linear { .. } | PlacementRule::Dedicated { .. } => request.size,
        }
    }

    /// See [`HeapEngine::allocate_in_new`](super::HeapEngine::allocate_in_new).
    pub(super) fn allocate_in_new(
        &mut self,
        heap_size: ByteSize,
        heap: H,
        request: &PlacementRequest,
    ) -> Result<SharedPlaced<H>, PlacementError> {
        check_heap_size(heap_size)?;
        let group = match self.rule.group_of(request) {
            Ok(group) => group,
            Err(refused) => {
                self.insert_empty(heap_size, heap);
                return Err(refused);
            }
        };
        if !self.may_have_another() {
            self.insert_empty(heap_size, heap);
            let full = PlacementError::OneHeapFull { requested: request.size };
            return self.allocate_in_used(group, request).ok_or(full);
        }
        self.heaps.next_number()?;
        self.allocate_in_fresh(group, heap_size, heap, request).map_err(|heap| {
            self.insert_empty(heap_size, heap);
            PlacementError::TooLarge { requested: request.size }
        })
    }

    /// Frees an allocation, and returns heaps that are not worth keeping. As a rule, only a heap that becomes empty
    /// lets others leave, so that a free is O(log n).
    pub(super) fn free(&mut self, id: PlacementId) -> Result<Vec<H>, PlacementError> {
        let number = id.heap();
        let heap = self.heaps.get_mut(number).ok_or(PlacementError::UnknownHeap)?;
        let room = heap.ranges.largest_free_range();
        let range = heap.ranges.free(id.suballocation())?;
        let is_empty = heap.ranges.allocation_count() == 0;
        let (group, left, size) = (heap.group, heap.ranges.largest_free_range(), heap.ranges.capacity());
        self.in_use.freed(range.size());
        self.note_room(number, group, Some(room), if is_empty { None } else { Some(left) });
        if !is_empty {
            self.count_operation();
            return Ok(if self.keeps_until_next_free() { self.take_expired(1) } else { Vec::new() });
        }
        let Some(gone) = self.heaps.remove(number) else { return Ok(Vec::new()) };
        self.next_stamp = self.next_stamp.max(gone.ranges.next_stamp());
        self.in_use.reserved = self.in_use.reserved.saturating_sub(size);
        if !self.keeps_heaps() {
            // Not one that was empty before, which the owner needs.
            self.count_operation();
            return Ok(vec![gone.heap]);
        }
        self.times.forget_most_in_use(self.held(), FREE_DECAY_LOG2);
        self.insert_empty(size, gone.heap);
        self.count_operation();
        Ok(self.take_expired(1))
    }

    /// Returns whether an empty heap leaves with the next free, even if that leaves no other heap empty.
    fn keeps_until_next_free(&self) -> bool {
        self.times.retention.keeping == HeapRetention::UNTIL_NEXT_FREE.keeping
    }

    /// Returns whether heaps stay here when they become empty. Otherwise only those are here that the owner inserted,
    /// which stay.
    fn keeps_heaps(&self) -> bool {
        self.times.retention != HeapRetention::NONE
    }

    fn held(&self) -> ByteSize {
        self.in_use.reserved.saturating_add(self.empty.bytes())
    }

    fn insert_empty(&mut self, size: ByteSize, heap: H) {
        self.times.note_empty();
        self.empty.insert(size, self.times.now(), heap);
        self.times.note_held(self.held());
    }

    /// Removes up to `most` heaps that operations do not let be kept.
    pub(super) fn take_expired(&mut self, most: u64) -> Vec<H> {
        if !self.keeps_heaps() {
            return Vec::new();
        }
        let (times, operation) = (&self.times, self.times.operation());
        self.empty.take_idle(most, |size, since| operation >= times.expiry(class_of(size), since))
    }

    /// Counts a frame, and removes heaps that have been empty for too many; at most a 16th of them, so that no frame
    /// pays for all.
    pub(super) fn pass_frame(&mut self) -> Vec<H> {
        if !self.keeps_heaps() {
            return Vec::new();
        }
        self.times.begin_frame();
        let (times, most) = (&self.times, self.empty.count().div_ceil(16));
        let removed = self.empty.take_idle(most, |_, since| times.is_over_frames(since));
        self.times.end_frame(self.held());
        removed
    }

    /// Counts a period, and removes heaps that were empty for too many.
    pub(super) fn pass_period(&mut self) -> Vec<H> {
        if !self.keeps_heaps() {
            return Vec::new();
        }
        self.times.begin_period();
        let times = &self.times;
        let removed = self.empty.take_idle(u64::MAX, |_, since| times.is_over_periods(since, 0));
        self.times.end_period(self.held());
        removed
    }

    /// See [`HeapEngine::make_way`](super::HeapEngine::make_way).
    pub(super) fn make_way(&mut self, heap_size: ByteSize, elsewhere: ByteSize) -> Vec<H> {
        let (mut release, in_use) = (Vec::new(), self.in_use.reserved.saturating_add(elsewhere));
        while self.keeps_heaps() && self.times.makes_way(in_use, self.empty.bytes(), heap_size) {
            let Some(largest) = self.empty.largest() else { break };
            release.extend(self.empty.take(largest));
        }
        release
    }

    pub(super) fn insert(&mut self, heap_size: ByteSize, heap: H) -> Result<(), PlacementError> {
        check_heap_size(heap_size)?;
        self.insert_empty(heap_size, heap);
        Ok(())
    }

    /// Returns the size of the heap that a request needs.
    pub(super) fn heap_size(&self, request: &PlacementRequest) -> Result<ByteSize, PlacementError> {
        let group = self.rule.group_of(request)?;
        if !self.may_have_another() {
            return Err(PlacementError::OneHeapFull { requested: request.size });
        }
        match &self.rule {
            PlacementRule::BuddySystem { heap_size } | PlacementRule::Linear { heap_size, .. } => {
                Ok(*heap_size)
            }
            PlacementRule::Dedicated { granularity } => {
                let size = request.size.align_up(*granularity).filter(|&size| size <= LARGEST_HEAP);
                size.ok_or(PlacementError::TooLarge { requested: request.size })
            }
            PlacementRule::SlabBySize(sizing) => {
                let PlacementRequest { size, rounding, alignment, .. } = *request;
                let last = self.sizes.get(&group).and_then(|known| known.last_heap_size);
                let full_of = |heap_size| self.full_of(group, heap_size);
                let next = sizing.next_heap_size(size.saturating_sub(rounding), alignment, last, full_of);
                next.ok_or(PlacementError::NeedsOwnHeap { requested: size, largest: sizing.largest() })
            }
        }
    }

    /// Returns whether [`allocate`](Self::allocate) would place the request, with the same errors.
    pub(super) fn has_room(&self, request: &PlacementRequest) -> Result<bool, PlacementError> {
        let group = self.rule.group_of(request)?;
        let fits = |number| self.heaps.get(number).is_some_and(|heap| heap.ranges.would_fit(request));
        if self.candidates(group, request).into_iter().flatten().any(fits) {
            return Ok(true);
        }
        let Some(heap_size) = self.empty_for(group, request)? else { return Ok(false) };
        let fresh = self.rule.ranges(heap_size, group, request);
        Ok(fresh.is_some_and(|fresh| fresh.would_fit(request)))
    }

    /// Iterates over the heaps in use that contain nothing but `unused` live allocations. O(n) for n of these.
    pub(super) fn vacated(&self, unused: &[SharedPlacementId]) -> impl Iterator<Item = &H> {
        let mut counts = HashMap::new();
        for id in unused {
            *counts.entry(id.0.heap()).or_insert(0) += 1;
        }
        counts.into_iter().filter_map(|(number, count)| {
            let heap = self.heaps.get(number).filter(|heap| heap.ranges.allocation_count() == count)?;
            Some(&heap.heap)
        })
    }

    pub(super) fn empty(&self) -> &EmptyHeaps<H> {
        &self.empty
    }

    pub(super) fn empty_mut(&mut self) -> &mut EmptyHeaps<H> {
        &mut self.empty
    }

    /// Returns all ranges of the heaps, the empty heaps last. O(n) for n ranges.
    pub(super) fn survey(&self) -> Vec<HeapSurvey<H>> {
        let in_use = self.heaps.iter().map(|(number, heap)| heap.ranges.survey(number, heap.heap.clone()));
        in_use.chain(self.empty.survey()).collect()
    }

    pub(super) fn totals(&self) -> HeapSetTotals {
        self.in_use.totals(self.heaps.count(), &self.empty)
    }

    pub(super) fn size_cache(&self) -> SizeCacheCounts {
        self.size_cache
    }

    /// See [`HeapEngine::next_heap`](super::HeapEngine::next_heap).
    pub(super) fn next_heap(&self, request: &PlacementRequest) -> Option<ByteSize> {
        let PlacementRule::SlabBySize(sizing) = &self.rule else { return None };
        let PlacementRequest { size, rounding, alignment, .. } = *request;
        let block_size = self.rule.group_of(request).ok()?;
        let known = self.sizes.get(&block_size)?;
        let mut with_room = self.from(block_size, ByteSize::new(1));
        let last = with_room.next().and_then(|number| self.heaps.get(number)).map(|heap| &heap.ranges);
        let is_half_full = |ranges: &Ranges| match ranges {
            Ranges::Blocks(blocks) => {
                blocks.allocation_count() >= u64::from(blocks.block_count().div_ceil(2))
            }
            Ranges::Buddy(_) | Ranges::Linear(_) => false,
        };
        if with_room.next().is_some() || last.is_some_and(|last| !is_half_full(last)) {
            return None;
        }
        // The free blocks of the last heap, which are used up before the next heap is needed.
        let will_be_full = |heap_size| u64::from(last.is_some_and(|last| last.capacity() == heap_size));
        let full_of = |heap_size| self.full_of(block_size, heap_size) + will_be_full(heap_size);
        let asked = size.saturating_sub(rounding);
        let next = sizing.next_heap_size(asked, alignment, known.last_heap_size, full_of)?;
        let is_worth_it = next.get() / block_size.get() >= MIN_BLOCKS_TO_FETCH && next <= MAX_FETCHED;
        (is_worth_it && self.empty.smallest_from(next).is_none()).then_some(next)
    }

    /// Checks the whole structure; for tests. O(n log n + n · m) for m block sizes.
    pub(super) fn audit(&self) -> Result<(), AuditError> {
        self.empty.audit()?;
        self.heaps.audit()?;
        let mut counted = InUse::default();
        for (number, Heap { group, ranges, .. }) in self.heaps.iter() {
            ranges.audit()?;
            let room = ranges.largest_free_range();
            if ranges.allocation_count() == 0 || !self.by_room.contains(in_order(*group, room, number)) {
                let broken = format!(
                    "heap {number} is not indexed with its largest free range of {room}, or is empty"
                );
                return Err(AuditError::new(broken));
            }
            counted.used = counted.used.saturating_add(ranges.used());
            counted.allocation_count += ranges.allocation_count();
            counted.reserved = counted.reserved.saturating_add(ranges.capacity());
            if matches!(self.rule, PlacementRule::SlabBySize(_)) && !self.sizes.contains_key(group) {
                return Err(AuditError::new(format!("blocks of {group} are not recorded")));
            }
        }
        let in_use = self.by_room.len();
        if in_use != self.heaps.iter().count() || (self.rule.has_one_heap() && in_use > 1) {
            return Err(AuditError::new(format!("{in_use} heaps are recorded as in use")));
        }
        for (block_size, noted) in &self.sizes {
            let of_size = self.heaps.iter().filter(|(_, heap)| heap.group == *block_size);
            let heap_count = ByteSize::from_usize(of_size.count()).get();
            if heap_count != noted.heap_count || (heap_count == 0 && !noted.is_remembered) {
                let broken =
                    format!("blocks of {block_size}: counted {heap_count} heaps, recorded {noted:?}");
                return Err(AuditError::new(broken));
            }
        }
        counted.agrees_with(&self.in_use)
    }

    /// With slabs, counts whether the size of a request is known.
    fn count_size(&mut self, group: ByteSize, request: &PlacementRequest) {
        if !matches!(self.rule, PlacementRule::SlabBySize(_)) {
            return;
        }
        match self.sizes.get(&group) {
            Some(_) => self.size_cache.hits += 1,
            None => self.size_cache.misses += 1,
        }
        if request.cache_size {
            self.sizes.entry(group).or_default().is_remembered = true;
        }
    }

    /// Returns the heaps of a group with a free range of at least `room` bytes, in ascending order of the
    /// largest free range.
    fn from(&self, group: ByteSize, room: ByteSize) -> impl Iterator<Item = u32> {
        let next = move |least| self.by_room.first_from(least).filter(|&[of, ..]| of == group.get());
        let first = next(in_order(group, room, 0));
        let all = std::iter::successors(first, move |&[of, room, number]| next([of, room, number + 1]));
        all.filter_map(|[.., number]| u32::try_from(number).ok())
    }

    /// Returns the number of heaps of a size that have no free block of a size. O(n) for n heaps without one.
    fn full_of(&self, block_size: ByteSize, heap_size: ByteSize) -> u64 {
        let by_room = self.from(block_size, ByteSize::ZERO).filter_map(|number| self.heaps.get(number));
        let full = by_room.take_while(|heap| heap.ranges.largest_free_range().is_zero());
        ByteSize::from_usize(full.filter(|heap| heap.ranges.capacity() == heap_size).count()).get()
    }

    /// Returns a heap that probably has room, and one that certainly has. The free range of the first may be
    /// misaligned.
    fn candidates(&self, group: ByteSize, request: &PlacementRequest) -> [Option<u32>; 2] {
        let PlacementRequest { size, alignment, .. } = *request;
        let Some(likely) = self.from(group, size).next() else { return [None; 2] };
        let certain = self.rule.certain_room(size, alignment);
        let certain = certain.and_then(|room| self.from(group, room).next());
        [Some(likely), certain.filter(|&certain| certain != likely)]
    }

    fn allocate_in_used(&mut self, group: ByteSize, request: &PlacementRequest) -> Option<SharedPlaced<H>> {
        for number in self.candidates(group, request).into_iter().flatten() {
            let Some(heap) = self.heaps.get_mut(number) else { continue };
            let room = heap.ranges.largest_free_range();
            let Some(suballocation) = heap.ranges.allocate(request) else { continue };
            let payload = heap.heap.clone();
            let left = heap.ranges.largest_free_range();
            self.note_room(number, group, Some(room), Some(left));
            self.in_use.allocated(request.size);
            return Some(placed(number, suballocation, payload));
        }
        None
    }

    /// Returns the size of an empty heap to use, if there is one and another heap may be in use.
    fn empty_for(
        &self,
        group: ByteSize,
        request: &PlacementRequest,
    ) -> Result<Option<ByteSize>, PlacementError> {
        if !self.may_have_another() {
            return Ok(None);
        }
        let wanted = self.heap_size(request)?;
        self.heaps.next_number()?;
        Ok(self.rule.empty_for(&self.empty, group, wanted, request))
    }

    /// Places a request in an empty heap. Returns the heap if the request does not fit.
    fn allocate_in_fresh(
        &mut self,
        group: ByteSize,
        heap_size: ByteSize,
        heap: H,
        request: &PlacementRequest,
    ) -> Result<SharedPlaced<H>, H> {
        let ranges = self.rule.ranges(heap_size, group, request);
        let (Ok(number), Some(mut ranges)) = (self.heaps.next_number(), ranges) else { return Err(heap) };
        ranges.continue_stamps(self.next_stamp);
        let Some(suballocation) = ranges.allocate(request) else { return Err(heap) };
        if matches!(self.rule, PlacementRule::SlabBySize(_)) {
            let by_rule = self.heap_size(request).ok();
            let known = self.sizes.entry(group).or_default();
            known.is_remembered |= request.cache_size;
            known.last_heap_size = by_rule.or(known.last_heap_size);
        }
        self.note_room(number, group, None, Some(ranges.largest_free_range()));
        self.in_use.allocated(request.size);
        self.in_use.reserved = self.in_use.reserved.saturating_add(heap_size);
        self.heaps.insert(Heap { heap: heap.clone(), group, ranges });
        self.times.note_held(self.held());
        Ok(placed(number, suballocation, heap))
    }

    /// Updates the largest free range of a heap from `before` to `after`; `None` while the heap is not in
    /// use.
    fn note_room(&mut self, number: u32, group: ByteSize, before: Option<ByteSize>, after: Option<ByteSize>) {
        if before == after {
            return;
        }
        if let Some(room) = before {
            self.by_room.remove(in_order(group, room, number));
        }
        if let Some(room) = after {
            self.by_room.insert(in_order(group, room, number));
        }
        let Some(known) = self.sizes.get_mut(&group) else { return };
        known.heap_count += u64::from(before.is_none());
        known.heap_count -= u64::from(after.is_none());
        if known.heap_count == 0 && !known.is_remembered {
            self.sizes.remove(&group);
        }
    }

    fn may_have_another(&self) -> bool {
        !self.rule.has_one_heap() || self.heaps.count() == 0
    }
}

/// The entry of a heap among those in use.
fn in_order(group: ByteSize, room: ByteSize, number: u32) -> [u64; 3] {
    [group.get(), room.get(), number.into()]
}

/// GPGMM's limits for a heap that is created in advance: the minimum number of blocks, and the maximum size.
const MIN_BLOCKS_TO_FETCH: u64 = 4;
const MAX_FETCHED: ByteSize = ByteSize::from_mib(64);

fn check_heap_size(heap_size: ByteSize) -> Result<(), PlacementError> {
    if heap_size.is_zero() || heap_size > LARGEST_HEAP {
        return Err(SuballocError::CapacityOutOfBounds { capacity: heap_size, limit: LARGEST_HEAP }.into());
    }
    Ok(())
}

fn placed<H>(number: u32, suballocation: Suballocation, heap: H) -> SharedPlaced<H> {
    let id = SharedPlacementId(PlacementId::new(number, suballocation.id));
    SharedPlaced { id, range: suballocation.range, heap }
}
