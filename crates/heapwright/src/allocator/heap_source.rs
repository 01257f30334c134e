//! Carries out what [`plan`](super::plan) decided: where a heap comes from, and what is tried when the device refuses one.
//!
//! When the device has no memory for a heap of the size that is wanted:
//!
//! 1. a free range of any heap of the kind is taken;
//! 2. empty heaps are given back (unless `NEVER_OVER_ALLOCATE`), and the device is asked again;
//! 3. the device is asked for a heap as small as the request allows.
//!
//! No lock is held while the device creates or destroys a heap. With a residency manager, what is idle is evicted to make room in the
//! budget for a new heap, after empty heaps are given back. What is `NEVER_RESIDENT` takes no heap that is held.

use std::sync::Arc;

use heapwright_core::ByteSize;
use heapwright_core::placement::{PlacementError, PlacementRequest};
use heapwright_d3d12::*;
use windows_core::HRESULT;

use super::Inner;
use super::desc::ResourceAllocatorFlags;
use super::heap::Heap;
use super::plan::{GivenBack, HeapPlan, HeapSizes};
use super::typed_heaps::{PlacedRange, Sharing, TypedHeaps};
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
        if sharing == Sharing::Unmanaged {
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
        let any_range = || match sharing {
            Sharing::Unmanaged => Ok(None),
            Sharing::Shared | Sharing::Own => heaps.find_any_room(sharing, request).map_err(misplaced),
        };
        heaps.prefetch.count_miss();
        let mut plan = self.plan_heap(heaps, sharing, request, terms)?;
        // Other threads may take what was planned; each time it is planned again.
        loop {
            match plan {
                HeapPlan::Spare(sizes) => {
                    if let Some(heap) = heaps.take_spare(sizes) {
                        return heaps.room_in_new(sharing, heap, request).map_err(misplaced);
                    }
                    plan = self.plan_without_spare(heaps, sharing, request, terms, sizes)?;
                }
                HeapPlan::AnyRange => match any_range()? {
                    Some(range) => return Ok(range),
                    None => plan = self.plan_heap(heaps, sharing, request, terms)?,
                },
                HeapPlan::New(sizes) => {
                    heaps.make_way(sharing, request).map_err(misplaced)?;
                    let mut refusal = match self.create_heap(heaps, sizes.wanted, terms) {
                        Ok(heap) => return heaps.room_in_new(sharing, heap, request).map_err(misplaced),
                        Err(refusal) if refusal.fatal.is_some() => return Err(refusal),
                        Err(refusal) => refusal,
                    };
                    if let Some(range) = any_range()? {
                        return Ok(range);
                    }
                    return match self.create_after_refusal(heaps, sizes, terms, &mut refusal)? {
                        Some(heap) => heaps.room_in_new(sharing, heap, request).map_err(misplaced),
                        None => Err(refusal),
                    };
                }
            }
        }
    }

    /// Creates a heap for which memory was short at first, or adds to the refusal why not.
    pub(super) fn create_after_refusal(
        &self,
        heaps: &Arc<TypedHeaps>,
        HeapSizes { wanted, least }: HeapSizes,
        terms: Terms,
        refusal: &mut Refusal,
    ) -> Result<Option<Arc<Heap>>, Refusal> {
        let mut attempt = |size: ByteSize| match self.create_heap(heaps, size, terms) {
            Ok(heap) => Ok(Some(heap)),
            Err(other) if other.fatal.is_none() => {
                refusal.append(other);
                Ok(None)
            }
            Err(fatal) => Err(fatal),
        };
        if !self.desc.flags.contains(ResourceAllocatorFlags::NEVER_OVER_ALLOCATE) {
            let released = self.make_room(wanted, heaps.desc.heap_type, heaps.desc.segment_group);
            tracing::debug!(%wanted, %released, "no memory for a heap; trying again");
            if !released.is_zero() {
                if let Some(heap) = attempt(wanted)? {
                    return Ok(Some(heap));
                }
            }
        }
        if least < wanted { attempt(least) } else { Ok(None) }
    }

    pub(super) fn create_heap(
        &self,
        heaps: &Arc<TypedHeaps>,
        size: ByteSize,
        terms: Terms,
    ) -> Result<Arc<Heap>, Refusal> {
        let (heap_type, group) = (heaps.desc.heap_type, heaps.desc.segment_group);
        self.give_back_for((heap_type, group), size, heaps.desc.heap.Flags, terms);
        heaps.make_seat();
        if self.manager_for(terms).is_none() {
            // A manager makes room; whoever it leaves alone takes what there is.
            let refuse = |obstacle| Refusal::of(Way::NewHeap(size), obstacle);
            self.check_budget(group, size, terms, GivenBack::Nothing).map_err(refuse)?;
        }
        heaps.create_heap(&self.devices, size, terms)
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
