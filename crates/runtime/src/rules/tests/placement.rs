//! Tests of the heaps and offsets that a resource may have.

use super::*;
use crate::rules::placement;

/// Tiles may be mapped to heaps that may hold the resource; on heap tier 1, only to those of its kind.
#[test]
fn tiles_require_heaps_that_allow_their_resource() {
    let tiled = |desc: D3D12_RESOURCE_DESC1| D3D12_RESOURCE_DESC1 {
        Layout: D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE,
        ..desc
    };
    let kinds = [
        buffer(1 << 20),
        tiled(texture2d(256, 256)),
        tiled(D3D12_RESOURCE_DESC1 { Flags: D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, ..texture2d(256, 256) }),
    ];
    let default = D3D12_HEAP_TYPE_DEFAULT;
    let crossing = D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER;
    let table = [
        (default, D3D12_HEAP_FLAG_NONE, [true, true, true]),
        (default, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS, [true, false, false]),
        (default, D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES, [false, true, false]),
        (default, D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES, [false, false, true]),
        (default, crossing, [false, false, false]),
        (D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_FLAG_NONE, [true, false, false]),
    ];
    for (heap_type, flags, expected) in table {
        let found =
            kinds.each_ref().map(|desc| placement::check_heap(&valid(desc), heap_type, flags).is_ok());
        assert_eq!(found, expected, "{heap_type} {flags:#x}");
    }
}

#[test]
fn flags_of_committed_heaps_depend_on_the_resource() {
    let check = |desc: &D3D12_RESOURCE_DESC1, flags| {
        let properties = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
        placement::check_committed(&valid(desc), &properties, flags).is_ok()
    };
    assert!(check(&buffer(16), D3D12_HEAP_FLAG_ALLOW_SHADER_ATOMICS));
    assert!(check(&texture2d(16, 16), D3D12_HEAP_FLAG_ALLOW_SHADER_ATOMICS));
    assert!(check(&texture2d(16, 16), D3D12_HEAP_FLAG_ALLOW_DISPLAY));
    assert!(!check(&multisampled(4), D3D12_HEAP_FLAG_ALLOW_DISPLAY));
    assert!(!check(&buffer(16), D3D12_HEAP_FLAG_ALLOW_DISPLAY));
    let bc = D3D12_RESOURCE_DESC1 { Format: DXGI_FORMAT_BC1_UNORM, ..texture2d(16, 16) };
    assert!(!check(&bc, D3D12_HEAP_FLAG_ALLOW_DISPLAY));
}
