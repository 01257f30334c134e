//! Each flag of an allocator changes something that its user or the device sees.

use crate::faulty_device::{Faults, Seen, faulty_first, inject};
use crate::gpu::*;
use crate::log_lines::warnings;

#[test]
fn always_in_budget_refuses_what_the_device_would_have_had() {
    let gpu = with_budget(mib(64));
    let free = usual(&gpu);
    drop(local(&free, 100 * MIB));
    free.release_empty_heaps();

    let bound = with_flags(&gpu, ResourceAllocatorFlags::ALWAYS_IN_BUDGET);
    for flags in [NONE, COMMITTED] {
        let made = try_buffer(&bound, &place(HeapType::Default, flags), 100 * MIB);
        let error = fails(made, "budget of 64.00 MiB");
        assert!(error.is_out_of_memory() && error.is_over_budget());
        drop(buffer(&bound, &place(HeapType::Default, flags), 10 * MIB));
    }
    // The other segment group has its own budget.
    assert_returned(buffer(&bound, &in_upload(), 100 * MIB), &bound, &gpu);
}

#[test]
fn a_budget_that_becomes_zero_before_the_first_heap_is_a_budget() {
    let gpu = open("discrete");
    // Without a manager, what begins evicted needs a budget, too.
    let allocators = [NO_FLAGS, ResourceAllocatorFlags::CREATE_NOT_RESIDENT]
        .map(|flags| with_flags(&gpu, flags | ResourceAllocatorFlags::ALWAYS_IN_BUDGET));
    set_local_budget(&gpu, ByteSize::ZERO);
    for allocator in &allocators {
        refused(allocator.probe(&in_default(), buffer_of(1)), Error::is_over_budget);
        refused(try_buffer(allocator, &in_default(), 1), Error::is_over_budget);
    }
}

/// Requests a heap of its own and another one in advance.
fn prefetched() -> ResourceAllocationDesc<'static> {
    place(HeapType::Default, OWN | ALWAYS_PREFETCH_HEAP)
}

#[test]
fn heaps_made_in_advance_are_within_the_budget_too() {
    let flags = ResourceAllocatorFlags::ALWAYS_IN_BUDGET | ResourceAllocatorFlags::ALLOW_PREFETCH;
    let (gpu, allocator) = on(open("discrete"), flagged(flags));
    set_local_budget(&gpu, mib(12));
    let held = buffer(&allocator, &prefetched(), 8 * MIB);
    refused(try_buffer(&allocator, &prefetched(), 8 * MIB), Error::is_over_budget);
    assert_eq!(usage(&gpu), mib(8));
    drop(held);
    // And those of an allocation that must be.
    let allocator = with_flags(&gpu, ResourceAllocatorFlags::ALLOW_PREFETCH);
    let within = ResourceAllocationDesc { flags: prefetched().flags | WITHIN_BUDGET, ..prefetched() };
    let _held = buffer(&allocator, &within, 8 * MIB);
    assert_eq!(usage(&gpu), mib(8));
    let _more = buffer(&allocator, &prefetched(), 8 * MIB);
    assert_eq!(usage(&gpu), mib(24), "beyond the budget, which it may exceed");
}

/// Creates an allocator whose time passes, so that a thread prefetches. It keeps empty heaps however long a test takes.
fn whose_time_passes(gpu: &impl Opened, flags: ResourceAllocatorFlags) -> ResourceAllocator {
    let desc = keeping_empty_heaps(flagged(flags));
    ResourceAllocator::new(gpu.device(), gpu.adapter(), desc).expect("a sound device and description")
}

#[test]
fn allow_prefetch_has_the_next_heap_made_on_another_thread() {
    let gpu = any_device();
    let run = |flags| {
        let allocator = whose_time_passes(&gpu, flags);
        let held: Vec<_> = (0..4)
            .map(|_| {
                let held = buffer(&allocator, &prefetched(), MIB);
                if !flags.is_empty() {
                    wait_for_empty_heap(&allocator);
                }
                held
            })
            .collect();
        let stats = allocator.stats();
        drop(held);
        let counts = (stats.prefetched_heap_misses, stats.prefetched_heap_misses_eliminated);
        // The heap that was created after the last allocation is still unused.
        assert_returned(buffer(&allocator, &prefetched(), MIB), &allocator, &gpu);
        counts
    };
    assert_eq!(run(ResourceAllocatorFlags::ALLOW_PREFETCH), (1, 3), "the first one came too early");
    assert_eq!(run(NO_FLAGS), (0, 0), "nothing is made in advance, so nothing missed");
}

#[test]
fn nobody_waits_for_a_heap_that_is_made_in_advance() {
    let (gpu, faults) = faulty_first(None, E_OUTOFMEMORY);
    let allocator = whose_time_passes(&gpu, ResourceAllocatorFlags::ALLOW_PREFETCH);
    let the_device_is_busy = faults.prefetching.lock().expect("no panic");
    let held: Vec<_> = (0..4).map(|_| buffer(&allocator, &prefetched(), MIB)).collect();
    let released = allocator.release_empty_heaps();
    let stats = allocator.stats();
    assert_eq!((stats.heap_count, stats.prefetched_heap_misses, released), (4, 4, ByteSize::ZERO));
    drop(the_device_is_busy);
    // A wrongly prefetched heap is kept like any other empty heap and used when it fits.
    wait_for_empty_heap(&allocator);
    let created = allocator.stats().heaps_created;
    let used = buffer(&allocator, &place(HeapType::Default, NEVER_ALLOCATE_HEAP), MIB);
    assert_eq!((created, allocator.stats().prefetched_heap_misses_eliminated), (5, 1));
    assert_returned((held, used), &allocator, &gpu);
}

#[test]
fn always_on_demand_keeps_no_heap_whatever_the_algorithm() {
    let gpu = any_device();
    for (suballocation_algorithm, (flags, keeps)) in
        pairs(ALGORITHMS, [(ResourceAllocatorFlags::ALWAYS_ON_DEMAND, false), (NO_FLAGS, true)])
    {
        let desc = ResourceAllocatorDesc { flags, suballocation_algorithm, ..Default::default() };
        let preferred_heap_size = Some(kib(64));
        let fixed =
            ResourceAllocatorDesc { empty_heap_policy: FixedPool, preferred_heap_size, ..desc.clone() };
        for desc in [keeping_empty_heaps(desc), fixed] {
            let allocator = allocator(&gpu, desc);
            drop(local(&allocator, 64 * KIB));
            drop(buffer(&allocator, &place(HeapType::Default, OWN), 3 * MIB));
            assert_eq!(!allocator.reserved().is_zero(), keeps, "{suballocation_algorithm} {flags:?}");
            assert_usage(&gpu, allocator.reserved());
            assert_returns_everything(&allocator, &gpu);
        }
    }
}

#[test]
fn allow_unified_memory_elsewhere_is_a_warning_and_nothing_else() {
    for profile in ["discrete", "uma"] {
        let gpu = open(profile);
        let (allocator, logged) = warnings(|| with_flags(&gpu, ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY));
        assert!(logged.iter().any(|line| line.contains("unified memory")), "{profile}: {logged:?}");
        let typed = local(&allocator, 1000);
        assert_eq!(properties_of(&typed).0.Type, D3D12_HEAP_TYPE_DEFAULT, "{profile}");
        let ((), logged) = warnings(|| drop(usual(&gpu)));
        assert_eq!(logged, Vec::<String>::new(), "{profile}");
    }
}

#[test]
fn never_leak_tells_of_what_outlives_the_allocator() {
    let gpu = any_device();
    for (flags, listed) in [(ResourceAllocatorFlags::NEVER_LEAK, 3), (NO_FLAGS, 0)] {
        let allocator = with_flags(&gpu, flags);
        let mut placed = local(&allocator, 1000);
        placed.set_debug_name("the mesh").expect("named");
        placed.set_user_data(77);
        let part = buffer(&allocator, &place(HeapType::Upload, WITHIN), 10);
        let committed = buffer(&allocator, &place(HeapType::Default, COMMITTED), 100);
        drop(local(&allocator, 5000));
        let ((), logged) = warnings(|| drop(allocator));
        let leaks: Vec<_> = logged.iter().filter(|line| line.contains("outlives its allocator")).collect();
        assert_eq!(leaks.len(), listed, "{flags:?}: {logged:?}");
        let tells = |leak: &&&String| leak.contains("the mesh") && leak.contains("user_data=77");
        assert!(leaks.first().is_none_or(|leak| tells(&leak)), "{leaks:?}");
        drop((placed, part, committed));
        assert_usage(&gpu, ByteSize::ZERO);
    }
}

#[test]
fn create_not_resident_and_create_not_zeroed_are_flags_of_every_heap() {
    let gpu = open("discrete");
    let cases = [
        (ResourceAllocatorFlags::CREATE_NOT_RESIDENT, D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT),
        (ResourceAllocatorFlags::CREATE_NOT_ZEROED, D3D12_HEAP_FLAG_CREATE_NOT_ZEROED),
    ];
    for (flag, expected) in cases {
        let faults = Faults::new(None, E_FAIL);
        inject(&gpu.device, &faults);
        let of = |flags| {
            let allocator = allocator(&gpu, flagged(flags));
            drop(local(&allocator, 1000));
            let committed = place(HeapType::Default, COMMITTED);
            drop(buffer(&allocator, &committed, 1000));
            let extra_required_heap_flags = D3D12_HEAP_FLAG_SHARED;
            let shared = ResourceAllocationDesc { extra_required_heap_flags, ..committed };
            drop(buffer(&allocator, &shared, 1000));
            let seen = faults.take_seen();
            let flags_of = |seen: &Seen| match seen {
                Seen::Heap { desc, .. } => Some(desc.Flags & expected),
                Seen::Committed { heap_flags, .. } => Some(heap_flags & expected),
                _ => None,
            };
            seen.iter().filter_map(flags_of).collect::<Vec<_>>()
        };
        assert_eq!(of(flag), [expected, expected, 0], "a heap and a committed resource, unless it is shared");
        assert_eq!(of(NO_FLAGS), [0; 3]);
    }
}

#[test]
fn never_over_allocate_gives_nothing_back_to_try_again() {
    for ((flags, fits), committed) in
        pairs([(ResourceAllocatorFlags::NEVER_OVER_ALLOCATE, false), (NO_FLAGS, true)], [false, true])
    {
        let gpu = open("discrete-2gib");
        // The default algorithm would release the heap before it requests another one.
        let suballocation_algorithm = Dedicated;
        let desc = ResourceAllocatorDesc { flags, suballocation_algorithm, ..Default::default() };
        let allocator = allocator(&gpu, desc);
        drop(local(&allocator, 1024 * MIB));
        assert_eq!(usage(&gpu), mib(1024), "the empty heap is kept");
        let how = if committed { COMMITTED } else { NONE };
        let large = try_buffer(&allocator, &place(HeapType::Default, how), 1536 * MIB);
        assert_eq!(large.is_ok(), fits, "committed: {committed}: {large:?}");
        if let Err(error) = large {
            assert!(error.is_out_of_memory(), "{error}");
            allocator.release_empty_heaps();
            drop(buffer(&allocator, &place(HeapType::Default, how), 1536 * MIB));
        }
    }
}

/// Each request fills a heap, or part of one that serves its size alone, so the next one may need another size.
#[test]
fn heaps_of_other_algorithms_are_not_made_because_the_last_is_full() {
    for algorithm in [BuddySystem, Dedicated, Slab] {
        let flags = ResourceAllocatorFlags::ALLOW_PREFETCH;
        let desc = keeping_empty_heaps(ResourceAllocatorDesc { flags, ..with_algorithm(algorithm) });
        let gpu = any_device();
        let allocator = ResourceAllocator::new(gpu.device(), gpu.adapter(), desc).expect("sound");
        let _full: Vec<_> = (0..2).map(|_| local(&allocator, 4 * MIB)).collect();
        allocator.audit().expect("consistent");
        assert_eq!(allocator.stats().empty_heap_count, 0, "{algorithm:?}");
    }
}

#[test]
fn never_tight_alignment_keeps_buffers_64_kib_apart() {
    let gpu = open("discrete");
    for (flags, alignment) in [(ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT, 64 * KIB), (NO_FLAGS, 256)] {
        let allocator = with_flags(&gpu, flags);
        let first = local(&allocator, 1);
        let second = local(&allocator, 1);
        assert_eq!(second.offset().get() - first.offset().get(), alignment);
        assert_eq!(second.alignment().get(), alignment);
        let is_tight = desc_of(&first).Flags & D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT != 0;
        assert_eq!(is_tight, flags.is_empty());
    }
}

#[test]
fn looking_for_what_to_prefetch_gives_no_empty_heap_up() {
    let (_gpu, allocator) = on(any_device(), flagged(ResourceAllocatorFlags::ALLOW_PREFETCH));
    let _small = local(&allocator, 1000);
    let _large = local(&allocator, 100 * MIB);
    drop(local(&allocator, 90 * MIB));
    let held = allocator.reserved();
    let _fits = local(&allocator, 1000);
    assert_eq!(allocator.reserved(), held, "the empty heap stays");
}
