//! Reserved buffers and their tiles.

use heapwright_d3d12::*;

use super::gpu::*;

fn create_heap(device: &ID3D12Device14, size: u64) -> ID3D12Heap {
    let properties = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
    let flags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
    let desc =
        D3D12_HEAP_DESC { SizeInBytes: size, Properties: properties, Flags: flags, ..Default::default() };
    let mut heap = None;
    unsafe { device.CreateHeap(&desc, &mut heap) }.expect("a heap");
    heap.expect("S_OK comes with a heap")
}

/// Maps tiles from `first` on to what `ranges` says: flags, first tile of the heap, count.
fn map_tiles(
    queue: &Queue,
    resource: &ID3D12Resource,
    first: u32,
    heap: Option<&ID3D12Heap>,
    ranges: &[(i32, u32, u32)],
) {
    let count = u32::try_from(ranges.len()).expect("few");
    let flags: Vec<_> = ranges.iter().map(|range| range.0).collect();
    let offsets: Vec<_> = ranges.iter().map(|range| range.1).collect();
    let counts: Vec<_> = ranges.iter().map(|range| range.2).collect();
    let start = D3D12_TILED_RESOURCE_COORDINATE { X: first, ..Default::default() };
    let size = D3D12_TILE_REGION_SIZE { NumTiles: counts.iter().sum(), ..Default::default() };
    unsafe {
        queue.queue.UpdateTileMappings(
            resource,
            1,
            Some(&start),
            Some(&size),
            heap,
            count,
            Some(flags.as_ptr()),
            Some(offsets.as_ptr()),
            Some(counts.as_ptr()),
            D3D12_TILE_MAPPING_FLAG_NONE,
        );
    }
}

#[test]
fn tiles_stand_where_the_queue_maps_them() {
    let device = open();
    let queue = Queue::direct(&device);
    let tiled = reserve(&device, 4 * TILE);
    let heap = create_heap(&device, 4 * TILE);
    let upload = commit(&device, D3D12_HEAP_TYPE_UPLOAD, 4 * TILE);
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 4 * TILE);
    for (index, tile) in bytes(&upload).chunks_mut(65536).enumerate() {
        tile.fill(u8::try_from(index + 1).expect("few"));
    }
    let tiles = || {
        unsafe { queue.list.CopyResource(&readback, &tiled) };
        queue.run();
        let tiles = bytes(&readback).chunks(65536);
        tiles.map(|tile| tile.iter().all(|byte| *byte == tile[0]).then_some(tile[0])).collect::<Vec<_>>()
    };
    let (none, null, skip, reuse) = (
        D3D12_TILE_RANGE_FLAG_NONE,
        D3D12_TILE_RANGE_FLAG_NULL,
        D3D12_TILE_RANGE_FLAG_SKIP,
        D3D12_TILE_RANGE_FLAG_REUSE_SINGLE_TILE,
    );
    assert_eq!(tiles(), [Some(0); 4], "nothing is mapped");
    map_tiles(&queue, &tiled, 0, Some(&heap), &[(none, 2, 2), (null, 0, 1), (none, 0, 1)]);
    unsafe { queue.list.CopyResource(&tiled, &upload) };
    assert_eq!(tiles(), [Some(1), Some(2), Some(0), Some(4)], "writes to a null tile are dropped");
    map_tiles(&queue, &tiled, 0, Some(&heap), &[(skip, 0, 1), (reuse, 0, 3)]);
    assert_eq!(tiles(), [Some(1), Some(4), Some(4), Some(4)]);
    // What does not fit the heap or the resource changes nothing.
    map_tiles(&queue, &tiled, 0, Some(&heap), &[(none, 3, 2)]);
    map_tiles(&queue, &tiled, 3, Some(&heap), &[(none, 0, 2)]);
    map_tiles(&queue, &tiled, 0, None, &[(none, 0, 1)]);
    map_tiles(&queue, &tiled, 0, Some(&heap), &[(64, 0, 1)]);
    map_tiles(&queue, &upload, 0, Some(&heap), &[(none, 0, 1)]);
    assert_eq!(tiles(), [Some(1), Some(4), Some(4), Some(4)]);

    let at = |x| D3D12_TILED_RESOURCE_COORDINATE { X: x, ..Default::default() };
    let two = D3D12_TILE_REGION_SIZE { NumTiles: 2, ..Default::default() };
    unsafe {
        let flags = D3D12_TILE_MAPPING_FLAG_NONE;
        queue.queue.CopyTileMappings(&tiled, &at(1), &tiled, &at(0), &two, flags);
        assert_eq!(tiles(), [Some(1), Some(1), Some(4), Some(4)]);
        let to_tiles = D3D12_TILE_COPY_FLAG_LINEAR_BUFFER_TO_SWIZZLED_TILED_RESOURCE;
        let from_tiles = D3D12_TILE_COPY_FLAG_SWIZZLED_TILED_RESOURCE_TO_LINEAR_BUFFER;
        queue.list.CopyTiles(&tiled, &at(1), &two, &upload, TILE, to_tiles);
        assert_eq!(tiles(), [Some(2), Some(2), Some(3), Some(3)], "tiles share memory");
        queue.list.CopyTiles(&tiled, &at(1), &two, &readback, 0, from_tiles);
        queue.run();
        assert_eq!((bytes(&readback)[0], bytes(&readback)[65536]), (2, 3));
        let refused = |start, buffer, offset, flags| {
            queue.close_after(|list| list.CopyTiles(&tiled, &at(start), &two, buffer, offset, flags))
        };
        assert_eq!(refused(3, &upload, 0, to_tiles), E_INVALIDARG);
        assert_eq!(refused(0, &upload, 3 * TILE, to_tiles), E_INVALIDARG);
        assert_eq!(refused(0, &upload, 0, from_tiles), E_INVALIDARG, "an UPLOAD heap");
        assert_eq!(refused(0, &upload, 0, 0), E_INVALIDARG, "no direction");
        let untiled = queue.close_after(|list| list.CopyTiles(&readback, &at(0), &two, &upload, 0, to_tiles));
        assert_eq!(untiled, E_INVALIDARG);
        assert_eq!(code(device.GetDeviceRemovedReason()), S_OK);
        // Tiles do not keep their heap alive.
        drop(heap);
        queue.list.CopyBufferRegion(&readback, 0, &tiled, 0, 4);
        queue.list.Close().succeeds();
        queue.execute(&[&queue.list]);
        queue.fence.SetEventOnCompletion(u64::MAX, HANDLE::default()).succeeds();
        assert_eq!(code(device.GetDeviceRemovedReason()), DXGI_ERROR_DEVICE_HUNG);
    }
}
