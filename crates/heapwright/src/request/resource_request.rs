//! A request for a resource, with the kind of heaps that was granted.

use heapwright_core::placement::PlacementRequest;
use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;

use super::granted_heaps::GrantedHeaps;
use super::placement::Facts;
use super::requirements::{RequestedResource, ResourceRequirements};
use crate::Error;
use crate::allocator::ResourceAllocationDesc;
use crate::desc::{ResourceAllocationFlags, ResourceDesc};

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
