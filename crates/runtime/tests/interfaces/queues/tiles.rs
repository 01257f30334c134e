//! Reserved resources and their tiles.

use heapwright_d3d12::*;

use super::textures::*;
use crate::gpu::*;

fn buffer_heap(device: &ID3D12Device14, size: u64) -> ID3D12Heap {
    default_heap(device, size, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS)
}

/// Maps tiles from `first` on to `ranges`: flags, first tile of the heap, count.
fn map_tiles(
    queue: &Queue,
    resource: &ID3D12Resource,
    first: u32,
    heap: Option<&ID3D12Heap>,
    ranges: &[(i32, u32, u32)],
) {
    let start = D3D12_TILED_RESOURCE_COORDINATE { X: first, ..Default::default() };
    let count = ranges.iter().map(|range| range.2).sum();
    let size = D3D12_TILE_REGION_SIZE { NumTiles: count, ..Default::default() };
    update_tiles(queue, resource, Some(start), Some(size), heap, ranges);
}

#[test]
fn refused_mappings_change_nothing_and_tiles_keep_no_heap() {
    let (device, queue) = open_direct();
    let tiled = reserve(&device, 4 * TILE);
    let heap = buffer_heap(&device, 4 * TILE);
    let upload = commit(&device, D3D12_HEAP_TYPE_UPLOAD, 4 * TILE);
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 4 * TILE);
    bytes(&upload).fill(1);
    let none = D3D12_TILE_RANGE_FLAG_NONE;
    let is_mapped = || {
        unsafe { queue.list.CopyResource(&readback, &tiled) };
        queue.run();
        bytes(&readback).chunks(65536).map(|tile| tile[0] == 1).collect::<Vec<_>>()
    };
    map_tiles(&queue, &tiled, 0, Some(&heap), &[(none, 2, 2)]);
    unsafe { queue.list.CopyResource(&tiled, &upload) };
    assert_eq!(is_mapped(), [true, true, false, false]);
    map_tiles(&queue, &tiled, 0, Some(&heap), &[(none, 3, 2)]);
    map_tiles(&queue, &tiled, 3, Some(&heap), &[(none, 0, 2)]);
    map_tiles(&queue, &tiled, 0, None, &[(none, 0, 1)]);
    map_tiles(&queue, &tiled, 0, Some(&heap), &[(64, 0, 1)]);
    map_tiles(&queue, &upload, 0, Some(&heap), &[(none, 0, 1)]);
    assert_eq!(is_mapped(), [true, true, false, false]);

    let at = |x| D3D12_TILED_RESOURCE_COORDINATE { X: x, ..Default::default() };
    let two = D3D12_TILE_REGION_SIZE { NumTiles: 2, ..Default::default() };
    unsafe {
        let to_tiles = D3D12_TILE_COPY_FLAG_LINEAR_BUFFER_TO_SWIZZLED_TILED_RESOURCE;
        let from_tiles = D3D12_TILE_COPY_FLAG_SWIZZLED_TILED_RESOURCE_TO_LINEAR_BUFFER;
        let refused = |start, buffer, offset, flags| {
            queue.close_after(|list| list.CopyTiles(&tiled, &at(start), &two, buffer, offset, flags))
        };
        assert_eq!(refused(3, &upload, 0, to_tiles), E_INVALIDARG);
        assert_eq!(refused(0, &upload, 3 * TILE, to_tiles), E_INVALIDARG);
        assert_eq!(refused(0, &upload, 0, from_tiles), S_OK, "states are checked by the debug layer");
        assert_eq!(refused(0, &upload, 0, to_tiles | from_tiles), E_INVALIDARG, "both directions");
        let untiled = queue.close_after(|list| list.CopyTiles(&readback, &at(0), &two, &upload, 0, to_tiles));
        assert_eq!(untiled, E_INVALIDARG);
        assert_eq!(code(device.GetDeviceRemovedReason()), S_OK);
        // Mapped tiles do not keep their heap alive.
        drop(heap);
        queue.list.CopyBufferRegion(&readback, 0, &tiled, 0, 4);
        queue.list.Close().succeeds();
        queue.execute(&[&queue.list]);
        queue.fence.SetEventOnCompletion(u64::MAX, HANDLE::default()).succeeds();
        assert_eq!(code(device.GetDeviceRemovedReason()), DXGI_ERROR_DEVICE_HUNG);
    }
}

#[test]
fn millions_of_tiles_are_mapped_at_once() {
    let (device, queue) = open_direct();
    let tiled = reserve(&device, TILE << 23);
    let tiled = &tiled;
    let heap = buffer_heap(&device, 2 * TILE);
    let upload = commit(&device, D3D12_HEAP_TYPE_UPLOAD, 4);
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 12);
    bytes(&upload).fill(7);
    let last = (1 << 23) - 1;
    let reuse = D3D12_TILE_RANGE_FLAG_REUSE_SINGLE_TILE;
    map_tiles(&queue, tiled, 0, Some(&heap), &[(reuse, 1, last), (D3D12_TILE_RANGE_FLAG_NONE, 0, 1)]);
    map_tiles(&queue, tiled, 9, None, &[(D3D12_TILE_RANGE_FLAG_NULL, 0, 1)]);
    unsafe {
        queue.list.CopyBufferRegion(tiled, 3 * TILE, &upload, 0, 4);
        for (index, tile) in [(0, u64::from(last) - 1), (1, u64::from(last)), (2, 9)] {
            queue.list.CopyBufferRegion(&readback, index * 4, tiled, tile * TILE, 4);
        }
    }
    queue.run();
    assert_eq!(bytes(&readback), [7, 7, 7, 7, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn reserved_textures_are_mapped_tile_by_tile() {
    let (device, queue) = open_direct();
    let format = DXGI_FORMAT_R8G8B8A8_UNORM;
    // Tiles of 128 by 128 texels: the first mip has 2 by 2 tiles, the second one, and the rest are packed.
    let desc = D3D12_RESOURCE_DESC {
        Layout: D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE,
        MipLevels: 4,
        ..texture_desc(format, [256, 256])
    };
    let texture = reserve_as(&device, &desc);
    let (mut count, mut packed) = (0, D3D12_PACKED_MIP_INFO::default());
    unsafe {
        let (mips, infos) = (None, std::ptr::null_mut());
        device.GetResourceTiling(&texture, Some(&mut count), Some(&mut packed), mips, None, 0, infos);
    }
    assert_eq!((count, packed.StartTileIndexInOverallResource, packed.NumTilesForPackedMips), (6, 5, 1));
    let heap = default_heap(&device, 6 * TILE, D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES);
    let (upload, readback) = (
        commit(&device, D3D12_HEAP_TYPE_UPLOAD, 4 * TILE),
        commit(&device, D3D12_HEAP_TYPE_READBACK, 4 * TILE),
    );
    for (index, tile) in bytes(&upload).chunks_mut(65536).enumerate() {
        tile.fill(u8::try_from(index + 1).expect("few"));
    }
    let at =
        |x, y, subresource| D3D12_TILED_RESOURCE_COORDINATE { X: x, Y: y, Z: 0, Subresource: subresource };
    let boxed = |width, height| D3D12_TILE_REGION_SIZE {
        NumTiles: width * u32::from(height),
        UseBox: true.into(),
        Width: width,
        Height: height,
        Depth: 1,
    };
    let map = |start, size: D3D12_TILE_REGION_SIZE, first: u32| {
        let range = (D3D12_TILE_RANGE_FLAG_NONE, first, size.NumTiles);
        update_tiles(&queue, &texture, Some(start), Some(size), Some(&heap), &[range]);
    };
    // The right column of the first mip, the second mip, and the packed mips.
    map(at(1, 0, 0), boxed(1, 2), 0);
    map(at(0, 0, 1), boxed(1, 1), 2);
    map(at(0, 0, 2), D3D12_TILE_REGION_SIZE { NumTiles: 1, ..Default::default() }, 3);
    let to_tiles = D3D12_TILE_COPY_FLAG_LINEAR_BUFFER_TO_SWIZZLED_TILED_RESOURCE;
    unsafe {
        queue.list.CopyTiles(&texture, &at(0, 0, 0), &boxed(2, 2), &upload, 0, to_tiles);
        download(&queue.list, (&texture, 0), (&readback, 0), format, [256, 256, 1], 1024);
    }
    queue.run();
    let texel = |x: usize, y: usize| bytes(&readback)[y * 1024 + x * 4];
    assert_eq!((texel(127, 0), texel(127, 255)), (0, 0), "the left column is not mapped");
    assert_eq!((texel(128, 127), texel(255, 128)), (2, 4));
    let refused = |start, size: D3D12_TILE_REGION_SIZE| {
        queue.close_after(|list| unsafe { list.CopyTiles(&texture, &start, &size, &upload, 0, to_tiles) })
    };
    assert_eq!(refused(at(0, 0, 1), boxed(1, 1)), S_OK);
    assert_eq!(refused(at(1, 0, 1), boxed(1, 1)), E_INVALIDARG);
    assert_eq!(refused(at(0, 0, 1), boxed(2, 1)), E_INVALIDARG);
    assert_eq!(refused(at(0, 0, 4), boxed(1, 1)), E_INVALIDARG);
    assert_eq!(refused(at(0, 0, 2), boxed(1, 1)), E_INVALIDARG, "packed");
    let wrong = D3D12_TILE_REGION_SIZE { NumTiles: 3, ..boxed(2, 2) };
    assert_eq!(refused(at(0, 0, 0), wrong), E_INVALIDARG);
    // Packed mips are copied like other subresources.
    upload_to(&queue.list, (&texture, 3), &upload, format, [32, 32, 1], 256);
    download(&queue.list, (&texture, 3), (&readback, 0), format, [32, 32, 1], 256);
    queue.run();
    assert!(bytes(&readback)[..128].iter().all(|byte| *byte == 1));
    assert_eq!(code(unsafe { device.GetDeviceRemovedReason() }), S_OK);
}

/// Tiles are mapped only to a heap that accepts the resource; a heap without a range is not checked.
#[test]
fn tiles_can_only_be_mapped_to_heaps_that_allow_the_resource() {
    let (device, queue) = open_direct();
    let tiled = reserve(&device, TILE);
    let (upload, readback) =
        (commit(&device, D3D12_HEAP_TYPE_UPLOAD, TILE), commit(&device, D3D12_HEAP_TYPE_READBACK, TILE));
    bytes(&upload).fill(7);
    let textures = default_heap(&device, TILE, D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES);
    let first_byte = || {
        unsafe {
            queue.list.CopyResource(&tiled, &upload);
            queue.list.CopyResource(&readback, &tiled);
        }
        queue.run();
        bytes(&readback)[0]
    };
    messages(&device);
    map_tiles(&queue, &tiled, 0, Some(&textures), &[(D3D12_TILE_RANGE_FLAG_NONE, 0, 1)]);
    let told = messages(&device);
    assert_eq!(told[0].0, D3D12_MESSAGE_ID_UPDATETILEMAPPINGS_INVALID_PARAMETER);
    assert!(told[0].1.contains("DENY_BUFFERS"), "{told:?}");
    assert_eq!(first_byte(), 0, "it is mapped to nothing");
    map_tiles(&queue, &tiled, 0, Some(&buffer_heap(&device, TILE)), &[(D3D12_TILE_RANGE_FLAG_NULL, 0, 1)]);
    let buffers = buffer_heap(&device, TILE);
    map_tiles(&queue, &tiled, 0, Some(&buffers), &[(D3D12_TILE_RANGE_FLAG_NONE, 0, 1)]);
    assert_eq!(first_byte(), 7);
    messages(&device);
    map_tiles(&queue, &tiled, 0, Some(&textures), &[(D3D12_TILE_RANGE_FLAG_SKIP, 0, 1)]);
    assert_eq!(messages(&device), []);
    assert_eq!(first_byte(), 7);
}

/// Tiled resources tier 4: the packed mips of each slice are mapped by their own subresources.
#[test]
fn each_slice_has_its_own_packed_mips() {
    let device = open_named("compressing");
    let queue = Queue::direct(&device);
    let format = DXGI_FORMAT_R8G8B8A8_UNORM;
    let desc = D3D12_RESOURCE_DESC {
        Layout: D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE,
        DepthOrArraySize: 2,
        MipLevels: 2,
        ..texture_desc(format, [128, 128])
    };
    let texture = reserve_as(&device, &desc);
    let heap = default_heap(&device, 2 * TILE, D3D12_HEAP_FLAG_NONE);
    let (upload, readback) =
        (commit(&device, D3D12_HEAP_TYPE_UPLOAD, TILE), commit(&device, D3D12_HEAP_TYPE_READBACK, TILE));
    // Subresources 1 and 3 are the packed mips of the two slices. Only those of the second slice are
    // mapped.
    let start = D3D12_TILED_RESOURCE_COORDINATE { Subresource: 3, ..Default::default() };
    let flags = D3D12_TILE_RANGE_FLAG_NONE;
    let texel = |subresource: u32, byte: u8| {
        bytes(&upload).fill(byte);
        upload_to(&queue.list, (&texture, subresource), &upload, format, [64, 64, 1], 256);
        download(&queue.list, (&texture, subresource), (&readback, 0), format, [64, 64, 1], 256);
        queue.run();
        bytes(&readback)[0]
    };
    let map =
        |start, first| update_tiles(&queue, &texture, Some(start), None, Some(&heap), &[(flags, first, 1)]);
    map(start, 1);
    assert_eq!((texel(1, 5), texel(3, 6)), (0, 6));
    // The packed mips of both slices are two regions; a region cannot start beyond the slice's own.
    let beyond = D3D12_TILED_RESOURCE_COORDINATE { X: 1, Subresource: 1, ..Default::default() };
    messages(&device);
    map(beyond, 0);
    assert_eq!(messages(&device).len(), 1, "refused");
}
