//! One allocation, from what is asked to what is held.

use std::sync::Arc;

use heapwright_core::ByteSize;
use heapwright_core::placement::PlacementRequest;
use heapwright_d3d12::*;

use super::accounts::Charged;
use super::allocation::{ResourceAllocation, Standalone};
use super::decision::{Decision, Placement, Reason};
use super::desc::{ResourceAllocationDesc, ResourceAllocationFlags, ResourceAllocatorFlags, ResourceDesc};
use super::device_resource::{Refused, check_interfaces, create_committed, create_placed};
use super::heap_source::{Refusal, Terms};
use super::notes::{LiveAllocation, Note};
use super::plan::GivenBack;
use super::residency::{NewMemory, create_managed, place_resident};
use super::typed_heaps::{PlacedRange, Sharing, TypedHeaps};
use super::ways::{Facts, Way, ways};
use super::within::alignment_within;
use super::{HeapType, Inner};
use crate::Error;
use crate::error::{self, Obstacle, Shortage};
use crate::heap_family::{GrantedHeaps, HeapFamily, check_initial_state};
use crate::requirements::{Creation, RequestedResource, ResourceClass, ResourceRequirements, texel_bytes};

/// What an allocation comes down to once it is checked.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    pub(super) allocation: &'a ResourceAllocationDesc<'a>,
    pub(super) resource: &'a ResourceDesc<'a>,
    pub(super) granted: GrantedHeaps,
    pub(super) terms: Terms,
}

impl Inner {
    /// Creates a resource and the memory for it.
    pub(super) fn create(
        self: &Arc<Self>,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
    ) -> Result<ResourceAllocation, Error> {
        allocation.check()?;
        self.check_budget_flag(allocation)?;
        let Some(granted) = self.first_granted(allocation, resource) else {
            let preference = self.heap_types_of(allocation, resource);
            return Err(Error::unsupported(format!("{preference} heaps on this device")));
        };
        let wanted = Wanted { allocation, resource, granted, terms: self.terms(allocation) };
        if allocation.flags.contains(ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE) {
            if let Some(range) = self.take_within(&wanted) {
                return Ok(ResourceAllocation::within(range, ByteSize::new(resource.desc.Width), &granted));
            }
        }
        match self.place_usual(&wanted) {
            Some(Ok((resource, range))) => {
                let decision = Decision::new(Placement::SharedHeap, Reason::Usual);
                let width = wanted.resource.desc.Width;
                Ok(ResourceAllocation::placed_buffer(resource, range, width, &granted, decision))
            }
            tried => self.create_after(&wanted, tried.and_then(Result::err)),
        }
    }

    /// The same, when the usual way was not open or met with a refusal.
    #[inline(never)]
    fn create_after(
        self: &Arc<Self>,
        wanted: &Wanted<'_>,
        tried: Option<Refusal>,
    ) -> Result<ResourceAllocation, Error> {
        match tried {
            Some(refusal) if refusal.fatal.is_some() => self.create_elsewhere(wanted, refusal),
            tried => self.create_in(wanted, tried).or_else(|refusal| self.create_elsewhere(wanted, refusal)),
        }
    }

    /// The same in the other heaps that are granted, after the first had no memory; or the error.
    #[cold]
    fn create_elsewhere(
        self: &Arc<Self>,
        first: &Wanted<'_>,
        mut refusal: Refusal,
    ) -> Result<ResourceAllocation, Error> {
        if let Some(made) = self.create_attributed(first, &refusal) {
            return Ok(made);
        }
        let Wanted { allocation, resource, granted: GrantedHeaps { heap_type, .. }, .. } = *first;
        if refusal.is_shortage() && allocation.pool.is_none() {
            let preference = self.heap_types_of(allocation, resource);
            for granted in
                self.heap_families.grants(&preference, self.attributes(allocation, resource)).skip(1)
            {
                match self.create_in(&Wanted { granted, ..*first }, None) {
                    Ok(allocation) => return Ok(allocation),
                    Err(other) if other.is_shortage() => refusal.attempts.extend(other.attempts),
                    // A second choice that is none for such a resource changes nothing about the first.
                    Err(other) if other.fatal.as_ref().is_some_and(Error::is_invalid_argument) => {}
                    Err(other) => {
                        refusal = other;
                        break;
                    }
                }
            }
        }
        let requested =
            if refusal.fatal.is_some() { ByteSize::ZERO } else { self.size_of(resource, allocation) };
        let never_fallback = allocation.flags.contains(ResourceAllocationFlags::NEVER_FALLBACK);
        Err(self.refused(heap_type, requested, refusal, never_fallback))
    }

    /// A budget is known only with an adapter.
    #[inline]
    pub(super) fn check_budget_flag(&self, allocation: &ResourceAllocationDesc<'_>) -> Result<(), Error> {
        let is_known = self.adapter.is_some() || self.residency.is_some();
        if allocation.flags.contains(ResourceAllocationFlags::WITHIN_BUDGET) && !is_known {
            let rule = "WITHIN_BUDGET needs the adapter, which says what the budget is";
            return Err(Error::invalid_argument("ResourceAllocationDesc::flags", rule));
        }
        Ok(())
    }

    #[inline]
    pub(super) fn terms(&self, allocation: &ResourceAllocationDesc<'_>) -> Terms {
        let never = ResourceAllocationFlags::NEVER_ALLOCATE_HEAP;
        Terms {
            may_create_heap: !allocation.flags.contains(never),
            within_budget: allocation.flags.contains(ResourceAllocationFlags::WITHIN_BUDGET)
                || self.is_always_in_budget(),
            never_resident: allocation.flags.contains(ResourceAllocationFlags::NEVER_RESIDENT),
        }
    }

    /// The same in heaps of one kind. `tried` is what the usual way met with, if that was tried.
    pub(super) fn create_in(
        self: &Arc<Self>,
        wanted: &Wanted<'_>,
        tried: Option<Refusal>,
    ) -> Result<ResourceAllocation, Refusal> {
        let Wanted { allocation, resource, granted, terms } = wanted;
        if tried.is_none()
            && allocation.flags.contains(ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE)
        {
            let extra_flags = self.desc.extra_required_resource_flags;
            if let Some(alignment) = alignment_within(granted, allocation, resource, extra_flags) {
                let size = ByteSize::new(resource.desc.Width);
                match self.allocate_within(granted, size, alignment, *terms) {
                    Ok(range) => {
                        let mut made = ResourceAllocation::within(range, size, granted);
                        self.charge_asked(&mut made, wanted)?;
                        self.note(&mut made, wanted);
                        return Ok(made);
                    }
                    Err(refusal) if refusal.fatal.is_some() => return Err(refusal),
                    // There is no memory for a backing buffer; the buffer itself may be smaller.
                    Err(_) => {}
                }
            }
        }
        self.check(wanted)?;
        let requested = self.requested(wanted);
        let placed = self.requirements.requirements(&requested, Creation::Placed)?;
        self.check_asked(wanted, placed.size)?;
        let heaps = self.heaps_for(wanted, &placed)?;
        let facts = self.facts(wanted, heaps);
        let mut ways = ways(&facts);
        if tried.is_some() {
            ways[0] = None;
        }
        let mut refusal = tried.unwrap_or_default();
        let mut not_committed = None;
        for (way, reason) in ways.into_iter().flatten() {
            let made = match way {
                Way::Committed => self.commit(wanted, heaps, &requested, reason),
                // What heaps that are shared have no room for, a heap of its own would be for, too; but one that is too
                // large to share, or that the algorithm rounds up, fits better alone.
                Way::Own if reason == Reason::TooLargeToShare && !refusal.is_about_size() => continue,
                Way::Own => self.place_resource(wanted, heaps, &placed, Sharing::Own, reason),
                Way::Shared => self.place_resource(wanted, heaps, &placed, Sharing::Shared, reason),
            };
            match made {
                Ok(mut made) => {
                    self.charge_asked(&mut made, wanted)?;
                    self.note(&mut made, wanted);
                    return Ok(made);
                }
                Err(other) => refusal.append(other),
            }
            if way == Way::Committed && facts.prefer_committed {
                // It was only preferred. Told unless another way says what is wrong.
                not_committed = refusal.fatal.take();
            }
            if refusal.fatal.is_some() {
                break;
            }
        }
        refusal.fatal = refusal.fatal.or(not_committed);
        Err(refusal)
    }

    /// The rules that need no answer from the device.
    #[inline]
    pub(super) fn check(&self, wanted: &Wanted<'_>) -> Result<(), Error> {
        let Wanted { allocation, resource, granted, .. } = wanted;
        check_interfaces(&self.devices, &self.caps, resource)?;
        let field = "ResourceAllocationDesc::extra_required_heap_flags";
        self.devices.check_heap_flags(allocation.extra_required_heap_flags, field)?;
        let asked = match allocation.pool {
            Some(_) => granted.family,
            None => HeapFamily::Type(granted.heap_type),
        };
        check_initial_state(asked, resource.desc.Dimension, resource.initial_state)?;
        if let Some(pool) = allocation.pool {
            if !pool.is_of(self) {
                let rule = format!("pool \"{}\" belongs to another allocator", pool.name());
                return Err(Error::invalid_argument("ResourceAllocationDesc::pool", rule));
            }
            let heap_type = pool.heap_type();
            if let Some(asked) = allocation.heap_type.filter(|asked| !asked.heap_types().contains(&heap_type))
            {
                let rule = format!("{asked} is not {heap_type}, the type of pool \"{}\"", pool.name());
                return Err(Error::invalid_argument("ResourceAllocationDesc::heap_type", rule));
            }
        }
        Ok(())
    }

    #[inline]
    pub(super) fn requested<'a>(&self, wanted: &Wanted<'a>) -> RequestedResource<'a> {
        RequestedResource {
            desc: wanted.resource.desc,
            castable_formats: wanted.resource.castable_formats,
            uses: wanted.allocation.uses,
        }
    }

    /// The heaps that a resource is placed in.
    #[inline]
    pub(super) fn heaps_for<'a>(
        &'a self,
        wanted: &Wanted<'a>,
        placed: &ResourceRequirements,
    ) -> Result<&'a Arc<TypedHeaps>, Error> {
        let class = ResourceClass::of(&placed.desc, &self.effective_caps);
        match wanted.allocation.pool {
            None => Ok(self.heaps(wanted.granted.family, class)),
            Some(pool) => {
                pool.check_holds(class)?;
                Ok(pool.heaps())
            }
        }
    }

    #[inline]
    pub(super) fn facts(&self, wanted: &Wanted<'_>, heaps: &TypedHeaps) -> Facts {
        let allocation = wanted.allocation;
        let has = |flags| allocation.flags.intersects(flags);
        let foreign = foreign_heap_flags(allocation.extra_required_heap_flags, heaps.desc.heap.Flags);
        if foreign != 0 && allocation.pool.is_none() {
            tracing::debug!("heap flags {foreign:#x} make the resource committed");
        }
        Facts {
            allocator_always_committed: self.desc.flags.contains(ResourceAllocatorFlags::ALWAYS_COMMITTED),
            always_committed: has(ResourceAllocationFlags::ALWAYS_COMMITTED)
                || wanted.resource.protected_session.is_some() && allocation.pool.is_none(),
            prefer_committed: has(ResourceAllocationFlags::PREFER_COMMITTED),
            foreign_heap_flags: foreign != 0 && allocation.pool.is_none(),
            own_heap: has(
                ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP | ResourceAllocationFlags::NEVER_RESIDENT
            ),
            never_allocate_heap: has(ResourceAllocationFlags::NEVER_ALLOCATE_HEAP),
            never_fallback: has(ResourceAllocationFlags::NEVER_FALLBACK),
            placed_only: allocation.pool.is_some() || !allocation.extra_required_resource_padding.is_zero(),
            dedicated: heaps.is_dedicated(),
        }
    }

    /// Which heaps a way to memory means on these terms.
    pub(super) fn sharing(&self, way: Sharing, terms: Terms) -> Sharing {
        if self.wants_unmanaged(terms) { Sharing::Unmanaged } else { way }
    }

    /// The bytes that a placed resource asks the heaps for.
    #[inline]
    pub(super) fn placement_request(
        &self,
        wanted: &Wanted<'_>,
        heaps: &TypedHeaps,
        placed: &ResourceRequirements,
        sharing: Sharing,
    ) -> Result<PlacementRequest, Error> {
        let padding = wanted.allocation.extra_required_resource_padding;
        let alignment = placed.alignment.max(heaps.desc.min_alignment);
        // A multiple of the alignment: a move of a defragmentation relies on it.
        let size = placed.size.checked_add(padding).and_then(|size| size.align_up(alignment));
        let size = size.ok_or_else(|| {
            let rule = format!("{padding} beyond {} have more than 64 bits", placed.size);
            Error::too_large("ResourceAllocationDesc::extra_required_resource_padding", rule)
        })?;
        let width = ByteSize::new(if wanted.resource.is_buffer() { placed.desc.Width } else { u64::MAX });
        let rounding = size.saturating_sub(width.saturating_add(padding));
        Ok(PlacementRequest {
            rounding: if rounding.get() < alignment.get() { rounding } else { ByteSize::ZERO },
            strategy: wanted.allocation.strategy,
            own_heap: sharing != Sharing::Shared,
            upper: wanted.allocation.flags.contains(ResourceAllocationFlags::UPPER_ADDRESS),
            cache_size: wanted.allocation.flags.contains(ResourceAllocationFlags::ALWAYS_CACHE_SIZE),
            ..PlacementRequest::new(size, alignment)
        })
    }

    fn place_resource(
        &self,
        wanted: &Wanted<'_>,
        heaps: &Arc<TypedHeaps>,
        placed: &ResourceRequirements,
        sharing: Sharing,
        reason: Reason,
    ) -> Result<ResourceAllocation, Refusal> {
        check_heap_flags(wanted, heaps)?;
        let sharing = self.sharing(sharing, wanted.terms);
        let request = self.placement_request(wanted, heaps, placed, sharing)?;
        let range = self.place(heaps, sharing, &request, wanted.terms)?;
        self.prefetch_after(heaps, sharing, &request, wanted.allocation.flags);
        let resource = self.create_placed(&range, wanted.resource, placed)?;
        let placement = if range.has_own_heap() { Placement::OwnHeap } else { Placement::SharedHeap };
        let decision = Decision::new(placement, reason);
        Ok(ResourceAllocation::placed(resource, range, &placed.desc, &wanted.granted, decision))
    }

    /// The usual way of a buffer: in a heap of the allocator's own that others share.
    ///
    /// `None` when another way comes first, when there is something to note, or when it is not known what the buffer takes;
    /// [`create_in`](Self::create_in) is for that.
    #[inline(always)]
    fn place_usual(&self, wanted: &Wanted<'_>) -> Option<Result<(ID3D12Resource, PlacedRange), Refusal>> {
        let Wanted { allocation, resource, granted, terms } = wanted;
        let within = ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE;
        if allocation.pool.is_some() || allocation.flags.contains(within) || self.is_noted(allocation) {
            return None;
        }
        if let Err(error) = self.check(wanted) {
            return Some(Err(error.into()));
        }
        let placed = self.requirements.remembered(&self.requested(wanted))?;
        let heaps = self.heaps(granted.family, ResourceClass::Buffer);
        if ways(&self.facts(wanted, heaps))[0] != Some((Way::Shared, Reason::Usual)) {
            return None;
        }
        let place = || -> Result<(ID3D12Resource, PlacedRange), Refusal> {
            let request = self.placement_request(wanted, heaps, &placed, Sharing::Shared)?;
            let range = match heaps.find_room_at_hand(&request) {
                Some(range) => range,
                None => self.place(heaps, Sharing::Shared, &request, *terms)?,
            };
            self.prefetch_after(heaps, Sharing::Shared, &request, allocation.flags);
            let resource = self.create_placed(&range, resource, &placed)?;
            Ok((resource, range))
        };
        Some(place())
    }

    #[inline]
    fn create_placed(
        &self,
        range: &PlacedRange,
        resource: &ResourceDesc<'_>,
        placed: &ResourceRequirements,
    ) -> Result<ID3D12Resource, Refusal> {
        let heap = range.heap();
        let heap_type = range.heaps().desc.heap.Properties.Type;
        let (offset, desc) = (range.range().start(), &placed.desc);
        let place = || create_placed(&self.devices, heap_type, heap.d3d12(), offset, resource, desc);
        place_resident(heap, place).map_err(|refused| {
            if refused.hresult == E_OUTOFMEMORY {
                return Refusal::of(error::Way::Placing, Obstacle::Device(refused.hresult));
            }
            refused.into_error().into()
        })
    }

    /// A buffer for the allocator itself, placed in shared heaps.
    pub(super) fn place_buffer(
        self: &Arc<Self>,
        granted: &GrantedHeaps,
        resource: &ResourceDesc<'_>,
        terms: Terms,
    ) -> Result<(ID3D12Resource, PlacedRange), Refusal> {
        let allocation = ResourceAllocationDesc::default();
        let wanted = Wanted { allocation: &allocation, resource, granted: *granted, terms };
        let requested = self.requested(&wanted);
        let placed = self.requirements.requirements(&requested, Creation::Placed)?;
        let heaps = self.heaps_for(&wanted, &placed)?;
        let sharing = if heaps.is_dedicated() { Sharing::Own } else { Sharing::Shared };
        let place = |sharing| {
            let request = self.placement_request(&wanted, heaps, &placed, sharing)?;
            self.place(heaps, sharing, &request, terms)
        };
        let range = match place(sharing) {
            Err(refusal) if refusal.is_about_size() => place(Sharing::Own)?,
            range => range?,
        };
        let resource = self.create_placed(&range, resource, &placed)?;
        Ok((resource, range))
    }

    /// A committed resource: D3D12 makes the heap.
    fn commit(
        self: &Arc<Self>,
        wanted: &Wanted<'_>,
        heaps: &TypedHeaps,
        requested: &RequestedResource<'_>,
        reason: Reason,
    ) -> Result<ResourceAllocation, Refusal> {
        let Wanted { allocation, resource, granted, terms } = *wanted;
        // As heaps of the same memory are charged.
        let heap_type = heaps.desc.heap_type;
        if !allocation.extra_required_resource_padding.is_zero() {
            let field = "ResourceAllocationDesc::extra_required_resource_padding";
            return Err(Error::invalid_argument(field, "a committed resource has no padding").into());
        }
        let requirements = self.requirements.requirements(requested, Creation::Committed)?;
        let size = requirements.size;
        let way = error::Way::Committed(size);
        if !terms.may_create_heap {
            return Err(Refusal::of(way, Obstacle::NoRoom));
        }
        if size > self.max_heap_size {
            return Err(Refusal::of(way, Obstacle::HeapSize { limit: self.max_heap_size }));
        }
        let properties = self.heap_families.properties(granted.family);
        let own = self.devices.known_heap_flags(allocation.extra_required_heap_flags);
        let mut flags = own | self.extra_heap_flags;
        if flags & D3D12_HEAP_FLAG_SHARED != 0 {
            // A shared heap's first bytes are for others to see, so D3D12 zeroes it and keeps it resident.
            flags &= !(D3D12_HEAP_FLAG_CREATE_NOT_ZEROED | D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT);
        }
        let attempt = || {
            let refuse = |obstacle| Refusal::of(way, obstacle);
            let of_device = |refused: Refused| {
                if refused.hresult == E_OUTOFMEMORY {
                    return Refusal::of(way, Obstacle::Device(refused.hresult));
                }
                refused.into_error().into()
            };
            let create = || create_committed(&self.devices, &properties, flags, resource, &requirements.desc);
            let group = granted.segment_group;
            let charge = || self.accounts.charge(heap_type, Charged::Committed, size).map_err(refuse);
            let Some(manager) = self.manager_for(terms) else {
                self.check_budget(group, size, terms, GivenBack::Nothing).map_err(refuse)?;
                let charge = charge()?;
                return create().map(|made| (made, None, charge)).map_err(of_device);
            };
            let charge = charge()?;
            let within_budget = terms.within_budget;
            let new = NewMemory { group, size, flags, within_budget, priority: None };
            let (made, managed) = create_managed(manager, new, create)
                .map_err(|not_created| not_created.into_refusal(way, of_device))?;
            let managed = self.own_memory.enter(&made, managed)?;
            Ok((made, Some(managed), charge))
        };
        self.give_back_for((heap_type, granted.segment_group), size, flags, terms);
        let mut made = attempt();
        let is_short = made.as_ref().is_err_and(Refusal::is_shortage);
        if is_short && !self.desc.flags.contains(ResourceAllocatorFlags::NEVER_OVER_ALLOCATE) {
            // As a heap would: empty ones go back, and the device is asked again.
            let released = self.make_room(size, heap_type, granted.segment_group);
            if !released.is_zero() {
                made = attempt();
            }
        }
        let (made, residency, charge) = made?;
        let decision = Decision::new(Placement::Committed, reason);
        let alignment = requirements.alignment;
        let desc = &requirements.desc;
        let allocator = Arc::downgrade(self);
        let made = Standalone { residency, resource: made, size, alignment, _charge: charge, allocator };
        Ok(ResourceAllocation::standalone(made, desc, &granted, decision))
    }

    /// Whether there is anything to note of an allocation that is made in the usual way.
    #[inline]
    pub(super) fn is_noted(&self, allocation: &ResourceAllocationDesc<'_>) -> bool {
        let special = ResourceAllocationFlags::NEVER_RESIDENT
            .union(ResourceAllocationFlags::ALWAYS_WARN_ON_ALIGNMENT_MISMATCH);
        self.desc.flags.contains(ResourceAllocatorFlags::NEVER_LEAK)
            || self.has_limits_in_unified_memory()
            || allocation.user_data != 0
            || allocation.flags.intersects(special)
    }

    /// Notes what there is to note of an allocation that was made.
    pub(super) fn note(&self, made: &mut ResourceAllocation, wanted: &Wanted<'_>) {
        let decision = made.decision();
        self.decisions.count(decision);
        let Wanted { allocation, resource, granted, .. } = wanted;
        let is_listed = self.desc.flags.contains(ResourceAllocatorFlags::NEVER_LEAK)
            || matches!(decision.placement, Placement::Committed | Placement::Imported);
        if is_listed {
            made.set_ticket(self.live.add(LiveAllocation {
                size: made.size(),
                heap_type: granted.heap_type,
                placement: decision.placement,
                is_buffer: resource.is_buffer(),
                name: None,
                user_data: allocation.user_data,
            }));
        }
        if allocation.user_data != 0 {
            made.set_note(Note { user_data: allocation.user_data, ..Note::default() });
        }
        if allocation.flags.contains(ResourceAllocationFlags::NEVER_RESIDENT) {
            made.set_never_resident();
        }
        if allocation.flags.contains(ResourceAllocationFlags::ALWAYS_WARN_ON_ALIGNMENT_MISMATCH) {
            warn_on_mismatch(made, resource);
        }
    }

    /// A refusal as an error.
    pub(super) fn refused(
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
            video_memory: self.video_memory(self.caps.segment_group(heap_type)),
            attempts: refusal.attempts,
            never_fallback,
        })
    }

    /// What a resource takes, for messages.
    fn size_of(&self, resource: &ResourceDesc<'_>, allocation: &ResourceAllocationDesc<'_>) -> ByteSize {
        let requested = RequestedResource {
            desc: resource.desc,
            castable_formats: resource.castable_formats,
            uses: allocation.uses,
        };
        let placed = self.requirements.requirements(&requested, Creation::Placed);
        placed.map_or(ByteSize::new(resource.desc.Width), |placed| placed.size)
    }
}

/// Whether heaps keep the type that is asked for.
#[inline]
pub(super) fn always_attribute(allocation: &ResourceAllocationDesc<'_>) -> bool {
    // Memory that the CPU reaches, as unified memory is, cannot have these.
    let without_cpu =
        D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER | D3D12_HEAP_FLAG_ALLOW_DISPLAY;
    // A pool's heaps have their type, whatever the allocator's are.
    allocation.pool.is_some()
        || allocation.flags.contains(ResourceAllocationFlags::ALWAYS_ATTRIBUTE_HEAPS)
        || allocation.extra_required_heap_flags & without_cpu != 0
}

/// Refuses heap flags that the heaps do not have.
#[inline]
fn check_heap_flags(wanted: &Wanted<'_>, heaps: &TypedHeaps) -> Result<(), Error> {
    let foreign = foreign_heap_flags(wanted.allocation.extra_required_heap_flags, heaps.desc.heap.Flags);
    if foreign == 0 {
        return Ok(());
    }
    // Only with a pool: otherwise the resource would have been committed.
    let rule = format!("{foreign:#x} are not among the flags of the pool");
    Err(Error::invalid_argument("ResourceAllocationDesc::extra_required_heap_flags", rule))
}

/// Flags that heaps do not have and that make a difference to their resources.
#[inline]
pub(super) fn foreign_heap_flags(required: D3D12_HEAP_FLAGS, flags: D3D12_HEAP_FLAGS) -> D3D12_HEAP_FLAGS {
    // Permissions that need not be used.
    let permissions = D3D12_HEAP_FLAG_CREATE_NOT_ZEROED;
    required & !permissions & !flags
}

/// Logs a warning when an allocation takes more than was asked for: of a buffer its width, of a texture its texels.
fn warn_on_mismatch(made: &ResourceAllocation, resource: &ResourceDesc<'_>) {
    let alignment = made.alignment();
    let size = match made.decision().placement {
        // What lies up to the next multiple of its alignment is no other part's.
        Placement::WithinResource => made.size().align_up(alignment).unwrap_or(made.size()),
        _ => made.info().size,
    };
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
