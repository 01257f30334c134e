//! Decides where memory comes from if the usual heaps for a request have no free range.
//! [`heap_request`](super::heap_request) carries out the decision.
//!
//! The sources, in order:
//!
//! 1. a spare heap: one that was prefetched, is pooled, or is held empty by a nested allocator or the parent;
//! 2. a new heap, if limits, pool and budget currently permit it;
//! 3. a free range of any heap of the kind, including the free slots of slabs;
//! 4. a new heap beyond the budget, if the allocation may exceed it; or one for which empty heaps are released first.
//!
//! So an allocation fails only if no free range of its possible heaps is large enough, and no new heap is permitted.

use std::sync::Arc;

use heapwright_core::ByteSize;
use heapwright_core::placement::{PlacementRequest, ServingHeap};

use super::after_return::GivenBack;
use super::heap_kinds::HeapKinds;
use super::held_memory::{AskedMemory, HeldMemory};
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

/// The source of the memory for a request.
#[derive(Debug)]
pub(crate) enum HeapPlan<R> {
    /// An empty heap that is held already.
    Spare(HeapSizes),
    /// A free range of any heap of the kind: see [`HeldMemory::Range`].
    Range(R),
    /// A new heap. Empty heaps may have to be released first.
    New(HeapSizes),
}

/// The possible sizes of a heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeapSizes {
    pub(crate) wanted: ByteSize,
    pub(crate) least: ByteSize,
}

/// The predicted source of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbedMemory {
    /// Memory that is already held. Nothing is charged.
    Held,
    /// A new heap of this size; for a committed resource, its own. Empty heaps may be released for it.
    NewHeap(ByteSize),
}

impl HeapRequest<'_> {
    /// Predicts the result of [`place`](Self::place).
    pub(crate) fn probe(&self) -> Result<ProbedMemory, Refusal> {
        // Memory that the residency manager must not manage is never taken from held heaps.
        if self.may_be_held() && self.heaps.probe(self.sharing, self.placement)? == ServingHeap::Existing {
            return Ok(ProbedMemory::Held);
        }
        Ok(match self.plan(&mut AskedMemory::default())? {
            HeapPlan::Spare(_) | HeapPlan::Range(()) => ProbedMemory::Held,
            HeapPlan::New(sizes) => ProbedMemory::NewHeap(sizes.wanted),
        })
    }

    /// Plans the source of memory for a request for which the existing heaps have no free range.
    ///
    /// No heap is created, and what is held changes only as [`HeldMemory`] says. Only the device knows whether it has
    /// memory for a new heap.
    pub(crate) fn plan<M: HeldMemory>(&self, held: &mut M) -> Result<HeapPlan<M::Range>, Refusal> {
        let sizes = match self.sizes() {
            Ok(sizes) => sizes,
            // A heap of another size may be held.
            Err(refusal) => return self.any_range(held)?.map(HeapPlan::Range).ok_or(refusal),
        };
        if self.may_be_held() && self.heaps.has_spare(sizes.least, sizes.wanted) {
            return Ok(HeapPlan::Spare(sizes));
        }
        self.plan_without_spare(sizes, held)
    }

    pub(crate) fn may_be_held(&self) -> bool {
        self.sharing != Sharing::Unmanaged
    }

    /// Returns a free range of any heap of the kind.
    pub(crate) fn any_range<M: HeldMemory>(&self, held: &mut M) -> Result<Option<M::Range>, Refusal> {
        let _settled = self.heaps.settled();
        self.any_settled_range(held)
    }

    /// Returns a free range of any heap of the kind, if the heaps are [settled](TypedHeaps::settled).
    fn any_settled_range<M: HeldMemory>(&self, held: &mut M) -> Result<Option<M::Range>, Refusal> {
        if !self.may_be_held() {
            return Ok(None);
        }
        Ok(held.any_range(self.heaps, self.sharing, self.placement)?)
    }

    /// Plans the source of memory without a spare heap.
    pub(crate) fn plan_without_spare<M: HeldMemory>(
        &self,
        sizes: HeapSizes,
        held: &mut M,
    ) -> Result<HeapPlan<M::Range>, Refusal> {
        let Constraints { may_create_heap, .. } = self.constraints;
        let as_things_stand = if may_create_heap {
            self.may_create(sizes.wanted, GivenBack::default(), self.heaps.check_heap_count(0))
        } else {
            Err(Refusal::of(MemorySource::HeldMemory, Obstacle::NoRoom))
        };
        if as_things_stand.is_ok() && self.bytes_over_budget(sizes.wanted).is_zero() {
            return Ok(HeapPlan::New(sizes));
        }
        if let Some(range) = self.any_range(held)? {
            return Ok(HeapPlan::Range(range));
        }
        let Err(mut refusal) = as_things_stand else { return Ok(HeapPlan::New(sizes)) };
        if !may_create_heap {
            return Err(refusal);
        }
        let HeapSizes { wanted, least } = sizes;
        let may_release = !self.kinds.source.never_over_allocates();
        if may_release {
            held.return_unused(self.kinds);
        }
        let settled = self.heaps.settled();
        if let Some(range) = self.any_settled_range(held)? {
            return Ok(HeapPlan::Range(range));
        }
        let given_back =
            if may_release { held.given_back(self.kinds, self.heaps) } else { GivenBack::default() };
        // At the same instant as the search for a range, so that no heap is overlooked.
        let count = self.heaps.check_heap_count(given_back.heap_count);
        drop(settled);
        for size in [wanted, least] {
            match self.may_create(size, given_back, count) {
                Ok(()) => return Ok(HeapPlan::New(HeapSizes { wanted: size, least })),
                Err(other) => refusal.append(other),
            }
            if least == wanted {
                break;
            }
        }
        Err(refusal)
    }

    /// Returns the possible sizes of a heap. A heap larger than the request must be within budget and limit.
    fn sizes(&self) -> Result<HeapSizes, Refusal> {
        let least = self.placement.size.align_up(HEAP_GRANULARITY).unwrap_or(ByteSize::MAX);
        let limit = self.heaps.desc.max_heap_size;
        let too_large = |limit| Refusal::of(MemorySource::NewHeap(least), Obstacle::HeapSize { limit });
        if least > limit {
            return Err(too_large(limit));
        }
        let wanted = self.heaps.new_heap_size(self.sharing, self.placement)?.min(limit);
        if wanted < least {
            // The heaps of the pool have one size, which is too small.
            return Err(too_large(wanted));
        }
        if !self.heaps.takes_any_heap() || wanted == least {
            return Ok(HeapSizes { wanted, least: wanted });
        }
        let left = self.bytes_left(wanted);
        let whole = ByteSize::new(left.get() & !(HEAP_GRANULARITY.get() - 1));
        Ok(HeapSizes { wanted: wanted.min(whole).max(least), least })
    }

    /// Returns how much of `size` bytes budget and limit permit, after empty heaps are released.
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

    /// Checks whether a heap of `size` bytes may be created, apart from the device's decision. `count` is whether a pool may have one
    /// more.
    fn may_create(
        &self,
        size: ByteSize,
        given_back: GivenBack,
        count: Result<(), Obstacle>,
    ) -> Result<(), Refusal> {
        let may_take = self.kinds.may_take(self.heaps, size, self.constraints, given_back);
        may_take.and(count).map_err(|obstacle| Refusal::of(MemorySource::NewHeap(size), obstacle))
    }
}

impl HeapKinds {
    /// Checks whether budget and limit permit `size` more bytes, in heaps of a kind or beside them.
    pub(crate) fn may_take(
        &self,
        heaps: &TypedHeaps,
        size: ByteSize,
        constraints: Constraints,
        given_back: GivenBack,
    ) -> Result<(), Obstacle> {
        let (group, heap_type) = (heaps.desc.segment_group, heaps.desc.heap_type);
        let needs_room =
            self.source.manager_for(constraints).is_none() || !begins_evicted(heaps.desc.heap.Flags);
        if constraints.within_budget && needs_room {
            self.source.check_budget(group, size, constraints, given_back.in_group)?;
        }
        self.source.accounts.check(heap_type, size, given_back.of_type)
    }
}
