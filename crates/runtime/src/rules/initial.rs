//! Checks of the initial state or layout of a resource.

use heapwright_d3d12::*;

use super::Refusal;
use super::resource::Resource;
use crate::ddi::DriverCaps;

/// The states that a buffer can have; RENDER_TARGET requires the corresponding flag.
const BUFFER_STATES: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_GENERIC_READ
    | D3D12_RESOURCE_STATE_RENDER_TARGET
    | D3D12_RESOURCE_STATE_UNORDERED_ACCESS
    | D3D12_RESOURCE_STATE_STREAM_OUT
    | D3D12_RESOURCE_STATE_COPY_DEST
    | D3D12_RESOURCE_STATE_PREDICATION
    | D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE;

/// The states that a texture can have. GENERIC_READ is checked separately, because it includes buffer states.
const TEXTURE_STATES: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_RENDER_TARGET
    | D3D12_RESOURCE_STATE_UNORDERED_ACCESS
    | D3D12_RESOURCE_STATE_DEPTH_WRITE
    | D3D12_RESOURCE_STATE_DEPTH_READ
    | D3D12_RESOURCE_STATE_ALL_SHADER_RESOURCE
    | D3D12_RESOURCE_STATE_COPY_DEST
    | D3D12_RESOURCE_STATE_COPY_SOURCE
    | D3D12_RESOURCE_STATE_RESOLVE_DEST
    | D3D12_RESOURCE_STATE_RESOLVE_SOURCE;

/// The write states; each excludes all other states.
pub(crate) const WRITE_STATES: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_RENDER_TARGET
    | D3D12_RESOURCE_STATE_UNORDERED_ACCESS
    | D3D12_RESOURCE_STATE_DEPTH_WRITE
    | D3D12_RESOURCE_STATE_STREAM_OUT
    | D3D12_RESOURCE_STATE_COPY_DEST
    | D3D12_RESOURCE_STATE_RESOLVE_DEST
    | D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE;

/// The states of video queues, which this runtime does not implement.
const VIDEO_STATES: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_VIDEO_DECODE_READ
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
        Initial::Layout(layout) => check_layout(resource, layout),
    }
}

/// Checks `InitialResourceState` against the resource, its flags and the type of its heap.
///
/// UPLOAD allows GENERIC_READ and, since Agility SDK 606, any part of it and COMMON (which is 0). READBACK allows
/// COPY_DEST and, since the same change, COMMON (vkd3d-proton's tests record both, `test_create_committed_resource`). In
/// DXR 1.0, the initial state of an acceleration structure requires ALLOW_UNORDERED_ACCESS; the later flag
/// RAYTRACING_ACCELERATION_STRUCTURE requires that flag as well.
pub(crate) fn check_state(
    resource: &Resource,
    state: D3D12_RESOURCE_STATES,
    heap_type: D3D12_HEAP_TYPE,
    flags: D3D12_RESOURCE_FLAGS,
    caps: &DriverCaps,
) -> Result<(), Refusal> {
    if state & VIDEO_STATES != 0 {
        return Err(Refusal::not_implemented(format!("video states in InitialState {state:#x}")));
    }
    // The bits of GENERIC_READ that apply only to buffers have no effect on a texture.
    let is_texture = resource.texture().is_some() && state != D3D12_RESOURCE_STATE_GENERIC_READ;
    let (known, what) = if is_texture { (TEXTURE_STATES, "a texture") } else { (BUFFER_STATES, "a buffer") };
    if state & !known != 0 {
        return Err(Refusal::invalid(format!("InitialState {state:#x} is not valid for {what}")));
    }
    let has = |flag: D3D12_RESOURCE_FLAGS| flags & flag != 0;
    // The states, whether the flags allow them, and the rule's text.
    let rules = [
        (
            D3D12_RESOURCE_STATE_RENDER_TARGET,
            has(D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET),
            "RENDER_TARGET needs ALLOW_RENDER_TARGET",
        ),
        (
            D3D12_RESOURCE_STATE_DEPTH_WRITE | D3D12_RESOURCE_STATE_DEPTH_READ,
            has(D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL),
            "DEPTH_WRITE or DEPTH_READ needs ALLOW_DEPTH_STENCIL",
        ),
        (
            D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE,
            has(D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS),
            "RAYTRACING_ACCELERATION_STRUCTURE needs ALLOW_UNORDERED_ACCESS",
        ),
        (
            D3D12_RESOURCE_STATE_UNORDERED_ACCESS,
            !is_texture || has(D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS),
            "UNORDERED_ACCESS needs ALLOW_UNORDERED_ACCESS",
        ),
        (
            D3D12_RESOURCE_STATE_ALL_SHADER_RESOURCE,
            !is_texture || !has(D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE),
            "must not contain a shader resource state for a resource with DENY_SHADER_RESOURCE",
        ),
    ];
    if let Some((.., rule)) = rules.iter().find(|(states, allowed, _)| state & states != 0 && !allowed) {
        return Err(Refusal::invalid(format!("InitialState {rule}"))
            .with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_MISSING_BIND_FLAGS));
    }
    if state & WRITE_STATES != 0 && !state.is_power_of_two() {
        return Err(Refusal::invalid(format!(
            "InitialState {state:#x} combines a write state with other states"
        ))
        .with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_COMBINATION));
    }
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
pub(crate) fn check_layout(resource: &Resource, layout: D3D12_BARRIER_LAYOUT) -> Result<(), Refusal> {
    let Some(texture) = resource.texture() else {
        if layout != D3D12_BARRIER_LAYOUT_UNDEFINED {
            return Err(Refusal::invalid("a buffer's InitialLayout must be D3D12_BARRIER_LAYOUT_UNDEFINED"));
        }
        return Ok(());
    };
    let usage = texture.args.usage;
    let (allowed, rule) = match layout {
        D3D12_BARRIER_LAYOUT_RENDER_TARGET => (usage.render_target, "needs ALLOW_RENDER_TARGET"),
        D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_WRITE | D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_READ => {
            (usage.depth_stencil, "needs ALLOW_DEPTH_STENCIL")
        }
        D3D12_BARRIER_LAYOUT_UNORDERED_ACCESS
        | D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_UNORDERED_ACCESS
        | D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_UNORDERED_ACCESS => {
            (usage.unordered_access, "needs ALLOW_UNORDERED_ACCESS")
        }
        D3D12_BARRIER_LAYOUT_SHADER_RESOURCE
        | D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_SHADER_RESOURCE
        | D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_SHADER_RESOURCE => {
            (!usage.deny_shader_resource, "is not compatible with DENY_SHADER_RESOURCE")
        }
        D3D12_BARRIER_LAYOUT_SHADING_RATE_SOURCE => {
            (false, "needs variable-rate shading, which the device does not support")
        }
        D3D12_BARRIER_LAYOUT_VIDEO_DECODE_READ..=D3D12_BARRIER_LAYOUT_VIDEO_ENCODE_WRITE
        | VIDEO_QUEUE_COMMON => {
            return Err(Refusal::not_implemented(format!("video layouts such as InitialLayout {layout}")));
        }
        D3D12_BARRIER_LAYOUT_UNDEFINED
            ..=D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_GENERIC_READ_COMPUTE_QUEUE_ACCESSIBLE => (true, ""),
        _ => (false, "is not a valid layout"),
    };
    if allowed {
        return Ok(());
    }
    Err(Refusal::invalid(format!("InitialLayout {layout} of a texture {rule}")))
}
