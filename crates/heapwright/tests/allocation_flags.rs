//! Each flag of an allocation changes something that its user or the device sees.
#![allow(missing_docs, reason = "a test")]

mod faulty_device;
mod gpu;
mod log_lines;

use faulty_device::{Call, Faults, FaultyDevice};
use gpu::*;
use heapwright::d3d12::*;
use heapwright::{
    Alignment, ByteSize, HeapType, Placement, PoolDesc, Reason, ResourceAllocationDesc,
    ResourceAllocationFlags, ResourceAllocator, ResourceAllocatorDesc, ResourceAllocatorFlags,
    SuballocationAlgorithm, buffer_desc,
};
use heapwright_runtime::SegmentGroup;
use log_lines::warnings;

fn usual(gpu: &impl Opened) -> ResourceAllocator {
    with_flags(gpu, ResourceAllocatorFlags::empty())
}

#[test]
fn never_allocate_heap_uses_what_is_held_or_nothing() {
    let gpu = any_device();
    let allocator = usual(&gpu);
    let never = place(HeapType::Default, ResourceAllocationFlags::NEVER_ALLOCATE_HEAP);
    let error = try_buffer(&allocator, &never, 1000).expect_err("nothing is held");
    // As in the GPGMM document; GPGMM's code returns E_FAIL.
    assert_eq!(error.hresult(), E_OUTOFMEMORY);
    assert!(
        error.is_out_of_memory() && error.to_string().contains("creating a heap is not allowed"),
        "{error}"
    );
    assert_usage(&gpu, ByteSize::ZERO);
    let first = local(&allocator, 1000);
    let second = buffer(&allocator, &never, 1000);
    assert_eq!(first.heap(), second.heap());
    let too_much = try_buffer(&allocator, &never, 100 * MIB).expect_err("more than is held");
    assert!(too_much.is_out_of_memory(), "{too_much}");
    assert_eq!(allocator.stats().heaps_created, 1);

    // An empty heap that is held serves the request as well.
    drop((first, second));
    drop(buffer(&allocator, &never, 1000));
    for other in [
        ResourceAllocationFlags::ALWAYS_COMMITTED,
        ResourceAllocationFlags::PREFER_COMMITTED,
        ResourceAllocationFlags::ALWAYS_PREFETCH_HEAP,
    ] {
        let both = place(HeapType::Default, ResourceAllocationFlags::NEVER_ALLOCATE_HEAP | other);
        let error = try_buffer(&allocator, &both, 1000).expect_err("they contradict each other");
        assert!(error.to_string().starts_with("ResourceAllocationDesc::flags"), "{error}");
    }
    let committing = with_flags(&gpu, ResourceAllocatorFlags::ALWAYS_COMMITTED);
    assert!(try_buffer(&committing, &never, 1000).expect_err("no heap").is_out_of_memory());
}

#[test]
fn never_allocate_heap_holds_within_a_resource_too() {
    let gpu = any_device();
    let allocator = usual(&gpu);
    let within = ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE;
    let never = place(HeapType::Upload, within | ResourceAllocationFlags::NEVER_ALLOCATE_HEAP);
    assert!(try_buffer(&allocator, &never, 100).expect_err("nothing is held").is_out_of_memory());
    let first = buffer(&allocator, &place(HeapType::Upload, within), 100);
    let second = buffer(&allocator, &never, 100);
    assert_eq!(first.resource(), second.resource());
}

#[test]
fn never_suballocate_heap_shares_with_nobody() {
    let gpu = any_device();
    let allocator = usual(&gpu);
    let own = place(HeapType::Default, ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP);
    let [first, second] = [1000, 1000].map(|size| buffer(&allocator, &own, size));
    let shared = local(&allocator, 1000);
    assert!(first.heap() != second.heap() && first.heap() != shared.heap());
    assert_eq!(heap_of(&first).SizeInBytes, 64 * KIB);
    let info = first.info();
    assert_eq!(info.decision.placement, Placement::OwnHeap);
    assert_eq!(info.size, ByteSize::from_kib(64), "GPGMM: that of the heap");
    let decision = first.info().decision;
    assert_eq!((decision.placement, decision.reason), (Placement::OwnHeap, Reason::AllocationFlag));
    // Later allocations do not share its heap, either.
    let others: Vec<_> = (0..100).map(|_| local(&allocator, 200)).collect();
    assert!(others.iter().all(|other| other.heap() != first.heap()));
}

#[test]
fn always_prefetch_heap_does_nothing_unless_the_allocator_allows_it() {
    let gpu = any_device();
    let flags =
        ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP | ResourceAllocationFlags::ALWAYS_PREFETCH_HEAP;
    let own = ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP;
    let allowed = with_flags(&gpu, ResourceAllocatorFlags::ALLOW_PREFETCH);
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
        preferred_heap_size: Some(ByteSize::from_mib(16)),
        ..Default::default()
    };
    let with_room = allocator(&gpu, sizes);
    let first = local(&with_room, MIB);
    drop(buffer(&with_room, &place(HeapType::Default, own), MIB));
    let second =
        buffer(&with_room, &place(HeapType::Default, ResourceAllocationFlags::ALWAYS_PREFETCH_HEAP), MIB);
    assert_eq!(first.heap(), second.heap());
    with_room.audit().expect("consistent, and no heap is being made");
    assert_eq!(with_room.stats().heap_count, 3);
    let released = with_room.release_empty_heaps();
    assert!(released >= ByteSize::from_mib(16), "{released}: one was made in advance");
}

#[test]
fn always_cache_size_keeps_what_slabs_know_of_a_size() {
    let gpu = any_device();
    for (flags, hits) in
        [(ResourceAllocationFlags::ALWAYS_CACHE_SIZE, 1), (ResourceAllocationFlags::empty(), 0)]
    {
        let desc = ResourceAllocatorDesc {
            suballocation_algorithm: SuballocationAlgorithm::Slab,
            ..Default::default()
        };
        let allocator = allocator(&gpu, desc);
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
    let gpu = open("discrete");
    let faults = Faults::new(Some(Call::CreateHeap), E_OUTOFMEMORY);
    let device = FaultyDevice::wrap(&gpu.device, &faults);
    let allocator = ResourceAllocator::new(&device, Some(&gpu.adapter), Default::default()).expect("sound");
    faults.fail_all();
    let fallen = local(&allocator, 1000);
    let decision = fallen.info().decision;
    assert_eq!((decision.placement, decision.reason), (Placement::Committed, Reason::OutOfMemory));
    assert_eq!(allocator.decisions(), [(decision, 1)]);
    let never = place(HeapType::Default, ResourceAllocationFlags::NEVER_FALLBACK);
    let error = try_buffer(&allocator, &never, 1000).expect_err("no heap to be had");
    assert_eq!(error.hresult(), E_FAIL, "document GPGMM");
    assert!(error.is_out_of_memory(), "{error}");
    // The flag does not forbid a placement that another flag demands.
    let demanded = ResourceAllocationFlags::NEVER_FALLBACK | ResourceAllocationFlags::ALWAYS_COMMITTED;
    assert_eq!(
        buffer(&allocator, &place(HeapType::Default, demanded), 10).info().decision.placement,
        Placement::Committed
    );
    faults.disarm();
    assert_eq!(buffer(&allocator, &never, 1000).info().decision.placement, Placement::SharedHeap);
}

#[test]
fn never_resident_shares_no_heap_and_says_so() {
    let gpu = any_device();
    let allocator = usual(&gpu);
    let managed = local(&allocator, 1000);
    let left_alone =
        buffer(&allocator, &place(HeapType::Default, ResourceAllocationFlags::NEVER_RESIDENT), 1000);
    assert!(left_alone.is_never_resident() && !managed.is_never_resident());
    assert_ne!(managed.heap(), left_alone.heap());
    assert_eq!(left_alone.info().decision.placement, Placement::OwnHeap);
}

#[test]
fn always_warn_on_alignment_mismatch_tells_of_bytes_nobody_asked_for() {
    let gpu = open("discrete");
    let allocator = usual(&gpu);
    let warn = place(HeapType::Default, ResourceAllocationFlags::ALWAYS_WARN_ON_ALIGNMENT_MISMATCH);
    let ((), logged) = warnings(|| drop(buffer(&allocator, &warn, 1000)));
    let expected = logged.iter().find(|line| line.contains("larger than what was asked for"));
    assert!(expected.is_some_and(|line| line.contains("asked=1000 B")), "{logged:?}");
    for (place, size) in [(warn, 1024), (HeapType::Default.into_place(), 1000)] {
        let ((), logged) = warnings(|| drop(buffer(&allocator, &place, size)));
        assert_eq!(logged, Vec::<String>::new(), "{size}");
    }
}

/// Covers parts of buffers, textures, own heaps and committed resources.
#[test]
fn always_warn_on_alignment_mismatch_tells_of_every_kind() {
    let gpu = open("discrete");
    let allocator = usual(&gpu);
    let flag = ResourceAllocationFlags::ALWAYS_WARN_ON_ALIGNMENT_MISMATCH;
    let within = ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE;
    let own = ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP;
    let committed = ResourceAllocationFlags::ALWAYS_COMMITTED;
    let none = ResourceAllocationFlags::empty();
    let bytes = |size| buffer_desc(ByteSize::new(size));
    let mips = |desc| D3D12_RESOURCE_DESC { MipLevels: 0, ..desc };
    let (upload, default) = (HeapType::Upload, HeapType::Default);
    // Each case: the resource, and the size logged if it takes more than that.
    let cases = [
        (upload, within, bytes(100), Some("asked=100 B")),
        (upload, within, bytes(1), Some("asked=1 B")),
        (upload, within, bytes(128), None),
        (upload, within, bytes(512), None),
        (default, none, texture(16, 16), Some("asked=1.00 KiB")),
        (default, none, mips(texture(128, 128)), Some("asked=85.33 KiB")),
        (default, none, texture(128, 128), None),
        (default, own, bytes(1000), Some("asked=1000 B")),
        (default, own, bytes(65_536), None),
        (default, own, texture(128, 128), None),
        (default, committed, bytes(1024), Some("asked=1.00 KiB")),
        (default, committed, bytes(4096), None),
        (default, committed, texture(16, 16), Some("asked=1.00 KiB")),
    ];
    for (heap_type, how, desc, expected) in cases {
        for (flag, expected) in [(flag, expected), (none, None)] {
            let place = place(heap_type, how | flag);
            let create =
                || drop(allocator.create_resource(&place, &desc, COMMON, None).expect("there is room"));
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
fn always_committed_is_one_allocations_own() {
    let gpu = any_device();
    let allocator = usual(&gpu);
    let committed =
        buffer(&allocator, &place(HeapType::Upload, ResourceAllocationFlags::ALWAYS_COMMITTED), 1000);
    let decision = committed.info().decision;
    assert_eq!((decision.placement, decision.reason), (Placement::Committed, Reason::AllocationFlag));
    assert_eq!(committed.heap(), None);
    assert_eq!(properties_of(&committed).0.Type, D3D12_HEAP_TYPE_UPLOAD);
    assert_eq!(local(&allocator, 1000).info().decision.placement, Placement::SharedHeap);
}

#[test]
fn within_budget_binds_one_allocation() {
    let gpu = open("discrete");
    let allocator = usual(&gpu);
    gpu.set_budget(SegmentGroup::Local, ByteSize::from_kib(64));
    let within = place(HeapType::Default, ResourceAllocationFlags::WITHIN_BUDGET);
    let error = try_buffer(&allocator, &within, 70 * KIB).expect_err("over budget");
    assert!(error.is_over_budget(), "{error}");
    let over = local(&allocator, 70 * KIB);
    // Memory that is already held is not charged to the budget.
    let held = buffer(&allocator, &within, 50 * KIB);
    assert_eq!(over.heap(), held.heap(), "there is room behind it");
    let blind = ResourceAllocator::new(&gpu.device, None, Default::default()).expect("sound");
    let error = try_buffer(&blind, &within, 1000).expect_err("nobody knows the budget");
    assert!(error.to_string().starts_with("ResourceAllocationDesc::flags"), "{error}");
}

/// Some adapters return a budget of 0 for a segment group that they do not count. With usage above 0, a
/// budget of 0 is a real budget.
#[test]
fn a_budget_of_zero_without_usage_is_no_budget() {
    let gpu = open("discrete");
    let allocator = usual(&gpu);
    gpu.set_budget(SegmentGroup::NonLocal, ByteSize::ZERO);
    let within = place(HeapType::Upload, ResourceAllocationFlags::WITHIN_BUDGET);
    let _held = buffer(&allocator, &within, 1000);
    let error = try_buffer(&allocator, &within, 3 * MIB).expect_err("it counts, and there is no budget");
    assert!(error.is_over_budget(), "{error}");
}

#[test]
fn prefer_committed_is_placed_where_that_fails() {
    let gpu = open("discrete");
    let faults = Faults::new(Some(Call::CreateCommittedResource), E_OUTOFMEMORY);
    let device = FaultyDevice::wrap(&gpu.device, &faults);
    let allocator = ResourceAllocator::new(&device, Some(&gpu.adapter), Default::default()).expect("sound");
    let prefer = place(HeapType::Default, ResourceAllocationFlags::PREFER_COMMITTED);
    let committed = buffer(&allocator, &prefer, 1000);
    assert_eq!(committed.info().decision.placement, Placement::Committed);
    faults.fail_all();
    assert_eq!(buffer(&allocator, &prefer, 1000).info().decision.placement, Placement::SharedHeap);
}

#[test]
fn upper_address_takes_the_other_end_of_a_linear_heap() {
    let gpu = any_device();
    let allocator = usual(&gpu);
    let linear = |max_heap_count| {
        let desc = PoolDesc {
            algorithm: SuballocationAlgorithm::Linear,
            heap_size: Some(ByteSize::from_mib(1)),
            max_heap_count: Some(max_heap_count).filter(|&count| count > 0),
            ..Default::default()
        };
        allocator.create_pool(desc).expect("sound")
    };
    let one = linear(1);
    let flags = ResourceAllocationFlags::UPPER_ADDRESS;
    let lower = ResourceAllocationDesc { pool: Some(&one), ..Default::default() };
    let upper = ResourceAllocationDesc { flags, ..lower };
    let [low, high] = [lower, upper].map(|place| buffer(&allocator, &place, 64 * KIB));
    assert_eq!((low.offset().get(), high.offset().get()), (0, MIB - 64 * KIB));
    assert_eq!(low.heap(), high.heap());
    let full = try_buffer(&allocator, &lower, MIB).expect_err("there is one heap and no more");
    assert!(full.is_out_of_memory(), "{full}");

    let many = linear(0);
    let buffers = allocator.create_pool(PoolDesc::default()).expect("sound");
    for pool in [&many, &buffers] {
        let upper = ResourceAllocationDesc { flags, pool: Some(pool), ..Default::default() };
        let error = try_buffer(&allocator, &upper, 64 * KIB).expect_err("it has no upper end");
        assert!(error.to_string().starts_with("ResourceAllocationDesc::flags"), "{error}");
    }
    let error =
        try_buffer(&allocator, &place(HeapType::Default, flags), 64 * KIB).expect_err("no pool at all");
    assert!(error.to_string().starts_with("ResourceAllocationDesc::flags"), "{error}");
}

#[test]
fn always_attribute_heaps_is_without_effect_where_memory_is_not_unified() {
    let gpu = any_device();
    let allocator = usual(&gpu);
    let attributed = place(HeapType::Upload, ResourceAllocationFlags::ALWAYS_ATTRIBUTE_HEAPS);
    let [first, second] =
        [attributed, HeapType::Upload.into_place()].map(|place| buffer(&allocator, &place, 10));
    assert_eq!(first.heap(), second.heap());
}

#[test]
fn the_alignment_of_a_part_is_the_allocations_own() {
    let gpu = any_device();
    let allocator = usual(&gpu);
    let within = place(HeapType::Upload, ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE);
    // GPGMM's table: the size rounded up to a power of two, at most 256; always 256 in state GENERIC_READ.
    for (size, alignment) in [(4, 4), (16, 16), (100, 128), (256, 256), (3000, 256)] {
        let part = buffer(&allocator, &within, size);
        assert_eq!(part.alignment(), Alignment::new(alignment).expect("a power of two"));
        assert_eq!(part.offset_from_resource().get() % alignment, 0);
    }
    let state = D3D12_RESOURCE_STATE_GENERIC_READ;
    let constant = allocator
        .create_resource(&within, &buffer_desc(ByteSize::new(4)), state, None)
        .expect("there is room");
    assert_eq!(constant.alignment().get(), 256);
}
