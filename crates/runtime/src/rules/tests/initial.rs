//! Initial states and layouts.

use super::*;
use crate::rules::initial;

#[test]
fn acceleration_structures_need_unordered_access_and_no_cpu_access() {
    let check = |flags, heap_type| {
        let state = D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE;
        initial::check_state(&valid(&buffer(1)), state, heap_type, flags, &caps("discrete")).is_ok()
    };
    assert!(!check(D3D12_RESOURCE_FLAG_NONE, D3D12_HEAP_TYPE_DEFAULT));
    let unordered = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
    for flags in [unordered, unordered | D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE] {
        assert!(check(flags, D3D12_HEAP_TYPE_DEFAULT), "DXR 1.0 and later alike: {flags:#x}");
        assert!(!check(flags, D3D12_HEAP_TYPE_UPLOAD));
    }
}

const DEPTH: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;

/// The flags of the textures that the tables have a column for.
const COLUMNS: [D3D12_RESOURCE_FLAGS; 5] = [
    D3D12_RESOURCE_FLAG_NONE,
    D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
    D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
    DEPTH,
    DEPTH | D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE,
];

fn texture(flags: D3D12_RESOURCE_FLAGS) -> Resource {
    let format = if flags & DEPTH == 0 { DXGI_FORMAT_R8G8B8A8_UNORM } else { DXGI_FORMAT_D32_FLOAT };
    valid(&D3D12_RESOURCE_DESC1 { Flags: flags, Format: format, ..texture2d(16, 16) })
}

#[test]
fn states_of_textures_follow_their_flags() {
    let shader_and_copy = D3D12_RESOURCE_STATE_ALL_SHADER_RESOURCE | D3D12_RESOURCE_STATE_COPY_SOURCE;
    let depth_and_shader = D3D12_RESOURCE_STATE_DEPTH_READ | D3D12_RESOURCE_STATE_PIXEL_SHADER_RESOURCE;
    let table = [
        (D3D12_RESOURCE_STATE_COMMON, [true; 5]),
        (D3D12_RESOURCE_STATE_COPY_DEST, [true; 5]),
        (D3D12_RESOURCE_STATE_COPY_SOURCE, [true; 5]),
        (D3D12_RESOURCE_STATE_RESOLVE_DEST, [true; 5]),
        (D3D12_RESOURCE_STATE_GENERIC_READ, [true; 5]),
        (D3D12_RESOURCE_STATE_RENDER_TARGET, [false, true, false, false, false]),
        (D3D12_RESOURCE_STATE_UNORDERED_ACCESS, [false, false, true, false, false]),
        (D3D12_RESOURCE_STATE_DEPTH_WRITE, [false, false, false, true, true]),
        (D3D12_RESOURCE_STATE_DEPTH_READ, [false, false, false, true, true]),
        (shader_and_copy, [true, true, true, true, false]),
        (depth_and_shader, [false, false, false, true, false]),
        (D3D12_RESOURCE_STATE_COPY_DEST | D3D12_RESOURCE_STATE_COPY_SOURCE, [false; 5]),
        (D3D12_RESOURCE_STATE_DEPTH_WRITE | D3D12_RESOURCE_STATE_DEPTH_READ, [false; 5]),
        (D3D12_RESOURCE_STATE_INDEX_BUFFER, [false; 5]),
        (D3D12_RESOURCE_STATE_STREAM_OUT, [false; 5]),
        (D3D12_RESOURCE_STATE_SHADING_RATE_SOURCE, [false; 5]),
        (1 << 30, [false; 5]),
    ];
    let check = |flags, state| {
        initial::check_state(&texture(flags), state, D3D12_HEAP_TYPE_DEFAULT, flags, &caps("discrete"))
    };
    for (state, expected) in table {
        assert_eq!(COLUMNS.map(|flags| check(flags, state).is_ok()), expected, "{state:#x}");
    }
    let video = check(D3D12_RESOURCE_FLAG_NONE, D3D12_RESOURCE_STATE_VIDEO_DECODE_READ);
    assert_eq!(video.map_err(|refusal| refusal.hresult()), Err(E_NOTIMPL));
}

#[test]
fn layouts_of_textures_follow_their_flags() {
    let table = [
        (D3D12_BARRIER_LAYOUT_UNDEFINED, [true; 5]),
        (D3D12_BARRIER_LAYOUT_COMMON, [true; 5]),
        (D3D12_BARRIER_LAYOUT_GENERIC_READ, [true; 5]),
        (D3D12_BARRIER_LAYOUT_COPY_DEST, [true; 5]),
        (D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_COMMON, [true; 5]),
        (D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_GENERIC_READ_COMPUTE_QUEUE_ACCESSIBLE, [true; 5]),
        (D3D12_BARRIER_LAYOUT_RENDER_TARGET, [false, true, false, false, false]),
        (D3D12_BARRIER_LAYOUT_UNORDERED_ACCESS, [false, false, true, false, false]),
        (D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_UNORDERED_ACCESS, [false, false, true, false, false]),
        (D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_WRITE, [false, false, false, true, true]),
        (D3D12_BARRIER_LAYOUT_SHADER_RESOURCE, [true, true, true, true, false]),
        (D3D12_BARRIER_LAYOUT_SHADING_RATE_SOURCE, [false; 5]),
        (-2, [false; 5]),
        (32, [false; 5]),
    ];
    for (layout, expected) in table {
        let found = COLUMNS.map(|flags| initial::check_layout(&texture(flags), layout, flags).is_ok());
        assert_eq!(found, expected, "{layout}");
    }
    for layout in [12, 17, 30] {
        let refusal = initial::check_layout(&texture(0), layout, 0).expect_err("video");
        assert_eq!(refusal.hresult(), E_NOTIMPL, "{layout}");
    }
}
