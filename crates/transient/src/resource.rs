//! The description of a resource of a frame.

use heapwright::ClearValue;
use heapwright::d3d12::*;
use heapwright_aliasing::frame::{OfKind, ResourceKind};

/// States in which a resource is written.
pub(super) const WRITE_STATES: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_RENDER_TARGET
    | D3D12_RESOURCE_STATE_UNORDERED_ACCESS
    | D3D12_RESOURCE_STATE_DEPTH_WRITE
    | D3D12_RESOURCE_STATE_STREAM_OUT
    | D3D12_RESOURCE_STATE_COPY_DEST
    | D3D12_RESOURCE_STATE_RESOLVE_DEST;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Resource {
    pub(super) desc: D3D12_RESOURCE_DESC,
    pub(super) clear_value: Option<ClearValue>,
}

impl Resource {
    pub(super) fn is_buffer(&self) -> bool {
        self.desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER
    }

    pub(super) fn is_target(&self) -> bool {
        let flags = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
        self.desc.Flags & flags != 0
    }

    /// Returns whether the state becomes COMMON at the end of each `ExecuteCommandLists`.
    pub(super) fn decays(&self) -> bool {
        self.is_buffer() || self.desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS != 0
    }
}

impl OfKind for Resource {
    fn kind(&self) -> ResourceKind {
        let has = |flag| self.desc.Flags & flag != 0;
        let unordered_access = has(D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
        if self.is_buffer() {
            ResourceKind::Buffer
        } else if has(D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL) {
            ResourceKind::DepthStencil
        } else if has(D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET) {
            ResourceKind::RenderTarget { unordered_access }
        } else if unordered_access {
            ResourceKind::UnorderedAccessTexture
        } else {
            ResourceKind::Texture
        }
    }
}
