//! Castable formats.

use super::*;
use crate::rules::resource;

fn check(desc: &D3D12_RESOURCE_DESC1, castable: &[DXGI_FORMAT]) -> Result<(), (HRESULT, String)> {
    outcome(resource::check_with(
        desc,
        &resource::Additions::default().castable_to(castable),
        &caps("discrete"),
        &PLAIN,
    ))
    .map(|_| ())
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
        let found = outcome(resource::check(&volume, &caps(profile), &PLAIN));
        assert!(found.is_ok(), "{profile}: {found:?}");
    }
}
