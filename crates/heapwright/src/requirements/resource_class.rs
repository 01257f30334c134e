//! Classes of resources that share heaps.

use heapwright_d3d12::*;

use crate::DeviceCaps;

/// A class of resources that share heaps. Buffers are always separate, so that a tiny buffer never keeps a heap of
/// textures alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ResourceClass {
    /// Buffers.
    Buffer,
    /// Textures that are neither render targets nor depth-stencils; on resource heap tier 2, all single-sample
    /// textures.
    Texture,
    /// Single-sample render targets and depth-stencils, on resource heap tier 1.
    RenderTarget,
    /// Multisampled textures, whose heaps are aligned to 4 MiB.
    Multisampled,
}

impl ResourceClass {
    pub(crate) const ALL: [Self; 4] = [Self::Buffer, Self::Texture, Self::RenderTarget, Self::Multisampled];

    #[inline]
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Buffer => 0,
            Self::Texture => 1,
            Self::RenderTarget => 2,
            Self::Multisampled => 3,
        }
    }

    /// Returns the class of a resource on a device.
    #[inline]
    pub(crate) fn of(desc: &D3D12_RESOURCE_DESC, caps: &DeviceCaps) -> Self {
        let target = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
        if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
            Self::Buffer
        } else if desc.SampleDesc.Count > 1 {
            Self::Multisampled
        } else if desc.Flags & target != 0 && caps.resource_heap_tier < 2 {
            Self::RenderTarget
        } else {
            Self::Texture
        }
    }

    /// Returns `D3D12_HEAP_DESC::Alignment`; 0 is the default of 64 KiB.
    pub(crate) const fn heap_alignment(self) -> u64 {
        match self {
            Self::Multisampled => D3D12_DEFAULT_MSAA_RESOURCE_PLACEMENT_ALIGNMENT.cast_unsigned() as u64,
            Self::Buffer | Self::Texture | Self::RenderTarget => 0,
        }
    }

    /// Returns the flags of heaps for the class.
    pub(crate) fn heap_flags(self, caps: &DeviceCaps) -> D3D12_HEAP_FLAGS {
        match self {
            Self::Buffer => D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
            Self::Texture if caps.resource_heap_tier >= 2 => D3D12_HEAP_FLAG_DENY_BUFFERS,
            Self::Texture => D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES,
            // Multisampled textures are render targets or depth-stencils.
            Self::RenderTarget | Self::Multisampled => D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES,
        }
    }
}
