//! Optimized clear values.

use super::*;
use crate::rules::clear_value;

fn colour(format: DXGI_FORMAT) -> D3D12_CLEAR_VALUE {
    D3D12_CLEAR_VALUE { Format: format, Anonymous: D3D12_CLEAR_VALUE_0 { Color: [2.0, -1.0, 0.5, 1.0] } }
}

fn depth(format: DXGI_FORMAT, depth: f32) -> D3D12_CLEAR_VALUE {
    let value = D3D12_DEPTH_STENCIL_VALUE { Depth: depth, Stencil: 7 };
    D3D12_CLEAR_VALUE { Format: format, Anonymous: D3D12_CLEAR_VALUE_0 { DepthStencil: value } }
}

#[test]
fn only_render_targets_and_depth_stencils_have_clear_values() {
    let target = |format| {
        valid(&D3D12_RESOURCE_DESC1 {
            Flags: D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
            Format: format,
            ..texture2d(16, 16)
        })
    };
    let stencil = |format| {
        valid(&D3D12_RESOURCE_DESC1 {
            Flags: D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
            Format: format,
            ..texture2d(16, 16)
        })
    };
    let rgba = DXGI_FORMAT_R8G8B8A8_UNORM;
    let table = [
        (target(rgba), colour(rgba), true),
        (target(DXGI_FORMAT_R8G8B8A8_TYPELESS), colour(rgba), true),
        (target(DXGI_FORMAT_R8G8B8A8_TYPELESS), colour(DXGI_FORMAT_R8G8B8A8_TYPELESS), false),
        (target(rgba), colour(DXGI_FORMAT_R8G8B8A8_UNORM_SRGB), true),
        (target(rgba), colour(DXGI_FORMAT_B8G8R8A8_UNORM), false),
        (target(rgba), colour(DXGI_FORMAT_UNKNOWN), false),
        (target(DXGI_FORMAT_R32_TYPELESS), depth(DXGI_FORMAT_D32_FLOAT, 1.0), false),
        (stencil(DXGI_FORMAT_R32_TYPELESS), depth(DXGI_FORMAT_D32_FLOAT, 1.0), true),
        (stencil(DXGI_FORMAT_R32_TYPELESS), depth(DXGI_FORMAT_R32_FLOAT, 1.0), false),
        (stencil(DXGI_FORMAT_D24_UNORM_S8_UINT), depth(DXGI_FORMAT_D24_UNORM_S8_UINT, 0.0), true),
        (stencil(DXGI_FORMAT_D32_FLOAT), depth(DXGI_FORMAT_D32_FLOAT, 1.5), false),
        (stencil(DXGI_FORMAT_D32_FLOAT), depth(DXGI_FORMAT_D32_FLOAT, f32::NAN), false),
        (stencil(DXGI_FORMAT_D32_FLOAT), depth(DXGI_FORMAT_D16_UNORM, 1.0), false),
        (valid(&texture2d(16, 16)), colour(rgba), false),
        (valid(&buffer(16)), colour(rgba), false),
    ];
    for (index, (resource, value, is_valid)) in table.iter().enumerate() {
        let found = outcome(clear_value::check(resource, Some(value), &[]));
        assert_eq!(found.is_ok(), *is_valid, "row {index}: {found:?}");
        assert_eq!(outcome(clear_value::check(resource, None, &[])), Ok(()));
    }
    let bgra = colour(DXGI_FORMAT_B8G8R8A8_UNORM);
    let castable = [DXGI_FORMAT_B8G8R8A8_UNORM];
    assert_eq!(outcome(clear_value::check(&target(rgba), Some(&bgra), &castable)), Ok(()));
}
