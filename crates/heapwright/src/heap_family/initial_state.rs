//! Initial states and layouts of resources, and the heap types that they fit.

use heapwright_d3d12::*;

use super::HeapFamily;
use crate::{Error, HeapType};

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
