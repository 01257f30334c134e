//! `GetCopyableFootprints`: how subresources lie in a buffer that copies read and write.

use heapwright_d3d12::*;

use super::Refusal;
use super::resource::Resource;
use crate::ddi::{ResourceKind, TextureArgs};

/// Where a row begins is a multiple of this, times the number of planes.
const PITCH_ALIGNMENT: u64 = D3D12_TEXTURE_DATA_PITCH_ALIGNMENT.cast_unsigned() as u64;

/// Where a subresource begins, counted from the base offset, is a multiple of this.
const PLACEMENT_ALIGNMENT: u64 = D3D12_TEXTURE_DATA_PLACEMENT_ALIGNMENT.cast_unsigned() as u64;

/// One subresource in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CopyableFootprint {
    /// `pLayouts`.
    pub(crate) placed: D3D12_PLACED_SUBRESOURCE_FOOTPRINT,
    /// `pNumRows`: rows of blocks.
    pub(crate) row_count: u32,
    /// `pRowSizeInBytes`: bytes of a row without padding.
    pub(crate) row_size: u64,
}

impl CopyableFootprint {
    /// What `GetCopyableFootprints` answers to invalid input: every bit is set. The total is `u64::MAX` then.
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

/// The footprints of `count` subresources from `first` on; gives each to `each` and answers with `pTotalBytes`.
///
/// Multisampled textures are answered as if they had one sample. The total leaves out `base_offset`, which may be any
/// number: offsets wrap, as they do on native D3D12.
///
/// # Errors
///
/// Subresources that do not exist, and sizes that overflow. What `each` got before counts for nothing then: the API fills
/// all outputs with [`CopyableFootprint::INVALID`].
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
            "FirstSubresource {first} and NumSubresources {count} reach beyond the {available} subresources that there \
             are"
        ))
        .with_id(D3D12_MESSAGE_ID_GETCOPYABLEFOOTPRINTS_INVALIDSUBRESOURCERANGE));
    }
    let overflow = || {
        Refusal::invalid("a footprint overflows its fields")
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

/// A subresource apart from where it lies.
struct Shape {
    footprint: D3D12_SUBRESOURCE_FOOTPRINT,
    row_count: u32,
    row_size: u64,
    /// Bytes from the first row to the end of the last one, without the padding behind that.
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
        // The planes of a texture are copied as rows of one pitch: native rows are twice as aligned with two planes.
        let alignment = PITCH_ALIGNMENT * u64::from(format.plane_count());
        let pitch = row_size.checked_next_multiple_of(alignment)?;
        let rows = u64::from(blocks.height) * u64::from(blocks.depth);
        Some(Self {
            footprint: D3D12_SUBRESOURCE_FOOTPRINT {
                Format: format.copy_format(at.plane),
                // Parts of a block are copied as whole ones.
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
