//! Compares the planner with a simple model.

mod late_learning;
mod shadowed_planner;

use proptest::prelude::*;

use super::policy::{Admission, EvictionPolicy, HeapSlot, Moment, PolicyKind, Withdrawal};
use super::*;
use crate::{ByteSize, FenceValue, SegmentGroup};
use shadowed_planner::{Outcome, ShadowedPlanner, Step};

fn mib(count: u64) -> ByteSize {
    ByteSize::from_mib(count)
}

fn add(planner: &mut ResidencyPlanner, size: ByteSize, status: Status) -> ManagedHeapId {
    let heap = NewManagedHeap { group: SegmentGroup::Local, size, level: PriorityLevel::Normal, status };
    planner.add(heap).expect("small size")
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
        3 => Just(Step::Unused),
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
            let slot = HeapSlot(if self.0 >> 31 == 0 { self.0 >> 8 & 31 } else { self.0 });
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
            evict(HeapSlot(slot));
        }
        self.name_anything(evict);
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

/// Creates a policy of the kind; without one, a hostile policy.
fn policy(kind: Option<PolicyKind>) -> Box<dyn EvictionPolicy> {
    kind.map_or_else(|| -> Box<dyn EvictionPolicy> { Box::new(Hostile(1)) }, PolicyKind::create)
}

/// Another thread uses the same heap again and again, so a request is to wait each time for the last use. Only the
/// first wait is for work that was planned before.
#[test]
fn waits_for_work_that_was_planned_before_end() {
    const IN_FLIGHT: u64 = 3;
    let mut planner = ResidencyPlanner::new(true, || PolicyKind::Lru.create());
    let memory = GroupMemory { budget: mib(10), external: ByteSize::ZERO };
    planner.set_memory(SegmentGroup::Local, memory);
    let (used, missing) =
        (add(&mut planner, mib(7), Status::Resident), add(&mut planner, mib(4), Status::Evicted));
    let (busy, own) = (planner.add_queue(), planner.add_queue());
    let mut last = 0;
    let mut render = |planner: &mut ResidencyPlanner| {
        last += 1;
        let submission = planner.begin(busy, FenceValue::new(last));
        planner.touch(&submission, &[used]).expect("it is live");
    };
    (0..IN_FLIGHT).for_each(|_| render(&mut planner));
    let mut plan = Plan::default();
    let mut before = None;
    for wait in 0..20 {
        let submission = planner.begin(own, FenceValue::new(1));
        let request = PlanRequest {
            submission: Some(&submission),
            heaps: &[missing],
            list_ends: &[1],
            may_wait: true,
            may_exceed: true,
            ..Default::default()
        };
        assert_eq!(planner.plan(&request, &mut plan), Ok(PlanOutcome::Wait), "the other heap is in use");
        let &[event @ WaitFor::Submission { queue, value, .. }] = &plan.awaited[..] else {
            panic!("one queue uses it, and nothing is being paged in");
        };
        let before = *before.get_or_insert(planner.planned_work());
        assert_eq!(before.includes(event), wait == 0, "wait {wait}");
        assert!(planner.planned_work().includes(event));
        assert_eq!((queue, value), (busy, FenceValue::new(IN_FLIGHT + wait)), "the last use");
        let request = PlanRequest { may_wait: false, ..request };
        if wait == 19 {
            assert_eq!(planner.plan(&request, &mut plan), Ok(PlanOutcome::Ready));
            assert_eq!(plan.over_budget, [mib(1), ByteSize::ZERO]);
            assert_eq!(planner.are_resident(&[missing]), Ok(false), "it is arriving");
            assert_eq!(planner.set_resident(missing, false), Err(PlanError::InUse));
        }
        planner.cancel(&submission);
        render(&mut planner);
        planner.complete(queue, value);
    }
}

/// Another queue has older work, and each case decides what that has to do with the memory that is missing.
#[test]
fn the_first_end_that_frees_a_heap_is_awaited() {
    /// The heap that the older work uses, if any.
    #[derive(Debug, PartialEq)]
    enum Older {
        Nothing,
        OtherGroup,
        Locked,
        Requested,
        Evictable,
    }
    for older in [Older::Nothing, Older::OtherGroup, Older::Locked, Older::Requested, Older::Evictable] {
        let mut planner = ResidencyPlanner::new(false, || PolicyKind::Lru.create());
        planner.set_memory(SegmentGroup::Local, GroupMemory { budget: mib(10), external: ByteSize::ZERO });
        let [used, other, requested] = [6, 1, 1].map(|size| add(&mut planner, mib(size), Status::Resident));
        let missing = add(&mut planner, mib(4), Status::Evicted);
        let far = NewManagedHeap {
            group: SegmentGroup::NonLocal,
            size: mib(1),
            level: PriorityLevel::Normal,
            status: Status::Resident,
        };
        let far = planner.add(far).expect("small size");
        if older == Older::Locked {
            planner.lock(other).expect("it is live");
        }
        let (compute, graphics) = (planner.add_queue(), planner.add_queue());
        let mut submit = |queue, value, heap: Option<ManagedHeapId>| {
            let submission = planner.begin(queue, FenceValue::new(value));
            planner.touch(&submission, heap.as_slice()).expect("it is live");
        };
        let heap = match older {
            Older::Nothing => None,
            Older::OtherGroup => Some(far),
            Older::Locked | Older::Evictable => Some(other),
            Older::Requested => Some(requested),
        };
        submit(compute, 1, heap);
        submit(compute, 2, None);
        submit(graphics, 1, Some(requested));
        submit(graphics, 2, Some(used));
        submit(graphics, 3, None);
        if older != Older::Evictable && older != Older::Locked {
            planner.remove(other).expect("it is live");
        }
        let submission = planner.begin(graphics, FenceValue::new(4));
        let request = PlanRequest {
            submission: Some(&submission),
            heaps: &[missing, requested],
            list_ends: &[2],
            may_wait: true,
            ..Default::default()
        };
        let mut plan = Plan::default();
        assert_eq!(planner.plan(&request, &mut plan), Ok(PlanOutcome::Wait), "{older:?}");
        let submission =
            |queue, value, number| WaitFor::Submission { queue, value: FenceValue::new(value), number };
        let mut expected = vec![submission(graphics, 2, 4)];
        if older == Older::Evictable {
            // What ends first is not known.
            expected.insert(0, submission(compute, 1, 1));
        }
        assert_eq!(plan.awaited, expected, "{older:?}");
    }
}

/// Creates a planner with 10 MiB, by least recent use.
fn lru() -> (ResidencyPlanner, QueueSlot) {
    let mut planner = ResidencyPlanner::new(true, || PolicyKind::Lru.create());
    planner.set_memory(SegmentGroup::Local, GroupMemory { budget: mib(10), external: mib(2) });
    let queue = planner.add_queue();
    (planner, queue)
}

#[test]
fn a_heap_of_unknown_status_counts_once_when_it_is_used() {
    let (mut planner, queue) = lru();
    let heap = add(&mut planner, mib(1), Status::Unknown);
    let submission = planner.begin(queue, FenceValue::new(1));
    planner.touch(&submission, &[heap]).expect("it is live");
    assert_eq!(planner.memory(SegmentGroup::Local).external, mib(1));
    assert_eq!(planner.usage(SegmentGroup::Local), mib(2));
}

#[test]
fn what_a_larger_victim_frees_alone_is_spared_and_a_priority_that_stays_changes_nothing() {
    let (mut planner, _) = lru();
    let [old, large, _] = [1, 4, 1].map(|size| add(&mut planner, mib(size), Status::Resident));
    planner.set_level(old, PriorityLevel::Normal).expect("it is live");
    let mut plan = Plan::default();
    for (bytes, evicted) in [(4, large), (1, old)] {
        let request = PlanRequest { at_least: [mib(bytes), ByteSize::ZERO], ..Default::default() };
        assert_eq!(planner.plan(&request, &mut plan), Ok(PlanOutcome::Ready));
        assert_eq!(plan.evict, [evicted]);
    }
}

#[test]
fn a_trim_waits_for_what_is_in_use_if_it_may_and_finds_nothing() {
    let (mut planner, queue) = lru();
    let heap = add(&mut planner, mib(1), Status::Resident);
    let submission = planner.begin(queue, FenceValue::new(1));
    planner.touch(&submission, &[heap]).expect("it is live");
    let mut plan = Plan::default();
    for (may_wait, outcome) in [(true, PlanOutcome::Wait), (false, PlanOutcome::Ready)] {
        let request = PlanRequest { at_least: [mib(1), ByteSize::ZERO], may_wait, ..Default::default() };
        assert_eq!(planner.plan(&request, &mut plan), Ok(outcome));
    }
}

#[test]
fn a_plan_waits_for_heaps_that_an_earlier_one_brings() {
    let (mut planner, _) = lru();
    let heaps = [(); 2].map(|()| add(&mut planner, mib(1), Status::Evicted));
    let mut plan = Plan::default();
    for (end, arrives) in [(1, 0), (2, 5)] {
        let request = PlanRequest { heaps: &heaps[..end], list_ends: &[end], ..Default::default() };
        assert_eq!(planner.plan(&request, &mut plan), Ok(PlanOutcome::Ready));
        assert_eq!(plan.arrives, FenceValue::new(arrives));
        assert_eq!(planner.set_resident(heaps[end - 1], false), Err(PlanError::InUse));
        planner.paged_in(&plan, FenceValue::new(5));
    }
    for (completed, awaits_paging) in [(4, true), (5, false), (3, false)] {
        planner.complete_paging(FenceValue::new(completed));
        assert_eq!(planner.awaits_paging(), awaits_paging);
    }
}

#[test]
fn a_heap_is_in_use_by_the_queues_that_used_it_last_however_many_there_are() {
    let (mut planner, first) = lru();
    let queues: Vec<_> = std::iter::once(first).chain((0..33).map(|_| planner.add_queue())).collect();
    let heap = add(&mut planner, mib(1), Status::Resident);
    let submit = |planner: &mut ResidencyPlanner, queue: usize, value| {
        let submission = planner.begin(queues[queue], FenceValue::new(value));
        planner.touch(&submission, &[heap]).expect("it is live");
    };
    let is_in_use = |planner: &ResidencyPlanner| planner.heap(heap).expect("it is live").is_in_use;
    submit(&mut planner, 32, 1);
    assert!(is_in_use(&planner));
    planner.complete(queues[32], FenceValue::new(1));
    submit(&mut planner, 1, 1);
    planner.complete(queues[1], FenceValue::new(1));
    planner.begin(queues[1], FenceValue::new(2));
    submit(&mut planner, 0, 1);
    planner.complete(queues[0], FenceValue::new(1));
    assert!(!is_in_use(&planner), "the work of the other queue began after its use");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn plans_agree_with_the_model(
        kind in prop::option::weighted(0.75, prop::sample::select(PolicyKind::all())),
        queues in 1..4_usize,
        steps in steps(),
    ) {
        let mut shadowed = ShadowedPlanner::new(|| policy(kind), queues);
        for group in [false, true] {
            shadowed.step(Step::Memory { group, budget: 100 });
        }
        steps.into_iter().for_each(|step| shadowed.step(step));
    }
}
