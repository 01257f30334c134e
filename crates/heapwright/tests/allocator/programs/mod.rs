//! Random programs over an allocator and what is with it: see [`model`].
//!
//! `HEAPWRIGHT_PROGRAMS` sets the number of programs; the default is a short run.

mod model;

use heapwright::{EmptyHeapPolicy, ResourceAllocatorFlags};
use heapwright_runtime::HostProfile;
use proptest::prelude::*;
use proptest::strategy::Strategy;

use self::model::{Kind, Program, Request, Setup, Step};

fn request() -> impl Strategy<Value = Request> {
    let size = prop_oneof![
        1_u64..5000,
        5000_u64..70_000,
        70_000_u64..900_000,
        900_000_u64..6_000_000,
        6_000_000_u64..100_000_000
    ];
    let kind = prop_oneof![
        8 => Just(Kind::Shared),
        2 => Just(Kind::Held),
        2 => Just(Kind::Own),
        1 => Just(Kind::Committed),
        2 => Just(Kind::Part),
    ];
    (0_usize..2, size, kind, 0_u8..8, any::<bool>()).prop_map(|(of, size, kind, place, within_budget)| {
        let (in_pool, is_upload, is_texture) = match place {
            0 | 1 => (true, false, false),
            2 | 3 => (false, true, false),
            4 => (false, false, true),
            _ => (false, false, false),
        };
        // A part is of a buffer that the CPU writes, and is in no pool.
        let (in_pool, is_upload, is_texture) =
            if kind == Kind::Part { (false, true, false) } else { (in_pool, is_upload, is_texture) };
        let in_pool = in_pool && kind != Kind::Committed;
        Request { of, in_pool, is_upload, is_texture, kind, within_budget, size }
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        24 => request().prop_map(Step::Create),
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
        6 => Just(ResourceAllocatorFlags::empty()),
        2 => Just(ResourceAllocatorFlags::ALWAYS_IN_BUDGET),
        1 => Just(ResourceAllocatorFlags::ALWAYS_ON_DEMAND),
        3 => Just(ResourceAllocatorFlags::NEVER_OVER_ALLOCATE),
    ];
    let policy = prop_oneof![
        4 => Just(EmptyHeapPolicy::Default),
        2 => Just(EmptyHeapPolicy::LeastMemory),
        1 => Just(EmptyHeapPolicy::FewestHitches),
        1 => Just(EmptyHeapPolicy::SegmentedPool),
        1 => Just(EmptyHeapPolicy::FixedPool),
    ];
    let limit = || prop_oneof![Just(None), (1_u16..160).prop_map(Some), (100_u16..4000).prop_map(Some)];
    let of_one = (flags, policy, (limit(), limit()), (0_u16..80, 0_u32..3, 0_u32..4));
    prop::array::uniform2(of_one).prop_map(|[a, b]| Setup {
        flags: [a.0, b.0],
        policies: [a.1, b.1],
        limits: [a.2, b.2],
        pools: [a.3, b.3],
    })
}

fn programs() -> u32 {
    std::env::var("HEAPWRIGHT_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(256)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: programs(), failure_persistence: None, max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn no_call_fails_without_need_or_unlike_its_prediction_and_memory_returns(
        profile in prop::sample::select(HostProfile::all().iter().filter(|profile| profile.name != "shrinking-budget").collect::<Vec<_>>()),
        setup in setup(),
        steps in steps(),
    ) {
        let mut program = Program::new(profile, setup);
        for step in &steps {
            program.step(step);
        }
        program.end();
    }
}
