//! The range of a heap that belongs to one allocation.

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use heapwright_core::placement::{PlacementError, PlacementRequest, SharedPlaced, SharedPlacementId};
use heapwright_core::{Alignment, HeapOffset, HeapRange};
use heapwright_d3d12::*;

use super::heap_kinds::HeapKinds;
use super::labels::AllocationId;
use super::striped::{Stripe, Striped};
use super::take::{HeapRequest, PredictedMemory};
use super::typed_heaps::{Sharing, TypedHeaps};
use crate::Error;
use crate::desc::ResourceDesc;
use crate::error::{MemorySource, Obstacle};
use crate::request::{ResourceRequest, ResourceRequirements, foreign_heap_flags};
use crate::source::{Heap, Refusal, create_placed, place_resident};

/// The reference that keeps the heaps of a range alive.
#[derive(Debug)]
enum HeapsReference {
    Counted(Arc<TypedHeaps>),
    /// A reference that is counted without state that other threads use.
    Striped(Arc<Stripe<TypedHeaps>>),
}

impl Deref for HeapsReference {
    type Target = Arc<TypedHeaps>;

    #[inline]
    fn deref(&self) -> &Arc<TypedHeaps> {
        match self {
            Self::Counted(heaps) => heaps,
            Self::Striped(stripe) => stripe,
        }
    }
}

/// A range of a heap that belongs to one allocation until dropped.
///
/// # Invariants
///
/// `heap` points to a heap of which an engine of `heaps` holds an `Arc`. The engine holds it until the heap is empty,
/// and the range is in the heap until it is freed.
#[derive(Debug)]
pub(crate) struct PlacedRange {
    heaps: HeapsReference,
    heap: NonNull<Heap>,
    id: SharedPlacementId,
    range: HeapRange,
    sharing: Sharing,
    alignment: Alignment,
    /// Whether dropping it frees the range.
    is_held: bool,
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
    pub(crate) fn new(
        heaps: Arc<TypedHeaps>,
        sharing: Sharing,
        placed: SharedPlaced<Arc<Heap>>,
        alignment: Alignment,
    ) -> Self {
        let SharedPlaced { id, range, heap } = placed;
        if heap.take_prefetched() {
            heaps.prefetch.count_eliminated();
        }
        let heap = NonNull::from(&*heap);
        Self { heaps: HeapsReference::Counted(heaps), heap, id, range, sharing, alignment, is_held: true }
    }

    /// Allocates a range in the existing heaps.
    #[inline]
    pub(crate) fn find(
        heaps: &Arc<TypedHeaps>,
        sharing: Sharing,
        request: &PlacementRequest,
    ) -> Result<Option<Self>, PlacementError> {
        let placed = heaps.engine(sharing).allocate(request);
        Self::of(heaps, sharing, placed, request)
    }

    /// Allocates a range in the existing heaps, however much of an empty heap it wastes.
    pub(crate) fn find_anywhere(
        heaps: &Arc<TypedHeaps>,
        sharing: Sharing,
        request: &PlacementRequest,
    ) -> Result<Option<Self>, PlacementError> {
        let placed = heaps.engine(sharing).allocate_anywhere(request);
        Self::of(heaps, sharing, placed, request)
    }

    /// Allocates a range in a heap that is added to the others.
    pub(crate) fn in_new(
        heaps: &Arc<TypedHeaps>,
        sharing: Sharing,
        heap: Arc<Heap>,
        request: &PlacementRequest,
    ) -> Result<Self, PlacementError> {
        let placed = heaps.engine(sharing).allocate_in_new(heap.size(), heap, request);
        Ok(Self::new(Arc::clone(heaps), sharing, placed?, request.alignment))
    }

    #[inline]
    fn of(
        heaps: &Arc<TypedHeaps>,
        sharing: Sharing,
        placed: Result<Option<SharedPlaced<Arc<Heap>>>, PlacementError>,
        request: &PlacementRequest,
    ) -> Result<Option<Self>, PlacementError> {
        Ok(placed?.map(|placed| Self::new(Arc::clone(heaps), sharing, placed, request.alignment)))
    }

    /// Drops this without freeing the range; other code frees it.
    pub(crate) fn forget(mut self) {
        self.is_held = false;
    }

    pub(crate) fn range(&self) -> HeapRange {
        self.range
    }

    pub(crate) fn alignment(&self) -> Alignment {
        self.alignment
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

    /// Returns the number of allocations in the heap, including this one.
    pub(crate) fn allocations_in_heap(&self) -> u64 {
        match self.heaps().engine(self.sharing).as_default() {
            Some(set) => set.count_in_heap_of(self.id).unwrap_or(u64::MAX),
            None if self.has_own_heap() => 1,
            // Other algorithms do not count them.
            None => u64::MAX,
        }
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
        match self.heaps.engine(self.sharing).free(self.id) {
            Ok(left) if left.is_empty() => {}
            Ok(left) => self.heaps.recycle(left),
            Err(error) => debug_assert!(false, "placed range freed twice: {error}"),
        }
        self.heaps.source.look_after_empty();
    }
}

impl Striped<TypedHeaps> {
    /// Allocates a range that is found at once, usually in a heap that is not empty. Takes no reference to the heap.
    #[inline(always)]
    pub(crate) fn find_room_at_hand(&self, request: &PlacementRequest) -> Option<PlacedRange> {
        let of_heap = |heap: &Arc<Heap>| {
            if heap.take_prefetched() {
                self.prefetch.count_eliminated();
            }
            NonNull::from(&**heap)
        };
        let placed = self.shared().allocate_at_hand(request, of_heap)?;
        let SharedPlaced { id, range, heap } = placed;
        Some(PlacedRange {
            heaps: HeapsReference::Striped(self.reference()),
            heap,
            id,
            range,
            sharing: Sharing::Shared,
            alignment: request.alignment,
            is_held: true,
        })
    }
}

impl HeapKinds {
    /// Places a resource in a shared heap or in one of its own.
    pub(crate) fn place(
        &self,
        heaps: &Arc<TypedHeaps>,
        request: &ResourceRequest<'_>,
        placed: &ResourceRequirements,
        own_heap: bool,
    ) -> Result<(ID3D12Resource, PlacedRange), Refusal> {
        let (sharing, placement) = self.placement(heaps, request, placed, own_heap)?;
        let constraints = request.constraints;
        let range =
            HeapRequest { kinds: self, heaps, sharing, placement: &placement, constraints }.place()?;
        self.prefetch_after(heaps, sharing, &placement, request.flags);
        let resource = range.create_resource(request.resource, placed)?;
        Ok((resource, range))
    }

    /// Places a plain resource in a shared heap, usually in a range that is found at once.
    #[inline(always)]
    pub(crate) fn place_at_hand(
        &self,
        heaps: &Striped<TypedHeaps>,
        request: &ResourceRequest<'_>,
        placed: &ResourceRequirements,
    ) -> Result<(ID3D12Resource, PlacedRange), Refusal> {
        let sharing = Sharing::Shared;
        let placement = request.placement(placed, heaps.desc.min_alignment, false)?;
        let range = match heaps.find_room_at_hand(&placement) {
            Some(range) => range,
            None => {
                let constraints = request.constraints;
                HeapRequest { kinds: self, heaps, sharing, placement: &placement, constraints }.place()?
            }
        };
        self.prefetch_after(heaps, sharing, &placement, request.flags);
        let resource = range.create_resource(request.resource, placed)?;
        Ok((resource, range))
    }

    /// Returns the request of [`place`](Self::place) to the heaps, and the predicted source of the memory.
    pub(crate) fn probe(
        &self,
        heaps: &Arc<TypedHeaps>,
        request: &ResourceRequest<'_>,
        placed: &ResourceRequirements,
        own_heap: bool,
    ) -> Result<(PlacementRequest, PredictedMemory), Refusal> {
        let (sharing, placement) = self.placement(heaps, request, placed, own_heap)?;
        let constraints = request.constraints;
        let memory =
            HeapRequest { kinds: self, heaps, sharing, placement: &placement, constraints }.probe()?;
        Ok((placement, memory))
    }

    fn placement(
        &self,
        heaps: &TypedHeaps,
        request: &ResourceRequest<'_>,
        placed: &ResourceRequirements,
        own_heap: bool,
    ) -> Result<(Sharing, PlacementRequest), Refusal> {
        let foreign = foreign_heap_flags(request.heap_flags, heaps.desc.heap.Flags);
        if foreign != 0 {
            // Occurs only with a pool; otherwise the resource would be committed.
            let rule = format!("flags {foreign:#x} are not set on the pool's heaps");
            let field = "ResourceAllocationDesc::extra_required_heap_flags";
            return Err(Error::invalid_argument(field, rule).into());
        }
        let sharing = match own_heap {
            _ if request.constraints.never_resident && self.source.residency.is_some() => Sharing::Unmanaged,
            true => Sharing::Own,
            false => Sharing::Shared,
        };
        Ok((sharing, request.placement(placed, heaps.desc.min_alignment, sharing != Sharing::Shared)?))
    }
}

impl PlacedRange {
    /// Creates a resource at the start of the range.
    #[inline]
    pub(crate) fn create_resource(
        &self,
        resource: &ResourceDesc<'_>,
        placed: &ResourceRequirements,
    ) -> Result<ID3D12Resource, Refusal> {
        self.create_resource_at(HeapOffset::ZERO, resource, placed)
    }

    /// Creates a resource in the range, at an offset from its start.
    ///
    /// The caller makes sure that it lies in the range, which other resources may use, too.
    #[inline]
    pub(crate) fn create_resource_at(
        &self,
        offset: HeapOffset,
        resource: &ResourceDesc<'_>,
        placed: &ResourceRequirements,
    ) -> Result<ID3D12Resource, Refusal> {
        let (heap, heaps) = (self.heap(), self.heaps());
        let (devices, heap_type) = (&heaps.source.devices, heaps.desc.heap.Properties.Type);
        let offset = HeapOffset::new(self.range().start().get() + offset.get());
        let desc = &placed.desc;
        let place = || create_placed(devices, heap_type, heap.d3d12(), offset, resource, desc);
        place_resident(heap, place).map_err(|refused| {
            if refused.hresult == E_OUTOFMEMORY {
                return Refusal::of(MemorySource::Placing, Obstacle::Device(refused.hresult));
            }
            refused.into_error().into()
        })
    }
}
