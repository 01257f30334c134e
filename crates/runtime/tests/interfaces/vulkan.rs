//! The Vulkan driver on the system's first device. Without one, each test prints the reason and passes; with the
//! environment variable HEAPWRIGHT_REQUIRE_VULKAN, it fails.

use heapwright_core::{ByteSize, GpuVirtualAddress};
use heapwright_d3d12::*;
use heapwright_runtime::{DeviceOptions, Instance, SegmentGroup, VulkanGpu, vulkan_validation_messages};
use windows_core::Interface;

use crate::gpu::*;
use crate::queues::textures::{download, footprint, subresource};

/// An instance on the first device. At the end of a test, it fails for messages of the validation layer.
struct Gpu {
    instance: Instance,
    device: ID3D12Device14,
}

impl Gpu {
    fn open() -> Option<Self> {
        let usable = VulkanGpu::all().map(|gpus| gpus.into_iter().find(|gpu| gpu.unsuitable.is_none()));
        let reason = match usable {
            Ok(Some(gpu)) => {
                let instance = Instance::open_vulkan(gpu.index, DeviceOptions::default(), &[]);
                let instance = instance.expect("the device is suitable");
                let device = instance.device.cast().expect("the newest interface");
                return Some(Self { instance, device });
            }
            Ok(None) => "no suitable Vulkan device".to_owned(),
            Err(error) if error.is_about_name() => error.to_string(),
            Err(error) => panic!("{error}"),
        };
        let is_required = std::env::var_os("HEAPWRIGHT_REQUIRE_VULKAN").is_some();
        assert!(!is_required, "HEAPWRIGHT_REQUIRE_VULKAN is set, but there is {reason}");
        eprintln!("skipped: {reason}");
        None
    }

    fn usage(&self) -> u64 {
        self.instance.current_usage(SegmentGroup::Local).get()
    }

    fn placed(&self, heap: &ID3D12Heap, offset: u64, width: u64) -> ID3D12Resource {
        let desc = buffer_desc(width, D3D12_RESOURCE_FLAG_NONE);
        placed(&self.device, heap, offset, &desc, D3D12_RESOURCE_STATE_COMMON).expect("placed")
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(vulkan_validation_messages(), Vec::<String>::new());
        }
    }
}

fn pageable(heap: &ID3D12Heap) -> [Option<ID3D12Pageable>; 1] {
    [Some(heap.cast().expect("a heap is pageable"))]
}

fn pattern(len: usize, seed: u64) -> Vec<u8> {
    let word = |index: u64| (index ^ seed << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
    (0..len as u64).map(|index| word(index)[7]).collect()
}

/// An evicted heap occupies no device memory; when it returns, address and contents are the same.
#[test]
fn eviction_frees_memory_and_keeps_address_and_contents() {
    let Some(gpu) = Gpu::open() else { return };
    const SIZE: u64 = 3 << 20;
    let heap = default_heap(&gpu.device, SIZE, D3D12_HEAP_FLAG_NONE);
    let buffer = gpu.placed(&heap, 1 << 16, SIZE - (1 << 16));
    let width = SIZE - (1 << 16);
    let (upload, readback) = (
        commit(&gpu.device, D3D12_HEAP_TYPE_UPLOAD, width),
        commit(&gpu.device, D3D12_HEAP_TYPE_READBACK, width),
    );
    let address = unsafe { buffer.GetGPUVirtualAddress() };
    let expected = pattern(usize::try_from(width).expect("small"), 1);
    bytes(&upload).copy_from_slice(&expected);
    let queue = Queue::direct(&gpu.device);
    unsafe { queue.list.CopyBufferRegion(&buffer, 0, &upload, 0, width) };
    queue.run();
    for round in 0..3 {
        let before = gpu.usage();
        let start = GpuVirtualAddress::new(address.0).expect("a buffer has an address");
        assert!(gpu.instance.has_memory_at(start));
        gpu.instance.evict(&pageable(&heap)).succeeds();
        assert!(!gpu.instance.has_memory_at(start), "round {round}: the heap is not resident");
        assert_eq!(before - gpu.usage(), SIZE, "round {round}");
        // What the evicted memory was is used by another heap in the meantime.
        let other = default_heap(&gpu.device, SIZE, D3D12_HEAP_FLAG_NONE);
        gpu.instance.make_resident(&pageable(&heap)).succeeds();
        drop(other);
        assert_eq!(gpu.usage(), before);
        assert_eq!(unsafe { buffer.GetGPUVirtualAddress() }, address);
        bytes(&readback).fill(0);
        unsafe { queue.list.CopyBufferRegion(&readback, 0, &buffer, 0, width) };
        queue.run();
        assert!(bytes(&readback) == expected, "round {round}: the contents differ");
    }
}

/// Heaps whose copies have several parts: each byte is back after eviction and return, also if
/// the heap is evicted again before it has arrived.
#[test]
fn large_heaps_return_whole() {
    let Some(gpu) = Gpu::open() else { return };
    const MIB: u64 = 1 << 20;
    let queue = Queue::direct(&gpu.device);
    for size in [65 * MIB, 640 * MIB + (64 << 10)] {
        let heap = default_heap(&gpu.device, size, D3D12_HEAP_FLAG_CREATE_NOT_ZEROED);
        let buffer = gpu.placed(&heap, 0, size);
        // A page of each MiB is written, and what is between two of them is not compared.
        let pages: Vec<u64> = (0..size).step_by(1 << 20).chain([size - 4096]).collect();
        let width = pages.len() as u64 * 4096;
        let (upload, readback) = (
            commit(&gpu.device, D3D12_HEAP_TYPE_UPLOAD, width),
            commit(&gpu.device, D3D12_HEAP_TYPE_READBACK, width),
        );
        let expected = pattern(usize::try_from(width).expect("small"), size);
        bytes(&upload).copy_from_slice(&expected);
        for (index, &page) in (0..).zip(&pages) {
            unsafe { queue.list.CopyBufferRegion(&buffer, page, &upload, index * 4096, 4096) };
        }
        queue.run();
        let (before, object) = (gpu.usage(), pageable(&heap));
        gpu.instance.evict(&object).succeeds();
        assert_eq!(before - gpu.usage(), size);
        let fence = create_fence(&gpu.device, 0);
        unsafe { gpu.device.EnqueueMakeResident(D3D12_RESIDENCY_FLAG_NONE, &object, &fence, 1) }.succeeds();
        gpu.instance.evict(&object).succeeds();
        gpu.instance.make_resident(&object).succeeds();
        assert_eq!(gpu.usage(), before);
        bytes(&readback).fill(0);
        for (index, &page) in (0..).zip(&pages) {
            unsafe { queue.list.CopyBufferRegion(&readback, index * 4096, &buffer, page, 4096) };
        }
        queue.run();
        assert!(bytes(&readback) == expected, "a heap of {size} bytes: the contents differ");
    }
}

/// Memory to which the CPU has pointers stays, as the caps say, and remains charged.
#[test]
fn memory_that_the_cpu_accesses_stays() {
    let Some(gpu) = Gpu::open() else { return };
    const SIZE: u64 = 1 << 20;
    for kind in [D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK, D3D12_HEAP_TYPE_GPU_UPLOAD] {
        if create_heap(&gpu.device, &heap_desc(kind, SIZE)).is_err() {
            assert_eq!(kind, D3D12_HEAP_TYPE_GPU_UPLOAD, "the others always exist");
            continue;
        }
        let buffer = commit(&gpu.device, kind, SIZE);
        let object = [Some(buffer.cast().expect("a committed resource is pageable"))];
        let usage = || {
            let of = |group| gpu.instance.current_usage(group).get();
            of(SegmentGroup::Local) + of(SegmentGroup::NonLocal)
        };
        let (before, contents) = (usage(), bytes(&buffer));
        contents.fill(0x77);
        gpu.instance.evict(&object).succeeds();
        assert_eq!(usage(), before, "heap type {kind}");
        contents[0] = 0x78;
        gpu.instance.make_resident(&object).succeeds();
        assert_eq!((contents[0], contents[1]), (0x78, 0x77), "heap type {kind}");
    }
}

/// Textures as close to each other as the device permits, of all kinds: each has its own contents, also after their
/// heap was away.
#[test]
fn textures_next_to_each_other_return_whole() {
    let Some(gpu) = Gpu::open() else { return };
    const SIZE: [u32; 2] = [60, 20];
    const PITCH: u32 = 256;
    const RGBA: DXGI_FORMAT = DXGI_FORMAT_R8G8B8A8_UNORM;
    let (target, depth) = (D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL);
    let tight = |format, flags, samples| D3D12_RESOURCE_DESC {
        Flags: flags | D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT,
        SampleDesc: DXGI_SAMPLE_DESC { Count: samples, Quality: 0 },
        ..texture_desc(format, SIZE)
    };
    let descs = [
        tight(RGBA, D3D12_RESOURCE_FLAG_NONE, 1),
        tight(RGBA, target, 1),
        tight(DXGI_FORMAT_D32_FLOAT_S8X24_UINT, depth, 1),
        tight(RGBA, target, 4),
        // The target of the resolve.
        tight(RGBA, target, 1),
    ];
    let mut places = [D3D12_RESOURCE_ALLOCATION_INFO1::default(); 5];
    let whole =
        unsafe { gpu.device.GetResourceAllocationInfo1(0, 5, descs.as_ptr(), Some(places.as_mut_ptr())) };
    let heap = D3D12_HEAP_DESC {
        Alignment: D3D12_DEFAULT_MSAA_RESOURCE_PLACEMENT_ALIGNMENT.cast_unsigned().into(),
        ..heap_desc(D3D12_HEAP_TYPE_DEFAULT, whole.SizeInBytes)
    };
    let heap = create_heap(&gpu.device, &heap).expect("a heap");
    let textures: Vec<_> = descs
        .iter()
        .zip(&places)
        .map(|(desc, place)| {
            placed(&gpu.device, &heap, place.Offset, desc, D3D12_RESOURCE_STATE_COMMON).expect("a place")
        })
        .collect();
    let [color, target, depth, samples, resolved] = &textures[..] else { panic!("five") };
    let (_rtv_heap, rtv) = view_of(&gpu.device, D3D12_DESCRIPTOR_HEAP_TYPE_RTV, target);
    let (_dsv_heap, dsv) = view_of(&gpu.device, D3D12_DESCRIPTOR_HEAP_TYPE_DSV, depth);
    let (_samples_heap, samples_rtv) = view_of(&gpu.device, D3D12_DESCRIPTOR_HEAP_TYPE_RTV, samples);
    let bytes_of_one = u64::from(PITCH * SIZE[1]);
    let upload = commit(&gpu.device, D3D12_HEAP_TYPE_UPLOAD, bytes_of_one);
    // Color, target, depth, stencil, resolved samples.
    let readback = commit(&gpu.device, D3D12_HEAP_TYPE_READBACK, 5 * bytes_of_one);
    let queue = Queue::direct(&gpu.device);
    for round in 0..3_u8 {
        let expected = pattern(bytes(&upload).len(), round.into());
        bytes(&upload).copy_from_slice(&expected);
        let shade = f32::from(round) / 255.0;
        unsafe {
            let source = footprint(&upload, 0, RGBA, [SIZE[0], SIZE[1], 1], PITCH);
            queue.list.CopyTextureRegion(&subresource(color, 0), 0, 0, 0, &source, None);
            queue.list.ClearRenderTargetView(rtv, &[shade, 1.0, 0.0, 1.0], &[]);
            let both = D3D12_CLEAR_FLAG_DEPTH | D3D12_CLEAR_FLAG_STENCIL;
            queue.list.ClearDepthStencilView(dsv, both, shade, 7 + round, &[]);
            queue.list.ClearRenderTargetView(samples_rtv, &[0.0, 1.0, shade, 1.0], &[]);
        }
        queue.run();
        gpu.instance.evict(&pageable(&heap)).succeeds();
        let other = default_heap(&gpu.device, whole.SizeInBytes, D3D12_HEAP_FLAG_NONE);
        gpu.instance.make_resident(&pageable(&heap)).succeeds();
        drop(other);
        bytes(&readback).fill(0xee);
        unsafe { queue.list.ResolveSubresource(resolved, 0, samples, 0, RGBA) };
        let parts = [
            (color, 0, RGBA),
            (target, 0, RGBA),
            (depth, 0, DXGI_FORMAT_R32_TYPELESS),
            (depth, 1, DXGI_FORMAT_R8_TYPELESS),
            (resolved, 0, RGBA),
        ];
        for (part, (texture, index, format)) in (0..).zip(parts) {
            let to = (&readback, part * bytes_of_one);
            download(&queue.list, (texture, index), to, format, [SIZE[0], SIZE[1], 1], PITCH);
        }
        queue.run();
        let [width, height, pitch] =
            [SIZE[0], SIZE[1], PITCH].map(|size| usize::try_from(size).expect("small"));
        for (row, found) in bytes(&readback).chunks_exact(pitch).enumerate() {
            let expected = match row / height {
                0 => expected[row * pitch..][..4 * width].to_vec(),
                1 => [round, 255, 0, 255].repeat(width),
                2 => shade.to_le_bytes().repeat(width),
                3 => vec![7 + round; width],
                _ => [0, 255, round, 255].repeat(width),
            };
            assert_eq!(found[..expected.len()], expected, "round {round}, row {row}");
        }
    }
}

/// The enqueued variant signals its fence after the contents have returned.
#[test]
fn enqueued_memory_is_there_when_the_fence_is_signalled() {
    let Some(gpu) = Gpu::open() else { return };
    const SIZE: u64 = 1 << 20;
    let heaps: Vec<_> = (0..4).map(|_| default_heap(&gpu.device, SIZE, D3D12_HEAP_FLAG_NONE)).collect();
    let buffers: Vec<_> = heaps.iter().map(|heap| gpu.placed(heap, 0, SIZE)).collect();
    let upload = commit(&gpu.device, D3D12_HEAP_TYPE_UPLOAD, SIZE);
    let readback = commit(&gpu.device, D3D12_HEAP_TYPE_READBACK, SIZE);
    let queue = Queue::direct(&gpu.device);
    let len = usize::try_from(SIZE).expect("small");
    for (seed, buffer) in (0..).zip(&buffers) {
        bytes(&upload).copy_from_slice(&pattern(len, seed));
        unsafe { queue.list.CopyBufferRegion(buffer, 0, &upload, 0, SIZE) };
        queue.run();
    }
    let objects: Vec<_> = heaps.iter().flat_map(pageable).collect();
    gpu.instance.evict(&objects).succeeds();
    let fence = create_fence(&gpu.device, 0);
    unsafe {
        let flags = D3D12_RESIDENCY_FLAG_NONE;
        gpu.device.EnqueueMakeResident(flags, &objects, &fence, 7).succeeds();
        queue.queue.Wait(&fence, 7).succeeds();
    }
    for (seed, buffer) in (0..).zip(&buffers) {
        unsafe { queue.list.CopyBufferRegion(&readback, 0, buffer, 0, SIZE) };
        queue.run();
        assert!(bytes(&readback) == pattern(len, seed), "heap {seed}: the contents differ");
    }
}

/// Memory is zero at first, also that of a heap that is created not resident, and of one that gets memory which was
/// in use.
#[test]
fn new_memory_is_zero() {
    let Some(gpu) = Gpu::open() else { return };
    const SIZE: u64 = 1 << 20;
    let queue = Queue::direct(&gpu.device);
    let upload = commit(&gpu.device, D3D12_HEAP_TYPE_UPLOAD, SIZE);
    let readback = commit(&gpu.device, D3D12_HEAP_TYPE_READBACK, SIZE);
    for round in 0..4 {
        let flags = if round % 2 == 0 { D3D12_HEAP_FLAG_NONE } else { D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT };
        let heap = default_heap(&gpu.device, SIZE, flags);
        if flags != D3D12_HEAP_FLAG_NONE {
            gpu.instance.make_resident(&pageable(&heap)).succeeds();
        }
        let buffer = gpu.placed(&heap, 0, SIZE);
        bytes(&readback).fill(0xff);
        unsafe { queue.list.CopyBufferRegion(&readback, 0, &buffer, 0, SIZE) };
        queue.run();
        assert!(bytes(&readback).iter().all(|&byte| byte == 0), "round {round}");
        bytes(&upload).fill(0xab);
        unsafe { queue.list.CopyBufferRegion(&buffer, 0, &upload, 0, SIZE) };
        queue.run();
    }
}

/// An access to evicted memory removes the device, as on the simulated GPU, and its message names the heap.
#[test]
fn access_to_an_evicted_heap_removes_the_device() {
    let Some(gpu) = Gpu::open() else { return };
    let heap = default_heap(&gpu.device, 1 << 16, D3D12_HEAP_FLAG_NONE);
    name(&heap, "sky");
    let buffer = gpu.placed(&heap, 0, 1 << 16);
    let readback = commit(&gpu.device, D3D12_HEAP_TYPE_READBACK, 1 << 16);
    gpu.instance.evict(&pageable(&heap)).succeeds();
    let queue = Queue::direct(&gpu.device);
    unsafe {
        queue.list.CopyBufferRegion(&readback, 0, &buffer, 0, 1 << 16);
        queue.list.Close().succeeds();
        queue.execute(&[&queue.list]);
        // Refused if the device is removed by then, which completes every fence.
        let _ = queue.queue.Signal(&queue.fence, 1);
        queue.fence.SetEventOnCompletion(1, HANDLE::default()).succeeds();
        assert_eq!(code(gpu.device.GetDeviceRemovedReason()), DXGI_ERROR_DEVICE_HUNG);
    }
    let texts: Vec<String> = messages(&gpu.device).into_iter().map(|(_, text)| text).collect();
    assert!(texts.iter().any(|text| text.contains("'sky'") && text.contains("not resident")), "{texts:?}");
}

/// Random copies of a list take effect in order, whether or not they overlap.
#[test]
fn copies_take_effect_in_order() {
    let Some(gpu) = Gpu::open() else { return };
    const SIZE: u64 = 1 << 16;
    let buffers = [0, 1].map(|_| commit(&gpu.device, D3D12_HEAP_TYPE_DEFAULT, SIZE));
    let upload = commit(&gpu.device, D3D12_HEAP_TYPE_UPLOAD, SIZE);
    let readback = commit(&gpu.device, D3D12_HEAP_TYPE_READBACK, SIZE);
    let queue = Queue::direct(&gpu.device);
    let len = usize::try_from(SIZE).expect("small");
    let mut models = [pattern(len, 5), pattern(len, 6)];
    for (buffer, model) in buffers.iter().zip(&models) {
        bytes(&upload).copy_from_slice(model);
        unsafe { queue.list.CopyBufferRegion(buffer, 0, &upload, 0, SIZE) };
        queue.run();
    }
    let mut state = 9_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 40).expect("24 bits") % below
    };
    for _list in 0..10 {
        for _copy in 0..40 {
            let (from, to) = (random(2), random(2));
            let most = if random(4) == 0 { len / 2 } else { 64 };
            let size = 1 + random(most);
            let (source, target) = (random(len - size), random(len - size));
            // D3D12 does not let a copy overlap itself.
            if from == to && source < target + size && target < source + size {
                continue;
            }
            let moved = models[from][source..source + size].to_vec();
            models[to][target..target + size].copy_from_slice(&moved);
            let [source, target, size] = [source, target, size].map(|value| value as u64);
            unsafe { queue.list.CopyBufferRegion(&buffers[to], target, &buffers[from], source, size) };
        }
        queue.run();
    }
    for (index, (buffer, model)) in buffers.iter().zip(&models).enumerate() {
        unsafe { queue.list.CopyBufferRegion(&readback, 0, buffer, 0, SIZE) };
        queue.run();
        assert!(bytes(&readback) == *model, "buffer {index}");
    }
}

/// Tiles stay mapped to a heap while it is away, and have its contents when it is back. Null tiles read as zero.
#[test]
fn tiles_follow_their_heap() {
    let Some(gpu) = Gpu::open() else { return };
    let options = D3D12_FEATURE_DATA_D3D12_OPTIONS::default();
    let (result, options) = feature(&gpu.device, D3D12_FEATURE_D3D12_OPTIONS, options);
    result.succeeds();
    assert_eq!(options.TiledResourcesTier, D3D12_TILED_RESOURCES_TIER_3);
    let heap = default_heap(&gpu.device, 2 * TILE, D3D12_HEAP_FLAG_NONE);
    let tiled = reserve(&gpu.device, 3 * TILE);
    let queue = Queue::direct(&gpu.device);
    // Tile 0 of the resource is tile 1 of the heap; tile 2 is tile 0; tile 1 is null.
    for (tile, of_heap) in [(0, 1), (2, 0)] {
        let start = D3D12_TILED_RESOURCE_COORDINATE { X: tile, ..Default::default() };
        let flags = D3D12_TILE_RANGE_FLAG_NONE;
        update_tiles(&queue, &tiled, Some(start), None, Some(&heap), &[(flags, of_heap, 1)]);
    }
    let upload = commit(&gpu.device, D3D12_HEAP_TYPE_UPLOAD, 3 * TILE);
    let readback = commit(&gpu.device, D3D12_HEAP_TYPE_READBACK, 3 * TILE);
    let tile = usize::try_from(TILE).expect("small");
    let mut expected = pattern(3 * tile, 3);
    bytes(&upload).copy_from_slice(&expected);
    unsafe { queue.list.CopyBufferRegion(&tiled, 0, &upload, 0, 3 * TILE) };
    queue.run();
    let start = unsafe { tiled.GetGPUVirtualAddress() };
    let has_memory = || {
        let address = |tile| GpuVirtualAddress::new(start.0 + tile * TILE).expect("not null");
        [0, 1, 2].map(|tile| gpu.instance.has_memory_at(address(tile)))
    };
    assert_eq!(has_memory(), [true, false, true]);
    gpu.instance.evict(&pageable(&heap)).succeeds();
    assert_eq!(has_memory(), [false; 3]);
    gpu.instance.make_resident(&pageable(&heap)).succeeds();
    unsafe { queue.list.CopyBufferRegion(&readback, 0, &tiled, 0, 3 * TILE) };
    queue.run();
    expected[tile..2 * tile].fill(0);
    assert!(bytes(&readback) == expected);
}

/// Budgets are within the memory, a limit lowers them, and memory beyond the device's is refused.
#[test]
fn budgets_and_memory_have_limits() {
    let Some(gpu) = Gpu::open() else { return };
    let info = |group| memory_info(&gpu.instance.adapter, group);
    let before = info(DXGI_MEMORY_SEGMENT_GROUP_LOCAL);
    assert!(before.Budget > 1 << 20 && before.CurrentUsage <= before.Budget, "{before:?}");
    gpu.instance.set_budget(SegmentGroup::Local, ByteSize::from_mib(1));
    assert_eq!(info(DXGI_MEMORY_SEGMENT_GROUP_LOCAL).Budget, 1 << 20);
    let too_large = heap_desc(D3D12_HEAP_TYPE_DEFAULT, 1 << 44);
    assert_eq!(create_heap(&gpu.device, &too_large).err(), Some(E_OUTOFMEMORY));
    assert_eq!(info(DXGI_MEMORY_SEGMENT_GROUP_LOCAL).CurrentUsage, before.CurrentUsage);
    let heap = default_heap(&gpu.device, 2 << 20, D3D12_HEAP_FLAG_NONE);
    assert_eq!(info(DXGI_MEMORY_SEGMENT_GROUP_LOCAL).CurrentUsage, before.CurrentUsage + (2 << 20));
    drop(heap);
    assert_eq!(info(DXGI_MEMORY_SEGMENT_GROUP_LOCAL).CurrentUsage, before.CurrentUsage);
}

#[test]
fn a_device_that_does_not_exist_is_an_error() {
    let Some(_gpu) = Gpu::open() else { return };
    let error = Instance::open_vulkan(1000, DeviceOptions::default(), &[]).expect_err("not so many devices");
    assert!(error.is_about_name(), "{error}");
    assert!(error.to_string().starts_with("there is no Vulkan device 1000"), "{error}");
}

/// The GPU's copies write the timestamps, and the clock is that of the queue.
#[test]
fn timestamps_follow_the_queue_clock() {
    let Some(gpu) = Gpu::open() else { return };
    crate::queues::timestamps::follow_the_queue_clock(&gpu.device);
}

/// Pages of the process are not memory of this driver.
#[test]
fn existing_heaps_are_not_implemented() {
    let Some(gpu) = Gpu::open() else { return };
    let (answer, data) =
        feature(&gpu.device, D3D12_FEATURE_EXISTING_HEAPS, D3D12_FEATURE_DATA_EXISTING_HEAPS::default());
    assert_eq!((answer, data.Supported.as_bool()), (S_OK, false));
    let opened =
        unsafe { gpu.device.OpenExistingHeapFromAddress::<ID3D12Heap>(std::ptr::without_provenance(4096)) };
    assert_eq!(code(opened), E_NOTIMPL);
}
