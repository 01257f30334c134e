//! Every number that an allocator reports, compared with the calls made and with the adapter's numbers.

use crate::faulty_device::{Call, faulty_first};
use crate::gpu::*;

fn sum(sizes: &[ByteSize]) -> ByteSize {
    ByteSize::new(sizes.iter().map(|size| size.get()).sum())
}

#[test]
fn every_field_of_the_statistics_counts_what_it_says() {
    let (gpu, allocator) = on(open("discrete"), with_algorithm(Slab));
    assert_eq!(allocator.stats(), Default::default(), "nothing yet");
    let flags = |flags| place(HeapType::Upload, flags);
    let shared = local(&allocator, 64 * KIB);
    let own = buffer(&allocator, &flags(OWN), 100 * KIB);
    let committed = buffer(&allocator, &flags(COMMITTED), 300 * KIB);
    let part = buffer(&allocator, &flags(WITHIN), 1000);
    drop(local(&allocator, 200 * KIB));

    let stats = allocator.stats();
    let used = [shared.size(), own.size(), committed.size(), part.size()];
    assert_eq!(stats.used, sum(&used));
    assert_eq!((stats.allocation_count, stats.used_block_count), (4, 3));
    // 64 KiB shared, 128 KiB own heap, the committed resource, the backing buffer of the part, and 256 KiB
    // empty.
    let backing = ByteSize::new(desc_of(&part).Width);
    assert_eq!(stats.reserved, sum(&[kib(64 + 128 + 256), committed.size(), backing]));
    assert_eq!(stats.reserved, usage(&gpu));
    assert_eq!(stats.reserved, allocator.reserved());
    assert_eq!((stats.heap_count, stats.used_heap_count, stats.empty_heap_count), (5, 4, 1));
    assert_eq!((stats.committed, stats.committed_count), (committed.size(), 1));
    assert_eq!(stats.free_heap_usage, kib(256));
    assert_eq!(stats.used_heap_usage, stats.reserved.saturating_sub(stats.free_heap_usage));
    assert_eq!(stats.heaps_created, 4);
    assert_eq!((stats.size_cache_misses, stats.size_cache_hits), (3, 0));
    assert_eq!((stats.imported_count, stats.deferred_count), (0, 0));

    // Totals of each heap type and of each segment group.
    let report = allocator.report();
    let [default, upload] = [HeapType::Default, HeapType::Upload].map(|of| {
        let found = report.heap_types.iter().find(|other| other.heap_type == of.into());
        found.expect("it has heaps").totals
    });
    assert_eq!((default.used, default.allocation_count), (shared.size(), 1));
    assert_eq!((default.reserved, default.heap_count, default.empty_heap_count), (kib(320), 2, 1));
    assert_eq!((upload.used, upload.allocation_count), (sum(&[own.size(), part.size()]), 2));
    assert_eq!((upload.committed.size, upload.committed.count), (committed.size(), 1));
    for (of, totals) in report.segment_groups.iter().zip([default, upload]) {
        assert_eq!(of.totals, totals, "{}", of.segment_group);
        let held = totals.reserved.saturating_add(totals.committed.size);
        assert_eq!(held, usage_of(&gpu, of.segment_group), "{}", of.segment_group);
    }
    drop((shared, own, committed, part));
    let stats = allocator.stats();
    assert_eq!((stats.used, stats.allocation_count), (ByteSize::ZERO, 0));
    assert_eq!(stats.free_heap_usage.saturating_sub(stats.reserved), ByteSize::ZERO);
    assert_returns_everything(&allocator, &gpu);
}

/// A limit that permits no further heap of the allocator's size, but a committed resource, is the reason for that.
#[test]
fn the_reason_for_a_committed_resource_names_the_limit() {
    let gpu = open("discrete");
    let desc = |limits| ResourceAllocatorDesc {
        suballocation_algorithm: BuddySystem,
        preferred_heap_size: Some(mib(1)),
        limits,
        ..Default::default()
    };
    // The algorithm rounds to a power of two.
    let limit = kib(700);
    let limited = allocator(&gpu, desc(HeapLimits { default: Some(limit), ..Default::default() }));
    let made = local(&limited, 640 * KIB);
    let decision = made.info().decision;
    assert_eq!((decision.placement, decision.reason), (Placement::Committed, PlacementReason::HeapTypeLimit));
    assert_eq!(limited.report().decisions[0].reason, decision.to_string());
}

#[test]
fn unusual_decisions_are_counted_with_their_reasons() {
    let (gpu, faults) = faulty_first(Some(Call::CreateHeap), E_OUTOFMEMORY);
    let desc = ResourceAllocatorDesc {
        suballocation_algorithm: BuddySystem,
        preferred_heap_size: Some(mib(1)),
        ..Default::default()
    };
    let allocator = allocator(&gpu, desc);
    let make = |flags, heap_flags, size| {
        let place = ResourceAllocationDesc {
            extra_required_heap_flags: heap_flags,
            ..place(HeapType::Default, flags)
        };
        buffer(&allocator, &place, size)
    };
    let mut made = vec![
        make(NONE, 0, 100),
        make(NONE, 0, 3 * MIB),
        make(OWN, 0, 100),
        make(COMMITTED, 0, 100),
        make(NONE, D3D12_HEAP_FLAG_SHARED, 100),
    ];
    faults.fail_all();
    made.push(make(NONE, 0, 2 * MIB));
    let expected = [
        decided(Placement::SharedHeap, PlacementReason::Usual),
        decided(Placement::OwnHeap, PlacementReason::TooLargeToShare),
        decided(Placement::OwnHeap, PlacementReason::AllocationFlag),
        decided(Placement::Committed, PlacementReason::AllocationFlag),
        decided(Placement::Committed, PlacementReason::ExtraHeapFlags),
        decided(Placement::Committed, PlacementReason::OutOfMemory),
    ];
    assert_eq!(made.iter().map(|one| one.info().decision).collect::<Vec<_>>(), expected);
    let counted = allocator.report().decisions.into_iter();
    let mut counted: Vec<_> = counted.map(|of| (of.reason, of.count)).collect();
    counted.sort();
    let mut unusual: Vec<_> = expected[1..].iter().map(|decision| (decision.to_string(), 1)).collect();
    unusual.sort();
    assert_eq!(counted, unusual, "all but the usual one, which is left out");
}

#[test]
fn heaps_go_back_by_bytes_whole_ones_and_no_more_than_needed() {
    let (gpu, allocator) = on(any_device(), with_algorithm(Dedicated));
    let fill = || {
        let held = [1, 2, 4, 8].map(|mib| local(&allocator, mib * MIB));
        drop(held);
        drop(buffer(&allocator, &in_upload(), MIB));
        assert_eq!(allocator.reserved(), mib(16));
    };
    // GPGMM's arithmetic releases 200 of 300, and everything when 100 of 1920 are requested.
    for (asked, released) in
        [(0, 0), (1, MIB), (MIB, MIB), (3 * MIB, 4 * MIB), (9 * MIB, 9 * MIB), (u64::MAX, 16 * MIB)]
    {
        fill();
        let before = counted(&gpu);
        let answered = allocator.release_resource_heaps(ByteSize::new(asked));
        assert_eq!(answered, ByteSize::new(released), "{asked} bytes");
        // A real GPU may have more to give back, for the alignment of addresses.
        let most = before.map(|before| before.saturating_sub(answered));
        assert!(counted(&gpu) <= most, "the device has them back: {:?}, {most:?}", counted(&gpu));
        allocator.release_empty_heaps();
    }
    // Heaps in use are kept.
    let held = local(&allocator, MIB);
    assert_eq!(allocator.release_empty_heaps(), ByteSize::ZERO);
    assert_returned(held, &allocator, &gpu);
}

#[test]
fn a_heap_with_nothing_but_an_unused_backing_buffer_is_free() {
    let (gpu, allocator) = with_allocator(any_device());
    let within = place(HeapType::Upload, WITHIN);
    let part = || buffer(&allocator, &within, 1000);
    let one = part();
    let stats = allocator.stats();
    assert_eq!((stats.used_heap_count, stats.empty_heap_count), (1, 0), "{stats:?}");
    drop(one);
    let stats = allocator.stats();
    assert_eq!((stats.used_heap_count, stats.used_heap_usage), (0, ByteSize::ZERO), "{stats:?}");
    assert_eq!((stats.empty_heap_count, stats.free_heap_usage), (1, stats.reserved), "{stats:?}");
    assert_eq!(allocator.report().totals.empty_heap_count, 1);
    // A request that does not fit beside the buffer is placed in another heap.
    let beside = buffer(&allocator, &in_upload(), 256 << 10);
    let stats = allocator.stats();
    assert_eq!((stats.used_heap_count, stats.empty_heap_count), (1, 1), "{stats:?}");
    drop(beside);
    assert_eq!(allocator.stats().used_heap_count, 0);
    assert_returned(part(), &allocator, &gpu);
}

/// The report and the statistics agree on what is empty.
#[track_caller]
fn assert_empty(allocator: &ResourceAllocator, count: u64) {
    let (stats, report) = (allocator.stats(), allocator.report());
    assert_eq!([stats.empty_heap_count, report.totals.empty_heap_count], [count; 2], "{stats:?}");
}

/// Neither is a slab without a used slot in a heap or in a buffer, nor both of them in one heap.
#[test]
fn a_heap_with_nothing_but_unused_slabs_and_buffers_is_empty() {
    for algorithm in ALGORITHMS {
        let desc = keeping_empty_heaps(with_algorithm(algorithm));
        let allocator = allocator(&open("discrete"), desc);
        let part = |bytes| buffer(&allocator, &place(HeapType::Upload, WITHIN), bytes);
        let upload = in_upload();
        // While one is live, unused slabs of other sizes are kept in the same thread's lane.
        let held = [buffer(&allocator, &in_upload(), 3000), part(20_000)];
        assert_empty(&allocator, 0);
        let small: Vec<_> = (0..2000).map(|_| buffer(&allocator, &upload, 5000)).collect();
        let parts: Vec<_> = (0..3000).map(|_| part(400)).collect();
        assert_empty(&allocator, 0);
        drop((small, parts));
        let stats = allocator.stats();
        assert_empty(&allocator, stats.empty_heap_count);
        assert_eq!(allocator.release_empty_heaps(), stats.free_heap_usage, "{algorithm:?}, {stats:?}");
        assert_empty(&allocator, 0);
        drop(held);
        assert_empty(&allocator, allocator.stats().heap_count);
        allocator.release_empty_heaps();
        assert_eq!(allocator.reserved(), ByteSize::ZERO);
    }
}

#[test]
fn the_message_of_a_shortage_tells_what_is_held_when_it_is_read() {
    let allocator = allocator(&open("discrete"), limited_to(mib(8)));
    let held = local(&allocator, 8 * MIB);
    let error = refused(try_buffer(&allocator, &Default::default(), MIB), Error::is_over_budget);
    assert!(error.to_string().contains("(8.00 MiB used of 8.00 MiB reserved)"), "{error}");
    drop(held);
    assert!(error.to_string().contains("(0 B used of 8.00 MiB reserved)"), "{error}");
    drop(allocator);
    let message = error.to_string();
    let begins = "out of memory: cannot allocate 1.00 MiB in DEFAULT heaps; tried";
    assert!(message.starts_with(begins), "{message}");
}

#[test]
fn pools_are_counted_while_they_exist() {
    let (gpu, allocator) = with_allocator(open("discrete"));
    let empty = allocator.stats();
    let mut pools = Vec::new();
    let desc = PoolDesc { min_heap_count: 1, ..pool_of(kib(64)) };
    pools.extend((0..3000).map(|_| new_pool(&allocator, desc.clone())));
    let stats = allocator.stats();
    assert_eq!((stats.heap_count, stats.empty_heap_count), (3000, 3000));
    assert_eq!((stats.reserved, stats.free_heap_usage), (usage(&gpu), usage(&gpu)));
    let place = in_pool(&pools[1234]);
    let held = buffer(&allocator, &place, 1000);
    let changed = allocator.stats();
    assert_eq!((changed.allocation_count, changed.used, changed.empty_heap_count), (1, held.size(), 2999));
    drop(held);
    assert_eq!(allocator.stats(), stats);
    // Dropped pools are no longer counted.
    pools.truncate(1000);
    assert_eq!(allocator.stats().heap_count, 1000);
    drop(pools);
    assert_eq!(allocator.stats().reserved, empty.reserved);
    assert_returns_everything(&allocator, &gpu);
}

#[derive(Debug, Clone)]
enum PoolStep {
    Create { pool: usize, size: u64, own: bool },
    Drop(usize),
    Release(usize),
    ReleaseAll,
    Add,
    Remove(usize),
    Defragment(usize),
    Look,
}

fn pool_steps() -> impl proptest::strategy::Strategy<Value = Vec<PoolStep>> {
    use proptest::prelude::*;
    let create = (any::<usize>(), 1..400_000_u64, any::<bool>())
        .prop_map(|(pool, size, own)| PoolStep::Create { pool, size, own });
    let step = prop_oneof![
        8 => create,
        6 => any::<usize>().prop_map(PoolStep::Drop),
        1 => any::<usize>().prop_map(PoolStep::Release),
        1 => Just(PoolStep::ReleaseAll),
        2 => Just(PoolStep::Add),
        1 => any::<usize>().prop_map(PoolStep::Remove),
        1 => any::<usize>().prop_map(PoolStep::Defragment),
        2 => Just(PoolStep::Look),
    ];
    proptest::collection::vec(step, 1..60)
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 256, ..Default::default() })]

    /// The sums equal the contents of the pools after any sequence of steps.
    #[test]
    fn the_sums_over_pools_are_what_each_holds(steps in pool_steps()) {
        let (gpu, allocator) = with_allocator(open("discrete"));
        let (mut pools, mut live) = (Vec::new(), Vec::new());
        let algorithms = POOL_ALGORITHMS;
        let look = |pools: &[Pool], live: &[ResourceAllocation]| {
            let stats = allocator.stats();
            assert_eq!(stats.allocation_count, live.len() as u64);
            // A pool lives on while it has allocations, so not all pools can be inspected; the device's
            // usage can.
            assert_eq!(stats.used, sum(&live.iter().map(ResourceAllocation::size).collect::<Vec<_>>()));
            let of_pools: u64 = pools.iter().map(|pool| pool.totals().empty_heap_count).sum();
            assert!(stats.empty_heap_count >= of_pools, "{stats:?}, {of_pools} in pools");
            allocator.audit().expect("consistent");
        };
        for step in steps {
            match step {
                PoolStep::Add => {
                    let algorithm = algorithms[pools.len() % algorithms.len()];
                    let min_heap_count = u32::try_from(pools.len() % 2).expect("small");
                    let heap_size = (min_heap_count > 0).then_some(mib(1));
                    let desc = PoolDesc { algorithm, min_heap_count, heap_size, ..Default::default() };
                    pools.extend(allocator.create_pool(desc).ok());
                }
                PoolStep::Create { pool, size, own } => {
                    let pool = if pools.is_empty() { None } else { Some(&pools[pool % pools.len()]) };
                    let flags = if own { OWN } else { NONE };
                    let place = ResourceAllocationDesc { pool, flags, ..Default::default() };
                    live.extend(try_buffer(&allocator, &place, size).ok());
                }
                PoolStep::Drop(number) if !live.is_empty() => drop(live.swap_remove(number % live.len())),
                PoolStep::Remove(number) if !pools.is_empty() => {
                    drop(pools.swap_remove(number % pools.len()));
                }
                PoolStep::Release(number) if !pools.is_empty() => {
                    pools[number % pools.len()].release_empty_heaps();
                }
                PoolStep::ReleaseAll => drop(allocator.release_empty_heaps()),
                PoolStep::Defragment(number) if !pools.is_empty() => {
                    let pool = Some(&pools[number % pools.len()]);
                    let desc = DefragmentationDesc { pool };
                    if let Ok(mut run) = allocator.defragment(desc) {
                        drop(run.step(Default::default()));
                    }
                }
                PoolStep::Look => look(&pools, &live),
                _ => {}
            }
        }
        look(&pools, &live);
        live.clear();
        look(&pools, &live);
        pools.clear();
        assert_returns_everything(&allocator, &gpu);
    }
}

#[test]
fn sums_over_pools_are_right_again_when_threads_are_done() {
    let (gpu, allocator) = with_allocator(open("discrete"));
    let pools: Vec<_> = (0..8).map(|_| new_pool(&allocator, PoolDesc::default())).collect();
    for round in 0..20_u64 {
        let held: Vec<ResourceAllocation> = std::thread::scope(|scope| {
            let looks = scope.spawn(|| {
                for _ in 0..200 {
                    assert!(allocator.stats().allocation_count <= 4 * 60);
                }
            });
            let threads: Vec<_> = (0..4_usize)
                .map(|thread| {
                    let (allocator, pools) = (&allocator, &pools);
                    scope.spawn(move || {
                        let mut held = Vec::new();
                        for number in 0..60 {
                            let pool = Some(&pools[(thread + number) % pools.len()]);
                            let place = ResourceAllocationDesc { pool, ..Default::default() };
                            held.push(buffer(allocator, &place, 1000 * (number as u64 % 90 + round + 1)));
                            if number % 3 == 0 {
                                held.swap_remove(number % held.len());
                            }
                        }
                        held
                    })
                })
                .collect();
            looks.join().expect("no panic");
            threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
        });
        let stats = allocator.stats();
        assert_eq!(stats.allocation_count, held.len() as u64);
        assert_eq!(stats.used, sum(&held.iter().map(ResourceAllocation::size).collect::<Vec<_>>()));
        assert_eq!(stats.reserved, usage(&gpu));
        allocator.audit().expect("consistent");
        // Each allocation is freed by a thread other than the one that made it.
        std::thread::scope(|scope| drop(scope.spawn(|| drop(held)).join()));
        assert_eq!(allocator.stats().allocation_count, 0);
    }
    assert_returned(pools, &allocator, &gpu);
}
