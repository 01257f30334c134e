//! Tests of the allocator's public interface on the embedded runtime.

use crate::gpu::*;

#[test]
#[allow(clippy::needless_borrows_for_generic_args, reason = "what is tested")]
fn descriptions_are_taken_by_value_and_by_reference() {
    let allocator = usual(&any_device());
    let desc = buffer_desc(kib(4));
    let (place, whole) = (Default::default(), ResourceDesc::new(&desc));
    let made = [
        allocator.create(&place, desc),
        allocator.create(&place, &desc),
        allocator.create(&place, whole),
        allocator.create(&place, &whole),
    ];
    assert!(made.iter().all(|made| made.as_ref().is_ok_and(|made| made.size().get() >= 4 * KIB)), "{made:?}");
    assert!(allocator.probe(&place, &desc).is_ok());
}

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
fn caps_say_what_the_device_says() {
    let caps = |profile| DeviceCaps::query(&open(profile).device).expect("answered");
    let discrete = caps("discrete");
    assert_eq!(discrete.architecture, Architecture::Discrete);
    assert_eq!((discrete.resource_heap_tier, discrete.tight_alignment_tier), (2, 1));
    assert!(discrete.gpu_upload_heaps);
    assert_eq!(discrete.interface_version, 14);
    assert_eq!(discrete.max_resource_size(), gib(1024));
    assert_eq!(caps("heap-tier-1").resource_heap_tier, 1);
    assert_eq!(caps("uma").architecture, Architecture::Uma);
    assert_eq!(caps("cache-coherent-uma").architecture, Architecture::CacheCoherentUma);
    let old = caps("old-ddi");
    assert_eq!((old.tight_alignment_tier, old.gpu_upload_heaps), (0, false));
}

/// Places a buffer and textures of every class, whose ranges may not overlap, and frees them. A simulated GPU's sizes
/// and alignments are known.
fn place_textures(gpu: &impl Opened, simulated: Option<&HostProfile>) {
    let allocator = usual(gpu);
    let small = [texture(32, 32), depth_buffer(64, 64)];
    let descs = [
        texture(1024, 1024),
        D3D12_RESOURCE_DESC { MipLevels: 0, DepthOrArraySize: 3, ..texture(256, 256) },
        D3D12_RESOURCE_DESC { Format: DXGI_FORMAT_BC1_UNORM, ..texture(256, 256) },
        target(64, 64, 4),
    ];
    let local = in_default();
    let clear = ClearValue::Color { format: DXGI_FORMAT_R8G8B8A8_UNORM, color: [0.0; 4] };
    let cleared = |desc| {
        let made = allocator.create_resource(&local, &desc, COMMON, Some(clear));
        made.unwrap_or_else(|error| panic!("{desc:?}: {error}"))
    };
    let msaa = cleared(target(512, 512, 4));
    let small = small.map(|desc| create(&allocator, &local, &desc));
    if let Some(profile) = simulated {
        assert_eq!(small[0].size(), kib(4), "a small texture takes 4 KiB");
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
    assert_returned((held, buffer), &allocator, gpu);
}

#[test]
fn textures_and_buffers_are_placed_apart() {
    place_textures(&any_device(), None);
    for profile in HostProfile::all() {
        place_textures(&fresh(profile), Some(profile));
    }
}

#[test]
fn a_texture_in_an_upload_heap_is_refused_and_a_mapping_of_one_is_an_error() {
    let mut gpu = any_device();
    if gpu.lacks("GPU upload heaps", |caps| caps.gpu_upload_heaps) {
        return;
    }
    let allocator = usual(&gpu);
    let upload = in_upload();
    assert!(allocator.create_resource(&upload, &texture(64, 64), COMMON, None).is_err());
    assert_eq!(allocator.stats().used, ByteSize::ZERO);
    let mut made = create(&allocator, &in_gpu_upload(), &texture(64, 64));
    refused(made.map(), Error::is_invalid_argument);
}
