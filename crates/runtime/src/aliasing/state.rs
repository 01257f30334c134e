//! The state of a subresource, as barriers set it.

use heapwright_d3d12::*;

/// States in which the GPU writes.
const GPU_WRITES: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_RENDER_TARGET
    | D3D12_RESOURCE_STATE_UNORDERED_ACCESS
    | D3D12_RESOURCE_STATE_DEPTH_WRITE
    | D3D12_RESOURCE_STATE_STREAM_OUT
    | D3D12_RESOURCE_STATE_COPY_DEST
    | D3D12_RESOURCE_STATE_RESOLVE_DEST;

/// In which state a subresource is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BarrierState {
    /// Set by a legacy barrier or at creation; promoted from COMMON by an access, it decays when the submission ends.
    Legacy { state: D3D12_RESOURCE_STATES, is_promoted: bool },
    /// Set by an enhanced barrier or at creation.
    Layout(D3D12_BARRIER_LAYOUT),
}

impl BarrierState {
    pub(super) const COMMON: Self = Self::legacy(D3D12_RESOURCE_STATE_COMMON);

    pub(super) const fn legacy(state: D3D12_RESOURCE_STATES) -> Self {
        Self::Legacy { state, is_promoted: false }
    }

    pub(super) fn is_common(self) -> bool {
        match self {
            Self::Legacy { state, .. } => state == D3D12_RESOURCE_STATE_COMMON,
            Self::Layout(layout) => matches!(
                layout,
                D3D12_BARRIER_LAYOUT_COMMON
                    | D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_COMMON
                    | D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_COMMON
            ),
        }
    }

    /// Whether the GPU writes in it.
    pub(super) fn is_written(self) -> bool {
        match self {
            Self::Legacy { state, .. } => state & GPU_WRITES != 0,
            Self::Layout(layout) => matches!(
                layout,
                D3D12_BARRIER_LAYOUT_RENDER_TARGET
                    | D3D12_BARRIER_LAYOUT_UNORDERED_ACCESS
                    | D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_WRITE
                    | D3D12_BARRIER_LAYOUT_COPY_DEST
                    | D3D12_BARRIER_LAYOUT_RESOLVE_DEST
                    | D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_UNORDERED_ACCESS
                    | D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_UNORDERED_ACCESS
                    | D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_COPY_DEST
                    | D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_COPY_DEST
            ),
        }
    }

    /// Whether both are the same, however they came to be.
    pub(super) fn is_same(self, other: Self) -> bool {
        match (self, other) {
            (Self::Legacy { state: one, .. }, Self::Legacy { state: two, .. }) => one == two,
            (Self::Layout(one), Self::Layout(two)) => one == two,
            _ => self.is_common() && other.is_common(),
        }
    }

    /// The state after an access in `state` without a transition: COMMON is promoted.
    pub(super) fn promoted(self, state: D3D12_RESOURCE_STATES) -> Self {
        match self {
            Self::Legacy { state: D3D12_RESOURCE_STATE_COMMON, .. } => {
                Self::Legacy { state, is_promoted: true }
            }
            other => other,
        }
    }

    /// The state when a submission ends: what was promoted to be read, or was used on a copy queue, is COMMON again.
    pub(super) fn decayed(self, on_copy_queue: bool) -> Self {
        match self {
            Self::Legacy { state, is_promoted }
                if on_copy_queue || (is_promoted && state & GPU_WRITES == 0) =>
            {
                Self::COMMON
            }
            other => other,
        }
    }

    /// Whether a discard may find it so.
    pub(super) fn allows_discard(self, is_compute: bool, flags: D3D12_RESOURCE_FLAGS) -> bool {
        let is = |state: D3D12_RESOURCE_STATES, layouts: &[D3D12_BARRIER_LAYOUT]| match self {
            Self::Legacy { state: own, .. } => own == state,
            Self::Layout(own) => layouts.contains(&own),
        };
        let unordered = is(
            D3D12_RESOURCE_STATE_UNORDERED_ACCESS,
            &[
                D3D12_BARRIER_LAYOUT_UNORDERED_ACCESS,
                D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_UNORDERED_ACCESS,
                D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_UNORDERED_ACCESS,
            ],
        );
        if is_compute {
            return unordered;
        }
        if flags & D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET != 0 {
            return is(D3D12_RESOURCE_STATE_RENDER_TARGET, &[D3D12_BARRIER_LAYOUT_RENDER_TARGET]);
        }
        if flags & D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL != 0 {
            return is(D3D12_RESOURCE_STATE_DEPTH_WRITE, &[D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_WRITE]);
        }
        unordered
    }
}
