//! A request for a resource, with the kind of heaps that was granted: whether it may be a part of a buffer, and the placements that it
//! may have, in the order in which they are tried.

use heapwright_core::placement::PlacementRequest;
use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;

use super::granted_heaps::GrantedHeaps;
use super::heap_type::HeapType;
use super::placement::{Placement, PlacementDecision, PlacementReason};
use super::requirements::{RequestedResource, ResourceRequirements};
use crate::allocator::ResourceAllocationDesc;
use crate::desc::{ResourceAllocationFlags, ResourceDesc};
use crate::{Error, InitialState};

/// Constraints on the source of memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Constraints {
    pub(crate) may_create_heap: bool,
    pub(crate) within_budget: bool,
    /// The residency manager does not manage the memory.
    pub(crate) never_resident: bool,
}

/// A request for a resource in heaps of one kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResourceRequest<'a> {
    pub(crate) allocation: &'a ResourceAllocationDesc<'a>,
    pub(crate) resource: &'a ResourceDesc<'a>,
    pub(crate) granted: GrantedHeaps,
    pub(crate) constraints: Constraints,
}

impl<'a> ResourceRequest<'a> {
    #[inline]
    pub(crate) fn requested(&self) -> RequestedResource<'a> {
        RequestedResource {
            desc: self.resource.desc,
            mip_region: self.resource.sampler_feedback_mip_region,
            castable_formats: self.resource.castable_formats,
            uses: self.allocation.uses,
        }
    }

    /// Returns the request for a range, whose alignment is at least `min_alignment`.
    #[inline]
    pub(crate) fn placement(
        &self,
        placed: &ResourceRequirements,
        min_alignment: Alignment,
        own_heap: bool,
    ) -> Result<PlacementRequest, Error> {
        let padding = self.allocation.extra_required_resource_padding;
        let alignment = placed.alignment.max(min_alignment);
        // A multiple of the alignment, as moves of a defragmentation require.
        let size = placed.size.checked_add(padding).and_then(|size| size.align_up(alignment));
        let size = size.ok_or_else(|| {
            let rule = format!("{padding} plus the resource's size of {} exceeds 64 bits", placed.size);
            Error::too_large("ResourceAllocationDesc::extra_required_resource_padding", rule)
        })?;
        let width = ByteSize::new(if self.resource.is_buffer() { placed.desc.Width } else { u64::MAX });
        let rounding = size.saturating_sub(width.saturating_add(padding));
        Ok(PlacementRequest {
            rounding: if rounding.get() < alignment.get() { rounding } else { ByteSize::ZERO },
            strategy: self.allocation.strategy,
            own_heap,
            upper: self.allocation.flags.contains(ResourceAllocationFlags::UPPER_ADDRESS),
            cache_size: self.allocation.flags.contains(ResourceAllocationFlags::ALWAYS_CACHE_SIZE),
            ..PlacementRequest::new(size, alignment)
        })
    }

    /// Returns the facts that determine the placements, for heaps with these flags.
    #[inline]
    pub(crate) fn facts(
        &self,
        heap_flags: D3D12_HEAP_FLAGS,
        allocator_always_committed: bool,
        dedicated: bool,
    ) -> Facts {
        let has = |flags| self.allocation.flags.intersects(flags);
        let is_in_pool = self.allocation.pool.is_some();
        let foreign = foreign_heap_flags(self.allocation.extra_required_heap_flags, heap_flags);
        if foreign != 0 && !is_in_pool {
            tracing::debug!("heap flags {foreign:#x} require a committed resource");
        }
        Facts {
            allocator_always_committed,
            always_committed: has(ResourceAllocationFlags::ALWAYS_COMMITTED)
                || self.resource.protected_session.is_some() && !is_in_pool,
            prefer_committed: has(ResourceAllocationFlags::PREFER_COMMITTED),
            foreign_heap_flags: foreign != 0 && !is_in_pool,
            own_heap: has(
                ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP | ResourceAllocationFlags::NEVER_RESIDENT
            ),
            never_allocate_heap: has(ResourceAllocationFlags::NEVER_ALLOCATE_HEAP),
            never_fallback: has(ResourceAllocationFlags::NEVER_FALLBACK),
            placed_only: is_in_pool || !self.allocation.extra_required_resource_padding.is_zero(),
            dedicated,
        }
    }
}

/// Returns the required flags that heaps do not have and that affect their resources.
#[inline]
pub(crate) fn foreign_heap_flags(required: D3D12_HEAP_FLAGS, flags: D3D12_HEAP_FLAGS) -> D3D12_HEAP_FLAGS {
    // Hints that need not be honored.
    let permissions = D3D12_HEAP_FLAG_CREATE_NOT_ZEROED;
    required & !permissions & !flags
}

/// Buffers of this size and larger are resources of their own. It is D3D12's granularity without tight alignment.
pub(crate) const BELOW: u64 = 64 << 10;

/// The minimum alignment of a part, as in GPGMM's library.
const LEAST_ALIGNMENT: u64 = 4;

/// Returns the state of the backing buffers of a heap type, which is also that of their parts.
pub(crate) const fn canonical_state(heap_type: HeapType) -> D3D12_RESOURCE_STATES {
    match heap_type {
        HeapType::Upload => D3D12_RESOURCE_STATE_GENERIC_READ,
        HeapType::Readback => D3D12_RESOURCE_STATE_COPY_DEST,
        HeapType::Default | HeapType::GpuUpload => D3D12_RESOURCE_STATE_COMMON,
    }
}

/// Returns size and alignment of a buffer within a resource, or `None` if it must not be placed there.
///
/// Eligible are, if the allocation permits it, buffers below 64 KiB, without flags, in heaps that the CPU can access and in the canonical state of
/// these heaps (a resource has one state, so a part cannot change its own). The alignment is the one that the
/// description requests; otherwise the one that the uses need; otherwise 256 in state GENERIC_READ, because it may
/// become a constant buffer, and in other states the width's next power of two, 4 to 256, because copies and shader
/// views need whole multiples of 32 bits. The size is a multiple of the alignment, as in GPGMM, so that a constant buffer
/// view, which has multiples of 256 bytes, does not end in another part.
#[inline]
pub(crate) fn part_of(
    request: &ResourceRequest<'_>,
    extra_flags: D3D12_RESOURCE_FLAGS,
) -> Option<(ByteSize, Alignment)> {
    let ResourceRequest { allocation, resource, granted, .. } = request;
    if !allocation.flags.contains(ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE) {
        return None;
    }
    let desc = &resource.desc;
    let heap_type = granted.heap_type;
    let state = match resource.initial_state {
        InitialState::State(state) => state,
        // Buffers have no layout.
        InitialState::Layout(D3D12_BARRIER_LAYOUT_UNDEFINED) => D3D12_RESOURCE_STATE_COMMON,
        InitialState::Layout(_) => return None,
    };
    let refused = ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP
        .union(ResourceAllocationFlags::NEVER_RESIDENT)
        .union(ResourceAllocationFlags::ALWAYS_COMMITTED)
        .union(ResourceAllocationFlags::PREFER_COMMITTED);
    let is_open = resource.is_buffer()
        && is_sound(resource)
        && desc.Width > 0
        && desc.Width < BELOW
        && desc.Flags | extra_flags == D3D12_RESOURCE_FLAG_NONE
        && heap_type.is_cpu_accessible()
        && granted.is_cpu_accessible
        && (state == canonical_state(heap_type) || state == D3D12_RESOURCE_STATE_COMMON)
        && !allocation.flags.intersects(refused)
        && allocation.extra_required_heap_flags == D3D12_HEAP_FLAG_NONE
        && allocation.extra_required_resource_padding.is_zero()
        && allocation.pool.is_none();
    if !is_open {
        return None;
    }
    let floor = allocation.uses.floor();
    let alignment = if desc.Alignment != 0 {
        Alignment::new(desc.Alignment).filter(|a| a.get() <= BELOW)?.max(floor)
    } else if floor > Alignment::ONE {
        floor
    } else {
        let usual =
            if state == D3D12_RESOURCE_STATE_GENERIC_READ { 256 } else { desc.Width.next_power_of_two() };
        Alignment::new(usual.clamp(LEAST_ALIGNMENT, 256))?
    };
    Some((ByteSize::new(desc.Width).align_up(alignment)?, alignment))
}

/// Checks whether the device would accept the description, so that an invalid buffer is not accepted just because it is
/// small.
#[inline]
fn is_sound(resource: &ResourceDesc<'_>) -> bool {
    let desc = &resource.desc;
    let region = resource.sampler_feedback_mip_region;
    (desc.Height, desc.DepthOrArraySize, desc.MipLevels) == (1, 1, 1)
        && (desc.SampleDesc.Count, desc.SampleDesc.Quality) == (1, 0)
        && (desc.Format, desc.Layout) == (DXGI_FORMAT_UNKNOWN, D3D12_TEXTURE_LAYOUT_ROW_MAJOR)
        && (region.Width, region.Height, region.Depth) == (0, 0, 0)
        && resource.clear_value.is_none()
        && resource.castable_formats.is_empty()
        && resource.protected_session.is_none()
}

/// The facts that determine the placements of an allocation. Their names are those of the flags.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Facts {
    pub(crate) allocator_always_committed: bool,
    pub(crate) always_committed: bool,
    pub(crate) prefer_committed: bool,
    /// Heap flags that the allocator's heaps do not have.
    pub(crate) foreign_heap_flags: bool,
    /// NEVER_SUBALLOCATE_HEAP or NEVER_RESIDENT.
    pub(crate) own_heap: bool,
    pub(crate) never_allocate_heap: bool,
    pub(crate) never_fallback: bool,
    /// A pool, padding, or a protected session, which exclude a committed resource.
    pub(crate) placed_only: bool,
    /// The allocator's algorithm places every resource in a heap of its own.
    pub(crate) dedicated: bool,
}

/// At most three placements, each with its reason.
pub(crate) type Order = [Option<PlacementDecision>; 3];

/// Returns the placements to try, in order; empty if the flags exclude all of them.
///
/// | case | first | second | third |
/// |---|---|---|---|
/// | as a rule | shared | own heap, if too large to share | committed |
/// | NEVER_SUBALLOCATE_HEAP, NEVER_RESIDENT | own heap | | committed |
/// | ALWAYS_COMMITTED, foreign heap flags | committed | | |
/// | PREFER_COMMITTED | committed | shared | own heap, if too large to share |
/// | PREFER_COMMITTED with NEVER_SUBALLOCATE_HEAP, NEVER_RESIDENT | committed | own heap | |
///
/// The final committed placement is omitted with NEVER_ALLOCATE_HEAP, NEVER_FALLBACK, a pool or padding.
#[inline]
pub(crate) fn order(facts: &Facts) -> Order {
    let committed = |reason| Some(PlacementDecision::new(Placement::Committed, reason));
    if facts.always_committed {
        return [committed(PlacementReason::AllocationFlag), None, None];
    }
    if facts.foreign_heap_flags {
        return [committed(PlacementReason::ExtraHeapFlags), None, None];
    }
    if facts.allocator_always_committed && !facts.placed_only {
        return [committed(PlacementReason::AllocatorFlag), None, None];
    }
    let shared = Some(PlacementDecision::new(Placement::SharedHeap, PlacementReason::Usual));
    let own = Some(PlacementDecision::new(Placement::OwnHeap, PlacementReason::TooLargeToShare));
    let alone = match facts {
        Facts { own_heap: true, .. } => {
            Some(PlacementDecision::new(Placement::OwnHeap, PlacementReason::AllocationFlag))
        }
        Facts { dedicated: true, .. } => {
            Some(PlacementDecision::new(Placement::OwnHeap, PlacementReason::Usual))
        }
        _ => None,
    };
    if facts.prefer_committed {
        let first = committed(PlacementReason::AllocationFlag);
        return if alone.is_some() { [first, alone, None] } else { [first, shared, own] };
    }
    let may_fall_back = !facts.never_fallback && !facts.never_allocate_heap && !facts.placed_only;
    let last = if may_fall_back { committed(PlacementReason::OutOfMemory) } else { None };
    if alone.is_some() {
        return [alone, last, None];
    }
    [shared, own, last]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placements(facts: Facts) -> Vec<Placement> {
        order(&facts).into_iter().flatten().map(|decision| decision.placement).collect()
    }

    #[test]
    fn every_fact_changes_the_order() {
        use Placement::{Committed, OwnHeap as Own, SharedHeap as Shared};
        let facts = Facts::default();
        let cases: [(Facts, &[Placement]); 13] = [
            (facts, &[Shared, Own, Committed]),
            (Facts { always_committed: true, ..facts }, &[Committed]),
            (Facts { allocator_always_committed: true, ..facts }, &[Committed]),
            (Facts { allocator_always_committed: true, placed_only: true, ..facts }, &[Shared, Own]),
            (Facts { foreign_heap_flags: true, ..facts }, &[Committed]),
            (Facts { prefer_committed: true, ..facts }, &[Committed, Shared, Own]),
            (Facts { prefer_committed: true, own_heap: true, ..facts }, &[Committed, Own]),
            (Facts { prefer_committed: true, dedicated: true, ..facts }, &[Committed, Own]),
            (Facts { own_heap: true, ..facts }, &[Own, Committed]),
            (Facts { never_allocate_heap: true, ..facts }, &[Shared, Own]),
            (Facts { never_fallback: true, ..facts }, &[Shared, Own]),
            (Facts { placed_only: true, ..facts }, &[Shared, Own]),
            (Facts { dedicated: true, ..facts }, &[Own, Committed]),
        ];
        for (facts, expected) in cases {
            assert_eq!(placements(facts), expected, "{facts:?}");
        }
    }

    #[test]
    fn the_reason_names_the_deciding_fact() {
        let first = |facts: Facts| order(&facts)[0].map(|decision| decision.reason);
        let facts = Facts::default();
        assert_eq!(first(facts), Some(PlacementReason::Usual));
        assert_eq!(first(Facts { always_committed: true, ..facts }), Some(PlacementReason::AllocationFlag));
        assert_eq!(
            first(Facts { allocator_always_committed: true, ..facts }),
            Some(PlacementReason::AllocatorFlag)
        );
        assert_eq!(first(Facts { foreign_heap_flags: true, ..facts }), Some(PlacementReason::ExtraHeapFlags));
        assert_eq!(
            order(&facts)[2],
            Some(PlacementDecision::new(Placement::Committed, PlacementReason::OutOfMemory))
        );
    }
}
