//! The path of one allocation, from the request to the result.

use std::sync::Arc;

use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;

use super::allocation::ResourceAllocation;
use super::allocation_desc::ResourceAllocationDesc;
use super::inner::Inner;
use super::report::LiveAllocation;
use crate::buffers::{BackingSource, BufferRange, part_of};
use crate::desc::{ResourceAllocationFlags, ResourceAllocatorFlags, ResourceDesc};
use crate::error::Shortage;
use crate::heaps::{Label, PlacedRange, TypedHeaps};
use crate::request::order;
use crate::request::{
    Constraints, Creation, Facts, HeapFamily, Placement, PlacementDecision, PlacementReason, ResourceClass,
    ResourceRequest, ResourceRequirements, check_initial_state, texel_bytes,
};
use crate::source::{Refusal, check_interfaces};
use crate::{Error, HeapType};

/// A placement to try.
pub(crate) enum Attempt<'a> {
    /// A part of a buffer, with this size and alignment.
    Within(ByteSize, Alignment),
    /// In a shared heap or in a heap of its own.
    Placed(&'a Arc<TypedHeaps>, &'a ResourceRequirements, PlacementDecision),
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
    pub(crate) fn create_unrecorded(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
    ) -> Result<ResourceAllocation, Error> {
        let request = self.request(allocation, resource)?;
        if self.heaps.source.clock.is_due() {
            self.pass_operations();
            if self.heaps.source.recording.is_some() {
                self.pass_time();
            }
        }
        let granted = &request.granted;
        if !self.is_recorded(allocation) {
            if let Some(range) = self.take_part(&request) {
                return Ok(ResourceAllocation::within(range, resource.desc.Width, granted));
            }
            match self.place_usual(allocation, &request) {
                Some(Ok((resource, range))) => {
                    let decision = PlacementDecision::new(Placement::SharedHeap, PlacementReason::Usual);
                    let width = request.resource.desc.Width;
                    return Ok(ResourceAllocation::placed(resource, range, width, granted, decision));
                }
                Some(Err(refusal)) => return self.create_after(allocation, &request, Some(refusal)),
                None => {}
            }
        }
        self.create_after(allocation, &request, None)
    }

    /// Checks a request and selects the heaps that are granted to it.
    #[inline]
    pub(crate) fn request<'a>(
        &self,
        allocation: &ResourceAllocationDesc<'a>,
        resource: &'a ResourceDesc<'a>,
    ) -> Result<ResourceRequest<'a>, Error> {
        allocation.check()?;
        let source = &self.heaps.source;
        let within_budget = allocation.flags.contains(ResourceAllocationFlags::WITHIN_BUDGET);
        if within_budget && source.adapter.is_none() && source.residency.is_none() {
            let rule = "WITHIN_BUDGET requires an adapter or a residency manager";
            return Err(Error::invalid_argument("ResourceAllocationDesc::flags", rule));
        }
        let Some(granted) = self.first_granted(allocation, resource) else {
            let preference = self.heap_types_of(allocation, resource);
            return Err(Error::unsupported(format!("{preference} heaps on this device")));
        };
        let constraints = Constraints {
            may_create_heap: !allocation.flags.contains(ResourceAllocationFlags::NEVER_ALLOCATE_HEAP),
            within_budget: within_budget || source.is_always_in_budget(),
            never_resident: allocation.flags.contains(ResourceAllocationFlags::NEVER_RESIDENT),
        };
        Ok(ResourceRequest {
            resource,
            flags: allocation.flags,
            heap_flags: allocation.extra_required_heap_flags,
            padding: allocation.extra_required_resource_padding,
            strategy: allocation.strategy,
            uses: allocation.uses,
            is_in_pool: allocation.pool.is_some(),
            granted,
            constraints,
        })
    }

    /// Takes a part of an existing buffer that has a free range at hand. This is the common case. Returns `None` in all
    /// other cases, including refusals.
    #[inline(always)]
    fn take_part(&self, request: &ResourceRequest<'_>) -> Option<BufferRange> {
        if !request.flags.contains(ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE) {
            return None;
        }
        let (size, alignment) = part_of(request, self.desc().extra_required_resource_flags)?;
        self.buffers.of(&request.granted).take(size, alignment)
    }

    /// Places a buffer in the usual way: in a shared heap of the allocator.
    ///
    /// Returns `None` if another placement has precedence, or if the size of the buffer is not known.
    #[inline(always)]
    fn place_usual(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        request: &ResourceRequest<'_>,
    ) -> Option<Result<(ID3D12Resource, PlacedRange), Refusal>> {
        let within = ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE;
        if request.is_in_pool || request.flags.contains(within) {
            return None;
        }
        if let Err(error) = self.check(allocation, request) {
            return Some(Err(error.into()));
        }
        let placed = self.requirements.remembered(&request.requested())?;
        let heaps = self.heaps.of(request.granted.family, ResourceClass::Buffer);
        let usual = PlacementDecision::new(Placement::SharedHeap, PlacementReason::Usual);
        if order(&self.facts(request, heaps))[0] != Some(usual) {
            return None;
        }
        Some(self.heaps.place_at_hand(heaps, request, &placed))
    }

    /// Creates a resource when the usual placement was not possible or was refused.
    #[inline(never)]
    fn create_after(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        request: &ResourceRequest<'_>,
        tried: Option<Refusal>,
    ) -> Result<ResourceAllocation, Error> {
        self.pass_time();
        let made = match tried {
            Some(refusal) if refusal.fatal.is_some() => Err(refusal),
            Some(refusal) if !self.frees_deferred_after(&refusal) => {
                self.create_in(allocation, request, Some(refusal))
            }
            _ => self.with_deferred_frees(|| self.create_in(allocation, request, None)),
        };
        made.or_else(|refusal| {
            if let Some(made) = self.create_attributed(allocation, request, &refusal) {
                return Ok(made);
            }
            self.in_other_heaps(allocation, request, refusal, |request| {
                self.create_in(allocation, request, None)
            })
        })
    }

    /// Calls `attempt` with the other granted heaps after the first had no memory. Returns the error if none succeeds.
    #[cold]
    pub(crate) fn in_other_heaps<T>(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        first: &ResourceRequest<'_>,
        mut refusal: Refusal,
        attempt: impl Fn(&ResourceRequest<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Error> {
        if refusal.is_shortage() && !first.is_in_pool {
            let preference = self.heap_types_of(allocation, first.resource);
            let attributes = self.attributes(allocation, first.resource);
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
        let never_fallback = first.flags.contains(ResourceAllocationFlags::NEVER_FALLBACK);
        Err(self.refused(first.granted.heap_type, requested, refusal, never_fallback))
    }

    /// Creates a resource in heaps of one kind. `tried` is the refusal of the usual placement, if it was tried.
    pub(crate) fn create_in(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        request: &ResourceRequest<'_>,
        tried: Option<Refusal>,
    ) -> Result<ResourceAllocation, Refusal> {
        let granted = &request.granted;
        let attempt = |attempt: &Attempt<'_>| match *attempt {
            Attempt::Within(size, alignment) => {
                let (buffers, width) = (self.buffers.of(granted), request.resource.desc.Width);
                let part = buffers.allocate(size, alignment, &self.backing(request))?;
                Ok(ResourceAllocation::within(buffers.range(part, alignment), width, granted))
            }
            Attempt::Placed(heaps, placed, PlacementDecision { placement, reason }) => {
                let own_heap = placement == Placement::OwnHeap;
                let (resource, range) = self.heaps.place(heaps, request, placed, own_heap)?;
                let placement = if range.has_own_heap() { Placement::OwnHeap } else { Placement::SharedHeap };
                let decision = PlacementDecision::new(placement, reason);
                let width = if request.resource.is_buffer() { placed.desc.Width } else { 0 };
                Ok(ResourceAllocation::placed(resource, range, width, granted, decision))
            }
            Attempt::Committed(heaps, requirements, decision) => {
                let made = self.heaps.commit(heaps, request, requirements)?;
                let width = if request.resource.is_buffer() { requirements.desc.Width } else { 0 };
                Ok(ResourceAllocation::standalone(made, width, granted, decision))
            }
        };
        let mut made = self.in_order(allocation, request, tried, |placement| {
            self.with_deferred_frees(|| attempt(&placement))
        })?;
        self.charge_asked(&mut made, request)?;
        self.record(&mut made, request, allocation.user_data);
        Ok(made)
    }

    /// Makes an attempt. If memory is short, frees the deferred allocations whose fence value is reached, and makes the attempt again
    /// if there are any.
    pub(crate) fn with_deferred_frees<T>(
        &self,
        attempt: impl Fn() -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        attempt()
            .or_else(|refusal| if self.frees_deferred_after(&refusal) { attempt() } else { Err(refusal) })
    }

    /// Frees the deferred allocations whose fence value is reached if memory is short. Returns whether there are any.
    fn frees_deferred_after(&self, refusal: &Refusal) -> bool {
        refusal.is_shortage() && self.deferred.collect() > 0
    }

    /// Calls `attempt` with the placements that a resource may have, in order, in heaps of one kind. `tried` is the
    /// refusal of the usual placement, if it was tried.
    pub(crate) fn in_order<T>(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        request: &ResourceRequest<'_>,
        tried: Option<Refusal>,
        attempt: impl Fn(Attempt<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let within = ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE;
        if tried.is_none() && request.flags.contains(within) {
            if let Some((size, alignment)) = part_of(request, self.desc().extra_required_resource_flags) {
                match attempt(Attempt::Within(size, alignment)) {
                    // There is no memory for a backing buffer; the buffer itself may be smaller.
                    Err(refusal) if refusal.fatal.is_none() => {}
                    made => return made,
                }
            }
        }
        self.check(allocation, request)?;
        let requested = request.requested();
        let placed = self.requirements.requirements(&requested, Creation::Placed)?;
        self.check_asked(request, placed.size)?;
        let class = ResourceClass::of(&placed.desc, &self.heaps.caps);
        let heaps = match allocation.pool {
            None => self.heaps.of(request.granted.family, class),
            Some(pool) => {
                pool.check_holds(class)?;
                &pool.heaps
            }
        };
        let facts = self.facts(request, heaps);
        let mut order = order(&facts);
        if tried.is_some() {
            order[0] = None;
        }
        let mut refusal = tried.unwrap_or_default();
        let mut not_committed = None;
        for decision in order.into_iter().flatten() {
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

    #[inline]
    fn facts(&self, request: &ResourceRequest<'_>, heaps: &TypedHeaps) -> Facts {
        let always_committed = self.desc().flags.contains(ResourceAllocatorFlags::ALWAYS_COMMITTED);
        request.facts(heaps.desc.heap.Flags, always_committed, heaps.is_dedicated())
    }

    /// Returns the source of backing buffers for a request.
    pub(crate) fn backing(&self, request: &ResourceRequest<'_>) -> BackingSource<'_> {
        BackingSource {
            heaps: &self.heaps,
            requirements: &self.requirements,
            granted: request.granted,
            constraints: request.constraints,
        }
    }

    /// Checks the rules that require no call of the device.
    #[inline]
    pub(crate) fn check(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        request: &ResourceRequest<'_>,
    ) -> Result<(), Error> {
        let ResourceRequest { resource, granted, .. } = request;
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

    /// Returns whether an allocation that is placed in the usual way must be recorded.
    #[inline]
    fn is_recorded(&self, allocation: &ResourceAllocationDesc<'_>) -> bool {
        let special = ResourceAllocationFlags::NEVER_RESIDENT
            .union(ResourceAllocationFlags::ALWAYS_WARN_ON_ALIGNMENT_MISMATCH);
        self.desc().flags.contains(ResourceAllocatorFlags::NEVER_LEAK)
            || self.has_limits_in_unified_memory()
            || allocation.user_data != 0
            || allocation.flags.intersects(special)
    }

    /// Records a new allocation where necessary.
    pub(crate) fn record(
        &self,
        made: &mut ResourceAllocation,
        request: &ResourceRequest<'_>,
        user_data: u64,
    ) {
        let decision = made.info().decision;
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
        if request.flags.contains(ResourceAllocationFlags::NEVER_RESIDENT) {
            made.set_never_resident();
        }
        if request.flags.contains(ResourceAllocationFlags::ALWAYS_WARN_ON_ALIGNMENT_MISMATCH) {
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
