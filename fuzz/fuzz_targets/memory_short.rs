//! An allocator with a limit and a bounded pool. Checks that an allocation fails only if nothing held fits
//! and no new heap can be created.
#![no_main]
#![allow(clippy::cast_possible_truncation, reason = "sizes are made of bytes")]

#[path = "../../crates/heapwright/tests/allocator/memory_short/invariant.rs"]
mod invariant;

use arbitrary::{Result, Unstructured};
use heapwright_runtime::HostProfile;
use invariant::{KINDS, PLACES, Setup, Step};
use libfuzzer_sys::fuzz_target;

/// The maximum number of steps per input, which bounds the time.
const MOST_STEPS: usize = 300;

fuzz_target!(|bytes: &[u8]| {
    let mut input = Unstructured::new(bytes);
    let Ok((profile, setup)) = setup(&mut input) else { return };
    let mut steps = Vec::new();
    while !input.is_empty() && steps.len() < MOST_STEPS {
        steps.extend(step(&mut input).ok());
    }
    invariant::check(profile, setup, &steps);
});

fn setup(input: &mut Unstructured<'_>) -> Result<(&'static HostProfile, Setup)> {
    let profile = input.choose(HostProfile::all())?;
    let units = |input: &mut Unstructured<'_>, most| Ok(input.int_in_range(0..=most)? * (64 << 10));
    let setup = Setup {
        limit: units(input, 160)?.max(64 << 10),
        pool_heaps: input.int_in_range(1..=4)?,
        pool_heap_size: units(input, 40)?,
        never_over_allocate: input.arbitrary()?,
        pools_heaps: input.arbitrary()?,
        budget: if input.arbitrary()? { units(input, 240)? } else { 0 },
    };
    Ok((profile, setup))
}

fn step(input: &mut Unstructured<'_>) -> Result<Step> {
    Ok(match input.int_in_range(0..=12)? {
        0..=4 => {
            let magnitude: u32 = input.int_in_range(0..=22)?;
            let size = (1 << magnitude) + input.int_in_range(0..=(1 << magnitude) - 1)?;
            Step::Buffer { size, kind: *input.choose(&KINDS)?, place: *input.choose(&PLACES)? }
        }
        5 => Step::Texture {
            width: input.int_in_range(1..=700)?,
            height: input.int_in_range(1..=700)?,
            kind: *input.choose(&KINDS)?,
            nested: input.arbitrary()?,
        },
        6 => Step::Defragment { moves: input.int_in_range(1..=8)?, completed: input.int_in_range(0..=8)? },
        7 => Step::Abandon,
        8..=11 => Step::Free(input.arbitrary()?),
        _ => Step::FreeMost,
    })
}
