//! Before an allocation fails, the empty heaps of the process's other allocators on the same adapter are released.

use crate::gpu::*;

const BUDGET: u64 = 300 * MIB;

/// Opens a GPU whose local memory has this budget and capacity.
fn gpu(budget: u64, capacity: u64) -> Instance {
    let mut profile = *HostProfile::find("discrete").expect("a profile of that name");
    profile.local.budget = ByteSize::new(budget);
    profile.local.capacity = ByteSize::new(capacity);
    fresh(&profile)
}

fn with_empty_heaps(gpu: &Instance, desc: ResourceAllocatorDesc) -> ResourceAllocator {
    let one = allocator(gpu, keeping_empty_heaps(desc));
    drop((0..25).map(|_| local(&one, 10 * MIB)).collect::<Vec<_>>());
    assert!(one.reserved().get() >= 250 * MIB);
    one
}

/// Creates buffers of 10 MiB until 250 MiB are used.
fn fill(other: &ResourceAllocator, flags: ResourceAllocationFlags) -> Vec<ResourceAllocation> {
    let place = place(HeapType::Default, flags);
    (0..25).map(|_| try_buffer(other, &place, 10 * MIB).unwrap_or_else(|error| panic!("{error}"))).collect()
}

#[test]
fn a_budget_that_must_not_be_exceeded_is_shared_by_all() {
    for (of_allocator, flags) in [
        (ResourceAllocatorFlags::ALWAYS_IN_BUDGET, NONE),
        (ResourceAllocatorFlags::ALWAYS_IN_BUDGET, COMMITTED),
        (ResourceAllocatorFlags::ALWAYS_IN_BUDGET, OWN),
        (NO_FLAGS, WITHIN_BUDGET),
        (NO_FLAGS, WITHIN_BUDGET.union(COMMITTED)),
    ] {
        for algorithm in ALGORITHMS {
            let gpu = gpu(BUDGET, 1 << 30);
            let one = with_empty_heaps(&gpu, with_algorithm(algorithm));
            let other = allocator(&gpu, flagged(of_allocator));
            let probed = other.probe(&place(HeapType::Default, flags), buffer_desc(mib(100)));
            refused(probed, Error::is_over_budget);
            assert!(one.reserved().get() >= 250 * MIB, "a question releases nothing");
            let held = fill(&other, flags);
            assert!(usage_of(&gpu, LOCAL).get() <= BUDGET, "{flags:?}, {algorithm:?}");
            [&one, &other].into_iter().for_each(|allocator| allocator.audit().expect("consistent"));
            drop(held);
        }
    }
}

#[test]
fn the_devices_memory_is_shared_by_all() {
    for flags in [NONE, COMMITTED, OWN] {
        let gpu = gpu(300 * MIB, 300 * MIB);
        let one = with_empty_heaps(&gpu, Default::default());
        // Nested allocators and pools, too.
        let nested = nested_in(&one, keeping_empty_heaps(Default::default()));
        let pool = new_pool(&nested, PoolDesc::default());
        drop(buffer(&nested, &in_pool(&pool), 20 * MIB));
        let other = usual(&gpu);
        let held = fill(&other, flags);
        [&one, &nested, &other].into_iter().for_each(|allocator| allocator.audit().expect("consistent"));
        drop(held);
    }
}

#[test]
fn memory_without_resources_is_taken_from_others_as_well() {
    for resources in [ResourceKind::Buffers, ResourceKind::Any] {
        let gpu = gpu(300 * MIB, 300 * MIB);
        let one = with_empty_heaps(&gpu, Default::default());
        let other = usual(&gpu);
        let (size, alignment) = (mib(100), Alignment::new(64 * KIB).unwrap());
        let held = [(); 2].map(|()| other.allocate_memory(&Default::default(), resources, size, alignment));
        held.iter().for_each(|made| assert!(made.is_ok(), "{resources:?}: {made:?}"));
        [&one, &other].into_iter().for_each(|allocator| allocator.audit().expect("consistent"));
    }
}

#[test]
fn what_a_pool_begins_with_is_taken_from_others_as_well() {
    let gpu = gpu(300 * MIB, 300 * MIB);
    let one = with_empty_heaps(&gpu, Default::default());
    let pool = new_pool(&usual(&gpu), PoolDesc { min_heap_count: 25, ..pool_of(mib(10)) });
    assert_eq!(pool.totals().heap_count, 25);
    one.audit().expect("consistent");
}

#[test]
fn unused_buffers_of_others_count_as_well() {
    let gpu = gpu(128 * MIB, 128 * MIB);
    let one = allocator(&gpu, keeping_empty_heaps(Default::default()));
    let within = place(HeapType::GpuUpload, WITHIN);
    let Ok(part) = try_buffer(&one, &within, 1000) else { return };
    drop(part);
    assert!(!one.reserved().is_zero());
    let other = usual(&gpu);
    let left = 128 * MIB - usage_of(&gpu, LOCAL).get();
    let _held = local(&other, left + 64 * KIB);
    assert!(one.reserved().is_zero());
}

#[test]
fn an_adapter_of_its_own_and_no_permission_keep_the_heaps() {
    let gpu_of_other = gpu(BUDGET, 1 << 30);
    let gpu = gpu(BUDGET, 1 << 30);
    let one = with_empty_heaps(&gpu, Default::default());
    let held = one.reserved();
    let within = place(HeapType::Default, WITHIN_BUDGET);
    refused(try_buffer(&usual(&gpu_of_other), &within, 301 * MIB), Error::is_over_budget);
    let other = with_flags(&gpu, ResourceAllocatorFlags::NEVER_OVER_ALLOCATE);
    refused(try_buffer(&other, &within, 200 * MIB), Error::is_over_budget);
    assert_eq!(one.reserved(), held);
    // Nothing is released for a request that fails all the same.
    refused(try_buffer(&usual(&gpu), &within, 301 * MIB), Error::is_over_budget);

    refused(try_buffer(&allocator(&gpu, limited_to(mib(10))), &within, 20 * MIB), Error::is_over_budget);
    assert_eq!(one.reserved(), held);
    drop(one);
    let never = with_empty_heaps(&gpu, flagged(ResourceAllocatorFlags::NEVER_OVER_ALLOCATE));
    refused(try_buffer(&usual(&gpu), &within, 200 * MIB), Error::is_over_budget);
    assert_eq!(never.reserved(), held);
}

#[test]
fn a_residency_managers_budget_includes_the_empty_heaps_of_others() {
    let gpu = gpu(BUDGET, 1 << 30);
    let one = with_empty_heaps(&gpu, Default::default());
    let desc = ResidencyManagerDesc { flags: ResidencyManagerFlags::ALWAYS_IN_BUDGET, ..Default::default() };
    let manager = manager_on(&gpu, desc);
    let managed = |gpu: &Instance| managed_by(&manager, gpu, Default::default());
    let other = managed(&gpu);
    let held = fill(&other, NONE);
    assert!(usage_of(&gpu, LOCAL).get() <= BUDGET);
    [&one, &other].into_iter().for_each(|allocator| allocator.audit().expect("consistent"));
    drop(held);
}

/// The manager does not ask the system again before memory is created.
#[test]
fn what_others_released_is_known_to_a_residency_manager() {
    for of_allocator in [ResourceAllocatorFlags::ALWAYS_IN_BUDGET, NO_FLAGS] {
        let gpu = gpu(BUDGET, 1 << 30);
        let one = with_empty_heaps(&gpu, Default::default());
        let (other, _manager) = managed(&gpu, flagged(of_allocator), ResidencyManagerDesc::default());
        let within = place(HeapType::Default, WITHIN_BUDGET);
        let _large = buffer(&other, &within, 100 * MIB);
        assert!(usage_of(&gpu, LOCAL).get() <= BUDGET);
        one.audit().expect("consistent");
    }
}

/// Each releases what the other has, and neither waits for the other.
#[test]
fn two_threads_take_memory_from_each_other() {
    let gpu = gpu(BUDGET, 300 * MIB);
    let allocators = [(); 2].map(|()| allocator(&gpu, keeping_empty_heaps(Default::default())));
    std::thread::scope(|scope| {
        for (number, one) in allocators.iter().enumerate() {
            scope.spawn(move || {
                for round in 0..200 {
                    let size = (1 + (round * 7 + number as u64 * 3) % 40) * 4 * MIB;
                    // The other thread may hold what is needed.
                    let _made = try_buffer(one, &in_default(), size);
                    if round % 16 == 0 {
                        one.end_frame();
                    }
                    if round % 50 == 0 {
                        one.release_empty_heaps();
                    }
                }
            });
        }
    });
    for one in &allocators {
        one.audit().expect("consistent");
        one.release_empty_heaps();
        assert!(one.reserved().is_zero());
    }
    assert_usage(&gpu, ByteSize::ZERO);
}
