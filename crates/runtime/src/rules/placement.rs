//! Where a resource may be placed, and in which state it may begin.

use heapwright_core::ByteSize;
use heapwright_d3d12::*;

use super::Refusal;
use crate::ddi::ResourceAllocation;

/// Checks that a buffer of `allocation` fits at `offset` of a heap of `heap_size` bytes with `heap_flags`.
pub(crate) fn check_buffer(
    allocation: ResourceAllocation,
    offset: u64,
    heap_size: ByteSize,
    heap_flags: D3D12_HEAP_FLAGS,
) -> Result<(), Refusal> {
    if heap_flags & D3D12_HEAP_FLAG_DENY_BUFFERS != 0 {
        return Err(Refusal::invalid("a buffer in a heap with D3D12_HEAP_FLAG_DENY_BUFFERS"));
    }
    let alignment = allocation.alignment;
    if !offset.is_multiple_of(alignment.get()) {
        return Err(Refusal::invalid(format!(
            "HeapOffset {offset:#x} is not a multiple of the resource's alignment {:#x}",
            alignment.get()
        )));
    }
    let fits = offset.checked_add(allocation.size.get()).is_some_and(|end| end <= heap_size.get());
    if !fits {
        return Err(Refusal::invalid(format!(
            "a resource of {:#x} bytes at HeapOffset {offset:#x} does not fit a heap of {:#x} bytes",
            allocation.size.get(),
            heap_size.get()
        )));
    }
    Ok(())
}

/// The states that a buffer can be in at all.
const BUFFER_STATES: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_GENERIC_READ
    | D3D12_RESOURCE_STATE_UNORDERED_ACCESS
    | D3D12_RESOURCE_STATE_STREAM_OUT
    | D3D12_RESOURCE_STATE_COPY_DEST
    | D3D12_RESOURCE_STATE_PREDICATION
    | D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE;

/// Checks the initial state of a buffer against its heap's type.
///
/// UPLOAD takes GENERIC_READ, and COMMON since SDK 606; READBACK takes COPY_DEST, and COMMON by the same change.
pub(crate) fn check_buffer_state(
    state: D3D12_RESOURCE_STATES,
    heap_type: D3D12_HEAP_TYPE,
    resource_flags: D3D12_RESOURCE_FLAGS,
) -> Result<(), Refusal> {
    if state & !BUFFER_STATES != 0 {
        return Err(Refusal::invalid(format!("a buffer cannot be in state {state:#x}")));
    }
    let is_structure = resource_flags & D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE != 0;
    let as_structure = state & D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE != 0;
    if as_structure && !is_structure {
        return Err(Refusal::invalid(
            "InitialState RAYTRACING_ACCELERATION_STRUCTURE needs the resource flag of that name",
        ));
    }
    let allowed = match heap_type {
        D3D12_HEAP_TYPE_UPLOAD => {
            [D3D12_RESOURCE_STATE_GENERIC_READ, D3D12_RESOURCE_STATE_COMMON].contains(&state)
        }
        D3D12_HEAP_TYPE_READBACK => {
            [D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_COMMON].contains(&state)
        }
        _ => true,
    };
    if !allowed {
        return Err(Refusal::invalid(format!(
            "InitialState {state:#x} of a buffer in {}",
            if heap_type == D3D12_HEAP_TYPE_UPLOAD {
                "an UPLOAD heap, which takes GENERIC_READ or COMMON"
            } else {
                "a READBACK heap, which takes COPY_DEST or COMMON"
            }
        )));
    }
    Ok(())
}

/// Checks the initial layout of a buffer: buffers have none (`D3D12_BARRIER_LAYOUT_UNDEFINED`).
pub(crate) fn check_buffer_layout(layout: D3D12_BARRIER_LAYOUT) -> Result<(), Refusal> {
    if layout != D3D12_BARRIER_LAYOUT_UNDEFINED {
        return Err(Refusal::invalid("a buffer's InitialLayout must be D3D12_BARRIER_LAYOUT_UNDEFINED"));
    }
    Ok(())
}
