//! Random programs over an allocator and what is with it: see [`model`].
//!
//! `HEAPWRIGHT_PROGRAMS` sets the number of programs of each test; the default is a short run.

mod model;

use heapwright::d3d12::ID3D12Resource;
use heapwright_runtime::aliasing::AliasingTracking;
use proptest::prelude::*;
use proptest::strategy::{BoxedStrategy, Strategy};

use self::model::{Contents, Kind, Program, Request, Setup, Step};
use crate::copying_queue;
use crate::gpu::*;

fn sizes() -> BoxedStrategy<u64> {
    prop_oneof![
        1_u64..5000,
        5000_u64..70_000,
        70_000_u64..900_000,
        900_000_u64..6_000_000,
        6_000_000_u64..100_000_000
    ]
    .boxed()
}

/// Sizes that are quickly written, most of them of several resources in 64 KiB.
fn small_sizes() -> BoxedStrategy<u64> {
    prop_oneof![
        6 => 1_u64..5000,
        3 => 5000_u64..70_000,
        2 => 70_000_u64..900_000,
    ]
    .boxed()
}

fn request(size: BoxedStrategy<u64>, imported: u32) -> impl Strategy<Value = Request> {
    let kind = prop_oneof![
        8 => Just(Kind::Shared),
        2 => Just(Kind::Held),
        2 => Just(Kind::Own),
        1 => Just(Kind::Committed),
        2 => Just(Kind::Preferred),
        2 => Just(Kind::Part),
        imported => Just(Kind::Imported),
    ];
    let flags = (any::<bool>(), prop::bool::weighted(0.1));
    (0_usize..2, size, kind, 0_u8..10, flags).prop_map(
        |(of, size, kind, place, (within_budget, is_tight))| {
            let (in_pool, is_upload, is_texture) = match place {
                0 | 1 => (true, false, false),
                2 | 3 => (false, true, false),
                4 => (false, false, true),
                5 | 6 => (true, false, true),
                _ => (false, false, false),
            };
            // A part is of a buffer that the CPU writes, and is in no pool.
            let (in_pool, is_upload, is_texture) =
                if kind == Kind::Part { (false, true, false) } else { (in_pool, is_upload, is_texture) };
            let in_pool = in_pool && !matches!(kind, Kind::Committed | Kind::Preferred | Kind::Imported);
            let is_upload = is_upload && kind != Kind::Imported;
            Request { of, in_pool, is_upload, is_texture, kind, within_budget, is_tight, size }
        },
    )
}

fn steps(request: impl Strategy<Value = Request> + 'static) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        24 => request.prop_map(Step::Create),
        10 => any::<u16>().prop_map(Step::Free),
        1 => Just(Step::FreeMost),
        3 => any::<u16>().prop_map(Step::FreeAfter),
        1 => Just(Step::Signal),
        2 => Just(Step::Collect),
        1 => (1_u8..150).prop_map(Step::Frames),
        1 => (1_u16..3000).prop_map(Step::Time),
        1 => (1_u16..4000).prop_map(Step::Budget),
        1 => (0_usize..2, any::<bool>()).prop_map(|(of, of_pool)| Step::Defragment { of, of_pool }),
        3 => (0_u8..=16).prop_map(Step::Move),
        1 => Just(Step::Abandon),
        1 => Just(Step::EndDefragmentation),
        1 => (0_usize..2, any::<u32>()).prop_map(|(of, bytes)| Step::Release(of, bytes)),
    ];
    prop::collection::vec(step, 1..100)
}

fn setup() -> impl Strategy<Value = Setup> {
    let flags = prop_oneof![
        6 => Just(NO_FLAGS),
        2 => Just(ResourceAllocatorFlags::ALWAYS_IN_BUDGET),
        1 => Just(ResourceAllocatorFlags::ALWAYS_ON_DEMAND),
        3 => Just(ResourceAllocatorFlags::NEVER_OVER_ALLOCATE),
        1 => Just(ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT),
    ];
    let policy = prop_oneof![
        4 => Just(EmptyHeapPolicy::Default),
        2 => Just(LeastMemory),
        1 => Just(FewestHitches),
        1 => Just(SegmentedPool),
        1 => Just(FixedPool),
    ];
    let limit = || prop_oneof![Just(None), (1_u16..160).prop_map(Some), (100_u16..4000).prop_map(Some)];
    let share = prop_oneof![3 => Just(None), 1 => (1_u8..=100).prop_map(Some)];
    let of_one = (flags, policy, (limit(), limit(), share), (0_u16..80, 0_u32..3, 0_u32..4));
    let pools_hold = prop::sample::select(vec![ResourceKind::Buffers, ResourceKind::Any]);
    (prop::array::uniform2(of_one), pools_hold).prop_map(|([a, b], pools_hold)| Setup {
        flags: [a.0, b.0],
        policies: [a.1, b.1],
        limits: [(a.2.0, a.2.1), (b.2.0, b.2.1)],
        shares: [a.2.2, b.2.2],
        pools: [a.3, b.3],
        pools_hold,
        algorithm: SuballocationAlgorithm::Default,
        pool_algorithm: SuballocationAlgorithm::Default,
    })
}

/// Setups with any algorithm.
fn setup_of_any_algorithm() -> impl Strategy<Value = Setup> {
    let algorithms = (prop::sample::select(&ALGORITHMS[..]), prop::sample::select(&POOL_ALGORITHMS[..]));
    (setup(), algorithms).prop_map(|(setup, (algorithm, pool_algorithm))| {
        // Of dedicated heaps each has its own size, and that of a buddy system is a power of two.
        let pools = setup.pools.map(|(size, least, most)| match pool_algorithm {
            Dedicated => (0, 0, most),
            BuddySystem => (size.next_power_of_two() & !1, least, most),
            _ => (size, least, most),
        });
        Setup { algorithm, pool_algorithm, pools, ..setup }
    })
}

fn profiles() -> Vec<&'static HostProfile> {
    HostProfile::all().iter().filter(|profile| profile.name != "shrinking-budget").collect()
}

impl Contents for copying_queue::Gpu {
    fn write(&mut self, resource: &ID3D12Resource, key: u64) {
        self.fill(resource, key);
        self.run();
    }

    fn copy(&mut self, to: &ID3D12Resource, from: &ID3D12Resource) {
        copying_queue::Gpu::copy(self, to, from);
        self.run();
    }

    fn check(&mut self, resources: &[(&ID3D12Resource, u64)]) {
        for (resource, key) in resources {
            self.expect(resource, *key);
        }
        self.finish();
    }
}

/// Returns the configuration for as many programs as are asked for, or else `usual`.
fn programs(usual: u32) -> ProptestConfig {
    let asked = std::env::var("HEAPWRIGHT_PROGRAMS").ok().and_then(|count| count.parse().ok());
    let cases = asked.unwrap_or(usual);
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 2000, ..ProptestConfig::default() }
}

fn run(mut program: Program, steps: &[Step]) {
    steps.iter().for_each(|step| program.step(step));
    program.end();
}

proptest! {
    #![proptest_config(programs(256))]

    #[test]
    fn no_call_fails_without_need_or_unlike_its_prediction_and_memory_returns(
        profile in prop::sample::select(profiles()),
        setup in setup(),
        steps in steps(request(sizes(), 0)),
    ) {
        let program = Program::new(profile, setup);
        run(program, &steps);
    }
}

proptest! {
    #![proptest_config(programs(64))]

    /// The runtime overwrites what one resource takes from another, and reports a violated rule of aliasing.
    #[test]
    fn no_two_resources_share_memory(
        profile in prop::sample::select(profiles()),
        setup in setup_of_any_algorithm(),
        steps in steps(request(small_sizes(), 1)),
    ) {
        let aliasing = Some(AliasingTracking::ADVANCED);
        let gpu = Instance::open_with(profile, DeviceOptions { aliasing, ..Default::default() });
        let gpu = gpu.expect("a fresh instance");
        let contents = Box::new(copying_queue::Gpu::new(&gpu.device));
        let program = Program::on(gpu, setup, Some(contents));
        run(program, &steps);
    }
}

/// A random program of the past. The budget has no room for a new heap, so the larger empty heap of the nested
/// allocator is predicted; but the empty heaps of the pool are released first, and then it has.
#[test]
fn within_the_budget_heaps_are_released_before_a_larger_empty_heap_is_used() {
    let profile = profiles().into_iter().find(|profile| profile.name == "discrete").expect("there is one");
    let setup = Setup {
        flags: [ResourceAllocatorFlags::ALWAYS_IN_BUDGET, NO_FLAGS],
        policies: [EmptyHeapPolicy::Default; 2],
        limits: [(None, None), (None, None)],
        shares: [None, None],
        pools: [(0, 0, 0), (34, 2, 0)],
        pools_hold: ResourceKind::Buffers,
        algorithm: SuballocationAlgorithm::Default,
        pool_algorithm: SuballocationAlgorithm::Default,
    };
    let request = |of, in_pool, is_texture, kind, size| {
        Step::Create(Request {
            of,
            in_pool,
            is_upload: false,
            is_texture,
            kind,
            within_budget: false,
            is_tight: false,
            size,
        })
    };
    let steps = [
        request(1, false, false, Kind::Own, 56_688_641),
        Step::Budget(1370),
        request(0, true, false, Kind::Shared, 1),
        request(0, true, false, Kind::Own, 1),
        request(0, false, true, Kind::Shared, 66_564),
        Step::Free(55_624),
        Step::Free(0),
        request(0, false, false, Kind::Shared, 21_954_561),
    ];
    let program = Program::new(profile, setup);
    run(program, &steps);
}
