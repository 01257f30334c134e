//! The description of a resource and of its initial state.

use std::fmt;

use heapwright_d3d12::*;

use super::clear_value::ClearValue;
use crate::InitialState;

/// The description of a resource, with the parameters of `CreateResource3` of D3D12MA and `ID3D12Device10`.
///
/// The defaults are D3D12's: no clear value, no castable formats, state COMMON.
///
/// ```
/// use heapwright::{ByteSize, ResourceDesc, buffer_desc};
///
/// let desc = ResourceDesc::new(&buffer_desc(ByteSize::new(100)));
/// assert_eq!(desc.desc.Width, 100);
/// ```
#[derive(Clone, Copy, Default)]
pub struct ResourceDesc<'a> {
    /// D3D12's description.
    pub desc: D3D12_RESOURCE_DESC,
    /// `D3D12_RESOURCE_DESC1::SamplerFeedbackMipRegion`. Zero for all but sampler feedback, which requires
    /// `ID3D12Device8`.
    pub sampler_feedback_mip_region: D3D12_MIP_REGION,
    /// Initial state or layout.
    pub initial_state: InitialState,
    /// The value to which the resource will mostly be cleared.
    pub clear_value: Option<ClearValue>,
    /// Formats, in addition to its own, that views of the resource may have. Requires `ID3D12Device12` with
    /// RelaxedFormatCastingSupported and a [layout](InitialState::Layout).
    pub castable_formats: &'a [DXGI_FORMAT],
    /// Protected session of a committed resource; requires `ID3D12Device4`. A placed resource uses its pool's session.
    pub protected_session: Option<&'a ID3D12ProtectedResourceSession>,
}

impl ResourceDesc<'_> {
    /// Creates a description of a resource in state COMMON.
    #[must_use]
    pub fn new(desc: &D3D12_RESOURCE_DESC) -> Self {
        Self::in_state(desc, D3D12_RESOURCE_STATE_COMMON)
    }

    /// Creates a description of a resource in a given initial state.
    #[must_use]
    #[inline]
    pub fn in_state(desc: &D3D12_RESOURCE_DESC, state: D3D12_RESOURCE_STATES) -> Self {
        Self { desc: *desc, initial_state: InitialState::State(state), ..Default::default() }
    }

    #[inline]
    pub(crate) fn is_buffer(&self) -> bool {
        self.desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER
    }
}

impl From<D3D12_RESOURCE_DESC> for ResourceDesc<'_> {
    fn from(desc: D3D12_RESOURCE_DESC) -> Self {
        Self::new(&desc)
    }
}

impl<'a> From<&ResourceDesc<'a>> for ResourceDesc<'a> {
    fn from(desc: &ResourceDesc<'a>) -> Self {
        *desc
    }
}

impl fmt::Debug for ResourceDesc<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceDesc")
            .field("desc", &self.desc)
            .field("initial_state", &self.initial_state)
            .field("clear_value", &self.clear_value)
            .field("castable_formats", &self.castable_formats)
            .finish_non_exhaustive()
    }
}
