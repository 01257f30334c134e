//! The path of one allocation, from the request to the result.

use std::sync::Weak;

use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;

use super::allocation::{Memory, ResourceAllocation};
use super::inner::Inner;
use super::request::{BareMemory, Resolved, ResourceAllocationDesc, ResourceRequest};
use crate::buffers::{BackingSource, BufferRange};
use crate::desc::{ResourceAllocationFlags, ResourceAllocatorFlags, ResourceDesc};
use crate::error::{Holder, Refusal, Shortage};
use crate::heaps::Nearness;
use crate::request::{
    Creation, GrantedHeaps, Placement, PlacementDecision, PlacementReason, ResourceRequirements, texel_bytes,
};
use crate::source::{Account, Charged, Listed, Owner, next_number};
use crate::{Error, HeapType};

/// The decision for a part of a buffer.
pub(crate) const WITHIN: PlacementDecision =
    PlacementDecision::new(Placement::WithinResource, PlacementReason::Usual);

impl Inner {
    /// Creates a resource and the memory for it, or only the memory.
    pub(crate) fn create(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
        memory: Option<&BareMemory>,
    ) -> Result<ResourceAllocation, Error> {
        if allocation.custom_heap.is_some() {
            return self.in_custom_heaps(allocation, resource, |allocation| {
                self.create(allocation, resource, memory)
            });
        }
        let create = || {
            let request = self.request(allocation, resource, memory)?;
            self.count_creation();
            self.create_first(&request).or_else(|refusal| self.create_elsewhere(&request, refusal))
        };
        match &self.heaps.source.recording {
            None => create(),
            Some(recording) => self.create_recorded(recording, allocation, resource, memory, create),
        }
    }

    /// Counts a creation, of which every so many look for idle memory.
    #[inline]
    pub(crate) fn count_creation(&self) {
        if self.heaps.source.clock.is_due() {
            self.pass_operations();
        }
    }

    /// Creates a resource in the granted heaps, or as a part of a buffer if it may be one.
    #[inline(always)]
    fn create_first(&self, request: &ResourceRequest<'_>) -> Result<ResourceAllocation, Refusal> {
        if let Some(part) = self.part_of(request) {
            let is_usual = !self.is_entered(request, WITHIN);
            let at_hand = if is_usual { self.part_at_hand(request, part) } else { None };
            if let Some(made) = at_hand {
                return Ok(made);
            }
            if let Some(made) = self.part(request, part) {
                return made;
            }
        }
        let resolved = self.resolve(request)?;
        let refusal = match resolved.order[0] {
            Some(decision)
                if decision.placement == Placement::SharedHeap && !self.is_entered(request, decision) =>
            {
                match self.place(&resolved, decision) {
                    Ok(made) => return Ok(made),
                    Err(refusal) => Some(refusal),
                }
            }
            _ => None,
        };
        self.create_in_order(&resolved, refusal)
    }

    /// Returns whether an allocation is counted, listed or charged.
    #[inline]
    fn is_entered(&self, request: &ResourceRequest<'_>, decision: PlacementDecision) -> bool {
        let &ResourceAllocationDesc { flags, user_data, .. } = request.allocation;
        let special = ResourceAllocationFlags::NEVER_RESIDENT
            .union(ResourceAllocationFlags::ALWAYS_WARN_ON_ALIGNMENT_MISMATCH);
        let is_usual = decision.reason == PlacementReason::Usual && !flags.intersects(special);
        self.enters_all || user_data != 0 || !is_usual
    }

    /// Counts, lists and charges a new allocation where necessary.
    #[cold]
    fn entered(
        &self,
        mut made: ResourceAllocation,
        request: &ResourceRequest<'_>,
    ) -> Result<ResourceAllocation, Refusal> {
        if self.is_entered(request, made.decision()) {
            if self.enters_all {
                self.charge_asked(&mut made, request)?;
            }
            self.enter(&mut made, request);
        }
        Ok(made)
    }

    /// As [`create_first`](Self::create_first), in heaps that were granted later, or after memory was freed.
    #[cold]
    pub(super) fn create_in(&self, request: &ResourceRequest<'_>) -> Result<ResourceAllocation, Refusal> {
        self.create_first(request)
    }

    /// Creates a part of an existing buffer that has a free range at hand.
    #[inline(always)]
    fn part_at_hand(
        &self,
        request: &ResourceRequest<'_>,
        (size, alignment): (ByteSize, Alignment),
    ) -> Option<ResourceAllocation> {
        let range = self.buffers.of(&request.granted).take_at_hand(size, alignment)?;
        Some(within(range, request))
    }

    /// Creates a part of a buffer. Returns `None` if there is no memory for a backing buffer: the resource itself may
    /// be smaller.
    ///
    /// Deferred allocations are not freed for it: the heap in which the resource itself fits could leave with them.
    #[cold]
    fn part(
        &self,
        request: &ResourceRequest<'_>,
        (size, alignment): (ByteSize, Alignment),
    ) -> Option<Result<ResourceAllocation, Refusal>> {
        let permitted = self.check_asked(request, size);
        let buffers = self.buffers.of(&request.granted);
        match permitted.and_then(|()| buffers.take(size, alignment, &self.backing(request))) {
            Err(refusal) if refusal.fatal.is_none() => None,
            taken => Some(taken.and_then(|range| self.entered(within(range, request), request))),
        }
    }

    /// Places a resource in a shared heap or in one of its own.
    #[inline(always)]
    fn place(
        &self,
        resolved: &Resolved<'_>,
        decision: PlacementDecision,
    ) -> Result<ResourceAllocation, Refusal> {
        let &Resolved { request, heaps, ref placed, .. } = resolved;
        let alone;
        let asked = if decision.placement == Placement::OwnHeap {
            alone = resolved.alone();
            &alone
        } else {
            &resolved.shared
        };
        let range = self.heaps.take(heaps, asked, request.allocation.flags)?;
        let (resource, width) = if request.memory.is_some() {
            (None, 0)
        } else {
            if let Some(prefetcher) = &self.heaps.prefetcher {
                self.heaps.prefetch_after(prefetcher, heaps, asked, request.allocation.flags);
            }
            (Some(range.create_resource(request.resource, &placed.desc)?), buffer_width(&placed.desc))
        };
        let memory = Memory::Placed { resource, range };
        Ok(ResourceAllocation::new(memory, width, &request.granted, decision))
    }

    /// Tries the placements in order. `first` is the refusal of the first one, if that was tried.
    #[cold]
    fn create_in_order(
        &self,
        resolved: &Resolved<'_>,
        mut first: Option<Refusal>,
    ) -> Result<ResourceAllocation, Refusal> {
        let request = resolved.request;
        self.check_asked(request, resolved.placed.size)?;
        let made = self.in_order(resolved, |decision, requirements| {
            let attempt = || match decision.placement {
                Placement::Committed => {
                    let flags = request.allocation.extra_required_heap_flags;
                    let (heaps, allocation_flags) = (resolved.heaps, request.allocation.flags);
                    let (resource, what) = (request.resource, Charged::Committed);
                    let made =
                        self.heaps.commit(heaps, resource, requirements, what, flags, allocation_flags)?;
                    let width = buffer_width(&requirements.desc);
                    let memory = Memory::Standalone(Box::new(made));
                    Ok(ResourceAllocation::new(memory, width, &request.granted, decision))
                }
                _ => self.place(resolved, decision),
            };
            let mut tried = || first.take().map_or_else(attempt, Err);
            // What a fallback or a mere preference releases could have served the other placements, and so could the
            // heaps that leave when deferred allocations are freed for it.
            let is_optional = decision.placement == Placement::Committed
                && (decision.is_fallback()
                    || request.allocation.flags.contains(ResourceAllocationFlags::PREFER_COMMITTED));
            if is_optional {
                return tried();
            }
            let account = resolved.heaps.desc.account();
            self.heaps.with_device_room(Nearness::FIRST, account, || self.retried(&mut tried))
        })?;
        self.entered(made, request)
    }

    /// Calls `attempt`, and again if memory is short and the fence values of deferred allocations are reached, which
    /// are freed.
    pub(crate) fn retried<T>(&self, mut attempt: impl FnMut() -> Result<T, Refusal>) -> Result<T, Refusal> {
        match attempt() {
            Err(refusal) if refusal.is_shortage() && self.deferred.collect() > 0 => attempt(),
            made => made,
        }
    }

    /// Creates a resource after deferred allocations were freed, in heaps that were not granted first, or after empty
    /// heaps were released because the device has no memory; or returns the error.
    #[cold]
    fn create_elsewhere(
        &self,
        request: &ResourceRequest<'_>,
        refusal: Refusal,
    ) -> Result<ResourceAllocation, Error> {
        let mut first = Some(refusal);
        let GrantedHeaps { heap_type, segment_group: group, .. } = request.granted;
        let account = Account { heap_type, group };
        let made = self.heaps.with_device_room(Nearness::LAST, account, || {
            let made = self.retried(|| first.take().map_or_else(|| self.create_in(request), Err));
            made.or_else(|refusal| match self.create_attributed(request, &refusal) {
                Some(made) => Ok(made),
                None => self.in_other_heaps(request, refusal, |request| self.create_in(request)),
            })
        });
        made.map_err(|refusal| self.error_of(request, refusal))
    }

    /// Calls `attempt` with the placements and their requirements, in order, until one succeeds.
    pub(crate) fn in_order<T>(
        &self,
        resolved: &Resolved<'_>,
        mut attempt: impl FnMut(PlacementDecision, &ResourceRequirements) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let request = resolved.request;
        let mut refusal = Refusal::default();
        let mut not_committed = None;
        for mut decision in resolved.order.into_iter().flatten() {
            if decision.is_fallback() {
                decision.reason = refusal.reason();
            }
            let is_committed = decision.placement == Placement::Committed;
            // If shared heaps have no memory, a heap of its own has none either. Exception: a resource that is too
            // large to share, or that the algorithm rounds up, fits better alone.
            if decision.reason == PlacementReason::TooLargeToShare && !refusal.is_about_size() {
                continue;
            }
            let made = if is_committed {
                let (resource, uses) = (request.resource, request.allocation.uses);
                let requirements = self.requirements.requirements(resource, uses, Creation::Committed);
                requirements.map_err(Refusal::from).and_then(|requirements| {
                    // Committed, it may be larger than placed.
                    self.check_asked(request, requirements.size)?;
                    attempt(decision, &requirements)
                })
            } else {
                attempt(decision, &resolved.placed)
            };
            match made {
                Ok(made) => return Ok(made),
                Err(other) => refusal.append(other),
            }
            if is_committed && request.allocation.flags.contains(ResourceAllocationFlags::PREFER_COMMITTED) {
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
    pub(crate) fn backing<'a>(&'a self, request: &ResourceRequest<'a>) -> BackingSource<'a> {
        let (granted, flags) = (request.granted, request.allocation.flags);
        BackingSource { heaps: &self.heaps, requirements: &self.requirements, granted, flags }
    }

    /// Calls `attempt` with the other granted heaps after the first had no memory.
    #[cold]
    pub(crate) fn in_other_heaps<T>(
        &self,
        first: &ResourceRequest<'_>,
        mut refusal: Refusal,
        attempt: impl Fn(&ResourceRequest<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
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
        Err(refusal)
    }

    /// Converts the refusal of a request to an error.
    #[cold]
    pub(crate) fn error_of(&self, request: &ResourceRequest<'_>, refusal: Refusal) -> Error {
        let requested = || {
            let ResourceRequest { allocation, resource, .. } = request;
            let placed = self.requirements.requirements(resource, allocation.uses, Creation::Placed);
            placed.map_or(ByteSize::new(resource.desc.Width), |placed| placed.size)
        };
        let requested = if refusal.fatal.is_some() { ByteSize::ZERO } else { requested() };
        let never_fallback = request.allocation.flags.contains(ResourceAllocationFlags::NEVER_FALLBACK);
        self.refused(request.granted.heap_type, requested, refusal, never_fallback)
    }

    /// Counts and lists a new allocation where necessary.
    #[cold]
    pub(super) fn enter(&self, made: &mut ResourceAllocation, request: &ResourceRequest<'_>) {
        let &ResourceAllocationDesc { flags, user_data, .. } = request.allocation;
        let decision = made.decision();
        self.decisions.count(decision);
        let is_listed = self.desc().flags.contains(ResourceAllocatorFlags::NEVER_LEAK)
            || matches!(decision.placement, Placement::Committed | Placement::Imported);
        if is_listed {
            made.list(Listed {
                number: next_number(),
                size: made.size(),
                heap_type: request.granted.heap_type,
                placement: decision.placement,
                is_buffer: request.resource.is_buffer(),
            });
        }
        if user_data != 0 {
            made.set_user_data(user_data);
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
        let holder = Holder(Weak::<dyn Owner>::clone(&self.heaps.source.owner));
        Error::out_of_memory(Shortage {
            requested,
            heap_type,
            holder,
            attempts: refusal.attempts,
            never_fallback,
        })
    }
}

/// Returns a part of a buffer as an allocation.
#[inline(always)]
fn within(range: BufferRange, request: &ResourceRequest<'_>) -> ResourceAllocation {
    let (memory, width) = (Memory::Within(range), request.resource.desc.Width);
    ResourceAllocation::new(memory, width, &request.granted, WITHIN)
}

/// Returns the width of a buffer, in bytes; zero for textures.
#[inline]
fn buffer_width(desc: &D3D12_RESOURCE_DESC) -> u64 {
    if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER { desc.Width } else { 0 }
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
