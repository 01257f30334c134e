//! The range of a heap that belongs to one allocation.

use std::ptr::NonNull;
use std::sync::Arc;

use heapwright_core::placement::{SharedPlaced, SharedPlacementId};
use heapwright_core::{Alignment, HeapOffset, HeapRange};
use heapwright_d3d12::*;

use super::striped::Stripe;
use super::typed_heaps::{Sharing, TypedHeaps};
use crate::desc::ResourceDesc;
use crate::error::MemorySource;
use crate::source::{AllocationId, Heap, Refusal, create_placed};

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
        let placed = Self { heaps, heap, id, range, sharing, alignment_log2, is_held: true };
        if placed.heap().take_prefetched() {
            placed.heaps.prefetch.count_eliminated();
        }
        placed
    }

    /// Drops this without freeing the range; other code frees it.
    pub(crate) fn forget(mut self) {
        self.is_held = false;
    }

    pub(crate) fn range(&self) -> HeapRange {
        self.range
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
