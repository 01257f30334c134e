//! Comparison of the table with facts that the names of formats state.

use heapwright_d3d12::*;

use super::support::FormatSupport;
use super::tile::{TileDimension, TileShape, TileSize};
use super::*;

fn of(format: DXGI_FORMAT) -> &'static FormatProperties {
    properties(format).expect("a known format")
}

#[test]
fn the_table_is_sorted_and_holds_every_format() {
    assert!(table::FORMATS.windows(2).all(|pair| pair[0].format < pair[1].format));
    for format in (1..=115).chain(130..=132).chain([189, 190, 191]) {
        assert_eq!(of(format).format, format);
    }
    for format in [DXGI_FORMAT_UNKNOWN, -1, 116, 129, 133, 192, i32::MAX, i32::MIN] {
        assert_eq!(properties(format), None, "{format}");
    }
}

/// The digits after component letters add up to the bits of a texel.
#[test]
fn texel_sizes_agree_with_the_names() {
    let mut checked = 0;
    for row in table::FORMATS.iter().filter(|row| {
        !matches!(row.kind, FormatKind::Unsupported | FormatKind::Video) && row.block_width == 1
    }) {
        let name =
            row.name.strip_prefix("DXGI_FORMAT_").expect("every name has the prefix").replace("XR_BIAS_", "");
        let mut bits = 0;
        let mut letters = name.chars().peekable();
        while let Some(letter) = letters.next() {
            if !"RGBAXDSE".contains(letter) {
                continue;
            }
            let mut number = 0;
            while let Some(digit) = letters.peek().and_then(|next| next.to_digit(10)) {
                number = number * 10 + digit;
                letters.next();
            }
            bits += number;
        }
        assert_eq!(row.block_bytes * 8, bits, "{}", row.name);
        checked += 1;
    }
    assert!(checked > 70, "{checked}");
}

#[test]
fn families_are_closed_and_have_one_texel_size() {
    for row in &table::FORMATS {
        let family = of(row.family);
        assert_eq!(family.family, row.family, "{}", row.name);
        assert_eq!(family.block_bytes, row.block_bytes, "{}", row.name);
        assert_eq!(family.block_width, row.block_width, "{}", row.name);
        assert_eq!(family.planes.len(), row.planes.len(), "{}", row.name);
        assert!(row.family_members().any(|member| member.format == row.format));
        assert_eq!(row.is_typeless(), row.name.ends_with("_TYPELESS") && row.format == row.family);
        assert_eq!(row.is_srgb(), row.name.ends_with("_SRGB"));
        assert_eq!(row.is_block_compressed(), row.name.contains("_BC"));
        let is_depth = row.name.contains("_D16") || row.name.contains("_D24") || row.name.contains("_D32");
        assert_eq!(row.is_depth_stencil(), is_depth, "{}", row.name);
    }
}

#[test]
fn planes_are_copied_as_typeless_formats() {
    let depth_stencil = [
        DXGI_FORMAT_R24G8_TYPELESS,
        DXGI_FORMAT_D24_UNORM_S8_UINT,
        DXGI_FORMAT_R32G8X24_TYPELESS,
        DXGI_FORMAT_D32_FLOAT_S8X24_UINT,
    ];
    for format in depth_stencil {
        let row = of(format);
        assert_eq!(row.plane_count(), 2);
        assert_eq!(row.copy_format(0), DXGI_FORMAT_R32_TYPELESS);
        assert_eq!(row.copy_format(1), DXGI_FORMAT_R8_TYPELESS);
        assert_eq!((row.plane(0).block_bytes, row.plane(1).block_bytes), (4, 1));
    }
    for format in [DXGI_FORMAT_D32_FLOAT, DXGI_FORMAT_BC7_UNORM, DXGI_FORMAT_R8G8B8A8_UNORM] {
        assert_eq!((of(format).plane_count(), of(format).copy_format(0)), (1, format));
    }
    let nv12 = of(DXGI_FORMAT_NV12);
    assert_eq!((nv12.plane_count(), nv12.plane(1).subsample_x, nv12.plane(1).block_bytes), (2, 1, 2));
    assert_eq!(nv12.plane(7), nv12.plane(0), "a nonexistent plane index selects the first plane");
}

/// The sizes of which widths and heights are multiples, and the bytes of 8 by 8 texels.
#[test]
fn video_has_the_documented_sizes() {
    for (format, alignment, bytes) in [
        (DXGI_FORMAT_NV12, (2, 2), 96),
        (DXGI_FORMAT_P010, (2, 2), 192),
        (DXGI_FORMAT_P016, (2, 2), 192),
        (DXGI_FORMAT_420_OPAQUE, (2, 2), 96),
        (DXGI_FORMAT_NV11, (4, 1), 96),
        (DXGI_FORMAT_P208, (2, 1), 128),
        (DXGI_FORMAT_V208, (1, 2), 128),
        (DXGI_FORMAT_V408, (1, 1), 192),
        (DXGI_FORMAT_YUY2, (2, 1), 128),
        (DXGI_FORMAT_Y210, (2, 1), 256),
        (DXGI_FORMAT_Y216, (2, 1), 256),
        (DXGI_FORMAT_AYUV, (1, 1), 256),
        (DXGI_FORMAT_Y410, (1, 1), 256),
        (DXGI_FORMAT_Y416, (1, 1), 512),
        (DXGI_FORMAT_A8P8, (1, 1), 128),
        (DXGI_FORMAT_P8, (1, 1), 64),
    ] {
        let row = of(format);
        assert_eq!(row.size_alignment(), alignment, "{}", row.name);
        let blocks = 64 / (row.block_width * row.block_height);
        let plane =
            |plane: &FormatPlane| (blocks * plane.block_bytes) >> (plane.subsample_x + plane.subsample_y);
        assert_eq!(row.planes.iter().map(plane).sum::<u32>(), bytes, "{}", row.name);
    }
}

#[test]
fn support_matches_a_current_gpu() {
    let has = |format, flags| of(format).support().has(flags);
    let colour = D3D12_FORMAT_SUPPORT1_RENDER_TARGET
        | D3D12_FORMAT_SUPPORT1_BLENDABLE
        | D3D12_FORMAT_SUPPORT1_TEXTURE3D
        | D3D12_FORMAT_SUPPORT1_TYPED_UNORDERED_ACCESS_VIEW
        | D3D12_FORMAT_SUPPORT1_MULTISAMPLE_RESOLVE;
    assert!(has(DXGI_FORMAT_R8G8B8A8_UNORM, colour | D3D12_FORMAT_SUPPORT1_DISPLAY));
    assert!(has(DXGI_FORMAT_R16G16B16A16_FLOAT, colour));
    assert!(!has(DXGI_FORMAT_R8G8B8A8_UINT, D3D12_FORMAT_SUPPORT1_BLENDABLE));
    assert!(!has(DXGI_FORMAT_R8G8B8A8_UNORM_SRGB, D3D12_FORMAT_SUPPORT1_TYPED_UNORDERED_ACCESS_VIEW));
    assert!(!has(DXGI_FORMAT_R32G32B32_FLOAT, D3D12_FORMAT_SUPPORT1_RENDER_TARGET));
    assert!(has(DXGI_FORMAT_R32G32B32_FLOAT, D3D12_FORMAT_SUPPORT1_IA_VERTEX_BUFFER));
    assert!(!has(DXGI_FORMAT_BC1_UNORM, D3D12_FORMAT_SUPPORT1_TEXTURE1D));
    assert!(has(DXGI_FORMAT_BC1_UNORM, D3D12_FORMAT_SUPPORT1_TEXTURE3D));
    assert!(!has(DXGI_FORMAT_BC1_UNORM, D3D12_FORMAT_SUPPORT1_RENDER_TARGET));
    assert!(has(DXGI_FORMAT_D32_FLOAT, D3D12_FORMAT_SUPPORT1_DEPTH_STENCIL));
    assert!(!has(DXGI_FORMAT_D32_FLOAT, D3D12_FORMAT_SUPPORT1_TEXTURE3D));
    assert!(!has(DXGI_FORMAT_D32_FLOAT, D3D12_FORMAT_SUPPORT1_RENDER_TARGET));
    assert!(has(DXGI_FORMAT_R24_UNORM_X8_TYPELESS, D3D12_FORMAT_SUPPORT1_SHADER_SAMPLE_COMPARISON));
    assert!(has(DXGI_FORMAT_R16_UINT, D3D12_FORMAT_SUPPORT1_IA_INDEX_BUFFER));
    assert!(!has(DXGI_FORMAT_R8_UINT, D3D12_FORMAT_SUPPORT1_IA_INDEX_BUFFER));
    assert!(has(DXGI_FORMAT_NV12, D3D12_FORMAT_SUPPORT1_TEXTURE2D | D3D12_FORMAT_SUPPORT1_SHADER_LOAD));
    assert!(
        !has(DXGI_FORMAT_NV12, D3D12_FORMAT_SUPPORT1_TEXTURE3D)
            && !has(DXGI_FORMAT_NV12, D3D12_FORMAT_SUPPORT1_MIP)
    );
    for opaque in [DXGI_FORMAT_420_OPAQUE, DXGI_FORMAT_P8] {
        assert_eq!(of(opaque).support().support1, D3D12_FORMAT_SUPPORT1_TEXTURE2D);
    }
    for unsupported in [DXGI_FORMAT_R1_UNORM, DXGI_FORMAT_SAMPLER_FEEDBACK_MIN_MIP_OPAQUE] {
        assert_eq!(of(unsupported).support(), FormatSupport::default());
    }
    let atomics = of(DXGI_FORMAT_R32_UINT).support().support2;
    assert_ne!(atomics & D3D12_FORMAT_SUPPORT2_UAV_ATOMIC_UNSIGNED_MIN_OR_MAX, 0);
    for (format, tiled) in [
        (DXGI_FORMAT_R8_UNORM, true),
        (DXGI_FORMAT_BC7_TYPELESS, true),
        (DXGI_FORMAT_D16_UNORM, true),
        (DXGI_FORMAT_D24_UNORM_S8_UINT, false),
        (DXGI_FORMAT_R32G32B32_UINT, false),
        (DXGI_FORMAT_NV12, false),
    ] {
        let support2 = of(format).support().support2;
        assert_eq!(support2 & D3D12_FORMAT_SUPPORT2_TILED != 0, tiled, "{format}");
    }
}

#[test]
fn a_typeless_resource_supports_what_its_family_supports() {
    let has = |format, flags| of(format).resource_support().has(flags);
    assert!(has(DXGI_FORMAT_R32_TYPELESS, D3D12_FORMAT_SUPPORT1_DEPTH_STENCIL));
    assert!(has(DXGI_FORMAT_R32_TYPELESS, D3D12_FORMAT_SUPPORT1_RENDER_TARGET));
    assert!(has(DXGI_FORMAT_R24G8_TYPELESS, D3D12_FORMAT_SUPPORT1_DEPTH_STENCIL));
    assert!(!has(DXGI_FORMAT_R24G8_TYPELESS, D3D12_FORMAT_SUPPORT1_TEXTURE3D));
    assert!(!has(DXGI_FORMAT_R8G8B8A8_TYPELESS, D3D12_FORMAT_SUPPORT1_DEPTH_STENCIL));
    assert!(!has(DXGI_FORMAT_BC3_TYPELESS, D3D12_FORMAT_SUPPORT1_TEXTURE1D));
}

#[test]
fn only_renderable_formats_are_multisampled() {
    let levels = |format| [1, 2, 4, 8, 16, 3, 0].map(|count| of(format).quality_levels(count));
    assert_eq!(levels(DXGI_FORMAT_R8G8B8A8_UNORM), [1, 1, 1, 1, 0, 0, 0]);
    assert_eq!(levels(DXGI_FORMAT_D32_FLOAT), [1, 1, 1, 1, 0, 0, 0]);
    assert_eq!(levels(DXGI_FORMAT_R8G8B8A8_TYPELESS), [1, 1, 1, 1, 0, 0, 0]);
    assert_eq!(levels(DXGI_FORMAT_BC1_UNORM), [1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(levels(DXGI_FORMAT_NV12), [1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(levels(DXGI_FORMAT_R1_UNORM), [0; 7]);
}

/// The tables of D3D's tiled resources.
#[test]
fn standard_tiles_have_the_published_shapes() {
    let shape = |bytes, samples, dimension| {
        let tile = TileShape::standard(TileSize::Kib64, bytes, samples, dimension);
        (tile.width, tile.height, tile.depth)
    };
    let two = [(1, 256, 256), (2, 256, 128), (4, 128, 128), (8, 128, 64), (16, 64, 64)];
    for (bytes, width, height) in two {
        assert_eq!(shape(bytes, 1, TileDimension::Two), (width, height, 1));
        assert_eq!(shape(bytes, 2, TileDimension::Two), (width / 2, height, 1));
        assert_eq!(shape(bytes, 4, TileDimension::Two), (width / 2, height / 2, 1));
        assert_eq!(shape(bytes, 8, TileDimension::Two), (width / 4, height / 2, 1));
        assert_eq!(shape(bytes, 16, TileDimension::Two), (width / 4, height / 4, 1));
    }
    let three =
        [(1, (64, 32, 32)), (2, (32, 32, 32)), (4, (32, 32, 16)), (8, (32, 16, 16)), (16, (16, 16, 16))];
    for (bytes, expected) in three {
        assert_eq!(shape(bytes, 1, TileDimension::Three), expected);
    }
    for (bytes, width) in [(1, 65_536), (2, 32_768), (4, 16_384), (8, 8192), (16, 4096)] {
        assert_eq!(shape(bytes, 1, TileDimension::One), (width, 1, 1));
    }
    for size in [TileSize::Kib4, TileSize::Kib64] {
        for bytes in [1, 2, 4, 8, 16] {
            for dimension in [TileDimension::One, TileDimension::Two, TileDimension::Three] {
                let tile = TileShape::standard(size, bytes, 1, dimension);
                let filled = u64::from(tile.width) * u64::from(tile.height) * u64::from(tile.depth);
                assert_eq!(filled * u64::from(bytes), size.bytes(), "{size:?} {bytes} {dimension:?}");
            }
        }
    }
}
