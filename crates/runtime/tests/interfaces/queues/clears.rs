//! Clears of rectangles, of one aspect, and those that are refused.

use heapwright_d3d12::*;

use super::textures::*;
use crate::gpu::*;

const RGBA: DXGI_FORMAT = DXGI_FORMAT_R8G8B8A8_UNORM;

pub(crate) fn rect(left: i32, top: i32, right: i32, bottom: i32) -> RECT {
    RECT { left, top, right, bottom }
}

/// Draws the texels as text, with `#` where the first byte is 255.
fn picture(
    readback: &ID3D12Resource,
    offset: usize,
    [width, height]: [usize; 2],
    texel: usize,
) -> Vec<String> {
    let row = |y| {
        let is_set = |x| bytes(readback)[offset + y * 256 + x * texel] == 255;
        (0..width).map(|x| if is_set(x) { '#' } else { '.' }).collect()
    };
    (0..height).map(row).collect()
}

#[test]
fn rectangles_of_a_render_target_are_clipped_and_empty_ones_are_ignored() {
    let (device, queue) = open_direct();
    let desc = D3D12_RESOURCE_DESC {
        MipLevels: 2,
        DepthOrArraySize: 3,
        Flags: D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        ..texture_desc(RGBA, [12, 8])
    };
    let texture = create(&device, &desc);
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 6 * 2048);
    let none = D3D12_DESCRIPTOR_HEAP_FLAG_NONE;
    let heap = descriptor_heap(&device, D3D12_DESCRIPTOR_HEAP_TYPE_RTV, 1, none).expect("a heap");
    unsafe {
        let handle = heap.GetCPUDescriptorHandleForHeapStart();
        device.CreateRenderTargetView(&texture, Some(&slices_view(RGBA, 1, 1, 2)), handle);
        let rects = [
            rect(-3, -1, 2, 1),
            rect(4, 2, 100, 100),
            rect(3, 1, 3, 4),
            rect(3, 3, 2, 4),
            rect(-5, 0, 0, 4),
            rect(6, 0, 9, 4),
            rect(i32::MIN, i32::MAX, i32::MAX, i32::MIN),
        ];
        queue.list.ClearRenderTargetView(handle, &[1.0; 4], &rects);
        for index in 0..6 {
            let mip = index % 2;
            download(
                &queue.list,
                (&texture, index),
                (&readback, u64::from(index) * 2048),
                RGBA,
                [12 >> mip, 8 >> mip, 1],
                256,
            );
        }
    }
    queue.run();
    let expected = ["##....", "......", "....##", "....##"];
    for (index, is_cleared) in (0..).zip([false, false, false, true, false, true]) {
        let size = [12 >> (index % 2), 8 >> (index % 2)];
        let found = picture(&readback, index * 2048, size, 4);
        if is_cleared {
            assert_eq!(found, expected, "subresource {index}");
        } else {
            assert!(found.iter().all(|row| !row.contains('#')), "subresource {index}");
        }
    }
    // A clear of only empty rectangles clears nothing and is valid.
    let handle = unsafe { heap.GetCPUDescriptorHandleForHeapStart() };
    let clear = |rects: &[RECT]| {
        queue.close_after(|list| unsafe { list.ClearRenderTargetView(handle, &[1.0; 4], rects) })
    };
    assert_eq!(clear(&[rect(0, 0, 0, 0)]), S_OK);
    let null = queue.close_after(|list| unsafe {
        let table = windows_core::Interface::vtable(list);
        let method = table.base__.base__.base__.base__.base__.base__.base__.ClearRenderTargetView;
        method(windows_core::Interface::as_raw(list), handle, [1.0_f32; 4].as_ptr(), 1, std::ptr::null());
    });
    assert_eq!(null, E_INVALIDARG, "one rectangle, and no pointer");
}

#[test]
fn rectangles_of_tiled_textures_cross_tiles() {
    let (device, queue) = open_direct();
    let desc = D3D12_RESOURCE_DESC {
        Layout: D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE,
        Flags: D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
        ..texture_desc(DXGI_FORMAT_R8_UINT, [512, 300])
    };
    let texture = reserve_as(&device, &desc);
    let heap = default_heap(&device, 4 * TILE, D3D12_HEAP_FLAG_NONE);
    let views = ClearViews::new(&device);
    update_tiles(&queue, &texture, None, None, Some(&heap), &[(D3D12_TILE_RANGE_FLAG_NONE, 0, 4)]);
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 512 * 300);
    unsafe {
        device.CreateUnorderedAccessView(&texture, None, None, views.cpu);
        views.clear(&queue.list, &texture, 1, &[]);
        views.clear(&queue.list, &texture, 7, &[rect(250, 250, 260, 260), rect(510, 299, 600, 600)]);
        download(&queue.list, (&texture, 0), (&readback, 0), DXGI_FORMAT_R8_UINT, [512, 300, 1], 512);
    }
    queue.run();
    for (index, &texel) in bytes(&readback).iter().enumerate() {
        let (x, y) = (index % 512, index / 512);
        let inside = ((250..260).contains(&x) && (250..260).contains(&y)) || (x >= 510 && y == 299);
        assert_eq!(texel, if inside { 7 } else { 1 }, "texel {x}, {y}");
    }
}

#[test]
fn rectangles_clear_parts_of_depth_and_stencil() {
    let (device, queue) = open_direct();
    let desc = D3D12_RESOURCE_DESC {
        Flags: D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
        ..texture_desc(DXGI_FORMAT_D32_FLOAT_S8X24_UINT, [4, 4])
    };
    let texture = create(&device, &desc);
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 8192);
    let (_heap, handle) = view_of(&device, D3D12_DESCRIPTOR_HEAP_TYPE_DSV, &texture);
    unsafe {
        let both = D3D12_CLEAR_FLAG_DEPTH | D3D12_CLEAR_FLAG_STENCIL;
        let (first, second) = ([rect(1, 1, 3, 2)], [rect(0, 3, 1, 9)]);
        queue.list.ClearDepthStencilView(handle, both, 0.5, 255, &first);
        queue.list.ClearDepthStencilView(handle, D3D12_CLEAR_FLAG_STENCIL, 1.0, 255, &second);
        queue.list.ClearDepthStencilView(handle, D3D12_CLEAR_FLAG_DEPTH, 0.25, 255, &[rect(0, 2, 1, 3)]);
        let depth = footprint(&readback, 0, DXGI_FORMAT_R32_TYPELESS, [4, 4, 1], 256);
        let stencil = footprint(&readback, 4096, DXGI_FORMAT_R8_TYPELESS, [4, 4, 1], 256);
        queue.list.CopyTextureRegion(&depth, 0, 0, 0, &subresource(&texture, 0), None);
        queue.list.CopyTextureRegion(&stencil, 0, 0, 0, &subresource(&texture, 1), None);
    }
    queue.run();
    assert_eq!(picture(&readback, 4096, [4, 4], 1), ["....", ".##.", "....", "#..."]);
    let depths = |y: usize| -> Vec<f32> {
        let row = bytes(&readback)[y * 256..][..16].chunks_exact(4);
        row.map(|texel| f32::from_le_bytes(texel.try_into().expect("four bytes"))).collect()
    };
    assert_eq!([depths(0), depths(1)], [[0.0; 4], [0.0, 0.5, 0.5, 0.0]]);
    assert_eq!([depths(2), depths(3)], [[0.25, 0.0, 0.0, 0.0], [0.0; 4]]);
    let (depth, nan) = (D3D12_CLEAR_FLAG_DEPTH, f32::NAN);
    for (flags, value) in [(0, 0.0), (depth, 1.5), (depth, nan)] {
        let refused =
            queue.close_after(|list| unsafe { list.ClearDepthStencilView(handle, flags, value, 0, &[]) });
        assert_eq!(refused, E_INVALIDARG, "{flags} {value}");
    }
}

#[test]
fn rectangles_of_buffers_count_elements() {
    let device = open();
    let queue = Queue::new(&device, D3D12_COMMAND_LIST_TYPE_COMPUTE);
    let views = ClearViews::new(&device);
    let buffer =
        commit_with(&device, D3D12_HEAP_TYPE_DEFAULT, 64, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 64);
    unsafe {
        let desc = elements_view(DXGI_FORMAT_R16_UINT, 4, 10);
        device.CreateUnorderedAccessView(&buffer, None, Some(&desc), views.cpu);
        // Elements 1 and 2, none (below row 0), and 8 to the end of the view.
        let rects = [rect(1, 0, 3, 1), rect(4, 1, 6, 2), rect(8, -4, 1000, 7)];
        views.clear(&queue.list, &buffer, 0x2211, &rects);
        queue.list.CopyResource(&readback, &buffer);
    }
    queue.run();
    let mut expected = [0; 64];
    for element in [1, 2, 8, 9] {
        expected[8 + element * 2..][..2].copy_from_slice(&[0x11, 0x22]);
    }
    assert_eq!(bytes(&readback), expected);
}

#[test]
fn rectangles_of_compressed_textures_count_blocks() {
    let (device, queue) = open_direct();
    let desc = D3D12_RESOURCE_DESC {
        MipLevels: 2,
        Flags: D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
        ..texture_desc(DXGI_FORMAT_BC1_UNORM, [12, 12])
    };
    let texture = create_castable(&device, &desc, &[DXGI_FORMAT_R32G32_UINT]);
    let views = ClearViews::new(&device);
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 4096);
    let view = |mip| D3D12_UNORDERED_ACCESS_VIEW_DESC {
        Format: DXGI_FORMAT_R32G32_UINT,
        ViewDimension: D3D12_UAV_DIMENSION_TEXTURE2D,
        Anonymous: D3D12_UNORDERED_ACCESS_VIEW_DESC_0 {
            Texture2D: D3D12_TEX2D_UAV { MipSlice: mip, PlaneSlice: 0 },
        },
    };
    unsafe {
        device.CreateUnorderedAccessView(&texture, None, Some(&view(0)), views.cpu);
        views.clear(&queue.list, &texture, 255, &[rect(1, 0, 9, 2)]);
        // 6 by 6 texels: the blocks at the edges are partial.
        device.CreateUnorderedAccessView(&texture, None, Some(&view(1)), views.cpu);
        views.clear(&queue.list, &texture, 255, &[rect(1, 1, 2, 2)]);
        download(&queue.list, (&texture, 0), (&readback, 0), DXGI_FORMAT_BC1_UNORM, [12, 12, 1], 256);
        download(&queue.list, (&texture, 1), (&readback, 1024), DXGI_FORMAT_BC1_UNORM, [8, 8, 1], 256);
    }
    queue.run();
    assert_eq!(picture(&readback, 0, [3, 3], 8), [".##", ".##", "..."]);
    assert_eq!(picture(&readback, 1024, [2, 2], 8), ["..", ".#"]);
}
