//! Nested allocators exchange empty heaps with their parent.

use crate::faulty_device::{Call, faulty_first};
use crate::gpu::*;

#[test]
fn a_heap_that_one_gives_up_serves_the_other_and_is_charged_to_it() {
    use SuballocationAlgorithm::{Dedicated, Default as Sets, Slab};
    for ((parent, child), from_parent) in pairs(
        [
            (Slab, Dedicated),
            (Dedicated, Slab),
            (Dedicated, Dedicated),
            (Sets, Sets),
            (Sets, Dedicated),
            (Sets, Slab),
        ],
        [true, false],
    ) {
        let (gpu, parent) = on(any_device(), keeping_empty_heaps(with_algorithm(parent)));
        let child = nested_in(&parent, keeping_empty_heaps(with_algorithm(child)));
        let (giver, taker) = if from_parent { (&parent, &child) } else { (&child, &parent) };
        // The size of a heap that no algorithm makes larger.
        drop(local(giver, 4 * MIB));
        assert_eq!(giver.stats().heaps_created, 1);
        // The outermost allocator counts the empty heaps of the pool.
        let held = giver.reserved().saturating_add(taker.reserved());
        assert_usage(&gpu, held);
        let taken = local(taker, 4 * MIB);
        assert_usage(&gpu, held);
        assert_eq!(taker.stats().heaps_created, 0);
        // A heap counts for the allocator that uses it, for limits as well.
        assert_eq!((taker.reserved(), giver.reserved()), (held, ByteSize::ZERO));
        parent.audit().and_then(|()| child.audit()).expect("consistent");
        drop(taken);
        parent.release_empty_heaps();
        child.release_empty_heaps();
        assert_usage(&gpu, ByteSize::ZERO);
    }
}

#[test]
fn a_nested_allocators_limit_decides_what_it_takes_over() {
    let (gpu, parent) = on(any_device(), with_algorithm(Dedicated));
    let limits = HeapLimits { default: Some(kib(512)), ..Default::default() };
    let desc = ResourceAllocatorDesc { limits, ..with_algorithm(Dedicated) };
    let child = nested_in(&parent, desc);
    drop(local(&parent, MIB));
    refused(try_buffer(&child, &in_default(), MIB), Error::is_over_budget);
    assert_eq!(child.reserved(), ByteSize::ZERO);
    assert_usage(&gpu, parent.reserved());
    let small = local(&child, 256 * KIB);
    assert_eq!(child.reserved(), kib(256));
    drop(small);
}

#[test]
fn a_nested_allocators_limit_releases_only_what_is_charged_to_it() {
    let gpu = open("discrete");
    let parent = allocator(&gpu, with_algorithm(Dedicated));
    set_local_budget(&gpu, mib(32));
    for limits in [
        HeapLimits { default: Some(mib(4)), ..Default::default() },
        HeapLimits { share_of_budget: Some(0.125), ..Default::default() },
    ] {
        let child = nested_in(&parent, keeping_empty_heaps(with_limits(limits)));
        drop(local(&child, 3 * MIB));
        drop(local(&parent, 8 * MIB));
        let held = [&parent, &child].map(|allocator| allocator.reserved());
        assert_eq!(held, [8, 3].map(mib), "both keep their empty heaps");
        refused(try_buffer(&child, &in_default(), 5 * MIB), Error::is_over_budget);
        let made = create(&child, &in_default(), &texture(1024, 768));
        let held = [&parent, &child].map(|allocator| allocator.reserved());
        assert_eq!(held, [8, 3].map(mib), "only the child's empty heap made room");
        assert_eq!(placement(&made), Placement::SharedHeap);
    }
}

#[test]
fn flags_and_statistics_are_each_allocators_own() {
    let (gpu, parent) = with_allocator(any_device());
    let desc = flagged(ResourceAllocatorFlags::ALWAYS_COMMITTED);
    let child = nested_in(&parent, desc);
    let [of_parent, of_child] = [&parent, &child].map(|allocator| local(allocator, 1000));
    assert_eq!(placement(&of_parent), Placement::SharedHeap);
    assert_eq!(placement(&of_child), Placement::Committed);
    assert_eq!((parent.stats().allocation_count, child.stats().allocation_count), (1, 1));
    assert_eq!(child.device(), parent.device());
    // And which empty heaps are kept.
    let desc = ResourceAllocatorDesc { empty_heap_policy: SegmentedPool, ..with_algorithm(Dedicated) };
    let fixed = ResourceAllocatorDesc { empty_heap_policy: FixedPool, ..with_algorithm(Dedicated) };
    let keeps_none = allocator(&gpu, fixed);
    let nested = nested_in(&keeps_none, desc);
    [&keeps_none, &nested].into_iter().for_each(|allocator| drop(local(allocator, MIB)));
    assert_eq!((keeps_none.reserved(), nested.reserved()), (ByteSize::ZERO, mib(1)));
}

/// An unused backing buffer does not keep a heap from a relative that may not create one.
#[test]
fn a_heap_with_only_an_unused_backing_buffer_serves_the_other() {
    for ((size, from_parent), flags) in pairs(pairs([1000, 4096, 30_000], [true, false]), [WITHIN, NONE]) {
        let (_gpu, parent) = with_allocator(any_device());
        let child = nested_in(&parent, Default::default());
        let (giver, taker) = if from_parent { (&parent, &child) } else { (&child, &parent) };
        drop(buffer(giver, &place(HeapType::Upload, WITHIN), size));
        let reserved = giver.reserved();
        let taken = buffer(taker, &place(HeapType::Upload, flags | NEVER_ALLOCATE_HEAP), size);
        assert_eq!((giver.reserved(), taker.reserved()), (ByteSize::ZERO, reserved));
        parent.audit().and_then(|()| child.audit()).expect("consistent");
        // What is used is not taken.
        refused(
            try_buffer(giver, &place(HeapType::Upload, flags | NEVER_ALLOCATE_HEAP), size),
            Error::is_out_of_memory,
        );
        drop(taken);
    }
}

/// Rather than that it makes way for a new one.
#[test]
fn a_heap_with_only_an_unused_backing_buffer_is_taken_over_near_the_budget() {
    let gpu = open("discrete");
    let parent = usual(&gpu);
    let child = nested_in(&parent, Default::default());
    drop(buffer(&parent, &place(HeapType::Upload, WITHIN), 1000));
    gpu.set_budget(heapwright_runtime::SegmentGroup::NonLocal, usage(&gpu));
    let _taken = buffer(&child, &in_upload(), parent.reserved().get());
    let created = [&parent, &child].map(|allocator| allocator.stats().heaps_created);
    assert_eq!((created, parent.reserved()), ([1, 0], ByteSize::ZERO));
}

#[test]
fn an_empty_heap_of_the_other_is_held_memory_to_a_probe() {
    let parent = allocator(&any_device(), keeping_empty_heaps(Default::default()));
    let child = nested_in(&parent, Default::default());
    drop(local(&parent, 64 * MIB));
    let small = buffer_of(MIB);
    let held = place(HeapType::Default, NEVER_ALLOCATE_HEAP);
    let probed = child.probe(&held, ResourceDesc::new(&small)).expect("it is large enough");
    assert_eq!(probed.memory, PredictedMemory::Held);
}

/// A heap that the other's limits do not permit stays, with the unused backing buffer in it.
#[test]
fn a_limit_keeps_the_unused_backing_buffer_of_the_other() {
    let gpu = any_device();
    // It keeps the buffer, and would not keep the heap without it.
    let fixed = FixedPool;
    let parent = allocator(&gpu, of_policy(fixed));
    let limits = HeapLimits { upload: Some(kib(64)), ..Default::default() };
    let child = nested_in(&parent, with_limits(limits));
    let used = buffer(&child, &in_upload(), 60_000);
    drop(buffer(&parent, &place(HeapType::Upload, WITHIN), 1000));
    let held = [&parent, &child].map(|allocator| allocator.reserved());
    for flags in [NONE, WITHIN, NEVER_ALLOCATE_HEAP] {
        let error = try_buffer(&child, &place(HeapType::Upload, flags), 60_000).unwrap_err();
        assert!(error.is_out_of_memory() || error.is_over_budget(), "{error}");
        assert_eq!([&parent, &child].map(|allocator| allocator.reserved()), held, "{flags:?}");
    }
    drop(used);
}

/// GPGMM counts the empty heaps that nested allocators exchange in the `FreeHeapUsage` of each, and releases them from
/// any of them. A pool's are its own.
#[test]
fn each_knows_and_releases_the_empty_heaps_of_the_others() {
    for (algorithm, flags) in pairs([SuballocationAlgorithm::Default, Dedicated], [NONE, WITHIN]) {
        let gpu = any_device();
        let desc = || keeping_empty_heaps(with_algorithm(algorithm));
        let parent = allocator(&gpu, desc());
        let child = nested_in(&parent, desc());
        let pool = new_pool(&child, PoolDesc::default());
        drop(buffer(&child, &in_pool(&pool), MIB));
        assert!(!pool.totals().empty.is_zero());
        drop(buffer(&child, &place(HeapType::Upload, flags), 1000));
        let [of_parent, of_child] = [&parent, &child].map(|allocator| allocator.stats());
        let kept = of_child.free_heap_usage.saturating_sub(pool.totals().empty);
        assert!(!kept.is_zero());
        assert_eq!((of_parent.free_heap_usage, of_parent.shared_free_heap_usage), (ByteSize::ZERO, kept));
        assert_eq!(of_child.shared_free_heap_usage, ByteSize::ZERO);
        assert_eq!(of_parent.reserved, ByteSize::ZERO);
        assert_eq!(parent.release_empty_heaps(), kept);
        assert_eq!(parent.stats().shared_free_heap_usage, ByteSize::ZERO);
        assert_eq!(child.reserved(), pool.totals().empty);
    }
}

#[test]
fn either_may_go_first() {
    for parent_first in [true, false] {
        let (gpu, parent) = with_allocator(any_device());
        let child = nested_in(&parent, Default::default());
        let grandchild = nested_in(&child, Default::default());
        let held = [&parent, &child, &grandchild].map(|allocator| local(allocator, MIB));
        if parent_first {
            drop(parent);
            drop(local(&child, MIB));
            drop((child, grandchild));
        } else {
            drop((grandchild, child));
            drop(local(&parent, MIB));
            drop(parent);
        }
        drop(held);
        assert_usage(&gpu, ByteSize::ZERO);
    }
}

#[test]
fn empty_heaps_of_relatives_serve_when_the_device_has_no_more() {
    let (gpu, faults) = faulty_first(Some(Call::CreateHeap), E_OUTOFMEMORY);
    let parent = allocator(&gpu, Default::default());
    let child = nested_in(&parent, Default::default());
    drop(local(&child, MIB));
    faults.fail_all();
    let never = place(HeapType::Default, NEVER_FALLBACK);
    let taken = buffer(&parent, &never, MIB);
    assert_eq!(placement(&taken), Placement::SharedHeap);
}
