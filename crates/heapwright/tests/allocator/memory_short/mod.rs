//! When memory is short, free ranges are used before a request is refused, and empty heaps are released.

use crate::gpu::*;

mod budget_share;
mod fallbacks;
mod near_limits;

#[test]
fn what_is_free_in_heaps_is_used_when_the_device_is_full() {
    let (gpu, allocator) = with_allocator(open("discrete-2gib"));
    let place = in_default();
    let mut held = as_many_as_fit(&allocator, &place, 300 * KIB);
    held = held.into_iter().skip(1).step_by(2).collect();
    let free = allocator.reserved().get() - allocator.stats().used.get();
    let small = as_many_as_fit(&allocator, &place, 20 * KIB);
    let used = small.len() as u64 * 20 * KIB;
    // 15 of them fit into each free range of 300 KiB.
    assert!(used >= free * 9 / 10, "{used} of {free} free bytes were used");
    allocator.audit().expect("consistent");
    assert_returned((held, small), &allocator, &gpu);
}

#[test]
fn within_budget_gives_back_what_exceeds_it_at_once() {
    for always in [true, false] {
        let gpu = open("discrete");
        let flags = if always { ResourceAllocatorFlags::ALWAYS_IN_BUDGET } else { NO_FLAGS };
        let allocator = with_flags(&gpu, flags);
        let held: Vec<_> = (0..32).map(|_| local(&allocator, 100 * MIB)).collect();
        drop(held);
        assert!(allocator.reserved() > mib(3000), "empty heaps are held");
        set_local_budget(&gpu, mib(500));
        let within = place(HeapType::Default, WITHIN_BUDGET);
        refused(allocator.probe(&within, buffer_desc(mib(150))), Error::is_over_budget);
        let made = try_buffer(&allocator, &within, 150 * MIB).expect("what is empty goes back");
        assert!(usage_of(&gpu, LOCAL) <= mib(500), "{} are in use", usage_of(&gpu, LOCAL));
        drop(made);
        // A larger request is above the budget; the refusal loses nothing.
        try_buffer(&allocator, &within, 600 * MIB).expect_err("above the budget");
        allocator.audit().expect("consistent");
    }
}

#[test]
fn empty_heaps_of_pools_and_nested_allocators_make_way_too() {
    for algorithm in [SuballocationAlgorithm::Default, Dedicated, Slab] {
        let gpu = with_budget(mib(1000));
        let allocator = usual(&gpu);
        let desc = with_algorithm(algorithm);
        let child = nested_in(&allocator, desc);
        let pool = new_pool(&allocator, PoolDesc::default());
        let nested_pool = new_pool(&child, PoolDesc::default());

        drop((0..3).map(|_| buffer(&allocator, &in_pool(&pool), 90 * MIB)).collect::<Vec<_>>());
        drop((0..3).map(|_| local(&child, 90 * MIB)).collect::<Vec<_>>());
        drop((0..3).map(|_| buffer(&child, &in_pool(&nested_pool), 90 * MIB)).collect::<Vec<_>>());
        let held: Vec<_> = (0..15).map(|_| create(&allocator, &in_default(), &texture(4096, 4096))).collect();
        let usage = usage_of(&gpu, LOCAL);
        assert!(usage <= mib(1000), "{usage} with {algorithm:?}");
        drop(held);
    }
}

#[test]
fn committed_resources_make_empty_heaps_go_as_well() {
    let gpu = with_budget(mib(1000));
    let allocator = usual(&gpu);
    drop((0..9).map(|_| local(&allocator, 100 * MIB)).collect::<Vec<_>>());
    let committed = place(HeapType::Default, COMMITTED);
    let held: Vec<_> = (0..9).map(|_| buffer(&allocator, &committed, 100 * MIB)).collect();
    assert!(usage_of(&gpu, LOCAL) <= mib(1000));
    drop(held);
}

#[test]
fn new_heaps_are_no_larger_than_the_budget_left() {
    let gpu = with_budget(mib(64));
    let allocator = usual(&gpu);
    let large = local(&allocator, 63 * MIB + 192 * KIB);
    let small: Vec<_> = (0..260).map(|_| local(&allocator, 3 * KIB)).collect();
    assert!(usage_of(&gpu, LOCAL) <= mib(64), "{} of 64 MiB", usage_of(&gpu, LOCAL));
    // Beyond the budget, heaps are as small as possible.
    let before = allocator.reserved();
    let more = local(&allocator, 300 * KIB);
    assert!(allocator.reserved().get() - before.get() <= 320 * KIB);
    drop((large, small, more));
}

#[test]
fn heaps_of_their_own_do_not_pile_up() {
    let sizes = [64 * KIB, 4 * MIB, 100 * MIB];
    for size in sizes {
        let gpu = open("discrete");
        for flags in [NO_FLAGS, ResourceAllocatorFlags::NEVER_OVER_ALLOCATE] {
            let allocator = with_flags(&gpu, flags);
            for flag in [OWN, NEVER_RESIDENT] {
                let alone = place(HeapType::Default, flag);
                (0..200).for_each(|_| drop(buffer(&allocator, &alone, size)));
                assert!(allocator.reserved() <= ByteSize::new(2 * size), "{} are held", allocator.reserved());
                assert!(allocator.stats().heaps_created <= 2, "{:?}", allocator.stats());
            }
            let never = OWN | NEVER_ALLOCATE_HEAP;
            buffer(&allocator, &place(HeapType::Default, never), size);
            assert_returns_everything(&allocator, &gpu);
        }
    }
}

#[test]
fn pooled_heaps_of_other_algorithms_do_not_pile_up() {
    for suballocation_algorithm in [Dedicated, Slab] {
        let (gpu, allocator) = on(open("discrete"), with_algorithm(suballocation_algorithm));
        for number in 1..200_u64 {
            drop(local(&allocator, (number * 7919 % 97 + 1) * MIB));
        }
        let held = allocator.reserved();
        assert!(held <= mib(2 * 128), "{held} with {:?}", allocator.desc().suballocation_algorithm);
        assert_returns_everything(&allocator, &gpu);
    }
}

#[test]
fn nested_allocators_of_every_algorithm_use_heaps_again() {
    use SuballocationAlgorithm::{Dedicated, Default as Sets, Slab};
    for [parent, child] in
        [[Sets, Dedicated], [Sets, Slab], [Sets, Sets], [Slab, Dedicated], [Dedicated, Slab]]
    {
        let gpu = any_device();
        let of = |algorithm| keeping_empty_heaps(with_algorithm(algorithm));
        let outer = allocator(&gpu, of(parent));
        let inner = nested_in(&outer, of(child));
        (0..10).for_each(|_| drop(local(&inner, 4 * MIB)));
        assert_eq!(inner.stats().heaps_created, 1, "{parent:?} and {child:?}");
        drop(local(&outer, 4 * MIB));
        assert_eq!(outer.stats().heaps_created, 0, "{parent:?} and {child:?}");
        // Only the allocator that holds the heap counts it.
        let [outer_stats, inner_stats] = [outer.stats(), inner.stats()];
        assert_eq!(outer_stats.heap_count + inner_stats.heap_count, 1, "{parent:?} and {child:?}");
        assert_eq!(outer_stats.free_heap_usage.get() + inner_stats.free_heap_usage.get(), 4 * MIB);
        for stats in [outer_stats, inner_stats] {
            let all = stats.free_heap_usage.saturating_add(stats.used_heap_usage);
            assert_eq!(stats.reserved, all, "{stats:?}");
        }
        outer.release_empty_heaps();
        inner.release_empty_heaps();
        assert_usage(&gpu, ByteSize::ZERO);
    }
}
