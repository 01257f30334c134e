//! Ranges of heaps: where the memory of a request comes from, and the range that a request takes.
//!
//! | step | source |
//! |---|---|
//! | found | a free range of the existing heaps, as the placement algorithm chooses it |
//! | spare | an empty heap of a suitable size that is kept, or held by a nested allocator or the parent |
//! | permitted | a new heap that limit, budget and pool permit without releasing anything |
//! | any | a free range that only an exhaustive search finds, including free slots of slabs |
//! | reclaimed | the same, after unused slabs and backing buffers of these heaps, and of those of nested allocators and the parent, returned their memory |
//! | released | a new heap for which empty heaps are released, also of other allocators of the process, or beyond the budget; if it is refused, the smallest possible one |
//! | reopened | the same, after heaps that a defragmentation is emptying were reopened |
//! | largest | an empty heap of any sufficient size |
//!
//! So a request fails only if no free range of its possible heaps is large enough, and no new heap is permitted. Where
//! the device has no memory for one, the caller [repeats](HeapKinds::with_device_room) all of this after empty heaps
//! were released.
//!
//! No lock is held while the device creates or destroys a heap. With a residency manager, idle heaps are evicted to
//! keep a new heap within the budget, after empty heaps are released. `NEVER_RESIDENT` allocations never use a heap
//! that is held, and with `NEVER_OVER_ALLOCATE` no heap is released.

use std::ptr::NonNull;
use std::sync::Arc;

use heapwright_core::placement::{
    Placed, PlacementAlgorithm, PlacementError, PlacementId, PlacementRequest, Sharing,
};
use heapwright_core::{Alignment, ByteSize, HeapOffset, HeapRange};
use heapwright_d3d12::*;

use super::heap_kinds::HeapKinds;
use super::striped::{Stripe, Striped};
use super::typed_heaps::{Passed, TypedHeaps};
use crate::desc::{HEAP_GRANULARITY, ResourceAllocationFlags, ResourceDesc};
use crate::error::{MemorySource, Obstacle, Refusal};
use crate::source::{AllocationId, Heap, UnusedBuffer, create_placed};

/// The fraction of what limits and budget leave that a new heap takes, unless the request itself needs more. A heap
/// that takes everything leaves nothing to resources of other kinds.
const FRACTION_OF_REST: u64 = 8;

/// A request for a range of a heap of one kind.
#[derive(Clone, Copy)]
pub(crate) struct HeapRequest<'a> {
    pub(crate) kinds: &'a HeapKinds,
    pub(crate) heaps: &'a Striped<TypedHeaps>,
    pub(crate) placement: PlacementRequest,
    pub(crate) flags: ResourceAllocationFlags,
}

/// The predicted source of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PredictedMemory {
    /// Memory that is already held. Nothing is charged.
    Held,
    /// A new heap of this size; for a committed resource, its own.
    NewHeap(ByteSize),
}

/// The heap that a request needs, which the existing heaps do not serve.
struct NewHeap {
    wanted: ByteSize,
    /// The smallest possible size.
    least: ByteSize,
    /// Why no heap may be created, whatever is released.
    never: Option<Refusal>,
    /// Whether limits and budget permit the wanted size without any release.
    is_permitted: bool,
}

impl<'a> HeapRequest<'a> {
    /// Creates a request. A heap of its own is not managed if the flags say so, and then it is used once.
    #[inline]
    pub(crate) fn new(
        kinds: &'a HeapKinds,
        heaps: &'a Striped<TypedHeaps>,
        mut placement: PlacementRequest,
        flags: ResourceAllocationFlags,
    ) -> Self {
        if let Sharing::Alone { reusable } = &mut placement.sharing {
            let is_managed = !flags.contains(ResourceAllocationFlags::NEVER_RESIDENT);
            *reusable &= is_managed || kinds.source.residency.is_none();
        }
        Self { kinds, heaps, placement, flags }
    }

    /// Finds a free range, or creates a heap.
    #[inline]
    pub(crate) fn take(&self) -> Result<PlacedRange, Refusal> {
        // Found at once, usually in a heap that is not empty. Takes no reference to the heap.
        let address = |heap: &Arc<Heap>| NonNull::from(&**heap);
        if let Some(found) = self.heaps.set.allocate_at_hand(&self.placement, address) {
            return Ok(self.placed(found));
        }
        self.take_in_steps()
    }

    #[cold]
    fn take_in_steps(&self) -> Result<PlacedRange, Refusal> {
        if let Some(range) = self.find()? {
            return Ok(range);
        }
        self.heaps.prefetch.count_miss();
        let NewHeap { wanted, least, never, is_permitted } = self.new_heap()?;
        let may_create = never.is_none();
        let mut refusal = never.unwrap_or_default();
        if let Some(range) = self.spare(least, wanted)? {
            return Ok(range);
        }
        let mut is_refused = false;
        if is_permitted {
            self.heaps.make_way(wanted);
            match self.heaps.create_heap(wanted, self.flags) {
                Ok(heap) => return self.in_new(heap),
                Err(refused) => {
                    is_refused = refused.bytes_refused_by_device().is_some();
                    refusal.add(refused)?;
                }
            }
        }
        // What the device refused is only requested again after more is released.
        let sizes = [(wanted, !is_refused), (least, least < wanted)];
        let sizes = sizes.map(|(size, is_possible)| Some(size).filter(|_| may_create && is_possible));
        // For a heap of its own, any free range is a whole empty heap, which is the last resort.
        if self.placement.sharing == Sharing::Shared {
            if let Some(range) = self.find_anywhere()? {
                return Ok(range);
            }
        }
        if let Some(range) = self.reclaimed(least, wanted)? {
            return Ok(range);
        }
        if let Some(range) = self.released(sizes, &mut refusal)? {
            return Ok(range);
        }
        if self.may_be_held() && self.heaps.set.reopen_closed() {
            if let Some(range) = self.find()? {
                return Ok(range);
            }
            if let Some(range) = self.released(sizes, &mut refusal)? {
                return Ok(range);
            }
        }
        // Another thread may have taken heaps to release them, and put them back.
        let _alone = self.heaps.source.release_alone();
        if let Some(range) = self.find_anywhere()? {
            return Ok(range);
        }
        self.spare(least, ByteSize::MAX)?.ok_or(refusal)
    }

    /// Predicts the source of the memory, without what is released for it, and what only an exhaustive search finds.
    #[inline]
    pub(crate) fn probe(&self) -> Result<PredictedMemory, Refusal> {
        let has_spare = |least, most| self.may_be_held() && self.heaps.has_spare(least, most);
        if self.may_be_held() && self.heaps.set.has_room(&self.placement)? {
            return Ok(PredictedMemory::Held);
        }
        let NewHeap { wanted, least, never, is_permitted } = self.new_heap()?;
        if has_spare(least, wanted) {
            return Ok(PredictedMemory::Held);
        }
        let size = if is_permitted { wanted } else { least };
        let permitted = never.map_or_else(|| self.may_create(size), Err);
        match permitted {
            Err(_) if has_spare(least, ByteSize::MAX) => Ok(PredictedMemory::Held),
            permitted => permitted.map(|()| PredictedMemory::NewHeap(size)),
        }
    }

    /// Checks whether pool, limits and budget permit a heap.
    fn may_create(&self, size: ByteSize) -> Result<(), Refusal> {
        let new = self.heaps.new_memory(size, self.flags);
        self.heaps.check_heap_count().map_err(|obstacle| new.refused(obstacle))?;
        self.kinds.source.check(&new).map_err(|row| new.refused(row))
    }

    /// Finds a range after unused slabs and backing buffers returned their memory, or takes a heap of a nested
    /// allocator or the parent that is empty then.
    fn reclaimed(&self, least: ByteSize, wanted: ByteSize) -> Result<Option<PlacedRange>, Refusal> {
        if !self.may_be_held() {
            return Ok(None);
        }
        let mut near = self.heaps.siblings();
        near.push(Arc::clone(self.heaps));
        let is_near = |heaps: &TypedHeaps| near.iter().any(|near| std::ptr::eq(&**near, heaps));
        if !self.kinds.return_unused_memory(&is_near, true) {
            return Ok(None);
        }
        let mut found = self.find()?;
        if found.is_none() && self.placement.sharing == Sharing::Shared {
            found = self.find_anywhere()?;
        }
        if found.is_none() {
            found = self.spare(least, wanted)?;
        }
        if found.is_some() {
            // Heaps that became empty for this request may not be worth keeping.
            for heaps in near {
                heaps.pass(Passed::Operations);
            }
        }
        Ok(found)
    }

    /// Creates a heap of the first possible size, after empty heaps were released for it.
    fn released(
        &self,
        sizes: [Option<ByteSize>; 2],
        refusal: &mut Refusal,
    ) -> Result<Option<PlacedRange>, Refusal> {
        for size in sizes.into_iter().flatten() {
            match self.kinds.create_heap(self.heaps, size, self.flags) {
                Ok(heap) => return self.in_new(heap).map(Some),
                Err(refused) => refusal.add(refused)?,
            }
        }
        Ok(None)
    }

    fn spare(&self, least: ByteSize, most: ByteSize) -> Result<Option<PlacedRange>, Refusal> {
        let spare = if self.may_be_held() { self.heaps.take_spare(least, most) } else { None };
        spare.map(|heap| self.in_new(heap)).transpose()
    }

    fn may_be_held(&self) -> bool {
        self.placement.sharing != Sharing::Alone { reusable: false }
    }

    /// Returns the heap that the request needs.
    fn new_heap(&self) -> Result<NewHeap, Refusal> {
        let least = self.heaps.set.least_heap_size(&self.placement);
        let least = least.align_up(HEAP_GRANULARITY).unwrap_or(ByteSize::MAX);
        let largest = self.heaps.source.max_heap_size;
        let planned = self.heaps.new_heap_size(&self.placement)?.min(largest);
        let never = if planned < least {
            // The request exceeds the limit, or the one size of the pool's heaps.
            let limit = if least > largest { largest } else { planned };
            Some(Refusal::of(MemorySource::NewHeap(least), Obstacle::HeapSize { limit }))
        } else if self.flags.contains(ResourceAllocationFlags::NEVER_ALLOCATE_HEAP) {
            Some(Refusal::of(MemorySource::HeldMemory, Obstacle::NoRoom))
        } else {
            None
        };
        if never.is_some() {
            return Ok(NewHeap { wanted: least, least, never, is_permitted: false });
        }
        let least = self.heaps.fixed_heap_size(self.placement.sharing).map_or(least, |_| planned);
        let room = self.kinds.source.room(&self.heaps.new_memory(planned, self.flags));
        let wanted = self.wanted_size(planned, least, room);
        Ok(NewHeap { wanted, least, never, is_permitted: wanted <= room })
    }

    /// Returns the best size of a new heap of `planned` bytes, of which the request needs `least`, where limits and
    /// budget leave `room`.
    fn wanted_size(&self, planned: ByteSize, least: ByteSize, room: ByteSize) -> ByteSize {
        let takes_any_size = self.heaps.set.algorithm() == PlacementAlgorithm::Default;
        let fraction =
            if takes_any_size && self.heaps.desc.max_heap_count == 0 { FRACTION_OF_REST } else { 1 };
        let left = room.get() / fraction;
        if left >= planned.get() {
            planned
        } else if takes_any_size && least < planned {
            // A whole number of requests.
            let request = self.placement.size.get();
            let requests = ByteSize::new((left & !(HEAP_GRANULARITY.get() - 1)) / request * request);
            requests.align_up(HEAP_GRANULARITY).unwrap_or(least).max(least)
        } else {
            least
        }
    }
}

/// Returns the address of the heap in which something is placed.
fn addressed(placed: Placed<Arc<Heap>>) -> Placed<NonNull<Heap>> {
    Placed { id: placed.id, range: placed.range, heap: NonNull::from(&*placed.heap) }
}

impl HeapRequest<'_> {
    /// Allocates a range in the existing heaps.
    fn find(&self) -> Result<Option<PlacedRange>, PlacementError> {
        if !self.may_be_held() {
            return Ok(None);
        }
        let found = self.heaps.set.allocate(&self.placement)?;
        Ok(found.map(|placed| self.placed(addressed(placed))))
    }

    /// Allocates a range in the existing heaps, however much of an empty heap it wastes.
    fn find_anywhere(&self) -> Result<Option<PlacedRange>, PlacementError> {
        if !self.may_be_held() {
            return Ok(None);
        }
        let found = self.heaps.set.allocate_anywhere(&self.placement)?;
        Ok(found.map(|placed| self.placed(addressed(placed))))
    }

    /// Allocates a range in a heap that is added to the others.
    fn in_new(&self, heap: Arc<Heap>) -> Result<PlacedRange, Refusal> {
        let placed = self.heaps.set.allocate_in_new(heap.size(), heap, &self.placement);
        Ok(self.placed(addressed(placed?)))
    }

    #[inline]
    fn placed(&self, placed: Placed<NonNull<Heap>>) -> PlacedRange {
        PlacedRange::new(self.heaps.reference(), self.placement.sharing, placed, self.placement.alignment)
    }
}

/// A range of a heap that belongs to one allocation until dropped.
///
/// # Invariants
///
/// `heap` points to a heap of which the set of `heaps` holds an `Arc`. The set holds it until the heap is empty,
/// and the range is in the heap until it is freed.
pub(crate) struct PlacedRange {
    heaps: Arc<Stripe<TypedHeaps>>,
    heap: NonNull<Heap>,
    id: PlacementId,
    range: HeapRange,
    sharing: Sharing,
    /// A power of two. As a byte, because a range is moved often.
    alignment_log2: u8,
    /// Whether dropping it frees the range.
    is_held: bool,
    /// Whether the heap is kept when dropping this leaves it empty.
    keeps_heap: bool,
}

// SAFETY: the pointer stands for an `Arc` of a type that is `Send` and `Sync`, and all other fields are both.
unsafe impl Send for PlacedRange {}
// SAFETY: as above.
unsafe impl Sync for PlacedRange {}

const _: () = {
    const fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<(Arc<TypedHeaps>, Arc<Heap>)>();
};

impl PlacedRange {
    #[inline]
    pub(crate) fn new(
        heaps: Arc<Stripe<TypedHeaps>>,
        sharing: Sharing,
        placed: Placed<NonNull<Heap>>,
        alignment: Alignment,
    ) -> Self {
        let Placed { id, range, heap } = placed;
        let alignment_log2 = u8::try_from(alignment.log2()).unwrap_or(0);
        let placed =
            Self { heaps, heap, id, range, sharing, alignment_log2, is_held: true, keeps_heap: false };
        if placed.heap().take_prefetched() {
            placed.heaps.prefetch.count_eliminated();
        }
        placed
    }

    /// Drops this without freeing the range; other code frees it.
    pub(crate) fn forget(mut self) {
        self.is_held = false;
    }

    /// Keeps the heap in its set when dropping this leaves it empty.
    pub(crate) fn keep_heap(&mut self) {
        self.keeps_heap = true;
    }

    pub(crate) fn range(&self) -> HeapRange {
        self.range
    }

    /// Returns the range as one of an unused backing buffer.
    pub(crate) fn as_unused(&self) -> UnusedBuffer {
        UnusedBuffer { heaps: self.heaps().desc.number, id: self.id }
    }

    pub(crate) fn alignment(&self) -> Alignment {
        Alignment::from_log2(self.alignment_log2.into()).unwrap_or(Alignment::ONE)
    }

    #[inline]
    pub(crate) fn heap(&self) -> &Heap {
        // SAFETY: created from a reference of an `Arc` that is alive (type invariant); only shared references to it are
        // created.
        unsafe { self.heap.as_ref() }
    }

    #[inline]
    pub(crate) fn heaps(&self) -> &Arc<TypedHeaps> {
        &self.heaps
    }

    /// Returns whether no other allocation can be in the heap.
    pub(crate) fn has_own_heap(&self) -> bool {
        self.sharing != Sharing::Shared
    }

    pub(crate) fn id(&self) -> AllocationId {
        AllocationId::placed(self.heaps().desc.number, self.id)
    }
}

impl Drop for PlacedRange {
    // Of 6 KB, and part of the drop of many types.
    #[inline(never)]
    fn drop(&mut self) {
        if !self.is_held {
            return;
        }
        let set = &self.heaps.set;
        let freed = if self.keeps_heap { set.free_and_keep(self.id) } else { set.free(self.id) };
        match freed {
            Ok(left) if left.is_empty() => {}
            Ok(left) => self.heaps.recycle(left),
            Err(error) => debug_assert!(false, "placed range freed twice: {error}"),
        }
        self.heaps.source.look_after_empty();
    }
}

impl PlacedRange {
    /// Creates a resource with `desc`, which was derived from `resource`, in the range, at an offset from its start.
    ///
    /// The caller makes sure that it lies in the range, which other resources may use, too.
    #[inline]
    pub(crate) fn create_resource_at(
        &self,
        offset: HeapOffset,
        resource: &ResourceDesc<'_>,
        desc: &D3D12_RESOURCE_DESC,
    ) -> Result<ID3D12Resource, Refusal> {
        let (heap, heaps) = (self.heap(), self.heaps());
        let (devices, heap_type) = (&heaps.source.devices, heaps.desc.heap.Properties.Type);
        let offset = HeapOffset::new(self.range().start().get() + offset.get());
        match create_placed(devices, heap_type, heap, offset, resource, desc) {
            Ok(made) => Ok(made),
            Err(refused) => Err(refused.into_refusal(MemorySource::Placing)),
        }
    }
}
