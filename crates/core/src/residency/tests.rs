//! Compares the planner with a simple model, and tests individual results.

mod late_learning;
mod shadowed_planner;

use std::time::Duration;

use proptest::prelude::*;

use super::policy::{Admission, EvictionPolicy, HeapSlot, Moment, PolicyKind, Withdrawal};
use super::*;
use crate::{ByteSize, FenceValue};
use shadowed_planner::{Outcome, ShadowedPlanner, Step};

fn mib(count: u64) -> ByteSize {
    ByteSize::from_mib(count)
}

fn planner(budget: ByteSize) -> ResidencyPlanner {
    let mut planner = ResidencyPlanner::new(false, || PolicyKind::Lru.create());
    for group in SegmentGroup::ALL {
        planner.set_memory(group, GroupMemory { budget, external: ByteSize::ZERO });
    }
    planner
}

fn heap(size: ByteSize, status: Status) -> NewManagedHeap {
    NewManagedHeap { group: SegmentGroup::Local, size, level: PriorityLevel::Normal, status }
}

fn add(planner: &mut ResidencyPlanner, size: ByteSize, status: Status) -> ManagedHeapId {
    planner.add(heap(size, status), Moment::default()).expect("small size")
}

/// Records the use of all lists in one submission, or plans and pages in if something is missing.
fn submit(
    planner: &mut ResidencyPlanner,
    queue: QueueSlot,
    value: u64,
    heaps: &[ManagedHeapId],
) -> (PlanOutcome, Plan) {
    let submission = planner.begin(queue, FenceValue::new(value), Duration::ZERO);
    let mut plan = Plan::default();
    if planner.are_resident(heaps).expect("the heaps are live") {
        planner.touch(&submission, heaps).expect("the heaps are live");
        return (PlanOutcome::Ready, plan);
    }
    let request = PlanRequest {
        submission: Some(&submission),
        heaps,
        list_ends: &[heaps.len()],
        may_wait: true,
        ..PlanRequest::new(submission.moment())
    };
    let outcome = planner.plan(&request, &mut plan).expect("the heaps are live");
    if outcome == PlanOutcome::Ready {
        planner.paged_in(&plan, FenceValue::new(1), submission.moment());
    } else {
        planner.cancel(&submission);
    }
    (outcome, plan)
}

#[test]
fn only_as_many_oldest_heaps_as_needed_are_evicted() {
    let mut planner = planner(mib(10));
    let heaps: Vec<_> = (0..5).map(|_| add(&mut planner, mib(2), Status::Resident)).collect();
    let new = add(&mut planner, mib(3), Status::Evicted);
    let queue = planner.add_queue();
    let (outcome, plan) = submit(&mut planner, queue, 1, &[heaps[4], new]);
    assert_eq!(outcome, PlanOutcome::Ready);
    assert_eq!(plan.evict, [heaps[0], heaps[1]]);
    assert_eq!(plan.make_resident, [new]);
    assert_eq!((plan.bytes_out, plan.bytes_in), ([mib(4), mib(0)], [mib(3), mib(0)]));
    assert_eq!(planner.usage(SegmentGroup::Local), mib(9));
    planner.audit().expect("the books are consistent");
}

#[test]
fn lists_that_do_not_fit_together_are_split() {
    let mut planner = planner(mib(10));
    let heaps: Vec<_> = (0..4).map(|_| add(&mut planner, mib(4), Status::Evicted)).collect();
    let queue = planner.add_queue();
    let submission = planner.begin(queue, FenceValue::new(1), Duration::ZERO);
    let sets = [heaps[0], heaps[1], heaps[1], heaps[2], heaps[3]];
    let mut plan = Plan::default();
    let request = PlanRequest {
        submission: Some(&submission),
        heaps: &sets,
        list_ends: &[2, 3, 5],
        ..PlanRequest::new(submission.moment())
    };
    assert_eq!(planner.plan(&request, &mut plan), Ok(PlanOutcome::Ready));
    assert_eq!((plan.lists, &plan.make_resident[..]), (2, &heaps[..2]));
    planner.paged_in(&plan, FenceValue::new(1), submission.moment());
    planner.complete_paging(FenceValue::new(1));
    planner.complete(queue, FenceValue::new(1));
    let submission = planner.begin(queue, FenceValue::new(2), Duration::ZERO);
    let request = PlanRequest {
        submission: Some(&submission),
        heaps: &sets[3..],
        list_ends: &[2],
        ..PlanRequest::new(submission.moment())
    };
    assert_eq!(planner.plan(&request, &mut plan), Ok(PlanOutcome::Ready));
    assert_eq!((plan.lists, &plan.evict[..]), (1, &heaps[..2]));
}

#[test]
fn a_set_above_the_budget_is_refused_or_exceeds_it() {
    let mut planner = planner(mib(4));
    let (old, large) =
        (add(&mut planner, mib(1), Status::Resident), add(&mut planner, mib(6), Status::Evicted));
    let queue = planner.add_queue();
    let over = OverBudget { group: SegmentGroup::Local, needed: mib(6), budget: mib(4) };
    assert_eq!(submit(&mut planner, queue, 1, &[large]).0, PlanOutcome::OverBudget(over));
    assert_eq!(planner.heap(old).map(|heap| heap.status), Some(Status::Resident));
    let submission = planner.begin(queue, FenceValue::new(1), Duration::ZERO);
    let mut plan = Plan::default();
    let request = PlanRequest {
        submission: Some(&submission),
        heaps: &[large],
        list_ends: &[1],
        may_exceed: true,
        ..PlanRequest::new(submission.moment())
    };
    assert_eq!(planner.plan(&request, &mut plan), Ok(PlanOutcome::Ready));
    assert_eq!((plan.over_budget[0], &plan.evict[..]), (mib(2), &[old][..]));
}

#[test]
fn priorities_and_locks_determine_evictions() {
    let mut planner = planner(mib(6));
    let now = Moment::default();
    let level = |level| NewManagedHeap { level, ..heap(mib(2), Status::Resident) };
    let high = planner.add(level(PriorityLevel::High), now).expect("small");
    let normal = planner.add(level(PriorityLevel::Normal), now).expect("small");
    let low = planner.add(level(PriorityLevel::Low), now).expect("small");
    let mut plan = Plan::default();
    let trim = |bytes| PlanRequest { at_least: [bytes, mib(0)], ..PlanRequest::new(now) };
    assert_eq!(planner.plan(&trim(mib(1)), &mut plan), Ok(PlanOutcome::Ready));
    assert_eq!(plan.evict, [low]);
    assert!(!planner.lock(normal, now).expect("lives").is_missing);
    assert_eq!(planner.plan(&trim(mib(4)), &mut plan), Ok(PlanOutcome::Ready));
    assert_eq!(plan.evict, [high]);
    assert_eq!(planner.unlock(normal, now), Ok(0));
    assert_eq!(planner.unlock(normal, now), Err(PlanError::NotLocked));
    planner.audit().expect("the books are consistent");
}

#[test]
fn ids_of_removed_heaps_are_rejected() {
    let mut planner = planner(mib(4));
    let gone = add(&mut planner, mib(1), Status::Resident);
    assert_eq!(planner.remove(gone), Ok(()));
    let other = add(&mut planner, mib(1), Status::Resident);
    assert_eq!(other.slot(), gone.slot(), "the slot is reused");
    assert_eq!(planner.remove(gone), Err(PlanError::Unknown));
    let queue = planner.add_queue();
    let submission = planner.begin(queue, FenceValue::new(1), Duration::ZERO);
    assert_eq!(planner.touch(&submission, &[other, gone]), Err(UnknownHeap { position: 1 }));
    let request = PlanRequest { heaps: &[gone], list_ends: &[1], ..PlanRequest::new(Moment::default()) };
    assert_eq!(planner.plan(&request, &mut Plan::default()), Err(UnknownHeap { position: 0 }));
    assert_eq!(planner.add(heap(ByteSize::MAX, Status::Evicted), Moment::default()), Err(PlanError::TooMuch));
}

#[test]
fn an_unknown_heap_is_adopted_on_use() {
    let mut planner = planner(mib(4));
    planner.set_memory(SegmentGroup::Local, GroupMemory { budget: mib(4), external: mib(3) });
    let heap = add(&mut planner, mib(2), Status::Unknown);
    assert_eq!(planner.usage(SegmentGroup::Local), mib(3), "with heaps of other lists");
    let queue = planner.add_queue();
    let (outcome, plan) = submit(&mut planner, queue, 1, &[heap]);
    assert_eq!((outcome, plan.is_empty()), (PlanOutcome::Ready, true), "created resident by D3D12");
    assert_eq!(planner.heap(heap).map(|heap| heap.status), Some(Status::Resident));
    assert_eq!(planner.usage(SegmentGroup::Local), mib(3));
    planner.audit().expect("the books are consistent");
}

/// Generates the calls of [`ShadowedPlanner`].
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let heap = || 0..64_u8;
    let outcome = prop_oneof![8 => Just(Outcome::Done), 1 => Just(Outcome::PageInFails), 1 => Just(Outcome::EvictFails)];
    let heaps = || prop::collection::vec(heap(), 1..8);
    let step = prop_oneof![
        4 => (1..40_u8, any::<bool>(), 0..5_u8, 0..3_u8)
            .prop_map(|(size, group, level, status)| Step::Add { size, group, level, status }),
        1 => heap().prop_map(Step::Remove),
        8 => (0..3_u8, heaps(), 0..8_u8, prop::bool::weighted(0.9), any::<bool>(), outcome.clone()).prop_map(
            |(queue, heaps, split, may_wait, may_exceed, outcome)| Step::Submit {
                queue, heaps, split, may_wait, may_exceed, outcome
            }
        ),
        1 => (heaps(), 0..30_u8, outcome)
            .prop_map(|(heaps, incoming, outcome)| Step::Prefetch { heaps, incoming, outcome }),
        4 => (0..3_u8, prop_oneof![Just(1), Just(u8::MAX)]).prop_map(|(queue, count)| Step::Complete { queue, count }),
        2 => Just(Step::CompletePaging),
        2 => heap().prop_map(Step::Lock),
        2 => heap().prop_map(Step::Unlock),
        1 => (any::<bool>(), 1..200_u16).prop_map(|(group, budget)| Step::Memory { group, budget }),
        1 => [0..20_u8, 0..20_u8].prop_map(|at_least| Step::Trim { at_least }),
        1 => (0..50_u8).prop_map(Step::Ahead),
        1 => Just(Step::Unused),
        1 => Just(Step::Restart),
        1 => (heap(), 0..5_u8).prop_map(|(heap, level)| Step::Level { heap, level }),
        1 => (heap(), any::<bool>()).prop_map(|(heap, is_resident)| Step::SetResident { heap, is_resident }),
    ];
    prop::collection::vec(step, 1..120)
}

/// A policy that names existing and nonexistent slots repeatedly, and finally all possible slots; it does not
/// track what it holds.
#[derive(Debug)]
struct Hostile(u32);

impl Hostile {
    fn name_anything(&mut self, evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>) {
        for _ in 0..20 {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let slot = HeapSlot::new(if self.0 >> 31 == 0 { self.0 >> 8 & 31 } else { self.0 });
            if evict(slot).is_some() {
                assert_eq!(evict(slot), None, "listed only once");
            }
        }
    }
}

impl EvictionPolicy for Hostile {
    fn admit(&mut self, _heap: HeapSlot, _size: ByteSize, _cause: Admission, _now: Moment) {}

    fn touch(&mut self, _heap: HeapSlot, _now: Moment) {}

    fn withdraw(&mut self, _heap: HeapSlot, _cause: Withdrawal, _now: Moment) {}

    fn forget(&mut self, _heap: HeapSlot) {}

    fn choose(&mut self, _need: ByteSize, _now: Moment, evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>) {
        self.name_anything(evict);
        for slot in 0..200 {
            evict(HeapSlot::new(slot));
        }
        self.name_anything(evict);
    }

    fn next_use_in(&self, heap: HeapSlot, _now: Moment) -> Option<u64> {
        heap.get().is_multiple_of(2).then_some(u64::from(heap.get() % 3))
    }

    fn choose_ahead(
        &mut self,
        _limit: ByteSize,
        _fullness: f64,
        _now: Moment,
        evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>,
    ) {
        self.name_anything(evict);
    }
}

fn kinds() -> Vec<PolicyKind> {
    let mut kinds = PolicyKind::all().to_vec();
    kinds.push(PolicyKind::custom("hostile", || Box::new(Hostile(1))));
    kinds
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn plans_agree_with_the_model(kind in prop::sample::select(kinds()), queues in 1..4_usize, steps in steps()) {
        let mut shadowed = ShadowedPlanner::new(&kind, queues);
        for group in [false, true] {
            shadowed.step(Step::Memory { group, budget: 100 });
        }
        steps.into_iter().for_each(|step| shadowed.step(step));
    }
}
