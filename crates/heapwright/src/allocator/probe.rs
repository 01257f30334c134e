//! What an allocation would do, without doing it.

use heapwright_core::placement::{PlacementRequest, Room};
use heapwright_core::{Alignment, ByteSize};

use super::create::{Wanted, always_attribute, heap_types_of};
use super::decision::{Decision, Placement, Reason};
use super::desc::{HEAP_GRANULARITY, ResourceAllocationDesc, ResourceAllocationFlags, ResourceDesc};
use super::heap_source::{Refusal, Terms, misplaced};
use super::residency::begins_evicted;
use super::typed_heaps::{Sharing, TypedHeaps};
use super::ways::{Way, ways};
use super::within::{alignment_within, backing_desc};
use super::{HeapType, Inner, ResourceAllocator};
use crate::error::{self, Obstacle};
use crate::requirements::Creation;
use crate::{Error, SegmentGroup};

/// What an allocation would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// How it would be made, and why so.
    pub decision: Decision,
    /// The heap type that would be granted.
    pub heap_type: HeapType,
    /// The segment group that it is charged to.
    pub segment_group: SegmentGroup,
    /// Bytes that it would take, padding among them.
    pub size: ByteSize,
    /// What its place would be a multiple of.
    pub alignment: Alignment,
    /// Where the memory would come from.
    pub memory: ProbedMemory,
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

impl ResourceAllocator {
    /// What [`create`](Self::create) would do now, without doing it: nothing is created, placed or kept.
    ///
    /// Limits and, where it matters, the budget are looked at, with empty heaps counted as given back; whether the device has memory
    /// for a new heap only it knows. On one thread it is what the next `create` does unless the device refuses, or a limit is so near
    /// that heaps make the difference in which slabs lie that nothing is in: these `create` gives back as well. For a part of a buffer it may tell
    /// of a new heap where the old buffer that goes leaves room for the new one.
    ///
    /// Cost: O(1), with the device asked for what the resource takes.
    ///
    /// # Errors
    ///
    /// As `create`: what it would answer before it asks the device for memory.
    ///
    /// ```
    /// use heapwright::{ByteSize, ProbedMemory, ResourceAllocator, ResourceDesc, buffer_desc};
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// # let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
    /// let buffer = ResourceDesc::new(&buffer_desc(ByteSize::from_mib(3)));
    /// let probe = allocator.probe(&Default::default(), &buffer)?;
    /// assert_eq!(probe.memory, ProbedMemory::NewHeap(ByteSize::from_mib(3)));
    /// assert_eq!(allocator.reserved(), ByteSize::ZERO);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn probe(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
    ) -> Result<Probe, Error> {
        self.inner().probe(allocation, resource)
    }
}

impl Inner {
    fn probe(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
    ) -> Result<Probe, Error> {
        allocation.check()?;
        self.check_budget_flag(allocation)?;
        let preference = heap_types_of(allocation, resource);
        let mut refusal = Refusal::default();
        let mut first = None;
        let of_pool = allocation.pool.map(super::Pool::granted);
        let others = self.heap_families.grants(&preference, always_attribute(allocation));
        for granted in of_pool.into_iter().chain(others.filter(|_| of_pool.is_none())) {
            first.get_or_insert(granted.heap_type);
            let wanted = Wanted { allocation, resource, granted, terms: self.terms(allocation) };
            match self.probe_in(&wanted) {
                Ok(probe) => return Ok(probe),
                Err(other) => refusal.append(other),
            }
            if refusal.fatal.is_some() {
                break;
            }
        }
        let Some(heap_type) = first else {
            return Err(Error::unsupported(format!("{preference} heaps on this device")));
        };
        let never_fallback = allocation.flags.contains(ResourceAllocationFlags::NEVER_FALLBACK);
        let requested = ByteSize::new(resource.desc.Width);
        Err(self.refused(heap_type, requested, refusal, never_fallback))
    }

    fn probe_in(&self, wanted: &Wanted<'_>) -> Result<Probe, Refusal> {
        let Wanted { allocation, resource, granted, terms } = wanted;
        let probe = |decision, size, alignment, memory| Probe {
            decision,
            heap_type: granted.heap_type,
            segment_group: granted.segment_group,
            size,
            alignment,
            memory,
        };
        if allocation.flags.contains(ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE) {
            let extra_flags = self.desc.extra_required_resource_flags;
            if let Some(alignment) = alignment_within(granted, allocation, resource, extra_flags) {
                let size = ByteSize::new(resource.desc.Width);
                let memory = match self.backing_room(granted, size, alignment)? {
                    Room::Held => Ok(ProbedMemory::Held),
                    Room::NewHeap { size: buffer } => {
                        let least = size.align_up(HEAP_GRANULARITY).unwrap_or(buffer);
                        self.probe_backing(wanted, buffer, least)
                    }
                };
                if let Ok(memory) = memory {
                    let decision = Decision::new(Placement::WithinResource, Reason::Usual);
                    return Ok(probe(decision, size, alignment, memory));
                }
            }
        }
        self.check(wanted)?;
        let requested = self.requested(wanted);
        let placed = self.requirements.requirements(&requested, Creation::Placed)?;
        let heaps = self.heaps_for(wanted, &placed)?;
        let facts = self.facts(wanted, heaps);
        let mut refusal = Refusal::default();
        for (way, reason) in ways(&facts).into_iter().flatten() {
            if way == Way::Committed {
                let committed = self.requirements.requirements(&requested, Creation::Committed)?;
                match self.may_take(heaps, committed.size, *terms, error::Way::Committed(committed.size)) {
                    Ok(()) => {
                        let decision = Decision::new(Placement::Committed, reason);
                        let memory = ProbedMemory::NewHeap(committed.size);
                        return Ok(probe(decision, committed.size, committed.alignment, memory));
                    }
                    Err(other) => refusal.append(other),
                }
                continue;
            }
            if way == Way::Own && reason == Reason::TooLargeToShare && !refusal.is_about_size() {
                continue;
            }
            let sharing = if way == Way::Own { Sharing::Own } else { Sharing::Shared };
            let request = self.placement_request(wanted, heaps, &placed)?;
            match self.probe_place(heaps, sharing, &request, *terms) {
                Ok(memory) => {
                    let placement =
                        if sharing == Sharing::Own { Placement::OwnHeap } else { Placement::SharedHeap };
                    let decision = Decision::new(placement, reason);
                    return Ok(probe(decision, request.size, request.alignment, memory));
                }
                Err(other) => refusal.append(other),
            }
        }
        Err(refusal)
    }

    /// What [`place`](Self::place) would do.
    fn probe_place(
        &self,
        heaps: &TypedHeaps,
        sharing: Sharing,
        request: &PlacementRequest,
        terms: Terms,
    ) -> Result<ProbedMemory, Refusal> {
        let least = request.size.align_up(HEAP_GRANULARITY).unwrap_or(ByteSize::MAX);
        let limit = heaps.desc.max_heap_size;
        let too_large = |limit| Refusal::of(error::Way::NewHeap(least), Obstacle::HeapSize { limit });
        // Memory that the manager does not know is held nowhere.
        let may_be_held = !self.wants_unmanaged(terms);
        let has_any_room = || heaps.has_any_room(sharing, request).map_err(misplaced);
        let wanted = match heaps.room_for(sharing, request) {
            Ok(Room::Held) if may_be_held => return Ok(ProbedMemory::Held),
            Ok(Room::Held) => heaps.new_heap_size(sharing, request).map_err(misplaced)?.min(limit),
            Ok(Room::NewHeap { .. })
                if may_be_held && self.may_be_refused(heaps, terms) && has_any_room()? =>
            {
                return Ok(ProbedMemory::Held);
            }
            Ok(Room::NewHeap { size }) => size.min(limit),
            Err(error) => return Err(misplaced(error)),
        };
        if least > limit || wanted < least {
            return Err(too_large(wanted.min(limit)));
        }
        let least = if heaps.takes_any_heap() { least } else { wanted };
        if may_be_held && heaps.has_spare(least, wanted) {
            return Ok(ProbedMemory::Held);
        }
        match self.may_take(heaps, wanted, terms, error::Way::NewHeap(wanted)) {
            Ok(()) => Ok(ProbedMemory::NewHeap(wanted)),
            Err(mut refusal) if least < wanted && refusal.fatal.is_none() => {
                match self.may_take(heaps, least, terms, error::Way::NewHeap(least)) {
                    Ok(()) => Ok(ProbedMemory::NewHeap(least)),
                    Err(other) => {
                        refusal.append(other);
                        Err(refusal)
                    }
                }
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// What making a backing buffer of `size` bytes, or of `least`, would do.
    fn probe_backing(
        &self,
        wanted: &Wanted<'_>,
        size: ByteSize,
        least: ByteSize,
    ) -> Result<ProbedMemory, Refusal> {
        match self.probe_buffer(wanted, size) {
            Err(refusal) if least < size && refusal.is_shortage() => self.probe_buffer(wanted, least),
            probed => probed,
        }
    }

    /// What [`place_buffer`](Self::place_buffer) would do for a backing buffer.
    fn probe_buffer(&self, wanted: &Wanted<'_>, size: ByteSize) -> Result<ProbedMemory, Refusal> {
        let desc = backing_desc(&wanted.granted, size);
        let allocation = ResourceAllocationDesc::default();
        let backing = Wanted { allocation: &allocation, resource: &desc, ..*wanted };
        let requested = self.requested(&backing);
        let placed = self.requirements.requirements(&requested, Creation::Placed)?;
        let heaps = self.heaps_for(&backing, &placed)?;
        let request = self.placement_request(&backing, heaps, &placed)?;
        let sharing = if heaps.is_dedicated() { Sharing::Own } else { Sharing::Shared };
        match self.probe_place(heaps, sharing, &request, wanted.terms) {
            Err(refusal) if refusal.is_about_size() => {
                self.probe_place(heaps, Sharing::Own, &request, wanted.terms)
            }
            probed => probed,
        }
    }

    /// Whether a heap, or a committed resource, of a size may be asked for.
    fn may_take(
        &self,
        heaps: &TypedHeaps,
        size: ByteSize,
        terms: Terms,
        way: error::Way,
    ) -> Result<(), Refusal> {
        if !terms.may_create_heap {
            return Err(Refusal::of(error::Way::HeldMemory, Obstacle::NoRoom));
        }
        if size > self.max_heap_size {
            return Err(Refusal::of(way, Obstacle::HeapSize { limit: self.max_heap_size }));
        }
        let refused = |obstacle| Refusal::of(way, obstacle);
        let (group, heap_type) = (heaps.desc.segment_group, heaps.desc.heap_type);
        // Empty heaps go back before a new one is refused.
        let needs_room = self.manager_for(terms).is_none() || !begins_evicted(heaps.desc.heap.Flags);
        if terms.within_budget && needs_room {
            let missing = size.saturating_sub(self.totals_in(group).empty);
            self.check_budget(group, missing, terms).map_err(refused)?;
        }
        let missing = size.saturating_sub(self.totals_of(heap_type).empty);
        self.accounts.check(heap_type, missing).map_err(refused)?;
        if matches!(way, error::Way::NewHeap(_)) {
            heaps.check_seat().map_err(refused)?;
        }
        Ok(())
    }
}
