//! Descriptions of textures.

use proptest::prelude::*;

use super::*;
use crate::ddi::{TextureArgs, TextureMemoryLayout};
use crate::rules::{creation, resource};

fn check(desc: &D3D12_RESOURCE_DESC1) -> Result<(), Refusal> {
    resource::check(desc, &caps("discrete"), &PLAIN).map(|_| ())
}

fn args(desc: &D3D12_RESOURCE_DESC1) -> TextureArgs {
    valid(desc).texture().expect("a texture").args
}

fn is_valid(desc: &D3D12_RESOURCE_DESC1) -> bool {
    check(desc).is_ok()
}

#[test]
fn texture_descriptions_are_checked_field_by_field() {
    let cases: [Case<D3D12_RESOURCE_DESC1>; 34] = [
        (|d| d.Width = 0, SIZE, "Width"),
        (|d| d.Width = 16_385, SIZE, "Width"),
        (|d| d.Width = u64::MAX, SIZE, "Width"),
        (|d| d.Height = 0, SIZE, "Height"),
        (|d| d.Height = 16_385, SIZE, "Height"),
        (|d| d.DepthOrArraySize = 0, SIZE, "DepthOrArraySize"),
        (|d| d.DepthOrArraySize = 2049, SIZE, "DepthOrArraySize"),
        (|d| d.MipLevels = 16, MIP_LEVELS, "MipLevels"),
        (|d| d.Format = DXGI_FORMAT_UNKNOWN, FORMAT, "Format"),
        (|d| d.Format = 116, FORMAT, "Format"),
        (|d| d.Format = -1, FORMAT, "Format"),
        (|d| (d.Format, d.Height) = (DXGI_FORMAT_NV12, 63), SIZE, "must be a multiple of 2"),
        (|d| d.Format = DXGI_FORMAT_R1_UNORM, NOT_IMPLEMENTED, "DXGI_FORMAT_R1_UNORM"),
        (|d| d.Format = DXGI_FORMAT_SAMPLER_FEEDBACK_MIN_MIP_OPAQUE, NOT_IMPLEMENTED, "SAMPLER_FEEDBACK"),
        (|d| d.SamplerFeedbackMipRegion.Width = 1, D3D12_MESSAGE_ID_UNKNOWN, "SamplerFeedbackMipRegion"),
        (|d| d.SampleDesc.Count = 0, SAMPLES, "SampleDesc.Count"),
        (|d| d.SampleDesc.Count = 3, SAMPLES, "SampleDesc.Count"),
        (|d| d.SampleDesc.Count = 16, SAMPLES, "SampleDesc.Count"),
        (|d| d.SampleDesc.Count = 4, FLAGS, "ALLOW_RENDER_TARGET or ALLOW_DEPTH_STENCIL"),
        (|d| d.SampleDesc.Quality = 1, SAMPLES, "SampleDesc.Quality"),
        (|d| d.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR, LAYOUT, "ROW_MAJOR"),
        (|d| d.Layout = D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE, LAYOUT, "StandardSwizzle"),
        (|d| d.Layout = 4, UNKNOWN_LAYOUT, "Layout"),
        (|d| d.Layout = -1, UNKNOWN_LAYOUT, "Layout"),
        (|d| d.Flags = 3, FLAGS, "mutually exclusive"),
        (|d| d.Flags = D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL, FLAGS, "ALLOW_DEPTH_STENCIL"),
        (|d| d.Flags = D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE, FLAGS, "DENY_SHADER_RESOURCE"),
        (|d| d.Flags = D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE, FLAGS, "RAYTRACING"),
        (|d| d.Flags = D3D12_RESOURCE_FLAG_VIDEO_DECODE_REFERENCE_ONLY, NOT_IMPLEMENTED, "VIDEO_DECODE"),
        (|d| d.Flags = 1 << 20, FLAGS, "unknown"),
        (|d| d.Alignment = 256, ALIGNMENT, "Alignment"),
        (|d| d.Alignment = 8192, ALIGNMENT, "Alignment"),
        (|d| d.Alignment = 4 << 20, ALIGNMENT, "Alignment"),
        (|d| (d.Alignment, d.Width) = (4096, 512), SMALL_ALIGNMENT, "small resource"),
    ];
    assert_refused(texture2d(64, 64), &cases, check);
}

#[test]
fn mip_levels_are_counted_from_the_largest_side() {
    let mips = |desc: D3D12_RESOURCE_DESC1, levels| {
        let desc = D3D12_RESOURCE_DESC1 { MipLevels: levels, ..desc };
        resource::check(&desc, &caps("discrete"), &PLAIN)
            .ok()
            .and_then(|resource| resource.texture().map(|texture| texture.args.mip_levels))
    };
    assert_eq!(mips(texture2d(1, 1), 0), Some(1));
    assert_eq!(mips(texture2d(64, 1000), 0), Some(10));
    assert_eq!(mips(texture2d(16_384, 1), 0), Some(15));
    assert_eq!(mips(texture2d(16_384, 1), 15), Some(15));
    assert_eq!(mips(texture2d(16_384, 1), 16), None);
    assert_eq!(mips(texture(D3D12_RESOURCE_DIMENSION_TEXTURE3D, 4, 4, 64), 7), Some(7));
    let array = texture(D3D12_RESOURCE_DIMENSION_TEXTURE2D, 4, 4, 64);
    assert_eq!(mips(array, 0), Some(3), "array slices do not add mip levels");
    assert_eq!(mips(array, 7), Some(7), "more levels than the full chain");
    // 15 * 2,048 is exactly the limit; two planes exceed it.
    let deep = D3D12_RESOURCE_DESC1 { DepthOrArraySize: 2048, ..texture2d(16_384, 1) };
    assert_eq!(mips(deep, 15), Some(15));
    let planar = D3D12_RESOURCE_DESC1 {
        Format: DXGI_FORMAT_D24_UNORM_S8_UINT,
        Flags: D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
        ..deep
    };
    assert_eq!(mips(planar, 15), None);
    assert_eq!(mips(multisampled(4), 0), Some(1), "0 stands for one level");
    assert_eq!(mips(multisampled(4), 2), None);
}

#[test]
fn multisampled_textures_are_2d_render_targets_or_depth_stencils() {
    for count in [2, 4, 8] {
        assert!(is_valid(&multisampled(count)));
    }
    let cases: [Case<D3D12_RESOURCE_DESC1>; 6] = [
        (|d| d.Flags = D3D12_RESOURCE_FLAG_NONE, FLAGS, "SampleDesc.Count"),
        (|d| d.Flags |= D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, FLAGS, "WriteableMSAA"),
        (|d| d.Flags |= D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS, FLAGS, "SIMULTANEOUS"),
        (|d| d.SampleDesc.Quality = 1, SAMPLES, "Quality"),
        (|d| d.Dimension = D3D12_RESOURCE_DIMENSION_TEXTURE3D, SAMPLES, "TEXTURE2D"),
        (|d| d.Format = DXGI_FORMAT_BC1_UNORM, SAMPLES, "SampleDesc.Count"),
    ];
    assert_refused(multisampled(4), &cases, check);
    let mut standard = multisampled(4);
    standard.SampleDesc.Quality = u32::MAX;
    assert!(is_valid(&standard), "the standard pattern");
    standard.SampleDesc.Count = 1;
    assert!(!is_valid(&standard));
}

#[test]
fn block_compressed_textures_begin_with_whole_blocks() {
    let bc =
        |width, height| D3D12_RESOURCE_DESC1 { Format: DXGI_FORMAT_BC1_UNORM, ..texture2d(width, height) };
    for (width, height, expected) in
        [(4, 4, true), (260, 512, true), (5, 4, false), (4, 6, false), (1, 1, false)]
    {
        assert_eq!(is_valid(&bc(width, height)), expected, "{width} {height}");
    }
    let full_chain = D3D12_RESOURCE_DESC1 { MipLevels: 0, ..bc(64, 64) };
    assert_eq!(args(&full_chain).mip_blocks(6, 0).volume(), 1, "a mip level of one texel is one block");
    let row = D3D12_RESOURCE_DESC1 {
        Format: DXGI_FORMAT_BC1_UNORM,
        ..texture(D3D12_RESOURCE_DIMENSION_TEXTURE1D, 4, 1, 1)
    };
    assert!(!is_valid(&row));
}

/// Formats of the same family count, too (vkd3d-proton's test_enhanced_barrier_castable_formats_validation).
#[test]
fn flags_require_format_support() {
    let (target, depth, unordered) = (
        D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
        D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
    );
    // Render target, depth-stencil, unordered access.
    let table = [
        (DXGI_FORMAT_R8G8B8A8_UNORM, [true, false, true]),
        (DXGI_FORMAT_R8G8B8A8_UNORM_SRGB, [true, false, true]),
        (DXGI_FORMAT_R8G8B8A8_TYPELESS, [true, false, true]),
        (DXGI_FORMAT_R32_TYPELESS, [true, true, true]),
        (DXGI_FORMAT_R16_TYPELESS, [true, true, true]),
        (DXGI_FORMAT_R24G8_TYPELESS, [false, true, false]),
        (DXGI_FORMAT_R32G8X24_TYPELESS, [false, true, false]),
        (DXGI_FORMAT_D32_FLOAT, [false, true, false]),
        (DXGI_FORMAT_R32_FLOAT, [true, true, true]),
        (DXGI_FORMAT_R16_UNORM, [true, true, true]),
        (DXGI_FORMAT_R24_UNORM_X8_TYPELESS, [false, true, false]),
        (DXGI_FORMAT_R32_FLOAT_X8X24_TYPELESS, [false, true, false]),
        (DXGI_FORMAT_R32_UINT, [true, false, true]),
        (DXGI_FORMAT_R16_FLOAT, [true, false, true]),
        (DXGI_FORMAT_R8G8B8A8_UINT, [true, false, true]),
        (DXGI_FORMAT_BC1_UNORM, [false, false, false]),
        (DXGI_FORMAT_D16_UNORM, [false, true, false]),
        (DXGI_FORMAT_BC7_UNORM, [false, false, false]),
        (DXGI_FORMAT_R9G9B9E5_SHAREDEXP, [false, false, false]),
        (DXGI_FORMAT_R32G32B32_FLOAT, [false, false, false]),
    ];
    for (format, expected) in table {
        let found = [target, depth, unordered].map(|flags| {
            is_valid(&D3D12_RESOURCE_DESC1 { Format: format, Flags: flags, ..texture2d(64, 64) })
        });
        assert_eq!(found, expected, "{format}");
        assert!(is_valid(&D3D12_RESOURCE_DESC1 { Format: format, ..texture2d(64, 64) }), "{format}");
    }
}

#[test]
fn flags_exclude_each_other() {
    let depth = D3D12_RESOURCE_DESC1 {
        Format: DXGI_FORMAT_D32_FLOAT,
        Flags: D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
        ..texture2d(64, 64)
    };
    let cases: [Case<D3D12_RESOURCE_DESC1>; 4] = [
        (|d| d.Flags |= D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, FLAGS, "UNORDERED_ACCESS"),
        (|d| d.Flags |= D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS, FLAGS, "SIMULTANEOUS"),
        (|d| d.Flags |= D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER, FLAGS, "CROSS_ADAPTER"),
        (|d| d.Dimension = D3D12_RESOURCE_DIMENSION_TEXTURE3D, FORMAT, "TEXTURE3D"),
    ];
    assert_refused(depth, &cases, check);
    let deny = D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL | D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE;
    assert!(is_valid(&D3D12_RESOURCE_DESC1 { Flags: deny, ..depth }));
    let shared = D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS | D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
    assert!(is_valid(&D3D12_RESOURCE_DESC1 { Flags: shared, ..texture2d(64, 64) }));
}

#[test]
fn row_major_textures_require_cross_adapter_single_images() {
    let shared = D3D12_RESOURCE_DESC1 {
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        Flags: D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER,
        ..texture2d(64, 64)
    };
    assert_eq!(args(&shared).layout, TextureMemoryLayout::RowMajor);
    let cases: [Case<D3D12_RESOURCE_DESC1>; 5] = [
        (|d| d.Flags = D3D12_RESOURCE_FLAG_NONE, LAYOUT, "ROW_MAJOR"),
        (|d| d.MipLevels = 2, LAYOUT, "ROW_MAJOR"),
        (|d| d.DepthOrArraySize = 2, LAYOUT, "ROW_MAJOR"),
        (|d| d.Dimension = D3D12_RESOURCE_DIMENSION_TEXTURE3D, LAYOUT, "ROW_MAJOR"),
        (|d| d.Format = DXGI_FORMAT_BC1_UNORM, LAYOUT, "ROW_MAJOR"),
    ];
    assert_refused(shared, &cases, check);
}

#[test]
fn swizzled_textures_need_a_format_with_tiles() {
    let tiled =
        D3D12_RESOURCE_DESC1 { Layout: D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE, ..texture2d(256, 256) };
    let cases: [Case<D3D12_RESOURCE_DESC1>; 5] = [
        (|d| d.Format = DXGI_FORMAT_R32G32B32_FLOAT, LAYOUT, "TILED"),
        (|d| d.Format = DXGI_FORMAT_D24_UNORM_S8_UINT, LAYOUT, "TILED"),
        (|d| d.Alignment = 4096, SMALL_ALIGNMENT, "Alignment"),
        (|d| d.Flags = D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER, FLAGS, "CROSS_ADAPTER"),
        (|d| d.Flags = D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT, ALIGNMENT, "SWIZZLE"),
    ];
    assert_refused(tiled, &cases, check);
}

/// Native results, from vkd3d-proton's cross tests: only one slice counts, whatever the array size.
#[test]
fn small_resources_are_determined_by_their_most_detailed_mip() {
    let is_small = |desc: &D3D12_RESOURCE_DESC1| {
        let small = is_valid(&D3D12_RESOURCE_DESC1 { Alignment: 4096, ..*desc });
        assert_eq!(small, args(desc).is_small());
        small
    };
    let with = |format, width, height, slices, mips| D3D12_RESOURCE_DESC1 {
        Format: format,
        DepthOrArraySize: slices,
        MipLevels: mips,
        ..texture2d(width, height)
    };
    let (rgba, bc1) = (DXGI_FORMAT_R8G8B8A8_UNORM, DXGI_FORMAT_BC1_UNORM);
    let table = [
        (with(DXGI_FORMAT_R8_UINT, 4, 4, 1, 1), true),
        (with(rgba, 8, 8, 1, 1), true),
        (with(rgba, 16, 16, 1024, 1), true),
        (with(bc1, 256, 512, 1, 10), true),
        (with(bc1, 256, 512, 64, 1), true),
        (with(rgba, 128, 128, 1, 0), true),
        (with(rgba, 129, 128, 1, 1), false),
        (with(rgba, 1024, 1024, 1, 1), false),
        (with(bc1, 260, 512, 1, 1), false),
        (with(rgba, 16_384, 1, 1, 1), false),
        (with(DXGI_FORMAT_R32G32B32A32_FLOAT, 128, 32, 1, 1), true),
    ];
    for (index, (desc, expected)) in table.iter().enumerate() {
        assert_eq!(is_small(desc), *expected, "row {index}");
    }
    let target = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
    assert!(!is_small(&D3D12_RESOURCE_DESC1 { Flags: target, ..texture2d(8, 8) }));
    let volume = texture(D3D12_RESOURCE_DIMENSION_TEXTURE3D, 32, 32, 16);
    assert!(is_small(&volume), "16 tiles of 16 by 8 by 8");
    assert!(!is_small(&D3D12_RESOURCE_DESC1 { DepthOrArraySize: 17, ..volume }));
    // 4 samples of 4 bytes: tiles of 64 by 64 texels, of which 64 are 4 MiB.
    let samples = |width| D3D12_RESOURCE_DESC1 { Width: width, Height: 512, ..multisampled(4) };
    for (width, small) in [(512, true), (513, false)] {
        let desc = samples(width);
        assert_eq!(args(&desc).is_small(), small);
        assert_eq!(is_valid(&D3D12_RESOURCE_DESC1 { Alignment: 65_536, ..desc }), small, "{width}");
        assert!(is_valid(&D3D12_RESOURCE_DESC1 { Alignment: 4 << 20, ..desc }));
        assert!(!is_valid(&D3D12_RESOURCE_DESC1 { Alignment: 4096, ..desc }));
    }
}

#[test]
fn standard_swizzle_requires_device_support_and_a_valid_texture() {
    let check = |profile: &str, desc: &D3D12_RESOURCE_DESC1| {
        resource::check(desc, &caps(profile), &PLAIN).map(|_| ())
    };
    let desc =
        D3D12_RESOURCE_DESC1 { Layout: D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE, ..texture2d(256, 256) };
    for profile in HostProfile::all() {
        let has_it = outcome(check(profile.name, &desc)).is_ok();
        assert_eq!(has_it, profile.has_standard_swizzle, "{}", profile.name);
    }
    let cases: [Case<D3D12_RESOURCE_DESC1>; 8] = [
        (|d| d.Dimension = D3D12_RESOURCE_DIMENSION_TEXTURE1D, SIZE, "Height"),
        (|d| (d.Dimension, d.Height) = (D3D12_RESOURCE_DIMENSION_TEXTURE1D, 1), LAYOUT, "TEXTURE1D"),
        (|d| d.Format = DXGI_FORMAT_R32G32B32_FLOAT, LAYOUT, "TILED"),
        (|d| d.Format = DXGI_FORMAT_D24_UNORM_S8_UINT, LAYOUT, "TILED"),
        (
            |d| (d.Format, d.Flags) = (DXGI_FORMAT_D32_FLOAT, D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL),
            FLAGS,
            "ALLOW_DEPTH_STENCIL",
        ),
        (
            |d| (d.SampleDesc.Count, d.Flags) = (4, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET),
            LAYOUT,
            "SampleDesc.Count 1",
        ),
        (|d| d.Flags = D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT, ALIGNMENT, "SWIZZLE"),
        (|d| (d.Alignment, d.Width, d.Height) = (4096, 16, 16), SMALL_ALIGNMENT, "small resource"),
    ];
    assert_refused(desc, &cases, |desc| check("uma", desc));
    let swizzled = |d: D3D12_RESOURCE_DESC1| D3D12_RESOURCE_DESC1 { Layout: desc.Layout, ..d };
    let volume = swizzled(texture(D3D12_RESOURCE_DIMENSION_TEXTURE3D, 64, 64, 64));
    let blocks = D3D12_RESOURCE_DESC1 { Format: DXGI_FORMAT_BC1_UNORM, ..desc };
    let target = D3D12_RESOURCE_DESC1 { Flags: D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, ..desc };
    for taken in [volume, blocks, target, D3D12_RESOURCE_DESC1 { Alignment: 65_536, ..desc }] {
        assert_eq!(outcome(check("uma", &taken)), Ok(()));
    }
    // Reserved resources require the other layout.
    let found = resource::check(&desc, &caps("uma"), &PLAIN).expect("valid");
    let refusal = creation::check_reserved(&found, 4).expect_err("the layout is not UNDEFINED_SWIZZLE");
    assert!(refusal.to_string().contains("UNDEFINED_SWIZZLE"), "{refusal}");
}

/// `D3D12_TILED_RESOURCES_TIER` also applies to placed and committed textures.
#[test]
fn the_tiled_layout_needs_its_tier() {
    let check = |tier, desc: &D3D12_RESOURCE_DESC1| {
        let caps = DriverCaps { tiled_resources_tier: tier, ..caps("discrete") };
        let tiled = D3D12_RESOURCE_DESC1 { Layout: D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE, ..*desc };
        resource::check(&tiled, &caps, &PLAIN).is_ok()
    };
    let volume = texture(D3D12_RESOURCE_DIMENSION_TEXTURE3D, 64, 64, 64);
    let tiers = |desc| [0, 1, 2, 3, 4].map(|tier| check(tier, &desc));
    assert_eq!(tiers(texture2d(256, 256)), [false, true, true, true, true]);
    assert_eq!(tiers(volume), [false, false, false, true, true]);
}

#[test]
fn row_major_textures_need_their_cap() {
    let desc = D3D12_RESOURCE_DESC1 {
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        Flags: D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER,
        ..texture2d(64, 64)
    };
    for profile in HostProfile::all() {
        let taken = resource::check(&desc, &caps(profile.name), &PLAIN).is_ok();
        assert_eq!(taken, profile.has_cross_adapter_row_major, "{}", profile.name);
    }
}

#[test]
fn reserved_textures_are_swizzled() {
    let check = |desc: &D3D12_RESOURCE_DESC1, tier| creation::check_reserved(&valid(desc), tier).is_ok();
    let tiled = |desc: D3D12_RESOURCE_DESC1| D3D12_RESOURCE_DESC1 {
        Layout: D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE,
        ..desc
    };
    assert!(check(&tiled(texture2d(256, 256)), 1));
    assert!(!check(&texture2d(256, 256), 4));
    assert!(check(&buffer(65_536), 1) && !check(&buffer(65_536), 0));
    // As on Windows: a reserved buffer may have the flag, which a reserved texture's layout excludes.
    assert!(check(&tight(65_536), 1) && !check(&tight(65_536), 0));
    let flags = D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;
    let texture_with_flag = D3D12_RESOURCE_DESC1 { Flags: flags, ..tiled(texture2d(256, 256)) };
    assert!(resource::check(&texture_with_flag, &caps("discrete"), &PLAIN).is_err());
    let volume = tiled(texture(D3D12_RESOURCE_DIMENSION_TEXTURE3D, 64, 64, 64));
    assert!(!check(&volume, 2) && check(&volume, 3));
    let array = tiled(texture(D3D12_RESOURCE_DIMENSION_TEXTURE2D, 512, 512, 4));
    assert!(check(&D3D12_RESOURCE_DESC1 { MipLevels: 3, ..array }, 1));
    let packed = D3D12_RESOURCE_DESC1 { MipLevels: 10, ..array };
    assert!(!check(&packed, 3) && check(&packed, 4));
}

/// Any description at all: a check returns a result and never panics.
pub(super) fn any_desc() -> impl Strategy<Value = D3D12_RESOURCE_DESC1> {
    let sizes = prop_oneof![0_u64..300, Just(16_384), Just(1 << 40), any::<u64>()];
    let fields = (
        -1_i32..6,
        prop_oneof![Just(0_u64), Just(4096), Just(65_536), Just(4 << 20), any::<u64>()],
        sizes,
        prop_oneof![0_u32..300, any::<u32>()],
        prop_oneof![0_u16..20, any::<u16>()],
        prop_oneof![0_u16..16, any::<u16>()],
        -1_i32..195,
        prop_oneof![Just(1_u32), 0_u32..17, any::<u32>()],
        prop_oneof![Just(0_u32), any::<u32>()],
        -1_i32..5,
    );
    let flags = prop_oneof![Just(0_u32), (0_u32..11).prop_map(|bit| 1 << bit), any::<u32>()];
    (fields, flags).prop_map(
        |((dimension, alignment, width, height, depth, mips, format, count, quality, layout), flags)| {
            D3D12_RESOURCE_DESC1 {
                Dimension: dimension,
                Alignment: alignment,
                Width: width,
                Height: height,
                DepthOrArraySize: depth,
                MipLevels: mips,
                Format: format,
                SampleDesc: DXGI_SAMPLE_DESC { Count: count, Quality: quality },
                Layout: layout,
                Flags: flags,
                SamplerFeedbackMipRegion: D3D12_MIP_REGION::default(),
            }
        },
    )
}

/// Valid textures of all shapes.
pub(crate) fn any_texture() -> impl Strategy<Value = D3D12_RESOURCE_DESC1> {
    let formats = prop::sample::select(vec![
        DXGI_FORMAT_R8_UNORM,
        DXGI_FORMAT_R8G8_UNORM,
        DXGI_FORMAT_R8G8B8A8_UNORM,
        DXGI_FORMAT_R32G32B32_FLOAT,
        DXGI_FORMAT_R16G16B16A16_FLOAT,
        DXGI_FORMAT_R32G32B32A32_UINT,
        DXGI_FORMAT_BC1_UNORM,
        DXGI_FORMAT_BC7_UNORM,
        DXGI_FORMAT_D32_FLOAT,
        DXGI_FORMAT_D24_UNORM_S8_UINT,
        DXGI_FORMAT_D32_FLOAT_S8X24_UINT,
    ]);
    let flags = prop::sample::select(vec![
        D3D12_RESOURCE_FLAG_NONE,
        D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
    ]);
    let layouts =
        prop::sample::select(vec![D3D12_TEXTURE_LAYOUT_UNKNOWN, D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE]);
    let samples = prop::sample::select(vec![1_u32, 1, 1, 2, 4, 8]);
    let sizes = (1_u64..160, 1_u32..160, 1_u16..12, 0_u16..9);
    (2_i32..5, sizes, formats, flags, layouts, samples)
        .prop_map(|(dimension, (width, height, depth, mips), format, flags, layout, count)| {
            D3D12_RESOURCE_DESC1 {
                Width: width * 4,
                Height: if dimension == D3D12_RESOURCE_DIMENSION_TEXTURE1D { 1 } else { height * 4 },
                DepthOrArraySize: depth,
                MipLevels: if count > 1 { 1 } else { mips },
                Format: format,
                Flags: flags,
                Layout: layout,
                SampleDesc: DXGI_SAMPLE_DESC { Count: count, Quality: 0 },
                ..texture(dimension, 1, 1, 1)
            }
        })
        .prop_filter("valid", is_valid)
}

proptest! {
    #[test]
    fn no_description_makes_a_check_panic(desc in any_desc(), has_floors in any::<bool>()) {
        let options = if has_floors { PLAIN } else { BEFORE_FLOORS };
        let checked = resource::check(&desc, &caps("discrete"), &options);
        if let Ok(resource) = checked {
        if let Some(texture) = resource.texture() {
            prop_assert!(texture.args.mip_levels >= 1 && texture.args.mip_levels <= 15);
            prop_assert!(texture.args.subresource_count() <= 30_720);
            prop_assert!(texture.args.sample_count.is_power_of_two());
        }}
    }

    #[test]
    fn subresource_indices_round_trip(desc in any_texture()) {
        let args = args(&desc);
        for index in 0..args.subresource_count() {
            let at = args.subresource(index).expect("the index is below the count");
            prop_assert_eq!(at.mip + args.mip_levels * (at.slice + args.array_size * at.plane), index);
        }
        prop_assert_eq!(args.subresource(args.subresource_count()), None);
    }
}
