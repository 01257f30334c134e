//! What unified memory does not hold, and what limits it has.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use heapwright_core::ByteSize;
use heapwright_d3d12::*;

use super::accounts::Charged;
use super::allocation::ResourceAllocation;
use super::create::{Wanted, always_attribute};
use super::desc::{ResourceAllocationDesc, ResourceDesc};
use super::heap_source::Refusal;
use super::{HeapType, Inner};
use crate::HeapTypePreference;
use crate::error::Way;
use crate::heap_family::{GrantedHeaps, infer_heap_type};

/// Kinds of textures that the device did not create in unified memory, and created in heaps of the type that was asked for. These are
/// not tried again: each time would be an error message of the debug layer.
///
/// Buffers are not remembered: that one state or flag is refused says nothing of others.
#[derive(Debug, Default)]
pub(super) struct RefusedInUnified(AtomicU32);

/// The bit of a kind; zero for buffers.
fn kind_of(desc: &D3D12_RESOURCE_DESC1) -> u32 {
    if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
        return 0;
    }
    let flags = [
        D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
        D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
    ];
    let several_samples = desc.SampleDesc.Count > 1;
    let bits = flags.into_iter().map(|flag| desc.Flags & flag != 0).chain([several_samples]);
    1 << bits.fold(0, |number, bit| number << 1 | u32::from(bit))
}

impl Inner {
    /// Whether heaps keep the type that is asked for.
    #[inline]
    pub(super) fn attributes(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
    ) -> bool {
        always_attribute(allocation)
            || self.heap_families.has_unified_memory()
                && self.refused_in_unified.0.load(Ordering::Relaxed) & kind_of(&resource.desc) != 0
    }

    /// What is granted first; `None` where the device has none of the heap types.
    #[inline]
    pub(super) fn first_granted(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
    ) -> Option<GrantedHeaps> {
        let attributes = self.attributes(allocation, resource);
        match (allocation.pool, &allocation.heap_type) {
            (Some(pool), _) => Some(pool.granted()),
            (None, Some(preference)) => self.heap_families.first_grant(preference, attributes),
            (None, None) => {
                let preference = self.inferred_type(allocation, resource).into();
                self.heap_families.first_grant_inferred(&preference, attributes)
            }
        }
    }

    /// The heap type that a resource is taken to ask for where none is given.
    ///
    /// Textures are in no UPLOAD and READBACK heaps, and in unified memory they begin in the states of these.
    #[inline]
    fn inferred_type(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
    ) -> HeapType {
        if self.heap_families.has_unified_memory() && !resource.is_buffer() && !always_attribute(allocation) {
            return HeapType::Default;
        }
        infer_heap_type(resource.initial_state)
    }

    /// The heap types that are asked for.
    pub(super) fn heap_types_of(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
    ) -> HeapTypePreference {
        match (allocation.pool, allocation.heap_type) {
            (Some(pool), _) => pool.heap_type().into(),
            (None, Some(preference)) => preference,
            (None, None) => self.inferred_type(allocation, resource).into(),
        }
    }

    /// Creates a resource in heaps of a type that was asked for, after the device did not in unified memory.
    ///
    /// `None` where that is not what happened, or these heaps do not hold it either.
    #[cold]
    pub(super) fn create_attributed(
        self: &Arc<Self>,
        first: &Wanted<'_>,
        refusal: &Refusal,
    ) -> Option<ResourceAllocation> {
        let Wanted { allocation, resource, granted, .. } = first;
        let answer = refusal.fatal.as_ref()?.hresult();
        let is_unsupported = [E_NOTIMPL, E_INVALIDARG].contains(&answer);
        if !is_unsupported || !self.is_in_unified_memory(allocation, granted) {
            return None;
        }
        let preference = self.heap_types_of(allocation, resource);
        let asked = self.heap_families.grants(&preference, true);
        for granted in asked.filter(|asked| asked.family != granted.family) {
            if let Ok(made) = self.create_in(&Wanted { granted, ..*first }, None) {
                let heap_type = granted.heap_type;
                tracing::debug!(%heap_type, "the device did not create a resource in unified memory");
                self.refused_in_unified.0.fetch_or(kind_of(&resource.desc), Ordering::Relaxed);
                return Some(made);
            }
        }
        None
    }

    fn is_in_unified_memory(&self, allocation: &ResourceAllocationDesc<'_>, granted: &GrantedHeaps) -> bool {
        allocation.pool.is_none() && self.heap_families.is_unified(granted.family)
    }

    /// The heap type whose limit a resource in unified memory has beside that of its heaps.
    #[inline]
    fn limited_by(&self, wanted: &Wanted<'_>) -> Option<HeapType> {
        let heap_type = wanted.granted.heap_type;
        let is_limited = self.has_limits_in_unified_memory()
            && self.is_in_unified_memory(wanted.allocation, &wanted.granted)
            && heap_type != HeapType::Default
            && self.desc.limits.of(heap_type).is_some();
        is_limited.then_some(heap_type)
    }

    /// Whether other types than DEFAULT have a limit in unified memory.
    #[inline]
    pub(super) fn has_limits_in_unified_memory(&self) -> bool {
        let limits = &self.desc.limits;
        self.heap_families.has_unified_memory()
            && (limits.upload.is_some() || limits.gpu_upload.is_some() || limits.readback.is_some())
    }

    /// Whether a resource of so many bytes is within the limit of the type that it asks for in unified memory.
    #[inline]
    pub(super) fn check_asked(&self, wanted: &Wanted<'_>, size: ByteSize) -> Result<(), Refusal> {
        let Some(heap_type) = self.limited_by(wanted) else { return Ok(()) };
        let refuse = |obstacle| Refusal::of(Way::HeldMemory, obstacle);
        self.accounts.check(heap_type, size, ByteSize::ZERO).map_err(refuse)
    }

    /// Charges a resource to the limit of the type that it asked for in unified memory.
    pub(super) fn charge_asked(
        &self,
        made: &mut ResourceAllocation,
        wanted: &Wanted<'_>,
    ) -> Result<(), Refusal> {
        let Some(heap_type) = self.limited_by(wanted) else { return Ok(()) };
        let refuse = |obstacle| Refusal::of(Way::HeldMemory, obstacle);
        let charge = self.accounts.charge(heap_type, Charged::InUnifiedMemory, made.size());
        made.set_charge(charge.map_err(refuse)?);
        Ok(())
    }
}
