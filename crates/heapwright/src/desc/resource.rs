//! What resource is created, and how it begins.

use std::fmt;

use heapwright_d3d12::*;

use crate::InitialState;

/// A resource as `CreateResource3` of D3D12MA and `ID3D12Device10` take it.
///
/// What is not given is D3D12's zero: no clear value, no castable formats, state COMMON.
///
/// ```
/// use heapwright::{ByteSize, ResourceDesc, buffer_desc};
///
/// let desc = ResourceDesc::new(&buffer_desc(ByteSize::new(100)));
/// assert_eq!(desc.desc.Width, 100);
/// ```
#[derive(Clone, Copy, Default)]
pub struct ResourceDesc<'a> {
    /// The description.
    pub desc: D3D12_RESOURCE_DESC,
    /// `D3D12_RESOURCE_DESC1::SamplerFeedbackMipRegion`; zero for all but sampler feedback, which needs an `ID3D12Device8`.
    pub sampler_feedback_mip_region: D3D12_MIP_REGION,
    /// How it begins.
    pub initial_state: InitialState,
    /// What it will mostly be cleared to.
    pub clear_value: Option<D3D12_CLEAR_VALUE>,
    /// Formats that it can be viewed as beside its own; needs an `ID3D12Device12` with
    /// RelaxedFormatCastingSupported and a [layout](InitialState::Layout).
    pub castable_formats: &'a [DXGI_FORMAT],
    /// The session of a committed resource; needs an `ID3D12Device4`. A placed one has its pool's.
    pub protected_session: Option<&'a ID3D12ProtectedResourceSession>,
}

impl ResourceDesc<'_> {
    /// A resource of this description in state COMMON.
    #[must_use]
    pub fn new(desc: &D3D12_RESOURCE_DESC) -> Self {
        Self::in_state(desc, D3D12_RESOURCE_STATE_COMMON)
    }

    /// A resource of this description in this state.
    #[must_use]
    #[inline]
    pub fn in_state(desc: &D3D12_RESOURCE_DESC, state: D3D12_RESOURCE_STATES) -> Self {
        Self { desc: *desc, initial_state: InitialState::State(state), ..Default::default() }
    }

    /// Whether it is a buffer.
    #[inline]
    pub(crate) fn is_buffer(&self) -> bool {
        self.desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER
    }
}

impl fmt::Debug for ResourceDesc<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceDesc")
            .field("desc", &self.desc)
            .field("initial_state", &self.initial_state)
            .field("clear_format", &self.clear_value.map(|clear_value| clear_value.Format))
            .field("castable_formats", &self.castable_formats)
            .finish_non_exhaustive()
    }
}
