//! An allocator and a nested one with limits, budgets and bounded pools. Checks that an allocation fails only if
//! nothing held fits and no new heap can be created.
#![no_main]
#![allow(clippy::cast_possible_truncation, reason = "sizes are made of bytes")]

#[path = "../../crates/heapwright/tests/allocator/programs/model.rs"]
mod model;

use arbitrary::{Result, Unstructured};
use heapwright::{EmptyHeapPolicy, ResourceAllocatorFlags, ResourceKind, SuballocationAlgorithm};
use heapwright_runtime::HostProfile;
use libfuzzer_sys::fuzz_target;
use model::{Kind, Program, Request, Setup, Step};

/// The maximum number of steps per input, which bounds the time.
const MOST_STEPS: usize = 300;

const FLAGS: [ResourceAllocatorFlags; 4] = [
    ResourceAllocatorFlags::empty(),
    ResourceAllocatorFlags::ALWAYS_IN_BUDGET,
    ResourceAllocatorFlags::ALWAYS_ON_DEMAND,
    ResourceAllocatorFlags::NEVER_OVER_ALLOCATE,
];
const POLICIES: [EmptyHeapPolicy; 5] = [
    EmptyHeapPolicy::Default,
    EmptyHeapPolicy::LeastMemory,
    EmptyHeapPolicy::FewestHitches,
    EmptyHeapPolicy::SegmentedPool,
    EmptyHeapPolicy::FixedPool,
];
const KINDS: [Kind; 6] = [Kind::Shared, Kind::Shared, Kind::Held, Kind::Own, Kind::Preferred, Kind::Part];

fuzz_target!(|bytes: &[u8]| {
    let mut input = Unstructured::new(bytes);
    let profiles: Vec<_> = HostProfile::all().iter().filter(|one| one.name != "shrinking-budget").collect();
    let Ok(profile) = input.choose(&profiles).copied() else { return };
    let Ok(setup) = setup(&mut input) else { return };
    let mut program = Program::new(profile, setup);
    for _ in 0..MOST_STEPS {
        if input.is_empty() {
            break;
        }
        if let Ok(step) = step(&mut input) {
            program.step(&step);
        }
    }
    program.end();
});

fn setup(input: &mut Unstructured<'_>) -> Result<Setup> {
    let limit = |input: &mut Unstructured<'_>| {
        let is_limited: bool = input.arbitrary()?;
        Ok(if is_limited { Some(input.int_in_range(1..=160)?) } else { None })
    };
    let percent = |input: &mut Unstructured<'_>| {
        Ok(if input.ratio(1_u8, 4)? { Some(input.int_in_range(1..=100)?) } else { None })
    };
    Ok(Setup {
        flags: [*input.choose(&FLAGS)?, *input.choose(&FLAGS)?],
        policies: [*input.choose(&POLICIES)?, *input.choose(&POLICIES)?],
        limits: [(limit(input)?, limit(input)?), (limit(input)?, limit(input)?)],
        shares: [percent(input)?, percent(input)?],
        pools: [
            (input.int_in_range(0..=40)?, input.int_in_range(0..=2)?, input.int_in_range(0..=3)?),
            (input.int_in_range(0..=40)?, input.int_in_range(0..=2)?, input.int_in_range(0..=3)?),
        ],
        pools_hold: *input.choose(&[ResourceKind::Buffers, ResourceKind::Any])?,
        algorithm: SuballocationAlgorithm::Default,
        pool_algorithm: SuballocationAlgorithm::Default,
    })
}

fn step(input: &mut Unstructured<'_>) -> Result<Step> {
    let of = |input: &mut Unstructured<'_>| Ok(usize::from(input.arbitrary::<bool>()?));
    Ok(match input.int_in_range(0..=21)? {
        0..=6 => {
            let magnitude: u32 = input.int_in_range(0..=24)?;
            let kind = *input.choose(&KINDS)?;
            let place: u8 = match kind {
                Kind::Part => 1,
                Kind::Preferred => input.int_in_range(1..=2)?,
                _ => input.int_in_range(0..=4)?,
            };
            Step::Create(Request {
                of: of(input)?,
                in_pool: matches!(place, 0 | 3),
                is_upload: place == 1,
                is_texture: matches!(place, 2 | 3),
                kind,
                within_budget: input.arbitrary()?,
                is_tight: input.ratio(1_u8, 10)?,
                size: (1 << magnitude) + input.int_in_range(0..=(1 << magnitude) - 1)?,
            })
        }
        7..=9 => Step::Free(input.arbitrary()?),
        10 => Step::FreeMost,
        11 => Step::Defragment { of: of(input)?, of_pool: input.arbitrary()? },
        12 => Step::Move(input.int_in_range(0..=16)?),
        13 => Step::Abandon,
        14 => Step::Budget(input.int_in_range(1..=240)?),
        15 => Step::EndDefragmentation,
        16 => Step::FreeAfter(input.arbitrary()?),
        17 => Step::Signal,
        18 => Step::Collect,
        19 => Step::Frames(input.int_in_range(1..=150)?),
        20 => Step::Time(input.int_in_range(1..=3000)?),
        _ => Step::Release(of(input)?, input.arbitrary()?),
    })
}
