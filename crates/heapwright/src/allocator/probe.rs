//! What an allocation would do, without doing it.

use std::sync::Arc;

use heapwright_core::placement::{PlacementRequest, Room};
use heapwright_core::{Alignment, ByteSize};

use super::create::Wanted;
use super::decision::{Decision, Placement, Reason};
use super::desc::{
    HEAP_GRANULARITY, ResourceAllocationDesc, ResourceAllocationFlags, ResourceAllocatorFlags, ResourceDesc,
};
use super::heap_source::{Refusal, Terms, misplaced};
use super::plan::{GivenBack, HeapPlan};
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
    /// Returns what [`create`](Self::create) would do now. Nothing is created or placed.
    ///
    /// On one thread the next `create` does the same, unless the device has no memory for a new heap, which only the device knows. For
    /// a part of a buffer, `probe` may report a new heap where a backing buffer that is released first leaves room for the new one.
    ///
    /// Cost: the device is asked what the resource takes; O(1), and before it returns an error O(n) for n free ranges of the heaps.
    ///
    /// # Errors
    ///
    /// The errors of `create` that do not depend on the device's memory.
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
        let preference = self.heap_types_of(allocation, resource);
        let mut refusal = Refusal::default();
        let mut first = None;
        let others = self.heap_families.grants(&preference, self.attributes(allocation, resource)).skip(1);
        let others = others.filter(|_| allocation.pool.is_none());
        for granted in self.first_granted(allocation, resource).into_iter().chain(others) {
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
                        match self.probe_backing(wanted, buffer, least) {
                            Err(refusal)
                                if refusal.is_shortage()
                                    && self.has_any_backing_room(granted, size, alignment)? =>
                            {
                                Ok(ProbedMemory::Held)
                            }
                            probed => probed,
                        }
                    }
                };
                if let Ok(memory) = memory {
                    self.check_asked(wanted, size)?;
                    let decision = Decision::new(Placement::WithinResource, Reason::Usual);
                    return Ok(probe(decision, size, alignment, memory));
                }
            }
        }
        self.check(wanted)?;
        let requested = self.requested(wanted);
        let placed = self.requirements.requirements(&requested, Creation::Placed)?;
        self.check_asked(wanted, placed.size)?;
        let heaps = self.heaps_for(wanted, &placed)?;
        let facts = self.facts(wanted, heaps);
        let mut refusal = Refusal::default();
        for (way, reason) in ways(&facts).into_iter().flatten() {
            if way == Way::Committed {
                let committed = self.requirements.requirements(&requested, Creation::Committed)?;
                match self.may_commit(heaps, committed.size, *terms) {
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
            let sharing = self.sharing(sharing, *terms);
            let request = self.placement_request(wanted, heaps, &placed, sharing)?;
            match self.probe_place(heaps, sharing, &request, *terms) {
                Ok(memory) => {
                    let placement =
                        if sharing == Sharing::Shared { Placement::SharedHeap } else { Placement::OwnHeap };
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
        heaps: &Arc<TypedHeaps>,
        sharing: Sharing,
        request: &PlacementRequest,
        terms: Terms,
    ) -> Result<ProbedMemory, Refusal> {
        // Memory that the manager does not know is held nowhere.
        if sharing != Sharing::Unmanaged && heaps.room_for(sharing, request).map_err(misplaced)? == Room::Held
        {
            return Ok(ProbedMemory::Held);
        }
        Ok(match self.plan_heap(heaps, sharing, request, terms)? {
            HeapPlan::Spare(_) | HeapPlan::AnyRange => ProbedMemory::Held,
            HeapPlan::New(sizes) => ProbedMemory::NewHeap(sizes.wanted),
        })
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
        let probe = |sharing| {
            let request = self.placement_request(&backing, heaps, &placed, sharing)?;
            self.probe_place(heaps, sharing, &request, wanted.terms)
        };
        match probe(if heaps.is_dedicated() { Sharing::Own } else { Sharing::Shared }) {
            Err(refusal) if refusal.is_about_size() => probe(Sharing::Own),
            probed => probed,
        }
    }

    /// Whether a committed resource of a size may be asked for.
    fn may_commit(&self, heaps: &TypedHeaps, size: ByteSize, terms: Terms) -> Result<(), Refusal> {
        let refuse = |obstacle| Refusal::of(error::Way::Committed(size), obstacle);
        if !terms.may_create_heap {
            return Err(refuse(Obstacle::NoRoom));
        }
        if size > self.max_heap_size {
            return Err(refuse(Obstacle::HeapSize { limit: self.max_heap_size }));
        }
        if self.may_take(heaps, size, terms, GivenBack::Nothing).is_ok() {
            return Ok(());
        }
        if self.desc.flags.contains(ResourceAllocatorFlags::NEVER_OVER_ALLOCATE) {
            return self.may_take(heaps, size, terms, GivenBack::Nothing).map_err(refuse);
        }
        self.return_unused_memory();
        self.may_take(heaps, size, terms, GivenBack::EmptyHeaps).map_err(refuse)
    }
}
