//! Tests the contract of every policy, under any calls.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use proptest::prelude::*;

use heapwright_core::ByteSize;
use heapwright_core::residency::policy::{Admission, HeapSlot, Moment, PolicyKind, Withdrawal};

#[derive(Debug, Clone)]
enum Call {
    Admit(u32, u64, Admission),
    Touch(u32),
    Withdraw(u32, Withdrawal),
    Forget(u32),
    /// The heaps whose bit is set may be evicted. Chosen heaps are evicted, except for every third if `spare`
    /// is set.
    Choose {
        need: u64,
        may_go: u64,
        ahead: Option<f64>,
        spare: bool,
    },
    Pass(u64),
}

const HEAPS: u32 = 40;

fn call() -> impl Strategy<Value = Call> {
    let admission =
        prop_oneof![Just(Admission::Created), Just(Admission::PagedIn), Just(Admission::Unlocked)];
    let withdrawal = prop_oneof![Just(Withdrawal::Evicted), Just(Withdrawal::Locked)];
    let sizes = prop_oneof![8 => 0..20_u64, 1 => Just(u64::MAX), 1 => Just(u64::MAX / 2)];
    let may_go = prop_oneof![Just(u64::MAX), any::<u64>(), Just(0)];
    let need = prop_oneof![4 => 0..60_u64, 1 => Just(u64::MAX)];
    let ahead = prop::option::of(prop_oneof![0.0..2.0, Just(f64::NAN), Just(f64::INFINITY)]);
    prop_oneof![
        6 => (0..HEAPS, sizes, admission).prop_map(|(heap, size, cause)| Call::Admit(heap, size, cause)),
        10 => (0..HEAPS + 5).prop_map(Call::Touch),
        2 => (0..HEAPS + 5, withdrawal).prop_map(|(heap, cause)| Call::Withdraw(heap, cause)),
        1 => (0..HEAPS + 5).prop_map(Call::Forget),
        4 => (need, may_go, ahead, any::<bool>())
            .prop_map(|(need, may_go, ahead, spare)| Call::Choose { need, may_go, ahead, spare }),
        3 => prop_oneof![8 => 0..6_u64, 1 => 0..5_000_u64, 1 => Just(1 << 40)].prop_map(Call::Pass),
    ]
}

fn check(kind: PolicyKind, calls: &[Call]) -> Result<(), TestCaseError> {
    let mut policy = kind.create();
    let mut held = BTreeMap::new();
    let mut now = Moment::default();
    // In the end all held heaps can be chosen.
    let all = Call::Choose { need: u64::MAX, may_go: u64::MAX, ahead: None, spare: false };
    for call in calls.iter().chain([&all]) {
        match *call {
            Call::Admit(heap, size, cause) => {
                if let Entry::Vacant(entry) = held.entry(heap) {
                    entry.insert(size);
                    policy.admit(HeapSlot(heap), ByteSize::new(size), cause, now);
                }
            }
            // Calls for heaps that are not held are included, and change nothing.
            Call::Touch(heap) => policy.touch(HeapSlot(heap), now),
            Call::Withdraw(heap, cause) => {
                held.remove(&heap);
                policy.withdraw(HeapSlot(heap), cause, now);
            }
            Call::Forget(heap) => {
                held.remove(&heap);
                policy.forget(HeapSlot(heap));
            }
            Call::Choose { need, may_go, ahead, spare } => {
                let (mut asked, mut victims) = (Vec::new(), Vec::new());
                let mut evict = |heap: HeapSlot| {
                    asked.push(heap);
                    let size = held.get(&heap.0).copied().unwrap_or(u64::MAX);
                    (may_go >> heap.0 & 1 == 1).then(|| {
                        victims.push(heap);
                        ByteSize::new(size)
                    })
                };
                let need_bytes = ByteSize::new(need);
                match ahead {
                    None => policy.choose(need_bytes, now, &mut evict),
                    Some(fullness) => policy.choose_ahead(need_bytes, fullness, now, &mut evict),
                }
                let mut once = asked.clone();
                once.sort_unstable();
                once.dedup();
                prop_assert_eq!(once.len(), asked.len(), "{}: asked twice: {:?}", kind, asked);
                for heap in &asked {
                    prop_assert!(held.contains_key(&heap.0), "{}: {:?} is not held", kind, heap);
                }
                let may_go = |heap: &HeapSlot| may_go >> heap.0 & 1 == 1;
                let size = |heap: &HeapSlot| u128::from(held[&heap.0]);
                let bytes: u128 = victims.iter().map(size).sum();
                if let Some(last) = victims.last() {
                    prop_assert!(bytes - size(last) < u128::from(need), "{}: more than is needed", kind);
                }
                if ahead.is_none() && bytes < u128::from(need) {
                    let all = held.keys().filter(|heap| may_go(&HeapSlot(**heap))).count();
                    prop_assert_eq!(victims.len(), all, "{}: some are left", kind);
                }
                for (number, victim) in victims.iter().enumerate() {
                    if !(spare && number % 3 == 0) {
                        held.remove(&victim.0);
                        policy.withdraw(*victim, Withdrawal::Evicted, now);
                    }
                }
            }
            Call::Pass(submissions) => {
                now.submission = now.submission.saturating_add(submissions);
                now.time = now.time.saturating_add(Duration::from_millis(submissions * 16));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_policy_chooses_what_is_held_and_may_go_once(calls in prop::collection::vec(call(), 1..150)) {
        for &policy in PolicyKind::all() {
            check(policy, &calls)?;
        }
    }
}
