//! Properties of generated traces.

use std::collections::BTreeSet;

use heapwright_core::ByteSize;
use heapwright_simulation::{GeneratedTrace, TraceShape};
use heapwright_trace::{EventKind, Trace};
use proptest::prelude::*;
use proptest::sample::select;

/// The traces with which figures are measured: those by which policies are tuned, and others.
fn measured() -> impl Iterator<Item = GeneratedTrace> {
    [1..4, 1000..1003].into_iter().flat_map(|seeds| {
        TraceShape::ALL
            .iter()
            .flat_map(move |&shape| seeds.clone().map(move |seed| GeneratedTrace { shape, seed }))
    })
}

fn assert_valid(workload: GeneratedTrace) -> Trace {
    let trace = workload.generate();
    assert_eq!(trace.name(), workload.to_string());
    assert!((1_000..=250_000).contains(&trace.events().len()), "{workload}: {} events", trace.events().len());
    assert!(trace.peak_live() <= ByteSize::from_gib(8), "{workload}: {} live", trace.peak_live());
    assert!(trace.peak_live() >= ByteSize::from_mib(32), "{workload}: {} live", trace.peak_live());
    trace
}

#[test]
fn the_measured_workloads_are_valid_and_differ() {
    let mut seen = BTreeSet::new();
    for workload in measured() {
        let trace = assert_valid(workload);
        let key = (trace.events().len(), trace.peak_live());
        assert!(seen.insert(key), "{workload} has the events of another");
    }
    assert_eq!(seen.len(), 2 * 3 * TraceShape::ALL.len());
}

/// Published figures depend on the events. Whoever changes the generator measures them again.
#[test]
fn the_measured_workloads_are_the_same_on_every_machine() {
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    for trace in measured().map(GeneratedTrace::generate) {
        for event in trace.events() {
            let kind = u64::from(event.kind == EventKind::Free);
            for number in [event.time_us, kind, event.allocation.get().into(), event.size.get()] {
                // FNV-1a, on numbers instead of bytes.
                hash = (hash ^ number).wrapping_mul(0x0100_0000_01B3);
            }
        }
    }
    assert_eq!(hash, 0xD934_9BFE_FB01_97F0, "{hash:#x}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn every_seed_is_valid_and_always_the_same(shape in select(TraceShape::ALL), seed in any::<u32>()) {
        for seed in [seed, seed % 1000] {
            let workload = GeneratedTrace { shape, seed };
            let trace = assert_valid(workload);
            let again = workload.generate();
            prop_assert_eq!(again.events(), trace.events());
        }
    }
}
