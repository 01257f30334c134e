//! Comparison of layouts with a plain enumeration of their blocks.

use proptest::prelude::*;

use super::*;
use crate::ddi::{TextureDimension, TextureUsage};
use crate::format::properties;

fn texture(dimension: TextureDimension, extent: (u32, u32, u32), format: i32) -> TextureArgs {
    TextureArgs {
        dimension,
        extent: Extent { width: extent.0, height: extent.1, depth: extent.2 },
        array_size: 1,
        mip_levels: 1,
        format: properties(format).expect("a known format"),
        sample_count: 1,
        layout: TextureMemoryLayout::Unknown,
        usage: TextureUsage::default(),
    }
}

const RGBA8: i32 = heapwright_d3d12::DXGI_FORMAT_R8G8B8A8_UNORM;
const R8: i32 = heapwright_d3d12::DXGI_FORMAT_R8_UNORM;
const BC1: i32 = heapwright_d3d12::DXGI_FORMAT_BC1_UNORM;
const D24S8: i32 = heapwright_d3d12::DXGI_FORMAT_D24_UNORM_S8_UINT;
const RGBA32: i32 = heapwright_d3d12::DXGI_FORMAT_R32G32B32A32_FLOAT;

/// Returns the tile of a block, counted from the beginning of the resource.
fn tile(layout: &SubresourceLayout, x: u32, y: u32) -> Option<u64> {
    layout.block_offset(x, y, 0).map(|offset| offset / TILE_BYTES)
}

fn linear(layout: &TextureLayout, index: u32) -> (u64, u64, u64) {
    match layout.subresource(index).expect("a subresource").arrangement {
        Arrangement::Linear { offset, row_pitch, slice_pitch } => (offset, row_pitch, slice_pitch),
        tiled => panic!("{tiled:?}"),
    }
}

#[test]
fn subresources_follow_each_other_at_multiples_of_512() {
    let mipped = TextureArgs {
        mip_levels: 3,
        array_size: 2,
        ..texture(TextureDimension::Texture2D, (100, 3, 1), RGBA8)
    };
    let layout = TextureLayout::of_texture(mipped);
    assert_eq!(linear(&layout, 0), (0, 400, 1200));
    assert_eq!(linear(&layout, 1), (1536, 200, 200));
    assert_eq!(linear(&layout, 2), (2048, 100, 100));
    assert_eq!(linear(&layout, 3), (2560, 400, 1200), "the second slice");
    assert_eq!(layout.total_size().get(), 5120);
    assert_eq!(layout.subresource(6), None);
}

#[test]
fn planes_blocks_and_samples_have_their_sizes() {
    let planar = TextureLayout::of_texture(texture(TextureDimension::Texture2D, (10, 10, 1), D24S8));
    assert_eq!(linear(&planar, 0), (0, 40, 400));
    assert_eq!(linear(&planar, 1), (512, 10, 100), "stencil is a plane of single bytes");
    assert_eq!(planar.total_size().get(), 1024);

    let blocks = texture(TextureDimension::Texture2D, (16, 8, 1), BC1);
    let found = TextureLayout::of_texture(blocks).subresource(0).expect("a subresource");
    assert_eq!(found.blocks, Extent { width: 4, height: 2, depth: 1 });
    assert_eq!((found.block_bytes, found.block_extent, found.blocks.width), (8, (4, 4), 4));

    let samples = TextureArgs { sample_count: 4, ..texture(TextureDimension::Texture2D, (8, 8, 1), RGBA8) };
    let found = TextureLayout::of_texture(samples).subresource(0).expect("a subresource");
    assert_eq!((found.block_bytes, found.block_offset(1, 0, 0)), (16, Some(16)));

    let row_major = TextureArgs {
        layout: TextureMemoryLayout::RowMajor,
        ..texture(TextureDimension::Texture2D, (10, 10, 1), RGBA8)
    };
    assert_eq!(linear(&TextureLayout::of_texture(row_major), 0), (0, 256, 2560));
}

#[test]
fn tiles_are_64_kib_and_packed_mips_come_last() {
    let tiled = TextureArgs {
        layout: TextureMemoryLayout::UndefinedSwizzle64Kib,
        mip_levels: 10,
        array_size: 2,
        ..texture(TextureDimension::Texture2D, (512, 512, 1), RGBA8)
    };
    let layout = TextureLayout::of_texture(tiled);
    assert_eq!(layout.total_size().get(), 44 << 16);
    let top = layout.subresource(0).expect("a subresource");
    assert_eq!(top.block_offset(0, 0, 0), Some(0));
    assert_eq!(top.block_offset(127, 0, 0), Some(127 * 4));
    assert_eq!(top.block_offset(128, 0, 0), Some(1 << 16), "the next tile");
    assert_eq!(top.block_offset(0, 1, 0), Some(512), "the next row of the tile");
    assert_eq!(tile(&top, 511, 511), Some(15));
    assert_eq!((top.contiguous_blocks(100), top.contiguous_blocks(500)), (28, 12));
    let second_slice = layout.subresource(10).expect("a subresource");
    assert_eq!(tile(&second_slice, 0, 0), Some(21), "standard mips of all slices first");
    assert_eq!(linear(&layout, 3).0, 42 << 16, "then the packed ones of each");
    assert_eq!(linear(&layout, 13).0, 43 << 16);
    assert_eq!(linear(&layout, 4).0, (42 << 16) + 64 * 64 * 4);
}

/// The standard swizzle applies within tiles in the usual order. Packed mips are linear and not accessible to the CPU.
#[test]
fn standard_swizzle_stays_within_tiles() {
    let swizzled = TextureArgs {
        layout: TextureMemoryLayout::StandardSwizzle64Kib,
        mip_levels: 10,
        ..texture(TextureDimension::Texture2D, (512, 512, 1), RGBA8)
    };
    let layout = TextureLayout::of_texture(swizzled);
    assert_eq!(layout.total_size().get(), 22 << 16, "the tiles of the other layout");
    let top = layout.subresource(0).expect("a subresource");
    // 32-bit texels: bytes 0 to 15 follow x, 16 to 127 y, then x and y alternate.
    assert_eq!(top.block_offset(3, 0, 0), Some(12));
    assert_eq!(top.block_offset(0, 1, 0), Some(16));
    assert_eq!(top.block_offset(4, 0, 0), Some(128));
    assert_eq!(top.block_offset(0, 8, 0), Some(256));
    assert_eq!(top.block_offset(8, 0, 0), Some(512));
    assert_eq!(top.block_offset(127, 127, 0), Some(65_532));
    assert_eq!(top.block_offset(128, 0, 0), Some(1 << 16), "the next tile");
    assert_eq!(top.block_offset(1, 128, 0), Some((4 << 16) + 4), "the next row of tiles");
    assert_eq!((top.contiguous_blocks(0), top.contiguous_blocks(6), top.contiguous_blocks(511)), (4, 2, 1));
    assert!(top.is_defined(swizzled.layout));
    let packed = layout.subresource(3).expect("a subresource");
    assert!(matches!(packed.arrangement, Arrangement::Linear { .. }) && !packed.is_defined(swizzled.layout));

    let volume = TextureArgs {
        layout: TextureMemoryLayout::StandardSwizzle64Kib,
        ..texture(TextureDimension::Texture3D, (64, 32, 64), R8)
    };
    let found = TextureLayout::of_texture(volume).subresource(0).expect("a subresource");
    assert_eq!(found.block_offset(16, 0, 0), Some(1 << 12));
    assert_eq!((found.block_offset(0, 0, 1), found.block_offset(0, 0, 32)), (Some(1 << 6), Some(1 << 16)));
}

/// The largest texture that the fields allow: nothing overflows or panics.
#[test]
fn oversized_layouts_saturate() {
    let most = u32::MAX;
    for layout in [
        TextureMemoryLayout::Unknown,
        TextureMemoryLayout::UndefinedSwizzle64Kib,
        TextureMemoryLayout::StandardSwizzle64Kib,
    ] {
        let args = TextureArgs {
            layout,
            array_size: most,
            sample_count: 8,
            mip_levels: 15,
            ..texture(TextureDimension::Texture3D, (most, most, most), RGBA32)
        };
        let found = TextureLayout::of_texture(args);
        assert_eq!(found.total_size().get(), u64::MAX);
        let _ = found.subresource(14);
    }
}

fn any_layout() -> impl Strategy<Value = TextureArgs> {
    let dimensions = prop::sample::select(vec![
        TextureDimension::Texture1D,
        TextureDimension::Texture2D,
        TextureDimension::Texture3D,
    ]);
    let formats = prop::sample::select(vec![RGBA8, R8, BC1, D24S8, RGBA32]);
    let layouts = prop::sample::select(vec![
        TextureMemoryLayout::Unknown,
        TextureMemoryLayout::RowMajor,
        TextureMemoryLayout::UndefinedSwizzle64Kib,
        TextureMemoryLayout::StandardSwizzle64Kib,
    ]);
    let samples = prop::sample::select(vec![1_u32, 1, 2, 4, 8]);
    (dimensions, (1_u32..100, 1_u32..100, 1_u32..20), 1_u32..5, 1_u32..8, formats, layouts, samples).prop_map(
        |(dimension, (width, height, depth), array_size, mip_levels, format, layout, samples)| {
            let (height, depth, array_size, sample_count) = match dimension {
                TextureDimension::Texture1D => (1, 1, array_size, 1),
                TextureDimension::Texture2D => (height, 1, array_size, samples),
                TextureDimension::Texture3D => (height, depth, 1, 1),
            };
            let extent = (width, height, depth);
            // 1D textures have no standard swizzle; the rules exclude them.
            let is_swizzled = layout == TextureMemoryLayout::StandardSwizzle64Kib;
            let layout = if is_swizzled && dimension == TextureDimension::Texture1D {
                TextureMemoryLayout::UndefinedSwizzle64Kib
            } else {
                layout
            };
            let sample_count = if is_swizzled { 1 } else { sample_count };
            TextureArgs { array_size, mip_levels, layout, sample_count, ..texture(dimension, extent, format) }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each block of each subresource has its own bytes, within the total size.
    #[test]
    fn blocks_do_not_overlap(args in any_layout()) {
        let layout = TextureLayout::of_texture(args);
        let mut ranges = Vec::new();
        for index in 0..args.subresource_count() {
            let found = layout.subresource(index).expect("below the count");
            for z in 0..found.blocks.depth {
                for y in 0..found.blocks.height {
                    let mut x = 0;
                    while x < found.blocks.width {
                        let run = found.contiguous_blocks(x);
                        prop_assert!(run > 0);
                        let start = found.block_offset(x, y, z).expect("a block of the subresource");
                        let last = found.block_offset(x + run - 1, y, z).expect("a block of the subresource");
                        let size = u64::from(run) * found.block_bytes;
                        prop_assert_eq!(last + found.block_bytes, start + size, "a run is contiguous");
                        ranges.push((start, start + size));
                        x += run;
                    }
                }
            }
            prop_assert_eq!(found.block_offset(found.blocks.width, 0, 0), None);
            prop_assert_eq!(found.block_offset(0, found.blocks.height, 0), None);
            prop_assert_eq!(found.block_offset(0, 0, found.blocks.depth), None);
        }
        ranges.sort_unstable();
        prop_assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0), "two blocks share bytes");
        prop_assert!(ranges.last().is_some_and(|range| range.1 <= layout.total_size().get()));
    }
}
