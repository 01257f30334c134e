//! Tests of the allocator's public interface on the embedded runtime.

use crate::gpu::*;
use heapwright::d3d12::*;
use heapwright::*;
use heapwright_runtime::{HostProfile, Instance};

fn buffer(allocator: &ResourceAllocator, heap_type: HeapType, size: u64) -> ResourceAllocation {
    let desc = buffer_desc(ByteSize::new(size));
    allocator
        .create_resource(&ResourceAllocationDesc::new(heap_type), &desc, COMMON, None)
        .expect("there is room")
}

#[test]
fn small_buffers_share_a_heap_at_the_devices_alignment() {
    for (profile, step) in [("discrete", 256), ("cache-coherent-uma", 64), ("uma", 8), ("old-ddi", 64 * 1024)]
    {
        let gpu = open(profile);
        let allocator = usual(&gpu);
        assert_eq!(allocator.caps().buffer_alignment.get(), step, "{profile}");
        let [first, second] = [1, 1].map(|size| buffer(&allocator, HeapType::Default, size));
        assert_eq!(first.heap(), second.heap());
        assert_eq!((first.offset().get(), second.offset().get()), (0, step), "{profile}");
        let distance = second.gpu_virtual_address().expect("has one").get()
            - first.gpu_virtual_address().expect("has one").get();
        assert_eq!(distance, step, "{profile}");
        assert_eq!(allocator.stats().heap_count, 1);
    }
}

#[test]
fn what_is_dropped_goes_back_to_the_allocator_and_then_to_the_device() {
    let gpu = any_device();
    let allocator = usual(&gpu);
    let held: Vec<_> = (1..100).map(|i| buffer(&allocator, HeapType::Default, i * 10_000)).collect();
    let stats = allocator.stats();
    assert_eq!(stats.allocation_count, 99);
    assert!(stats.used <= stats.reserved);
    assert_usage(&gpu, stats.reserved);
    drop(held);
    let stats = allocator.stats();
    assert_eq!((stats.used, stats.allocation_count), (ByteSize::ZERO, 0));
    assert_eq!(stats.heap_count, stats.empty_heap_count);
    assert_eq!(allocator.release_empty_heaps(), stats.reserved);
    assert_eq!(allocator.stats().reserved, ByteSize::ZERO);
    assert_usage(&gpu, ByteSize::ZERO);
}

#[test]
fn an_allocation_outlives_its_allocator() {
    let gpu = open("discrete");
    let allocator = usual(&gpu);
    let mut upload = buffer(&allocator, HeapType::Upload, 100);
    drop(allocator);
    upload.map().expect("upload heaps map").write(0, &[7; 100]).expect("inside");
    drop(upload);
    let usage = VideoMemoryInfo::query(&gpu.adapter, SegmentGroup::NonLocal).expect("answered").current_usage;
    assert_eq!(usage, ByteSize::ZERO);
}

#[test]
fn a_very_large_buffer_has_its_heap_to_itself() {
    let gpu = any_device();
    let allocator = usual(&gpu);
    let large = buffer(&allocator, HeapType::Default, 200_000_000);
    let small = buffer(&allocator, HeapType::Default, 100_000);
    assert_ne!(large.heap(), small.heap());
    // SAFETY: the heap is a live COM object.
    let heap = unsafe { large.heap().expect("placed").GetDesc() };
    assert_eq!(heap.SizeInBytes, 200_000_000_u64.next_multiple_of(64 * 1024));
    assert_eq!(large.offset().get(), 0);
}

#[test]
fn each_heap_type_has_heaps_of_its_own_in_its_segment_group() {
    let gpu = open("discrete");
    let allocator = usual(&gpu);
    let held = HeapType::ALL.map(|heap_type| (heap_type, buffer(&allocator, heap_type, 1000)));
    for (heap_type, allocation) in &held {
        let (mut properties, mut flags) = Default::default();
        // SAFETY: the resource is live and both structures are writable.
        unsafe { allocation.resource().GetHeapProperties(Some(&mut properties), Some(&mut flags)) }
            .ok()
            .expect("placed resources have heap properties");
        assert_eq!(properties.Type, heap_type.to_d3d12());
        assert_eq!(allocation.heap_type(), *heap_type);
    }
    let usage = |group| VideoMemoryInfo::query(&gpu.adapter, group).expect("answered").current_usage;
    // Heaps that the CPU can map are smaller, because their cost grows faster with their size.
    assert_eq!(usage(SegmentGroup::Local), ByteSize::from_mib(2 * 4), "two types");
    assert_eq!(usage(SegmentGroup::NonLocal), ByteSize::from_kib(2 * 256), "two types");
    assert_eq!(allocator.stats().heap_count, 4);
}

#[test]
fn bytes_written_through_a_mapping_stay() {
    let gpu = any_device();
    let allocator = usual(&gpu);
    for heap_type in gpu.heap_types().into_iter().filter(|of| of.is_cpu_accessible()) {
        let mut first = buffer(&allocator, heap_type, 1000);
        let mut second = buffer(&allocator, heap_type, 1000);
        // Not every D3D12 returns zeroed memory.
        first.map().expect("mappable").write(0, &[3; 1000]).expect("inside");
        first.map().expect("mappable").write(990, &[1; 10]).expect("inside");
        second.map().expect("mappable").write(0, &[2; 1000]).expect("inside");
        let mut read = [0; 12];
        first.map().expect("mappable").read(988, &mut read).expect("inside");
        assert_eq!(read, [3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    }
}

#[test]
fn a_mapping_keeps_to_its_bytes() {
    let gpu = any_device();
    let allocator = usual(&gpu);
    let mut upload = buffer(&allocator, HeapType::Upload, 1000);
    let mut mapping = upload.map().expect("mappable");
    assert_eq!(mapping.len(), ByteSize::new(1000));
    for (offset, len) in [(991, 10), (1000, 1), (1001, 0), (u64::MAX, 1), (u64::MAX - 3, 8)] {
        let error = mapping.write(offset, &vec![1; len]).expect_err("outside");
        assert!(error.is_invalid_argument(), "{error}");
        assert!(mapping.read(offset, &mut vec![1; len]).is_err());
    }
    mapping.write(1000, &[]).expect("an empty write at the end is inside");
    drop(mapping);
    let mut default = buffer(&allocator, HeapType::Default, 1000);
    assert!(default.map().expect_err("no CPU access").is_invalid_argument());
}

#[test]
fn hostile_descriptions_are_errors_that_name_the_field() {
    let gpu = open("discrete");
    let allocator = usual(&gpu);
    let sound = buffer_desc(ByteSize::new(1000));
    let cases = [
        ("zero", D3D12_RESOURCE_DESC { Width: 0, ..sound }, "D3D12_RESOURCE_DESC"),
        ("height", D3D12_RESOURCE_DESC { Height: 2, ..sound }, "D3D12_RESOURCE_DESC"),
        ("alignment", D3D12_RESOURCE_DESC { Alignment: 3, ..sound }, "D3D12_RESOURCE_DESC"),
        ("flags", D3D12_RESOURCE_DESC { Flags: u32::MAX, ..sound }, "D3D12_RESOURCE_DESC"),
        ("dimension", D3D12_RESOURCE_DESC { Dimension: 9, ..sound }, "D3D12_RESOURCE_DESC"),
    ];
    for (what, desc, named) in cases {
        let place = ResourceAllocationDesc::new(HeapType::Default);
        let error = allocator.create_resource(&place, &desc, COMMON, None).expect_err("must be refused");
        assert!(error.to_string().contains(named), "{what}: {error}");
        assert!(!error.is_out_of_memory(), "{what}: {error}");
    }
    assert_eq!(allocator.stats().used, ByteSize::ZERO);
    allocator.audit().expect("consistent");
}

#[test]
fn a_gpu_upload_heap_needs_the_devices_support() {
    let gpu = open("discrete-2gib");
    let place = ResourceAllocationDesc::new(HeapType::GpuUpload);
    let desc = buffer_desc(ByteSize::new(1000));
    let error =
        usual(&gpu).create_resource(&place, &desc, COMMON, None).expect_err("no CPU access to video memory");
    assert!(error.is_unsupported(), "{error}");
}

#[test]
fn an_explicit_alignment_is_kept() {
    let gpu = any_device();
    let allocator = usual(&gpu);
    let _before = buffer(&allocator, HeapType::Default, 1);
    let desc = D3D12_RESOURCE_DESC { Alignment: 64 * 1024, ..buffer_desc(ByteSize::new(10)) };
    let place = ResourceAllocationDesc::new(HeapType::Default);
    let aligned = allocator
        .create_resource(&place, &desc, COMMON, None)
        .expect("64 KiB is the one alignment that a buffer may ask for");
    assert_eq!(aligned.offset().get() % (64 * 1024), 0);
    assert_eq!(aligned.size(), ByteSize::from_kib(64));
}

#[test]
fn caps_say_what_the_device_says() {
    let caps = |profile| DeviceCaps::query(&open(profile).device).expect("answered");
    let discrete = caps("discrete");
    assert_eq!(discrete.architecture, Architecture::Discrete);
    assert_eq!((discrete.resource_heap_tier, discrete.tight_alignment_tier), (2, 1));
    assert!(discrete.gpu_upload_heaps);
    assert_eq!(discrete.interface_version, 14);
    assert_eq!(discrete.max_resource_size(), ByteSize::from_gib(1024));
    assert_eq!(caps("heap-tier-1").resource_heap_tier, 1);
    assert_eq!(caps("uma").architecture, Architecture::Uma);
    assert_eq!(caps("cache-coherent-uma").architecture, Architecture::CacheCoherentUma);
    let old = caps("old-ddi");
    assert_eq!((old.tight_alignment_tier, old.gpu_upload_heaps), (0, false));
}

#[test]
fn threads_allocate_and_free_at_the_same_time() {
    let gpu = any_device();
    let allocator = usual(&gpu);
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let allocator = &allocator;
            scope.spawn(move || {
                let mut held = Vec::new();
                for i in 0..500_u64 {
                    let size = (i * 7919 + thread * 104_729) % 300_000 + 1;
                    let mut allocation = buffer(allocator, HeapType::Upload, size);
                    let mark = (thread * 1000 + i).to_le_bytes();
                    let len = mark.len().min(usize::try_from(size).expect("small"));
                    allocation.map().expect("mappable").write(0, &mark[..len]).expect("inside");
                    held.push((allocation, mark, len));
                    if i % 3 == 0 {
                        let index = usize::try_from(i * 31).expect("small") % held.len();
                        let (mut allocation, mark, len) = held.swap_remove(index);
                        let mut read = vec![0; len];
                        allocation.map().expect("mappable").read(0, &mut read).expect("inside");
                        assert_eq!(read, mark[..len]);
                    }
                }
            });
        }
    });
    allocator.audit().expect("consistent");
    assert_eq!(allocator.stats().used, ByteSize::ZERO);
}

/// Covers textures of every class on every kind of device: placement, alignment, separation from buffers,
/// and freeing.
#[test]
fn textures_of_every_class_are_placed() {
    let target = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
    let depth = D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
    let sampled = |desc: D3D12_RESOURCE_DESC| D3D12_RESOURCE_DESC {
        SampleDesc: DXGI_SAMPLE_DESC { Count: 4, Quality: 0 },
        Flags: target,
        ..desc
    };
    let clear = ClearValue::Color { format: DXGI_FORMAT_R8G8B8A8_UNORM, color: [0.0; 4] };
    for profile in HostProfile::all() {
        let gpu = Instance::open(profile).expect("a fresh instance");
        let allocator = usual(&gpu);
        let local = ResourceAllocationDesc::new(HeapType::Default);
        let create = |desc: &D3D12_RESOURCE_DESC, clear: Option<ClearValue>| {
            let made = allocator.create_resource(&local, desc, COMMON, clear);
            made.unwrap_or_else(|error| panic!("{}: {desc:?}: {error}", profile.name))
        };
        let small = create(&texture(32, 32), None);
        let large = create(&texture(1024, 1024), None);
        let rendered = create(&D3D12_RESOURCE_DESC { Flags: target, ..texture(256, 256) }, Some(clear));
        let depths = create(
            &D3D12_RESOURCE_DESC { Format: DXGI_FORMAT_D32_FLOAT, Flags: depth, ..texture(64, 64) },
            None,
        );
        let msaa = create(&sampled(texture(512, 512)), Some(clear));
        let small_msaa = create(&sampled(texture(64, 64)), None);
        let mut buffer = buffer(&allocator, HeapType::Default, 256);
        assert_eq!(small.size(), ByteSize::from_kib(4), "{}: a small texture takes 4 KiB", profile.name);
        for other in [&small, &large, &rendered, &depths, &msaa, &small_msaa] {
            assert_ne!(other.heap(), buffer.heap(), "{}: buffers are kept apart", profile.name);
            assert_eq!(other.gpu_virtual_address(), None, "textures show no address");
        }
        // SAFETY: the heap is a live COM object.
        assert_eq!(unsafe { msaa.heap().expect("placed").GetDesc() }.Alignment, 4 << 20);
        let shares = small.heap() == depths.heap();
        assert_eq!(shares, profile.resource_heap_tier >= 2, "{}: tier 1 keeps them apart", profile.name);
        assert!(buffer.map().is_err());
        drop((small, large, rendered, depths, msaa, small_msaa, buffer));
        allocator.release_empty_heaps();
        assert_eq!(allocator.stats().reserved, ByteSize::ZERO);
        allocator.audit().expect("consistent");
    }
}

/// The same checks on a device of unknown properties.
#[test]
fn textures_and_buffers_are_placed_apart_on_any_device() {
    let gpu = any_device();
    let allocator = usual(&gpu);
    let target = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
    let depth = D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
    let samples = DXGI_SAMPLE_DESC { Count: 4, Quality: 0 };
    let descs = [
        texture(32, 32),
        texture(1024, 1024),
        D3D12_RESOURCE_DESC { MipLevels: 0, DepthOrArraySize: 3, ..texture(256, 256) },
        D3D12_RESOURCE_DESC { Format: DXGI_FORMAT_BC1_UNORM, ..texture(256, 256) },
        D3D12_RESOURCE_DESC { Flags: target, ..texture(256, 256) },
        D3D12_RESOURCE_DESC { Format: DXGI_FORMAT_D32_FLOAT, Flags: depth, ..texture(64, 64) },
        D3D12_RESOURCE_DESC { SampleDesc: samples, Flags: target, ..texture(512, 512) },
        D3D12_RESOURCE_DESC { SampleDesc: samples, Flags: target, ..texture(64, 64) },
    ];
    let buffer = buffer(&allocator, HeapType::Default, 256);
    let held = descs.map(|desc| {
        let local = ResourceAllocationDesc::new(HeapType::Default);
        let made = allocator.create_resource(&local, &desc, COMMON, None);
        made.unwrap_or_else(|error| panic!("{desc:?}: {error}"))
    });
    for made in &held {
        assert_ne!(made.heap(), buffer.heap(), "buffers are kept apart");
        assert_eq!(made.gpu_virtual_address(), None, "textures show no address");
        assert_eq!(made.offset().get() % made.alignment().get(), 0);
    }
    for (index, one) in held.iter().enumerate() {
        for other in &held[index + 1..] {
            let [one, other] = [one, other].map(|made| {
                let start = made.offset().get();
                (made.heap(), start, start + made.size().get())
            });
            assert!(one.0 != other.0 || one.2 <= other.1 || other.2 <= one.1, "{one:?} and {other:?}");
        }
    }
    allocator.audit().expect("consistent");
    drop((held, buffer));
    allocator.release_empty_heaps();
    assert_eq!(allocator.stats().reserved, ByteSize::ZERO);
    assert_usage(&gpu, ByteSize::ZERO);
}

#[test]
fn a_texture_in_an_upload_heap_is_refused_and_a_mapping_of_one_is_an_error() {
    let mut gpu = any_device();
    if gpu.lacks("GPU upload heaps", |caps| caps.gpu_upload_heaps) {
        return;
    }
    let allocator = usual(&gpu);
    let state = COMMON;
    let upload = ResourceAllocationDesc::new(HeapType::Upload);
    assert!(allocator.create_resource(&upload, &texture(64, 64), state, None).is_err());
    assert_eq!(allocator.stats().used, ByteSize::ZERO);
    let gpu_upload = ResourceAllocationDesc::new(HeapType::GpuUpload);
    let mut made = allocator.create_resource(&gpu_upload, &texture(64, 64), state, None).expect("placed");
    let error = made.map().expect_err("its layout is opaque");
    assert!(error.is_invalid_argument(), "{error}");
}
