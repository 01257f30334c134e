//! Arguments and their errors, and what the pool holds.

use heapwright::d3d12::*;
use heapwright::{
    ByteSize, Error, FenceValue, HeapType, PoolDesc, ResourceAllocator, ResourceAllocatorDesc, ResourceKind,
    SuballocationAlgorithm,
};
use heapwright_tiles::{GrowingBuffer, StreamingTexture, TILE_SIZE, TileBox, TilePool};

use crate::gpu::*;

#[track_caller]
fn invalid<T: std::fmt::Debug>(result: Result<T, Error>, message: &str) {
    let error = result.expect_err("it must be refused");
    assert!(error.is_invalid_argument() && error.to_string().contains(message), "{error}");
}

/// Waits until a queue has executed an update, and frees what it decommitted.
unsafe fn updated(buffer: &mut GrowingBuffer, pool: &TilePool, queue: &mut Queue) {
    let copy = unsafe { buffer.update(&queue.queue, &queue.fence, queue.next()) }.expect("mapped");
    assert!(copy.is_none());
    queue.submit(|_| ());
    queue.finish();
    pool.collect();
}

#[test]
fn handles_are_send_and_sync() {
    fn check<T: Send + Sync>() {}
    check::<TilePool>();
    check::<GrowingBuffer>();
    check::<StreamingTexture>();
    check::<Error>();
}

#[test]
fn a_device_without_tiles_is_an_error_and_plain_buffers_work() {
    let gpu = open("compute-only");
    let allocator = allocator(&gpu);
    assert_eq!(allocator.caps().tiled_resources_tier, 0);
    let error = TilePool::new(&allocator, PoolDesc::default()).expect_err("no tiles");
    assert!(error.is_unsupported() && error.to_string().contains("tier 0"), "{error}");
    let buffer = GrowingBuffer::plain(&allocator, &buffer_of(10)).expect("a buffer");
    assert!(!buffer.is_in_tiles());
}

#[test]
fn descriptions_that_do_not_suit_tiles_are_refused() {
    let gpu = open("discrete");
    let allocator = allocator(&gpu);
    let refused = |desc, field| invalid(TilePool::new(&allocator, desc), field);
    refused(PoolDesc { heap_type: HeapType::Upload, ..Default::default() }, "must be the defaults for tiles");
    refused(
        PoolDesc { algorithm: SuballocationAlgorithm::Linear, ..Default::default() },
        "must be the defaults for tiles",
    );
    refused(
        PoolDesc { multisampled: true, resources: ResourceKind::Any, ..Default::default() },
        "must be the defaults for tiles",
    );
    let custom = Some((D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, D3D12_MEMORY_POOL_L0));
    refused(PoolDesc { custom_heap: custom, ..Default::default() }, "must be the defaults for tiles");
    for size in [ByteSize::ZERO, ByteSize::new(1), ByteSize::new(TILE + 1)] {
        refused(PoolDesc { heap_size: Some(size), ..Default::default() }, "PoolDesc::heap_size");
    }
    let enormous = PoolDesc { heap_size: Some(ByteSize::new(u64::MAX - 65535)), ..Default::default() };
    refused(enormous, "PoolDesc::heap_size");

    let pool = pool(&allocator);
    let buffer = |desc: &D3D12_RESOURCE_DESC| GrowingBuffer::in_tiles(&pool, desc);
    invalid(buffer(&texture_of(128, 1)), "Dimension");
    invalid(buffer(&buffer_of(0)), "Width");
    invalid(buffer(&D3D12_RESOURCE_DESC { Width: u64::MAX, ..buffer_of(1) }), "Width");
    invalid(GrowingBuffer::plain(&allocator, &buffer_of(0)), "Width");
    let texture = |pool, desc: &D3D12_RESOURCE_DESC| {
        StreamingTexture::new(pool, desc, D3D12_RESOURCE_STATE_COMMON, None)
    };
    invalid(texture(&pool, &texture_of(128, 1)), "hold Buffers, not Textures");
    let any = TilePool::new(&allocator, pool_desc(ResourceKind::Any, TILE_SIZE)).expect("tiles");
    invalid(texture(&any, &buffer_of(1)), "Dimension");
    let samples = DXGI_SAMPLE_DESC { Count: 4, Quality: 0 };
    invalid(texture(&any, &D3D12_RESOURCE_DESC { SampleDesc: samples, ..texture_of(128, 1) }), "4 samples");
    let error = texture(&any, &texture_of(0, 1)).expect_err("the device refuses it");
    assert!(error.to_string().contains("CreateReservedResource failed with E_INVALIDARG"), "{error}");
}

#[test]
fn ranges_and_subresources_are_checked() {
    let gpu = open("discrete");
    let allocator = allocator(&gpu);
    let pool = TilePool::new(&allocator, pool_desc(ResourceKind::Any, ByteSize::from_mib(1))).expect("tiles");
    let mut buffer = GrowingBuffer::in_tiles(&pool, &buffer_of(4)).expect("reserved");
    invalid(buffer.commit(0..4 * TILE + 1), "range");
    #[allow(clippy::reversed_empty_ranges, reason = "it is refused")]
    let reversed = 2..1;
    invalid(buffer.decommit(reversed), "range");
    buffer.commit(TILE..TILE).expect("nothing");
    buffer.shrink(ByteSize::new(u64::MAX)).expect("nothing");
    assert_eq!(buffer.committed(), ByteSize::ZERO);
    let desc = texture_of(512, 6);
    let mut texture =
        StreamingTexture::new(&pool, &desc, D3D12_RESOURCE_STATE_COMMON, None).expect("reserved");
    assert_eq!((texture.tile_shape().WidthInTexels, texture.size_in_tiles(0)), (128, Some([4, 4, 1])));
    assert_eq!(
        (texture.size_in_tiles(2), texture.size_in_tiles(3), texture.size_in_tiles(6)),
        (Some([1; 3]), None, None)
    );
    invalid(texture.map(0, TileBox { start: [3, 0, 0], size: [2, 1, 1] }), "exceeds");
    invalid(texture.map(0, TileBox { start: [u32::MAX, 0, 0], size: [1; 3] }), "exceeds");
    invalid(texture.unmap(3, TileBox::tile(0, 0)), "packed");
    invalid(texture.map_mip(6), "6 is out of range; the texture has 6");
    assert_eq!(texture.committed(), ByteSize::ZERO);
    // Any packed mip stands for all.
    texture.map_mip(5).expect("there is memory");

    assert_eq!(texture.committed().get(), u64::from(texture.packed_tile_count()) * TILE);
    texture.map(0, TileBox { start: [1, 1, 0], size: [2, 3, 1] }).expect("there is memory");
    texture.map_mip(0).expect("there is memory");
    assert_eq!(texture.committed().get(), (16 + u64::from(texture.packed_tile_count())) * TILE);
    texture.unmap_mip(4).expect("it is packed");
    assert_eq!(texture.committed().get(), 16 * TILE);

    let other = open("discrete");
    let (mut own, foreign) = (
        Queue::new(&gpu.device, D3D12_COMMAND_LIST_TYPE_DIRECT),
        Queue::new(&other.device, D3D12_COMMAND_LIST_TYPE_DIRECT),
    );
    buffer.grow(ByteSize::new(1)).expect("there is memory");
    unsafe {
        invalid(
            buffer.update(&foreign.queue, &own.fence, FenceValue::new(1)),
            "queue: belongs to another device",
        );
        invalid(
            buffer.update(&own.queue, &foreign.fence, FenceValue::new(1)),
            "fence: belongs to another device",
        );
        updated(&mut buffer, &pool, &mut own);
    }
    assert_eq!(buffer.committed(), TILE_SIZE);
}

#[test]
fn a_buffer_grows_and_shrinks_at_one_address_and_its_memory_goes_back() {
    let gpu = open("discrete");
    let allocator = allocator(&gpu);
    let (pool, mut queue) = (pool(&allocator), Queue::new(&gpu.device, D3D12_COMMAND_LIST_TYPE_COPY));
    // The last tile is not whole.
    let desc = D3D12_RESOURCE_DESC { Width: 100 * TILE - 5, ..buffer_of(1) };
    let mut buffer = GrowingBuffer::in_tiles(&pool, &desc).expect("reserved");
    let address = buffer.gpu_virtual_address().expect("an address");
    let tiles = |count: u64| ByteSize::new(count * TILE);
    for (size, expected) in
        [(1, 1), (TILE, 1), (TILE + 1, 2), (40 * TILE, 40), (100 * TILE - 5, 100), (3 * TILE - 1, 3), (0, 0)]
    {
        buffer.grow(ByteSize::new(size)).expect("there is memory");
        buffer.shrink(ByteSize::new(size)).expect("in tiles");
        let before = pool.stats();
        assert_eq!((buffer.committed(), before.waiting), (tiles(expected), ByteSize::ZERO));
        unsafe { updated(&mut buffer, &pool, &mut queue) };
        let stats = pool.stats();
        assert_eq!(
            (stats.used, stats.heap_count),
            (tiles(expected), expected.div_ceil(16)),
            "no more heaps than needed"
        );
        assert!(before.used >= stats.used);
    }
    assert_eq!(buffer.gpu_virtual_address(), Some(address));
    // In the middle: commits round outward, and decommits inward.
    buffer.commit(10 * TILE + 1..12 * TILE + 1).expect("there is memory");
    buffer.decommit(10 * TILE + 1..12 * TILE + 1).expect("in tiles");
    assert_eq!(buffer.committed(), tiles(2));
    // Two changes that cancel each other out.
    buffer.decommit(0..TILE * 100 - 5).expect("in tiles");
    unsafe { updated(&mut buffer, &pool, &mut queue) };
    assert_eq!(pool.stats().used, ByteSize::ZERO);
}

#[test]
fn decommitted_tiles_wait_for_their_fence_and_the_last_update() {
    let gpu = open("discrete");
    let allocator = allocator(&gpu);
    let (pool, queue) = (pool(&allocator), Queue::new(&gpu.device, D3D12_COMMAND_LIST_TYPE_COPY));
    let (one, other) = (fence(&gpu.device), fence(&gpu.device));
    let buffers = [0, 1, 2].map(|_| GrowingBuffer::in_tiles(&pool, &buffer_of(8)).expect("reserved"));
    let [mut kept, mut dropped, mut freed] = buffers;
    let used = || pool.stats().used.get() / TILE;
    for buffer in [&mut kept, &mut dropped, &mut freed] {
        buffer.grow(ByteSize::new(8 * TILE)).expect("there is memory");
        // SAFETY: the fence is signaled below, when the queue has nothing left.
        unsafe { buffer.update(&queue.queue, &one, FenceValue::new(7)) }.expect("mapped");
    }
    kept.shrink(ByteSize::new(TILE)).expect("in tiles");
    unsafe { kept.update(&queue.queue, &one, FenceValue::new(8)) }.expect("mapped");
    drop(dropped);
    freed.free_after(&other, FenceValue::new(3));
    let signal = |fence: &ID3D12Fence, value| unsafe { fence.Signal(value) }.ok().expect("signaled");
    assert_eq!((pool.collect(), used(), pool.stats().waiting.get() / TILE), (0, 24, 23));
    signal(&one, 6);
    assert_eq!(pool.collect(), 0);
    signal(&other, 3);
    assert_eq!(
        (pool.collect(), used()),
        (0, 24),
        "the last update of what was freed is still to be executed"
    );
    signal(&one, 7);
    assert_eq!((pool.collect(), used()), (16, 8));
    signal(&one, 8);
    assert_eq!((pool.collect(), used()), (7, 1));
    drop(kept);
    assert_eq!(used(), 0);
}

#[test]
fn tiles_whose_fence_is_reached_are_used_before_a_new_heap() {
    let gpu = open("discrete");
    let allocator = allocator(&gpu);
    let (pool, mut queue) = (pool(&allocator), Queue::new(&gpu.device, D3D12_COMMAND_LIST_TYPE_COPY));
    let mut buffers = [0, 1].map(|_| GrowingBuffer::in_tiles(&pool, &buffer_of(16)).expect("reserved"));
    for round in 0..20 {
        let (grown, shrunk) = (round % 2, (round + 1) % 2);
        buffers[grown].grow(ByteSize::new(16 * TILE)).expect("there is memory");
        buffers[shrunk].shrink(ByteSize::ZERO).expect("in tiles");
        for buffer in &mut buffers {
            unsafe { buffer.update(&queue.queue, &queue.fence, queue.next()) }.expect("mapped");
        }
        queue.submit(|_| ());
        queue.finish();
        // Without `collect`: it is left to `grow`.
        assert!(pool.stats().heap_count <= 2, "round {round}");
    }
}

#[test]
fn an_update_is_one_call_for_each_heap() {
    let gpu = open("discrete");
    let allocator = allocator(&gpu);
    let (pool, queue) = (pool(&allocator), Queue::new(&gpu.device, D3D12_COMMAND_LIST_TYPE_COPY));
    let calls = crate::faults::count_updates(&queue.queue);
    let mut buffer = GrowingBuffer::in_tiles(&pool, &buffer_of(64)).expect("reserved");
    let update = |buffer: &mut GrowingBuffer, expected: &[(u32, u32)]| {
        unsafe { buffer.update(&queue.queue, &queue.fence, FenceValue::new(1)) }.expect("mapped");
        assert_eq!(calls.take(), expected, "regions and ranges of each call");
    };
    update(&mut buffer, &[]);
    buffer.grow(ByteSize::new(10 * TILE)).expect("there is memory");
    update(&mut buffer, &[(1, 1)]);
    buffer.decommit(2 * TILE..4 * TILE).expect("in tiles");
    buffer.decommit(5 * TILE..6 * TILE).expect("in tiles");
    update(&mut buffer, &[(2, 2)]);
    // Six tiles of the first heap, and 16 and 8 of two others. One of them takes the NULL tiles, too.
    buffer.commit(20 * TILE..50 * TILE).expect("there is memory");
    buffer.decommit(0..2 * TILE).expect("in tiles");
    update(&mut buffer, &[(2, 2), (1, 1), (1, 1)]);
}

#[test]
fn limits_of_the_allocator_hold() {
    let gpu = open("discrete");
    let limits = heapwright::HeapLimits { default: Some(ByteSize::from_mib(2)), ..Default::default() };
    let desc = ResourceAllocatorDesc { limits, ..Default::default() };
    let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc).expect("sound");
    let pool = pool(&allocator);
    let mut buffer = GrowingBuffer::in_tiles(&pool, &buffer_of(100)).expect("reserved");
    let error = buffer.grow(ByteSize::new(33 * TILE)).expect_err("more than 2 MiB");
    assert!(error.is_out_of_memory(), "{error}");
    assert_eq!(
        (buffer.committed(), pool.stats().used),
        (ByteSize::ZERO, ByteSize::ZERO),
        "nothing has changed"
    );
    buffer.grow(ByteSize::new(32 * TILE)).expect("2 MiB");
}

#[test]
fn without_tiles_a_buffer_is_copied_where_it_grows() {
    let gpu = open("discrete");
    let allocator = allocator(&gpu);
    let mut queue = Queue::new(&gpu.device, D3D12_COMMAND_LIST_TYPE_COPY);
    let mut upload = plain_buffer(&allocator, HeapType::Upload, STAMP as u64);
    let mut readback = plain_buffer(&allocator, HeapType::Readback, STAMP as u64);
    upload.map().expect("mapped").write(0, b"contents").expect("in bounds");
    let mut buffer = GrowingBuffer::plain(&allocator, &buffer_of(100)).expect("a buffer");
    buffer.grow(ByteSize::new(TILE)).expect("there is memory");
    let at = |byte| Place::Byte(byte);
    let mut copied = Vec::new();
    let mut update = |buffer: &mut GrowingBuffer, queue: &mut Queue| {
        let copy = unsafe { buffer.update(&queue.queue, &queue.fence, queue.next()) }.expect("updated");
        copied.push(copy.as_ref().map_or(0, |copy| copy.size.get() / TILE));
        queue.submit(|list| {
            if let Some(copy) = copy {
                unsafe { list.CopyBufferRegion(buffer.resource(), 0, &copy.source, 0, copy.size.get()) };
            }
        });
        queue.finish();
        allocator.collect();
    };
    update(&mut buffer, &mut queue);
    queue.submit(|list| write(list, (buffer.resource(), at(TILE - 8)), (upload.resource(), 0)));
    for tiles in [3, 4, 9, 80, 100, 90, 2, 1] {
        buffer.grow(ByteSize::new(tiles * TILE)).expect("there is memory");
        buffer.shrink(ByteSize::new(tiles * TILE)).expect("there is memory");
        assert!(buffer.committed().get() >= tiles * TILE);
        update(&mut buffer, &mut queue);
    }
    assert_eq!(
        copied,
        [0, 1, 0, 4, 9, 0, 0, 2, 0],
        "each time it exceeds the resource, or is less than a quarter"
    );
    queue.submit(|list| read(list, (buffer.resource(), at(TILE - 8)), (readback.resource(), 0)));
    queue.finish();
    let mut seen = [0; STAMP];
    readback.map().expect("mapped").read(0, &mut seen).expect("in bounds");
    assert_eq!(&seen, b"contents");
    buffer.free_after(&queue.fence, queue.last());
    allocator.collect();
    drop((upload, readback));
    assert_eq!(allocator.stats().used, ByteSize::ZERO);
}

#[test]
fn what_waits_when_the_pool_is_dropped_is_leaked() {
    let gpu = open("discrete");
    let allocator = allocator(&gpu);
    let (pool, fence) = (pool(&allocator), fence(&gpu.device));
    let mut buffer = GrowingBuffer::in_tiles(&pool, &buffer_of(1)).expect("reserved");
    buffer.grow(TILE_SIZE).expect("there is memory");
    buffer.free_after(&fence, FenceValue::new(1));
    drop(pool);
    unsafe { fence.Signal(1) }.ok().expect("signaled");
    allocator.release_empty_heaps();
    assert_eq!(allocator.stats().used, ByteSize::from_mib(1), "memory that the GPU may use is not freed");
}
