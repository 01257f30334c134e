//! Castable formats.

use super::*;
use crate::rules::resource;

fn check(desc: &D3D12_RESOURCE_DESC1, castable: &[DXGI_FORMAT]) -> Result<(), (HRESULT, String)> {
    outcome(resource::check_castable(desc, castable, &caps("discrete"), &PLAIN)).map(|_| ())
}

#[test]
fn castable_formats_have_blocks_of_one_size() {
    let of = |format| D3D12_RESOURCE_DESC1 { Format: format, ..texture2d(64, 64) };
    let table: [(DXGI_FORMAT, &[DXGI_FORMAT], bool); 10] = [
        (DXGI_FORMAT_R8G8B8A8_UNORM, &[], true),
        (DXGI_FORMAT_R8G8B8A8_UNORM, &[DXGI_FORMAT_R32_UINT, DXGI_FORMAT_R16G16_FLOAT], true),
        (DXGI_FORMAT_R8G8B8A8_UNORM, &[DXGI_FORMAT_R32_UINT, DXGI_FORMAT_R16_UINT], false),
        (DXGI_FORMAT_BC1_UNORM, &[DXGI_FORMAT_R32G32_UINT], true),
        (DXGI_FORMAT_BC1_UNORM, &[DXGI_FORMAT_BC3_UNORM], false),
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
fn buffers_cast_to_nothing() {
    assert_eq!(check(&buffer(16), &[]), Ok(()));
    assert!(check(&buffer(16), &[DXGI_FORMAT_R8_UNORM]).is_err());
}

/// A castable format brings what it supports.
#[test]
fn a_castable_format_allows_its_views() {
    let desc = D3D12_RESOURCE_DESC1 {
        Format: DXGI_FORMAT_R8G8B8A8_UNORM_SRGB,
        Flags: D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
        ..texture2d(64, 64)
    };
    assert!(check(&desc, &[]).is_err());
    assert_eq!(check(&desc, &[DXGI_FORMAT_R8G8B8A8_UNORM]), Ok(()));
}
