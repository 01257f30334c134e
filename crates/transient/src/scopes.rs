//! The synchronization scopes, accesses and texture layouts that correspond to resource states, for enhanced barriers.
//!
//! The equivalents are those of DirectX-Specs, D3D12EnhancedBarriers.md, *Compatibility with legacy
//! D3D12_RESOURCE_STATES*, with two additions: clears of unordered access views and ray tracing have scopes that
//! shading does not include.

use heapwright::d3d12::*;
use heapwright_aliasing::frame::QueueKind;

use super::resource::Resource;

/// Returns the states that command lists of a queue may use.
fn permitted(queue: QueueKind) -> D3D12_RESOURCE_STATES {
    let copies = D3D12_RESOURCE_STATE_COPY_DEST | D3D12_RESOURCE_STATE_COPY_SOURCE;
    match queue {
        QueueKind::Direct => !D3D12_RESOURCE_STATE_COMMON,
        QueueKind::Compute => {
            copies
                | D3D12_RESOURCE_STATE_UNORDERED_ACCESS
                | D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE
                | D3D12_RESOURCE_STATE_INDIRECT_ARGUMENT
                | D3D12_RESOURCE_STATE_VERTEX_AND_CONSTANT_BUFFER
                | D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE
        }
        QueueKind::Copy => copies,
    }
}

/// Returns whether command lists of a queue may use a state.
pub(super) fn permits(queue: QueueKind, state: D3D12_RESOURCE_STATES) -> bool {
    state & !permitted(queue) == 0
}

/// The queues that use a resource, by which its layouts are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Users {
    /// Direct queues alone: some hardware changes between layouts for them faster.
    Direct,
    /// Others, too.
    Any,
    /// Direct and compute queues, on a device with a layout in which both read.
    SharedReads,
}

impl Users {
    pub(super) fn of(mut queues: impl Iterator<Item = QueueKind>, has_shared_reads: bool) -> Self {
        match queues.all(|queue| queue == QueueKind::Direct) {
            true => Self::Direct,
            false if has_shared_reads => Self::SharedReads,
            false => Self::Any,
        }
    }
}

/// The commands that a barrier waits for or blocks, and their accesses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Scope {
    pub(super) sync: D3D12_BARRIER_SYNC,
    pub(super) access: D3D12_BARRIER_ACCESS,
}

impl Scope {
    /// No command: the submission does not use the resource on that side of the barrier.
    pub(super) const NONE: Self =
        Self { sync: D3D12_BARRIER_SYNC_NONE, access: D3D12_BARRIER_ACCESS_NO_ACCESS };

    /// Returns the scope of all uses of a resource in a state that command lists of a queue may have.
    pub(super) fn of(resource: &Resource, state: D3D12_RESOURCE_STATES, queue: QueueKind) -> Self {
        let state = relevant(resource, state);
        if state == D3D12_RESOURCE_STATE_COMMON {
            return Self { sync: D3D12_BARRIER_SYNC_ALL, access: D3D12_BARRIER_ACCESS_COMMON };
        }
        let state = state & permitted(queue);
        if state == D3D12_RESOURCE_STATE_COMMON {
            return Self::NONE;
        }
        (SCOPES.iter())
            .filter(|(bit, _, _)| state & bit != 0)
            .fold(Self::default(), |all, &(_, sync, access)| all.and(Self { sync, access }))
    }

    /// Returns the union of two scopes.
    pub(super) fn and(self, other: Self) -> Self {
        Self { sync: self.sync | other.sync, access: self.access | other.access }
    }
}

/// States with their synchronization scopes and accesses.
const SCOPES: [(D3D12_RESOURCE_STATES, D3D12_BARRIER_SYNC, D3D12_BARRIER_ACCESS); 16] = [
    (
        D3D12_RESOURCE_STATE_VERTEX_AND_CONSTANT_BUFFER,
        D3D12_BARRIER_SYNC_ALL_SHADING | D3D12_BARRIER_SYNC_RAYTRACING,
        D3D12_BARRIER_ACCESS_VERTEX_BUFFER | D3D12_BARRIER_ACCESS_CONSTANT_BUFFER,
    ),
    (D3D12_RESOURCE_STATE_INDEX_BUFFER, D3D12_BARRIER_SYNC_INDEX_INPUT, D3D12_BARRIER_ACCESS_INDEX_BUFFER),
    (
        D3D12_RESOURCE_STATE_RENDER_TARGET,
        D3D12_BARRIER_SYNC_RENDER_TARGET,
        D3D12_BARRIER_ACCESS_RENDER_TARGET,
    ),
    (
        D3D12_RESOURCE_STATE_UNORDERED_ACCESS,
        D3D12_BARRIER_SYNC_ALL_SHADING
            | D3D12_BARRIER_SYNC_RAYTRACING
            | D3D12_BARRIER_SYNC_CLEAR_UNORDERED_ACCESS_VIEW,
        D3D12_BARRIER_ACCESS_UNORDERED_ACCESS,
    ),
    (
        D3D12_RESOURCE_STATE_DEPTH_WRITE,
        D3D12_BARRIER_SYNC_DEPTH_STENCIL,
        D3D12_BARRIER_ACCESS_DEPTH_STENCIL_WRITE,
    ),
    (
        D3D12_RESOURCE_STATE_DEPTH_READ,
        D3D12_BARRIER_SYNC_DEPTH_STENCIL,
        D3D12_BARRIER_ACCESS_DEPTH_STENCIL_READ,
    ),
    (
        D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE,
        D3D12_BARRIER_SYNC_NON_PIXEL_SHADING | D3D12_BARRIER_SYNC_RAYTRACING,
        D3D12_BARRIER_ACCESS_SHADER_RESOURCE,
    ),
    (
        D3D12_RESOURCE_STATE_PIXEL_SHADER_RESOURCE,
        D3D12_BARRIER_SYNC_PIXEL_SHADING,
        D3D12_BARRIER_ACCESS_SHADER_RESOURCE,
    ),
    (D3D12_RESOURCE_STATE_STREAM_OUT, D3D12_BARRIER_SYNC_VERTEX_SHADING, D3D12_BARRIER_ACCESS_STREAM_OUTPUT),
    (
        D3D12_RESOURCE_STATE_INDIRECT_ARGUMENT,
        D3D12_BARRIER_SYNC_EXECUTE_INDIRECT,
        D3D12_BARRIER_ACCESS_INDIRECT_ARGUMENT,
    ),
    (D3D12_RESOURCE_STATE_COPY_DEST, D3D12_BARRIER_SYNC_COPY, D3D12_BARRIER_ACCESS_COPY_DEST),
    (D3D12_RESOURCE_STATE_COPY_SOURCE, D3D12_BARRIER_SYNC_COPY, D3D12_BARRIER_ACCESS_COPY_SOURCE),
    (D3D12_RESOURCE_STATE_RESOLVE_DEST, D3D12_BARRIER_SYNC_RESOLVE, D3D12_BARRIER_ACCESS_RESOLVE_DEST),
    (D3D12_RESOURCE_STATE_RESOLVE_SOURCE, D3D12_BARRIER_SYNC_RESOLVE, D3D12_BARRIER_ACCESS_RESOLVE_SOURCE),
    (
        D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE,
        D3D12_BARRIER_SYNC_ALL_SHADING
            | D3D12_BARRIER_SYNC_RAYTRACING
            | D3D12_BARRIER_SYNC_BUILD_RAYTRACING_ACCELERATION_STRUCTURE
            | D3D12_BARRIER_SYNC_COPY_RAYTRACING_ACCELERATION_STRUCTURE,
        D3D12_BARRIER_ACCESS_RAYTRACING_ACCELERATION_STRUCTURE_READ,
    ),
    (
        D3D12_RESOURCE_STATE_SHADING_RATE_SOURCE,
        D3D12_BARRIER_SYNC_PIXEL_SHADING,
        D3D12_BARRIER_ACCESS_SHADING_RATE_SOURCE,
    ),
];

/// Returns the layout of a texture in a state, for barriers on a queue.
pub(super) fn layout_of(
    resource: &Resource,
    state: D3D12_RESOURCE_STATES,
    queue: QueueKind,
    users: Users,
) -> D3D12_BARRIER_LAYOUT {
    // Both have one layout for all uses.
    if resource.decays() || queue == QueueKind::Copy {
        return D3D12_BARRIER_LAYOUT_COMMON;
    }
    let for_queues = |direct, all| if users == Users::Direct { direct } else { all };
    match relevant(resource, state) {
        D3D12_RESOURCE_STATE_COMMON => D3D12_BARRIER_LAYOUT_COMMON,
        D3D12_RESOURCE_STATE_RENDER_TARGET => D3D12_BARRIER_LAYOUT_RENDER_TARGET,
        D3D12_RESOURCE_STATE_DEPTH_WRITE => D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_WRITE,
        D3D12_RESOURCE_STATE_DEPTH_READ => D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_READ,
        D3D12_RESOURCE_STATE_RESOLVE_DEST => D3D12_BARRIER_LAYOUT_RESOLVE_DEST,
        D3D12_RESOURCE_STATE_RESOLVE_SOURCE => D3D12_BARRIER_LAYOUT_RESOLVE_SOURCE,
        D3D12_RESOURCE_STATE_SHADING_RATE_SOURCE => D3D12_BARRIER_LAYOUT_SHADING_RATE_SOURCE,
        D3D12_RESOURCE_STATE_UNORDERED_ACCESS => for_queues(
            D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_UNORDERED_ACCESS,
            D3D12_BARRIER_LAYOUT_UNORDERED_ACCESS,
        ),
        D3D12_RESOURCE_STATE_COPY_DEST => {
            for_queues(D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_COPY_DEST, D3D12_BARRIER_LAYOUT_COPY_DEST)
        }
        D3D12_RESOURCE_STATE_COPY_SOURCE => {
            for_queues(D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_COPY_SOURCE, D3D12_BARRIER_LAYOUT_COPY_SOURCE)
        }
        state if state & !D3D12_RESOURCE_STATE_ALL_SHADER_RESOURCE == 0 => for_queues(
            D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_SHADER_RESOURCE,
            D3D12_BARRIER_LAYOUT_SHADER_RESOURCE,
        ),
        state
            if state & !(D3D12_RESOURCE_STATE_ALL_SHADER_RESOURCE | D3D12_RESOURCE_STATE_COPY_SOURCE)
                == 0 =>
        {
            for_queues(D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_GENERIC_READ, D3D12_BARRIER_LAYOUT_GENERIC_READ)
        }
        // Depth, resolves and shading rates are read on direct queues only.
        _ if users == Users::SharedReads => SHARED_READS,
        _ => D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_GENERIC_READ,
    }
}

/// The layout of reads that only direct queues have, in which compute queues read, too.
pub(super) const SHARED_READS: D3D12_BARRIER_LAYOUT =
    D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_GENERIC_READ_COMPUTE_QUEUE_ACCESSIBLE;

/// Returns whether a compute queue may find a texture in a state that it does not permit, because the layout is for
/// both.
pub(super) fn is_read_by_both(resource: &Resource, state: D3D12_RESOURCE_STATES, users: Users) -> bool {
    !resource.is_buffer() && layout_of(resource, state, QueueKind::Compute, users) == SHARED_READS
}

/// Returns a state without the bits that do not apply to the resource: GENERIC_READ has those of buffers and of
/// textures.
fn relevant(resource: &Resource, state: D3D12_RESOURCE_STATES) -> D3D12_RESOURCE_STATES {
    const OF_BUFFERS: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_VERTEX_AND_CONSTANT_BUFFER
        | D3D12_RESOURCE_STATE_INDEX_BUFFER
        | D3D12_RESOURCE_STATE_STREAM_OUT
        | D3D12_RESOURCE_STATE_INDIRECT_ARGUMENT
        | D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE;
    if resource.is_buffer() { state } else { state & !OF_BUFFERS }
}
