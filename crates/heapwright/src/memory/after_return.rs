//! The heaps after unused slabs and backing buffers returned their memory, as a probe predicts them.

use std::sync::Arc;

use heapwright_core::ByteSize;
use heapwright_core::placement::{
    HeapEngine, HeapSetTotals, PlacementError, PlacementRequest, SharedHeapSet,
};

use super::heap::Heap;
use super::heap_kinds::HeapKinds;
use super::placed_range::UnusedRange;
use super::typed_heaps::{Sharing, TypedHeaps};

/// The heaps of an allocator, and of those that are nested with it, after
/// [`return_unused_memory`](HeapKinds::return_unused_memory).
#[derive(Debug)]
pub(crate) struct AfterReturn(Vec<OfKind>);

#[derive(Debug)]
struct OfKind {
    heaps: Arc<TypedHeaps>,
    /// Whether they are charged to the allocator, not to one that is nested with it.
    is_own: bool,
    /// Copies of the engines, if their heaps would change.
    changed: Option<Changed>,
}

#[derive(Debug)]
struct Changed {
    shared: HeapEngine<Arc<Heap>>,
    dedicated: HeapEngine<Arc<Heap>>,
    /// The total size of the heaps that would leave the engines.
    left: ByteSize,
}

/// The memory that counts as released when the permission for new memory is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct GivenBack {
    /// Bytes in the segment group.
    pub(crate) in_group: ByteSize,
    /// Bytes that are charged to the heap type.
    pub(crate) of_type: ByteSize,
    /// Heaps of the kind, if it is a pool's.
    pub(crate) heap_count: u64,
}

impl HeapKinds {
    /// Predicts [`return_unused_memory`](Self::return_unused_memory). O(n) for n ranges of the heaps that would change.
    pub(crate) fn after_return(&self) -> AfterReturn {
        let unused = self.unused_buffers();
        self.family_with(|heaps| Changed::of(heaps, &unused))
    }

    /// Returns the memory that could be released for heaps of a kind as things stand.
    pub(crate) fn given_back(&self, heaps: &TypedHeaps) -> GivenBack {
        self.family_with(|_| None).given_back(heaps)
    }

    fn family_with(&self, changed: impl Fn(&Arc<TypedHeaps>) -> Option<Changed>) -> AfterReturn {
        let of_kind = |heaps: Arc<TypedHeaps>| OfKind {
            is_own: Arc::ptr_eq(&heaps.source, &self.source),
            changed: changed(&heaps),
            heaps,
        };
        AfterReturn(self.of_family().into_iter().map(of_kind).collect())
    }
}

impl Changed {
    fn of(heaps: &Arc<TypedHeaps>, unused: &[UnusedRange]) -> Option<Self> {
        let unused: Vec<_> = unused.iter().filter(|unused| Arc::ptr_eq(&unused.heaps, heaps)).collect();
        let has_unused_slabs = heaps.shared().as_default().is_some_and(SharedHeapSet::has_unused_slabs);
        if unused.is_empty() && !has_unused_slabs {
            return None;
        }
        let copy_of = |engine: &HeapEngine<_>| engine.with_copy(|copy| copy);
        let [shared, dedicated] = [heaps.shared(), heaps.dedicated()].map(copy_of);
        let mut left = ByteSize::ZERO;
        for UnusedRange { sharing, id, .. } in unused {
            let engine = if heaps.is_in_shared_engine(*sharing) { &shared } else { &dedicated };
            // Another thread may have freed it since.
            for heap in engine.free(*id).unwrap_or_default() {
                left = left.saturating_add(heap.size());
            }
        }
        shared.give_up_unused_slabs();
        Some(Self { shared, dedicated, left })
    }
}

impl OfKind {
    fn totals(&self) -> HeapSetTotals {
        match &self.changed {
            None => self.heaps.totals(),
            Some(changed) => self.heaps.totals_of_engines(&changed.shared, &changed.dedicated),
        }
    }

    /// Returns how many heaps of a pool could be released.
    fn releasable(&self) -> u64 {
        let heaps = &self.heaps;
        let (shared, dedicated) = match &self.changed {
            None => (heaps.shared(), heaps.dedicated()),
            Some(changed) => (&changed.shared, &changed.dedicated),
        };
        heaps.releasable_of_engines(shared, dedicated)
    }

    /// Returns the bytes of the heaps that would be empty or released.
    fn empty(&self) -> ByteSize {
        let left = self.changed.as_ref().map_or(ByteSize::ZERO, |changed| changed.left);
        self.totals().empty.saturating_add(left)
    }
}

impl AfterReturn {
    /// Returns whether a request would fit in the heaps, however much of an empty heap it wastes.
    pub(crate) fn has_any_room(
        &self,
        heaps: &TypedHeaps,
        sharing: Sharing,
        request: &PlacementRequest,
    ) -> Result<bool, PlacementError> {
        let of_kind = self.0.iter().find(|of_kind| std::ptr::eq(&*of_kind.heaps, heaps));
        let Some(changed) = of_kind.and_then(|of_kind| of_kind.changed.as_ref()) else {
            return heaps.has_any_room(sharing, request);
        };
        let engine = if heaps.is_in_shared_engine(sharing) { &changed.shared } else { &changed.dedicated };
        engine.has_room_anywhere(request)
    }

    /// Returns the memory that could be released for heaps of a kind.
    pub(crate) fn given_back(&self, heaps: &TypedHeaps) -> GivenBack {
        let desc = &heaps.desc;
        let mut given_back = GivenBack::default();
        for of_kind in &self.0 {
            let other = &of_kind.heaps.desc;
            if other.segment_group == desc.segment_group {
                given_back.in_group = given_back.in_group.saturating_add(of_kind.empty());
            }
            if of_kind.is_own && other.heap_type == desc.heap_type {
                given_back.of_type = given_back.of_type.saturating_add(of_kind.empty());
            }
            if std::ptr::eq(&*of_kind.heaps, heaps) {
                given_back.heap_count = of_kind.releasable();
            }
        }
        given_back
    }
}
