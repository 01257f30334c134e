//! Random programs over allocators, nested allocators, pools and parts of buffers, with frames and time: empty heaps
//! leave as documented.

use proptest::prelude::*;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::gpu::*;

#[derive(Debug, Clone)]
enum Step {
    /// Creates a buffer: where, and how large.
    Create(Place, u64),
    /// Frees one of the buffers.
    Free(usize),
    /// Creates and frees a buffer so many times.
    Pairs(Place, u64, u16),
    Frame(usize),
    Collect(usize),
    Milliseconds(u64),
    Release(u64),
}

#[derive(Debug, Clone, Copy)]
enum Place {
    /// A heap of the allocator with this index.
    Of(usize, HeapType),
    Pool,
    Part(HeapType),
}

fn heap_type() -> impl Strategy<Value = HeapType> {
    prop_oneof![Just(HeapType::Default), Just(HeapType::Upload), Just(HeapType::Readback)]
}

fn any_place() -> impl Strategy<Value = Place> {
    prop_oneof![
        4 => (0..3_usize, heap_type()).prop_map(|(of, heap_type)| Place::Of(of, heap_type)),
        1 => Just(Place::Pool),
        2 => heap_type().prop_map(Place::Part),
    ]
}

fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![1..20_000_u64, 20_000..2_000_000_u64, MIB..80 * MIB]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (any_place(), bytes()).prop_map(|(at, bytes)| Step::Create(at, bytes)),
        5 => any::<usize>().prop_map(Step::Free),
        1 => (any_place(), bytes(), 1..100_u16).prop_map(|(at, bytes, count)| Step::Pairs(at, bytes, count)),
        1 => (0..3_usize).prop_map(Step::Frame),
        1 => (0..3_usize).prop_map(Step::Collect),
        1 => (1..700_u64).prop_map(Step::Milliseconds),
        1 => (1..100 * MIB).prop_map(Step::Release),
    ]
}

struct World {
    /// The second is nested in the first, and the third in the second.
    allocators: [ResourceAllocator; 3],
    pool: Pool,
    live: Vec<ResourceAllocation>,
    time: Duration,
}

impl World {
    fn new(policy: EmptyHeapPolicy, flags: ResourceAllocatorFlags) -> Self {
        let gpu = open("discrete");
        let desc = || ResourceAllocatorDesc { empty_heap_policy: policy, flags, ..Default::default() };
        let first = allocator(&gpu, desc());
        let second = first.create_nested(desc()).expect("it can be nested");
        let third = second.create_nested(desc()).expect("it can be nested");
        first.on_time(Duration::ZERO);
        let pool = first.create_pool(PoolDesc::default()).expect("pools are supported");
        Self { allocators: [first, second, third], pool, live: Vec::new(), time: Duration::ZERO }
    }

    fn held(&self) -> ByteSize {
        self.allocators.iter().map(ResourceAllocator::reserved).fold(ByteSize::ZERO, ByteSize::saturating_add)
    }

    fn create(&self, at: Place, bytes: u64) -> ResourceAllocation {
        let desc = buffer_of(bytes);
        match at {
            Place::Of(of, heap_type) => create(&self.allocators[of], &place(heap_type, NONE), &desc),
            Place::Pool => create(&self.allocators[0], &in_pool(&self.pool), &desc),
            Place::Part(heap_type) => create(&self.allocators[0], &place(heap_type, WITHIN), &desc),
        }
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::Create(at, bytes) => self.live.push(self.create(at, bytes)),
            Step::Free(_) if self.live.is_empty() => {}
            Step::Free(which) => drop(self.live.swap_remove(which % self.live.len())),
            Step::Pairs(at, bytes, count) => (0..count).for_each(|_| drop(self.create(at, bytes))),
            Step::Frame(of) => self.allocators[of].end_frame(),
            Step::Collect(of) => drop(self.allocators[of].collect()),
            Step::Milliseconds(more) => {
                self.time += Duration::from_millis(more);
                self.allocators[0].on_time(self.time);
            }
            Step::Release(bytes) => drop(self.allocators[0].release_resource_heaps(ByteSize::new(bytes))),
        }
    }

    fn audit(&self) {
        self.allocators.iter().for_each(|allocator| allocator.audit().expect("consistent"));
    }
}

/// Lets the operations, frames or time pass after which a policy keeps no empty heap.
fn wait(world: &mut World, how: usize, operations: u64, frames: u64, seconds: u64) {
    match how {
        0 => {
            // With long frames, heaps are kept for more operations.
            (0..2).for_each(|_| world.allocators[0].end_frame());
            // Until what is unused is recognized, and then until it is old.
            let _one = world.create(Place::Of(0, HeapType::Upload), 300_000);
            (0..operations).for_each(|_| drop(world.create(Place::Of(0, HeapType::Upload), 300_000)));
        }
        // At most a sixteenth leaves with each frame, and a heap that an empty buffer kept in use is empty only then.
        1 => (0..2 * frames + 100).for_each(|_| world.allocators[0].end_frame()),
        _ => {
            let end = world.time + Duration::from_millis(2_000 * seconds + 1_000);
            while world.time < end {
                world.time += Duration::from_millis(500);
                world.allocators[0].on_time(world.time);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn nothing_is_held_after_the_documented_time(
        steps in prop::collection::vec(step(), 1..120),
        policy in 0..2_usize,
        how in 0..3_usize,
    ) {
        let (policy, operations, frames, seconds) = [
            (EmptyHeapPolicy::Default, 10_000, 120, 60),
            // Of kinds that nothing is created in, slabs, then backing buffers, then heaps leave with one look each, at
            // most some 400 operations (of which a pair is two) after the last.
            (LeastMemory, 1_000, 30, 1),
        ][policy];
        let mut world = World::new(policy, ResourceAllocatorFlags::empty());
        for step in &steps {
            world.run(step);
        }
        world.audit();
        world.live.clear();
        wait(&mut world, how, operations, frames, seconds);
        // The heaps of the buffers by which the operations were counted.
        let of_wait = if how == 0 { held_in(&world.allocators[0], HeapType::Upload) } else { ByteSize::ZERO };
        // Nested allocators look at their heaps when they are called or told of frames and time.
        let held = if how == 0 { world.allocators[0].reserved() } else { world.held() };
        let rest = held.saturating_sub(of_wait);
        prop_assert_eq!(rest, ByteSize::ZERO, "{:?}, {}", policy, how);
        world.audit();
    }

    #[test]
    fn on_demand_nothing_is_held_when_everything_was_freed(steps in prop::collection::vec(step(), 1..60)) {
        let mut world = World::new(EmptyHeapPolicy::Default, ResourceAllocatorFlags::ALWAYS_ON_DEMAND);
        for step in &steps {
            world.run(step);
        }
        world.live.clear();
        prop_assert_eq!(world.held(), ByteSize::ZERO);
    }
}

/// Returns the sum of what is held after each step, of all programs.
fn held_by(programs: &[Vec<Step>], policy: EmptyHeapPolicy) -> u64 {
    let mut held = 0;
    for steps in programs {
        let mut world = World::new(policy, ResourceAllocatorFlags::empty());
        for step in steps {
            world.run(step);
            held += world.held().get() >> 10;
        }
        world.live.clear();
        held += world.held().get() >> 10;
    }
    held
}

/// In a single program, a heap may happen to be kept in use by a small buffer under one policy only.
#[test]
fn the_least_memory_is_less_than_the_default() {
    let mut runner = TestRunner::deterministic();
    let program = prop::collection::vec(step(), 1..120);
    let programs: Vec<_> =
        (0..200).map(|_| program.new_tree(&mut runner).expect("steps").current()).collect();
    let [least, default] = [LeastMemory, EmptyHeapPolicy::Default].map(|policy| held_by(&programs, policy));
    assert!(least < default, "{least} KiB instead of {default}");
}

/// Bursts after pauses of a second to five minutes: of random sizes, many at once.
fn bursts(policy: EmptyHeapPolicy) -> (u64, u64) {
    let mut world = World::new(policy, ResourceAllocatorFlags::empty());
    let mut held = 0;
    for burst in 0..40_u64 {
        world.run(&Step::Milliseconds(1_000 + burst * burst * 199_000 / 1_000));
        for step in 0..100 {
            let bytes = (1 + (burst * 7 + step * 31) % 40) * MIB / 2;
            world.live.push(world.create(Place::Of(0, HeapType::Default), bytes));
            if step >= 20 {
                drop(world.live.swap_remove((step * 13 % 20) as usize));
            }
            held += world.held().get() >> 20;
        }
        world.live.clear();
    }
    (held, world.allocators[0].stats().heaps_created)
}

/// Each policy keeps its promise: the one holds less, the other creates fewer heaps.
#[test]
fn policies_keep_their_promises_with_pauses() {
    let [least, default, segmented, fewest] =
        [LeastMemory, EmptyHeapPolicy::Default, SegmentedPool, FewestHitches].map(bursts);
    assert!(least.0 < default.0 && default.0 < segmented.0, "{least:?} {default:?} {segmented:?}");
    assert!(least.1 > default.1 && default.1 > segmented.1, "{least:?} {default:?} {segmented:?}");
    assert!(fewest.1 < segmented.1, "{fewest:?} {segmented:?}");
}

/// A peak, and then only small buffers.
#[test]
fn the_least_memory_releases_a_peak_no_later_than_the_default() {
    let [least, default] = [LeastMemory, EmptyHeapPolicy::Default].map(|policy| {
        let world = World::new(policy, ResourceAllocatorFlags::empty());
        let peak: Vec<_> = (1..40).map(|i| world.create(Place::Of(0, HeapType::Default), i * MIB)).collect();
        let _small = world.create(Place::Of(0, HeapType::Default), 100 << 10);
        drop(peak);
        let pairs = (0..2_000).map(|_| {
            drop(world.create(Place::Of(0, HeapType::Default), 100 << 10));
            world.held()
        });
        pairs.collect::<Vec<_>>()
    });
    let released = |held: &[ByteSize]| held.iter().position(|&held| held <= mib(128));
    let [least, default] = [least, default].map(|held| released(&held).expect("released in time"));
    assert!(least < default, "after {least} pairs instead of {default}");
}
