//! Near a limit or a budget, a call fails only if neither held nor allowed memory serves it.

use std::sync::Mutex;

use heapwright_intercept::{intercept, method};
use heapwright_runtime::SegmentGroup as Group;

use crate::gpu::*;

const SHARED: ResourceAllocationFlags = NEVER_FALLBACK;
const OWN_HEAP: ResourceAllocationFlags = OWN.union(SHARED);

fn limited(limit: u64) -> ResourceAllocatorDesc {
    limited_to(ByteSize::new(limit))
}

fn try_local(
    allocator: &ResourceAllocator,
    flags: ResourceAllocationFlags,
    size: u64,
) -> Result<ResourceAllocation, Error> {
    try_buffer(allocator, &place(HeapType::Default, flags), size)
}

#[test]
fn an_own_heap_leaves_room_for_others_where_an_empty_heap_is_larger() {
    let (gpu, allocator) = on(open("discrete"), limited(4 * MIB));
    drop(try_local(&allocator, SHARED, 4 * MIB).expect("within the limit"));
    let own = try_local(&allocator, OWN_HEAP, 896).expect("the empty heap makes way");
    let shared = try_local(&allocator, SHARED, 64).expect("a heap of 64 KiB is allowed");
    assert_returned((own, shared), &allocator, &gpu);
}

#[test]
fn an_own_heap_uses_a_larger_empty_heap_where_nothing_may_be_released() {
    let flags = ResourceAllocatorFlags::NEVER_OVER_ALLOCATE;
    let (_gpu, allocator) = on(open("discrete"), ResourceAllocatorDesc { flags, ..limited(4 * MIB) });
    drop(try_local(&allocator, SHARED, 4 * MIB).expect("within the limit"));
    try_local(&allocator, OWN_HEAP, 896).expect("the memory is held");
}

#[test]
fn a_pooled_heap_that_is_too_large_is_used_or_released() {
    for (flags, algorithm) in pairs([ResourceAllocatorFlags::NEVER_OVER_ALLOCATE, NO_FLAGS], ALGORITHMS) {
        let gpu = open("discrete");
        let empty_heap_policy = SegmentedPool;
        let desc = ResourceAllocatorDesc {
            flags,
            empty_heap_policy,
            suballocation_algorithm: algorithm,
            ..limited(4 * MIB)
        };
        let allocator = allocator(&gpu, desc);
        drop(try_local(&allocator, SHARED, 4 * MIB).expect("within the limit"));
        for (size, place) in [(100 * KIB, SHARED), (2 * MIB, SHARED), (2 * MIB, OWN_HEAP)] {
            let made = try_local(&allocator, place, size);
            drop(made.unwrap_or_else(|error| panic!("{flags:?}, {algorithm:?}: {error}")));
        }
    }
}

/// The heap of an unused backing buffer leaves at once where no empty heap is kept, which counts as well.
#[test]
fn unused_backing_buffers_make_way_under_every_policy() {
    for empty_heap_policy in [EmptyHeapPolicy::Default, LeastMemory, FewestHitches, SegmentedPool, FixedPool]
    {
        for kind in [SHARED, OWN_HEAP, COMMITTED] {
            let gpu = open("discrete");
            let allocator = allocator(&gpu, of_policy(empty_heap_policy));
            let upload = |flags| place(HeapType::Upload, flags);
            drop(buffer(&allocator, &upload(WITHIN), 1000));
            let used = usage_of(&gpu, SegmentGroup::NonLocal);
            assert!(!used.is_zero(), "{empty_heap_policy:?}: the backing buffer is held");
            gpu.set_budget(Group::NonLocal, used);
            for budget in [WITHIN_BUDGET, NONE] {
                let made = try_buffer(&allocator, &upload(kind | budget), used.get());
                let made = made.unwrap_or_else(|error| panic!("{empty_heap_policy:?}, {kind:?}: {error}"));
                assert_eq!(usage_of(&gpu, NON_LOCAL), used, "{empty_heap_policy:?}, {kind:?}");
                drop(made);
                drop(buffer(&allocator, &upload(WITHIN), 1000));
            }
        }
    }
}

#[test]
fn an_unused_backing_buffer_makes_way_for_what_may_create_no_heap() {
    let allocator = usual(&any_device());
    drop(buffer(&allocator, &place(HeapType::Upload, WITHIN), 1000));
    let held = place(HeapType::Upload, NEVER_ALLOCATE_HEAP);
    buffer(&allocator, &held, allocator.reserved().get());
}

/// Together with the free slots of slabs beside it.
#[test]
fn the_memory_of_an_unused_backing_buffer_is_used_before_the_budget_is_exceeded() {
    let gpu = open("discrete");
    let allocator = usual(&gpu);
    let upload = |flags, bytes| buffer(&allocator, &place(HeapType::Upload, flags), bytes);
    let mut small: Vec<_> = (0..8).map(|_| upload(NONE, 8000)).collect();
    let part = upload(WITHIN, 60_000);
    small.extend((0..8).map(|_| upload(NONE, 8000)));
    small.drain(1..15);
    drop(part);
    let held = allocator.reserved();
    assert_eq!(held, kib(256));
    gpu.set_budget(Group::NonLocal, held);
    let _large = upload(NONE, 128 * KIB);
    assert_eq!(allocator.reserved(), held);
}

/// Heaps that are emptied of unused backing buffers for a request, and that it does not use, are released if the policy
/// does not keep them.
#[test]
fn heaps_that_become_empty_for_a_request_are_kept_by_the_policy() {
    let allocator = allocator(&open("discrete"), of_policy(FixedPool));
    drop((0..10).map(|_| buffer(&allocator, &place(HeapType::Upload, WITHIN), 60_000)).collect::<Vec<_>>());
    let before = allocator.stats();
    assert!(before.heap_count > 2, "{before:?}");
    let made = buffer(&allocator, &place(HeapType::Upload, NEVER_ALLOCATE_HEAP), 200 * KIB);
    assert_eq!((allocator.stats().heap_count, allocator.reserved().get()), (1, heap_of(&made).SizeInBytes));
}

#[test]
fn releasing_counts_the_heaps_of_unused_backing_buffers() {
    for empty_heap_policy in [EmptyHeapPolicy::Default, FixedPool] {
        let (_gpu, allocator) = on(open("discrete"), of_policy(empty_heap_policy));
        drop(buffer(&allocator, &place(HeapType::Upload, WITHIN), 1000));
        let held = allocator.reserved();
        assert!(held > ByteSize::ZERO, "{empty_heap_policy:?}");
        assert_eq!(allocator.release_empty_heaps(), held, "{empty_heap_policy:?}");
        assert_eq!(allocator.reserved(), ByteSize::ZERO);
    }
}

/// Parts of other sizes leave a slab without used slots in it.
#[test]
fn a_backing_buffer_with_only_an_unused_slab_is_unused() {
    let (_gpu, allocator) = on(open("discrete"), with_algorithm(Dedicated));
    let part = |bytes| buffer(&allocator, &place(HeapType::Upload, WITHIN), bytes);
    let used: Vec<_> = (0..4).map(|_| part(16_000)).collect();
    let in_use = allocator.reserved();
    drop(part(1000));
    let unused = allocator.reserved().saturating_sub(in_use);
    assert_eq!((allocator.stats().free_heap_usage, unused), (unused, kib(64)));
    assert_eq!(allocator.release_empty_heaps(), unused);
    drop(used);
}

#[test]
fn each_algorithm_creates_smaller_heaps_near_a_limit() {
    for algorithm in ALGORITHMS {
        let desc = ResourceAllocatorDesc { suballocation_algorithm: algorithm, ..limited(1984 * KIB) };
        let (_gpu, allocator) = on(open("discrete"), desc);
        let held: Vec<_> = std::iter::from_fn(|| try_local(&allocator, SHARED, 3000).ok()).collect();
        assert_eq!(allocator.reserved().get(), 1984 * KIB, "{algorithm:?} with {} buffers", held.len());
    }
}

#[test]
fn no_more_empty_heaps_make_way_than_are_missing() {
    let gpu = open("discrete");
    for (release_size, left) in [(mib(0), 4), (mib(64), 0)] {
        let desc = keeping_empty_heaps(ResourceAllocatorDesc { release_size, ..limited(12 * MIB) });
        let allocator = allocator(&gpu, desc);
        // Buffers and textures have heaps of their own.
        let buffer = try_local(&allocator, OWN_HEAP, 4 * MIB).expect("within the limit");
        let texture = create(&allocator, &in_default(), &texture(1024, 1024));
        drop((buffer, texture));
        drop(try_local(&allocator, COMMITTED, 6 * MIB).expect("one of them makes way"));
        assert_eq!(allocator.reserved(), mib(left), "{release_size}");
    }
}

#[test]
fn a_pool_that_has_all_its_heaps_loses_one_for_another_and_none_for_what_is_refused() {
    let gpu = with_budget(mib(64));
    let desc = ResourceAllocatorDesc { release_size: mib(64), ..Default::default() };
    let allocator = allocator(&gpu, keeping_empty_heaps(desc));
    let pool = new_pool(&allocator, PoolDesc { max_heap_count: Some(3), ..Default::default() });
    let own = |flags, mib: u64| {
        try_buffer(&allocator, &ResourceAllocationDesc { flags: flags | OWN, ..in_pool(&pool) }, mib * MIB)
    };
    let fill = || drop([5, 6, 7].map(|mib| own(NONE, mib).expect("there is room")));
    fill();
    refused(own(WITHIN_BUDGET, 65), Error::is_over_budget);
    assert_eq!(pool.totals().empty, mib(18));
    let small = own(NONE, 1).expect("a heap makes way");
    assert_eq!((heap_of(&small).SizeInBytes, pool.totals().heap_count), (MIB, 3));
    drop(small);
    pool.release_empty_heaps();
    fill();
    let held = [5, 6, 7].map(|mib| own(NONE, mib).expect("there is room"));
    refused(own(NONE, 1), Error::is_out_of_memory);
    drop(held);
}

#[test]
fn no_more_is_held_near_a_limit_than_was_in_use_at_once() {
    let allocator = allocator(&open("discrete"), limited(60 * MIB));
    drop([(); 2].map(|()| try_local(&allocator, OWN_HEAP, 20 * MIB).expect("within the limit")));
    assert_eq!(allocator.reserved(), mib(40));
    drop(try_local(&allocator, OWN_HEAP, 30 * MIB).expect("within the limit"));
    assert_eq!(allocator.reserved(), mib(30), "without the two of 20 MiB");
}

/// A pool of few heaps needs large ones, and a pool of one size has no others.
#[test]
fn the_heaps_of_some_pools_are_no_smaller_near_a_limit() {
    let allocator = allocator(&open("discrete"), limited(1536 * KIB));
    let few = new_pool(&allocator, PoolDesc { max_heap_count: Some(1), ..Default::default() });
    drop(buffer(&allocator, &in_pool(&few), 1000));
    assert_eq!(few.totals().reserved.get(), 1536 * KIB);
    few.release_empty_heaps();
    let sized = pool_of(mib(1));
    let sized = new_pool(&allocator, sized);
    let _full = buffer(&allocator, &in_pool(&sized), MIB);
    refused(try_buffer(&allocator, &in_pool(&sized), 1000), Error::is_over_budget);
}

#[test]
fn never_over_allocate_releases_no_empty_heap() {
    use SuballocationAlgorithm::{Default as Sets, Slab};
    let sizes = [4 * MIB, 9 * MIB, 20 * MIB, 48 * MIB];
    for (algorithm, empty_heap_policy) in
        [(Sets, EmptyHeapPolicy::Default), (Sets, SegmentedPool), (Slab, EmptyHeapPolicy::Default)]
    {
        let desc = ResourceAllocatorDesc {
            flags: ResourceAllocatorFlags::NEVER_OVER_ALLOCATE,
            suballocation_algorithm: algorithm,
            empty_heap_policy,
            ..Default::default()
        };
        let (_gpu, allocator) = on(open("discrete"), desc);
        let mut held = ByteSize::ZERO;
        for size in sizes {
            drop(local(&allocator, size));
            assert!(
                allocator.reserved() > held,
                "{algorithm:?}, {empty_heap_policy:?}: {held} before {size}"
            );
            held = allocator.reserved();
        }
    }
}

/// While the device creates the first heap, another one is requested.
#[test]
fn memory_that_is_being_created_counts_within_a_budget() {
    let gpu = with_budget(mib(10));
    let allocator = with_flags(&gpu, ResourceAllocatorFlags::ALWAYS_IN_BUDGET);
    let nested = nested_in(&allocator, flagged(ResourceAllocatorFlags::ALWAYS_IN_BUDGET));
    let others = Some([allocator.clone(), nested]);
    let meanwhile: &'static Mutex<_> = Box::leak(Box::new(Mutex::new(others)));
    let device: ID3D12Device14 = gpu.device.cast().expect("the runtime has the newest device interface");
    // SAFETY: the interface is the newest one, and the replacement passes the call on.
    unsafe {
        intercept(&device, meanwhile, |methods| {
            methods.of::<ID3D12Device>().replace(method!(CreateHeap), |call, (desc, riid, heap)| {
                let others: Option<[ResourceAllocator; 2]> = call.data.lock().expect("no panic").take();
                for other in others.iter().flatten() {
                    refused(try_local(other, OWN_HEAP, 8 * MIB), Error::is_over_budget);
                }
                (call.original.CreateHeap)(call.this, desc, riid, heap)
            });
        });
    }
    let first = try_local(&allocator, OWN_HEAP, 8 * MIB).expect("within the budget");
    assert!(meanwhile.lock().expect("no panic").is_none(), "the second request was made");
    drop(first);
    try_local(&allocator, OWN_HEAP, 9 * MIB).expect("nothing is being created any more");
}
