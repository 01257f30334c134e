//! Heap types and the states and layouts that their resources begin in.

use heapwright_d3d12::*;

use super::HeapFamily;
use crate::{Error, HeapType};

/// How a resource begins: a state, or a layout of enhanced barriers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InitialState {
    /// `D3D12_RESOURCE_STATES`, for `CreatePlacedResource` and its like. COMMON, or a part of GENERIC_READ, in an UPLOAD or READBACK heap is
    /// GENERIC_READ or COPY_DEST on a device without `ID3D12Device10`, which takes nothing else there.
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

/// The heap type that a resource belongs to by its initial state, where none is given: GENERIC_READ is UPLOAD's, COPY_DEST
/// READBACK's, and everything else, layouts among them, DEFAULT's. The rule is GPGMM's, for buffers and textures alike.
#[inline]
pub(crate) fn infer_heap_type(initial: InitialState) -> HeapType {
    match initial {
        InitialState::State(D3D12_RESOURCE_STATE_GENERIC_READ) => HeapType::Upload,
        InitialState::State(D3D12_RESOURCE_STATE_COPY_DEST) => HeapType::Readback,
        InitialState::State(_) | InitialState::Layout(_) => HeapType::Default,
    }
}

/// Checks that a resource may be in the heaps that are wanted for it and begin as it shall. The heaps are those that were
/// asked for, before unified memory makes others of them: the rules are of the heap type.
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
            Some((D3D12_RESOURCE_STATE_GENERIC_READ, "an UPLOAD heap takes COMMON and parts of GENERIC_READ"))
        }
        HeapFamily::Type(HeapType::Readback) => {
            Some((D3D12_RESOURCE_STATE_COPY_DEST, "a READBACK heap takes COPY_DEST or COMMON"))
        }
        HeapFamily::Type(HeapType::Default | HeapType::GpuUpload) | HeapFamily::Custom(_) => None,
    };
    if canonical.is_some() && !is_buffer {
        return Err(Error::invalid_argument(
            "D3D12_RESOURCE_DESC::Dimension",
            format!("{dimension} is that of a texture, and {family} heaps hold buffers only"),
        ));
    }
    match (initial, canonical) {
        // COMMON is no state, and so a part of each.
        (InitialState::State(state), Some((allowed, rule))) if state & !allowed != 0 => {
            Err(Error::invalid_argument("initial_state", format!("is {state:#x}; {rule}")))
        }
        (InitialState::Layout(layout), _) if is_buffer && layout != D3D12_BARRIER_LAYOUT_UNDEFINED => {
            let rule = format!("is {layout}; a buffer has none but D3D12_BARRIER_LAYOUT_UNDEFINED");
            Err(Error::invalid_argument("initial_state", rule))
        }
        (InitialState::State(_) | InitialState::Layout(_), _) => Ok(()),
    }
}
