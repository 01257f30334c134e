//! Heap sets: heaps with a suballocator each.

mod choice;
mod closing;
mod free_room;
mod idle;
mod ranges;

use std::num::NonZeroU32;
use std::sync::Arc;

pub(super) use self::choice::HeapChoice;
use self::closing::Closing;
pub(super) use self::closing::OccupiedHeap;
pub(super) use self::free_room::FreeRoom;
use self::idle::{IdleLinks, IdleOrder};
use self::ranges::SlabNotes;
pub(super) use self::ranges::{Beside, SlabPlace, UsedRange};
use super::heap_index::{HeapIndex, IndexedHeaps, Links, Slot};
use super::idle_times::{FREE_DECAY_LOG2, IdleTimes};
use super::{HeapRetention, HeapSizing, PlacementError};
use crate::suballoc::slab::table::SlabTable;
use crate::suballoc::{AuditError, Stamp, SuballocError, Suballocation, SuballocationId, Tlsf, tlsf};
use crate::{Alignment, ByteSize, HeapRange};

/// Heaps of one kind, each with a suballocator, found by their largest free range.
///
/// `H` is the owner's handle of a heap (an `ID3D12Heap`); the set stores it and returns it.
///
/// A request is placed in a heap in use: of those with the smallest sufficient free ranges, in the one that
/// has been in use for longest. So heaps that were added for a peak become empty again after it. Otherwise the
/// request is placed in the smallest sufficient empty heap that is not [oversized](MOST_OVERSIZE), or in a new heap.
///
/// Cost: [`allocate`](Self::allocate) and [`free`](Self::free) are O(1); host memory is O(heaps +
/// allocations). The set does not lock.
pub(crate) struct HeapSet<H> {
    sizing: HeapSizing,
    pub(super) times: IdleTimes,
    table: Table<H>,
    /// The heaps in use, by their largest free range; one index per class.
    occupied: [HeapIndex; HeapUse::COUNT],
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

/// Identifies a heap of a set. An id of a heap that left the set is recognized as stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct HeapId {
    slot: Slot,
    generation: u32,
}

/// Identifies a live allocation of a set.
///
/// It has 16 bytes, so that it is passed in registers. It contains only the slot of the heap: stamps continue
/// when another heap takes the slot, so an older id is stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PlacementId {
    stamp: Stamp,
    slot: NonZeroU32,
    heap: Slot,
}

impl PlacementId {
    #[inline]
    pub(super) const fn new(heap: Slot, suballocation: SuballocationId) -> Self {
        Self { stamp: suballocation.stamp(), slot: suballocation.slot(), heap }
    }

    /// Returns the number of the heap, for an allocation directly in a heap.
    #[inline]
    pub(super) const fn heap(self) -> Slot {
        self.heap
    }

    /// Creates the id of a slot of a slab, which belongs to a lane and not directly to a heap.
    #[inline]
    pub(super) const fn of_slot(lane: u32, suballocation: SuballocationId) -> Self {
        Self::new(lane, suballocation)
    }

    /// Returns the lane and the slot, if it is a slot of a slab.
    #[inline]
    pub(super) const fn slot(self) -> Option<(u32, SuballocationId)> {
        let suballocation = self.suballocation();
        if SlabTable::<()>::is_slot(suballocation) { Some((self.heap, suballocation)) } else { None }
    }

    #[inline]
    pub(super) const fn suballocation(self) -> SuballocationId {
        SuballocationId::new(self.slot, self.stamp)
    }
}

const _: () = assert!(size_of::<Option<PlacementId>>() == 16);

/// The placement of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placed<'a, H> {
    /// The id that frees it.
    pub id: PlacementId,
    /// The range of the allocation in the heap.
    pub range: HeapRange,
    /// The owner's handle of the heap.
    pub heap: &'a H,
}

/// The result of a search, for [`HeapSet::place`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoundRange {
    heap: Slot,
    /// The class that the heap gets if it is empty.
    class: HeapUse,
    free: tlsf::Placement,
    size: ByteSize,
}

/// An empty heap of more than so many times the size that a new heap for a request would have is not used for it:
/// otherwise a small request would keep the heap of a peak alive.
const MOST_OVERSIZE: u64 = 4;

fn check_size(size: ByteSize) -> Result<(), PlacementError> {
    if size.is_zero() { Err(SuballocError::ZeroSize.into()) } else { Ok(()) }
}

/// The class of a heap's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeapUse {
    Shared,
    /// Requests that asked for a heap of their own. The rest of the heap is never used.
    Alone,
    /// Closed heaps, in which nothing is placed any more. No request has this class. Closed heaps are in no
    /// index.
    Closed,
}

impl HeapUse {
    /// The number of indices.
    const COUNT: usize = 2;

    const fn index(self) -> usize {
        match self {
            Self::Shared => 0,
            Self::Alone => 1,
            Self::Closed => 2,
        }
    }
}

#[derive(Clone)]
struct Heap<H> {
    suballocator: Tlsf,
    payload: H,
    /// The class of the heap's content; meaningless while the heap is empty.
    class: HeapUse,
    closing: Closing,
    slabs: SlabNotes,
}

#[derive(Clone)]
struct Entry<H> {
    generation: u32,
    /// The first stamp of the next heap in this slot.
    next_stamp: Stamp,
    /// The place among the empty heaps; meaningless while the heap is in use.
    idle: IdleLinks,
    heap: Option<Heap<H>>,
}

/// The values of a heap that a search compares. They are stored apart from the entries, so that a search reads few
/// cache lines.
#[derive(Clone, Copy)]
struct IndexEntry {
    /// The number of the operation that put the heap to use; meaningless while it is empty.
    in_use_since: u64,
    links: Links,
}

/// The heaps by slot.
#[derive(Clone)]
struct Table<H> {
    entries: Vec<Entry<H>>,
    indexed: Vec<IndexEntry>,
    vacant: Vec<Slot>,
}

impl<H> Table<H> {
    fn entry(&self, slot: Slot) -> &Entry<H> {
        &self.entries[slot as usize]
    }

    fn entry_mut(&mut self, slot: Slot) -> &mut Entry<H> {
        &mut self.entries[slot as usize]
    }

    /// Returns the heap in an occupied slot.
    fn heap(&self, slot: Slot) -> &Heap<H> {
        self.entry(slot).heap.as_ref().expect("indexed slots contain a heap")
    }

    fn find(&self, id: HeapId) -> Option<&Heap<H>> {
        let entry = self.entries.get(id.slot as usize)?;
        entry.heap.as_ref().filter(|_| entry.generation == id.generation)
    }

    fn id(&self, slot: Slot) -> HeapId {
        HeapId { slot, generation: self.entry(slot).generation }
    }
}

impl<H> IndexedHeaps for Table<H> {
    fn links(&self, slot: Slot) -> Links {
        self.indexed[slot as usize].links
    }

    fn links_mut(&mut self, slot: Slot) -> &mut Links {
        &mut self.indexed[slot as usize].links
    }

    #[inline]
    fn key(&self, slot: Slot) -> u64 {
        self.heap(slot).suballocator.largest_free_range().get()
    }

    #[inline]
    fn key_class(&self, slot: Slot) -> u32 {
        self.heap(slot).suballocator.largest_size_class()
    }

    #[inline]
    fn age(&self, slot: Slot) -> u64 {
        self.indexed[slot as usize].in_use_since
    }
}

impl<H> HeapSet<H> {
    /// Creates a set without heaps.
    pub(super) fn new(sizing: HeapSizing, times: IdleTimes) -> Self {
        Self {
            sizing,
            times,
            table: Table { entries: Vec::new(), indexed: Vec::new(), vacant: Vec::new() },
            occupied: std::array::from_fn(|_| HeapIndex::new()),
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

    /// Places a request in one of the heaps. Returns `None` if it needs a new heap. O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if the size is zero.
    #[inline(always)]
    pub(crate) fn allocate(
        &mut self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<Placed<'_, H>>, PlacementError> {
        let found = self.find(size, alignment)?;
        Ok(found.and_then(|found| self.place_inline(found)))
    }

    /// Finds the place of a request. This is the first step of an allocation. Returns `None` if a new heap is needed.
    /// O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if the size is zero.
    #[inline(always)]
    pub(super) fn find(
        &self,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<FoundRange>, PlacementError> {
        check_size(size)?;
        Ok(self.find_by(HeapUse::Shared, size, alignment, |enough| self.find_heap(enough)))
    }

    /// Finds a place in a particular heap. O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if the size is zero, or the heap is not in the set.
    pub(super) fn find_in(
        &self,
        heap: HeapId,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<FoundRange>, PlacementError> {
        check_size(size)?;
        self.table.find(heap).ok_or(PlacementError::UnknownHeap)?;
        Ok(self.find_in_slot(heap.slot, HeapUse::Shared, size, alignment))
    }

    /// Finds a range in the heap that `heap_with` returns for the size. If its free range is misaligned,
    /// which is rare because most ranges begin aligned, `heap_with` is called again with size plus alignment:
    /// such a range fits wherever it begins.
    #[inline(always)]
    fn find_by(
        &self,
        class: HeapUse,
        size: ByteSize,
        alignment: Alignment,
        heap_with: impl Fn(ByteSize) -> Option<Slot>,
    ) -> Option<FoundRange> {
        let slot = heap_with(size)?;
        let found = self.find_in_slot(slot, class, size, alignment);
        if found.is_some() {
            return found;
        }
        let padded = size.saturating_add(ByteSize::new(alignment.get() - 1));
        let slot = heap_with(padded)?;
        self.find_in_slot(slot, class, size, alignment)
    }

    #[inline(always)]
    fn find_in_slot(
        &self,
        heap: Slot,
        class: HeapUse,
        size: ByteSize,
        alignment: Alignment,
    ) -> Option<FoundRange> {
        let free = self.table.heap(heap).suballocator.find(size, alignment)?;
        Some(FoundRange { heap, class, free, size })
    }

    /// Places a request where it was found to fit; nothing may have changed since. Returns `None` if the heap
    /// has reached the limit on the number of ranges. O(1).
    #[inline(never)]
    pub(super) fn place(&mut self, found: FoundRange) -> Option<Placed<'_, H>> {
        self.place_inline(found)
    }

    // Inlined, like the functions it calls: returning the result through memory costs 3 of 30 ns
    // (2026-11-21). It has 2 KB, so only the shortest path has a copy.
    #[inline(always)]
    fn place_inline(&mut self, found: FoundRange) -> Option<Placed<'_, H>> {
        let FoundRange { heap: slot, class, free, size } = found;
        let links = self.table.links(slot);
        let heap = self.table.entry_mut(slot).heap.as_mut().expect("indexed slots contain a heap");
        let was_empty = heap.suballocator.is_empty();
        let suballocation = heap.suballocator.allocate_at(free, size).ok()?;
        let key_class = heap.suballocator.largest_size_class();
        if was_empty {
            heap.class = class;
            self.totals.empty = self.totals.empty.saturating_sub(heap.suballocator.capacity());
            self.use_empty(slot);
            self.occupied[class.index()].insert(&mut self.table, slot);
            self.totals.empty_heap_count -= 1;
        } else if !links.fit(key_class) {
            let class = heap.class;
            self.occupied[class.index()].update(&mut self.table, slot, key_class);
        }
        self.count_operations(1);
        self.totals.allocation_count += 1;
        self.totals.used = ByteSize::new(self.totals.used.get() + size.get());
        self.room.note(&self.totals);
        Some(self.placed(slot, suballocation))
    }

    /// Returns the size of a new heap for a request of `size` bytes, or `None` if it overflows.
    fn usual_heap_size(&self, size: ByteSize) -> Option<ByteSize> {
        let most = self.times.prices.within_frame().unwrap_or(self.sizing.maximum);
        let maximum = most.min(self.sizing.maximum);
        HeapSizing { maximum, ..self.sizing }.heap_size(size, self.times.most_in_use)
    }

    /// See [`SharedHeapSet::make_way`](super::SharedHeapSet::make_way).
    pub(super) fn make_way(&mut self, heap_size: ByteSize, elsewhere: ByteSize) -> Vec<H> {
        let mut release = Vec::new();
        release.extend(std::iter::from_fn(|| self.take_drained()));
        let in_use = self.totals.reserved.saturating_sub(self.totals.empty).saturating_add(elsewhere);
        while self.times.makes_way(in_use, self.totals.empty, heap_size) {
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
        let suballocator = self.suballocator(size)?;
        let (closing, slabs) = (Closing::default(), SlabNotes::default());
        let mut heap = Heap { suballocator, payload, class: HeapUse::Shared, closing, slabs };
        let slot = match self.table.vacant.pop() {
            Some(slot) => {
                let entry = self.table.entry_mut(slot);
                heap.suballocator.continue_stamps(entry.next_stamp);
                entry.heap = Some(heap);
                slot
            }
            None => {
                let slot = Slot::try_from(self.table.entries.len())
                    .ok()
                    .filter(|&slot| slot < Slot::MAX)
                    .ok_or(PlacementError::TooManyHeaps)?;
                let (next_stamp, idle, heap) = (Stamp::FIRST, IdleLinks::none(), Some(heap));
                self.table.entries.push(Entry { generation: 0, next_stamp, idle, heap });
                self.table.indexed.push(IndexEntry { in_use_since: 0, links: Links::NONE });
                slot
            }
        };
        self.note_return(slot);
        self.index_empty(slot);
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
    pub(crate) fn free(&mut self, id: PlacementId) -> Result<Option<H>, PlacementError> {
        self.free_and_keep(id)?;
        // Without empty heaps, the common case, nothing is searched. At most one heap leaves, so that no free pays for
        // many.
        if self.totals.empty_heap_count == 0 {
            return Ok(None);
        }
        let heap = self.table.heap(id.heap);
        if self.times.retention == HeapRetention::NONE
            && heap.suballocator.is_empty()
            && heap.class != HeapUse::Closed
        {
            // Not one that was empty before, which the owner needs.
            return Ok(Some(self.remove(id.heap)));
        }
        Ok(self.take_drained().or_else(|| self.take_expired()))
    }

    /// Frees an allocation, and keeps its heap even if it is empty. O(1).
    #[inline(always)]
    pub(super) fn free_and_keep(&mut self, id: PlacementId) -> Result<(), PlacementError> {
        let slot = id.heap;
        let entry = self.table.entries.get_mut(slot as usize);
        let heap = entry.and_then(|entry| entry.heap.as_mut()).ok_or(PlacementError::UnknownHeap)?;
        let range = heap.suballocator.free(id.suballocation())?;
        let (class, key_class) = (heap.class, heap.suballocator.largest_size_class());
        if heap.suballocator.is_empty() {
            self.totals.empty = self.totals.empty.saturating_add(heap.suballocator.capacity());
            if class == HeapUse::Closed {
                self.drained.push(slot);
            } else {
                self.occupied[class.index()].remove(&mut self.table, slot);
                self.index_empty(slot);
            }
            self.totals.empty_heap_count += 1;
        } else if !self.table.links(slot).fit(key_class) && class != HeapUse::Closed {
            self.occupied[class.index()].update(&mut self.table, slot, key_class);
        }
        self.count_operations(1);
        self.times.forget_most_in_use(self.totals.reserved, FREE_DECAY_LOG2);
        self.totals.allocation_count -= 1;
        self.totals.used = ByteSize::new(self.totals.used.get() - range.size().get());
        self.room.note(&self.totals);
        Ok(())
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

    /// Checks that suballocators, indices and totals agree. O(heaps + ranges); for tests.
    ///
    /// # Errors
    ///
    /// Returns the first disagreement.
    pub(crate) fn audit(&self) -> Result<(), AuditError> {
        let mut counted = HeapSetTotals::default();
        let mut indexed: Vec<Slot> = self.empty.slots(&self.table);
        let empties = indexed.len();
        for class in &self.occupied {
            indexed.extend(class.slots(&self.table));
        }
        indexed.extend(self.closed_slots());
        for (position, &slot) in indexed.iter().enumerate() {
            let heap = self.table.heap(slot);
            heap.suballocator.audit()?;
            if heap.class != HeapUse::Closed && heap.suballocator.is_empty() != (position < empties) {
                return Err(AuditError::new(format!("heap {slot} is in the wrong index")));
            }
            counted.used = counted.used.saturating_add(heap.suballocator.used());
            counted.reserved = counted.reserved.saturating_add(heap.suballocator.capacity());
            counted.allocation_count += heap.suballocator.allocation_count();
            counted.heap_count += 1;
            if heap.suballocator.is_empty() {
                counted.empty_heap_count += 1;
                counted.empty = counted.empty.saturating_add(heap.suballocator.capacity());
            }
        }
        self.audit_closed()?;
        if counted != self.totals {
            return Err(AuditError::new(format!("counted {counted:?}, recorded {:?}", self.totals)));
        }
        let mut idle = self.idle_slots();
        idle.sort_unstable();
        let mut empty = self.empty.slots(&self.table);
        empty.sort_unstable();
        if idle != empty {
            return Err(AuditError::new(format!(
                "the heaps {empty:?} are empty, in their order are {idle:?}"
            )));
        }
        indexed.sort_unstable();
        indexed.dedup();
        let present = self.table.entries.iter().filter(|entry| entry.heap.is_some()).count();
        if indexed.len() != present {
            return Err(AuditError::new(format!("{} of {present} heaps are indexed", indexed.len())));
        }
        Ok(())
    }

    /// Returns a heap with a free range of `enough` bytes.
    #[inline(always)]
    fn find_heap(&self, enough: ByteSize) -> Option<Slot> {
        let occupied = self.occupied[HeapUse::Shared.index()].find_oldest(&self.table, enough.get());
        occupied.or_else(|| self.find_empty_heap(enough))
    }

    /// Returns an empty heap of at least `enough` bytes that is worth using for them.
    fn find_empty_heap(&self, enough: ByteSize) -> Option<Slot> {
        let slot = self.empty.find(&self.table, enough.get())?;
        let is_worth_it = self.times.keeps_all()
            || self.usual_heap_size(enough).is_none_or(|new| {
                self.table.heap(slot).suballocator.capacity().get() / MOST_OVERSIZE <= new.get()
            });
        is_worth_it.then_some(slot)
    }

    #[inline(always)]
    fn placed(&self, heap: Slot, Suballocation { id, range }: Suballocation) -> Placed<'_, H> {
        Placed { id: PlacementId::new(heap, id), range, heap: &self.table.heap(heap).payload }
    }

    /// Removes an empty heap from the set.
    fn remove(&mut self, slot: Slot) -> H {
        self.unindex_empty(slot);
        self.take_out(slot)
    }

    /// Removes an empty heap that is in no index from the set.
    fn take_out(&mut self, slot: Slot) -> H {
        let entry = self.table.entry_mut(slot);
        entry.generation = entry.generation.wrapping_add(1);
        let heap = entry.heap.take().expect("indexed slots contain a heap");
        let Heap { suballocator, payload, class, .. } = heap;
        let size = suballocator.capacity();
        entry.next_stamp = suballocator.next_stamp();
        self.table.vacant.push(slot);
        self.closed_count -= usize::from(class == HeapUse::Closed);
        self.totals.heap_count -= 1;
        self.totals.empty_heap_count -= 1;
        self.totals.empty = self.totals.empty.saturating_sub(size);
        self.totals.reserved = self.totals.reserved.saturating_sub(size);
        self.room.note(&self.totals);
        if self.spare.iter().all(|spare| spare.highest_size_class() < suballocator.highest_size_class()) {
            self.spare.clear();
            self.spare.push(suballocator);
        }
        payload
    }

    /// Returns a suballocator for a new heap of `size` bytes.
    fn suballocator(&mut self, size: ByteSize) -> Result<Tlsf, PlacementError> {
        match self.spare.pop_if(|spare| spare.try_resize(size)) {
            Some(spare) => Ok(spare),
            None => Ok(Tlsf::new(size)?),
        }
    }
}
