//! The state of a subresource, as set by barriers.

use heapwright_d3d12::*;

/// States in which the GPU writes.
const GPU_WRITES: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_RENDER_TARGET
    | D3D12_RESOURCE_STATE_UNORDERED_ACCESS
    | D3D12_RESOURCE_STATE_DEPTH_WRITE
    | D3D12_RESOURCE_STATE_STREAM_OUT
    | D3D12_RESOURCE_STATE_COPY_DEST
    | D3D12_RESOURCE_STATE_RESOLVE_DEST;

/// The state or layout of a subresource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BarrierState {
    /// Set by a legacy barrier or at creation. A state promoted from COMMON by an access may decay at the end of the
    /// submission.
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

    /// Returns whether the GPU writes in this state.
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

    /// Returns whether both states are the same, whatever their origin.
    pub(super) fn is_same(self, other: Self) -> bool {
        match (self, other) {
            (Self::Legacy { state: one, .. }, Self::Legacy { state: two, .. }) => one == two,
            (Self::Layout(one), Self::Layout(two)) => one == two,
            _ => self.is_common() && other.is_common(),
        }
    }

    /// Returns the state after an access in `state` without a transition: COMMON is promoted.
    pub(super) fn promoted(self, state: D3D12_RESOURCE_STATES) -> Self {
        match self {
            Self::Legacy { state: D3D12_RESOURCE_STATE_COMMON, .. } => {
                Self::Legacy { state, is_promoted: true }
            }
            other => other,
        }
    }

    /// Returns the state after a submission: states promoted for reading, and all states on a copy queue, decay to
    /// COMMON.
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

    /// Returns whether a discard is allowed in this state.
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
