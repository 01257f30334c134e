//! Limits of unified memory, and resources that the device does not create in it.

use heapwright_core::ByteSize;
use heapwright_d3d12::*;

use super::allocation::ResourceAllocation;
use super::inner::Inner;
use super::request::{ResourceAllocationDesc, ResourceRequest};
use crate::HeapType;
use crate::desc::{ResourceAllocationFlags, ResourceDesc};
use crate::error::{MemorySource, Refusal, Row};
use crate::request::{GrantedHeaps, infer_heap_type};
use crate::source::{Account, Charged};

impl Inner {
    /// Returns whether the heap must keep the requested type.
    pub(crate) fn attributes(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
    ) -> bool {
        always_attribute(allocation) || self.refused_in_unified.has(&resource.desc)
    }

    /// Returns the heaps that are granted first with unified memory, or `None` if the device supports none of the heap
    /// types.
    #[cold]
    pub(crate) fn granted_of_unified(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
    ) -> Option<GrantedHeaps> {
        let attributes = self.attributes(allocation, resource);
        let preference = self.heap_types_of(allocation, resource);
        match allocation.heap_type {
            Some(_) => self.heaps.families.first_grant(&preference, attributes),
            None => self.heaps.families.first_grant_inferred(&preference, attributes),
        }
    }

    /// Returns the heap type of a request that does not name one.
    ///
    /// UPLOAD and READBACK heaps hold no textures. In unified memory, textures may begin in the initial states of those
    /// types.
    pub(crate) fn inferred_type(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
    ) -> HeapType {
        if self.heaps.families.has_unified_memory() && !resource.is_buffer() && !always_attribute(allocation)
        {
            return HeapType::Default;
        }
        infer_heap_type(resource.initial_state)
    }

    /// Creates a resource in heaps of a requested type, after the device refused to create it in unified memory.
    ///
    /// Returns `None` if the refusal had another reason, or if these heaps do not hold the resource either.
    #[cold]
    pub(crate) fn create_attributed(
        &self,
        first: &ResourceRequest<'_>,
        refusal: &Refusal,
    ) -> Option<ResourceAllocation> {
        let ResourceRequest { allocation, resource, memory, granted } = first;
        let answer = refusal.fatal.as_ref()?.hresult();
        let is_unsupported = [E_NOTIMPL, E_INVALIDARG].contains(&answer);
        if memory.is_some() || !is_unsupported || !self.is_in_unified_memory(allocation, granted) {
            return None;
        }
        let preference = self.heap_types_of(allocation, resource);
        let asked = self.heaps.families.grants(&preference, true);
        for granted in asked.filter(|asked| asked.family != granted.family) {
            if let Ok(made) = self.create_in(&ResourceRequest { granted, ..*first }) {
                let heap_type = granted.heap_type;
                tracing::debug!(%heap_type, "creation in unified memory failed; resource created in a heap of the requested type instead");
                self.refused_in_unified.add(&resource.desc);
                return Some(made);
            }
        }
        None
    }

    fn is_in_unified_memory(&self, allocation: &ResourceAllocationDesc<'_>, granted: &GrantedHeaps) -> bool {
        allocation.pool.is_none() && self.heaps.families.is_unified(granted.family)
    }

    /// Returns the account of the heap type whose limit applies to a resource in unified memory, in addition to the
    /// limit of its heaps.
    #[cold]
    fn limited_account(&self, request: &ResourceRequest<'_>) -> Option<Account> {
        let &ResourceRequest { allocation, ref granted, .. } = request;
        let &GrantedHeaps { heap_type, segment_group: group, .. } = granted;
        let is_limited = self.is_in_unified_memory(allocation, granted)
            && heap_type != HeapType::Default
            && self.desc().limits.of(heap_type).is_some();
        is_limited.then_some(Account { heap_type, group })
    }

    /// Checks a resource of `size` bytes in unified memory against the limit of the type that it requests.
    pub(crate) fn check_asked(&self, request: &ResourceRequest<'_>, size: ByteSize) -> Result<(), Refusal> {
        let Some(account) = self.limited_account(request) else { return Ok(()) };
        let [of_type, _] = self.heaps.source.ledger.rows(account);
        of_type.check(size).map_err(refused)
    }

    /// Charges a resource in unified memory to the limit of the type that it requested.
    pub(crate) fn charge_asked(
        &self,
        made: &mut ResourceAllocation,
        request: &ResourceRequest<'_>,
    ) -> Result<(), Refusal> {
        let Some(account) = self.limited_account(request) else { return Ok(()) };
        let charge = self.heaps.source.ledger.charge(account, Charged::InUnifiedMemory, made.size());
        made.set_charge(charge.map_err(refused)?);
        Ok(())
    }
}

fn refused(row: Row) -> Refusal {
    Refusal::of(MemorySource::HeldMemory, row.into())
}

/// Returns whether the heap must keep the requested type.
fn always_attribute(allocation: &ResourceAllocationDesc<'_>) -> bool {
    // Memory that the CPU can access, such as unified memory, cannot have these flags.
    let without_cpu =
        D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER | D3D12_HEAP_FLAG_ALLOW_DISPLAY;
    allocation.flags.contains(ResourceAllocationFlags::ALWAYS_ATTRIBUTE_HEAPS)
        || allocation.extra_required_heap_flags & without_cpu != 0
}
