//! Heap sets: heaps with a suballocator each.

mod audit;
mod block_sizes;
mod choice;
mod closing;
mod free_room;
mod idle;
mod rules;
mod used_ranges;

use std::iter::Sum;
use std::ops::AddAssign;
use std::sync::Arc;

use self::block_sizes::BlockSizes;
pub use self::block_sizes::SizeCacheCounts;
pub(super) use self::closing::OccupiedHeap;
pub(super) use self::free_room::FreeRoom;
use self::idle::IdleOrder;
pub(super) use self::used_ranges::{Beside, UsedRange};
use super::heap_index::HeapIndex;
use super::heap_table::{Closing, Heap, HeapTable};
use super::idle_times::{FREE_DECAY_LOG2, IdleTimes};
use super::ids::Slot;
use super::ranges::Ranges;
use super::slab_notes::SlabNotes;
use super::{
    HeapId, HeapRetention, HeapSizing, Placed, PlacementError, PlacementId, PlacementRequest, PlacementRule,
    Sharing,
};
use crate::suballoc::{Suballocation, Tlsf, tlsf};
use crate::{Alignment, ByteSize};

/// Heaps of one kind, each with a suballocator, found by their largest free range.
///
/// `H` is the owner's handle of a heap (an `ID3D12Heap`); the set stores it and returns it.
///
/// A request is placed in a heap in use: of those with the smallest sufficient free ranges, in the one that
/// has been in use for longest. So heaps that were added for a peak become empty again after it. Otherwise the
/// request is placed in the smallest sufficient empty heap that is not [oversized](MOST_OVERSIZE), or in a new heap.
///
/// A [rule](PlacementRule) says which requests share a heap, how large a new one is, and what divides it. With the
/// default one, all share, and a [`Tlsf`] divides each heap. With the others, what divides a heap is chosen when its
/// first request is placed. A heap in which a request is alone is in no index while it is in use.
///
/// Cost: [`allocate`](Self::allocate) and [`free`](Self::free) are O(1), apart from the suballocators of the other
/// rules; host memory is O(heaps + allocations). The set does not lock.
pub(crate) struct HeapSet<H> {
    rule: PlacementRule,
    pub(super) times: IdleTimes,
    /// Whether a heap leaves when it becomes empty.
    keeps_none: bool,
    table: HeapTable<H>,
    /// The heaps in use whose requests share them, by their largest free range.
    occupied: HeapIndex,
    /// The heaps in use that are divided into blocks of one size, in an index for each size.
    blocks: BlockSizes,
    /// The empty heaps, by size. Boxed, because loom moves a set on stacks of 32 KiB when it creates one.
    empty: Box<HeapIndex>,
    totals: HeapSetTotals,
    room: Arc<FreeRoom>,
    idle: IdleOrder,
    /// Closed heaps whose last allocation was freed.
    drained: Vec<Slot>,
    /// The number of closed heaps.
    closed_count: usize,
    /// The suballocator of a removed heap, kept for the next heap: its bins take about 5 KiB, and new
    /// ones would displace them from the processor's cache. At most one; in a `Vec` to keep the set small,
    /// because it is moved on stacks.
    spare: Vec<Tlsf>,
}

/// The totals of a set, updated with each change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeapSetTotals {
    /// The total size of live allocations.
    pub used: ByteSize,
    /// The total size of heaps.
    pub reserved: ByteSize,
    /// The number of live allocations.
    pub allocation_count: u64,
    /// The number of heaps.
    pub heap_count: u64,
    /// The number of empty heaps. With the default algorithm, this does not include heaps with a slab, even
    /// if none of its slots is used; functions that take empty heaps may nevertheless take such a heap.
    pub empty_heap_count: u64,
    /// The total size of the empty heaps.
    pub empty: ByteSize,
}

impl AddAssign for HeapSetTotals {
    fn add_assign(&mut self, other: Self) {
        self.used = self.used.saturating_add(other.used);
        self.reserved = self.reserved.saturating_add(other.reserved);
        self.allocation_count += other.allocation_count;
        self.heap_count += other.heap_count;
        self.empty_heap_count += other.empty_heap_count;
        self.empty = self.empty.saturating_add(other.empty);
    }
}

impl Sum for HeapSetTotals {
    fn sum<I: Iterator<Item = Self>>(totals: I) -> Self {
        totals.fold(Self::default(), |mut sum, more| {
            sum += more;
            sum
        })
    }
}

/// The result of a search, for [`HeapSet::place`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoundRange {
    heap: Slot,
    /// The free range, if the heap has the default algorithm. Otherwise its suballocator finds it again.
    free: Option<tlsf::Placement>,
}

/// The extent of the search for a place for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// The heaps that probably have room, and an empty one that is worth using.
    Usual,
    /// Every free range of the heaps that the default algorithm divides, and every empty heap; last the empty ones.
    /// O(n) for n free ranges of at least the request's size. For requests for which no heap can be created.
    ///
    /// Excluded are heaps that are being emptied, and those of requests that are alone.
    Exhaustive,
}

/// An empty heap of more than so many times the size that a new heap for a request would have is not used for it:
/// otherwise a small request would keep the heap of a peak alive.
const MOST_OVERSIZE: u64 = 4;

impl<H> HeapSet<H> {
    /// Creates a set without heaps.
    pub(super) fn new(rule: PlacementRule, times: IdleTimes) -> Self {
        Self {
            rule,
            keeps_none: times.retention == HeapRetention::NONE,
            times,
            table: HeapTable::new(),
            occupied: HeapIndex::new(),
            blocks: BlockSizes::default(),
            empty: Box::new(HeapIndex::new()),
            totals: HeapSetTotals::default(),
            room: Arc::default(),
            idle: IdleOrder::new(),
            drained: Vec::new(),
            closed_count: 0,
            spare: Vec::new(),
        }
    }

    /// Returns the totals of the set. O(1).
    #[must_use]
    pub(crate) fn totals(&self) -> HeapSetTotals {
        self.totals
    }

    pub(super) fn room(&self) -> &Arc<FreeRoom> {
        &self.room
    }

    /// Places a request that shares its heap by the default algorithm. Returns `None` if it needs a new heap, has zero
    /// bytes, or the set has another algorithm. O(1).
    #[inline(always)]
    pub(super) fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Option<Placed<&H>> {
        let (heap, free) = self.find_good_fit(size, alignment)?;
        self.place_at(heap, Sharing::Shared, free, size)
    }

    /// Finds the place of a request by the default algorithm.
    #[inline(always)]
    fn find_good_fit(&self, size: ByteSize, alignment: Alignment) -> Option<(Slot, tlsf::Placement)> {
        self.find_by(size, alignment, |enough| self.find_heap(enough))
    }

    /// Finds a range in the heap that `heap_with` returns for the size. If its free range is misaligned,
    /// which is rare because most ranges begin aligned, `heap_with` is called again with size plus alignment:
    /// such a range fits wherever it begins.
    #[inline(always)]
    fn find_by(
        &self,
        size: ByteSize,
        alignment: Alignment,
        heap_with: impl Fn(ByteSize) -> Option<Slot>,
    ) -> Option<(Slot, tlsf::Placement)> {
        let found = self.find_in_tlsf(heap_with(size)?, size, alignment);
        if found.is_some() {
            return found;
        }
        let padded = size.saturating_add(ByteSize::new(alignment.get() - 1));
        self.find_in_tlsf(heap_with(padded)?, size, alignment)
    }

    #[inline(always)]
    fn find_in_tlsf(
        &self,
        slot: Slot,
        size: ByteSize,
        alignment: Alignment,
    ) -> Option<(Slot, tlsf::Placement)> {
        let Ranges::Tlsf(tlsf) = &self.table.heap(slot).ranges else { return None };
        Some((slot, tlsf.find(size, alignment)?))
    }

    /// Places memory of a slab like [`allocate`](Self::allocate): in any heap, or in a particular one. O(1).
    #[inline(never)]
    pub(super) fn allocate_slab(
        &mut self,
        heap: Option<HeapId>,
        size: ByteSize,
        alignment: Alignment,
    ) -> Option<Placed<&H>> {
        let (heap, free) = match heap {
            None => self.find_good_fit(size, alignment)?,
            Some(id) => {
                self.table.find(id)?;
                self.find_in_tlsf(id.slot, size, alignment)?
            }
        };
        self.place_at(heap, Sharing::Shared, free, size)
    }

    /// Finds a place in a heap that is open.
    fn find_in_slot(&self, heap: Slot, request: &PlacementRequest) -> Option<FoundRange> {
        let ranges = &self.table.heap(heap).ranges;
        let free = match ranges {
            Ranges::Tlsf(tlsf) => Some(tlsf.find(request.size, request.alignment)?),
            others => {
                let fresh = if others.is_empty() {
                    Some(self.rule.ranges_for(request, others.capacity())?)
                } else {
                    None
                };
                if !fresh.as_ref().unwrap_or(others).would_fit(request) {
                    return None;
                }
                None
            }
        };
        Some(FoundRange { heap, free })
    }

    /// Places a request where it was found to fit; nothing may have changed since. Returns `None` if the heap
    /// has reached the limit on the number of ranges. O(1) with the default algorithm.
    #[inline(never)]
    pub(super) fn place(&mut self, found: FoundRange, request: &PlacementRequest) -> Option<Placed<&H>> {
        let sharing = self.rule.sharing_of(request);
        match found.free {
            Some(free) => self.place_at(found.heap, sharing, free, request.size),
            None => self.place_by_rule(found.heap, sharing, request),
        }
    }

    /// Finds a place for a request, and places it there.
    ///
    /// # Errors
    ///
    /// Returns an error if no heap of the set can ever serve the request.
    pub(super) fn find_and_place(
        &mut self,
        request: &PlacementRequest,
        effort: Effort,
    ) -> Result<Option<Placed<&H>>, PlacementError> {
        let found = self.find(request, effort)?;
        Ok(found.and_then(|found| self.place(found, request)))
    }

    // Inlined, like the functions it calls: returning the result through memory costs 3 of 30 ns
    // (2026-11-21). It has 2 KB, so only the shortest path has a copy.
    #[inline(always)]
    fn place_at(
        &mut self,
        slot: Slot,
        sharing: Sharing,
        free: tlsf::Placement,
        size: ByteSize,
    ) -> Option<Placed<&H>> {
        let links = self.table.indexed[slot as usize].links;
        let heap = self.table.heap_mut(slot);
        let tlsf = heap.ranges.as_tlsf_mut()?;
        let was_empty = tlsf.is_empty();
        let suballocation = tlsf.allocate_at(free, size).ok()?;
        let key_class = tlsf.largest_size_class();
        if was_empty {
            heap.sharing = sharing;
            self.put_to_use(slot);
            if sharing == Sharing::Shared {
                self.occupied.insert(&mut self.table, slot, key_class);
            }
        } else if !links.fit(key_class) {
            self.occupied.update(&mut self.table, slot, key_class);
        }
        self.note_placed(size);
        Some(self.placed(slot, suballocation))
    }

    /// Removes a heap from the empty ones, because a request is placed in it.
    #[inline(always)]
    fn put_to_use(&mut self, slot: Slot) {
        let capacity = self.table.heap(slot).ranges.capacity();
        self.totals.empty = self.totals.empty.saturating_sub(capacity);
        self.totals.empty_heap_count -= 1;
        self.use_empty(slot);
    }

    #[inline(always)]
    fn note_placed(&mut self, size: ByteSize) {
        self.count_operations(1);
        self.totals.allocation_count += 1;
        self.totals.used = ByteSize::new(self.totals.used.get() + size.get());
        self.room.note(&self.totals);
    }

    /// Returns the sizes of new heaps of the default algorithm.
    fn sizing(&self) -> Option<&HeapSizing> {
        if let PlacementRule::Default(sizing) = &self.rule { Some(sizing) } else { None }
    }

    /// Returns the size of a new heap for a request of `size` bytes, or `None` if it overflows.
    fn usual_heap_size(&self, size: ByteSize) -> Option<ByteSize> {
        let sizing = *self.sizing()?;
        let most = self.times.prices.within_frame().unwrap_or(sizing.maximum);
        let maximum = most.min(sizing.maximum);
        HeapSizing { maximum, ..sizing }.heap_size(size, self.times.most_in_use)
    }

    /// See [`SharedHeapSet::make_way`](super::SharedHeapSet::make_way).
    pub(super) fn make_way(&mut self, heap_size: ByteSize) -> Vec<H> {
        let mut release = Vec::new();
        release.extend(std::iter::from_fn(|| self.take_drained()));
        let in_use = self.totals.reserved.saturating_sub(self.totals.empty);
        while !self.keeps_added() && self.times.makes_way(in_use, self.totals.empty, heap_size) {
            match self.empty.largest() {
                Some(slot) => release.push(self.remove(slot)),
                None => break,
            }
        }
        release
    }

    /// Adds an empty heap of `size` bytes. O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if the size cannot be managed, or there are too many heaps.
    pub(crate) fn insert(&mut self, size: ByteSize, payload: H) -> Result<HeapId, PlacementError> {
        // Ensures that no sum over the heaps can overflow.
        if self.totals.reserved.checked_add(size).is_none() {
            return Err(PlacementError::TooManyBytes);
        }
        let ranges = match self.spare.pop_if(|spare| spare.try_resize(size)) {
            Some(spare) => Ranges::Tlsf(spare),
            None => self.rule.ranges_of_empty(size)?,
        };
        let (sharing, closing, slabs) = (Sharing::Shared, Closing::Open, SlabNotes::default());
        let heap = Heap { ranges, payload, sharing, closing, slabs };
        let slot = self.table.insert(heap).ok_or(PlacementError::TooManyHeaps)?;
        self.note_return(slot);
        self.index_empty(slot, self.table.key_class(slot));
        self.totals.heap_count += 1;
        self.totals.empty_heap_count += 1;
        self.totals.empty = self.totals.empty.saturating_add(size);
        self.totals.reserved = self.totals.reserved.saturating_add(size);
        self.times.note_held(self.totals.reserved);
        self.room.note(&self.totals);
        self.room.note_heap_size(self.usual_heap_size(ByteSize::new(1)));
        Ok(self.table.id(slot))
    }

    /// Frees an allocation. If an empty heap is not worth keeping any longer, it leaves the set and is returned. O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if the id is not live in this set.
    #[inline(always)]
    pub(super) fn free(&mut self, id: PlacementId) -> Result<Option<H>, PlacementError> {
        self.free_and_keep(id)?;
        // Without empty heaps, the common case, nothing is searched. At most one heap leaves, so that no free pays for
        // many.
        if self.totals.empty_heap_count == 0 {
            return Ok(None);
        }
        let heap = self.table.heap(id.heap());
        let leaves = self.keeps_none || heap.sharing == Sharing::Alone { reusable: false };
        if leaves && heap.ranges.is_empty() && heap.closing == Closing::Open {
            // Not one that was empty before, which the owner needs.
            return Ok(Some(self.remove(id.heap())));
        }
        Ok(self.take_drained().or_else(|| self.take_expired()))
    }

    /// Frees an allocation, and keeps its heap even if it is empty. O(1).
    #[inline(always)]
    pub(super) fn free_and_keep(&mut self, id: PlacementId) -> Result<(), PlacementError> {
        let slot = id.heap();
        let heap = self.table.get_mut(slot).ok_or(PlacementError::UnknownHeap)?;
        let Ranges::Tlsf(tlsf) = &mut heap.ranges else { return self.free_by_rule(id) };
        let range = tlsf.free(id.suballocation())?;
        let key_class = tlsf.largest_size_class();
        if tlsf.is_empty() {
            let is_found = heap.is_found();
            if is_found {
                self.occupied.remove(&mut self.table, slot);
            }
            self.note_emptied(slot, key_class);
        } else if !self.table.indexed[slot as usize].links.fit(key_class) && self.table.heap(slot).is_found()
        {
            self.occupied.update(&mut self.table, slot, key_class);
        }
        self.note_freed(range.size());
        Ok(())
    }

    /// Removes the heap of an allocation that was just freed, if it may not be used again.
    pub(super) fn take_unusable(&mut self, freed: PlacementId) -> Option<H> {
        let heap = self.table.heap(freed.heap());
        let leaves = heap.sharing == Sharing::Alone { reusable: false } && heap.ranges.is_empty();
        leaves.then(|| self.remove(freed.heap()))
    }

    /// Adds a heap that is in no index any more to the empty ones. Its size is of this class.
    #[inline(always)]
    fn note_emptied(&mut self, slot: Slot, key_class: u32) {
        let heap = self.table.heap(slot);
        let (capacity, closing) = (heap.ranges.capacity(), heap.closing);
        self.totals.empty = self.totals.empty.saturating_add(capacity);
        self.totals.empty_heap_count += 1;
        if closing == Closing::Open {
            self.index_empty(slot, key_class);
        } else {
            self.drained.push(slot);
        }
    }

    #[inline(always)]
    fn note_freed(&mut self, size: ByteSize) {
        self.count_operations(1);
        self.times.forget_most_in_use(self.totals.reserved, FREE_DECAY_LOG2);
        self.totals.allocation_count -= 1;
        self.totals.used = ByteSize::new(self.totals.used.get() - size.get());
        self.room.note(&self.totals);
    }

    /// Frees a range of a slab, like [`free`](Self::free). O(1).
    #[inline(never)]
    pub(super) fn free_of_slab(&mut self, id: PlacementId) -> Option<H> {
        let freed = self.free(id);
        debug_assert!(freed.is_ok(), "the memory of a slab is freed exactly once");
        freed.ok().flatten()
    }

    /// Frees a range of a slab, and keeps its heap even if it is empty. O(1).
    #[inline(never)]
    pub(super) fn give_back(&mut self, id: PlacementId) {
        let freed = self.free_and_keep(id);
        debug_assert!(freed.is_ok(), "the memory of a slab is freed exactly once");
    }

    /// Returns a heap with a free range of `enough` bytes.
    #[inline(always)]
    fn find_heap(&self, enough: ByteSize) -> Option<Slot> {
        let occupied = self.occupied.find_oldest(&self.table, enough.get());
        occupied.or_else(|| self.find_empty_heap(enough))
    }

    /// Returns an empty heap of at least `enough` bytes that is worth using for them.
    fn find_empty_heap(&self, enough: ByteSize) -> Option<Slot> {
        let slot = self.empty.find(&self.table, enough.get())?;
        let is_worth_it = self.times.keeps_all()
            || self
                .usual_heap_size(enough)
                .is_none_or(|new| self.table.heap(slot).ranges.capacity().get() / MOST_OVERSIZE <= new.get());
        is_worth_it.then_some(slot)
    }

    #[inline(always)]
    fn placed(&self, heap: Slot, Suballocation { id, range }: Suballocation) -> Placed<&H> {
        Placed { id: PlacementId::new(heap, id), range, heap: &self.table.heap(heap).payload }
    }

    /// Removes an empty heap from the set.
    fn remove(&mut self, slot: Slot) -> H {
        self.unindex_empty(slot);
        self.take_out(slot)
    }

    /// Removes an empty heap that is in no index from the set.
    fn take_out(&mut self, slot: Slot) -> H {
        let Heap { ranges, payload, closing, .. } = self.table.remove(slot);
        let size = ranges.capacity();
        self.closed_count -= usize::from(closing != Closing::Open);
        self.totals.heap_count -= 1;
        self.totals.empty_heap_count -= 1;
        self.totals.empty = self.totals.empty.saturating_sub(size);
        self.totals.reserved = self.totals.reserved.saturating_sub(size);
        self.room.note(&self.totals);
        let Ranges::Tlsf(tlsf) = ranges else { return payload };
        if self.spare.iter().all(|spare| spare.highest_size_class() < tlsf.highest_size_class()) {
            self.spare.clear();
            self.spare.push(tlsf);
        }
        payload
    }
}
