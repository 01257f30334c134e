//! Classes of resources that share heaps.

use heapwright_d3d12::*;

use super::heap_family::HeapFamily;
use super::heap_type::HeapType;
use crate::{DeviceCaps, Error};

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

/// Returns the heap type that an initial state implies: GENERIC_READ is UPLOAD's, COPY_DEST is READBACK's, and
/// everything else, including layouts, is DEFAULT's. This is GPGMM's rule, for buffers and textures alike.
#[inline]
pub(crate) fn infer_heap_type(initial: InitialState) -> HeapType {
    match initial {
        InitialState::State(D3D12_RESOURCE_STATE_GENERIC_READ) => HeapType::Upload,
        InitialState::State(D3D12_RESOURCE_STATE_COPY_DEST) => HeapType::Readback,
        InitialState::State(_) | InitialState::Layout(_) => HeapType::Default,
    }
}

/// Checks that a resource may be in the requested heaps and have its initial state there. The heaps are those before
/// unified memory is applied, because the rules depend on the heap type.
///
/// | heaps | resources | states | layouts |
/// |---|---|---|---|
/// | UPLOAD | buffers | GENERIC_READ; any part of it and COMMON, since SDK 606 | UNDEFINED |
/// | READBACK | buffers | COPY_DEST; COMMON, by the same change | UNDEFINED |
/// | DEFAULT, GPU_UPLOAD, CUSTOM | all | the device decides | UNDEFINED for buffers; for textures the device decides |
///
/// # Errors
///
/// Invalid argument, with the field that contradicts the heap type.
#[inline]
pub(crate) fn check_initial_state(
    family: HeapFamily,
    dimension: D3D12_RESOURCE_DIMENSION,
    initial: InitialState,
) -> Result<(), Error> {
    let is_buffer = dimension == D3D12_RESOURCE_DIMENSION_BUFFER;
    let canonical = match family {
        HeapFamily::Type(HeapType::Upload) => {
            Some((D3D12_RESOURCE_STATE_GENERIC_READ, "UPLOAD heaps allow COMMON and subsets of GENERIC_READ"))
        }
        HeapFamily::Type(HeapType::Readback) => {
            Some((D3D12_RESOURCE_STATE_COPY_DEST, "READBACK heaps allow COPY_DEST and COMMON"))
        }
        HeapFamily::Type(HeapType::Default | HeapType::GpuUpload) | HeapFamily::Custom(_) => None,
    };
    if canonical.is_some() && !is_buffer {
        return Err(Error::invalid_argument(
            "D3D12_RESOURCE_DESC::Dimension",
            format!("{dimension} is a texture dimension, but {family} heaps only support buffers"),
        ));
    }
    match (initial, canonical) {
        // COMMON has no bits, so it is a part of each state.
        (InitialState::State(state), Some((allowed, rule))) if state & !allowed != 0 => {
            Err(Error::invalid_argument("initial_state", format!("{state:#x} is not allowed; {rule}")))
        }
        (InitialState::Layout(layout), _) if is_buffer && layout != D3D12_BARRIER_LAYOUT_UNDEFINED => {
            let rule = format!("{layout} is not allowed; buffers require D3D12_BARRIER_LAYOUT_UNDEFINED");
            Err(Error::invalid_argument("initial_state", rule))
        }
        (InitialState::State(_) | InitialState::Layout(_), _) => Ok(()),
    }
}
