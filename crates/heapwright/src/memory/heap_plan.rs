//! Where memory comes from when the usual heaps for a request have no room for it. Decided here, carried out by
//! [`heap_request`](super::heap_request).
//!
//! In this order:
//!
//! 1. a spare heap: one that was made in advance, is pooled, or is held empty by a nested allocator or the parent;
//! 2. a new heap, if limits, pool and budget have room for it as things stand;
//! 3. a free range of any heap of the kind, whatever is wasted there: sizes that are kept apart share heaps, and no empty heap is too
//!    large;
//! 4. a new heap beyond the budget, if the allocation may be; or one for which empty heaps are given back first.
//!
//! So an allocation fails only if no free range of the heaps that it may be in holds it, and there may be no new heap.

use std::sync::Arc;

use heapwright_core::ByteSize;
use heapwright_core::placement::{PlacementRequest, Room};

use super::heap_kinds::HeapKinds;
use super::managed::begins_evicted;
use super::refusal::Refusal;
use super::typed_heaps::{Sharing, TypedHeaps};
use crate::desc::HEAP_GRANULARITY;
use crate::error::{MemorySource, Obstacle};
use crate::plan::Constraints;

/// A request for a range of a heap of one kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeapRequest<'a> {
    pub(crate) kinds: &'a HeapKinds,
    pub(crate) heaps: &'a Arc<TypedHeaps>,
    pub(crate) sharing: Sharing,
    pub(crate) placement: &'a PlacementRequest,
    pub(crate) constraints: Constraints,
}

/// Where the memory for a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeapPlan {
    /// An empty heap that is held already.
    Spare(HeapSizes),
    /// A free range of any heap of the kind.
    AnyRange,
    /// A new heap. Empty heaps may have to be given back first.
    New(HeapSizes),
}

/// How large a heap may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeapSizes {
    pub(crate) wanted: ByteSize,
    pub(crate) least: ByteSize,
}

/// Where memory would come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbedMemory {
    /// From what is held already: nothing is charged.
    Held,
    /// From a new heap of this size; of a committed resource, its own. Empty heaps may go back to the device for it.
    NewHeap(ByteSize),
}

impl ProbedMemory {
    /// Bytes that the device would be asked for.
    #[must_use]
    pub const fn new_bytes(self) -> ByteSize {
        match self {
            Self::Held => ByteSize::ZERO,
            Self::NewHeap(size) => size,
        }
    }
}

/// What counts as given back when it is asked whether there may be new memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GivenBack {
    Nothing,
    /// Every heap that nothing is in.
    EmptyHeaps,
}

impl HeapRequest<'_> {
    /// What [`place`](Self::place) would do.
    pub(crate) fn probe(&self) -> Result<ProbedMemory, Refusal> {
        // Memory that the manager does not know is held nowhere.
        if self.may_be_held() && self.heaps.room_for(self.sharing, self.placement)? == Room::Held {
            return Ok(ProbedMemory::Held);
        }
        Ok(match self.plan()? {
            HeapPlan::Spare(_) | HeapPlan::AnyRange => ProbedMemory::Held,
            HeapPlan::New(sizes) => ProbedMemory::NewHeap(sizes.wanted),
        })
    }

    /// Plans where the memory comes from that the heaps as they are have no room for.
    ///
    /// Nothing is created, placed or given back, except that slabs and backing buffers which nothing is in return their memory to
    /// the heaps before anything is refused. Whether the device has memory for a new heap only the device knows.
    pub(crate) fn plan(&self) -> Result<HeapPlan, Refusal> {
        let sizes = match self.sizes() {
            Ok(sizes) => sizes,
            // A heap of another size may be held.
            Err(_) if self.has_any_range()? => return Ok(HeapPlan::AnyRange),
            Err(refusal) => return Err(refusal),
        };
        if self.may_be_held() && self.heaps.has_spare(sizes.least, sizes.wanted) {
            return Ok(HeapPlan::Spare(sizes));
        }
        self.plan_without_spare(sizes)
    }

    pub(crate) fn may_be_held(&self) -> bool {
        self.sharing != Sharing::Unmanaged
    }

    fn has_any_range(&self) -> Result<bool, Refusal> {
        Ok(self.may_be_held() && self.heaps.has_any_room(self.sharing, self.placement)?)
    }

    /// The same when there is no spare heap.
    pub(crate) fn plan_without_spare(&self, sizes: HeapSizes) -> Result<HeapPlan, Refusal> {
        let Constraints { may_create_heap, .. } = self.constraints;
        let as_things_stand = if may_create_heap {
            self.may_create(sizes.wanted, GivenBack::Nothing)
        } else {
            Err(Refusal::of(MemorySource::HeldMemory, Obstacle::NoRoom))
        };
        if as_things_stand.is_ok() && self.bytes_over_budget(sizes.wanted).is_zero() {
            return Ok(HeapPlan::New(sizes));
        }
        if self.has_any_range()? {
            return Ok(HeapPlan::AnyRange);
        }
        let Err(mut refusal) = as_things_stand else { return Ok(HeapPlan::New(sizes)) };
        if !may_create_heap {
            return Err(refusal);
        }
        let HeapSizes { wanted, least } = sizes;
        let given_back = if self.kinds.source.never_over_allocates() {
            GivenBack::Nothing
        } else {
            self.kinds.return_unused_memory();
            GivenBack::EmptyHeaps
        };
        for size in [wanted, least] {
            match self.may_create(size, given_back) {
                Ok(()) => return Ok(HeapPlan::New(HeapSizes { wanted: size, least })),
                Err(other) => refusal.append(other),
            }
            if least == wanted {
                break;
            }
        }
        Err(refusal)
    }

    /// The sizes that a heap may have. Heaps larger than the request needs stay within budget and limit.
    fn sizes(&self) -> Result<HeapSizes, Refusal> {
        let least = self.placement.size.align_up(HEAP_GRANULARITY).unwrap_or(ByteSize::MAX);
        let limit = self.heaps.desc.max_heap_size;
        let too_large = |limit| Refusal::of(MemorySource::NewHeap(least), Obstacle::HeapSize { limit });
        if least > limit {
            return Err(too_large(limit));
        }
        let wanted = self.heaps.new_heap_size(self.sharing, self.placement)?.min(limit);
        if wanted < least {
            // The heaps of the pool have one size, and it is too small.
            return Err(too_large(wanted));
        }
        if !self.heaps.takes_any_heap() || wanted == least {
            return Ok(HeapSizes { wanted, least: wanted });
        }
        let left = self.bytes_left(wanted);
        let whole = ByteSize::new(left.get() & !(HEAP_GRANULARITY.get() - 1));
        Ok(HeapSizes { wanted: wanted.min(whole).max(least), least })
    }

    /// How much of `size` bytes budget and limit have left, with empty heaps given back.
    fn bytes_left(&self, size: ByteSize) -> ByteSize {
        let (group, heap_type) = (self.heaps.desc.segment_group, self.heaps.desc.heap_type);
        let mut left = size;
        let over = self.bytes_over_budget(size);
        if !over.is_zero() {
            left = left.saturating_sub(over.saturating_sub(self.kinds.empty_in(group)));
        }
        let over = self.kinds.source.accounts.bytes_over_limit(heap_type, size);
        if !over.is_zero() {
            left = left.min(size.saturating_sub(over.saturating_sub(self.kinds.empty_of(heap_type))));
        }
        left
    }

    fn bytes_over_budget(&self, size: ByteSize) -> ByteSize {
        let desc = &self.heaps.desc;
        self.kinds.source.bytes_over_budget(desc.segment_group, size, desc.heap.Flags, self.constraints)
    }

    /// Whether a heap of `size` bytes may be created, as far as it is not the device's to say.
    fn may_create(&self, size: ByteSize, given_back: GivenBack) -> Result<(), Refusal> {
        let refuse = |obstacle| Refusal::of(MemorySource::NewHeap(size), obstacle);
        self.kinds.may_take(self.heaps, size, self.constraints, given_back).map_err(refuse)?;
        let empty = match given_back {
            GivenBack::Nothing => 0,
            GivenBack::EmptyHeaps => self.heaps.totals().empty_heap_count,
        };
        self.heaps.check_heap_count(empty).map_err(refuse)
    }
}

impl HeapKinds {
    /// Whether budget and limit have room for `size` bytes more in heaps of a kind, or beside them.
    pub(crate) fn may_take(
        &self,
        heaps: &TypedHeaps,
        size: ByteSize,
        constraints: Constraints,
        given_back: GivenBack,
    ) -> Result<(), Obstacle> {
        let (group, heap_type) = (heaps.desc.segment_group, heaps.desc.heap_type);
        let gives_back = given_back == GivenBack::EmptyHeaps;
        let needs_room =
            self.source.manager_for(constraints).is_none() || !begins_evicted(heaps.desc.heap.Flags);
        if constraints.within_budget && needs_room {
            let empty = if gives_back { self.empty_in(group) } else { ByteSize::ZERO };
            self.source.check_budget(group, size, constraints, empty)?;
        }
        let empty = if gives_back { self.empty_of(heap_type) } else { ByteSize::ZERO };
        self.source.accounts.check(heap_type, size, empty)
    }
}
