//! `ResourceBarrier`: transitions, aliasing and unordered access.

use heapwright_d3d12::*;

use crate::rules::operand::{Operand, subresource_count};
use crate::rules::{Notices, Refusal};

/// States that write; each excludes all other states.
const WRITE_STATES: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_RENDER_TARGET
    | D3D12_RESOURCE_STATE_UNORDERED_ACCESS
    | D3D12_RESOURCE_STATE_DEPTH_WRITE
    | D3D12_RESOURCE_STATE_STREAM_OUT
    | D3D12_RESOURCE_STATE_COPY_DEST
    | D3D12_RESOURCE_STATE_RESOLVE_DEST
    | D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE;

/// States that read. They can be combined with each other.
const READ_STATES: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_GENERIC_READ
    | D3D12_RESOURCE_STATE_DEPTH_READ
    | D3D12_RESOURCE_STATE_RESOLVE_SOURCE
    | D3D12_RESOURCE_STATE_SHADING_RATE_SOURCE;

/// States that only buffers support.
const BUFFER_ONLY: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_VERTEX_AND_CONSTANT_BUFFER
    | D3D12_RESOURCE_STATE_INDEX_BUFFER
    | D3D12_RESOURCE_STATE_STREAM_OUT
    | D3D12_RESOURCE_STATE_INDIRECT_ARGUMENT
    | D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE;

/// States that only textures support. RENDER_TARGET is not among them: buffers have render target views.
const TEXTURE_ONLY: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_DEPTH_WRITE
    | D3D12_RESOURCE_STATE_DEPTH_READ
    | D3D12_RESOURCE_STATE_RESOLVE_DEST
    | D3D12_RESOURCE_STATE_RESOLVE_SOURCE
    | D3D12_RESOURCE_STATE_SHADING_RATE_SOURCE;

/// States that copy lists support.
const COPY_LIST_STATES: D3D12_RESOURCE_STATES =
    D3D12_RESOURCE_STATE_COPY_DEST | D3D12_RESOURCE_STATE_COPY_SOURCE;

/// States that compute lists support.
const COMPUTE_LIST_STATES: D3D12_RESOURCE_STATES = COPY_LIST_STATES
    | D3D12_RESOURCE_STATE_UNORDERED_ACCESS
    | D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE
    | D3D12_RESOURCE_STATE_VERTEX_AND_CONSTANT_BUFFER
    | D3D12_RESOURCE_STATE_INDIRECT_ARGUMENT
    | D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE;

/// States that require a resource flag.
const FLAG_STATES: [(D3D12_RESOURCE_STATES, D3D12_RESOURCE_FLAGS, &str); 3] = [
    (D3D12_RESOURCE_STATE_RENDER_TARGET, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, "ALLOW_RENDER_TARGET"),
    // In DXR 1.0, acceleration structures have no flag of their own. The flag added later requires
    // ALLOW_UNORDERED_ACCESS as well.
    (
        D3D12_RESOURCE_STATE_UNORDERED_ACCESS | D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE,
        D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
        "ALLOW_UNORDERED_ACCESS",
    ),
    (
        D3D12_RESOURCE_STATE_DEPTH_WRITE | D3D12_RESOURCE_STATE_DEPTH_READ,
        D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
        "ALLOW_DEPTH_STENCIL",
    ),
];

/// The flags of resources that a UAV barrier is for.
const WRITABLE: D3D12_RESOURCE_FLAGS =
    D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS | D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE;

/// A barrier of a call of `ResourceBarrier`.
pub(crate) struct Barrier<'a> {
    pub(crate) flags: D3D12_RESOURCE_BARRIER_FLAGS,
    pub(crate) kind: BarrierKind<'a>,
}

/// The kind of a barrier and its resources. In barriers other than transitions, `None` is any resource.
#[derive(Clone, Copy)]
pub(crate) enum BarrierKind<'a> {
    Transition {
        resource: Operand<'a>,
        subresource: u32,
        before: D3D12_RESOURCE_STATES,
        after: D3D12_RESOURCE_STATES,
    },
    Aliasing {
        before: Option<Operand<'a>>,
        after: Option<Operand<'a>>,
    },
    UnorderedAccess(Option<Operand<'a>>),
}

/// Checks a barrier on a list of a type.
pub(crate) fn check(
    barrier: &Barrier<'_>,
    list_type: D3D12_COMMAND_LIST_TYPE,
    notices: &mut Notices,
) -> Result<(), Refusal> {
    let split = D3D12_RESOURCE_BARRIER_FLAG_BEGIN_ONLY | D3D12_RESOURCE_BARRIER_FLAG_END_ONLY;
    if barrier.flags & !split != 0 || barrier.flags == split {
        return Err(Refusal::invalid(format!(
            "Flags {:#x} is not NONE, BEGIN_ONLY or END_ONLY",
            barrier.flags
        ))
        .with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_FLAG));
    }
    match barrier.kind {
        BarrierKind::Transition { resource, subresource, before, after } => {
            check_transition((resource, subresource), (before, after), list_type, notices)
        }
        BarrierKind::Aliasing { before, after } => {
            let committed = [(before, "pResourceBefore"), (after, "pResourceAfter")]
                .into_iter()
                .find(|(resource, _)| resource.is_some_and(|resource| resource.is_committed));
            match committed {
                None => Ok(()),
                Some((_, name)) => Err(Refusal::invalid(format!(
                    "{name} is a committed resource; only placed and reserved resources can alias"
                ))
                .with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_RESOURCE)),
            }
        }
        BarrierKind::UnorderedAccess(_) if list_type == D3D12_COMMAND_LIST_TYPE_COPY => {
            Err(Refusal::invalid("UAV barriers are not valid on a copy list")
                .with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_COMMAND_LIST_TYPE))
        }
        BarrierKind::UnorderedAccess(Some(resource)) if resource.desc.Flags & WRITABLE == 0 => {
            Err(Refusal::invalid("a UAV barrier requires a resource with ALLOW_UNORDERED_ACCESS")
                .with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_MISSING_BIND_FLAGS))
        }
        BarrierKind::UnorderedAccess(_) => Ok(()),
    }
}

fn check_transition(
    (resource, subresource): (Operand<'_>, u32),
    (before, after): (D3D12_RESOURCE_STATES, D3D12_RESOURCE_STATES),
    list_type: D3D12_COMMAND_LIST_TYPE,
    notices: &mut Notices,
) -> Result<(), Refusal> {
    let count = subresource_count(resource.desc);
    if subresource != D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES && subresource >= count {
        return Err(Refusal::invalid(format!(
            "Subresource {subresource} is out of range; the resource has {count}"
        ))
        .with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_SUBRESOURCE));
    }
    if before == after {
        return Err(Refusal::invalid(format!(
            "StateBefore and StateAfter are both {after:#x}; they must differ"
        ))
        .with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_MATCHING_STATES));
    }
    notices.tolerate(check_heap_type(resource));
    let (allowed, kind) = match list_type {
        D3D12_COMMAND_LIST_TYPE_COPY => (COPY_LIST_STATES, "copy"),
        D3D12_COMMAND_LIST_TYPE_COMPUTE => (COMPUTE_LIST_STATES, "compute"),
        _ => (WRITE_STATES | READ_STATES, "direct"),
    };
    for (state, name) in [(before, "StateBefore"), (after, "StateAfter")] {
        check_state(state, name, resource.is_buffer(), resource.desc.Flags)?;
        if state & !allowed != 0 {
            return Err(Refusal::invalid(format!(
                "{name} {state:#x} has states that are not valid on a {kind} list"
            ))
            .with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_COMMAND_LIST_TYPE));
        }
    }
    Ok(())
}

/// Checks that a state is valid, and that a buffer or a texture with these flags can be in it.
pub(in crate::rules) fn check_state(
    state: D3D12_RESOURCE_STATES,
    name: &str,
    is_buffer: bool,
    flags: D3D12_RESOURCE_FLAGS,
) -> Result<(), Refusal> {
    let refuse = |why: String, id| Err(Refusal::invalid(format!("{name} {state:#x} {why}")).with_id(id));
    if state & !(WRITE_STATES | READ_STATES) != 0 {
        return refuse(
            "has bits that are not D3D12_RESOURCE_STATES".to_owned(),
            D3D12_MESSAGE_ID_RESOURCE_BARRIER_RESERVED_BITS,
        );
    }
    let writes = state & WRITE_STATES;
    if writes.count_ones() > 1 || (writes != 0 && state & READ_STATES != 0) {
        let why = "combines a write state with another state".to_owned();
        return refuse(why, D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_COMBINATION);
    }
    // The complete GENERIC_READ is also the initial state of textures in custom upload heaps.
    let foreign = if is_buffer { TEXTURE_ONLY } else { BUFFER_ONLY };
    if state & foreign != 0 && state != D3D12_RESOURCE_STATE_GENERIC_READ {
        let why = format!("is not valid for a {}", if is_buffer { "buffer" } else { "texture" });
        return refuse(why, D3D12_MESSAGE_ID_RESOURCE_BARRIER_MISSING_BIND_FLAGS);
    }
    for (states, flag, flag_name) in FLAG_STATES {
        if state & states != 0 && flags & flag == 0 {
            let why = format!("requires a resource with {flag_name}");
            return refuse(why, D3D12_MESSAGE_ID_RESOURCE_BARRIER_MISSING_BIND_FLAGS);
        }
    }
    let shader = D3D12_RESOURCE_STATE_ALL_SHADER_RESOURCE;
    let denied = flags & D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE != 0;
    if denied && state & shader != 0 && state != D3D12_RESOURCE_STATE_GENERIC_READ {
        let why = "is a shader resource state, but the resource has DENY_SHADER_RESOURCE".to_owned();
        return refuse(why, D3D12_MESSAGE_ID_RESOURCE_BARRIER_MISMATCHING_MISC_FLAGS);
    }
    Ok(())
}

/// Checks that the resource is not in an UPLOAD or READBACK heap, where resources keep their state. Since Agility SDK
/// 606 such resources have more than one possible initial state, and Windows leaves this rule to the debug layer.
fn check_heap_type(resource: Operand<'_>) -> Result<(), Refusal> {
    let heap_type = match resource.heap_type {
        Some(D3D12_HEAP_TYPE_UPLOAD) => "an UPLOAD",
        Some(D3D12_HEAP_TYPE_READBACK) => "a READBACK",
        _ => return Ok(()),
    };
    Err(Refusal::invalid(format!("a resource in {heap_type} heap cannot change its state"))
        .with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_HEAP))
}
