//! Each field of an allocator's description changes something that its user or the device sees.

use std::path::PathBuf;

use crate::faulty_device::{Call, Faults, Seen, faulty_first, inject};
use crate::gpu::*;
use crate::log_lines::warnings;

/// Returns the sizes of the heaps that the allocator creates on the device.
fn heap_sizes(desc: ResourceAllocatorDesc, sizes: &[u64]) -> Vec<u64> {
    let (gpu, faults) = faulty_first(None, E_FAIL);
    let allocator = allocator(&gpu, desc);
    let held: Vec<_> = sizes.iter().map(|&size| local(&allocator, size)).collect();
    let made = faults.heaps().iter().map(|heap| heap.SizeInBytes).collect();
    assert_returned(held, &allocator, &gpu);
    made
}

#[test]
fn resource_heap_tier_one_keeps_buffers_and_textures_apart_on_tier_two() {
    let gpu = open("discrete");
    let local = in_default();
    for (resource_heap_tier, apart) in [(None, false), (Some(2), false), (Some(1), true)] {
        let desc = ResourceAllocatorDesc { resource_heap_tier, ..Default::default() };
        let (allocator, logged) = warnings(|| allocator(&gpu, desc));
        assert_eq!(!logged.is_empty(), apart, "{logged:?}");
        let sampled = create(&allocator, &local, &texture(64, 64));
        let drawn = create(&allocator, &local, &target(64, 64, 1));
        let deny = D3D12_HEAP_FLAG_DENY_RT_DS_TEXTURES;
        assert_eq!(heap_of(&sampled).Flags & deny != 0, apart);
        assert_eq!(sampled.heap() != drawn.heap(), apart);
    }
}

#[test]
fn min_alignment_is_that_of_every_placed_allocation() {
    let gpu = open("discrete");
    let min_alignment = Alignment::new(256).expect("a power of two");
    let allocator = allocator(&gpu, ResourceAllocatorDesc { min_alignment, ..Default::default() });
    let local = in_default();
    for made in [1, 300, 20_000].map(|size| buffer(&allocator, &local, size)) {
        assert_eq!(made.alignment(), min_alignment);
        assert!(made.offset().is_aligned(min_alignment));
    }
    let too_much = Alignment::new(128 * KIB).expect("a power of two");
    let desc = ResourceAllocatorDesc { min_alignment: too_much, ..Default::default() };
    let refused = ResourceAllocator::new(&gpu.device, None, desc);
    invalid(refused, "ResourceAllocatorDesc::min_alignment");
}

#[test]
fn the_suballocation_algorithm_decides_who_shares_a_heap() {
    use SuballocationAlgorithm::{BuddySystem, Dedicated, Default as Sets, Slab};
    let made = |algorithm, sizes: &[u64]| heap_sizes(with_algorithm(algorithm), sizes);
    let sizes = [64 * KIB, 64 * KIB, 192 * KIB];
    // Slab: each allocation size has its own heaps; a full heap is followed by another one.
    assert_eq!(made(Slab, &sizes), [64 * KIB, 64 * KIB, 256 * KIB]);
    // BuddySystem: heaps are 64 KiB by default; a larger allocation has its own heap.
    assert_eq!(made(BuddySystem, &sizes), sizes);
    assert_eq!(made(Dedicated, &sizes), sizes);
    assert_eq!(made(Sets, &[64 * KIB, 60 * KIB]), [4 * MIB]);
    let dedicated = allocator(&any_device(), with_algorithm(Dedicated));
    assert_eq!(placement(&local(&dedicated, 100)), Placement::OwnHeap);
}

#[test]
fn preferred_heap_size_is_the_least_of_shared_heaps() {
    let preferred = |algorithm, preferred_heap_size| ResourceAllocatorDesc {
        preferred_heap_size: Some(preferred_heap_size),
        ..with_algorithm(algorithm)
    };
    let size = mib(5);
    let sizes = [64 * KIB, 64 * KIB, 192 * KIB];
    assert_eq!(heap_sizes(preferred(SuballocationAlgorithm::Default, size), &sizes[..2]), [5 * MIB]);
    assert_eq!(heap_sizes(preferred(Slab, size), &sizes), [8 * MIB, 8 * MIB]);
    assert_eq!(heap_sizes(preferred(BuddySystem, size), &sizes), [8 * MIB]);
    // The preferred size is rounded up to a size that heaps can have.
    let odd = preferred(SuballocationAlgorithm::Default, ByteSize::new(5 * MIB + 1));
    let made = heap_sizes(odd, &[64 * KIB])[0];
    assert!(made >= 5 * MIB + 64 * KIB && made.is_multiple_of(64 * KIB), "{made}");
}

#[test]
fn max_heap_size_bounds_every_way_to_memory() {
    let gpu = any_device();
    for algorithm in ALGORITHMS {
        let desc = ResourceAllocatorDesc { max_heap_size: Some(mib(4)), ..with_algorithm(algorithm) };
        let allocator = allocator(&gpu, desc);
        let held: Vec<_> = [4 * MIB, 3 * MIB, 64 * KIB].map(|size| local(&allocator, size)).into();
        assert!(held.iter().all(|one| heap_of(one).SizeInBytes <= 4 * MIB), "{algorithm}");
        for flags in [NONE, COMMITTED] {
            let error = try_buffer(&allocator, &place(HeapType::Default, flags), 4 * MIB + 1)
                .expect_err("larger than any heap");
            assert!(error.is_out_of_memory(), "{algorithm}: {error}");
            assert!(error.to_string().contains("maximum heap size"), "{algorithm}: {error}");
        }
        assert_returned(held, &allocator, &gpu);
    }
    // Heaps that are made in advance are no larger, either.
    for algorithm in POOL_ALGORITHMS {
        let most = kib(128);
        let flags = ResourceAllocatorFlags::ALLOW_PREFETCH;
        let desc = ResourceAllocatorDesc { max_heap_size: Some(most), ..flagged(flags) };
        let allocator = allocator(&gpu, keeping_empty_heaps(desc));
        let pool = new_pool(&allocator, PoolDesc { algorithm, ..Default::default() });
        let held: Vec<_> = [NONE, ALWAYS_PREFETCH_HEAP]
            .into_iter()
            .flat_map(|flags| [ResourceAllocationDesc { flags, ..in_pool(&pool) }; 300])
            .map(|place| buffer(&allocator, &place, 3000))
            .collect();
        let sizes = allocator.report().heaps.iter().map(|heap| heap.size).max();
        assert!(sizes <= Some(most), "{algorithm}: {sizes:?}");
        drop(held);
    }
    // They hold a whole number of requests.
    let mut sizes = vec![8 * MIB; 14];
    sizes.push(3 * MIB);
    for (most, sizes, last) in [
        (mib(1), &[300 * KIB][..], 960 * KIB),
        (mib(8), &sizes, 6 * MIB),
        (ByteSize::new(100_000), &[3000], 64 * KIB),
    ] {
        let desc = ResourceAllocatorDesc { max_heap_size: Some(most), ..Default::default() };
        assert_eq!(heap_sizes(desc, sizes).pop(), Some(last));
    }
}

/// The rules have tests of their own, beside the engine.
#[test]
fn the_fragmentation_limit_and_the_growth_factor_size_slabs() {
    let slab = |limit, factor| ResourceAllocatorDesc {
        heap_fragmentation_limit: limit,
        heap_growth_factor: factor,
        flags: ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT,
        ..with_algorithm(Slab)
    };
    // Each allocation of 1 KiB occupies a block of 64 KiB, of which 63 KiB are lost.
    for (limit, heap) in [(None, 512), (Some(0.25), 256), (Some(1.0), 64)] {
        assert_eq!(heap_sizes(slab(limit, None), &[KIB]), [heap * KIB], "{limit:?}");
    }
    for (factor, made) in [(None, &[64, 64, 128, 128, 256][..]), (Some(4.0), &[64, 64, 64, 64, 256])] {
        let made: Vec<_> = made.iter().map(|size| size * KIB).collect();
        assert_eq!(heap_sizes(slab(None, factor), &[64 * KIB; 7]), made, "{factor:?}");
    }
}

#[test]
fn pool_algorithms_say_which_empty_heaps_are_kept() {
    let gpu = any_device();
    let kept = |algorithm, empty_heap_policy, preferred: u64| {
        let desc = ResourceAllocatorDesc {
            empty_heap_policy,
            preferred_heap_size: Some(ByteSize::new(preferred)).filter(|size| !size.is_zero()),
            ..with_algorithm(algorithm)
        };
        let allocator = allocator(&gpu, desc);
        // One heap of the preferred size, and a larger one.
        drop(local(&allocator, 64 * KIB));
        drop(local(&allocator, 10 * MIB));
        let kept = allocator.reserved();
        assert_eq!(allocator.stats().free_heap_usage, kept);
        assert_returns_everything(&allocator, &gpu);
        kept.get() / KIB
    };
    use EmptyHeapPolicy::{Default as Usual, FixedPool, SegmentedPool};
    use SuballocationAlgorithm::{BuddySystem, Dedicated, Default as Sets, Slab};
    // 1,000,000 bytes are rounded up to 1 MiB by all algorithms; 5,000,000 bytes to 77 units of 64 KiB.
    assert_eq!(kept(Slab, FixedPool, 1_000_000), 1024);
    assert_eq!(kept(BuddySystem, FixedPool, 1_000_000), 1024);
    assert_eq!(kept(Sets, FixedPool, 1_000_000), 1024);
    assert_eq!(kept(Sets, FixedPool, 5_000_000), 77 * 64);
    assert_eq!(kept(Dedicated, FixedPool, 64 * KIB), 64);
    assert_eq!([Slab, BuddySystem, Sets].map(|of| kept(of, FixedPool, 1_500_000)), [2048, 2048, 23 * 64]);
    for algorithm in [Sets, Slab, BuddySystem, Dedicated] {
        assert_eq!(kept(algorithm, FixedPool, 0), 0, "{algorithm}: as ALWAYS_ON_DEMAND");
    }
    assert_eq!(kept(Slab, SegmentedPool, 0), 64 + 16 * 1024);
    // No more is held than was in use at once.
    assert_eq!(kept(Slab, Usual, 0), 16 * 1024);
    assert_eq!(kept(Dedicated, SegmentedPool, 0), 64 + 10 * 1024);
    assert!(kept(Sets, SegmentedPool, 0) >= 64 + 10 * 1024);
}

#[test]
fn release_size_is_the_least_that_goes_back_when_memory_is_short() {
    for (release_size, left) in [(0, 2), (4, 0), (3, 1)] {
        let (gpu, faults) = faulty_first(Some(Call::CreateHeap), E_OUTOFMEMORY);
        let desc = ResourceAllocatorDesc {
            release_size: mib(release_size),
            empty_heap_policy: SegmentedPool,
            ..with_algorithm(Dedicated)
        };
        let allocator = allocator(&gpu, desc);
        let held: Vec<_> = (0..4).map(|_| local(&allocator, MIB)).collect();
        drop(held);
        assert_eq!(allocator.stats().empty_heap_count, 4);
        faults.fail_nth(0);
        let large = local(&allocator, 2 * MIB);
        assert_eq!(allocator.stats().empty_heap_count, left, "{release_size} MiB");
        drop(large);
    }
}

#[test]
fn extra_required_resource_flags_are_every_resources() {
    let gpu = open("discrete");
    let flag = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
    let desc = ResourceAllocatorDesc { extra_required_resource_flags: flag, ..Default::default() };
    let allocator = allocator(&gpu, desc);
    let made = [
        local(&allocator, 1000),
        buffer(&allocator, &place(HeapType::Default, COMMITTED), 1000),
        create(&allocator, &in_default(), &texture(64, 64)),
        // ALLOW_SUBALLOCATE_WITHIN_RESOURCE requires a resource without flags; this flag counts as one.
        buffer(&allocator, &place(HeapType::GpuUpload, WITHIN), 1000),
    ];
    for one in &made {
        assert_eq!(desc_of(one).Flags & flag, flag, "{one:?}");
        assert_ne!(placement(one), Placement::WithinResource);
    }
}

#[test]
fn limits_are_of_each_heap_type_and_count_heaps_and_committed_resources() {
    let mut gpu = any_device();
    if gpu.lacks("GPU upload heaps", |caps| caps.gpu_upload_heaps) {
        return;
    }
    let limit = |size| Some(mib(size));
    let limits = HeapLimits {
        default: limit(8),
        upload: limit(16),
        readback: limit(32),
        gpu_upload: limit(64),
        share_of_budget: None,
    };
    let allocator = allocator(&gpu, with_limits(limits));
    for (heap_type, limit) in HeapType::ALL.into_iter().zip([8, 16, 32, 64]) {
        for flags in [NONE, COMMITTED] {
            let place = place(heap_type, flags);
            drop(buffer(&allocator, &place, limit * MIB));
            allocator.release_empty_heaps();
            let above = try_buffer(&allocator, &place, limit * MIB + 1);
            let error = fails(above, &format!("limit of {limit}.00 MiB"));
            assert!(error.is_out_of_memory() && error.is_over_budget(), "{heap_type}");
        }
        // Shared heaps and committed resources count together.
        let half = buffer(&allocator, &place(heap_type, COMMITTED), limit * MIB / 2);
        let rest = buffer(&allocator, &place(heap_type, NONE), limit * MIB / 2);
        assert!(try_buffer(&allocator, &place(heap_type, NONE), MIB).is_err(), "{heap_type}");
        drop((half, rest));
    }
    assert_returns_everything(&allocator, &gpu);
    let none = self::allocator(&gpu, limited_to(ByteSize::ZERO));
    refused(try_buffer(&none, &in_default(), 1), Error::is_over_budget);
    drop(buffer(&none, &in_upload(), 1));
}

#[test]
fn what_is_given_back_for_a_limit_is_of_the_heap_type() {
    let gpu = any_device();
    let limits = HeapLimits { upload: Some(mib(8)), ..Default::default() };
    let desc = ResourceAllocatorDesc { limits, ..with_algorithm(Dedicated) };
    let allocator = allocator(&gpu, desc);
    // The DEFAULT heap type holds an empty heap that is large enough, and has no limit.
    drop(local(&allocator, 16 * MIB));
    drop(buffer(&allocator, &in_upload(), 6 * MIB));
    let upload = buffer(&allocator, &in_upload(), 4 * MIB);
    assert_eq!(placement(&upload), Placement::OwnHeap);
    assert_eq!(allocator.stats().free_heap_usage, mib(16), "DEFAULT's was no help");
}

#[test]
fn nodes_are_those_of_every_heap() {
    let gpu = open("discrete");
    let faults = Faults::new(None, E_FAIL);
    faults.set_node_count(2);
    inject(&gpu.device, &faults);
    let nodes = NodeMasks { creation: 2, visible: 3 };
    let desc = ResourceAllocatorDesc { nodes, ..Default::default() };
    let allocator = allocator(&gpu, desc);
    let masks = |properties: D3D12_HEAP_PROPERTIES| (properties.CreationNodeMask, properties.VisibleNodeMask);
    drop(local(&allocator, 1000));
    assert_eq!(faults.heaps().iter().map(|heap| masks(heap.Properties)).collect::<Vec<_>>(), [(2, 3)]);
    // The runtime has one node and refuses the other; the test checks only the arguments of the call.
    let _refused = try_buffer(&allocator, &place(HeapType::Default, COMMITTED), 1000);
    let committed = faults.take_seen().into_iter().find_map(|seen| match seen {
        Seen::Committed { properties, .. } => Some(masks(properties)),
        _ => None,
    });
    assert_eq!(committed, Some((2, 3)));
    let pool = PoolDesc {
        heap_size: Some(mib(1)),
        min_heap_count: 1,
        nodes: Some(NodeMasks { creation: 1, visible: 1 }),
        ..Default::default()
    };
    let _pool = new_pool(&allocator, pool);
    assert_eq!(faults.heaps().iter().map(|heap| masks(heap.Properties)).collect::<Vec<_>>(), [(1, 1)]);
}

#[test]
fn record_options_are_checked() {
    let gpu = any_device();
    let refused = |record_options| {
        let desc = ResourceAllocatorDesc { record_options, ..Default::default() };
        let error = ResourceAllocator::new(&gpu.device, None, desc).expect_err("wrong");
        assert!(error.is_invalid_argument());
        error.to_string()
    };
    let unknown = RecordFlags::from_bits_retain(1 << 30);
    let message = refused(RecordOptions { flags: unknown, ..Default::default() });
    assert_eq!(message, "ResourceAllocatorDesc::record_options: the flag bits 0x40000000 are unknown");
    let message = refused(RecordOptions {
        flags: RecordFlags::ALL,
        trace_file: Some(PathBuf::from("/nowhere/at/all.hws")),
        ..Default::default()
    });
    let begins = "RecordOptions::trace_file: /nowhere/at/all.hws cannot be written: ";
    assert!(message.starts_with(begins), "{message}");
    // Without flags nothing is recorded, so the other record options have no effect.
    let record_options = RecordOptions {
        scope: RecordScope::PerInstance,
        use_detailed_timing_events: true,
        trace_file: Some(PathBuf::from("/nowhere/at/all")),
        ..Default::default()
    };
    let desc = ResourceAllocatorDesc { record_options: record_options.clone(), ..Default::default() };
    let allocator = ResourceAllocator::new(&gpu.device, None, desc).expect("sound");
    assert_eq!(allocator.desc().record_options, record_options);
}
