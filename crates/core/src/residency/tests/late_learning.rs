//! Tests that policies that learn of uses late learn of the same uses, and decide the same.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::*;

/// The calls of a policy, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Use { heap: HeapSlot, submission: u64 },
    Other { heap: Option<HeapSlot>, cause: &'static str },
}

/// The calls of each policy, with the policy's number.
type Log = Arc<Mutex<Vec<(usize, Told)>>>;

/// A policy that evicts by slot, and writes down its calls.
#[derive(Debug)]
struct Witness {
    number: usize,
    may_learn_late: bool,
    told: Log,
    held: BTreeMap<HeapSlot, ()>,
    last: u64,
}

impl Witness {
    fn teach(&mut self, told: Told) {
        self.told.lock().expect("no panic").push((self.number, told));
    }

    /// Writes down a call that may not be made late, at its moment.
    fn other(&mut self, heap: Option<HeapSlot>, cause: &'static str, now: Moment) {
        assert!(now.submission >= self.last, "{cause} at {}, after {}", now.submission, self.last);
        self.last = now.submission;
        self.teach(Told::Other { heap, cause });
    }
}

impl EvictionPolicy for Witness {
    fn admit(&mut self, heap: HeapSlot, _size: ByteSize, _cause: Admission, now: Moment) {
        self.held.insert(heap, ());
        self.other(Some(heap), "admit", now);
    }

    fn touch(&mut self, heap: HeapSlot, now: Moment) {
        assert!(self.held.contains_key(&heap), "{heap:?} is held");
        self.last = self.last.max(now.submission);
        self.teach(Told::Use { heap, submission: now.submission });
    }

    fn touch_regularly(&mut self, heap: HeapSlot, interval: u64, count: u64, last: Moment) {
        assert!(self.may_learn_late && interval > 0 && count > 0);
        assert!(last.submission >= self.last, "in the order of the last use");
        for later in (0..count).rev() {
            self.touch(heap, Moment { submission: last.submission - later * interval, ..last });
        }
    }

    fn may_learn_late(&self) -> bool {
        self.may_learn_late
    }

    fn withdraw(&mut self, heap: HeapSlot, _cause: Withdrawal, now: Moment) {
        assert!(self.held.remove(&heap).is_some(), "{heap:?} is held");
        self.other(Some(heap), "withdraw", now);
    }

    fn forget(&mut self, heap: HeapSlot) {
        self.held.remove(&heap);
        self.teach(Told::Other { heap: Some(heap), cause: "forget" });
    }

    fn choose(&mut self, _need: ByteSize, now: Moment, evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>) {
        self.other(None, "choose", now);
        self.held.keys().for_each(|&heap| {
            evict(heap);
        });
    }
}

/// Returns the calls of each policy when a planner is taken through these steps. The uses between two other calls
/// are sorted.
fn witnessed(may_learn_late: bool, queues: usize, steps: &[Step]) -> Vec<Vec<Told>> {
    let told = Arc::default();
    let (log, created) = (Arc::clone(&told), Mutex::new(0..));
    let create = move || -> Box<dyn EvictionPolicy> {
        let number = created.lock().expect("no panic").next().expect("few");
        let held = BTreeMap::new();
        Box::new(Witness { number, may_learn_late, told: Arc::clone(&log), held, last: 0 })
    };
    let mut shadowed = ShadowedPlanner::new(create, queues);
    for group in [false, true] {
        shadowed.step(Step::Memory { group, budget: 100 });
    }
    steps.iter().for_each(|step| shadowed.step(step.clone()));
    // Before a plan, everything is known.
    shadowed.step(Step::Trim { at_least: [0; 2] });
    let mut of_each = vec![Vec::new(); 10];
    for (number, told) in told.lock().expect("no panic").drain(..) {
        of_each[number].push(told);
    }
    for told in &mut of_each {
        let is_use = |told: &Told| matches!(told, Told::Use { .. });
        for uses in told.chunk_by_mut(|before, after| is_use(before) == is_use(after)) {
            if is_use(&uses[0]) {
                uses.sort_by_key(|told| match *told {
                    Told::Use { heap, submission } => (heap, submission),
                    Told::Other { .. } => unreachable!("a chunk of uses"),
                });
            }
        }
    }
    of_each
}

/// Returns steps in which the same heaps are used several times in a row before others.
fn repeated_steps() -> impl Strategy<Value = Vec<Step>> {
    let part = (prop::collection::vec(any::<u8>(), 0..6), 1..9_usize, steps());
    prop::collection::vec(part, 1..5).prop_map(|parts| {
        let repeat = |(heaps, count, others): (Vec<u8>, usize, Vec<Step>)| {
            let submit = Step::Submit {
                queue: 0,
                heaps,
                split: 0,
                may_wait: false,
                may_exceed: true,
                outcome: Outcome::Done,
            };
            std::iter::repeat_n(submit, count).chain(others.into_iter().take(12)).collect::<Vec<_>>()
        };
        parts.into_iter().flat_map(repeat).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn policies_are_told_of_every_use_before_anything_else(queues in 1..4_usize, steps in repeated_steps()) {
        let (late, at_once) = (witnessed(true, queues, &steps), witnessed(false, queues, &steps));
        prop_assert_eq!(late, at_once);
    }
}

/// Regular uses of a heap; later, some submissions pass, and some bytes are needed.
#[derive(Debug, Clone)]
struct Regular {
    heap: u32,
    interval: u64,
    count: u64,
    passed: u64,
    need: Option<u64>,
}

fn regular_uses() -> impl Strategy<Value = Vec<Regular>> {
    let interval = prop_oneof![6 => 1..4_u64, 2 => 4..200_u64, 1 => Just(65_535)];
    let count = prop_oneof![6 => 1..8_u64, 1 => 8..300_u64];
    let one = (0..12_u32, interval, count, 0..40_u64, prop::option::weighted(0.3, 0..9_u64))
        .prop_map(|(heap, interval, count, passed, need)| Regular { heap, interval, count, passed, need });
    prop::collection::vec(one, 1..60)
}

/// Returns the heaps that a policy chooses in turn. The uses of one heap follow each other; with `together`, all that
/// do not page it in are one call.
fn chosen(kind: PolicyKind, program: &[Regular], together: bool) -> Vec<HeapSlot> {
    let mut policy = kind.create();
    let (mut now, mut all_chosen) = (Moment::default(), Vec::new());
    let mut held = [false; 12];
    for &Regular { heap, interval, count, passed, need } in program {
        let slot = HeapSlot(heap);
        now.submission += 1;
        let last = Moment { submission: now.submission + interval * (count - 1), ..now };
        let mut told = 0;
        if !std::mem::replace(&mut held[slot.index()], true) {
            policy.admit(slot, ByteSize::new(1), Admission::PagedIn, now);
            told = 1;
        }
        if together && told < count {
            policy.touch_regularly(slot, interval, count - told, last);
        } else {
            for number in told..count {
                let submission = now.submission + interval * number;
                policy.touch(slot, Moment { submission, ..now });
            }
        }
        now.submission = last.submission + passed;
        if let Some(need) = need {
            let mut victims = Vec::new();
            policy.choose(ByteSize::new(need), now, &mut |heap| {
                victims.push(heap);
                Some(ByteSize::new(1))
            });
            for &victim in &victims {
                held[victim.index()] = false;
                policy.withdraw(victim, Withdrawal::Evicted, now);
            }
            all_chosen.append(&mut victims);
        }
    }
    policy.choose(ByteSize::MAX, now, &mut |heap| {
        all_chosen.push(heap);
        Some(ByteSize::new(1))
    });
    all_chosen
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn regular_uses_told_of_together_are_the_same_uses(
        kind in prop::sample::select(PolicyKind::all()), program in regular_uses()
    ) {
        prop_assert!(kind.create().may_learn_late());
        prop_assert_eq!(chosen(kind, &program, true), chosen(kind, &program, false));
    }
}

#[test]
fn a_repeated_submission_is_the_same_to_policies() {
    let (mut planner, told) = watched();
    let heaps: Vec<_> = (0..3).map(|_| add(&mut planner, mib(1), Status::Resident)).collect();
    let queue = planner.add_queue();
    let mut expected = Vec::new();
    for number in 1..20_usize {
        let value = FenceValue::new(number as u64);
        let heap = heaps[number % 3];
        if number % 4 == 0 {
            let cancelled = planner.begin(queue, value);
            planner.touch(&cancelled, &[heap]).expect("it lives");
            planner.cancel(&cancelled);
        }
        let submission = planner.begin(queue, value);
        planner.touch(&submission, &[heap]).expect("it lives");
        expected.push((heap.slot(), submission.clock));
    }
    planner.remove(heaps[0]).expect("it lives");
    let told = told.lock().expect("no panic");
    let mut uses: Vec<_> = told
        .iter()
        .filter_map(|(_, told)| match *told {
            Told::Use { heap, submission } => Some((heap, submission)),
            Told::Other { .. } => None,
        })
        .collect();
    uses.sort_by_key(|&(_, submission)| submission);
    // The uses by the cancelled submissions are those by the repeated ones.
    uses.dedup();
    assert_eq!(uses, expected);
}

/// A planner whose policies write down their calls.
fn watched() -> (ResidencyPlanner, Log) {
    let told = Log::default();
    let log = Arc::clone(&told);
    let planner = ResidencyPlanner::new(false, || {
        let held = BTreeMap::new();
        Box::new(Witness { number: 0, may_learn_late: true, told: Arc::clone(&log), held, last: 0 })
    });
    (planner, told)
}

#[test]
fn a_submission_that_began_before_cancelled_ones_keeps_its_moment() {
    let (mut planner, told) = watched();
    let heaps = [(); 2].map(|()| add(&mut planner, mib(1), Status::Resident));
    let queues = [(); 2].map(|()| planner.add_queue());
    let first = planner.begin(queues[0], FenceValue::new(1));
    for _ in 0..2 {
        let cancelled = planner.begin(queues[1], FenceValue::new(1));
        planner.cancel(&cancelled);
    }
    let last = planner.begin(queues[1], FenceValue::new(1));
    planner.touch(&last, &heaps[1..]).expect("it lives");
    planner.touch(&first, &heaps[..1]).expect("it lives");
    planner.remove(heaps[0]).expect("it lives");
    let told = told.lock().expect("no panic");
    let uses = told.iter().filter(|(_, told)| matches!(told, Told::Use { .. }));
    let uses: Vec<_> = uses.map(|&(_, told)| told).collect();
    let used = |number: usize, submission| Told::Use { heap: heaps[number].slot(), submission };
    assert_eq!(uses, [used(1, 2), used(0, 1)]);
    // One that was cancelled late keeps its number.
    planner.cancel(&first);
    assert_eq!(planner.begin(queues[1], FenceValue::new(2)).clock, 3);
}

#[test]
fn moments_never_decrease_when_another_queue_submits_during_paging() {
    // The policies check it.
    for outcome in [Outcome::Done, Outcome::PageInFails, Outcome::EvictFails] {
        let (mut planner, told) = watched();
        let [old, used] = [(); 2].map(|()| add(&mut planner, mib(1), Status::Resident));
        let missing = add(&mut planner, mib(1), Status::Evicted);
        let memory = GroupMemory { budget: mib(2), external: ByteSize::ZERO };
        planner.set_memory(SegmentGroup::Local, memory);
        let queues = [(); 2].map(|()| planner.add_queue());
        let submission = planner.begin(queues[0], FenceValue::new(1));
        let (set, mut plan) = ([missing], Plan::default());
        let request =
            PlanRequest { submission: Some(&submission), heaps: &set, list_ends: &[1], ..Default::default() };
        assert_eq!(planner.plan(&request, &mut plan), Ok(PlanOutcome::Ready));
        assert_eq!(plan.evict, [old]);
        for value in 1..4 {
            let other = planner.begin(queues[1], FenceValue::new(value));
            planner.touch(&other, &[used]).expect("it lives");
        }
        match outcome {
            Outcome::Done => planner.paged_in(&plan, FenceValue::new(1)),
            Outcome::PageInFails => planner.page_in_failed(&plan),
            Outcome::EvictFails => {
                planner.page_in_failed(&plan);
                planner.evict_failed(&plan);
            }
        }
        // A plan that waited meanwhile.
        planner.complete(queues[1], FenceValue::new(3));
        planner.complete_paging(FenceValue::new(1));
        let trim = PlanRequest { at_least: [mib(1); 2], ..Default::default() };
        assert_eq!(planner.plan(&trim, &mut plan), Ok(PlanOutcome::Ready));
        let told = told.lock().expect("no panic");
        let last = told.iter().rev().map(|&(_, told)| told).find(|told| matches!(told, Told::Use { .. }));
        assert_eq!(last, Some(Told::Use { heap: used.slot(), submission: 4 }));
    }
}

#[test]
fn many_irregular_uses_are_told_of_without_a_decision() {
    let (mut planner, told) = watched();
    let heap = add(&mut planner, mib(1), Status::Resident);
    let queue = planner.add_queue();
    let mut used = 0;
    for number in 1..100_000_u64 {
        let submission = planner.begin(queue, FenceValue::new(number));
        planner.complete(queue, FenceValue::new(number));
        // The intervals are 1, 2, 3 and so on.
        if (8 * number + 1).isqrt().pow(2) == 8 * number + 1 {
            planner.touch(&submission, &[heap]).expect("it lives");
            used += 1;
        }
    }
    assert_eq!(told.lock().expect("no panic").len(), 1, "it was only created");
    let count_uses =
        |told: &[(usize, Told)]| told.iter().filter(|(_, told)| matches!(told, Told::Use { .. })).count();
    for number in 100_000..200_000_u64 {
        let submission = planner.begin(queue, FenceValue::new(number));
        planner.complete(queue, FenceValue::new(number));
        if number % 5 < 2 {
            planner.touch(&submission, &[heap]).expect("it lives");
            used += 1;
        }
    }
    let before = count_uses(&told.lock().expect("no panic"));
    assert!(before > used / 2, "{before} of {used} uses were told of");
    planner.remove(heap).expect("it lives");
    assert_eq!(count_uses(&told.lock().expect("no panic")), used);
}
