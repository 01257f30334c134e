//! The path of one allocation, from the request to the result.

use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;

use super::allocation::ResourceAllocation;
use super::allocation_desc::ResourceAllocationDesc;
use super::inner::Inner;
use super::report::LiveAllocation;
use crate::buffers::BackingSource;
use crate::desc::{ResourceAllocationFlags, ResourceAllocatorFlags, ResourceDesc};
use crate::error::Shortage;
use crate::heaps::{Label, Striped, TypedHeaps};
use crate::request::{
    Constraints, Creation, HeapFamily, Placement, PlacementDecision, PlacementReason, ResourceClass,
    ResourceRequest, ResourceRequirements, check_initial_state, foreign_heap_flags, order, part_of,
    texel_bytes,
};
use crate::source::{Refusal, check_interfaces};
use crate::{Error, HeapType};

/// A placement to try.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Attempt<'a> {
    /// A part of a buffer, with this size and alignment.
    Within(ByteSize, Alignment),
    /// In a shared heap or in a heap of its own.
    Placed(&'a Striped<TypedHeaps>, &'a ResourceRequirements, PlacementDecision),
    /// Committed, and charged like these heaps.
    Committed(&'a TypedHeaps, &'a ResourceRequirements, PlacementDecision),
}

impl Inner {
    /// Creates a resource and the memory for it.
    pub(crate) fn create(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
    ) -> Result<ResourceAllocation, Error> {
        if allocation.custom_heap.is_some() {
            return self
                .in_custom_heaps(allocation, resource, |allocation| self.create(allocation, resource));
        }
        match &self.heaps.source.recording {
            None => self.create_unrecorded(allocation, resource),
            Some(recording) => self.create_recorded(recording, allocation, resource),
        }
    }

    /// Creates a resource and the memory for it.
    #[inline]
    pub(crate) fn create_unrecorded(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
    ) -> Result<ResourceAllocation, Error> {
        let request = self.request(allocation, resource)?;
        if self.heaps.source.clock.is_due() {
            self.pass_operations();
        }
        if let Some(made) = self.part_at_hand(&request) {
            return Ok(made);
        }
        match self.create_in(&request) {
            Ok(made) => Ok(made),
            Err(refusal) => self.create_elsewhere(&request, refusal),
        }
    }

    /// Checks the options of a request, and selects the heaps that are granted to it.
    #[inline]
    pub(crate) fn request<'a>(
        &self,
        allocation: &'a ResourceAllocationDesc<'a>,
        resource: &'a ResourceDesc<'a>,
    ) -> Result<ResourceRequest<'a>, Error> {
        allocation.check()?;
        let source = &self.heaps.source;
        let has = |flag| allocation.flags.contains(flag);
        let within_budget = has(ResourceAllocationFlags::WITHIN_BUDGET);
        if within_budget && source.adapter.is_none() && source.residency.is_none() {
            let rule = "WITHIN_BUDGET requires an adapter or a residency manager";
            return Err(Error::invalid_argument("ResourceAllocationDesc::flags", rule));
        }
        let Some(granted) = self.first_granted(allocation, resource) else {
            let preference = self.heap_types_of(allocation, resource);
            return Err(Error::unsupported(format!("{preference} heaps on this device")));
        };
        let constraints = Constraints {
            may_create_heap: !has(ResourceAllocationFlags::NEVER_ALLOCATE_HEAP),
            within_budget: within_budget || source.is_always_in_budget(),
            never_resident: has(ResourceAllocationFlags::NEVER_RESIDENT),
        };
        Ok(ResourceRequest { allocation, resource, granted, constraints })
    }

    /// Creates a resource in the granted heaps.
    #[inline(always)]
    fn create_in(&self, request: &ResourceRequest<'_>) -> Result<ResourceAllocation, Refusal> {
        // Not returned by the attempts, which would copy it several times.
        let mut made = None;
        self.in_order(request, |attempt| {
            made = Some(match self.attempt(request, attempt) {
                Err(refusal) => self.attempt_again(request, attempt, refusal)?,
                Ok(made) => made,
            });
            Ok(())
        })?;
        let mut made = made.expect("an attempt succeeded");
        if self.is_entered(request, made.decision()) {
            self.charge_asked(&mut made, request)?;
            self.enter(&mut made, request);
        }
        Ok(made)
    }

    /// Creates a part of an existing buffer that has a free range at hand: the common case of parts.
    #[inline(always)]
    fn part_at_hand(&self, request: &ResourceRequest<'_>) -> Option<ResourceAllocation> {
        let within = ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE;
        let decision = PlacementDecision::new(Placement::WithinResource, PlacementReason::Usual);
        if !request.allocation.flags.contains(within) || self.is_entered(request, decision) {
            return None;
        }
        let (size, alignment) = part_of(request, self.desc().extra_required_resource_flags)?;
        let range = self.buffers.of(&request.granted).take_at_hand(size, alignment)?;
        Some(ResourceAllocation::within(range, request.resource.desc.Width, &request.granted))
    }

    /// Creates a resource in heaps that were granted later, or after memory was freed.
    #[cold]
    pub(crate) fn create_later(&self, request: &ResourceRequest<'_>) -> Result<ResourceAllocation, Refusal> {
        self.create_in(request)
    }

    #[cold]
    fn attempt_again(
        &self,
        request: &ResourceRequest<'_>,
        attempt: Attempt<'_>,
        refusal: Refusal,
    ) -> Result<ResourceAllocation, Refusal> {
        if self.frees_deferred_after(&refusal) { self.attempt(request, attempt) } else { Err(refusal) }
    }

    #[inline(always)]
    fn attempt(
        &self,
        request: &ResourceRequest<'_>,
        attempt: Attempt<'_>,
    ) -> Result<ResourceAllocation, Refusal> {
        let (granted, is_buffer) = (&request.granted, request.resource.is_buffer());
        let width = |made: &ResourceRequirements| if is_buffer { made.desc.Width } else { 0 };
        match attempt {
            Attempt::Within(size, alignment) => {
                let range = self.buffers.of(granted).take(size, alignment, &self.backing(request))?;
                Ok(ResourceAllocation::within(range, request.resource.desc.Width, granted))
            }
            Attempt::Placed(heaps, placed, PlacementDecision { placement, reason }) => {
                let own_heap = placement == Placement::OwnHeap;
                let (resource, range) = self.heaps.place(heaps, request, placed, own_heap)?;
                let placement = if range.has_own_heap() { Placement::OwnHeap } else { Placement::SharedHeap };
                let decision = PlacementDecision::new(placement, reason);
                Ok(ResourceAllocation::placed(resource, range, width(placed), granted, decision))
            }
            Attempt::Committed(heaps, requirements, decision) => {
                let made = self.heaps.commit(heaps, request, requirements)?;
                Ok(ResourceAllocation::standalone(made, width(requirements), granted, decision))
            }
        }
    }

    /// Frees the deferred allocations whose fence value is reached if memory is short. Returns whether there are any.
    #[cold]
    pub(crate) fn frees_deferred_after(&self, refusal: &Refusal) -> bool {
        refusal.is_shortage() && self.deferred.collect() > 0
    }

    /// Creates a resource after deferred allocations were freed, or in heaps that were not granted first, or returns the error.
    #[cold]
    fn create_elsewhere(
        &self,
        request: &ResourceRequest<'_>,
        mut refusal: Refusal,
    ) -> Result<ResourceAllocation, Error> {
        if self.frees_deferred_after(&refusal) {
            match self.create_later(request) {
                Ok(made) => return Ok(made),
                Err(other) => refusal = other,
            }
        }
        match self.create_attributed(request, &refusal) {
            Some(made) => Ok(made),
            None => self.in_other_heaps(request, refusal, |request| self.create_later(request)),
        }
    }

    /// Calls `attempt` with the placements that a resource may have in the granted heaps, in order, until one succeeds.
    #[inline(always)]
    pub(crate) fn in_order<T>(
        &self,
        request: &ResourceRequest<'_>,
        mut attempt: impl FnMut(Attempt<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        if let Some((size, alignment)) = part_of(request, self.desc().extra_required_resource_flags) {
            match attempt(Attempt::Within(size, alignment)) {
                // There is no memory for a backing buffer; the buffer itself may be smaller.
                Err(refusal) if refusal.fatal.is_none() => {}
                made => return made,
            }
        }
        self.check(request)?;
        let requested = request.requested();
        let placed = self.requirements.requirements(&requested, Creation::Placed)?;
        self.check_asked(request, placed.size)?;
        let class = ResourceClass::of(&placed.desc, &self.heaps.caps);
        let heaps = match request.allocation.pool {
            None => self.heaps.of(request.granted.family, class),
            Some(pool) => {
                pool.check_holds(class)?;
                &pool.heaps
            }
        };
        let always_committed = self.desc().flags.contains(ResourceAllocatorFlags::ALWAYS_COMMITTED);
        let facts = request.facts(heaps.desc.heap.Flags, always_committed, heaps.is_dedicated());
        let mut refusal = Refusal::default();
        let mut not_committed = None;
        for decision in order(&facts).into_iter().flatten() {
            let made = match decision {
                PlacementDecision { placement: Placement::Committed, .. } => {
                    let requirements = self.requirements.requirements(&requested, Creation::Committed);
                    requirements.map_err(Refusal::from).and_then(|requirements| {
                        // Committed, it may be larger than placed.
                        self.check_asked(request, requirements.size)?;
                        attempt(Attempt::Committed(heaps, &requirements, decision))
                    })
                }
                // If shared heaps have no memory, a heap of its own has none either. Exception: a resource that is too
                // large to share, or that the algorithm rounds up, fits better alone.
                PlacementDecision { reason: PlacementReason::TooLargeToShare, .. }
                    if !refusal.is_about_size() =>
                {
                    continue;
                }
                decision => attempt(Attempt::Placed(heaps, &placed, decision)),
            };
            match made {
                Ok(made) => return Ok(made),
                Err(other) => refusal.append(other),
            }
            if decision.placement == Placement::Committed && facts.prefer_committed {
                // Committed was only preferred. The error is reported unless another placement has one.
                not_committed = refusal.fatal.take();
            }
            if refusal.fatal.is_some() {
                break;
            }
        }
        refusal.fatal = refusal.fatal.or(not_committed);
        Err(refusal)
    }

    /// Returns the source of backing buffers for a request.
    #[inline]
    pub(crate) fn backing<'a>(&'a self, request: &'a ResourceRequest<'a>) -> BackingSource<'a> {
        BackingSource { heaps: &self.heaps, requirements: &self.requirements, part: request }
    }

    /// Calls `attempt` with the other granted heaps after the first had no memory. Returns the error if none succeeds.
    #[cold]
    pub(crate) fn in_other_heaps<T>(
        &self,
        first: &ResourceRequest<'_>,
        mut refusal: Refusal,
        attempt: impl Fn(&ResourceRequest<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Error> {
        if refusal.is_shortage() && first.allocation.pool.is_none() {
            let preference = self.heap_types_of(first.allocation, first.resource);
            let attributes = self.attributes(first.allocation, first.resource);
            for granted in self.heaps.families.grants(&preference, attributes).skip(1) {
                match attempt(&ResourceRequest { granted, ..*first }) {
                    Ok(made) => return Ok(made),
                    Err(other) if other.is_shortage() => refusal.attempts.extend(other.attempts),
                    // An alternative heap type that the resource cannot use does not change the result of the first.
                    Err(other) if other.fatal.as_ref().is_some_and(Error::is_invalid_argument) => {}
                    Err(other) => {
                        refusal = other;
                        break;
                    }
                }
            }
        }
        let requested = || {
            let placed = self.requirements.requirements(&first.requested(), Creation::Placed);
            placed.map_or(ByteSize::new(first.resource.desc.Width), |placed| placed.size)
        };
        let requested = if refusal.fatal.is_some() { ByteSize::ZERO } else { requested() };
        let never_fallback = first.allocation.flags.contains(ResourceAllocationFlags::NEVER_FALLBACK);
        Err(self.refused(first.granted.heap_type, requested, refusal, never_fallback))
    }

    /// Checks the rules that require no call of the device.
    #[inline]
    fn check(&self, request: &ResourceRequest<'_>) -> Result<(), Error> {
        let ResourceRequest { allocation, resource, granted, .. } = request;
        let devices = &self.heaps.source.devices;
        check_interfaces(devices, &self.caps, resource)?;
        let field = "ResourceAllocationDesc::extra_required_heap_flags";
        devices.check_heap_flags(allocation.extra_required_heap_flags, field)?;
        let asked = match allocation.pool {
            Some(_) => granted.family,
            None => HeapFamily::Type(granted.heap_type),
        };
        check_initial_state(asked, resource.desc.Dimension, resource.initial_state)?;
        if let Some(pool) = allocation.pool {
            if !pool.is_of(&self.heaps.source) {
                let rule = format!("pool \"{}\" belongs to another allocator", pool.name());
                return Err(Error::invalid_argument("ResourceAllocationDesc::pool", rule));
            }
            let foreign =
                foreign_heap_flags(allocation.extra_required_heap_flags, pool.heaps.desc.heap.Flags);
            if foreign != 0 {
                // Outside of a pool, the resource is committed.
                let rule = format!("flags {foreign:#x} are not set on the pool's heaps");
                return Err(Error::invalid_argument(field, rule));
            }
            let heap_type = pool.heap_type();
            if let Some(asked) = allocation.heap_type.filter(|asked| !asked.heap_types().contains(&heap_type))
            {
                let rule =
                    format!("{asked} does not match the heap type {heap_type} of pool \"{}\"", pool.name());
                return Err(Error::invalid_argument("ResourceAllocationDesc::heap_type", rule));
            }
        }
        Ok(())
    }

    /// Returns whether a new allocation is counted, listed or charged.
    #[inline]
    fn is_entered(&self, request: &ResourceRequest<'_>, decision: PlacementDecision) -> bool {
        let special = ResourceAllocationFlags::NEVER_RESIDENT
            .union(ResourceAllocationFlags::ALWAYS_WARN_ON_ALIGNMENT_MISMATCH);
        decision.reason != PlacementReason::Usual
            || self.desc().flags.contains(ResourceAllocatorFlags::NEVER_LEAK)
            || self.has_limits_in_unified_memory()
            || request.allocation.user_data != 0
            || request.allocation.flags.intersects(special)
    }

    /// Counts and lists a new allocation where necessary.
    #[cold]
    pub(crate) fn enter(&self, made: &mut ResourceAllocation, request: &ResourceRequest<'_>) {
        let &ResourceAllocationDesc { flags, user_data, .. } = request.allocation;
        let decision = made.decision();
        self.decisions.count(decision);
        let is_listed = self.desc().flags.contains(ResourceAllocatorFlags::NEVER_LEAK)
            || matches!(decision.placement, Placement::Committed | Placement::Imported);
        if is_listed {
            made.set_live_entry(self.live.add(LiveAllocation {
                size: made.size(),
                heap_type: request.granted.heap_type,
                placement: decision.placement,
                is_buffer: request.resource.is_buffer(),
                name: None,
                user_data,
            }));
        }
        if user_data != 0 {
            made.set_label(Label { user_data, ..Label::default() });
        }
        if flags.contains(ResourceAllocationFlags::NEVER_RESIDENT) {
            made.set_never_resident();
        }
        if flags.contains(ResourceAllocationFlags::ALWAYS_WARN_ON_ALIGNMENT_MISMATCH) {
            warn_on_mismatch(made, request.resource);
        }
    }

    /// Converts a refusal to an error.
    pub(crate) fn refused(
        &self,
        heap_type: HeapType,
        requested: ByteSize,
        refusal: Refusal,
        never_fallback: bool,
    ) -> Error {
        if let Some(fatal) = refusal.fatal {
            return fatal;
        }
        let totals = self.totals_of(heap_type);
        Error::out_of_memory(Shortage {
            requested,
            heap_type,
            reserved: totals.reserved,
            used: totals.used,
            video_memory: self.heaps.source.video_memory(self.caps.segment_group(heap_type)),
            attempts: refusal.attempts,
            never_fallback,
        })
    }
}

/// Returns whether the heap must keep the requested type.
#[inline]
pub(crate) fn always_attribute(allocation: &ResourceAllocationDesc<'_>) -> bool {
    // Memory that the CPU can access, such as unified memory, cannot have these flags.
    let without_cpu =
        D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER | D3D12_HEAP_FLAG_ALLOW_DISPLAY;
    // A pool's heaps have the pool's type, whatever the allocator's heaps are.
    allocation.pool.is_some()
        || allocation.flags.contains(ResourceAllocationFlags::ALWAYS_ATTRIBUTE_HEAPS)
        || allocation.extra_required_heap_flags & without_cpu != 0
}

/// Logs a warning when an allocation takes more than a buffer's width or a texture's texels.
fn warn_on_mismatch(made: &ResourceAllocation, resource: &ResourceDesc<'_>) {
    let (size, alignment) = (made.info().size, made.alignment());
    let asked = if resource.is_buffer() {
        ByteSize::new(resource.desc.Width)
    } else {
        texel_bytes(&resource.desc).unwrap_or(size)
    };
    if size > asked || (resource.desc.Alignment != 0 && alignment.get() > resource.desc.Alignment) {
        tracing::warn!(
            %asked,
            %size,
            alignment = alignment.get(),
            "the allocation is larger than what was asked for"
        );
    }
}
