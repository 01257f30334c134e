//! Which buffers may be parts of others, and how they are aligned there.

use heapwright_core::Alignment;
use heapwright_d3d12::*;

use crate::desc::{ResourceAllocationFlags, ResourceDesc};
use crate::plan::ResourceRequest;
use crate::{HeapType, InitialState};

/// Buffers from this size on are resources of their own: the granularity of D3D12 without tight alignment.
pub(crate) const BELOW: u64 = 64 << 10;

/// What a part is aligned to if nothing else is asked for, as document GPGMM's library does it.
const LEAST_ALIGNMENT: u64 = 4;

/// The state that backing buffers of a heap type are in, and their parts with them.
pub(crate) const fn canonical_state(heap_type: HeapType) -> D3D12_RESOURCE_STATES {
    match heap_type {
        HeapType::Upload => D3D12_RESOURCE_STATE_GENERIC_READ,
        HeapType::Readback => D3D12_RESOURCE_STATE_COPY_DEST,
        HeapType::Default | HeapType::GpuUpload => D3D12_RESOURCE_STATE_COMMON,
    }
}

/// The alignment that a buffer gets within a resource, if it may be there at all.
///
/// Buffers only, below 64 KiB, without flags, in heaps that the CPU reaches and in the state that these are in anyway (a
/// resource has one state, so a part of it cannot change its own). The alignment is what the description asks for;
/// otherwise what the uses need; otherwise 256 in state GENERIC_READ, as it may become a constant buffer, and in other states the
/// width's next power of two, 4 to 256: what is a whole number of 32 bits is what copies and views of shaders take.
#[inline]
pub(crate) fn alignment_within(
    request: &ResourceRequest<'_>,
    extra_flags: D3D12_RESOURCE_FLAGS,
) -> Option<Alignment> {
    let ResourceRequest { resource, granted, .. } = request;
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
        && !request.flags.intersects(refused)
        && request.heap_flags == D3D12_HEAP_FLAG_NONE
        && request.padding.is_zero()
        && !request.is_in_pool;
    if !is_open {
        return None;
    }
    let floor = request.uses.floor();
    if desc.Alignment != 0 {
        return Alignment::new(desc.Alignment).filter(|a| a.get() <= BELOW).map(|a| a.max(floor));
    }
    if floor > Alignment::ONE {
        return Some(floor);
    }
    let usual = if state == D3D12_RESOURCE_STATE_GENERIC_READ { 256 } else { desc.Width.next_power_of_two() };
    Alignment::new(usual.clamp(LEAST_ALIGNMENT, 256))
}

/// Whether a buffer is described as the device takes one; what it would refuse is not taken because it is small.
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
