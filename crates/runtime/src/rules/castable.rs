//! Checks of castable formats (`CreateCommittedResource3` and its relatives).

use heapwright_d3d12::{DXGI_FORMAT, DXGI_FORMAT_UNKNOWN};

use super::Refusal;
use crate::format::{FormatKind, FormatProperties, properties};

/// Checks the castable formats of a buffer: a buffer has no format and casts only to `DXGI_FORMAT_UNKNOWN`
/// (vkd3d-proton's test_enhanced_barrier_castable_formats_validation).
pub(crate) fn check_buffer(castable_formats: &[DXGI_FORMAT]) -> Result<(), Refusal> {
    match castable_formats.iter().position(|&castable| castable != DXGI_FORMAT_UNKNOWN) {
        None => Ok(()),
        Some(index) => Err(Refusal::invalid(format!(
            "pCastableFormats[{index}] {} must be DXGI_FORMAT_UNKNOWN for a buffer",
            castable_formats[index]
        ))),
    }
}

/// Checks the castable formats of a texture of `format`.
///
/// Each must be a supported format with blocks of the same size. Block-compressed formats may be cast to uncompressed
/// formats and to other block-compressed ones; uncompressed formats only to uncompressed ones (vkd3d-proton's
/// test_enhanced_barrier_castable_formats_validation). Planar and depth formats cast only within their family.
pub(crate) fn check_texture(
    castable_formats: &[DXGI_FORMAT],
    format: &FormatProperties,
) -> Result<(), Refusal> {
    for (index, &castable) in castable_formats.iter().enumerate() {
        let Some(row) = properties(castable).filter(|row| row.kind != FormatKind::Unsupported) else {
            return Err(Refusal::invalid(format!(
                "pCastableFormats[{index}] {castable} is not a supported texture format"
            )));
        };
        if row.block_bytes != format.block_bytes {
            return Err(Refusal::invalid(format!(
                "pCastableFormats[{index}] {} has blocks of {} bytes, but Format {} has blocks of {} bytes; the sizes \
                 must be equal",
                row.name, row.block_bytes, format.name, format.block_bytes
            )));
        }
        if row.is_block_compressed() && !format.is_block_compressed() {
            return Err(Refusal::invalid(format!(
                "pCastableFormats[{index}] {} is block-compressed, but Format {} is uncompressed and can only be cast \
                 to uncompressed formats",
                row.name, format.name
            )));
        }
        let is_depth = |row: &FormatProperties| row.is_planar() || row.is_depth_stencil();
        if (is_depth(row) || is_depth(format)) && row.family != format.family {
            return Err(Refusal::invalid(format!(
                "pCastableFormats[{index}] {} must be in the same format family as Format {}, because depth-stencil \
                 and planar formats cannot be cast to other families",
                row.name, format.name
            )));
        }
    }
    Ok(())
}
