//! The initial state or layout of a resource.

use heapwright_d3d12::*;

/// The initial state of a resource, or its initial layout for enhanced barriers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InitialState {
    /// `D3D12_RESOURCE_STATES`, for `CreatePlacedResource` and similar calls. In an UPLOAD or READBACK heap, COMMON or
    /// a part of GENERIC_READ is converted to GENERIC_READ or COPY_DEST on a device without `ID3D12Device10`, which
    /// accepts no other state there.
    State(D3D12_RESOURCE_STATES),
    /// `D3D12_BARRIER_LAYOUT`, for `CreatePlacedResource2`; needs an `ID3D12Device10` with EnhancedBarriersSupported. A
    /// buffer has UNDEFINED only.
    Layout(D3D12_BARRIER_LAYOUT),
}

impl Default for InitialState {
    fn default() -> Self {
        Self::State(D3D12_RESOURCE_STATE_COMMON)
    }
}
