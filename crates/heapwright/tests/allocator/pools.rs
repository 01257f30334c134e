//! Each field of a custom pool's description changes something that its user or the device sees.

use std::sync::Barrier;

use heapwright_runtime::aliasing::AliasingTracking;

use crate::copying_queue;
use crate::faulty_device::{Call, Faults, Seen, Session, faulty_first, inject, inject_first};
use crate::gpu::*;

fn in_kib(pool: &Pool) -> u64 {
    pool.totals().reserved.get() / KIB
}

#[test]
fn the_heap_type_is_the_pools() {
    let (_gpu, allocator) = with_allocator(open("discrete"));
    for heap_type in HeapType::ALL {
        let pool = new_pool(&allocator, PoolDesc { heap_type, ..Default::default() });
        // The initial state alone would select DEFAULT.
        let made = buffer(&allocator, &in_pool(&pool), 1000);
        assert_eq!(made.heap_type(), heap_type);
        assert_eq!(properties_of(&made).0.Type, heap_type.to_d3d12());
        let other = if heap_type == HeapType::Upload { HeapType::Default } else { HeapType::Upload };
        let place = ResourceAllocationDesc { heap_type: Some(other.into()), ..in_pool(&pool) };
        invalid(try_buffer(&allocator, &place, 1000), "ResourceAllocationDesc::heap_type");
    }
    let old = open("old-ddi");
    let made = usual(&old).create_pool(PoolDesc { heap_type: HeapType::GpuUpload, ..Default::default() });
    refused(made, Error::is_unsupported);
}

#[test]
fn a_pool_of_default_heaps_stays_what_it_is_with_unified_memory() {
    let (_gpu, allocator) = with_unified_memory();
    let pool = new_pool(&allocator, PoolDesc::default());
    let mut made = buffer(&allocator, &in_pool(&pool), 1000);
    assert_eq!(properties_of(&made).0.Type, D3D12_HEAP_TYPE_DEFAULT);
    assert!(made.needs_copy(), "the CPU does not reach it");
    invalid(made.map(), "heap_type");
}

#[test]
fn resources_say_what_the_heaps_are_for() {
    let samples = target(256, 256, 4);
    for profile in ["discrete", "heap-tier-1"] {
        let (gpu, allocator) = with_allocator(open(profile));
        let tier_2 = allocator.caps().resource_heap_tier >= 2;
        let tried = [buffer_of(1000), texture(64, 64), target(64, 64, 1), samples];
        for (resources, multisampled, holds) in [
            (ResourceKind::Buffers, false, [true, false, false, false]),
            (ResourceKind::Textures, false, [false, true, false, false]),
            (ResourceKind::RenderTargets, false, [false, false, true, false]),
            (ResourceKind::RenderTargets, true, [false, false, true, true]),
            (ResourceKind::Any, false, [true, true, true, false]),
            (ResourceKind::Any, true, [true, true, true, true]),
        ] {
            let pool = allocator.create_pool(PoolDesc { resources, multisampled, ..Default::default() });
            if resources == ResourceKind::Any && !tier_2 {
                assert!(fails(pool, "PoolDesc::resources").is_unsupported());
                continue;
            }
            let pool = pool.expect("sound");
            for (desc, holds) in tried.iter().zip(holds) {
                let made = allocator.create_resource(&in_pool(&pool), desc, COMMON, None);
                assert_eq!(made.is_ok(), holds, "{profile} {resources:?} {desc:?}: {made:?}");
                match made {
                    Ok(made) => {
                        let flags = match resources {
                            ResourceKind::Any => D3D12_HEAP_FLAG_NONE,
                            ResourceKind::Buffers => D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
                            ResourceKind::Textures => D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES,
                            ResourceKind::RenderTargets => D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES,
                        };
                        assert_eq!(heap_of(&made).Flags, flags);
                        let alignment = if multisampled { 4 * MIB } else { 64 * KIB };
                        assert_eq!(heap_of(&made).Alignment, alignment);
                    }
                    Err(error) => {
                        assert!(error.is_invalid_argument(), "{error}");
                        let is_known = !tier_2 || desc.SampleDesc.Count > 1;
                        let names_pool = error.to_string().starts_with("ResourceAllocationDesc::pool");
                        assert!(names_pool || !is_known, "{error}");
                    }
                }
            }
            assert_returned(pool, &allocator, &gpu);
        }
    }
    let gpu = open("discrete");
    let made = usual(&gpu).create_pool(PoolDesc { multisampled: true, ..Default::default() });
    invalid(made, "PoolDesc::multisampled");
}

/// The runtime reports what breaks a rule of aliasing, and overwrites contents that become undefined.
#[test]
fn a_buffer_and_a_small_texture_of_a_pool_can_be_used_together() {
    let aliasing = Some(AliasingTracking::ADVANCED);
    for (profile, flags) in
        pairs(HostProfile::all(), [NO_FLAGS, ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT])
    {
        let gpu = Instance::open_with(profile, DeviceOptions { aliasing, ..Default::default() });
        let gpu = gpu.expect("a fresh instance");
        let allocator = with_flags(&gpu, flags);
        if allocator.caps().resource_heap_tier < 2 {
            continue;
        }
        let tight = match allocator.caps().tight_alignment_tier {
            0 => D3D12_RESOURCE_FLAG_NONE,
            _ => D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT,
        };
        let pool = new_pool(&allocator, PoolDesc { resources: ResourceKind::Any, ..Default::default() });
        let small = buffer_of(1000);
        let descs = [
            small,
            texture(32, 32),
            D3D12_RESOURCE_DESC { Flags: tight, ..small },
            D3D12_RESOURCE_DESC { Flags: tight, ..texture(32, 32) },
        ];
        let mut live = Vec::new();
        for round in 0..4 {
            live.extend(descs.map(|desc| create(&allocator, &in_pool(&pool), &desc)));
            // What is freed is used again for what is of the other kind.
            live.swap_remove(round);
        }
        let mut queue = copying_queue::Gpu::new(&gpu.device);
        (0..).zip(&live).for_each(|(key, one)| queue.fill(one.resource(), key));
        queue.run();
        (0..).zip(&live).for_each(|(key, one)| queue.expect(one.resource(), key));
        queue.finish();
    }
}

#[test]
fn extra_heap_flags_are_the_heaps() {
    let (_gpu, allocator) = with_allocator(any_device());
    let flag = D3D12_HEAP_FLAG_ALLOW_WRITE_WATCH;
    let pool =
        new_pool(&allocator, PoolDesc { extra_heap_flags: D3D12_HEAP_FLAG_SHARED, ..Default::default() });
    let place =
        ResourceAllocationDesc { extra_required_heap_flags: D3D12_HEAP_FLAG_SHARED, ..in_pool(&pool) };
    let made = buffer(&allocator, &place, 1000);
    assert_eq!(heap_of(&made).Flags & D3D12_HEAP_FLAG_SHARED, D3D12_HEAP_FLAG_SHARED);
    assert_eq!(placement(&made), Placement::SharedHeap, "no reason to commit it");
    let place = ResourceAllocationDesc { extra_required_heap_flags: flag, ..in_pool(&pool) };
    invalid(try_buffer(&allocator, &place, 1000), "ResourceAllocationDesc::extra_required_heap_flags");
    for flags in [D3D12_HEAP_FLAG_DENY_BUFFERS, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS, u32::MAX] {
        let pool = PoolDesc { extra_heap_flags: flags, ..Default::default() };
        invalid(allocator.create_pool(pool), "PoolDesc::extra_heap_flags");
    }
}

/// Priorities are known without the device; flags are refused when the first heap is created.
#[test]
fn what_the_heaps_of_a_pool_cannot_have_is_refused_with_its_field() {
    let (gpu, allocator) = with_allocator(open("discrete"));
    for priority in [0, 1, 7, 0x1234_0000, -1] {
        let pool = PoolDesc { residency_priority: Some(priority), ..Default::default() };
        invalid(allocator.create_pool(pool), "PoolDesc::residency_priority: ");
    }
    let lowest = D3D12_RESIDENCY_PRIORITY_LOW + 0xffff;
    let _pool = new_pool(&allocator, PoolDesc { residency_priority: Some(lowest), ..Default::default() });
    for (heap_type, extra_heap_flags) in
        [(HeapType::Default, 1 << 30), (HeapType::Upload, D3D12_HEAP_FLAG_SHARED)]
    {
        let pool = PoolDesc { heap_type, extra_heap_flags, ..Default::default() };
        let full = PoolDesc { heap_size: Some(mib(1)), min_heap_count: 1, ..pool.clone() };
        invalid(allocator.create_pool(full), "PoolDesc::extra_heap_flags: ");
        let pool = new_pool(&allocator, pool);
        invalid(try_buffer(&allocator, &in_pool(&pool), 1000), "PoolDesc::extra_heap_flags: ");
    }
    assert_returns_everything(&allocator, &gpu);
}

#[test]
fn heap_size_and_counts_are_bounds() {
    let (gpu, allocator) = with_allocator(any_device());
    let pool =
        new_pool(&allocator, PoolDesc { min_heap_count: 2, max_heap_count: Some(3), ..pool_of(mib(2)) });
    assert_eq!((pool.totals().heap_count, in_kib(&pool)), (2, 4 * 1024), "made with the pool");
    assert_usage(&gpu, mib(4));
    let fill = |count| (0..count).map(|_| buffer(&allocator, &in_pool(&pool), MIB)).collect::<Vec<_>>();
    let held: Vec<ResourceAllocation> = fill(6);
    assert_eq!(pool.totals().heap_count, 3);
    assert!(held.iter().all(|one| heap_of(one).SizeInBytes == 2 * MIB));
    assert!(fails(try_buffer(&allocator, &in_pool(&pool), MIB), "max_heap_count of 3").is_out_of_memory());
    // An allocation larger than the pool's heaps has its own heap, if the pool may have another one.
    refused(try_buffer(&allocator, &in_pool(&pool), 3 * MIB), Error::is_out_of_memory);
    drop(held);
    allocator.release_empty_heaps();
    assert_eq!(pool.totals().heap_count, 2, "the least is kept, whoever wants it");
    assert_eq!(pool.release_empty_heaps(), ByteSize::ZERO);
    let held = fill(6);
    assert_returned((pool, held), &allocator, &gpu);
}

#[test]
fn heaps_of_another_size_do_not_count_for_the_minimum() {
    let (gpu, allocator) = with_allocator(any_device());
    let pool = new_pool(&allocator, PoolDesc { min_heap_count: 2, ..pool_of(mib(2)) });
    let place = ResourceAllocationDesc { flags: OWN, ..in_pool(&pool) };
    for size in [64 * KIB, 5 * MIB] {
        let own = buffer(&allocator, &place, size);
        let released_beside_it = pool.release_empty_heaps();
        assert_eq!((released_beside_it, pool.totals().heap_count), (ByteSize::ZERO, 3));
        drop(own);
        pool.release_empty_heaps();
        assert_eq!((pool.totals().heap_count, in_kib(&pool)), (2, 4 * 1024));
    }
    assert_returned(pool, &allocator, &gpu);
}

#[test]
fn the_minimum_of_a_full_pool_makes_no_way_for_a_heap_of_another_size() {
    let (_gpu, allocator) = with_allocator(any_device());
    let pool =
        new_pool(&allocator, PoolDesc { min_heap_count: 2, max_heap_count: Some(3), ..pool_of(mib(2)) });
    let place = ResourceAllocationDesc { flags: OWN, ..in_pool(&pool) };
    let own = buffer(&allocator, &place, 5 * MIB);
    let larger = buffer_desc(mib(6));
    refused(allocator.probe(&place, ResourceDesc::new(&larger)), Error::is_out_of_memory);
    refused(try_buffer(&allocator, &place, 6 * MIB), Error::is_out_of_memory);
    assert_eq!((pool.totals().heap_count, pool.totals().empty_heap_count), (3, 2));
    drop(own);
    assert_eq!(pool.totals().empty_heap_count, 3);
    // Its empty heap makes way, which a probe does not count.
    refused(allocator.probe(&place, ResourceDesc::new(&larger)), Error::is_out_of_memory);
    let _larger = buffer(&allocator, &place, 6 * MIB);
    assert_eq!(in_kib(&pool), 10 * 1024);
}

#[test]
fn threads_that_release_heaps_at_the_same_time_leave_the_minimum() {
    let (_gpu, allocator) = with_allocator(open("discrete"));
    let pool = new_pool(&allocator, PoolDesc { min_heap_count: 2, ..pool_of(mib(1)) });
    let barrier = Barrier::new(3);
    std::thread::scope(|threads| {
        let work = || {
            for _ in 0..500 {
                let held = buffer(&allocator, &in_pool(&pool), MIB);
                barrier.wait();
                drop(held);
                pool.release_empty_heaps();
                barrier.wait();
                assert_eq!(pool.totals().heap_count, 2);
                barrier.wait();
            }
        };
        (0..3).for_each(|_| drop(threads.spawn(work)));
    });
}

#[test]
fn a_pool_begins_with_all_its_heaps_or_not_at_all() {
    let (gpu, faults) = faulty_first(Some(Call::CreateHeap), E_OUTOFMEMORY);
    let allocator = allocator(&gpu, Default::default());
    faults.fail_nth(2);
    let pool = PoolDesc { min_heap_count: 3, ..pool_of(mib(1)) };
    refused(allocator.create_pool(pool), Error::is_out_of_memory);
    assert_eq!((allocator.stats().reserved, usage(&gpu)), (ByteSize::ZERO, ByteSize::ZERO));
}

#[test]
fn a_heap_that_cannot_be_created_does_not_count() {
    let (gpu, faults) = faulty_first(Some(Call::CreateHeap), E_OUTOFMEMORY);
    let allocator = allocator(&gpu, Default::default());
    let pool = PoolDesc { heap_size: Some(mib(1)), min_heap_count: 1, ..Default::default() };
    let pool = new_pool(&allocator, PoolDesc { max_heap_count: Some(2), ..pool });
    let held = buffer(&allocator, &in_pool(&pool), MIB);
    faults.fail_all();
    refused(try_buffer(&allocator, &in_pool(&pool), MIB), Error::is_out_of_memory);
    faults.disarm();
    drop([held, buffer(&allocator, &in_pool(&pool), MIB)]);
    pool.release_empty_heaps();
    assert_eq!(pool.totals().heap_count, 1);
}

#[test]
fn contradicting_pools_are_refused_with_their_field() {
    let (gpu, allocator) = with_allocator(any_device());
    let sound = PoolDesc::default;
    let cases = [
        (PoolDesc { min_heap_count: 1, ..sound() }, "PoolDesc::min_heap_count"),
        (
            PoolDesc { heap_size: Some(mib(1)), min_heap_count: 3, max_heap_count: Some(2), ..sound() },
            "PoolDesc::max_heap_count",
        ),
        (PoolDesc { heap_size: Some(ByteSize::new(100_000)), ..sound() }, "PoolDesc::heap_size"),
        (PoolDesc { heap_size: Some(ByteSize::ZERO), ..sound() }, "PoolDesc::heap_size"),
        (PoolDesc { max_heap_count: Some(0), ..sound() }, "PoolDesc::max_heap_count"),
        (PoolDesc { heap_size: Some(ByteSize::new(1 << 63)), ..sound() }, "PoolDesc::heap_size"),
        (PoolDesc { heap_size: Some(mib(3)), algorithm: BuddySystem, ..sound() }, "PoolDesc::heap_size"),
        (PoolDesc { heap_size: Some(mib(1)), algorithm: Dedicated, ..sound() }, "PoolDesc::heap_size"),
        (
            PoolDesc { min_alignment: Alignment::new(8 << 20).expect("a power of two"), ..sound() },
            "PoolDesc::min_alignment",
        ),
        (
            PoolDesc { nodes: Some(NodeMasks { creation: 2, visible: 2 }), ..sound() },
            "D3D12_HEAP_PROPERTIES::CreationNodeMask",
        ),
    ];
    for (desc, field) in cases {
        invalid(allocator.create_pool(desc), field);
    }
    assert_usage(&gpu, ByteSize::ZERO);
}

#[test]
fn min_alignment_is_every_allocations() {
    let (_gpu, allocator) = with_allocator(any_device());
    let alignment = Alignment::new(4096).expect("a power of two");
    let pool = new_pool(&allocator, PoolDesc { min_alignment: alignment, ..Default::default() });
    let least = alignment.max(allocator.caps().buffer_alignment);
    let made = [1, 1, 5000].map(|size| buffer(&allocator, &in_pool(&pool), size));
    assert!(made.iter().all(|one| one.offset().is_aligned(alignment) && one.alignment() == least));
    assert_ne!(made[0].offset(), made[1].offset());
}

#[test]
fn residency_priority_is_set_where_the_device_has_it() {
    let gpu = open("discrete");
    let faults = Faults::new(None, E_FAIL);
    let desc = || PoolDesc {
        residency_priority: Some(D3D12_RESIDENCY_PRIORITY_HIGH),
        min_heap_count: 2,
        ..pool_of(mib(1))
    };
    let priorities = |device: &ID3D12Device, desc: PoolDesc| {
        let allocator =
            ResourceAllocator::new(device, Some(&gpu.adapter), Default::default()).expect("sound");
        let pool = new_pool(&allocator, desc);
        // A committed resource has it, too.
        drop(buffer(&allocator, &ResourceAllocationDesc { flags: COMMITTED, ..in_pool(&pool) }, 100));
        let seen = faults.take_seen();
        seen.iter().filter(|seen| matches!(seen, Seen::Priority(D3D12_RESIDENCY_PRIORITY_HIGH))).count()
    };
    let newest = inject(&gpu.device, &faults);
    assert_eq!(priorities(&newest, desc()), 3);
    assert_eq!(priorities(&newest, PoolDesc { residency_priority: None, ..desc() }), 0);
    assert_eq!(priorities(&inject_first(&gpu.device, &faults), desc()), 0, "it does not know of any");
    let refusing = Faults::new(Some(Call::SetResidencyPriority), E_FAIL);
    refusing.fail_all();
    assert_eq!(priorities(&inject(&gpu.device, &refusing), desc()), 0, "and the pool is there");
}

#[test]
fn a_session_is_every_heaps() {
    let gpu = open("discrete");
    let faults = Faults::new(None, E_FAIL);
    let desc =
        || PoolDesc { protected_session: Some(Session::create()), min_heap_count: 1, ..pool_of(mib(1)) };
    inject(&gpu.device, &faults);
    let allocator = allocator(&gpu, Default::default());
    let pool = new_pool(&allocator, desc());
    let seen = faults.take_seen();
    assert!(seen.iter().any(|seen| matches!(seen, Seen::Heap { in_session: true, .. })), "{seen:?}");
    assert_eq!(placement(&buffer(&allocator, &in_pool(&pool), 100)), Placement::SharedHeap);
    drop(buffer(&allocator, &ResourceAllocationDesc { flags: COMMITTED, ..in_pool(&pool) }, 100));
    let seen = faults.take_seen();
    assert!(seen.iter().any(|seen| matches!(seen, Seen::Committed { in_session: true, .. })), "{seen:?}");
    drop(local(&allocator, 100));
    assert!(faults.take_seen().iter().any(|seen| matches!(seen, Seen::Heap { in_session: false, .. })));
    let old = inject_first(&gpu.device, &faults);
    let old = ResourceAllocator::new(&old, Some(&gpu.adapter), Default::default()).expect("sound");
    assert!(fails(old.create_pool(desc()), "protected_session").is_unsupported());
}

#[test]
fn the_algorithm_is_the_pools() {
    let (_gpu, allocator) = with_allocator(open("discrete"));
    let offsets = |algorithm, heap_size, sizes: &[u64]| {
        let heap_size = Some(ByteSize::new(heap_size)).filter(|size| !size.is_zero());
        let pool = new_pool(&allocator, PoolDesc { algorithm, heap_size, ..Default::default() });
        let held: Vec<_> = sizes.iter().map(|&size| buffer(&allocator, &in_pool(&pool), size)).collect();
        let offsets: Vec<_> = held.iter().map(|one| one.offset().get()).collect();
        let heaps = pool.totals().heap_count;
        drop(held);
        pool.release_empty_heaps();
        assert_eq!(pool.totals().reserved, ByteSize::ZERO, "{algorithm}");
        (offsets, heaps)
    };
    let sizes = [256, 1024, 256];
    assert_eq!(offsets(Linear, MIB, &sizes), (vec![0, 256, 1280], 1));
    assert_eq!(offsets(BuddySystem, MIB, &sizes), (vec![0, 1024, 256], 1));
    assert_eq!(offsets(Dedicated, 0, &sizes), (vec![0, 0, 0], 3));
    assert_eq!(offsets(Slab, MIB, &sizes), (vec![0, 0, 256], 2));
    assert_eq!(offsets(SuballocationAlgorithm::Default, 4 * MIB, &[3 * MIB, MIB]), (vec![0, 3 * MIB], 1));
    // Without a heap size, linear heaps have their default size.
    let pool = new_pool(&allocator, PoolDesc { algorithm: Linear, ..Default::default() });
    drop(buffer(&allocator, &in_pool(&pool), 100));
    assert_eq!(heap_of(&buffer(&allocator, &in_pool(&pool), 100)).SizeInBytes, 64 * MIB);
    // An allocation larger than a buddy heap has its own heap.
    let pool = new_pool(&allocator, PoolDesc { algorithm: BuddySystem, ..pool_of(mib(1)) });
    assert_eq!(placement(&buffer(&allocator, &in_pool(&pool), 3 * MIB)), Placement::OwnHeap);
}

#[test]
fn a_pool_never_falls_back_to_committed() {
    let (gpu, faults) = faulty_first(Some(Call::CreateHeap), E_OUTOFMEMORY);
    let allocator = allocator(&gpu, Default::default());
    let pool = new_pool(&allocator, PoolDesc::default());
    faults.fail_all();
    refused(try_buffer(&allocator, &in_pool(&pool), 100), Error::is_out_of_memory);
    faults.disarm();
    // Pools are exempt from this flag of the allocator.
    let committing = with_flags(&gpu, ResourceAllocatorFlags::ALWAYS_COMMITTED);
    let pool = new_pool(&committing, PoolDesc::default());
    assert_eq!(placement(&buffer(&committing, &in_pool(&pool), 100)), Placement::SharedHeap);
}

#[test]
fn a_full_pool_has_committed_resources_as_well() {
    let allocator = allocator(&any_device(), keeping_empty_heaps(Default::default()));
    let pool = new_pool(&allocator, PoolDesc { max_heap_count: Some(1), ..pool_of(mib(1)) });
    let mut full = Some(buffer(&allocator, &in_pool(&pool), MIB));
    for flags in [COMMITTED, PREFER_COMMITTED] {
        let place = ResourceAllocationDesc { flags, ..in_pool(&pool) };
        allocator.probe(&place, buffer_of(MIB)).expect("it takes none of the pool's heaps");
        assert_eq!(placement(&buffer(&allocator, &place, MIB)), Placement::Committed);
        // An empty heap does not make way for it, either.
        drop(full.take());
        assert_eq!(pool.totals().heap_count, 1);
    }
}

#[test]
fn committed_resources_are_like_the_pools_heaps_and_not_counted_with_them() {
    for (profile, resources) in [("discrete", ResourceKind::Any), ("heap-tier-1", ResourceKind::Textures)] {
        let (gpu, allocator) = with_allocator(open(profile));
        let pool = new_pool(
            &allocator,
            PoolDesc {
                custom_heap: Some((D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE, D3D12_MEMORY_POOL_L1)),
                resources,
                extra_heap_flags: D3D12_HEAP_FLAG_SHARED,
                max_heap_count: Some(1),
                ..pool_of(mib(1))
            },
        );
        let committed = ResourceAllocationDesc { flags: COMMITTED, ..in_pool(&pool) };
        drop(create(&allocator, &committed, &target(256, 256, 4)));
        for flags in [COMMITTED, PREFER_COMMITTED] {
            let place = ResourceAllocationDesc { flags, ..in_pool(&pool) };
            let [one, other] = [0, 1].map(|_| create(&allocator, &place, &texture(256, 256)));
            assert_eq!([placement(&one), placement(&other)], [Placement::Committed; 2]);
            let (properties, heap_flags) = properties_of(&one);
            assert_eq!(properties.Type, D3D12_HEAP_TYPE_CUSTOM);
            assert_eq!(properties.MemoryPoolPreference, D3D12_MEMORY_POOL_L1);
            assert_eq!(heap_flags & D3D12_HEAP_FLAG_SHARED, D3D12_HEAP_FLAG_SHARED);
            assert_eq!(pool.totals(), MemoryTotals::default());
            assert_eq!(allocator.stats().committed_count, 2);
        }
        assert_returned(pool, &allocator, &gpu);
    }
}

#[test]
fn a_pool_belongs_to_one_allocator() {
    let gpu = any_device();
    let [first, second] = [usual(&gpu), usual(&gpu)];
    let pool = new_pool(&first, PoolDesc { name: "theirs".into(), ..Default::default() });
    let error = fails(try_buffer(&second, &in_pool(&pool), 100), "ResourceAllocationDesc::pool");
    assert!(error.to_string().contains("theirs"), "{error}");
    let nested = nested_in(&first, Default::default());
    assert!(try_buffer(&nested, &in_pool(&pool), 100).is_err(), "nor of a nested one");
    // The allocator may be dropped before the pool.
    drop((first, nested));
    assert_eq!(pool.release_empty_heaps(), ByteSize::ZERO);
}

#[test]
fn a_pool_may_be_of_custom_heaps() {
    let (_gpu, allocator) = with_allocator(any_device());
    let custom = |page, memory| PoolDesc {
        name: "custom".into(),
        custom_heap: Some((page, memory)),
        ..Default::default()
    };
    let pool = new_pool(&allocator, custom(D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE, D3D12_MEMORY_POOL_L0));
    assert_eq!(pool.heap_type(), HeapType::Upload, "the one most like it");
    let desc = ResourceDesc::in_state(&buffer_desc(kib(4)), D3D12_RESOURCE_STATE_COPY_DEST);
    let mut buffer = allocator.create(&in_pool(&pool), desc).expect("custom heaps take every state");
    let (properties, _) = properties_of(&buffer);
    assert_eq!(properties.Type, D3D12_HEAP_TYPE_CUSTOM);
    buffer.map().expect("the CPU reaches it").write(0, b"bytes").expect("inside");
    fails(allocator.create_pool(custom(D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, D3D12_MEMORY_POOL_L1)), "L1");
}

/// A heap that the pool needs does not count, even if it is the first that is found.
#[test]
fn so_many_bytes_are_released_beside_the_heaps_that_a_pool_needs() {
    let allocator = allocator(&any_device(), keeping_empty_heaps(Default::default()));
    let pool = new_pool(&allocator, PoolDesc { min_heap_count: 1, ..pool_of(mib(4)) });
    let own = ResourceAllocationDesc { flags: OWN, ..in_pool(&pool) };
    drop([(); 2].map(|()| buffer(&allocator, &own, 3 * MIB)));
    assert_eq!(pool.totals().reserved, mib(10));
    assert_eq!(allocator.release_resource_heaps(mib(5)), mib(6));
    assert_eq!(pool.totals().reserved, mib(4));
}
