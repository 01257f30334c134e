//! `GetCopyableFootprints`: the layout of subresources in a buffer for copies.

use heapwright_d3d12::*;

use super::Refusal;
use super::resource::Resource;
use crate::ddi::{ResourceKind, TextureArgs};

/// Alignment of a row pitch, in bytes, of a format with one plane.
const PITCH_ALIGNMENT: u64 = D3D12_TEXTURE_DATA_PITCH_ALIGNMENT.cast_unsigned() as u64;

/// Alignment of a subresource's offset, relative to the base offset, in bytes.
const PLACEMENT_ALIGNMENT: u64 = D3D12_TEXTURE_DATA_PLACEMENT_ALIGNMENT.cast_unsigned() as u64;

/// The footprint of one subresource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CopyableFootprint {
    /// The element of `pLayouts`.
    pub(crate) placed: D3D12_PLACED_SUBRESOURCE_FOOTPRINT,
    /// The element of `pNumRows`: the number of rows of blocks.
    pub(crate) row_count: u32,
    /// The element of `pRowSizeInBytes`: the size of a row without padding, in bytes.
    pub(crate) row_size: u64,
}

impl CopyableFootprint {
    /// The footprint that `GetCopyableFootprints` returns for invalid input: all bits set. The total is `u64::MAX`
    /// then.
    pub(crate) const INVALID: Self = Self {
        placed: D3D12_PLACED_SUBRESOURCE_FOOTPRINT {
            Offset: u64::MAX,
            Footprint: D3D12_SUBRESOURCE_FOOTPRINT {
                Format: -1,
                Width: u32::MAX,
                Height: u32::MAX,
                Depth: u32::MAX,
                RowPitch: u32::MAX,
            },
        },
        row_count: u32::MAX,
        row_size: u64::MAX,
    };
}

/// Computes the footprints of `count` subresources from `first` on, passes each to `each` and returns `pTotalBytes`.
///
/// Multisampled textures are treated as if they had one sample. The total does not include `base_offset`, which may be
/// any number: offsets wrap around, as they do on native D3D12.
///
/// # Errors
///
/// Returns a refusal if a subresource does not exist or a size overflows. The footprints already passed to `each` are
/// invalid then: the API fills all outputs with [`CopyableFootprint::INVALID`].
pub(crate) fn copyable_footprints(
    resource: &Resource,
    first: u32,
    count: u32,
    base_offset: u64,
    mut each: impl FnMut(CopyableFootprint),
) -> Result<u64, Refusal> {
    let available = match resource.kind() {
        ResourceKind::Buffer { .. } => 1,
        ResourceKind::Texture(texture) => texture.subresource_count(),
    };
    if first.checked_add(count).is_none_or(|end| end > available) {
        return Err(Refusal::invalid(format!(
            "FirstSubresource {first} plus NumSubresources {count} exceeds the number of subresources, {available}"
        ))
        .with_id(D3D12_MESSAGE_ID_GETCOPYABLEFOOTPRINTS_INVALIDSUBRESOURCERANGE));
    }
    let overflow = || {
        Refusal::invalid("a footprint overflows a field of D3D12_PLACED_SUBRESOURCE_FOOTPRINT")
            .with_id(D3D12_MESSAGE_ID_GETCOPYABLEFOOTPRINTS_UNSUPPORTED_BUFFER_WIDTH)
    };
    let mut end = 0_u64;
    for index in first..first + count {
        let shape = match resource.kind() {
            ResourceKind::Buffer { width } => Shape::of_buffer(width.get()),
            ResourceKind::Texture(texture) => Shape::of_subresource(&texture, index),
        };
        let shape = shape.ok_or_else(overflow)?;
        let start = end.checked_next_multiple_of(PLACEMENT_ALIGNMENT).ok_or_else(overflow)?;
        end = start.checked_add(shape.size).ok_or_else(overflow)?;
        each(CopyableFootprint {
            placed: D3D12_PLACED_SUBRESOURCE_FOOTPRINT {
                Offset: base_offset.wrapping_add(start),
                Footprint: shape.footprint,
            },
            row_count: shape.row_count,
            row_size: shape.row_size,
        });
    }
    Ok(end)
}

/// A footprint without its offset.
struct Shape {
    footprint: D3D12_SUBRESOURCE_FOOTPRINT,
    row_count: u32,
    row_size: u64,
    /// Bytes from the first row to the end of the last one, without padding after it.
    size: u64,
}

impl Shape {
    fn of_buffer(width: u64) -> Option<Self> {
        let pitch = width.checked_next_multiple_of(PITCH_ALIGNMENT)?;
        Some(Self {
            footprint: D3D12_SUBRESOURCE_FOOTPRINT {
                Format: DXGI_FORMAT_UNKNOWN,
                Width: u32::try_from(width).ok()?,
                Height: 1,
                Depth: 1,
                RowPitch: u32::try_from(pitch).ok()?,
            },
            row_count: 1,
            row_size: width,
            size: width,
        })
    }

    fn of_subresource(texture: &TextureArgs, index: u32) -> Option<Self> {
        let at = texture.subresource(index)?;
        let format = texture.format;
        let blocks = texture.mip_blocks(at.mip, at.plane);
        let row_size = u64::from(blocks.width) * u64::from(format.plane(at.plane).block_bytes);
        // As on native D3D12, rows of a format with planes are aligned like subresources, so that each plane begins at
        // the row after those of the one before.
        let alignment = if format.is_planar() { PLACEMENT_ALIGNMENT } else { PITCH_ALIGNMENT };
        let pitch = row_size.checked_next_multiple_of(alignment)?;
        let rows = u64::from(blocks.height) * u64::from(blocks.depth);
        Some(Self {
            footprint: D3D12_SUBRESOURCE_FOOTPRINT {
                Format: format.copy_format(at.plane),
                // Partial blocks are copied as whole blocks.
                Width: blocks.width.checked_mul(format.block_width)?,
                Height: blocks.height.checked_mul(format.block_height)?,
                Depth: blocks.depth,
                RowPitch: u32::try_from(pitch).ok()?,
            },
            row_count: blocks.height,
            row_size,
            size: pitch.checked_mul(rows.checked_sub(1)?)?.checked_add(row_size)?,
        })
    }
}
