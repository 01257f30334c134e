//! Each flag of an allocation changes something that its user or the device sees.

use heapwright_runtime::SegmentGroup;

use crate::faulty_device::{Call, faulty_first};
use crate::gpu::*;
use crate::log_lines::warnings;

#[test]
fn never_allocate_heap_uses_what_is_held_or_nothing() {
    let (gpu, allocator) = on(any_device(), keeping_empty_heaps(Default::default()));
    let never = place(HeapType::Default, NEVER_ALLOCATE_HEAP);
    let error = fails(try_buffer(&allocator, &never, 1000), "creating a heap is not allowed");
    // As in the GPGMM document; GPGMM's code returns E_FAIL.
    assert_eq!((error.hresult(), error.is_out_of_memory()), (E_OUTOFMEMORY, true));
    assert_usage(&gpu, ByteSize::ZERO);
    let first = local(&allocator, 1000);
    let second = buffer(&allocator, &never, 1000);
    assert_eq!(first.heap(), second.heap());
    refused(try_buffer(&allocator, &never, 100 * MIB), Error::is_out_of_memory);
    assert_eq!(allocator.stats().heaps_created, 1);

    // An empty heap that is held serves the request as well.
    drop((first, second));
    drop(buffer(&allocator, &never, 1000));
    for other in [COMMITTED, PREFER_COMMITTED, ALWAYS_PREFETCH_HEAP] {
        let both = place(HeapType::Default, NEVER_ALLOCATE_HEAP | other);
        invalid(try_buffer(&allocator, &both, 1000), "ResourceAllocationDesc::flags");
    }
    let committing = with_flags(&gpu, ResourceAllocatorFlags::ALWAYS_COMMITTED);
    refused(try_buffer(&committing, &never, 1000), Error::is_out_of_memory);
}

#[test]
fn never_suballocate_heap_shares_with_nobody() {
    let (_gpu, allocator) = with_allocator(any_device());
    let own = place(HeapType::Default, OWN);
    let [first, second] = [1000, 1000].map(|size| buffer(&allocator, &own, size));
    let shared = local(&allocator, 1000);
    assert!(first.heap() != second.heap() && first.heap() != shared.heap());
    assert_eq!(heap_of(&first).SizeInBytes, 64 * KIB);
    let info = first.info();
    assert_eq!(info.decision, decided(Placement::OwnHeap, PlacementReason::AllocationFlag));
    assert_eq!(info.size, kib(64), "GPGMM: that of the heap");
    // Later allocations do not share its heap, either.
    let others: Vec<_> = (0..100).map(|_| local(&allocator, 200)).collect();
    assert!(others.iter().all(|other| other.heap() != first.heap()));
}

#[test]
fn always_prefetch_heap_does_nothing_unless_the_allocator_allows_it() {
    let gpu = any_device();
    let flags = OWN | ALWAYS_PREFETCH_HEAP;
    let own = OWN;
    let allowed = allocator(&gpu, keeping_empty_heaps(flagged(ResourceAllocatorFlags::ALLOW_PREFETCH)));
    let eliminated = |allocator: &ResourceAllocator| allocator.stats().prefetched_heap_misses_eliminated;
    for (allocator, flags, expected) in [(&allowed, flags, 1), (&usual(&gpu), flags, 0)] {
        let held = [1, 2].map(|_| {
            let held = buffer(allocator, &place(HeapType::Upload, flags), MIB);
            if expected > 0 {
                wait_for_empty_heap(allocator);
            }
            held
        });
        assert_eq!(eliminated(allocator), expected);
        drop(held);
    }
    // A shared heap that is half full triggers no prefetch, unless the flag asks for one.
    let sizes = ResourceAllocatorDesc {
        flags: ResourceAllocatorFlags::ALLOW_PREFETCH,
        preferred_heap_size: Some(mib(16)),
        ..Default::default()
    };
    let with_room = allocator(&gpu, keeping_empty_heaps(sizes));
    let first = local(&with_room, MIB);
    drop(buffer(&with_room, &place(HeapType::Default, own), MIB));
    let second = buffer(&with_room, &place(HeapType::Default, ALWAYS_PREFETCH_HEAP), MIB);
    assert_eq!(first.heap(), second.heap());
    with_room.audit().expect("consistent, and no heap is being made");
    assert_eq!(with_room.stats().heap_count, 3);
    let filled: Vec<_> = (0..17).map(|_| local(&with_room, MIB)).collect();
    assert_eq!(eliminated(&with_room), 1, "for the first of those that it serves");
    drop(filled);
    let released = with_room.release_empty_heaps();
    assert!(released >= mib(16), "{released}: one was made in advance");
}

#[test]
fn always_cache_size_keeps_what_slabs_know_of_a_size() {
    let gpu = any_device();
    for (flags, hits) in [(ResourceAllocationFlags::ALWAYS_CACHE_SIZE, 1), (NONE, 0)] {
        let allocator = allocator(&gpu, with_algorithm(Slab));
        let before = allocator.stats();
        // Allocates twice, with no other live allocation of that size in between.
        drop(buffer(&allocator, &place(HeapType::Default, flags), 3 * MIB));
        drop(buffer(&allocator, &place(HeapType::Default, flags), 3 * MIB));
        let stats = allocator.stats();
        assert_eq!(stats.size_cache_hits - before.size_cache_hits, hits, "{flags:?}");
        assert!(stats.size_cache_misses > before.size_cache_misses, "{stats:?}");
    }
}

#[test]
fn never_fallback_fails_where_committed_would_be_the_last_resort() {
    let (gpu, faults) = faulty_first(Some(Call::CreateHeap), E_OUTOFMEMORY);
    let allocator = allocator(&gpu, Default::default());
    faults.fail_all();
    let fallen = local(&allocator, 1000);
    let decision = fallen.info().decision;
    assert_eq!(decision, decided(Placement::Committed, PlacementReason::OutOfMemory));
    let report = allocator.report();
    let counted: Vec<_> = report.decisions.iter().map(|of| (of.reason.clone(), of.count)).collect();
    assert_eq!(counted, [(decision.to_string(), 1)]);
    let never = place(HeapType::Default, NEVER_FALLBACK);
    let error = refused(try_buffer(&allocator, &never, 1000), Error::is_out_of_memory);
    assert_eq!(error.hresult(), E_FAIL, "document GPGMM");
    // The flag does not forbid a placement that another flag demands.
    let demanded = NEVER_FALLBACK | COMMITTED;
    assert_eq!(placement(&buffer(&allocator, &place(HeapType::Default, demanded), 10)), Placement::Committed);
    faults.disarm();
    assert_eq!(placement(&buffer(&allocator, &never, 1000)), Placement::SharedHeap);
}

#[test]
fn never_resident_shares_no_heap() {
    let (_gpu, allocator) = with_allocator(any_device());
    let managed = local(&allocator, 1000);
    let left_alone = buffer(&allocator, &place(HeapType::Default, NEVER_RESIDENT), 1000);
    assert_ne!(managed.heap(), left_alone.heap());
    assert_eq!(placement(&left_alone), Placement::OwnHeap);
}

#[test]
fn always_warn_on_alignment_mismatch_tells_of_bytes_nobody_asked_for() {
    let (_gpu, allocator) = with_allocator(open("discrete"));
    let flag = ResourceAllocationFlags::ALWAYS_WARN_ON_ALIGNMENT_MISMATCH;
    let bytes = |size| buffer_of(size);
    let mips = |desc| D3D12_RESOURCE_DESC { MipLevels: 0, ..desc };
    let (upload, default) = (HeapType::Upload, HeapType::Default);
    // Each case: the resource, and the size logged if it takes more than that.
    let cases = [
        (upload, WITHIN, bytes(100), Some("asked=100 B")),
        (upload, WITHIN, bytes(1), Some("asked=1 B")),
        (upload, WITHIN, bytes(128), None),
        (upload, WITHIN, bytes(512), None),
        (default, NONE, bytes(1000), Some("asked=1000 B")),
        (default, NONE, bytes(1024), None),
        (default, NONE, texture(16, 16), Some("asked=1.00 KiB")),
        (default, NONE, mips(texture(128, 128)), Some("asked=85.33 KiB")),
        (default, NONE, texture(128, 128), None),
        (default, OWN, bytes(1000), Some("asked=1000 B")),
        (default, OWN, bytes(65_536), None),
        (default, OWN, texture(128, 128), None),
        (default, COMMITTED, bytes(1024), Some("asked=1.00 KiB")),
        (default, COMMITTED, bytes(4096), None),
        (default, COMMITTED, texture(16, 16), Some("asked=1.00 KiB")),
    ];
    for (heap_type, how, desc, expected) in cases {
        for (flag, expected) in [(flag, expected), (NONE, None)] {
            let place = place(heap_type, how | flag);
            let create = || drop(create(&allocator, &place, &desc));
            let ((), logged) = warnings(create);
            let told: Vec<_> =
                logged.iter().filter(|line| line.contains("larger than what was asked for")).collect();
            assert_eq!(told.len(), usize::from(expected.is_some()), "{how:?} {flag:?} {desc:?}: {logged:?}");
            if let Some(expected) = expected {
                assert!(told[0].contains(expected), "{how:?} {desc:?}: {logged:?}");
            }
        }
    }
}

#[test]
fn within_budget_binds_one_allocation() {
    let (gpu, allocator) = with_allocator(open("discrete"));
    set_local_budget(&gpu, kib(64));
    let within = place(HeapType::Default, WITHIN_BUDGET);
    refused(try_buffer(&allocator, &within, 70 * KIB), Error::is_over_budget);
    let over = local(&allocator, 70 * KIB);
    // Memory that is already held is not charged to the budget.
    let held = buffer(&allocator, &within, 50 * KIB);
    assert_eq!(over.heap(), held.heap(), "there is room behind it");
    let blind = ResourceAllocator::new(&gpu.device, None, Default::default()).expect("sound");
    invalid(try_buffer(&blind, &within, 1000), "ResourceAllocationDesc::flags");
}

/// Some adapters report zeros for a segment group that they do not count. A group that they count has a budget of zero
/// then, whether it was counted before or with the first heap.
#[test]
fn a_budget_of_zero_permits_nothing() {
    use residency::{ResidencyManagerDesc, ResidencyManagerFlags};
    let always = flagged(ResourceAllocatorFlags::ALWAYS_IN_BUDGET);
    let share = with_limits(HeapLimits { share_of_budget: Some(0.5), ..Default::default() });
    let bound = ResidencyManagerDesc { flags: ResidencyManagerFlags::ALWAYS_IN_BUDGET, ..Default::default() };
    let within = WITHIN_BUDGET;
    for (number, (desc, flag, manager)) in [
        (ResourceAllocatorDesc::default(), within, None),
        (always.clone(), NONE, None),
        (share.clone(), NONE, None),
        (ResourceAllocatorDesc::default(), within, Some(ResidencyManagerDesc::default())),
        (always, NONE, Some(ResidencyManagerDesc::default())),
        (share, NONE, Some(ResidencyManagerDesc::default())),
        (ResourceAllocatorDesc::default(), NONE, Some(bound)),
    ]
    .into_iter()
    .enumerate()
    {
        for is_known in [true, false] {
            let gpu = open("discrete");
            let shrink = || {
                set_local_budget(&gpu, ByteSize::ZERO);
                gpu.set_budget(SegmentGroup::NonLocal, ByteSize::ZERO);
            };
            if !is_known {
                shrink();
            }
            let made = manager.clone().map(|manager| managed(&gpu, desc.clone(), manager));
            let (allocator, manager) = match made {
                None => (allocator(&gpu, desc.clone()), None),
                Some((allocator, manager)) => (allocator, Some(manager)),
            };
            allocator.on_time(Default::default());
            shrink();
            if let Some(manager) = &manager {
                let _budget = manager.query_video_memory_info(heapwright::SegmentGroup::Local);
            }
            for (heap_type, placement) in pairs([HeapType::Upload, HeapType::Default], [NONE, OWN, COMMITTED])
            {
                for _ in 0..2 {
                    let place = place(heap_type, placement | flag);
                    let made = try_buffer(&allocator, &place, 1000);
                    let what = format!("{number}, {is_known}, {heap_type}, {placement:?}");
                    let error = made.err().unwrap_or_else(|| panic!("{what}: it was created"));
                    assert!(error.is_over_budget(), "{what}: {error}");
                    assert_eq!(usage(&gpu), ByteSize::ZERO, "{what}");
                }
            }
        }
    }
}

#[test]
fn upper_address_takes_the_other_end_of_a_linear_heap() {
    let (_gpu, allocator) = with_allocator(any_device());
    let linear = |max_heap_count| {
        let desc = PoolDesc {
            algorithm: Linear,
            max_heap_count: Some(max_heap_count).filter(|&count| count > 0),
            ..pool_of(mib(1))
        };
        new_pool(&allocator, desc)
    };
    let one = linear(1);
    let flags = ResourceAllocationFlags::UPPER_ADDRESS;
    let lower = in_pool(&one);
    let upper = ResourceAllocationDesc { flags, ..lower };
    let [low, high] = [lower, upper].map(|place| buffer(&allocator, &place, 64 * KIB));
    assert_eq!((low.offset().get(), high.offset().get()), (0, MIB - 64 * KIB));
    assert_eq!(low.heap(), high.heap());
    refused(try_buffer(&allocator, &lower, MIB), Error::is_out_of_memory);

    let many = linear(0);
    let buffers = new_pool(&allocator, PoolDesc::default());
    for pool in [&many, &buffers] {
        let upper = ResourceAllocationDesc { flags, pool: Some(pool), ..Default::default() };
        invalid(try_buffer(&allocator, &upper, 64 * KIB), "ResourceAllocationDesc::flags");
    }
    let made = try_buffer(&allocator, &place(HeapType::Default, flags), 64 * KIB);
    invalid(made, "ResourceAllocationDesc::flags");
}
