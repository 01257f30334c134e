//! Ranges of heaps: where the memory of a request comes from, and the range that a request takes.
//!
//! | step | source |
//! |---|---|
//! | found | a free range of the existing heaps, as the placement algorithm chooses it |
//! | spare | an empty heap of a suitable size that is kept, or held by a nested allocator or the parent |
//! | permitted | a new heap that limit, budget and pool permit without releasing anything |
//! | any | a free range that only an exhaustive search finds, including free slots of slabs |
//! | reclaimed | the same, after unused slabs and backing buffers of these heaps, or of those of a nested allocator or the parent, returned their memory, if that may suffice |
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
    PlacementAlgorithm, PlacementError, PlacementRequest, SharedHeapSet, SharedPlaced, SharedPlacementId,
    VacatedHeap,
};
use heapwright_core::{Alignment, ByteSize, HeapOffset, HeapRange};
use heapwright_d3d12::*;

use super::heap_kinds::HeapKinds;
use super::room::has_room;
use super::striped::{Stripe, Striped};
use super::typed_heaps::{Passed, Sharing, TypedHeaps};
use crate::desc::{HEAP_GRANULARITY, ResourceDesc};
use crate::error::{MemorySource, Obstacle, Refusal};
use crate::source::{AllocationId, Constraints, Heap, LimitKind, Limits, UnusedBuffer, create_placed};

/// The fraction of what limit and budget leave that a new heap takes, unless the request itself needs more. A heap that
/// takes everything leaves nothing to resources of other kinds.
const FRACTION_OF_REST: u64 = 8;

/// A request for a range of a heap of one kind.
#[derive(Clone, Copy)]
pub(crate) struct HeapRequest<'a> {
    pub(crate) kinds: &'a HeapKinds,
    pub(crate) heaps: &'a Striped<TypedHeaps>,
    pub(crate) sharing: Sharing,
    pub(crate) placement: PlacementRequest,
    pub(crate) constraints: Constraints,
}

/// The predicted source of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PredictedMemory {
    /// Memory that is already held. Nothing is charged.
    Held,
    /// A new heap of this size; for a committed resource, its own. Empty heaps may be released for it.
    NewHeap(ByteSize),
}

/// The possible sizes of a new heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HeapSizes {
    wanted: ByteSize,
    least: ByteSize,
}

/// The state of a request that the existing heaps do not serve.
struct Shortage<'a> {
    sizes: HeapSizes,
    /// Whether a new heap is possible, apart from what is held.
    may_create: bool,
    /// Whether the device refused a heap of the wanted size.
    is_refused: bool,
    /// Whether the memory of unused slabs and backing buffers was returned.
    is_reclaimed: bool,
    limits: Limits<'a>,
    refusal: Refusal,
}

impl<'a> HeapRequest<'a> {
    /// Creates a request. A heap of its own is not managed if the constraints say so.
    #[inline]
    pub(crate) fn new(
        kinds: &'a HeapKinds,
        heaps: &'a Striped<TypedHeaps>,
        placement: PlacementRequest,
        constraints: Constraints,
    ) -> Self {
        let sharing = match placement.own_heap {
            false => Sharing::Shared,
            true if constraints.never_resident && kinds.source.residency.is_some() => Sharing::Unmanaged,
            true => Sharing::Own,
        };
        Self { kinds, heaps, sharing, placement, constraints }
    }
}

impl<'a> HeapRequest<'a> {
    /// Finds a free range, or creates a heap.
    #[inline]
    pub(crate) fn take(&self) -> Result<PlacedRange, Refusal> {
        if let (Sharing::Shared, Some(set)) = (self.sharing, self.heaps.shared.as_default()) {
            // Found at once, usually in a heap that is not empty. Takes no reference to the heap.
            let address = |heap: &Arc<Heap>| NonNull::from(&**heap);
            if let Some(found) = set.allocate_at_hand(&self.placement, address) {
                return Ok(self.placed(found));
            }
        }
        self.take_in_steps()
    }

    #[cold]
    fn take_in_steps(&self) -> Result<PlacedRange, Refusal> {
        type Step<'a> = fn(&HeapRequest<'a>, &mut Shortage<'a>) -> Result<Option<PlacedRange>, Refusal>;
        let steps: [Step<'a>; 7] = [
            |request, shortage| request.spare(shortage.sizes.least, shortage.sizes.wanted),
            Self::permitted,
            Self::any,
            Self::reclaimed,
            Self::released,
            Self::reopened,
            Self::largest,
        ];
        if self.may_be_held() {
            if let Some(range) = self.find()? {
                return Ok(range);
            }
        }
        self.heaps.prefetch.count_miss();
        let mut shortage = self.shortage()?;
        let mut steps = steps.into_iter();
        let found = steps.find_map(|step| step(self, &mut shortage).transpose());
        if shortage.is_reclaimed {
            // Heaps that became empty for this request may not be worth keeping.
            self.heaps.pass(Passed::Operations);
        }
        found.unwrap_or(Err(shortage.refusal))
    }

    /// Predicts the source of the memory, without the memory of unused slabs and backing buffers, and what
    /// only an exhaustive search finds.
    #[inline]
    pub(crate) fn probe(&self) -> Result<PredictedMemory, Refusal> {
        if self.may_be_held() && self.heaps.engine(self.sharing).has_room(&self.placement)? {
            return Ok(PredictedMemory::Held);
        }
        let Shortage { sizes, may_create, limits, mut refusal, .. } = self.shortage()?;
        let HeapSizes { wanted, least } = sizes;
        if self.may_be_held() && self.heaps.has_spare(self.sharing, least, wanted, &limits) {
            return Ok(PredictedMemory::Held);
        }
        for size in sizes.distinct().filter(|_| may_create) {
            match self.kinds.check_room(self.heaps, size, &limits) {
                Ok(_) => return Ok(PredictedMemory::NewHeap(size)),
                Err(obstacle) => refusal.append(Refusal::of(MemorySource::NewHeap(size), obstacle)),
            }
        }
        let is_held = self.may_be_held() && self.heaps.has_spare(self.sharing, least, ByteSize::MAX, &limits);
        if is_held { Ok(PredictedMemory::Held) } else { Err(refusal) }
    }

    fn permitted(&self, shortage: &mut Shortage<'a>) -> Result<Option<PlacedRange>, Refusal> {
        let size = shortage.sizes.wanted;
        if !shortage.may_create || !has_room(self.heaps, size, &shortage.limits) {
            return Ok(None);
        }
        self.heaps.make_way(size);
        let made = self.kinds.create_permitted_heap(self.heaps, size, self.constraints);
        shortage.is_refused = made.as_ref().is_err_and(|refusal| refusal.bytes_refused_by_device().is_some());
        self.in_created(made, shortage)
    }

    fn any(&self, _: &mut Shortage<'a>) -> Result<Option<PlacedRange>, Refusal> {
        // For a heap of its own, any free range is a whole empty heap, which is the last resort.
        if self.sharing != Sharing::Shared {
            return Ok(None);
        }
        Ok(self.find_anywhere()?)
    }

    fn reclaimed(&self, shortage: &mut Shortage<'a>) -> Result<Option<PlacedRange>, Refusal> {
        let serves = |heap: &VacatedHeap<ByteSize>| match self.sharing {
            Sharing::Shared => heap.free >= self.placement.size,
            Sharing::Own => heap.is_empty && heap.heap >= shortage.sizes.least,
            Sharing::Unmanaged => false,
        };
        if self.kinds.reclaim(self.heaps, serves) {
            shortage.is_reclaimed = true;
            shortage.limits = self.heaps.limits(self.constraints);
            if let Some(range) = self.found_again(shortage)? {
                return Ok(Some(range));
            }
        }
        self.reclaimed_from_siblings(shortage.sizes.least, shortage.limits.left())
    }

    /// Takes a heap of `least` to `most` bytes of an allocator that is nested with this one, in which only unused slabs
    /// and backing buffers are. `most` is what the limits permit: what this one cannot take stays as it is.
    fn reclaimed_from_siblings(
        &self,
        least: ByteSize,
        most: ByteSize,
    ) -> Result<Option<PlacedRange>, Refusal> {
        if !self.may_be_held() {
            return Ok(None);
        }
        let serves = |heap: &VacatedHeap<ByteSize>| heap.is_empty && (least..=most).contains(&heap.heap);
        for sibling in self.heaps.siblings() {
            if self.kinds.reclaim(&sibling, serves) {
                let taken = self.spare(least, most);
                sibling.pass(Passed::Operations);
                if let Some(range) = taken? {
                    return Ok(Some(range));
                }
            }
        }
        Ok(None)
    }

    fn released(&self, shortage: &mut Shortage<'a>) -> Result<Option<PlacedRange>, Refusal> {
        let (sizes, may_create) = (shortage.sizes, shortage.may_create);
        for size in sizes.distinct().filter(|_| may_create) {
            // What the device refused is only requested again after more is released.
            if size == sizes.wanted && shortage.is_refused {
                continue;
            }
            let made = self.kinds.create_heap(self.heaps, size, self.constraints, &shortage.limits);
            if let Some(range) = self.in_created(made, shortage)? {
                return Ok(Some(range));
            }
        }
        Ok(None)
    }

    fn reopened(&self, shortage: &mut Shortage<'a>) -> Result<Option<PlacedRange>, Refusal> {
        let set = self.heaps.shared.as_default();
        if !self.may_be_held() || !set.is_some_and(SharedHeapSet::reopen_closed) {
            return Ok(None);
        }
        match self.found_again(shortage)? {
            Some(range) => Ok(Some(range)),
            None => self.released(shortage),
        }
    }

    fn largest(&self, shortage: &mut Shortage<'a>) -> Result<Option<PlacedRange>, Refusal> {
        if self.may_be_held() {
            if let Some(range) = self.find_anywhere()? {
                return Ok(Some(range));
            }
        }
        self.spare(shortage.sizes.least, ByteSize::MAX)
    }

    fn found_again(&self, shortage: &mut Shortage<'a>) -> Result<Option<PlacedRange>, Refusal> {
        if !self.may_be_held() {
            return Ok(None);
        }
        match self.find()? {
            None => self.any(shortage),
            found => Ok(found),
        }
    }

    fn spare(&self, least: ByteSize, most: ByteSize) -> Result<Option<PlacedRange>, Refusal> {
        let spare = if self.may_be_held() { self.heaps.take_spare(self.sharing, least, most) } else { None };
        spare.map(|heap| self.in_new(heap)).transpose()
    }

    /// Allocates a range in a heap that was created, unless limit, manager or device refused it.
    fn in_created(
        &self,
        made: Result<Arc<Heap>, Refusal>,
        shortage: &mut Shortage<'a>,
    ) -> Result<Option<PlacedRange>, Refusal> {
        match made {
            Ok(heap) => self.in_new(heap).map(Some),
            Err(refusal) if refusal.fatal.is_some() => Err(refusal),
            Err(refusal) => {
                shortage.refusal.append(refusal);
                // Empty heaps may have been released for it.
                shortage.limits = self.heaps.limits(self.constraints);
                Ok(None)
            }
        }
    }

    fn may_be_held(&self) -> bool {
        self.sharing != Sharing::Unmanaged
    }

    /// Returns the possible sizes of a new heap.
    fn shortage(&self) -> Result<Shortage<'a>, Refusal> {
        let least = self.heaps.engine(self.sharing).least_heap_size(&self.placement);
        let least = least.align_up(HEAP_GRANULARITY).unwrap_or(ByteSize::MAX);
        let largest = self.heaps.source.max_heap_size;
        let planned = self.heaps.new_heap_size(self.sharing, &self.placement)?.min(largest);
        let sizes = HeapSizes { wanted: least, least };
        let limits = self.heaps.limits(self.constraints);
        let new = |sizes, may_create, limits, refusal| Shortage {
            sizes,
            may_create,
            is_refused: false,
            is_reclaimed: false,
            limits,
            refusal,
        };
        if planned < least {
            // The request exceeds the limit, or the one size of the pool's heaps.
            let limit = if least > largest { largest } else { planned };
            let refusal = Refusal::of(MemorySource::NewHeap(least), Obstacle::HeapSize { limit });
            return Ok(new(sizes, false, limits, refusal));
        }
        if !self.constraints.may_create_heap {
            return Ok(new(sizes, false, limits, Refusal::of(MemorySource::HeldMemory, Obstacle::NoRoom)));
        }
        let sizes = self.sizes(planned, least, &limits);
        Ok(new(sizes, true, limits, Refusal::default()))
    }

    /// Returns the possible sizes of a new heap of `planned` bytes, of which the request needs `least`.
    fn sizes(&self, planned: ByteSize, least: ByteSize, limits: &Limits<'_>) -> HeapSizes {
        if self.heaps.fixed_heap_size(self.sharing).is_some() {
            return HeapSizes { wanted: planned, least: planned };
        }
        if planned == least {
            return HeapSizes { wanted: least, least };
        }
        let takes_any_size = self.heaps.shared.algorithm() == PlacementAlgorithm::Default;
        let fraction =
            if takes_any_size && self.heaps.desc.max_heap_count == 0 { FRACTION_OF_REST } else { 1 };
        let left =
            self.bytes_left(planned.checked_mul(fraction).unwrap_or(ByteSize::MAX), limits).get() / fraction;
        let wanted = if left >= planned.get() {
            planned
        } else if takes_any_size {
            // A whole number of requests.
            let request = self.placement.size.get();
            let requests = ByteSize::new((left & !(HEAP_GRANULARITY.get() - 1)) / request * request);
            requests.align_up(HEAP_GRANULARITY).unwrap_or(least).max(least)
        } else {
            least
        };
        HeapSizes { wanted, least }
    }

    /// Returns how much of `size` bytes budget and limits permit, after empty heaps are released.
    fn bytes_left(&self, size: ByteSize, limits: &Limits<'_>) -> ByteSize {
        let over = LimitKind::ALL.map(|kind| limits.bytes_over(kind, size));
        if over == <[ByteSize; 3]>::default() {
            return size;
        }
        let given_back = self.kinds.given_back(self.heaps, false).bytes;
        let over = over.iter().zip(given_back).map(|(over, given_back)| over.saturating_sub(given_back));
        size.saturating_sub(over.max().unwrap_or_default())
    }
}

impl HeapSizes {
    fn distinct(self) -> impl Iterator<Item = ByteSize> + use<> {
        std::iter::once(self.wanted).chain((self.least < self.wanted).then_some(self.least))
    }
}

/// Returns the address of the heap in which something is placed.
fn addressed(placed: SharedPlaced<Arc<Heap>>) -> SharedPlaced<NonNull<Heap>> {
    SharedPlaced { id: placed.id, range: placed.range, heap: NonNull::from(&*placed.heap) }
}

impl HeapRequest<'_> {
    /// Allocates a range in the existing heaps.
    fn find(&self) -> Result<Option<PlacedRange>, PlacementError> {
        let found = self.heaps.engine(self.sharing).allocate(&self.placement)?;
        Ok(found.map(|placed| self.placed(addressed(placed))))
    }

    /// Allocates a range in the existing heaps, however much of an empty heap it wastes.
    fn find_anywhere(&self) -> Result<Option<PlacedRange>, PlacementError> {
        let found = self.heaps.engine(self.sharing).allocate_anywhere(&self.placement)?;
        Ok(found.map(|placed| self.placed(addressed(placed))))
    }

    /// Allocates a range in a heap that is added to the others.
    fn in_new(&self, heap: Arc<Heap>) -> Result<PlacedRange, Refusal> {
        let placed = self.heaps.engine(self.sharing).allocate_in_new(heap.size(), heap, &self.placement);
        Ok(self.placed(addressed(placed?)))
    }

    #[inline]
    fn placed(&self, placed: SharedPlaced<NonNull<Heap>>) -> PlacedRange {
        PlacedRange::new(self.heaps.reference(), self.sharing, placed, self.placement.alignment)
    }
}

/// A range of a heap that belongs to one allocation until dropped.
///
/// # Invariants
///
/// `heap` points to a heap of which an engine of `heaps` holds an `Arc`. The engine holds it until the heap is empty,
/// and the range is in the heap until it is freed.
pub(crate) struct PlacedRange {
    heaps: Arc<Stripe<TypedHeaps>>,
    heap: NonNull<Heap>,
    id: SharedPlacementId,
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
        placed: SharedPlaced<NonNull<Heap>>,
        alignment: Alignment,
    ) -> Self {
        let SharedPlaced { id, range, heap } = placed;
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

    /// Keeps the heap in the engine when dropping this leaves it empty.
    pub(crate) fn keep_heap(&mut self) {
        self.keeps_heap = true;
    }

    pub(crate) fn range(&self) -> HeapRange {
        self.range
    }

    /// Returns the range as one of an unused backing buffer.
    pub(crate) fn as_unused(&self) -> UnusedBuffer {
        let is_in_dedicated = !self.heaps().is_in_shared_engine(self.sharing);
        UnusedBuffer { heaps: self.heaps().desc.number, is_in_dedicated, id: self.id }
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
        let is_in_dedicated = !self.heaps().is_in_shared_engine(self.sharing);
        AllocationId::placed(self.heaps().desc.number, is_in_dedicated, self.id)
    }
}

impl Drop for PlacedRange {
    // Of 6 KB, and part of the drop of many types.
    #[inline(never)]
    fn drop(&mut self) {
        if !self.is_held {
            return;
        }
        let engine = self.heaps.engine(self.sharing);
        let freed = match engine.as_default().filter(|_| self.keeps_heap) {
            None => engine.free(self.id),
            Some(set) => set.free_and_keep(self.id).map(|()| Vec::new()),
        };
        match freed {
            Ok(left) if left.is_empty() => {}
            Ok(left) => self.heaps.recycle_own(left, self.sharing),
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
