//! Decides which buffers may be parts of others, and their size and alignment there.

use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;

use super::resource_request::ResourceRequest;
use crate::desc::{ResourceAllocationFlags, ResourceDesc};
use crate::{HeapType, InitialState};

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
