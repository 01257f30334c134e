//! Tests policies in generated workloads against the lower bound.
#![allow(clippy::cast_precision_loss, reason = "ratios of figures that are small")]

use heapwright_core::ByteSize;
use heapwright_core::residency::policy::PolicyKind;
use heapwright_simulation::{
    EVICT_AHEAD, FIRST_EVALUATION_SEED, GeneratedWorkload, Outcome, Policy, Shape as _, Workload,
    WorkloadShape, offline_bound, simulate,
};

fn run(workload: &Workload, policy: impl Into<Policy>, evict_ahead: ByteSize) -> Outcome {
    // A usage that the device does not confirm, or that exceeds the budget without need, is an error.
    simulate(workload, policy.into(), evict_ahead, &mut |_| {}).expect("the planner and the device agree")
}

fn workload(shape: WorkloadShape, seed: u32) -> Workload {
    GeneratedWorkload { shape, seed }.workload()
}

fn geometric_mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

/// In generated workloads of the part that is not developed on, the default pages in less than LRU, and never
/// much more.
#[test]
fn the_default_is_never_much_worse_than_lru() {
    let mut ratios = Vec::new();
    for &shape in WorkloadShape::ALL {
        let workload = workload(shape, FIRST_EVALUATION_SEED);
        let [default, lru] = [PolicyKind::default(), PolicyKind::Lru]
            .map(|kind| run(&workload, kind, ByteSize::ZERO).bytes_in.get() as f64);
        // Where little is paged in, a few heaps make a large ratio.
        let little = f64::from(64 << 20);
        let ratio = (default + little) / (lru + little);
        assert!(ratio < 1.1, "{}: {ratio} times LRU", workload.name);
        ratios.push(ratio);
    }
    let mean = geometric_mean(&ratios);
    assert!(mean < 0.95, "{mean}");
}

#[test]
fn what_goes_ahead_of_need_is_hardly_missed() {
    let mut ahead = ByteSize::ZERO;
    let mut ratios = Vec::new();
    for &shape in WorkloadShape::ALL {
        let workload = workload(shape, 3);
        let with = run(&workload, PolicyKind::NextUse, EVICT_AHEAD);
        let without = run(&workload, PolicyKind::NextUse, ByteSize::ZERO);
        let more = with.bytes_in.get() as f64 / without.bytes_in.get() as f64;
        // More frequent calls move heaps between the policy's chains sooner, which alone makes some percent
        // either way.
        assert!(more < 1.1, "{}: {more}", workload.name);
        ratios.push(more);
        ahead = ahead.saturating_add(with.bytes_ahead);
    }
    let more = geometric_mean(&ratios);
    assert!(more < 1.01, "{more}");
    assert!(!ahead.is_zero(), "nothing went ahead anywhere");
}

/// Whatever a policy chooses, planner and device agree, and no result is below the bound.
#[test]
fn every_policy_is_above_the_bound() {
    for shape in [WorkloadShape::Serving, WorkloadShape::TwoQueues, WorkloadShape::Budgets] {
        let workload = workload(shape, 8);
        let bound = offline_bound(&workload).bytes_in;
        assert!(!bound.is_zero(), "{} pages nothing", workload.name);
        for policy in Policy::all() {
            let paged = run(&workload, policy, ByteSize::ZERO).bytes_in;
            assert!(paged >= bound, "{} under {policy}: {paged}", workload.name);
        }
    }
}
