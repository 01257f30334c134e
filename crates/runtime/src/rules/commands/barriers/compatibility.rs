//! Which synchronization scopes, accesses and layouts are compatible, and which command lists support them. Follows the
//! tables of DirectX-Specs, D3D12EnhancedBarriers.md.

use heapwright_d3d12::*;

const VERTEX_BUFFER: D3D12_BARRIER_ACCESS = D3D12_BARRIER_ACCESS_VERTEX_BUFFER;
const CONSTANT_BUFFER: D3D12_BARRIER_ACCESS = D3D12_BARRIER_ACCESS_CONSTANT_BUFFER;
const INDEX_BUFFER: D3D12_BARRIER_ACCESS = D3D12_BARRIER_ACCESS_INDEX_BUFFER;
const RENDER_TARGET: D3D12_BARRIER_ACCESS = D3D12_BARRIER_ACCESS_RENDER_TARGET;
const UNORDERED: D3D12_BARRIER_ACCESS = D3D12_BARRIER_ACCESS_UNORDERED_ACCESS;
const DEPTH_WRITE: D3D12_BARRIER_ACCESS = D3D12_BARRIER_ACCESS_DEPTH_STENCIL_WRITE;
const DEPTH_READ: D3D12_BARRIER_ACCESS = D3D12_BARRIER_ACCESS_DEPTH_STENCIL_READ;
const SHADER_RESOURCE: D3D12_BARRIER_ACCESS = D3D12_BARRIER_ACCESS_SHADER_RESOURCE;
const STREAM_OUTPUT: D3D12_BARRIER_ACCESS = D3D12_BARRIER_ACCESS_STREAM_OUTPUT;
/// Indirect arguments and predication, which share one bit.
const ARGUMENT: D3D12_BARRIER_ACCESS = D3D12_BARRIER_ACCESS_INDIRECT_ARGUMENT;
const COPY_DEST: D3D12_BARRIER_ACCESS = D3D12_BARRIER_ACCESS_COPY_DEST;
const COPY_SOURCE: D3D12_BARRIER_ACCESS = D3D12_BARRIER_ACCESS_COPY_SOURCE;
const RESOLVE_DEST: D3D12_BARRIER_ACCESS = D3D12_BARRIER_ACCESS_RESOLVE_DEST;
const RESOLVE_SOURCE: D3D12_BARRIER_ACCESS = D3D12_BARRIER_ACCESS_RESOLVE_SOURCE;
const STRUCTURE_READ: D3D12_BARRIER_ACCESS = D3D12_BARRIER_ACCESS_RAYTRACING_ACCELERATION_STRUCTURE_READ;
const STRUCTURE_WRITE: D3D12_BARRIER_ACCESS = D3D12_BARRIER_ACCESS_RAYTRACING_ACCELERATION_STRUCTURE_WRITE;
const SHADING_RATE: D3D12_BARRIER_ACCESS = D3D12_BARRIER_ACCESS_SHADING_RATE_SOURCE;

/// Accesses that only buffers support.
pub(super) const BUFFER_ONLY: D3D12_BARRIER_ACCESS = VERTEX_BUFFER
    | CONSTANT_BUFFER
    | INDEX_BUFFER
    | STREAM_OUTPUT
    | ARGUMENT
    | STRUCTURE_READ
    | STRUCTURE_WRITE;

/// Accesses that only textures support. RENDER_TARGET is not among them: buffers have render target views.
pub(super) const TEXTURE_ONLY: D3D12_BARRIER_ACCESS = DEPTH_WRITE | DEPTH_READ | SHADING_RATE;

/// Accesses that resources in UPLOAD heaps support.
pub(super) const IN_UPLOAD_HEAPS: D3D12_BARRIER_ACCESS = VERTEX_BUFFER
    | CONSTANT_BUFFER
    | INDEX_BUFFER
    | SHADER_RESOURCE
    | ARGUMENT
    | COPY_SOURCE
    | RESOLVE_SOURCE;

/// Accesses that resources in READBACK heaps support.
pub(super) const IN_READBACK_HEAPS: D3D12_BARRIER_ACCESS = COPY_DEST | RESOLVE_DEST;

/// Returns the synchronization scopes that a list type supports, including SPLIT.
pub(super) fn syncs_of(list_type: D3D12_COMMAND_LIST_TYPE) -> D3D12_BARRIER_SYNC {
    let copy = D3D12_BARRIER_SYNC_ALL | D3D12_BARRIER_SYNC_COPY | D3D12_BARRIER_SYNC_SPLIT;
    let compute = copy
        | D3D12_BARRIER_SYNC_COMPUTE_SHADING
        | D3D12_BARRIER_SYNC_RAYTRACING
        | D3D12_BARRIER_SYNC_EXECUTE_INDIRECT
        | D3D12_BARRIER_SYNC_ALL_SHADING
        | D3D12_BARRIER_SYNC_NON_PIXEL_SHADING
        | D3D12_BARRIER_SYNC_BUILD_RAYTRACING_ACCELERATION_STRUCTURE
        | D3D12_BARRIER_SYNC_COPY_RAYTRACING_ACCELERATION_STRUCTURE
        | D3D12_BARRIER_SYNC_EMIT_RAYTRACING_ACCELERATION_STRUCTURE_POSTBUILD_INFO
        | D3D12_BARRIER_SYNC_CLEAR_UNORDERED_ACCESS_VIEW;
    match list_type {
        D3D12_COMMAND_LIST_TYPE_COPY => copy,
        D3D12_COMMAND_LIST_TYPE_COMPUTE => compute,
        _ => {
            compute
                | D3D12_BARRIER_SYNC_DRAW
                | D3D12_BARRIER_SYNC_INDEX_INPUT
                | D3D12_BARRIER_SYNC_VERTEX_SHADING
                | D3D12_BARRIER_SYNC_PIXEL_SHADING
                | D3D12_BARRIER_SYNC_DEPTH_STENCIL
                | D3D12_BARRIER_SYNC_RENDER_TARGET
                | D3D12_BARRIER_SYNC_RESOLVE
        }
    }
}

/// Returns the accesses that a list type supports, without NO_ACCESS.
pub(super) fn accesses_of(list_type: D3D12_COMMAND_LIST_TYPE) -> D3D12_BARRIER_ACCESS {
    let copy = COPY_DEST | COPY_SOURCE;
    let compute = copy
        | VERTEX_BUFFER
        | CONSTANT_BUFFER
        | UNORDERED
        | SHADER_RESOURCE
        | ARGUMENT
        | STRUCTURE_READ
        | STRUCTURE_WRITE;
    match list_type {
        D3D12_COMMAND_LIST_TYPE_COPY => copy,
        D3D12_COMMAND_LIST_TYPE_COMPUTE => compute,
        _ => {
            compute
                | INDEX_BUFFER
                | RENDER_TARGET
                | DEPTH_WRITE
                | DEPTH_READ
                | STREAM_OUTPUT
                | RESOLVE_DEST
                | RESOLVE_SOURCE
                | SHADING_RATE
        }
    }
}

/// Returns the first access in `access` for which `sync` contains none of the required synchronization scopes.
///
/// The specification has two tables, one by access and one by synchronization scope, and they differ. A combination
/// that either of them allows is allowed.
pub(super) fn unsynchronized(
    sync: D3D12_BARRIER_SYNC,
    access: D3D12_BARRIER_ACCESS,
) -> Option<D3D12_BARRIER_ACCESS> {
    let shading = D3D12_BARRIER_SYNC_VERTEX_SHADING
        | D3D12_BARRIER_SYNC_PIXEL_SHADING
        | D3D12_BARRIER_SYNC_COMPUTE_SHADING
        | D3D12_BARRIER_SYNC_RAYTRACING
        | D3D12_BARRIER_SYNC_ALL_SHADING
        | D3D12_BARRIER_SYNC_NON_PIXEL_SHADING
        | D3D12_BARRIER_SYNC_DRAW;
    let vertices = D3D12_BARRIER_SYNC_VERTEX_SHADING
        | D3D12_BARRIER_SYNC_ALL_SHADING
        | D3D12_BARRIER_SYNC_NON_PIXEL_SHADING
        | D3D12_BARRIER_SYNC_DRAW;
    let depth = D3D12_BARRIER_SYNC_DEPTH_STENCIL | D3D12_BARRIER_SYNC_DRAW;
    let structures = D3D12_BARRIER_SYNC_COMPUTE_SHADING
        | D3D12_BARRIER_SYNC_RAYTRACING
        | D3D12_BARRIER_SYNC_ALL_SHADING
        | D3D12_BARRIER_SYNC_NON_PIXEL_SHADING
        | D3D12_BARRIER_SYNC_BUILD_RAYTRACING_ACCELERATION_STRUCTURE
        | D3D12_BARRIER_SYNC_COPY_RAYTRACING_ACCELERATION_STRUCTURE;
    let needs = [
        (VERTEX_BUFFER, vertices),
        (CONSTANT_BUFFER, shading),
        (INDEX_BUFFER, D3D12_BARRIER_SYNC_INDEX_INPUT | D3D12_BARRIER_SYNC_DRAW),
        (RENDER_TARGET, D3D12_BARRIER_SYNC_RENDER_TARGET | D3D12_BARRIER_SYNC_DRAW),
        (UNORDERED, shading | D3D12_BARRIER_SYNC_CLEAR_UNORDERED_ACCESS_VIEW),
        (DEPTH_WRITE, depth),
        (DEPTH_READ, depth),
        (SHADER_RESOURCE, shading),
        (STREAM_OUTPUT, vertices),
        (ARGUMENT, D3D12_BARRIER_SYNC_EXECUTE_INDIRECT),
        (COPY_DEST, D3D12_BARRIER_SYNC_COPY),
        (COPY_SOURCE, D3D12_BARRIER_SYNC_COPY),
        (RESOLVE_DEST, D3D12_BARRIER_SYNC_RESOLVE),
        (RESOLVE_SOURCE, D3D12_BARRIER_SYNC_RESOLVE),
        (STRUCTURE_WRITE, structures),
        (
            STRUCTURE_READ,
            structures | D3D12_BARRIER_SYNC_EMIT_RAYTRACING_ACCELERATION_STRUCTURE_POSTBUILD_INFO,
        ),
        (SHADING_RATE, D3D12_BARRIER_SYNC_PIXEL_SHADING | D3D12_BARRIER_SYNC_ALL_SHADING),
    ];
    // For SPLIT, the scope is that of the barrier's other half.
    let any = D3D12_BARRIER_SYNC_ALL | D3D12_BARRIER_SYNC_SPLIT;
    let lacks = |&&(bit, syncs): &&(D3D12_BARRIER_ACCESS, D3D12_BARRIER_SYNC)| {
        access & bit != 0 && sync & (syncs | any) == 0
    };
    needs.iter().find(lacks).map(|&(bit, _)| bit)
}

/// Checks whether a list type supports a layout. UNDEFINED is not a valid argument.
pub(super) fn knows_layout(list_type: D3D12_COMMAND_LIST_TYPE, layout: D3D12_BARRIER_LAYOUT) -> bool {
    let of_direct = (D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_COMMON..=D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_COPY_DEST)
        .contains(&layout);
    let of_compute = (D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_COMMON
        ..=D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_COPY_DEST)
        .contains(&layout);
    let of_both = matches!(
        layout,
        D3D12_BARRIER_LAYOUT_COMMON
            | D3D12_BARRIER_LAYOUT_GENERIC_READ
            | D3D12_BARRIER_LAYOUT_UNORDERED_ACCESS
            | D3D12_BARRIER_LAYOUT_SHADER_RESOURCE
            | D3D12_BARRIER_LAYOUT_COPY_SOURCE
            | D3D12_BARRIER_LAYOUT_COPY_DEST
            | D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_GENERIC_READ_COMPUTE_QUEUE_ACCESSIBLE
    );
    match list_type {
        D3D12_COMMAND_LIST_TYPE_COPY => layout == D3D12_BARRIER_LAYOUT_COMMON,
        D3D12_COMMAND_LIST_TYPE_COMPUTE => of_both || of_compute,
        _ => {
            let of_graphics =
                (D3D12_BARRIER_LAYOUT_COMMON..=D3D12_BARRIER_LAYOUT_SHADING_RATE_SOURCE).contains(&layout);
            of_both || of_direct || of_graphics
        }
    }
}

/// Returns whether barriers in lists of a type can change textures to a layout. Video lists and layouts are not
/// supported.
pub(crate) fn supports_layout(list_type: D3D12_COMMAND_LIST_TYPE, layout: D3D12_BARRIER_LAYOUT) -> bool {
    let has_barriers =
        [D3D12_COMMAND_LIST_TYPE_DIRECT, D3D12_COMMAND_LIST_TYPE_COMPUTE, D3D12_COMMAND_LIST_TYPE_COPY];
    has_barriers.contains(&list_type) && knows_layout(list_type, layout)
}

/// Returns the accesses that a layout allows. Video layouts allow none.
pub(in crate::rules) fn allowed_in(layout: D3D12_BARRIER_LAYOUT) -> D3D12_BARRIER_ACCESS {
    let read = SHADER_RESOURCE | COPY_SOURCE;
    match layout {
        D3D12_BARRIER_LAYOUT_COMMON => read | COPY_DEST,
        D3D12_BARRIER_LAYOUT_GENERIC_READ | D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_GENERIC_READ => read,
        D3D12_BARRIER_LAYOUT_RENDER_TARGET => RENDER_TARGET,
        D3D12_BARRIER_LAYOUT_UNORDERED_ACCESS
        | D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_UNORDERED_ACCESS
        | D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_UNORDERED_ACCESS => UNORDERED,
        D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_WRITE => DEPTH_WRITE | DEPTH_READ,
        D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_READ => DEPTH_READ,
        D3D12_BARRIER_LAYOUT_SHADER_RESOURCE
        | D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_SHADER_RESOURCE
        | D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_SHADER_RESOURCE => SHADER_RESOURCE,
        D3D12_BARRIER_LAYOUT_COPY_SOURCE
        | D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_COPY_SOURCE
        | D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_COPY_SOURCE => COPY_SOURCE,
        D3D12_BARRIER_LAYOUT_COPY_DEST
        | D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_COPY_DEST
        | D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_COPY_DEST => COPY_DEST,
        D3D12_BARRIER_LAYOUT_RESOLVE_SOURCE => RESOLVE_SOURCE,
        D3D12_BARRIER_LAYOUT_RESOLVE_DEST => RESOLVE_DEST,
        D3D12_BARRIER_LAYOUT_SHADING_RATE_SOURCE => SHADING_RATE,
        D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_COMMON | D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_COMMON => {
            read | COPY_DEST | UNORDERED
        }
        D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_GENERIC_READ
        | D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_GENERIC_READ_COMPUTE_QUEUE_ACCESSIBLE => {
            read | DEPTH_READ | SHADING_RATE | RESOLVE_SOURCE
        }
        _ => 0,
    }
}

/// Accesses that a simultaneous-access texture, which stays in COMMON, allows in addition to those of every texture in
/// COMMON.
pub(super) const SIMULTANEOUS: D3D12_BARRIER_ACCESS =
    RENDER_TARGET | UNORDERED | RESOLVE_DEST | RESOLVE_SOURCE;

/// Returns the resource flag that a layout requires, and its name: a layout that allows nothing but accesses that
/// require a flag requires it as well.
pub(in crate::rules) fn flag_of(
    layout: D3D12_BARRIER_LAYOUT,
) -> Option<(D3D12_RESOURCE_FLAGS, &'static str)> {
    let allowed = allowed_in(layout);
    let needs = |&&(accesses, ..): &&(D3D12_BARRIER_ACCESS, _, _)| allowed != 0 && allowed & !accesses == 0;
    FLAG_ACCESSES.iter().find(needs).map(|&(_, flag, name)| (flag, name))
}

/// Accesses that require a resource flag.
pub(super) const FLAG_ACCESSES: [(D3D12_BARRIER_ACCESS, D3D12_RESOURCE_FLAGS, &str); 3] = [
    (RENDER_TARGET, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, "ALLOW_RENDER_TARGET"),
    (UNORDERED, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, "ALLOW_UNORDERED_ACCESS"),
    (DEPTH_WRITE | DEPTH_READ, D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL, "ALLOW_DEPTH_STENCIL"),
];
