//! `GetResourceTiling`.

use super::*;
use crate::rules::tiling::Tiling;

const TWO: D3D12_RESOURCE_DIMENSION = D3D12_RESOURCE_DIMENSION_TEXTURE2D;
const THREE: D3D12_RESOURCE_DIMENSION = D3D12_RESOURCE_DIMENSION_TEXTURE3D;

type Row = (D3D12_RESOURCE_DIMENSION, DXGI_FORMAT, u64, u32, u16, u16, u32, u8, [u32; 3]);

/// Values that implementations report, from vkd3d-proton's tests: dimension, format, width, height, depth or slices,
/// mips; then tiles, standard mips, tile shape.
#[rustfmt::skip]
const TABLE: [Row; 26] = [
    (TWO, DXGI_FORMAT_R8_UNORM, 1, 1, 1, 1, 1, 0, [256, 256, 1]),
    (TWO, DXGI_FORMAT_R8_UNORM, 128, 128, 1, 8, 1, 0, [256, 256, 1]),
    (TWO, DXGI_FORMAT_R8_UNORM, 256, 256, 1, 9, 2, 1, [256, 256, 1]),
    (TWO, DXGI_FORMAT_R8_UNORM, 512, 512, 1, 1, 4, 1, [256, 256, 1]),
    (TWO, DXGI_FORMAT_R8G8_UNORM, 512, 512, 1, 1, 8, 1, [256, 128, 1]),
    (TWO, DXGI_FORMAT_R8G8B8A8_UNORM, 512, 512, 1, 1, 16, 1, [128, 128, 1]),
    (TWO, DXGI_FORMAT_R16G16B16A16_UNORM, 512, 512, 1, 1, 32, 1, [128, 64, 1]),
    (TWO, DXGI_FORMAT_R32G32B32A32_FLOAT, 512, 512, 1, 1, 64, 1, [64, 64, 1]),
    (TWO, DXGI_FORMAT_D16_UNORM, 512, 512, 1, 1, 8, 1, [256, 128, 1]),
    (TWO, DXGI_FORMAT_D32_FLOAT, 512, 512, 1, 1, 16, 1, [128, 128, 1]),
    (TWO, DXGI_FORMAT_R8G8B8A8_UNORM, 192, 128, 1, 1, 2, 1, [128, 128, 1]),
    (TWO, DXGI_FORMAT_R8G8B8A8_UNORM, 320, 192, 1, 1, 6, 1, [128, 128, 1]),
    (TWO, DXGI_FORMAT_R8G8B8A8_UNORM, 128, 128, 16, 1, 16, 1, [128, 128, 1]),
    (TWO, DXGI_FORMAT_R8G8B8A8_UNORM, 512, 512, 1, 10, 22, 3, [128, 128, 1]),
    (TWO, DXGI_FORMAT_R8G8B8A8_UNORM, 512, 512, 4, 3, 84, 3, [128, 128, 1]),
    (TWO, DXGI_FORMAT_R8G8B8A8_UNORM, 512, 512, 4, 10, 88, 3, [128, 128, 1]),
    (TWO, DXGI_FORMAT_R8G8B8A8_UNORM, 64, 64, 1, 1, 1, 0, [128, 128, 1]),
    (THREE, DXGI_FORMAT_R8_UNORM, 64, 64, 64, 1, 4, 1, [64, 32, 32]),
    (THREE, DXGI_FORMAT_R8G8B8A8_UNORM, 64, 64, 64, 1, 16, 1, [32, 32, 16]),
    (THREE, DXGI_FORMAT_R32G32B32A32_FLOAT, 64, 64, 64, 3, 73, 3, [16, 16, 16]),
    (TWO, DXGI_FORMAT_BC1_UNORM, 512, 512, 1, 1, 2, 1, [512, 256, 1]),
    (TWO, DXGI_FORMAT_BC7_UNORM, 512, 512, 1, 1, 4, 1, [256, 256, 1]),
    (TWO, DXGI_FORMAT_BC1_UNORM, 1024, 512, 1, 10, 6, 2, [512, 256, 1]),
    (TWO, DXGI_FORMAT_BC7_UNORM, 1024, 1024, 1, 9, 22, 3, [256, 256, 1]),
    (TWO, DXGI_FORMAT_BC1_UNORM, 1024, 256, 1, 10, 3, 1, [512, 256, 1]),
    (TWO, DXGI_FORMAT_BC7_UNORM, 256, 512, 1, 9, 3, 1, [256, 256, 1]),
];

#[test]
fn texture_tiling_matches_implementations() {
    for (row, (dimension, format, width, height, depth, mips, tiles, standard, shape)) in
        TABLE.into_iter().enumerate()
    {
        let desc = D3D12_RESOURCE_DESC1 {
            Format: format,
            MipLevels: mips,
            Layout: D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE,
            ..texture(dimension, width, height, depth)
        };
        let tiling = Tiling::new(&valid(&desc)).expect("the resource has tiles");
        assert_eq!(tiling.tile_count(), tiles, "row {row}");
        let packed = tiling.packed_mips();
        assert_eq!(packed.NumStandardMips, standard, "row {row}");
        assert_eq!(u16::from(packed.NumPackedMips), mips - u16::from(standard), "row {row}");
        let found = tiling.tile_shape();
        assert_eq!([found.WidthInTexels, found.HeightInTexels, found.DepthInTexels], shape, "row {row}");
        // The standard mips of all slices follow each other; the packed mips come after them.
        let mut next = 0;
        for index in 0..tiling.subresource_count() {
            let found = tiling.subresource(index).expect("a subresource");
            let count = found.WidthInTiles * u32::from(found.HeightInTiles) * u32::from(found.DepthInTiles);
            if index % u32::from(mips) < u32::from(standard) {
                assert_eq!(found.StartTileIndexInOverallResource, next, "row {row} subresource {index}");
                next += count;
            } else {
                assert_eq!((found.StartTileIndexInOverallResource, count), (D3D12_PACKED_TILE, 0));
            }
        }
        let start = if packed.NumPackedMips == 0 { 0 } else { next };
        assert_eq!(packed.StartTileIndexInOverallResource, start, "row {row}");
        assert_eq!(next + packed.NumTilesForPackedMips, tiles, "row {row}");
        assert_eq!(tiling.subresource(tiling.subresource_count()), None);
    }
}

/// A texture narrower than a tile is packed; all of its samples have memory.
#[test]
fn packed_mips_hold_all_samples() {
    let layout = D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE;
    let desc = D3D12_RESOURCE_DESC1 { Layout: layout, Width: 32, Height: 1024, ..multisampled(4) };
    let tiling = Tiling::new(&valid(&desc)).expect("the resource has tiles");
    assert_eq!((tiling.packed_mips().NumPackedMips, tiling.tile_count()), (1, 32 * 1024 * 4 * 4 / 65_536));
}

/// Tier 4: each slice has its own packed mips, any of which identifies the region.
#[test]
fn packed_mips_belong_to_their_slice() {
    let desc = D3D12_RESOURCE_DESC1 {
        MipLevels: 10,
        Layout: D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE,
        ..texture(TWO, 512, 512, 4)
    };
    let tiling = Tiling::new(&valid(&desc)).expect("the resource has tiles");
    assert_eq!((tiling.tile_count(), tiling.packed_mips().NumTilesForPackedMips), (88, 4));
    for slice in 0..4 {
        for mip in 0..10 {
            let expected = (mip >= 3).then_some((84 + slice, 1));
            assert_eq!(tiling.packed_tiles(slice * 10 + mip), expected, "slice {slice} mip {mip}");
        }
    }
    assert_eq!(tiling.packed_tiles(40), None);
    assert_eq!(Tiling::new(&valid(&buffer(65_536))).expect("the resource has tiles").packed_tiles(0), None);
}
