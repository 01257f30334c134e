//! Checks of the initial state or layout of a resource.

use heapwright_d3d12::*;

use super::Refusal;
use super::commands::barriers::{compatibility, legacy};
use super::resource::Resource;
use crate::ddi::DriverCaps;

/// The states of video queues and of variable-rate shading, which this runtime does not implement.
const UNIMPLEMENTED: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_SHADING_RATE_SOURCE
    | D3D12_RESOURCE_STATE_VIDEO_DECODE_READ
    | D3D12_RESOURCE_STATE_VIDEO_DECODE_WRITE
    | D3D12_RESOURCE_STATE_VIDEO_PROCESS_READ
    | D3D12_RESOURCE_STATE_VIDEO_PROCESS_WRITE
    | D3D12_RESOURCE_STATE_VIDEO_ENCODE_READ
    | D3D12_RESOURCE_STATE_VIDEO_ENCODE_WRITE;

/// `D3D12_BARRIER_LAYOUT_VIDEO_QUEUE_COMMON`, which the bindings omit with the rest of video.
const VIDEO_QUEUE_COMMON: D3D12_BARRIER_LAYOUT = 30;

/// The initial state of a resource. The API has two generations: resource states and barrier layouts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Initial {
    State(D3D12_RESOURCE_STATES),
    Layout(D3D12_BARRIER_LAYOUT),
}

/// Checks the initial state or layout against the resource, its flags and the type of its heap.
pub(super) fn check(
    resource: &Resource,
    initial: Initial,
    heap_type: D3D12_HEAP_TYPE,
    flags: D3D12_RESOURCE_FLAGS,
    caps: &DriverCaps,
) -> Result<(), Refusal> {
    match initial {
        Initial::State(state) => check_state(resource, state, heap_type, flags, caps),
        Initial::Layout(layout) => check_layout(resource, layout, flags),
    }
}

/// Checks `InitialResourceState` against the resource, its flags and the type of its heap.
///
/// UPLOAD allows GENERIC_READ and, since Agility SDK 606, any part of it and COMMON (which is 0). READBACK allows
/// COPY_DEST and, since the same change, COMMON (vkd3d-proton's tests record both, `test_create_committed_resource`).
pub(crate) fn check_state(
    resource: &Resource,
    state: D3D12_RESOURCE_STATES,
    heap_type: D3D12_HEAP_TYPE,
    flags: D3D12_RESOURCE_FLAGS,
    caps: &DriverCaps,
) -> Result<(), Refusal> {
    if state & UNIMPLEMENTED != 0 {
        let what = format!("states of video and of variable-rate shading in InitialState {state:#x}");
        return Err(Refusal::not_implemented(what));
    }
    let is_buffer = resource.texture().is_none();
    // A buffer begins in COMMON whatever it is created in (the debug layer's message CREATERESOURCE_STATE_IGNORED), so
    // UNORDERED_ACCESS needs no flag.
    let free = if is_buffer && state == D3D12_RESOURCE_STATE_UNORDERED_ACCESS { state } else { 0 };
    legacy::check_state(state & !free, "InitialState", is_buffer, flags)?;
    let (allowed, rule) = match heap_type {
        D3D12_HEAP_TYPE_UPLOAD => (
            D3D12_RESOURCE_STATE_GENERIC_READ,
            "valid for a resource in an UPLOAD heap; it must be COMMON or a subset of GENERIC_READ",
        ),
        D3D12_HEAP_TYPE_READBACK => (
            D3D12_RESOURCE_STATE_COPY_DEST,
            "valid for a resource in a READBACK heap; it must be COPY_DEST or COMMON",
        ),
        _ => return Ok(()),
    };
    let rule = match state {
        _ if state == allowed => return Ok(()),
        _ if state & !allowed != 0 => rule,
        _ if caps.is_first_generation => {
            "supported by the first version of D3D12; it must be GENERIC_READ in an UPLOAD heap and COPY_DEST in a \
             READBACK heap"
        }
        _ => return Ok(()),
    };
    Err(Refusal::invalid(format!("InitialState {state:#x} is not {rule}"))
        .with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_HEAP))
}

/// Checks `InitialLayout` (enhanced barriers) against the resource and its flags.
///
/// Buffers must have `D3D12_BARRIER_LAYOUT_UNDEFINED`. Simultaneous-access textures may have every layout that their
/// flags allow, because the documents at hand state no further restriction.
pub(crate) fn check_layout(
    resource: &Resource,
    layout: D3D12_BARRIER_LAYOUT,
    flags: D3D12_RESOURCE_FLAGS,
) -> Result<(), Refusal> {
    if resource.texture().is_none() {
        if layout != D3D12_BARRIER_LAYOUT_UNDEFINED {
            return Err(Refusal::invalid("a buffer's InitialLayout must be D3D12_BARRIER_LAYOUT_UNDEFINED"));
        }
        return Ok(());
    }
    let refuse = |why: &str| Err(Refusal::invalid(format!("InitialLayout {layout} of a texture {why}")));
    match layout {
        D3D12_BARRIER_LAYOUT_SHADING_RATE_SOURCE => {
            return refuse("needs variable-rate shading, which the device does not support");
        }
        D3D12_BARRIER_LAYOUT_VIDEO_DECODE_READ..=D3D12_BARRIER_LAYOUT_VIDEO_ENCODE_WRITE
        | VIDEO_QUEUE_COMMON => {
            return Err(Refusal::not_implemented(format!("video layouts such as InitialLayout {layout}")));
        }
        D3D12_BARRIER_LAYOUT_UNDEFINED
            ..=D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_GENERIC_READ_COMPUTE_QUEUE_ACCESSIBLE => {}
        _ => return refuse("is not a valid layout"),
    }
    let missing = compatibility::flag_of(layout).filter(|(flag, _)| flags & flag == 0);
    let is_denied = flags & D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE != 0;
    match missing {
        Some((_, name)) => refuse(&format!("requires a resource with {name}")),
        None if is_denied && compatibility::allowed_in(layout) == D3D12_BARRIER_ACCESS_SHADER_RESOURCE => {
            refuse("is not compatible with DENY_SHADER_RESOURCE")
        }
        None => Ok(()),
    }
}
