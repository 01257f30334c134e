//! Empty heaps serve any smaller request, and are given back: after some frames, after a second, and before the
//! budget is exceeded.

use std::time::Duration;

use crate::gpu::*;
use heapwright::*;
use heapwright_runtime::{HostProfile, Instance};

/// The most that may be held empty after a while.
const LITTLE: ByteSize = ByteSize::from_mib(64);

fn with_policy(gpu: &Instance, empty_heap_policy: EmptyHeapPolicy) -> ResourceAllocator {
    allocator(gpu, ResourceAllocatorDesc { empty_heap_policy, ..Default::default() })
}

/// Allocates and frees 2 GiB in buffers of many sizes, and some textures.
fn peak(allocator: &ResourceAllocator) {
    let mut held: Vec<ResourceAllocation> =
        (0..400).map(|i| local(allocator, 10_000 * (i % 7 + 1))).collect();
    held.extend((0..200).map(|i| local(allocator, (1 + i % 20) * MIB)));
    let place = HeapType::Default.into_place();
    held.extend((0..20).map(|_| create(allocator, &place, &texture(1024, 1024))));
    drop(held);
}

#[test]
fn after_some_frames_little_is_held() {
    let gpu = open("discrete");
    let frames: [fn(&ResourceAllocator); 2] = [
        |allocator| allocator.on_frame(),
        |allocator| {
            allocator.collect();
        },
    ];
    for frame in frames {
        let allocator = usual(&gpu);
        peak(&allocator);
        assert!(allocator.reserved() > LITTLE);
        for _ in 0..300 {
            frame(&allocator);
        }
        assert!(allocator.reserved() <= LITTLE, "{} are held", allocator.reserved());
        allocator.audit().expect("consistent");
    }
}

#[test]
fn the_next_calls_after_a_second_release_what_is_empty() {
    let gpu = open("discrete");
    let allocator = usual(&gpu);
    allocator.on_time(Duration::from_secs(7));
    peak(&allocator);
    assert!(allocator.reserved() > LITTLE);
    allocator.on_time(Duration::from_millis(7_400));
    assert!(allocator.reserved() > LITTLE, "a pause is not idleness");
    allocator.on_time(Duration::from_millis(8_500));
    assert!(allocator.reserved() <= LITTLE, "{} are held", allocator.reserved());
    allocator.audit().expect("consistent");
}

#[test]
fn the_clock_tells_that_a_second_passed() {
    let gpu = open("discrete");
    let allocator = usual(&gpu);
    peak(&allocator);
    std::thread::sleep(Duration::from_millis(1_100));
    for _ in 0..8 {
        drop(local(&allocator, 100));
    }
    assert!(allocator.reserved() <= LITTLE, "{} are held", allocator.reserved());
}

#[test]
fn the_policy_decides_between_memory_and_hitches() {
    let gpu = open("discrete");
    let [least, balanced, fewest] =
        [EmptyHeapPolicy::LeastMemory, EmptyHeapPolicy::Default, EmptyHeapPolicy::FewestHitches].map(
            |policy| {
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
                (held, allocator.estimated_heap_time())
            },
        );
    assert!(least.0 < balanced.0 && balanced.0 < fewest.0, "{least:?} {balanced:?} {fewest:?}");
    assert!(least.1 > balanced.1 && balanced.1 > fewest.1, "{least:?} {balanced:?} {fewest:?}");
}

/// Textures and buffers that take turns, each nearly as large as the memory.
#[test]
fn turns_at_the_peak_fail_nowhere_and_stay_within_the_budget() {
    let mut profile = *HostProfile::find("discrete").expect("a profile of that name");
    profile.local.capacity = ByteSize::from_mib(512);
    profile.local.budget = ByteSize::from_mib(480);
    let gpu = Instance::open(&profile).expect("a fresh instance");
    let budget = VideoMemoryInfo::query(&gpu.adapter, SegmentGroup::Local).expect("answered").budget;
    for policy in [EmptyHeapPolicy::LeastMemory, EmptyHeapPolicy::Default, EmptyHeapPolicy::FewestHitches] {
        let allocator = with_policy(&gpu, policy);
        let place = HeapType::Default.into_place();
        for turn in 0..20_u64 {
            let mut held = Vec::new();
            // 400 MiB, of sizes that differ from turn to turn.
            let size = 3 + turn % 5;
            for _ in 0..400 / (size * 2) {
                let buffer = try_buffer(&allocator, &place, size * MIB);
                held.push(buffer.unwrap_or_else(|error| panic!("turn {turn}: {error}")));
            }
            assert!(usage_of(&gpu, SegmentGroup::Local) <= budget, "turn {turn}");
            if turn % 3 == 0 {
                // Some remain while the others are exchanged.
                held.truncate(held.len() / 2);
            } else {
                held.clear();
            }
            for _ in 0..200 / 4 {
                let texture = allocator.create_resource(&place, &texture(1024, 1024), COMMON, None);
                held.push(texture.unwrap_or_else(|error| panic!("turn {turn}: {error}")));
                assert!(usage_of(&gpu, SegmentGroup::Local) <= budget, "turn {turn}");
            }
        }
        allocator.audit().expect("consistent");
    }
}

#[test]
fn a_budget_that_sinks_is_met_by_the_next_frame() {
    let mut profile = *HostProfile::find("discrete").expect("a profile of that name");
    profile.local.budget = ByteSize::from_mib(300);
    let gpu = Instance::open(&profile).expect("a fresh instance");
    let one = usual(&gpu);
    drop((0..25).map(|_| local(&one, 10 * MIB)).collect::<Vec<_>>());
    // Another allocator of the process takes the memory.
    let other = usual(&gpu);
    let _held: Vec<_> = (0..20).map(|_| local(&other, 10 * MIB)).collect();
    let budget = ByteSize::from_mib(300);
    assert!(usage_of(&gpu, SegmentGroup::Local) > budget);
    one.on_frame();
    assert!(usage_of(&gpu, SegmentGroup::Local) <= budget);
}

#[test]
fn an_empty_heap_is_used_whether_a_new_one_would_be_refused_or_not() {
    let limits = HeapLimits { default: Some(ByteSize::from_mib(200)), ..Default::default() };
    let never = ResourceAllocatorDesc { limits, ..flagged(ResourceAllocatorFlags::NEVER_OVER_ALLOCATE) };
    for (desc, flags) in [
        (Default::default(), NONE),
        (with_limits(limits), NONE),
        (never, NONE),
        (Default::default(), ResourceAllocationFlags::NEVER_ALLOCATE_HEAP),
    ] {
        let allocator = allocator(&any_device(), desc.clone());
        let [_full, empty] = [100, 100].map(|mib| local(&allocator, mib * MIB));
        drop(empty);
        assert_eq!(allocator.reserved(), ByteSize::from_mib(200));
        let (place, small) = (place(HeapType::Default, flags), buffer_desc(ByteSize::from_mib(3)));
        let probed = allocator.probe(&place, &ResourceDesc::new(&small)).expect("there is room");
        assert_eq!(probed.memory, ProbedMemory::Held);
        let small = create(&allocator, &place, &small);
        assert_eq!(allocator.reserved(), ByteSize::from_mib(200), "{desc:?} {flags:?}");
        assert_eq!(allocator.stats().heaps_created, 2);
        drop(small);
        allocator.audit().expect("consistent");
    }
}
