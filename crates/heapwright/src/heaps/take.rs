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
//! | reopened | a free range of the heaps that a defragmentation is emptying, which are reopened |
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

use heapwright_core::placement::{Placed, PlacementAlgorithm, PlacementId, PlacementRequest, Sharing};
use heapwright_core::{Alignment, ByteSize, HeapRange};
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

impl HeapKinds {
    /// Takes a range of `heaps` for a request of an allocation with these flags, or creates a heap for it.
    #[inline]
    pub(crate) fn take(
        &self,
        heaps: &Striped<TypedHeaps>,
        request: &PlacementRequest,
        flags: ResourceAllocationFlags,
    ) -> Result<PlacedRange, Refusal> {
        // Found at once, usually in a heap that is not empty. Takes no reference to the heap.
        match heaps.set.allocate_at_hand(request, |heap| NonNull::from(&**heap)) {
            Some(found) => Ok(PlacedRange::new(heaps.reference(), request, found)),
            None => self.take_in_steps(heaps, request, flags),
        }
    }

    #[cold]
    fn take_in_steps(
        &self,
        heaps: &Striped<TypedHeaps>,
        request: &PlacementRequest,
        flags: ResourceAllocationFlags,
    ) -> Result<PlacedRange, Refusal> {
        let (set, may_be_held) = (&heaps.set, may_be_held(request));
        let find = || if may_be_held { set.allocate(request) } else { Ok(None) };
        let find_anywhere = || if may_be_held { set.allocate_anywhere(request) } else { Ok(None) };
        let spare = |least, most| if may_be_held { self.take_spare(heaps, least, most) } else { None };
        let placed = |Placed { id, range, heap }: Placed<Arc<Heap>>| {
            PlacedRange::new(heaps.reference(), request, Placed { id, range, heap: NonNull::from(&*heap) })
        };
        let in_new = |heap: Arc<Heap>| -> Result<PlacedRange, Refusal> {
            Ok(placed(set.allocate_in_new(heap.size(), heap, request)?))
        };
        // Found.
        if let Some(found) = find()? {
            return Ok(placed(found));
        }
        heaps.prefetch.count_miss();
        let NewHeap { wanted, least, never, is_permitted } = self.new_heap(heaps, request, flags)?;
        let may_create = never.is_none();
        let mut refusal = never.unwrap_or_default();
        // Spare.
        if let Some(heap) = spare(least, wanted) {
            return in_new(heap);
        }
        // Permitted.
        let mut is_refused = false;
        if is_permitted {
            heaps.make_way(wanted);
            match heaps.create_heap(wanted, flags) {
                Ok(heap) => return in_new(heap),
                Err(refused) => {
                    is_refused = refused.bytes_refused_by_device().is_some();
                    refusal.add(refused)?;
                }
            }
        }
        // Any. For a heap of its own, this is a whole empty heap, which is the last resort.
        let is_shared = request.sharing == Sharing::Shared;
        if is_shared {
            if let Some(found) = find_anywhere()? {
                return Ok(placed(found));
            }
        }
        // Reclaimed.
        if may_be_held {
            let mut near = self.siblings(heaps);
            near.push(Arc::clone(heaps));
            let is_near = |heaps: &TypedHeaps| near.iter().any(|near| std::ptr::eq(&**near, heaps));
            if self.return_unused_memory(&is_near, true) {
                let found = match find()? {
                    None if is_shared => find_anywhere()?,
                    found => found,
                };
                let range = match found {
                    Some(found) => Some(placed(found)),
                    None => spare(least, wanted).map(in_new).transpose()?,
                };
                if let Some(range) = range {
                    // Heaps that became empty for this request may not be worth keeping.
                    for heaps in near {
                        heaps.pass(Passed::Operations);
                    }
                    return Ok(range);
                }
            }
        }
        // Released. What the device refused is only requested again after more is.
        let sizes = [(wanted, !is_refused), (least, least < wanted)];
        for (size, _) in sizes.into_iter().filter(|&(_, is_possible)| may_create && is_possible) {
            match self.create_heap(heaps, size, flags) {
                Ok(heap) => return in_new(heap),
                Err(refused) => refusal.add(refused)?,
            }
        }
        // Reopened.
        if may_be_held && set.reopen_closed() {
            if let Some(found) = find()? {
                return Ok(placed(found));
            }
        }
        // Largest. Another thread may have taken heaps to release them, and put them back.
        let _alone = self.source.release_alone();
        if let Some(found) = find_anywhere()? {
            return Ok(placed(found));
        }
        spare(least, ByteSize::MAX).map_or(Err(refusal), in_new)
    }

    /// Takes an empty heap of a suitable size that another allocator holds that is nested with this one, within the
    /// limits of this one.
    fn take_spare(&self, heaps: &TypedHeaps, least: ByteSize, wanted: ByteSize) -> Option<Arc<Heap>> {
        for other in self.siblings(heaps) {
            let permitted = wanted.min(self.source.ledger.left(heaps.desc.account()));
            let Some((_, heap)) = other.set.take_empty_fitting(least, permitted) else { continue };
            match heap.transfer_to(&self.source.ledger) {
                Ok(()) => {
                    heaps.make_way(heap.size());
                    return Some(heap);
                }
                Err(_) => drop(other.insert_empty(heap)),
            }
        }
        None
    }

    /// Predicts the source of the memory, without what is released for it, and what only an exhaustive search finds.
    #[inline]
    pub(crate) fn probe(
        &self,
        heaps: &TypedHeaps,
        request: &PlacementRequest,
        flags: ResourceAllocationFlags,
    ) -> Result<PredictedMemory, Refusal> {
        let has_spare = |least, most: ByteSize| {
            let permitted = most.min(self.source.ledger.left(heaps.desc.account()));
            let mut siblings = self.siblings(heaps).into_iter().filter(|_| may_be_held(request));
            siblings.any(|other| other.set.has_empty_fitting(least, permitted))
        };
        if may_be_held(request) && heaps.set.has_room(request)? {
            return Ok(PredictedMemory::Held);
        }
        let NewHeap { wanted, least, never, is_permitted } = self.new_heap(heaps, request, flags)?;
        if has_spare(least, wanted) {
            return Ok(PredictedMemory::Held);
        }
        let size = if is_permitted { wanted } else { least };
        let may_create = || {
            let new = heaps.new_memory(size, flags);
            heaps.check_heap_count(&new).map_err(|obstacle| new.refused(obstacle))?;
            self.source.check(&new).map_err(|row| new.refused(row))
        };
        match never.map_or_else(may_create, Err) {
            Err(_) if has_spare(least, ByteSize::MAX) => Ok(PredictedMemory::Held),
            permitted => permitted.map(|()| PredictedMemory::NewHeap(size)),
        }
    }

    /// Returns the heap that a request needs.
    fn new_heap(
        &self,
        heaps: &TypedHeaps,
        request: &PlacementRequest,
        flags: ResourceAllocationFlags,
    ) -> Result<NewHeap, Refusal> {
        let least = heaps.set.least_heap_size(request);
        let least = least.align_up(HEAP_GRANULARITY).unwrap_or(ByteSize::MAX);
        let planned = heaps.new_heap_size(request)?;
        let never = if planned < least {
            // The request exceeds the limit, or the one size of the pool's heaps.
            Some(Refusal::of(MemorySource::NewHeap(least), Obstacle::HeapSize { limit: planned }))
        } else if flags.contains(ResourceAllocationFlags::NEVER_ALLOCATE_HEAP) {
            Some(Refusal::of(MemorySource::HeldMemory, Obstacle::NoRoom))
        } else {
            None
        };
        if never.is_some() {
            return Ok(NewHeap { wanted: least, least, never, is_permitted: false });
        }
        let least = heaps.fixed_heap_size(request.sharing).map_or(least, |_| planned);
        let room = self.source.room(&heaps.new_memory(planned, flags));
        let takes_any_size = heaps.set.algorithm() == PlacementAlgorithm::Default;
        let fraction = if takes_any_size && heaps.desc.max_heap_count == 0 { FRACTION_OF_REST } else { 1 };
        let left = room.get() / fraction;
        let wanted = if left >= planned.get() {
            planned
        } else if takes_any_size {
            // A whole number of requests.
            let size = request.size.get();
            let requests = ByteSize::new((left & !(HEAP_GRANULARITY.get() - 1)) / size * size);
            requests.align_up(HEAP_GRANULARITY).unwrap_or(least).max(least)
        } else {
            least
        };
        Ok(NewHeap { wanted, least, never, is_permitted: wanted <= room })
    }
}

/// Returns whether a request may be placed in a heap that is held.
fn may_be_held(request: &PlacementRequest) -> bool {
    request.sharing != Sharing::Alone { reusable: false }
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
        &PlacementRequest { alignment, sharing, .. }: &PlacementRequest,
        Placed { id, range, heap }: Placed<NonNull<Heap>>,
    ) -> Self {
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
    /// Creates a resource with `desc`, which was derived from `resource`, at the start of the range.
    ///
    /// The caller makes sure that it lies in the range, which other resources may use, too.
    #[inline]
    pub(crate) fn create_resource(
        &self,
        resource: &ResourceDesc<'_>,
        desc: &D3D12_RESOURCE_DESC,
    ) -> Result<ID3D12Resource, Refusal> {
        let heaps = self.heaps();
        let (devices, heap_type) = (&heaps.source.devices, heaps.desc.heap.Properties.Type);
        let made = create_placed(devices, heap_type, self.heap(), self.range.start(), resource, desc);
        made.map_err(|refused| refused.into_refusal(MemorySource::Placing))
    }
}
