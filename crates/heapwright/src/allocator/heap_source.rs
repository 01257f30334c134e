//! Where a heap comes from, and what is tried when memory is short.
//!
//! In this order; what cannot go differently from what was tried before is left out:
//!
//! With a residency manager, a new heap has room made for it in the budget: empty heaps go back first, then what is idle is
//! evicted. What is `NEVER_RESIDENT` takes no heap that is held.
//!
//! 1. an empty heap that is held already: where a new one may be refused (budget, limits, flags), any of the same heaps,
//!    however much it wastes; one that was made in advance, is in the pool, or belongs to an allocator nested with this one;
//! 2. a new heap of the size that is wanted;
//! 3. after empty heaps of the whole allocator went back to the device (unless `NEVER_OVER_ALLOCATE`), the same again;
//! 4. a new heap as small as the request allows.
//!
//! No lock is held while the device creates or destroys a heap.

use std::sync::Arc;

use heapwright_core::ByteSize;
use heapwright_core::placement::{PlacementError, PlacementRequest};
use heapwright_d3d12::*;
use windows_core::HRESULT;

use super::desc::ResourceAllocatorFlags;
use super::heap::Heap;
use super::typed_heaps::{PlacedRange, Sharing, TypedHeaps};
use super::{HeapType, Inner};
use crate::error::{Attempt, Obstacle, Way};
use crate::{Error, SegmentGroup, VideoMemoryInfo};

/// On which terms memory may be had.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) may_create_heap: bool,
    pub(super) within_budget: bool,
    /// No residency manager knows of it.
    pub(super) never_resident: bool,
}

/// Why there is no memory: what was tried, and whether going on is pointless.
#[derive(Debug, Default)]
pub(super) struct Refusal {
    pub(super) attempts: Vec<Attempt>,
    pub(super) fatal: Option<Error>,
}

impl Refusal {
    pub(super) fn of(way: Way, obstacle: Obstacle) -> Self {
        Self { attempts: vec![Attempt { way, obstacle }], fatal: None }
    }

    pub(super) fn fatal(error: Error) -> Self {
        Self { attempts: Vec::new(), fatal: Some(error) }
    }
}

/// Another answer than out of memory is no shortage: nothing that could be given back would change it.
fn is_shortage(obstacle: Obstacle) -> bool {
    !matches!(obstacle, Obstacle::Device(hresult) if hresult != E_OUTOFMEMORY)
}

/// What the device's answer to CreateHeap means.
pub(super) fn create_heap_refused(size: ByteSize, hresult: HRESULT) -> Refusal {
    if hresult == E_OUTOFMEMORY {
        return Refusal::of(Way::NewHeap(size), Obstacle::Device(hresult));
    }
    Refusal::fatal(Error::device("ID3D12Device::CreateHeap", hresult))
}

impl Inner {
    /// Finds or makes room for a request.
    #[inline]
    pub(super) fn place(
        &self,
        heaps: &Arc<TypedHeaps>,
        sharing: Sharing,
        request: &PlacementRequest,
        terms: Terms,
    ) -> Result<PlacedRange, Refusal> {
        if self.wants_unmanaged(terms) {
            return self.place_in_new(heaps, sharing, request, terms);
        }
        match heaps.find_room(sharing, request) {
            Ok(Some(range)) => Ok(range),
            Ok(None) => self.place_in_new(heaps, sharing, request, terms),
            Err(error) => Err(misplaced(error)),
        }
    }

    #[cold]
    fn place_in_new(
        &self,
        heaps: &Arc<TypedHeaps>,
        sharing: Sharing,
        request: &PlacementRequest,
        terms: Terms,
    ) -> Result<PlacedRange, Refusal> {
        // Planning a heap gives up empty ones for it. Where it may be refused, these are better than none.
        if self.may_be_refused(heaps, terms)
            && !self.wants_unmanaged(terms)
            && let Some(range) = heaps.find_any_room(sharing, request).map_err(misplaced)?
        {
            return Ok(range);
        }
        let least = request.size.align_up(super::desc::HEAP_GRANULARITY).unwrap_or(ByteSize::MAX);
        let limit = heaps.desc.max_heap_size;
        if least > limit {
            return Err(Refusal::of(Way::NewHeap(least), Obstacle::HeapSize { limit }));
        }
        let wanted = heaps.plan(sharing, request).map_err(misplaced)?.min(limit);
        if wanted < least {
            // The heaps of the pool have one size, and it is too small.
            return Err(Refusal::of(Way::NewHeap(least), Obstacle::HeapSize { limit: wanted }));
        }
        let least = if heaps.takes_any_heap() { least } else { wanted };
        let heap = self.obtain_heap(heaps, wanted, least, terms)?;
        heaps.room_in_new(sharing, heap, request).map_err(misplaced)
    }

    /// Whether something else than the device may keep a heap from being created.
    pub(super) fn may_be_refused(&self, heaps: &TypedHeaps, terms: Terms) -> bool {
        !terms.may_create_heap
            || terms.within_budget
            || self.desc.flags.contains(ResourceAllocatorFlags::NEVER_OVER_ALLOCATE)
            || self.desc.limits.of(heaps.desc.heap_type).is_some()
            || heaps.desc.max_heap_count != 0
    }

    /// A heap that nothing is in.
    pub(super) fn obtain_heap(
        &self,
        heaps: &Arc<TypedHeaps>,
        wanted: ByteSize,
        least: ByteSize,
        terms: Terms,
    ) -> Result<Arc<Heap>, Refusal> {
        if !self.wants_unmanaged(terms)
            && let Some(heap) = heaps.take_spare(least, wanted)
        {
            return Ok(heap);
        }
        if !terms.may_create_heap {
            return Err(Refusal::of(Way::HeldMemory, Obstacle::NoRoom));
        }
        let place = (heaps.desc.heap_type, heaps.desc.segment_group);
        self.make_room_by_empty_heaps(wanted, heaps.desc.heap.Flags, place, terms);
        let mut refusal = Refusal::default();
        let mut attempt = |size: ByteSize| match self.create_heap(heaps, size, terms) {
            Err(other) if other.fatal.is_none() => {
                refusal.append(other);
                None
            }
            made => Some(made),
        };
        let mut made = attempt(wanted);
        if made.is_none() && !self.desc.flags.contains(ResourceAllocatorFlags::NEVER_OVER_ALLOCATE) {
            let released = self.make_room(wanted, heaps.desc.heap_type, heaps.desc.segment_group);
            tracing::debug!(%wanted, %released, "no memory for a heap; trying again");
            if !released.is_zero() {
                made = attempt(wanted);
            }
        }
        if made.is_none() && least < wanted {
            made = attempt(least);
        }
        match made {
            Some(made) => made,
            None => Err(refusal),
        }
    }

    pub(super) fn create_heap(
        &self,
        heaps: &Arc<TypedHeaps>,
        size: ByteSize,
        terms: Terms,
    ) -> Result<Arc<Heap>, Refusal> {
        if self.manager_for(terms).is_none() {
            // A manager makes room; whoever it leaves alone takes what there is.
            let refuse = |obstacle| Refusal::of(Way::NewHeap(size), obstacle);
            self.check_budget(heaps.desc.segment_group, size, terms).map_err(refuse)?;
        }
        heaps.create_heap(&self.devices, size, terms)
    }

    /// Whether so many bytes more are within the operating system's budget, if that matters.
    pub(super) fn check_budget(
        &self,
        group: SegmentGroup,
        size: ByteSize,
        terms: Terms,
    ) -> Result<(), Obstacle> {
        if !terms.within_budget {
            return Ok(());
        }
        // What a manager can evict does not stand in the way.
        let known = match self.manager_for(terms) {
            Some(manager) => Some(manager.needed_and_budget(group)),
            None => self.video_memory(group),
        };
        // That there is an adapter was checked. One that does not answer has no budget to be within.
        let Some((usage, budget)) = known else { return Ok(()) };
        if usage.saturating_add(size) > budget {
            return Err(Obstacle::Budget { group, budget, usage });
        }
        Ok(())
    }

    /// Usage and budget of a segment group, where the adapter is known and answers.
    pub(super) fn video_memory(&self, group: SegmentGroup) -> Option<(ByteSize, ByteSize)> {
        if let Some(manager) = &self.residency {
            let (usage, budget) = manager.usage_and_budget(group);
            return (budget != ByteSize::MAX).then_some((usage, budget));
        }
        let info = VideoMemoryInfo::query(self.adapter.as_ref()?, group).ok()?;
        // Some D3D12s beside Windows' answer zeros for what they do not count.
        if info.budget.is_zero() && info.current_usage.is_zero() {
            return None;
        }
        Some((info.current_usage, info.budget))
    }

    /// Gives back what is not needed because memory for `size` bytes of a heap type is short.
    ///
    /// What helps goes first: limits are those of a heap type, and memory is that of a segment group.
    pub(super) fn make_room(&self, size: ByteSize, heap_type: HeapType, group: SegmentGroup) -> ByteSize {
        self.collect_deferred();
        let rank = |heaps: &Arc<TypedHeaps>| {
            if heaps.desc.heap_type == heap_type {
                0
            } else {
                1 + u8::from(heaps.desc.segment_group != group)
            }
        };
        let mut heaps = self.all_heaps();
        heaps.sort_by_key(rank);
        self.release_from(&heaps, size.max(self.desc.release_size))
    }

    /// Gives empty heaps back to the device, whole ones until so many bytes are reached.
    pub(super) fn release(&self, bytes: ByteSize) -> ByteSize {
        let heaps = self.all_heaps();
        self.release_from(&heaps, bytes)
    }

    fn release_from(&self, heaps: &[Arc<TypedHeaps>], bytes: ByteSize) -> ByteSize {
        for within in &self.within {
            within.release_empty();
        }
        let mut released = ByteSize::ZERO;
        for heaps in heaps {
            if released >= bytes {
                break;
            }
            released = released.saturating_add(heaps.release(bytes.saturating_sub(released)));
        }
        released
    }
}

/// A request that no heap of the heaps can serve.
pub(super) fn misplaced(error: PlacementError) -> Refusal {
    match error {
        PlacementError::TooLarge { requested } => {
            Refusal::of(Way::NewHeap(requested), Obstacle::HeapSize { limit: ByteSize::ZERO })
        }
        PlacementError::NeedsOwnHeap { requested, largest } => {
            Refusal::of(Way::NewHeap(requested), Obstacle::HeapSize { limit: largest })
        }
        PlacementError::OneHeapFull { requested } => {
            Refusal::of(Way::NewHeap(requested), Obstacle::HeapCount { limit: 1 })
        }
        PlacementError::NoUpperEnd { .. } => {
            Refusal::fatal(Error::invalid_argument("ResourceAllocationDesc::flags", error.to_string()))
        }
        error => Refusal::fatal(Error::invalid_argument("the resource's size", error.to_string())),
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::fatal(error)
    }
}

impl Refusal {
    /// Adds what another way met with.
    pub(super) fn append(&mut self, other: Self) {
        self.attempts.extend(other.attempts);
        self.fatal = self.fatal.take().or(other.fatal);
    }

    /// Whether a heap of the size that is wanted is not allowed, or not what the algorithm makes of the request.
    pub(super) fn is_about_size(&self) -> bool {
        self.attempts.iter().any(|attempt| matches!(attempt.obstacle, Obstacle::HeapSize { .. }))
    }

    /// Whether every obstacle was a shortage of memory.
    pub(super) fn is_shortage(&self) -> bool {
        self.fatal.is_none() && self.attempts.iter().all(|attempt| is_shortage(attempt.obstacle))
    }
}
