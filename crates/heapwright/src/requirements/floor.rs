//! The alignments of D3D12, and the one that a description requests.

use heapwright_core::Alignment;
use heapwright_d3d12::*;

use super::BufferUses;
use super::buffer_uses::d3d12_alignment;
use crate::Error;

/// 64 KiB: buffers and single-sample textures without tight alignment, and small multisampled textures.
pub(super) const DEFAULT: Alignment = d3d12_alignment(D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT);
const MULTISAMPLED: Alignment = d3d12_alignment(D3D12_DEFAULT_MSAA_RESOURCE_PLACEMENT_ALIGNMENT);
const SMALL: Alignment = d3d12_alignment(D3D12_SMALL_RESOURCE_PLACEMENT_ALIGNMENT);
const SMALL_MULTISAMPLED: Alignment = d3d12_alignment(D3D12_SMALL_MSAA_RESOURCE_PLACEMENT_ALIGNMENT);

/// Returns the alignment without tight alignment, which is also the largest one that can be requested.
pub(super) fn default(desc: &D3D12_RESOURCE_DESC) -> Alignment {
    if desc.SampleDesc.Count > 1 { MULTISAMPLED } else { DEFAULT }
}

/// Returns the alignment of a small texture.
pub(super) fn small(desc: &D3D12_RESOURCE_DESC) -> Alignment {
    if desc.SampleDesc.Count > 1 { SMALL_MULTISAMPLED } else { SMALL }
}

/// Returns the alignment that a description and its uses require: a minimum, however the device treats `Alignment`.
///
/// # Errors
///
/// Invalid argument: `Alignment` is neither 0 nor a power of two, or above the largest alignment of the kind of
/// resource.
#[inline]
pub(super) fn of(desc: &D3D12_RESOURCE_DESC, uses: BufferUses) -> Result<Alignment, Error> {
    const FIELD: &str = "D3D12_RESOURCE_DESC::Alignment";
    if desc.Alignment == 0 {
        return Ok(uses.floor());
    }
    let asked = Alignment::new(desc.Alignment).ok_or_else(|| {
        Error::invalid_argument(FIELD, format!("{:#x} is neither 0 nor a power of two", desc.Alignment))
    })?;
    let most = default(desc);
    if asked > most {
        let what = match desc.Dimension {
            D3D12_RESOURCE_DIMENSION_BUFFER => "a buffer",
            _ if desc.SampleDesc.Count > 1 => "a multisampled texture",
            _ => "a single-sample texture",
        };
        return Err(Error::invalid_argument(
            FIELD,
            format!("{asked} exceeds the maximum of {most} for {what}"),
        ));
    }
    Ok(asked.max(uses.floor()))
}
