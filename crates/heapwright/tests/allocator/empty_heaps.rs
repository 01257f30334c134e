//! Empty heaps serve any smaller request, and are given back: after some operations, frames or a second, and before the
//! budget is exceeded.

use crate::gpu::*;

/// The most that may be held empty after a while.
const LITTLE: ByteSize = mib(64);

fn with_policy(gpu: &Instance, empty_heap_policy: EmptyHeapPolicy) -> ResourceAllocator {
    allocator(gpu, of_policy(empty_heap_policy))
}

/// Allocates and frees 2 GiB in buffers of many sizes, and some textures.
fn peak(allocator: &ResourceAllocator) {
    let mut held: Vec<ResourceAllocation> =
        (0..400).map(|i| local(allocator, 10_000 * (i % 7 + 1))).collect();
    held.extend((0..200).map(|i| local(allocator, (1 + i % 20) * MIB)));
    held.extend((0..20).map(|_| create(allocator, &in_default(), &texture(1024, 1024))));
    drop(held);
}

#[test]
fn after_some_frames_little_is_held() {
    let (_gpu, allocator) = with_allocator(open("discrete"));
    peak(&allocator);
    let peaked = allocator.reserved();
    assert!(peaked > LITTLE);
    for _ in 0..300 {
        allocator.collect();
    }
    assert_eq!(allocator.reserved(), peaked, "collecting is not a frame");
    (0..300).for_each(|_| allocator.end_frame());
    assert!(allocator.reserved() <= LITTLE, "{} are held", allocator.reserved());
    allocator.audit().expect("consistent");
}

#[test]
fn after_a_second_what_is_empty_is_released() {
    let (_gpu, allocator) = with_allocator(open("discrete"));
    allocator.on_time(Duration::from_secs(7));
    peak(&allocator);
    assert!(allocator.reserved() > LITTLE);
    allocator.on_time(Duration::from_millis(7_400));
    assert!(allocator.reserved() > LITTLE, "a pause is not idleness");
    allocator.on_time(Duration::from_millis(8_500));
    assert!(allocator.reserved() <= LITTLE, "{} are held", allocator.reserved());
    allocator.audit().expect("consistent");
}

/// Returns an allocator that is told the time and one that is nested in it, whose heaps are empty after a peak.
fn allocators_after_peaks() -> [ResourceAllocator; 2] {
    let (_gpu, allocator) = with_allocator(open("discrete"));
    let nested = nested_in(&allocator, Default::default());
    allocator.on_time(Duration::ZERO);
    peak(&allocator);
    peak(&nested);
    [allocator, nested]
}

/// If the time is told often, a call releases a few heaps, as the thread does.
#[test]
fn the_heaps_of_a_peak_are_released_one_after_the_other() {
    let [allocator, nested] = allocators_after_peaks();
    let (mut calls, mut longest) = (0, Duration::ZERO);
    let taken = || allocator.heap_time().saturating_add(nested.heap_time());
    let before = taken();
    for step in 1..400 {
        let earlier = taken();
        allocator.on_time(Duration::from_millis(25) * step);
        let time = taken() - earlier;
        calls += u32::from(!time.is_zero());
        longest = longest.max(time);
    }
    assert_eq!(allocator.reserved().saturating_add(nested.reserved()), ByteSize::ZERO);
    let all = taken() - before;
    assert!(calls > 10 && longest * 8 < all, "{calls} calls of up to {longest:?}, {all:?} in all");
}

/// A time that is told again, or to a nested allocator, too, does not end the release of a peak's heaps.
#[test]
fn a_time_that_is_told_twice_is_as_if_told_once() {
    let steps_with = |times: u32| {
        let [allocator, nested] = allocators_after_peaks();
        let is_released = |step: &u32| {
            (0..times).for_each(|_| allocator.on_time(Duration::from_millis(25) * *step));
            (1..times).for_each(|_| nested.on_time(Duration::from_millis(25) * *step));
            allocator.reserved().saturating_add(nested.reserved()).is_zero()
        };
        (1..1000).find(is_released).expect("they are released")
    };
    assert!(steps_with(2) <= steps_with(1));
}

#[test]
fn until_the_next_free_at_most_one_heap_of_a_kind_is_empty() {
    let gpu = open("discrete");
    let allocator = with_policy(&gpu, EmptyHeapPolicy::UntilNextFree);
    let linear = PoolDesc { algorithm: Linear, ..Default::default() };
    for pool in [None, Some(PoolDesc::default()), Some(linear)] {
        let heap_size = Some(mib(4));
        let pool = pool.map(|desc| new_pool(&allocator, PoolDesc { heap_size, ..desc }));
        let place = ResourceAllocationDesc { pool: pool.as_ref(), ..Default::default() };
        let mut made: Vec<_> = (0..12).map(|_| buffer(&allocator, &place, MIB)).collect();
        let in_kinds_heaps = allocator.reserved();
        let others: Vec<_> = (0..8).map(|_| buffer(&allocator, &in_upload(), MIB)).collect();
        let held = || allocator.reserved().get();
        let of_others = held() - in_kinds_heaps.get();
        made.truncate(8);
        assert_eq!(held() - of_others, 12 * MIB, "one is empty");
        (0..1000).for_each(|_| drop(buffer(&allocator, &in_readback(), 32 * KIB)));
        allocator.on_time(Duration::from_secs(100));
        let readback = held_in(&allocator, HeapType::Readback).get();
        assert_eq!(held() - of_others - readback, 12 * MIB, "whatever happens elsewhere, at any time");
        made.truncate(7);
        assert_eq!(held() - of_others - readback, 8 * MIB, "a free that empties no heap");
        made.clear();
        assert_eq!(held() - of_others - readback, 4 * MIB, "one of two");
        drop(others);
        drop(pool);
        allocator.release_empty_heaps();
        assert_eq!(held(), 0);
    }
}

/// Returns an allocator that reads the clock.
fn with_clock(gpu: &Instance) -> ResourceAllocator {
    ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default()).expect("sound")
}

/// Waits until no more than a few bytes are held. The thread that releases them needs a second.
fn wait_for_release(held: impl Fn() -> ByteSize) {
    let end = std::time::Instant::now() + Duration::from_secs(120);
    while held() > LITTLE {
        assert!(std::time::Instant::now() < end, "{} are held", held());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn what_is_empty_is_released_without_a_call() {
    let gpu = open("discrete");
    let allocator = with_clock(&gpu);
    let nested = nested_in(&allocator, Default::default());
    let pool = pool(&allocator);
    for _ in 0..2 {
        peak(&allocator);
        peak(&nested);
        let pooled: Vec<_> = (0..10).map(|_| buffer(&allocator, &in_pool(&pool), 20 * MIB)).collect();
        drop(pooled);
        let parts: Vec<_> = (0..4000).map(|_| part(&allocator, 50_000)).collect();
        drop(parts);
        wait_for_release(|| allocator.reserved().saturating_add(nested.reserved()));
    }
    allocator.audit().expect("consistent");
    // One resource or one part suffices.
    for flags in [NONE, WITHIN] {
        let allocator = with_clock(&gpu);
        drop(buffer(&allocator, &place(HeapType::Upload, flags), 1000));
        wait_for_release(|| if allocator.reserved().is_zero() { ByteSize::ZERO } else { ByteSize::MAX });
    }
    // The thread ends with its allocator, also while memory is empty.
    peak(&allocator);
    drop(pool);
    drop((nested, allocator));
    assert_usage(&gpu, ByteSize::ZERO);
}

#[test]
fn the_policy_decides_between_memory_and_hitches() {
    let gpu = open("discrete");
    let [least, balanced, fewest] = [LeastMemory, EmptyHeapPolicy::Default, FewestHitches].map(|policy| {
        let allocator = with_policy(&gpu, policy);
        let mut held = 0;
        for round in 0..40 {
            let large: Vec<_> = (0..20).map(|_| local(&allocator, 10 * MIB)).collect();
            drop(large);
            // The pause is sometimes short and sometimes long.
            for _ in 0..if round % 2 == 0 { 100 } else { 400 } {
                drop(local(&allocator, 100_000));
                held += allocator.reserved().get() / MIB;
            }
        }
        (held, allocator.heap_time())
    });
    assert!(least.0 < balanced.0 && balanced.0 < fewest.0, "{least:?} {balanced:?} {fewest:?}");
    assert!(least.1 > balanced.1 && balanced.1 > fewest.1, "{least:?} {balanced:?} {fewest:?}");
}

#[test]
fn a_budget_that_sinks_is_met_by_the_next_frame() {
    let budget = mib(300);
    let gpu = with_budget(budget);
    let [one, never] = [NO_FLAGS, ResourceAllocatorFlags::NEVER_OVER_ALLOCATE]
        .map(|flags| allocator(&gpu, keeping_empty_heaps(flagged(flags))));
    drop(local(&never, 10 * MIB));
    drop(buffer(&one, &in_upload(), 10 * MIB));
    drop((0..25).map(|_| buffer(&one, &in_gpu_upload(), 10 * MIB)).collect::<Vec<_>>());
    drop(local(&one, 50 * MIB));
    // Another allocator of the process takes the memory.
    let other = usual(&gpu);
    let _held: Vec<_> = (0..20).map(|_| local(&other, 10 * MIB)).collect();
    never.end_frame();
    assert_eq!(never.reserved(), mib(10));
    assert!(usage_of(&gpu, LOCAL) > budget);
    one.end_frame();
    let usage = usage_of(&gpu, LOCAL);
    assert!(usage <= budget && usage >= mib(280), "{usage}: no more left than was missing");
    assert_eq!(held_in(&one, HeapType::Upload), mib(10), "the other segment group has room");
}

#[test]
fn an_empty_heap_is_used_whether_a_new_one_would_be_refused_or_not() {
    let limits = HeapLimits { default: Some(mib(200)), ..Default::default() };
    let never = ResourceAllocatorDesc { limits, ..flagged(ResourceAllocatorFlags::NEVER_OVER_ALLOCATE) };
    for (desc, flags) in [
        (Default::default(), NONE),
        (with_limits(limits), NONE),
        (never, NONE),
        (Default::default(), NEVER_ALLOCATE_HEAP),
    ] {
        let desc = keeping_empty_heaps(desc);
        let allocator = allocator(&any_device(), desc.clone());
        let [_full, empty] = [100, 100].map(|mib| local(&allocator, mib * MIB));
        drop(empty);
        assert_eq!(allocator.reserved(), mib(200));
        let (place, small) = (place(HeapType::Default, flags), buffer_desc(mib(3)));
        let probed = allocator.probe(&place, ResourceDesc::new(&small)).expect("there is room");
        assert_eq!(probed.memory, PredictedMemory::Held);
        let small = create(&allocator, &place, &small);
        assert_eq!(allocator.reserved(), mib(200), "{desc:?} {flags:?}");
        assert_eq!(allocator.stats().heaps_created, 2);
        drop(small);
        allocator.audit().expect("consistent");
    }
}

/// Creates and drops a buffer so many times.
fn pairs(allocator: &ResourceAllocator, count: usize, bytes: u64) {
    (0..count).for_each(|_| drop(local(allocator, bytes)));
}

fn part(allocator: &ResourceAllocator, bytes: u64) -> ResourceAllocation {
    buffer(allocator, &place(HeapType::Upload, WITHIN), bytes)
}

fn pool(allocator: &ResourceAllocator) -> Pool {
    new_pool(allocator, PoolDesc::default())
}

#[test]
fn operations_release_heaps_while_frames_stand_still() {
    let gpu = open("discrete");
    for (policy, most) in [(EmptyHeapPolicy::Default, 300), (LeastMemory, 5)] {
        // Eight slots count as one operation.
        for (bytes, most) in [(100_000, most), (1_000, 8 * most)] {
            let allocator = with_policy(&gpu, policy);
            allocator.on_time(Duration::ZERO);
            let _held = [100_000, 1_000].map(|bytes| local(&allocator, bytes));
            allocator.end_frame();
            drop(local(&allocator, 50 * MIB));
            let before = allocator.reserved();
            pairs(&allocator, most, bytes);
            assert!(allocator.reserved().get() + 49 * MIB <= before.get(), "{policy:?}, {bytes} bytes");
        }
    }
}

#[test]
fn frames_and_time_of_a_parent_age_nested_allocators() {
    let (_gpu, allocator) = with_allocator(open("discrete"));
    let middle = nested_in(&allocator, Default::default());
    let nested = nested_in(&middle, Default::default());
    let fill = || drop(local(&nested, 50 * MIB));
    fill();
    (0..119).for_each(|_| allocator.end_frame());
    assert!(!nested.reserved().is_zero());
    (0..2).for_each(|_| allocator.end_frame());
    assert!(nested.reserved().is_zero());
    // Frames of its own are not counted twice.
    fill();
    for _ in 0..119 {
        nested.end_frame();
        allocator.end_frame();
    }
    assert!(!nested.reserved().is_zero());
    nested.end_frame();
    assert!(nested.reserved().is_zero());
    allocator.on_time(Duration::ZERO);
    fill();
    allocator.on_time(Duration::from_millis(1_500));
    assert!(nested.reserved().is_zero());
}

#[test]
fn on_demand_only_the_minimum_of_a_pool_is_kept() {
    let on_demand = flagged(ResourceAllocatorFlags::ALWAYS_ON_DEMAND);
    let allocator = allocator(&any_device(), on_demand);
    drop(part(&allocator, 100));
    assert_eq!(allocator.reserved(), ByteSize::ZERO, "a part");
    let pool = pool(&allocator);
    drop(buffer(&allocator, &in_pool(&pool), MIB));
    assert_eq!(allocator.reserved(), ByteSize::ZERO, "a pool");
    // A slab in a second heap, while one of the first is in use.
    let _held = local(&allocator, 200);
    let _full: Vec<_> = (0..256).map(|_| local(&allocator, 65_536)).collect();
    let before = allocator.reserved();
    let mut more = Vec::new();
    while allocator.reserved() == before {
        more.push(local(&allocator, 8_000));
    }
    drop(more);
    assert_eq!(allocator.reserved(), before, "an unused slab");
    // A pool keeps its minimum, and no larger heap.
    let pool = new_pool(&allocator, PoolDesc { min_heap_count: 1, ..pool_of(kib(64)) });
    drop(buffer(&allocator, &in_pool(&pool), 70_000));
    assert_eq!(pool.totals().reserved, kib(64));
}

#[test]
fn the_policy_reaches_pools_and_parts_of_buffers() {
    let gpu = open("discrete");
    for (policy, is_kept) in [(LeastMemory, false), (FewestHitches, true)] {
        let allocator = with_policy(&gpu, policy);
        allocator.on_time(Duration::ZERO);
        let pool = pool(&allocator);
        drop(buffer(&allocator, &in_pool(&pool), 40 * MIB));
        let held = part(&allocator, 100);
        drop(part(&allocator, 60_000));
        pairs(&allocator, 300, 200_000);
        let held_in_pool = pool.totals().reserved;
        assert_eq!(!held_in_pool.is_zero(), is_kept, "{policy:?}: {held_in_pool} in the pool");
        drop(held);
    }
}

/// Other resources need the memory of unused backing buffers, which is not empty.
#[test]
fn unused_backing_buffers_leave_heaps_that_are_kept_for_ever() {
    for policy in [FewestHitches, SegmentedPool] {
        let allocator = with_policy(&open("discrete"), policy);
        drop(part(&allocator, 1000));
        let held = allocator.reserved();
        let buffers = || allocator.report().heaps.iter().map(|heap| heap.allocations.len()).sum::<usize>();
        assert_eq!(buffers(), 1, "{policy:?}");
        (0..300).for_each(|_| allocator.end_frame());
        assert_eq!((buffers(), allocator.reserved()), (0, held), "{policy:?}");
    }
}

/// The heaps of every algorithm, of the allocator and of a pool, and those of resources that have one of their own.
#[test]
fn the_policy_reaches_every_algorithm() {
    use SuballocationAlgorithm::Default as Sets;
    let gpu = open("discrete");
    for algorithm in POOL_ALGORITHMS {
        for (empty_heap_policy, frames) in [(EmptyHeapPolicy::Default, 120), (LeastMemory, 30)] {
            let of_allocator = if algorithm == Linear { Sets } else { algorithm };
            let desc = ResourceAllocatorDesc { empty_heap_policy, ..with_algorithm(of_allocator) };
            let allocator = allocator(&gpu, desc);
            let pool = new_pool(&allocator, PoolDesc { algorithm, ..Default::default() });
            let fill = || {
                drop(local(&allocator, 3 * MIB));
                drop(buffer(&allocator, &in_pool(&pool), 5 * MIB));
                let own = ResourceAllocationDesc { flags: OWN, ..Default::default() };
                drop(buffer(&allocator, &own, 7 * MIB));
            };
            let is_held = || [allocator.reserved(), pool.totals().reserved].map(|held| !held.is_zero());
            allocator.on_time(Duration::ZERO);
            fill();
            assert_eq!(is_held(), [true; 2], "{algorithm:?}, {empty_heap_policy:?}");
            (1..frames).for_each(|_| allocator.end_frame());
            assert_eq!(is_held(), [true; 2], "{algorithm:?}, {empty_heap_policy:?}");
            (0..20).for_each(|_| allocator.end_frame());
            assert_eq!(is_held(), [false; 2], "frames: {algorithm:?}, {empty_heap_policy:?}");
            fill();
            allocator.on_time(Duration::from_millis(1_500));
            assert_eq!(is_held(), [false; 2], "time: {algorithm:?}, {empty_heap_policy:?}");
            allocator.audit().expect("consistent");
        }
        // What was kept serves again.
        let allocator = allocator(&gpu, with_algorithm(if algorithm == Linear { Sets } else { algorithm }));
        allocator.on_time(Duration::ZERO);
        drop(local(&allocator, 3 * MIB));
        let kept = allocator.reserved();
        let again = local(&allocator, 3 * MIB);
        assert!(!kept.is_zero() && allocator.reserved() == kept, "{algorithm:?}");
        drop(again);
    }
}
