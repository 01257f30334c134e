//! Tests of the heaps and offsets that a resource may have.

use super::*;
use crate::rules::placement;

#[test]
fn a_buffer_is_placed_at_its_alignment_within_a_heap_that_takes_buffers() {
    let check = |size, alignment, offset, flags| {
        let heap =
            D3D12_HEAP_DESC { SizeInBytes: 65_536, Alignment: 65_536, Flags: flags, ..Default::default() };
        placement::check(&valid(&buffer(size)), member(size, alignment), offset, &heap).is_ok()
    };
    assert!(check(65_536, 65_536, 0, D3D12_HEAP_FLAG_NONE));
    assert!(check(100, 256, 65_280, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS));
    assert!(!check(100, 256, 128, D3D12_HEAP_FLAG_NONE), "not a multiple");
    assert!(!check(257, 256, 65_280, D3D12_HEAP_FLAG_NONE), "one byte beyond the heap's end");
    assert!(!check(1, 8, 65_536, D3D12_HEAP_FLAG_NONE), "begins at the heap's end");
    assert!(!check(1, 8, u64::MAX - 7, D3D12_HEAP_FLAG_NONE), "overflows");
    assert!(!check(1, 8, 0, D3D12_HEAP_FLAG_DENY_BUFFERS));
    assert!(!check(1, 8, 0, D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES));
}

fn heap_of(heap_type: D3D12_HEAP_TYPE, flags: D3D12_HEAP_FLAGS) -> D3D12_HEAP_DESC {
    D3D12_HEAP_DESC {
        SizeInBytes: 64 << 20,
        Alignment: 4 << 20,
        Flags: flags,
        Properties: D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() },
    }
}

fn is_placed(desc: &D3D12_RESOURCE_DESC1, heap: &D3D12_HEAP_DESC) -> bool {
    placement::check(&valid(desc), member(4096, 4096), 0, heap).is_ok()
}

/// The three kinds of heap tier 1; the flags have the same meaning on tier 2.
#[test]
fn heap_flags_exclude_resource_categories() {
    let kinds = [
        buffer(4096),
        texture2d(16, 16),
        D3D12_RESOURCE_DESC1 { Flags: D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, ..texture2d(16, 16) },
        D3D12_RESOURCE_DESC1 {
            Flags: D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
            Format: DXGI_FORMAT_D32_FLOAT,
            ..texture2d(16, 16)
        },
    ];
    let table = [
        (D3D12_HEAP_FLAG_NONE, [true, true, true, true]),
        (D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS, [true, false, false, false]),
        (D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES, [false, true, false, false]),
        (D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES, [false, false, true, true]),
        (D3D12_HEAP_FLAG_DENY_BUFFERS, [false, true, true, true]),
    ];
    for (flags, expected) in table {
        let heap = heap_of(D3D12_HEAP_TYPE_DEFAULT, flags);
        assert_eq!(kinds.each_ref().map(|desc| is_placed(desc, &heap)), expected, "{flags:#x}");
    }
}

#[test]
fn upload_and_readback_heaps_hold_buffers_only() {
    for (heap_type, textures) in [
        (D3D12_HEAP_TYPE_DEFAULT, true),
        (D3D12_HEAP_TYPE_UPLOAD, false),
        (D3D12_HEAP_TYPE_READBACK, false),
        (D3D12_HEAP_TYPE_CUSTOM, true),
        (D3D12_HEAP_TYPE_GPU_UPLOAD, true),
    ] {
        let heap = heap_of(heap_type, D3D12_HEAP_FLAG_NONE);
        assert_eq!(is_placed(&texture2d(16, 16), &heap), textures, "{heap_type}");
        assert!(is_placed(&buffer(16), &heap), "{heap_type}");
        let committed =
            placement::check_committed(&valid(&texture2d(16, 16)), &heap.Properties, D3D12_HEAP_FLAG_NONE);
        assert_eq!(committed.is_ok(), textures, "{heap_type}");
    }
}

#[test]
fn multisampled_textures_need_a_heap_aligned_to_4_mib() {
    let mut heap = heap_of(D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_NONE);
    assert!(is_placed(&multisampled(4), &heap));
    heap.Alignment = 65_536;
    assert!(!is_placed(&multisampled(4), &heap));
    assert!(is_placed(&texture2d(64, 64), &heap));
}

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
        let heap = heap_of(heap_type, flags);
        let found = kinds.each_ref().map(|desc| placement::check_tiles(&valid(desc), &heap).is_ok());
        assert_eq!(found, expected, "{heap_type} {flags:#x}");
    }
    // A tile is 64 KiB, multisampled or not.
    let samples = tiled(D3D12_RESOURCE_DESC1 { Width: 256, Height: 256, ..multisampled(4) });
    let small = D3D12_HEAP_DESC { Alignment: 65_536, ..heap_of(default, D3D12_HEAP_FLAG_NONE) };
    assert!(placement::check_tiles(&valid(&samples), &small).is_ok());
}

#[test]
fn cross_adapter_resources_and_heaps_require_each_other() {
    let flags = D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER;
    let shared = heap_of(D3D12_HEAP_TYPE_DEFAULT, flags);
    let plain = heap_of(D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_NONE);
    for desc in [buffer(16), texture2d(16, 16)] {
        let crossing = D3D12_RESOURCE_DESC1 { Flags: D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER, ..desc };
        assert!(is_placed(&crossing, &shared) && !is_placed(&crossing, &plain));
        assert!(!is_placed(&desc, &shared) && is_placed(&desc, &plain));
    }
}

#[test]
fn flags_of_committed_heaps_depend_on_the_resource() {
    let check = |desc: &D3D12_RESOURCE_DESC1, flags| {
        let properties = heap_of(D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_FLAG_NONE).Properties;
        placement::check_committed(&valid(desc), &properties, flags).is_ok()
    };
    assert!(check(&buffer(16), D3D12_HEAP_FLAG_ALLOW_SHADER_ATOMICS));
    assert!(!check(&texture2d(16, 16), D3D12_HEAP_FLAG_ALLOW_SHADER_ATOMICS));
    assert!(check(&texture2d(16, 16), D3D12_HEAP_FLAG_ALLOW_DISPLAY));
    assert!(!check(&multisampled(4), D3D12_HEAP_FLAG_ALLOW_DISPLAY));
    assert!(!check(&buffer(16), D3D12_HEAP_FLAG_ALLOW_DISPLAY));
    let bc = D3D12_RESOURCE_DESC1 { Format: DXGI_FORMAT_BC1_UNORM, ..texture2d(16, 16) };
    assert!(!check(&bc, D3D12_HEAP_FLAG_ALLOW_DISPLAY));
}
