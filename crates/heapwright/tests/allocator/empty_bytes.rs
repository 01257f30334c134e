//! Heaps that only resources of their own size can use: with every algorithm and policy, no more is held than was in
//! use at once, or with `FewestHitches` and `SegmentedPool` twice as much.

use std::collections::VecDeque;

use crate::gpu::*;

/// Not `FixedPool`, which keeps nothing without a preferred size.
const POLICIES: [EmptyHeapPolicy; 4] = {
    use EmptyHeapPolicy::{Default, FewestHitches, LeastMemory, SegmentedPool};
    [LeastMemory, Default, FewestHitches, SegmentedPool]
};

/// Where the resources of a scenario are.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Shared,
    /// Each in a heap of its own.
    Own,
    Nested,
    /// By turns in the allocator and in one that is nested in it.
    Both,
    Pool,
    OwnInPool,
}

const PLACES: [Place; 6] =
    [Place::Shared, Place::Own, Place::Nested, Place::Both, Place::Pool, Place::OwnInPool];

/// How the sizes of resources follow one another, in units of 64 KiB.
#[derive(Debug, Clone, Copy)]
enum Sizes {
    Growing,
    Shrinking,
    /// Around a mean, without an order.
    Mixed,
}

impl Sizes {
    fn units(self, number: u64) -> u64 {
        match self {
            Self::Growing => 16 + number,
            Self::Shrinking => 300 - number,
            Self::Mixed => 16 + (number * 7_919 + number * number * 31) % 200,
        }
    }
}

/// Replaces the resources of a frame by others of new sizes, four in a frame, the oldest before or after the new one is
/// created. Checks after each step what is held, and returns the sum of that, in MiB.
fn run(
    algorithm: SuballocationAlgorithm,
    policy: EmptyHeapPolicy,
    at: Place,
    sizes: Sizes,
    is_freed_first: bool,
) -> u64 {
    let of_allocator = match algorithm {
        Linear => SuballocationAlgorithm::Default,
        algorithm => algorithm,
    };
    let desc = ResourceAllocatorDesc { empty_heap_policy: policy, ..with_algorithm(of_allocator) };
    let (_gpu, allocator) = on(open("discrete"), desc.clone());
    let nested = nested_in(&allocator, desc);
    let pool = new_pool(&allocator, PoolDesc { algorithm, ..Default::default() });
    let own = ResourceAllocationDesc { flags: OWN, ..Default::default() };
    let create = |number: u64| {
        let (of, place) = match at {
            Place::Shared => (&allocator, Default::default()),
            Place::Own => (&allocator, own),
            Place::Nested => (&nested, Default::default()),
            Place::Both if number.is_multiple_of(2) => (&allocator, Default::default()),
            Place::Both => (&nested, Default::default()),
            Place::Pool => (&allocator, in_pool(&pool)),
            Place::OwnInPool => (&allocator, ResourceAllocationDesc { pool: Some(&pool), ..own }),
        };
        buffer(of, &place, sizes.units(number) * 64 * KIB)
    };
    // Of both allocators, the most bytes of heaps that were in use at once.
    let (mut most_in_use, mut held) = ([ByteSize::ZERO; 2], 0);
    let mut check = |what: &str| {
        for (stats, most) in [allocator.stats(), nested.stats()].iter().zip(&mut most_in_use) {
            let (in_use, empty) = (stats.used_heap_usage, stats.free_heap_usage);
            *most = in_use.max(*most);
            held += stats.reserved.get() / MIB;
            let keeps_all = matches!(policy, SegmentedPool | FewestHitches);
            let factor = if keeps_all { 2 } else { 1 };
            assert!(
                stats.reserved.get() <= factor * most.get(),
                "{algorithm:?}, {policy:?}, {at:?}, {sizes:?}, {what}: {in_use} are in use and {empty} empty, {most} were in use at once",
            );
        }
    };
    let mut live = VecDeque::new();
    for number in 0..100 {
        if is_freed_first && live.len() >= 4 {
            live.pop_front();
        }
        live.push_back(create(number));
        check("created");
        if live.len() > 4 {
            live.pop_front();
            check("freed");
        }
        if number % 4 == 3 {
            allocator.end_frame();
        }
    }
    live.clear();
    check("all freed");
    [&allocator, &nested].into_iter().for_each(|allocator| allocator.audit().expect("consistent"));
    held
}

#[test]
fn no_more_is_held_than_was_in_use_at_once() {
    for algorithm in POOL_ALGORITHMS {
        let places = PLACES
            .into_iter()
            .filter(|&at| algorithm != Linear || matches!(at, Place::Pool | Place::OwnInPool));
        for (at, sizes, is_freed_first) in places.flat_map(|at| {
            let sizes = [Sizes::Growing, Sizes::Shrinking, Sizes::Mixed];
            sizes.into_iter().flat_map(move |sizes| [true, false].map(|first| (at, sizes, first)))
        }) {
            let [least, others @ ..] =
                POLICIES.map(|policy| run(algorithm, policy, at, sizes, is_freed_first));
            for (other, policy) in others.into_iter().zip(&POLICIES[1..]) {
                assert!(
                    least <= other,
                    "{algorithm:?}, {at:?}, {sizes:?}, {is_freed_first}: LeastMemory holds {least} MiB in all, {policy:?} {other}"
                );
            }
        }
    }
}

/// Frames of 300 operations, after each of which another number of buffers is live. Returns the sum of what was held
/// after each operation, in KiB.
fn held_in_frames(policy: EmptyHeapPolicy, seed: u64) -> u64 {
    let desc = of_policy(policy);
    let allocator = allocator(&open("discrete"), desc);
    let (mut random, mut live, mut held) = (seed * 2 + 1, Vec::new(), 0);
    let mut next = |below: u64| {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (random >> 33) % below
    };
    for _ in 0..40 {
        let wanted = next(150);
        for _ in 0..300 {
            let creates = live.is_empty() || (live.len() as u64 <= wanted) == (next(4) > 0);
            if creates {
                live.push(local(&allocator, (64 + next(4_000)) * KIB));
            } else {
                let place = next(live.len() as u64);
                drop(live.swap_remove(usize::try_from(place).expect("an index")));
            }
            held += allocator.reserved().get() / KIB;
        }
        allocator.end_frame();
    }
    held
}

#[test]
fn the_least_memory_is_not_kept_for_a_frame() {
    let [mut least, mut default] = [0; 2];
    for seed in 0..16 {
        let of_seed = [LeastMemory, EmptyHeapPolicy::Default].map(|policy| held_in_frames(policy, seed));
        assert!(of_seed[0] < of_seed[1], "{seed}: {of_seed:?} KiB");
        least += of_seed[0];
        default += of_seed[1];
    }
    assert!(10 * least < 9 * default, "{least} KiB instead of {default}");
}
