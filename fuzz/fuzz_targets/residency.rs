//! The residency planner with every policy, compared with a model of a device.
#![no_main]

#[path = "../../crates/core/src/residency/tests/shadowed_planner.rs"]
mod shadowed_planner;

use heapwright_core::residency::policy::{EvictionPolicy, PolicyKind};
use heapwright_core::residency::*;
use heapwright_core::{ByteSize, FenceValue, SegmentGroup};
use libfuzzer_sys::fuzz_target;
use shadowed_planner::{ShadowedPlanner, Step};

fuzz_target!(|input: (u8, u8, Vec<Step>)| {
    let (kind, queues, steps) = input;
    let policies = PolicyKind::all();
    let policy = policies[usize::from(kind) % policies.len()];
    let mut shadowed = ShadowedPlanner::new(|| policy.create(), 1 + usize::from(queues % 3));
    for step in steps.into_iter().take(200) {
        shadowed.step(step);
    }
});
