//! A request that is refused, or served by a later placement, releases nothing in vain.

use heapwright::report::HeapTypeName;
use heapwright_runtime::{Instance, SegmentGroup as Group};

use crate::faulty_device::{Call, faulty_first};
use crate::gpu::*;

/// Creates an allocator that keeps what becomes empty.
fn keeping(gpu: &Instance, desc: ResourceAllocatorDesc) -> ResourceAllocator {
    allocator(gpu, keeping_empty_heaps(desc))
}

fn all_types(limit: u64) -> ResourceAllocatorDesc {
    let limit = Some(ByteSize::new(limit));
    let limits = HeapLimits {
        default: limit,
        upload: limit,
        readback: limit,
        gpu_upload: limit,
        ..Default::default()
    };
    with_limits(limits)
}

fn share(share_of_budget: f64) -> ResourceAllocatorDesc {
    with_limits(HeapLimits { share_of_budget: Some(share_of_budget), ..Default::default() })
}

/// Leaves an empty heap of each kind, and an unused backing buffer of the heap types that have them.
fn leave_caches(allocator: &ResourceAllocator, pool: &Pool) {
    let mut live = Vec::new();
    for heap_type in HeapType::ALL {
        live.push(buffer(allocator, &place(heap_type, NONE), MIB));
        live.push(buffer(allocator, &place(heap_type, WITHIN), 1000));
    }
    live.push(create(allocator, &in_default(), &texture(512, 512)));
    live.push(buffer(allocator, &in_pool(pool), MIB));
    live.push(local(allocator, 1000));
}

/// Returns the type and the size of each heap. What a refused request returns to a heap stays in it.
fn heaps_of(allocators: &[&ResourceAllocator]) -> Vec<(HeapTypeName, ByteSize)> {
    let heaps = allocators.iter().flat_map(|allocator| allocator.report().heaps);
    let mut heaps: Vec<_> = heaps.map(|heap| (heap.heap_type, heap.size)).collect();
    heaps.sort();
    heaps
}

/// Every request that cannot succeed, whatever it lacks, leaves all heaps.
#[test]
fn a_refused_request_releases_nothing() {
    let group_budget = |gpu: &Instance, size| {
        set_local_budget(gpu, mib(size));
        gpu.set_budget(Group::NonLocal, mib(size));
    };
    let obstacles: [(ResourceAllocatorDesc, ResourceAllocationFlags); 4] = [
        (all_types(64 * MIB), NONE),
        (share(0.5), NONE),
        (ResourceAllocatorDesc::default(), WITHIN_BUDGET),
        (flagged(ResourceAllocatorFlags::ALWAYS_IN_BUDGET), NONE),
    ];
    for ((number, (desc, extra)), profile) in pairs(obstacles.iter().enumerate(), ["discrete", "uma"]) {
        let gpu = open(profile);
        let allocator = keeping(&gpu, desc.clone());
        let nested = allocator.create_nested(keeping_empty_heaps(ResourceAllocatorDesc::default()));
        let nested = nested.expect("sound");
        nested.on_time(Default::default());
        let pool = new_pool(&allocator, PoolDesc::default());
        leave_caches(&allocator, &pool);
        drop(local(&nested, MIB));
        let live = HeapType::ALL.map(|heap_type| buffer(&allocator, &place(heap_type, OWN), 8 * MIB));
        group_budget(&gpu, if number == 0 { 4096 } else { 40 });
        let before = heaps_of(&[&allocator, &nested]);
        // More than all limits; and more than what is left, with everything that is empty.
        for size in [200 * MIB, 57 * MIB] {
            for flags in [NONE, OWN, COMMITTED, PREFER_COMMITTED, NEVER_FALLBACK] {
                for heap_type in [
                    HeapType::Default.into(),
                    HeapType::Upload.into(),
                    HeapTypePreference::GPU_UPLOAD_OR_UPLOAD,
                    HeapTypePreference::first(HeapType::Default).or(HeapType::Upload).or(HeapType::Readback),
                ] {
                    let place = ResourceAllocationDesc {
                        flags: flags | *extra,
                        ..ResourceAllocationDesc::new(heap_type)
                    };
                    let what = format!("{number}, {profile}, {size}, {flags:?}, {heap_type}");
                    let probed = allocator.probe(&place, buffer_of(size));
                    assert!(probed.is_err(), "{what}: {probed:?}");
                    let error = try_buffer(&allocator, &place, size).expect_err("it cannot fit");
                    assert!(error.is_over_budget(), "{what}: {error}");
                    assert!(heaps_of(&[&allocator, &nested]) == before, "{what}: {error}");
                }
            }
            let pooled = ResourceAllocationDesc { flags: *extra, ..in_pool(&pool) };
            try_buffer(&allocator, &pooled, size).expect_err("it cannot fit");
            let held = place(HeapType::Upload, NEVER_ALLOCATE_HEAP);
            try_buffer(&allocator, &held, size).expect_err("no heap is so large");
            if extra.is_empty() {
                let desc = PoolDesc { min_heap_count: 4, ..pool_of(mib(19)) };
                allocator.create_pool(desc).expect_err("the third heap cannot fit");
            }
            assert!(heaps_of(&[&allocator, &nested]) == before, "{number}, {profile}, {size}");
        }
        drop(live);
        allocator.audit().expect("consistent");
    }
}

#[test]
fn a_preferred_committed_resource_leaves_the_heap_that_serves_it_instead() {
    for (desc, extra) in [
        (share(0.5), NONE),
        (ResourceAllocatorDesc::default(), WITHIN_BUDGET),
        (flagged(ResourceAllocatorFlags::ALWAYS_IN_BUDGET), NONE),
    ] {
        let gpu = open("discrete");
        let allocator = keeping(&gpu, desc);
        let live: Vec<_> =
            (0..2).map(|_| buffer(&allocator, &place(HeapType::Default, OWN), 64 * MIB)).collect();
        drop((0..4).map(|_| local(&allocator, 16 * MIB)).collect::<Vec<_>>());
        let held = allocator.reserved();
        set_local_budget(&gpu, mib(100));
        let mut made = Vec::new();
        for flags in [PREFER_COMMITTED, NONE, PREFER_COMMITTED] {
            let place = place(HeapType::Default, flags | extra);
            let probed = allocator.probe(&place, buffer_desc(mib(16))).expect("held");
            let predicted = (probed.decision.placement, probed.memory);
            assert_eq!(predicted, (Placement::SharedHeap, PredictedMemory::Held));
            made.push(buffer(&allocator, &place, 16 * MIB));
            assert_eq!(allocator.reserved(), held);
        }
        assert_returned((live, made), &allocator, &gpu);
    }
}

#[test]
fn a_preferred_heap_type_at_its_limit_leaves_the_heaps_of_the_next() {
    for extra in [NONE, WITHIN, OWN] {
        let gpu = open("discrete");
        let limits = HeapLimits { gpu_upload: Some(mib(8)), ..Default::default() };
        let allocator = keeping(&gpu, with_limits(limits));
        let live = buffer(&allocator, &place(HeapType::GpuUpload, OWN), 8 * MIB);
        drop(buffer(&allocator, &place(HeapType::Upload, extra), 1000));
        let created = allocator.stats().heaps_created;
        for _ in 0..20 {
            let place = ResourceAllocationDesc {
                flags: extra,
                ..ResourceAllocationDesc::new(HeapTypePreference::GPU_UPLOAD_OR_UPLOAD)
            };
            let made = buffer(&allocator, &place, 1000);
            assert_eq!(made.heap_type(), HeapType::Upload);
            allocator.end_frame();
        }
        assert_eq!(allocator.stats().heaps_created, created, "{extra:?}");
        assert_returned(live, &allocator, &gpu);
    }
}

/// Requests beyond a limit once a frame cost no heap of another type.
#[test]
fn requests_beyond_a_limit_leave_the_heaps_of_other_types() {
    for (flags, policy) in [NONE, COMMITTED, PREFER_COMMITTED, OWN]
        .into_iter()
        .flat_map(|flags| [EmptyHeapPolicy::Default, FewestHitches].map(|policy| (flags, policy)))
    {
        let gpu = open("discrete");
        let desc = ResourceAllocatorDesc { empty_heap_policy: policy, ..limited_to(mib(64)) };
        let allocator = allocator(&gpu, desc);
        let mut created = Vec::new();
        for _ in 0..20 {
            let frame: Vec<_> = (0..10).map(|_| buffer(&allocator, &in_upload(), MIB)).collect();
            drop(frame);
            try_buffer(&allocator, &place(HeapType::Default, flags), 65 * MIB).expect_err("beyond the limit");
            allocator.end_frame();
            created.push(allocator.stats().heaps_created);
        }
        assert_eq!(created[1], created[19], "{flags:?}, {policy:?}: {created:?}");
    }
}

/// The memory of a segment group is not what the device lacks in another one.
#[test]
fn what_the_device_lacks_releases_nothing_of_another_segment_group() {
    let gpu = open("discrete-2gib");
    let allocator = keeping(&gpu, ResourceAllocatorDesc::default());
    let upload = buffer(&allocator, &in_upload(), MIB);
    let of_local = local(&allocator, 512 * MIB);
    let live = as_many_as_fit(&allocator, &place(HeapType::Default, OWN), 64 * MIB);
    drop(upload);
    let held = held_in(&allocator, HeapType::Upload);
    for flags in [NONE, OWN, COMMITTED, PREFER_COMMITTED] {
        let made = try_buffer(&allocator, &place(HeapType::Default, flags), 128 * MIB);
        assert!(!refused(made, Error::is_out_of_memory).is_over_budget());
    }
    assert_eq!(held_in(&allocator, HeapType::Upload), held);
    // What is empty of the group makes room.
    drop(of_local);
    let made = buffer(&allocator, &place(HeapType::Default, COMMITTED), 400 * MIB);
    assert_eq!(held_in(&allocator, HeapType::Upload), held);
    assert_returned((live, made), &allocator, &gpu);
}

/// As does a heap that another placement uses.
#[test]
fn a_placement_that_the_device_refuses_leaves_the_memory_of_the_next() {
    let (gpu, faults) = faulty_first(Some(Call::CreateCommittedResource), E_OUTOFMEMORY);
    let allocator = keeping(&gpu, ResourceAllocatorDesc::default());
    drop(local(&allocator, 16 * MIB));
    let held = allocator.reserved();
    faults.fail_all();
    for flags in [PREFER_COMMITTED, PREFER_COMMITTED | OWN] {
        let made = buffer(&allocator, &place(HeapType::Default, flags), 16 * MIB);
        assert_ne!(placement(&made), Placement::Committed);
        assert_eq!((allocator.reserved(), allocator.stats().heaps_created), (held, 1), "{flags:?}");
    }
}

/// With unified memory, a part of a buffer counts towards the limit of the heap type that was requested.
#[test]
fn a_part_beyond_its_limit_creates_no_backing_buffer() {
    let gpu = open("cache-coherent-uma");
    let limits =
        HeapLimits { upload: Some(ByteSize::new(600)), default: Some(kib(256)), ..Default::default() };
    let flags = ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY;
    let allocator = keeping(&gpu, ResourceAllocatorDesc { flags, limits, ..Default::default() });
    drop(create(&allocator, &in_default(), &texture(128, 128)));
    let before = heaps_of(&[&allocator]);
    let part = place(HeapType::Upload, WITHIN);
    assert!(allocator.probe(&part, buffer_of(1000)).is_err());
    let error = refused(try_buffer(&allocator, &part, 1000), Error::is_over_budget);
    assert!(heaps_of(&[&allocator]) == before, "{error}");
}

/// What is released counts towards what is missing: unused memory too, and no more than that.
#[test]
fn only_what_counts_is_released() {
    let gpu = open("discrete");
    let allocator = keeping(&gpu, all_types(16 * MIB));
    let live = buffer(&allocator, &place(HeapType::Upload, OWN), 10 * MIB);
    drop((0..4).map(|_| buffer(&allocator, &place(HeapType::Upload, WITHIN), 1000)).collect::<Vec<_>>());
    drop(buffer(&allocator, &place(HeapType::Readback, WITHIN), 1000));
    drop(local(&allocator, MIB));
    let others = || [HeapType::Readback, HeapType::Default].map(|heap_type| held_in(&allocator, heap_type));
    let before = others();
    assert!(held_in(&allocator, HeapType::Upload) > mib(10), "a backing buffer is kept");
    let made = buffer(&allocator, &place(HeapType::Upload, COMMITTED), 6 * MIB);
    assert_eq!(held_in(&allocator, HeapType::Upload), mib(16));
    assert_eq!(others(), before);
    assert_returned((live, made), &allocator, &gpu);
}
