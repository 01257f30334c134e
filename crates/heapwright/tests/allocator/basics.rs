//! Tests of the allocator's public interface on the embedded runtime.

use crate::gpu::*;
use heapwright::d3d12::*;
use heapwright::*;
use heapwright_runtime::{HostProfile, Instance};

#[test]
fn small_buffers_share_a_heap_at_the_devices_alignment() {
    for (profile, step) in [("discrete", 256), ("cache-coherent-uma", 64), ("uma", 8), ("old-ddi", 64 * 1024)]
    {
        let (_gpu, allocator) = with_allocator(open(profile));
        assert_eq!(allocator.caps().buffer_alignment.get(), step, "{profile}");
        let [first, second] = [1, 1].map(|size| local(&allocator, size));
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
    let (gpu, allocator) = with_allocator(any_device());
    let held: Vec<_> = (1..100).map(|i| local(&allocator, i * 10_000)).collect();
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
    let (gpu, allocator) = with_allocator(open("discrete"));
    let mut upload = buffer(&allocator, &HeapType::Upload.into_place(), 100);
    drop(allocator);
    upload.map().expect("upload heaps map").write(0, &[7; 100]).expect("inside");
    drop(upload);
    assert_usage(&gpu, ByteSize::ZERO);
}

#[test]
fn a_very_large_buffer_has_its_heap_to_itself() {
    let (_gpu, allocator) = with_allocator(any_device());
    let [large, small] = [200_000_000, 100_000].map(|size| local(&allocator, size));
    assert_ne!(large.heap(), small.heap());
    assert_eq!(heap_of(&large).SizeInBytes, 200_000_000_u64.next_multiple_of(64 * 1024));
    assert_eq!(large.offset().get(), 0);
}

#[test]
fn each_heap_type_has_heaps_of_its_own_in_its_segment_group() {
    let (gpu, allocator) = with_allocator(open("discrete"));
    let held = HeapType::ALL.map(|heap_type| buffer(&allocator, &heap_type.into_place(), 1000));
    for (heap_type, allocation) in HeapType::ALL.into_iter().zip(&held) {
        assert_eq!(properties_of(allocation).0.Type, heap_type.to_d3d12());
        assert_eq!(allocation.heap_type(), heap_type);
    }
    // Heaps that the CPU can map are smaller, because their cost grows faster with their size.
    assert_eq!(usage_of(&gpu, SegmentGroup::Local), ByteSize::from_mib(2 * 4), "two types");
    assert_eq!(usage_of(&gpu, SegmentGroup::NonLocal), ByteSize::from_kib(2 * 256), "two types");
    assert_eq!(allocator.stats().heap_count, 4);
}

#[test]
fn bytes_written_through_a_mapping_stay() {
    let (gpu, allocator) = with_allocator(any_device());
    for heap_type in gpu.heap_types().into_iter().filter(|of| of.is_cpu_accessible()) {
        let mut first = buffer(&allocator, &heap_type.into_place(), 1000);
        let mut second = buffer(&allocator, &heap_type.into_place(), 1000);
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
fn an_explicit_alignment_is_kept() {
    let (_gpu, allocator) = with_allocator(any_device());
    let _before = local(&allocator, 1);
    let desc = D3D12_RESOURCE_DESC { Alignment: 64 * 1024, ..buffer_desc(ByteSize::new(10)) };
    let place = HeapType::Default.into_place();
    let aligned = create(&allocator, &place, &desc);
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

/// Places a buffer and textures of every class, whose ranges may not overlap, and frees them. A simulated GPU's sizes and
/// alignments are known.
fn place_textures(gpu: &impl Opened, simulated: Option<&HostProfile>) {
    let allocator = usual(gpu);
    let depth = D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
    let small = [
        texture(32, 32),
        D3D12_RESOURCE_DESC { Format: DXGI_FORMAT_D32_FLOAT, Flags: depth, ..texture(64, 64) },
    ];
    let descs = [
        texture(1024, 1024),
        D3D12_RESOURCE_DESC { MipLevels: 0, DepthOrArraySize: 3, ..texture(256, 256) },
        D3D12_RESOURCE_DESC { Format: DXGI_FORMAT_BC1_UNORM, ..texture(256, 256) },
        target(64, 64, 4),
    ];
    let local = HeapType::Default.into_place();
    let clear = ClearValue::Color { format: DXGI_FORMAT_R8G8B8A8_UNORM, color: [0.0; 4] };
    let cleared = |desc| {
        let made = allocator.create_resource(&local, &desc, COMMON, Some(clear));
        made.unwrap_or_else(|error| panic!("{desc:?}: {error}"))
    };
    let msaa = cleared(target(512, 512, 4));
    let small = small.map(|desc| create(&allocator, &local, &desc));
    if let Some(profile) = simulated {
        assert_eq!(small[0].size(), ByteSize::from_kib(4), "a small texture takes 4 KiB");
        assert_eq!(heap_of(&msaa).Alignment, 4 << 20);
        let shares = small[0].heap() == small[1].heap();
        assert_eq!(shares, profile.resource_heap_tier >= 2, "tier 1 keeps them apart");
    }
    let mut held = Vec::from(descs.map(|desc| create(&allocator, &local, &desc)));
    held.extend(small);
    held.extend([msaa, cleared(target(256, 256, 1))]);
    let mut buffer = crate::gpu::local(&allocator, 256);
    assert!(buffer.map().is_err());
    for (index, made) in held.iter().enumerate() {
        assert_ne!(made.heap(), buffer.heap(), "buffers are kept apart");
        assert_eq!(made.gpu_virtual_address(), None, "textures show no address");
        let range =
            |made: &ResourceAllocation| (made.offset().get(), made.offset().get() + made.size().get());
        let (start, end) = range(made);
        assert_eq!(start % made.alignment().get(), 0);
        for other in held[index + 1..].iter().filter(|other| other.heap() == made.heap()) {
            assert!(end <= range(other).0 || range(other).1 <= start, "{made:?} and {other:?}");
        }
    }
    drop((held, buffer));
    assert_returns_everything(&allocator, gpu);
}

#[test]
fn textures_and_buffers_are_placed_apart() {
    place_textures(&any_device(), None);
    for profile in HostProfile::all() {
        place_textures(&Instance::open(profile).expect("a fresh instance"), Some(profile));
    }
}

#[test]
fn a_texture_in_an_upload_heap_is_refused_and_a_mapping_of_one_is_an_error() {
    let mut gpu = any_device();
    if gpu.lacks("GPU upload heaps", |caps| caps.gpu_upload_heaps) {
        return;
    }
    let allocator = usual(&gpu);
    let upload = HeapType::Upload.into_place();
    assert!(allocator.create_resource(&upload, &texture(64, 64), COMMON, None).is_err());
    assert_eq!(allocator.stats().used, ByteSize::ZERO);
    let mut made = create(&allocator, &HeapType::GpuUpload.into_place(), &texture(64, 64));
    refused(made.map(), Error::is_invalid_argument);
}
