//! Where memory comes from when the heaps that are usual for a request have no room for it. Decided here, carried out by
//! [`heap_source`](super::heap_source).
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
use heapwright_core::placement::PlacementRequest;

use super::desc::{HEAP_GRANULARITY, ResourceAllocatorFlags};
use super::heap_source::{Refusal, Terms, misplaced};
use super::residency::begins_evicted;
use super::typed_heaps::{Sharing, TypedHeaps};
use super::{HeapType, Inner};
use crate::SegmentGroup;
use crate::error::{Obstacle, Way};

/// Where the memory for a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeapPlan {
    /// An empty heap that is held already.
    Spare(HeapSizes),
    /// A free range of any heap of the kind.
    AnyRange,
    /// A new heap. Empty heaps may have to be given back first.
    New(HeapSizes),
}

/// How large a heap may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeapSizes {
    pub(super) wanted: ByteSize,
    pub(super) least: ByteSize,
}

/// What counts as given back when it is asked whether there may be a new heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GivenBack {
    Nothing,
    /// Every heap that nothing is in.
    EmptyHeaps,
}

impl Inner {
    /// Plans where the memory for a request comes from that [`TypedHeaps::find_room`] found no room for.
    ///
    /// Nothing is created, placed or given back, except that slabs and backing buffers which nothing is in return their memory to
    /// the heaps before anything is refused. Whether the device has memory for a new heap only the device knows.
    pub(super) fn plan_heap(
        &self,
        heaps: &Arc<TypedHeaps>,
        sharing: Sharing,
        request: &PlacementRequest,
        terms: Terms,
    ) -> Result<HeapPlan, Refusal> {
        let sizes = match self.heap_sizes(heaps, sharing, request, terms) {
            Ok(sizes) => sizes,
            // A heap of another size may be held.
            Err(_) if self.has_any_range(heaps, sharing, request)? => return Ok(HeapPlan::AnyRange),
            Err(refusal) => return Err(refusal),
        };
        if sharing != Sharing::Unmanaged && heaps.has_spare(sizes) {
            return Ok(HeapPlan::Spare(sizes));
        }
        self.plan_without_spare(heaps, sharing, request, terms, sizes)
    }

    fn has_any_range(
        &self,
        heaps: &Arc<TypedHeaps>,
        sharing: Sharing,
        request: &PlacementRequest,
    ) -> Result<bool, Refusal> {
        Ok(sharing != Sharing::Unmanaged && heaps.has_any_room(sharing, request).map_err(misplaced)?)
    }

    /// The same when there is no spare heap.
    pub(super) fn plan_without_spare(
        &self,
        heaps: &Arc<TypedHeaps>,
        sharing: Sharing,
        request: &PlacementRequest,
        terms: Terms,
        sizes: HeapSizes,
    ) -> Result<HeapPlan, Refusal> {
        let as_things_stand = if terms.may_create_heap {
            self.may_create(heaps, sizes.wanted, terms, GivenBack::Nothing)
        } else {
            Err(Refusal::of(Way::HeldMemory, Obstacle::NoRoom))
        };
        let (group, flags) = (heaps.desc.segment_group, heaps.desc.heap.Flags);
        let is_within_budget = || self.bytes_over_budget(group, sizes.wanted, flags, terms).is_zero();
        if as_things_stand.is_ok() && is_within_budget() {
            return Ok(HeapPlan::New(sizes));
        }
        if self.has_any_range(heaps, sharing, request)? {
            return Ok(HeapPlan::AnyRange);
        }
        let Err(refusal) = as_things_stand else { return Ok(HeapPlan::New(sizes)) };
        if !terms.may_create_heap {
            return Err(refusal);
        }
        self.plan_with_empty_heaps_given_back(heaps, terms, sizes, refusal)
    }

    fn plan_with_empty_heaps_given_back(
        &self,
        heaps: &TypedHeaps,
        terms: Terms,
        HeapSizes { wanted, least }: HeapSizes,
        mut refusal: Refusal,
    ) -> Result<HeapPlan, Refusal> {
        let given_back = if self.desc.flags.contains(ResourceAllocatorFlags::NEVER_OVER_ALLOCATE) {
            GivenBack::Nothing
        } else {
            self.return_unused_memory();
            GivenBack::EmptyHeaps
        };
        for size in [wanted, least] {
            match self.may_create(heaps, size, terms, given_back) {
                Ok(()) => return Ok(HeapPlan::New(HeapSizes { wanted: size, least })),
                Err(other) => refusal.append(other),
            }
            if least == wanted {
                break;
            }
        }
        Err(refusal)
    }

    /// The sizes that a heap for a request may have. Heaps larger than the request needs stay within budget and limit.
    pub(super) fn heap_sizes(
        &self,
        heaps: &TypedHeaps,
        sharing: Sharing,
        request: &PlacementRequest,
        terms: Terms,
    ) -> Result<HeapSizes, Refusal> {
        let least = request.size.align_up(HEAP_GRANULARITY).unwrap_or(ByteSize::MAX);
        let limit = heaps.desc.max_heap_size;
        let too_large = |limit| Refusal::of(Way::NewHeap(least), Obstacle::HeapSize { limit });
        if least > limit {
            return Err(too_large(limit));
        }
        let wanted = heaps.new_heap_size(sharing, request).map_err(misplaced)?.min(limit);
        if wanted < least {
            // The heaps of the pool have one size, and it is too small.
            return Err(too_large(wanted));
        }
        if !heaps.takes_any_heap() || wanted == least {
            return Ok(HeapSizes { wanted, least: wanted });
        }
        let left = self.bytes_left(heaps, wanted, terms);
        let whole = ByteSize::new(left.get() & !(HEAP_GRANULARITY.get() - 1));
        Ok(HeapSizes { wanted: wanted.min(whole).max(least), least })
    }

    /// How much of `size` bytes budget and limit have left, with empty heaps given back.
    fn bytes_left(&self, heaps: &TypedHeaps, size: ByteSize, terms: Terms) -> ByteSize {
        let (group, heap_type) = (heaps.desc.segment_group, heaps.desc.heap_type);
        let mut left = size;
        let over = self.bytes_over_budget(group, size, heaps.desc.heap.Flags, terms);
        if !over.is_zero() {
            left = left.saturating_sub(over.saturating_sub(self.empty_in(group)));
        }
        let over = self.accounts.bytes_over_limit(heap_type, size);
        if !over.is_zero() {
            left = left.min(size.saturating_sub(over.saturating_sub(self.totals_of(heap_type).empty)));
        }
        left
    }

    /// Whether a heap of `size` bytes may be created, as far as it is not the device's to say.
    pub(super) fn may_create(
        &self,
        heaps: &TypedHeaps,
        size: ByteSize,
        terms: Terms,
        given_back: GivenBack,
    ) -> Result<(), Refusal> {
        let refuse = |obstacle| Refusal::of(Way::NewHeap(size), obstacle);
        self.may_take(heaps, size, terms, given_back).map_err(refuse)?;
        heaps.check_seat(given_back).map_err(refuse)
    }

    /// Whether budget and limit have room for `size` bytes more in heaps of a kind, or beside them.
    pub(super) fn may_take(
        &self,
        heaps: &TypedHeaps,
        size: ByteSize,
        terms: Terms,
        given_back: GivenBack,
    ) -> Result<(), Obstacle> {
        let (group, heap_type) = (heaps.desc.segment_group, heaps.desc.heap_type);
        let needs_room = self.manager_for(terms).is_none() || !begins_evicted(heaps.desc.heap.Flags);
        if terms.within_budget && needs_room {
            self.check_budget(group, size, terms, given_back)?;
        }
        let empty = match given_back {
            GivenBack::Nothing => ByteSize::ZERO,
            GivenBack::EmptyHeaps => self.totals_of(heap_type).empty,
        };
        self.accounts.check(heap_type, size, empty)
    }

    /// Whether so many bytes more are within the operating system's budget, if that matters.
    pub(super) fn check_budget(
        &self,
        group: SegmentGroup,
        size: ByteSize,
        terms: Terms,
        given_back: GivenBack,
    ) -> Result<(), Obstacle> {
        if !terms.within_budget {
            return Ok(());
        }
        let known = match self.manager_for(terms) {
            // What a manager can evict does not stand in the way, empty heaps least of all.
            Some(manager) => Some((manager.needed_and_budget(group), ByteSize::ZERO)),
            None => self.video_memory(group).map(|known| {
                let empty = match given_back {
                    GivenBack::Nothing => ByteSize::ZERO,
                    GivenBack::EmptyHeaps => self.empty_in(group),
                };
                (known, empty)
            }),
        };
        // That there is an adapter was checked. One that does not answer has no budget to be within.
        let Some(((usage, budget), empty)) = known else { return Ok(()) };
        if usage.saturating_sub(empty).saturating_add(size) > budget {
            return Err(Obstacle::Budget { group, budget, usage });
        }
        Ok(())
    }

    /// How far `size` bytes more would take usage above the budget, where both are known.
    pub(super) fn bytes_over_budget(
        &self,
        group: SegmentGroup,
        size: ByteSize,
        flags: heapwright_d3d12::D3D12_HEAP_FLAGS,
        terms: Terms,
    ) -> ByteSize {
        if self.manager_for(terms).is_some() && begins_evicted(flags) {
            // It needs no room until it is used.
            return ByteSize::ZERO;
        }
        let Some((usage, budget)) = self.video_memory(group) else { return ByteSize::ZERO };
        usage.saturating_add(size).saturating_sub(budget)
    }

    /// Bytes of heaps in a segment group that nothing is in, of this allocator and of those that are nested with it.
    fn empty_in(&self, group: SegmentGroup) -> ByteSize {
        let heaps = self.heaps_of_family();
        let empty =
            heaps.iter().filter(|heaps| heaps.desc.segment_group == group).map(|heaps| heaps.totals().empty);
        empty.fold(ByteSize::ZERO, ByteSize::saturating_add)
    }

    /// How many bytes of empty heaps have to be given back for `size` bytes more, by what they are short of.
    pub(super) fn bytes_to_give_back(
        &self,
        (heap_type, group): (HeapType, SegmentGroup),
        size: ByteSize,
        flags: heapwright_d3d12::D3D12_HEAP_FLAGS,
        terms: Terms,
    ) -> BytesToGiveBack {
        BytesToGiveBack {
            of_group: self.bytes_over_budget(group, size, flags, terms),
            of_type: self.accounts.bytes_over_limit(heap_type, size),
        }
    }
}

/// Bytes of empty heaps that stand in the way of new memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BytesToGiveBack {
    /// In its segment group, for the budget.
    pub(super) of_group: ByteSize,
    /// Of its heap type, for the allocator's limit.
    pub(super) of_type: ByteSize,
}
