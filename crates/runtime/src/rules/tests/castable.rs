//! Castable formats.

use super::*;
use crate::rules::resource;

fn check(desc: &D3D12_RESOURCE_DESC1, castable: &[DXGI_FORMAT]) -> Result<(), (HRESULT, String)> {
    outcome(resource::check_castable(desc, castable, &caps("discrete"), &PLAIN)).map(|_| ())
}

#[test]
fn castable_formats_have_equal_block_sizes() {
    let of = |format| D3D12_RESOURCE_DESC1 { Format: format, ..texture2d(64, 64) };
    let table: [(DXGI_FORMAT, &[DXGI_FORMAT], bool); 14] = [
        (DXGI_FORMAT_R8G8B8A8_UNORM, &[], true),
        (DXGI_FORMAT_R8G8B8A8_UNORM, &[DXGI_FORMAT_R32_UINT, DXGI_FORMAT_R16G16_FLOAT], true),
        (DXGI_FORMAT_R8G8B8A8_UNORM, &[DXGI_FORMAT_R32_UINT, DXGI_FORMAT_R16_UINT], false),
        (DXGI_FORMAT_BC1_UNORM, &[DXGI_FORMAT_R32G32_UINT], true),
        (DXGI_FORMAT_BC1_UNORM, &[DXGI_FORMAT_BC3_UNORM], false),
        (DXGI_FORMAT_BC1_UNORM, &[DXGI_FORMAT_BC4_UNORM, DXGI_FORMAT_R16G16B16A16_FLOAT], true),
        (DXGI_FORMAT_R32G32_UINT, &[DXGI_FORMAT_BC1_UNORM], false),
        (DXGI_FORMAT_R32G32B32A32_TYPELESS, &[DXGI_FORMAT_BC7_UNORM], false),
        (DXGI_FORMAT_R8G8B8A8_UNORM, &[DXGI_FORMAT_R8G8B8A8_TYPELESS, DXGI_FORMAT_R32_TYPELESS], true),
        (DXGI_FORMAT_D32_FLOAT, &[DXGI_FORMAT_R32_FLOAT], true),
        (DXGI_FORMAT_R8G8B8A8_UNORM, &[DXGI_FORMAT_D32_FLOAT], false),
        (DXGI_FORMAT_D24_UNORM_S8_UINT, &[DXGI_FORMAT_R32_FLOAT], false),
        (DXGI_FORMAT_R8G8B8A8_UNORM, &[DXGI_FORMAT_UNKNOWN], false),
        (DXGI_FORMAT_R8_UNORM, &[DXGI_FORMAT_NV12], false),
    ];
    for (format, castable, is_valid) in table {
        let found = check(&of(format), castable);
        assert_eq!(found.is_ok(), is_valid, "{format} {castable:?}: {found:?}");
        if let Err((hresult, message)) = found {
            assert_eq!(hresult, E_INVALIDARG);
            assert!(message.contains("pCastableFormats["), "{message}");
        }
    }
}

#[test]
fn buffers_have_no_castable_formats() {
    assert_eq!(check(&buffer(16), &[]), Ok(()));
    assert_eq!(check(&buffer(16), &[DXGI_FORMAT_UNKNOWN; 2]), Ok(()), "a buffer's own format");
    assert!(check(&buffer(16), &[DXGI_FORMAT_UNKNOWN, DXGI_FORMAT_R32_UINT]).is_err());
}

/// A castable format adds its support.
#[test]
fn a_castable_format_allows_its_views() {
    let desc = D3D12_RESOURCE_DESC1 {
        Format: DXGI_FORMAT_BC1_UNORM,
        Flags: D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        ..texture2d(64, 64)
    };
    assert!(check(&desc, &[]).is_err());
    assert_eq!(check(&desc, &[DXGI_FORMAT_R32G32_UINT]), Ok(()));
}

/// vkd3d-proton's test_enhanced_barrier_castable_formats_validation: the formats to which a typed format can be cast
/// within its family count.
#[test]
fn flags_use_the_support_of_the_format_family() {
    let of = |format, flags| {
        check(&D3D12_RESOURCE_DESC1 { Format: format, Flags: flags, ..texture2d(64, 64) }, &[]).is_ok()
    };
    let (target, depth, unordered) = (
        D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
        D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
    );
    for (format, flags, is_valid) in [
        (DXGI_FORMAT_R8G8B8A8_UNORM_SRGB, unordered, true),
        (DXGI_FORMAT_R32_FLOAT, depth, true),
        (DXGI_FORMAT_R16_UNORM, depth, true),
        (DXGI_FORMAT_R24_UNORM_X8_TYPELESS, depth, true),
        (DXGI_FORMAT_R32_FLOAT_X8X24_TYPELESS, depth, true),
        (DXGI_FORMAT_R32_UINT, depth, false),
        (DXGI_FORMAT_R16_FLOAT, depth, false),
        (DXGI_FORMAT_R8G8B8A8_UINT, depth, false),
        (DXGI_FORMAT_R8G8B8A8_UNORM_SRGB, depth, false),
        (DXGI_FORMAT_BC1_UNORM, depth, false),
        (DXGI_FORMAT_BC1_UNORM, target, false),
        (DXGI_FORMAT_D32_FLOAT, target, false),
        (DXGI_FORMAT_D32_FLOAT, unordered, false),
    ] {
        assert_eq!(of(format, flags), is_valid, "{format} {flags:#x}");
    }
}

/// The tight alignment specification applies to all textures.
#[test]
fn volumes_can_be_tightly_aligned() {
    let volume = D3D12_RESOURCE_DESC1 {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE3D,
        DepthOrArraySize: 8,
        Flags: D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT,
        ..texture2d(8, 8)
    };
    for profile in ["discrete", "uma"] {
        let found = outcome(resource::check_castable(&volume, &[], &caps(profile), &PLAIN));
        assert!(found.is_ok(), "{profile}: {found:?}");
    }
}
