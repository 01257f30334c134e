//! The number of standard tiles of a texture's most detailed mip level, by which D3D12 identifies small textures.

use heapwright_core::ByteSize;
use heapwright_d3d12::*;

use super::alignment::small_alignment;

/// Returns the number of tiles of the small alignment that the level takes. `None` for formats whose blocks are not
/// known here (planar and video formats, and those that are not D3D12's).
///
/// A tile is a box of blocks with sides as equal as powers of two allow, the earlier ones being the longer.
/// Multisampling shrinks width and height in turn.
pub(super) fn over_most_detailed_mip(desc: &D3D12_RESOURCE_DESC) -> Option<u64> {
    let Block { side, bytes } = texel_block(desc.Format)?;
    let tile_log2 = small_alignment(desc).get().trailing_zeros();
    let log2 = tile_log2.checked_sub(bytes.next_power_of_two().trailing_zeros())?;
    // Rounded up, because an invalid sample count may be any number.
    let samples_log2 = u32::BITS - desc.SampleDesc.Count.saturating_sub(1).leading_zeros();
    let (width, height, depth) = match desc.Dimension {
        D3D12_RESOURCE_DIMENSION_TEXTURE1D => (log2, 0, 0),
        D3D12_RESOURCE_DIMENSION_TEXTURE3D => (log2.div_ceil(3), (log2 + 1) / 3, log2 / 3),
        _ => (
            log2.div_ceil(2).saturating_sub(samples_log2.div_ceil(2)),
            (log2 / 2).saturating_sub(samples_log2 / 2),
            0,
        ),
    };
    let slices = match desc.Dimension {
        D3D12_RESOURCE_DIMENSION_TEXTURE3D => u64::from(desc.DepthOrArraySize),
        _ => 1,
    };
    let columns = desc.Width.div_ceil(side).div_ceil(1 << width);
    let rows = u64::from(desc.Height).div_ceil(side).div_ceil(1 << height);
    Some(columns.saturating_mul(rows).saturating_mul(slices.div_ceil(1 << depth)))
}

/// Returns the minimum bytes of a texture's most detailed level, in all its slices and samples.
///
/// In formats that are not known here, a texel has at least half a byte.
pub(super) fn least_bytes(desc: &D3D12_RESOURCE_DESC) -> ByteSize {
    let (side, bytes, texels_of_a_byte) = match texel_block(desc.Format) {
        Some(Block { side, bytes }) => (side, u64::from(bytes), 1),
        None => (1, 1, 2),
    };
    let samples = match desc.SampleDesc.Count {
        count if count.is_power_of_two() && count <= MOST_SAMPLES => u64::from(count),
        _ => 1,
    };
    let columns = desc.Width.div_ceil(side);
    let rows = u64::from(desc.Height).div_ceil(side);
    let factors = [columns, rows, u64::from(desc.DepthOrArraySize), samples, bytes];
    ByteSize::new(factors.into_iter().fold(1, u64::saturating_mul) / texels_of_a_byte)
}

/// Returns the bytes of all texels of a texture, in all its levels, slices and samples. `None` for formats that are not
/// known here.
pub(crate) fn texel_bytes(desc: &D3D12_RESOURCE_DESC) -> Option<ByteSize> {
    let Block { side, bytes } = texel_block(desc.Format)?;
    let is_volume = desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D;
    let depth = u64::from(desc.DepthOrArraySize);
    let (deep, slices) = if is_volume { (depth, 1) } else { (1, depth) };
    let largest = desc.Width.max(u64::from(desc.Height)).max(deep).max(1);
    let all = largest.ilog2() + 1;
    let levels = if desc.MipLevels == 0 { all } else { all.min(u32::from(desc.MipLevels)) };
    let of_level = |level: u32| {
        let at = |extent: u64| (extent >> level).max(1);
        let (columns, rows) = (at(desc.Width).div_ceil(side), at(desc.Height.into()).div_ceil(side));
        [columns, rows, at(deep), u64::from(bytes)].into_iter().fold(1, u64::saturating_mul)
    };
    let levels = (0..levels).map(of_level).fold(0, u64::saturating_add);
    let factors = [slices, u64::from(desc.SampleDesc.Count.max(1))];
    Some(ByteSize::new(factors.into_iter().fold(levels, u64::saturating_mul)))
}

/// D3D12_MAX_MULTISAMPLE_SAMPLE_COUNT. No valid texture has more samples.
const MOST_SAMPLES: u32 = 32;

/// A square of texels that a format stores as a unit.
pub(crate) struct Block {
    /// Texels along an edge.
    pub(crate) side: u64,
    pub(crate) bytes: u32,
}

/// Returns the block of a format; `None` for formats that are not known here.
pub(crate) fn texel_block(format: DXGI_FORMAT) -> Option<Block> {
    let texel = |bytes| Some(Block { side: 1, bytes });
    let compressed = |bytes| Some(Block { side: 4, bytes });
    match format {
        DXGI_FORMAT_R32G32B32A32_TYPELESS..=DXGI_FORMAT_R32G32B32A32_SINT => texel(16),
        DXGI_FORMAT_R32G32B32_TYPELESS..=DXGI_FORMAT_R32G32B32_SINT => texel(12),
        DXGI_FORMAT_R16G16B16A16_TYPELESS..=DXGI_FORMAT_R32G32_SINT => texel(8),
        DXGI_FORMAT_R10G10B10A2_TYPELESS..=DXGI_FORMAT_R32_SINT => texel(4),
        DXGI_FORMAT_R8G8_TYPELESS..=DXGI_FORMAT_R16_SINT => texel(2),
        DXGI_FORMAT_R8_TYPELESS..=DXGI_FORMAT_A8_UNORM => texel(1),
        DXGI_FORMAT_R9G9B9E5_SHAREDEXP => texel(4),
        DXGI_FORMAT_BC1_TYPELESS..=DXGI_FORMAT_BC1_UNORM_SRGB
        | DXGI_FORMAT_BC4_TYPELESS..=DXGI_FORMAT_BC4_SNORM => compressed(8),
        DXGI_FORMAT_BC2_TYPELESS..=DXGI_FORMAT_BC3_UNORM_SRGB
        | DXGI_FORMAT_BC5_TYPELESS..=DXGI_FORMAT_BC5_SNORM
        | DXGI_FORMAT_BC6H_TYPELESS..=DXGI_FORMAT_BC7_UNORM_SRGB => compressed(16),
        DXGI_FORMAT_B5G6R5_UNORM | DXGI_FORMAT_B5G5R5A1_UNORM | DXGI_FORMAT_B4G4R4A4_UNORM => texel(2),
        DXGI_FORMAT_B8G8R8A8_UNORM..=DXGI_FORMAT_B8G8R8X8_UNORM_SRGB => texel(4),
        _ => None,
    }
}
