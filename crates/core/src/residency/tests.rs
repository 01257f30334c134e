//! Compares the planner with a simple model, and tests individual results.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;

use super::policy::{Admission, EvictionPolicy, HeapSlot, Moment, PolicyKind, Withdrawal};
use super::*;
use crate::{ByteSize, FenceValue};

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
fn eviction_waits_for_the_queues_that_use_the_heap() {
    let mut planner = planner(mib(4));
    let used = add(&mut planner, mib(4), Status::Resident);
    let new = add(&mut planner, mib(4), Status::Evicted);
    let (queue, other) = (planner.add_queue(), planner.add_queue());
    assert_eq!(submit(&mut planner, queue, 7, &[used]).0, PlanOutcome::Ready);
    // The other queue reaches the same value, but of its own fence.
    planner.complete(other, FenceValue::new(7));
    let wait = PlanOutcome::Wait(WaitFor::Submission(queue, FenceValue::new(7)));
    assert_eq!(submit(&mut planner, other, 1, &[new]).0, wait);
    assert_eq!(planner.heap(used).map(|heap| heap.status), Some(Status::Resident), "nothing must change");
    planner.complete(queue, FenceValue::new(6));
    assert_eq!(submit(&mut planner, other, 1, &[new]).0, wait);
    planner.complete(queue, FenceValue::new(7));
    let (outcome, plan) = submit(&mut planner, other, 1, &[new]);
    assert_eq!((outcome, &plan.evict[..]), (PlanOutcome::Ready, &[used][..]));
}

#[test]
fn pending_paging_is_not_completed_work() {
    // GPGMM signals one fence for paging and for work, so a heap in use appears idle when it is paged in.
    let mut planner = planner(mib(4));
    let first = add(&mut planner, mib(4), Status::Evicted);
    let second = add(&mut planner, mib(4), Status::Evicted);
    let queue = planner.add_queue();
    assert_eq!(submit(&mut planner, queue, 1, &[first]).0, PlanOutcome::Ready);
    planner.complete_paging(FenceValue::new(1));
    let wait = PlanOutcome::Wait(WaitFor::Submission(queue, FenceValue::new(1)));
    assert_eq!(submit(&mut planner, queue, 2, &[second]).0, wait);
    planner.complete(queue, FenceValue::new(1));
    assert_eq!(submit(&mut planner, queue, 2, &[second]).0, PlanOutcome::Ready);
}

#[test]
fn a_heap_being_paged_in_is_not_evicted() {
    let mut planner = planner(mib(4));
    let (first, second) =
        (add(&mut planner, mib(4), Status::Evicted), add(&mut planner, mib(4), Status::Evicted));
    let now = Moment::default();
    let mut plan = Plan::default();
    let request = PlanRequest { heaps: &[first], list_ends: &[1], ..PlanRequest::new(now) };
    assert_eq!(planner.plan(&request, &mut plan), Ok(PlanOutcome::Ready));
    planner.paged_in(&plan, FenceValue::new(5), now);
    let request = PlanRequest { heaps: &[second], list_ends: &[1], may_wait: true, ..PlanRequest::new(now) };
    let wait = PlanOutcome::Wait(WaitFor::Paging(FenceValue::new(5)));
    assert_eq!(planner.plan(&request, &mut plan), Ok(wait));
    planner.complete_paging(FenceValue::new(5));
    assert_eq!(planner.plan(&request, &mut plan), Ok(PlanOutcome::Ready));
    assert_eq!(plan.evict, [first]);
}

#[test]
fn segment_groups_are_independent() {
    let mut planner = planner(mib(4));
    let non_local = |status| NewManagedHeap { group: SegmentGroup::NonLocal, ..heap(mib(3), status) };
    let now = Moment::default();
    let old_local = add(&mut planner, mib(3), Status::Resident);
    let old_far = planner.add(non_local(Status::Resident), now).expect("small");
    let new_local = add(&mut planner, mib(3), Status::Evicted);
    let new_far = planner.add(non_local(Status::Evicted), now).expect("small");
    let queue = planner.add_queue();
    // Room in system memory is not room in video memory.
    let (outcome, plan) = submit(&mut planner, queue, 1, &[new_local, new_far]);
    assert_eq!(outcome, PlanOutcome::Ready);
    assert_eq!((plan.evict, plan.make_resident), (vec![old_local, old_far], vec![new_local, new_far]));
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
fn failures_leave_the_books_unchanged() {
    let mut planner = planner(mib(4));
    let (old, new) =
        (add(&mut planner, mib(4), Status::Resident), add(&mut planner, mib(4), Status::Evicted));
    let now = Moment::default();
    let mut plan = Plan::default();
    let request = PlanRequest { heaps: &[new], list_ends: &[1], ..PlanRequest::new(now) };
    assert_eq!(planner.plan(&request, &mut plan), Ok(PlanOutcome::Ready));
    planner.page_in_failed(&plan, now);
    let status = |planner: &ResidencyPlanner, id| planner.heap(id).map(|heap| heap.status);
    assert_eq!(status(&planner, new), Some(Status::Evicted));
    assert_eq!(status(&planner, old), Some(Status::Evicted), "the call succeeded");
    planner.audit().expect("the books are consistent");
    // The reverse: a failing eviction.
    let request = PlanRequest { heaps: &[old], list_ends: &[1], ..PlanRequest::new(now) };
    assert_eq!(planner.plan(&request, &mut plan), Ok(PlanOutcome::Ready));
    planner.paged_in(&plan, FenceValue::new(1), now);
    planner.complete_paging(FenceValue::new(1));
    let trim = PlanRequest { at_least: [mib(4), mib(0)], ..PlanRequest::new(now) };
    assert_eq!(planner.plan(&trim, &mut plan), Ok(PlanOutcome::Ready));
    planner.evict_failed(&plan, now);
    assert_eq!(status(&planner, old), Some(Status::Resident));
    assert_eq!(planner.plan(&trim, &mut plan), Ok(PlanOutcome::Ready));
    assert_eq!(plan.evict, [old], "the plan can be retried");
    planner.audit().expect("the books are consistent");
}

#[test]
fn only_heaps_unused_for_a_period_are_trimmed() {
    let mut planner = planner(mib(100));
    let now = Moment::default();
    let [used, unused, busy, locked, unlocked] =
        std::array::from_fn(|_| add(&mut planner, mib(2), Status::Resident));
    let away = add(&mut planner, mib(2), Status::Evicted);
    assert!(!planner.lock(locked, now).expect("lives").is_missing);
    assert!(!planner.lock(unlocked, now).expect("lives").is_missing);
    let queue = planner.add_queue();
    assert_eq!(submit(&mut planner, queue, 1, &[unused, used]).0, PlanOutcome::Ready);
    let other = planner.add_queue();
    assert_eq!(submit(&mut planner, other, 1, &[busy]).0, PlanOutcome::Ready);
    planner.complete(queue, FenceValue::new(1));
    let mut plan = Plan::default();
    planner.plan_unused(now, &mut plan);
    assert!(plan.is_empty(), "all were used in that period");

    assert_eq!(submit(&mut planner, queue, 2, &[used]).0, PlanOutcome::Ready);
    planner.complete(queue, FenceValue::new(2));
    assert_eq!(planner.unlock(unlocked, now), Ok(0));
    let late = add(&mut planner, mib(2), Status::Resident);
    planner.plan_unused(now, &mut plan);
    assert_eq!((&plan.evict[..], plan.bytes_out), (&[unused][..], [mib(2), mib(0)]));

    planner.begin_period();
    planner.complete(other, FenceValue::new(1));
    planner.plan_unused(now, &mut plan);
    assert_eq!(plan.evict, [used, busy, unlocked, late], "an old period");
    let status = |id| planner.heap(id).map(|heap| heap.status);
    assert_eq!((status(locked), status(away)), (Some(Status::Resident), Some(Status::Evicted)));
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

#[derive(Debug, Clone)]
enum Call {
    Add { size: u64, group: bool, level: usize, status: u8 },
    Remove(usize),
    Submit { queue: usize, heaps: Vec<usize>, split: usize, may_exceed: bool, fails: bool },
    Complete { queue: usize },
    CompletePaging,
    Lock(usize),
    Unlock(usize),
    Budget { group: bool, bytes: u64 },
    Trim,
    Ahead(u64),
    Unused,
    Level { heap: usize, level: usize },
    SetResident { heap: usize, is_resident: bool },
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        4 => (1..40u64, any::<bool>(), 0..5usize, 0..3u8)
            .prop_map(|(size, group, level, status)| Call::Add { size, group, level, status }),
        1 => (0..64usize).prop_map(Call::Remove),
        8 => (0..3usize, prop::collection::vec(0..64usize, 1..8), 0..8usize, any::<bool>(), prop::bool::weighted(0.1))
            .prop_map(|(queue, heaps, split, may_exceed, fails)| Call::Submit { queue, heaps, split, may_exceed, fails }),
        4 => (0..3usize).prop_map(|queue| Call::Complete { queue }),
        2 => Just(Call::CompletePaging),
        2 => (0..64usize).prop_map(Call::Lock),
        2 => (0..64usize).prop_map(Call::Unlock),
        1 => (any::<bool>(), 1..200u64).prop_map(|(group, bytes)| Call::Budget { group, bytes }),
        1 => Just(Call::Trim),
        1 => (0..50u64).prop_map(Call::Ahead),
        1 => Just(Call::Unused),
        1 => (0..64usize, 0..5usize).prop_map(|(heap, level)| Call::Level { heap, level }),
        1 => (0..64usize, any::<bool>()).prop_map(|(heap, is_resident)| Call::SetResident { heap, is_resident }),
    ]
}

/// The state that a device would have.
#[derive(Debug, Clone)]
struct Modelled {
    size: u64,
    group: SegmentGroup,
    is_resident: bool,
    locks: u32,
    /// The unfinished submissions that use the heap.
    uses: BTreeSet<(usize, u64)>,
    arrives: u64,
    /// The period in which the heap was last used or became resident.
    period: u64,
}

#[derive(Default)]
struct Model {
    heaps: BTreeMap<ManagedHeapId, Modelled>,
    signalled: [u64; 3],
    paging: (u64, u64),
    budget: [u64; 2],
    period: u64,
}

impl Model {
    fn usage(&self, group: SegmentGroup) -> u64 {
        self.heaps.values().filter(|heap| heap.is_resident && heap.group == group).map(|heap| heap.size).sum()
    }

    fn carry_out(&mut self, plan: &Plan, set: &[ManagedHeapId]) {
        for id in &plan.evict {
            let heap = self.heaps.get_mut(id).expect("the heap is live");
            assert!(heap.is_resident && heap.locks == 0, "{id:?} is evicted twice or locked");
            assert!(heap.uses.is_empty(), "{id:?} is in use by {:?}", heap.uses);
            assert!(heap.arrives <= self.paging.1, "{id:?} is being paged in");
            assert!(!set.contains(id), "{id:?} is needed");
            heap.is_resident = false;
        }
        for id in &plan.make_resident {
            let heap = self.heaps.get_mut(id).expect("the heap is live");
            assert!(!heap.is_resident, "{id:?} is made resident twice");
            heap.is_resident = true;
        }
    }

    /// Returns the bytes that cannot be evicted: locked, in use, in transit, or in the set.
    fn bound(&self, group: SegmentGroup, set: &[ManagedHeapId]) -> u64 {
        let stays = |(id, heap): &(&ManagedHeapId, &Modelled)| {
            heap.group == group
                && heap.is_resident
                && (heap.locks > 0
                    || set.contains(id)
                    || !heap.uses.is_empty()
                    || heap.arrives > self.paging.1)
        };
        self.heaps.iter().filter(stays).map(|(_, heap)| heap.size).sum()
    }
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

fn check(kind: PolicyKind, calls: Vec<Call>) {
    let mut planner = ResidencyPlanner::new(false, || kind.create());
    let queues: Vec<_> = (0..3).map(|_| planner.add_queue()).collect();
    let mut model = Model { budget: [100, 100], ..Model::default() };
    for group in SegmentGroup::ALL {
        planner.set_memory(group, GroupMemory { budget: ByteSize::new(100), external: ByteSize::ZERO });
    }
    let mut plan = Plan::default();
    let mut tick = 0;
    for call in calls {
        tick += 1;
        let time = Duration::from_millis(tick * 16);
        let now = planner.moment(time);
        let ids: Vec<_> = model.heaps.keys().copied().collect();
        let pick = |index: usize| (!ids.is_empty()).then(|| ids[index % ids.len()]);
        match call {
            Call::Add { size, group, level, status } => {
                let group = SegmentGroup::ALL[usize::from(group)];
                let status = [Status::Unknown, Status::Evicted, Status::Resident][usize::from(status)];
                let level = PriorityLevel::ALL[level];
                let id = planner
                    .add(NewManagedHeap { group, size: ByteSize::new(size), level, status }, now)
                    .expect("small");
                // A heap of unknown status is resident. Until it is adopted it counts as external usage, of
                // which there is none here.
                let is_resident = status != Status::Evicted;
                model.heaps.insert(
                    id,
                    Modelled {
                        size,
                        group,
                        is_resident,
                        locks: 0,
                        uses: BTreeSet::new(),
                        arrives: 0,
                        period: model.period,
                    },
                );
                if status == Status::Unknown {
                    planner.lock(id, now).expect("the heap is live");
                    planner.unlock(id, now).expect("the heap is locked");
                }
            }
            Call::Remove(index) => {
                if let Some(id) = pick(index) {
                    planner.remove(id).expect("the heap is live");
                    model.heaps.remove(&id);
                }
            }
            Call::Submit { queue, heaps, split, may_exceed, fails } => {
                let set: Vec<_> = heaps.iter().filter_map(|&index| pick(index)).collect();
                let ends = [split.min(set.len()), set.len()];
                let value = model.signalled[queue] + 1;
                let submission = planner.begin(queues[queue], FenceValue::new(value), time);
                let all_resident = set.iter().all(|id| model.heaps[id].is_resident);
                assert_eq!(planner.are_resident(&set), Ok(all_resident));
                let mut used = &set[..];
                if all_resident {
                    let touched = planner.touch(&submission, &set).expect("the heaps are live");
                    let arrives = set.iter().map(|id| model.heaps[id].arrives).max().unwrap_or(0);
                    let waits = if arrives > model.paging.1 { arrives } else { 0 };
                    assert_eq!(touched.get(), waits);
                } else {
                    let before = SegmentGroup::ALL.map(|group| model.usage(group));
                    let request = PlanRequest {
                        submission: Some(&submission),
                        heaps: &set,
                        list_ends: &ends,
                        may_wait: true,
                        may_exceed,
                        ..PlanRequest::new(submission.moment())
                    };
                    match planner.plan(&request, &mut plan).expect("the heaps are live") {
                        PlanOutcome::Ready => {
                            used = &set[..ends[plan.lists - 1]];
                            model.carry_out(&plan, used);
                            assert!(used.iter().all(|id| model.heaps[id].is_resident));
                            for (index, group) in SegmentGroup::ALL.into_iter().enumerate() {
                                let over = model.usage(group).saturating_sub(model.budget[index]);
                                if over > 0 && plan.bytes_in[index] > ByteSize::ZERO {
                                    assert!(may_exceed, "over budget without permission");
                                    assert_eq!(over, plan.over_budget[index].get());
                                    assert_eq!(
                                        model.usage(group),
                                        model.bound(group, used),
                                        "not everything evictable was evicted"
                                    );
                                }
                                if plan.bytes_in[index].is_zero() {
                                    assert!(model.usage(group) <= before[index]);
                                }
                            }
                            if fails {
                                planner.page_in_failed(&plan, submission.moment());
                                for id in used {
                                    model.heaps.get_mut(id).expect("the heap is live").period = model.period;
                                }
                                for id in &plan.make_resident {
                                    model.heaps.get_mut(id).expect("the heap is live").is_resident = false;
                                }
                                planner.cancel(&submission);
                                continue;
                            }
                            model.paging.0 += 1;
                            planner.paged_in(&plan, FenceValue::new(model.paging.0), submission.moment());
                            for id in &plan.make_resident {
                                let heap = model.heaps.get_mut(id).expect("the heap is live");
                                (heap.arrives, heap.period) = (model.paging.0, model.period);
                            }
                        }
                        PlanOutcome::Wait(_) => {
                            let waits = model.heaps.values().any(|heap| {
                                heap.is_resident && (!heap.uses.is_empty() || heap.arrives > model.paging.1)
                            });
                            // A failed submission counts as a use until its queue has finished the work
                            // before it.
                            let others = planner.in_flight() - 1;
                            // A heap in transit may have been removed.
                            let is_paging = model.paging.0 > model.paging.1;
                            assert!(waits || others > 0 || is_paging, "a fence to wait for exists");
                            planner.cancel(&submission);
                            continue;
                        }
                        PlanOutcome::OverBudget(over) => {
                            assert!(!may_exceed);
                            assert!(over.needed > over.budget);
                            planner.cancel(&submission);
                            continue;
                        }
                    }
                }
                model.signalled[queue] = value;
                for id in used {
                    let heap = model.heaps.get_mut(id).expect("the heap is live");
                    heap.uses.insert((queue, value));
                    heap.period = model.period;
                }
            }
            Call::Complete { queue } => {
                let value = model.signalled[queue];
                planner.complete(queues[queue], FenceValue::new(value));
                for heap in model.heaps.values_mut() {
                    heap.uses.retain(|&(used_by, at)| used_by != queue || at > value);
                }
            }
            Call::CompletePaging => {
                model.paging.1 = model.paging.0;
                planner.complete_paging(FenceValue::new(model.paging.1));
            }
            Call::Lock(index) => {
                let Some(id) = pick(index) else { continue };
                let outcome = planner.lock(id, now).expect("the heap is live");
                let heap = model.heaps.get_mut(&id).expect("the heap is live");
                assert_eq!(outcome.is_missing, !heap.is_resident);
                if outcome.is_missing {
                    planner.unlock(id, now).expect("the heap is locked");
                } else {
                    heap.locks += 1;
                }
            }
            Call::Unlock(index) => {
                let Some(id) = pick(index) else { continue };
                let heap = model.heaps.get_mut(&id).expect("the heap is live");
                let expected = heap.locks.checked_sub(1).ok_or(PlanError::NotLocked);
                assert_eq!(planner.unlock(id, now), expected);
                if expected == Ok(0) {
                    heap.period = model.period;
                }
                heap.locks = expected.unwrap_or(0);
            }
            Call::Budget { group, bytes } => {
                let group = SegmentGroup::ALL[usize::from(group)];
                model.budget[group.index()] = bytes;
                planner.set_memory(
                    group,
                    GroupMemory { budget: ByteSize::new(bytes), external: ByteSize::ZERO },
                );
            }
            Call::Trim => {
                let request = PlanRequest { may_exceed: true, ..PlanRequest::new(now) };
                assert_eq!(planner.plan(&request, &mut plan), Ok(PlanOutcome::Ready));
                model.carry_out(&plan, &[]);
                for (index, group) in SegmentGroup::ALL.into_iter().enumerate() {
                    let usage = model.usage(group);
                    // A heap that several queues used stays in use until each queue is past the last use by
                    // any of them.
                    let is_clear = planner.in_flight() == 0;
                    assert!(usage <= model.budget[index] || usage == model.bound(group, &[]) || !is_clear);
                }
            }
            Call::Ahead(bytes) => {
                planner.plan_ahead([ByteSize::new(bytes); 2], now, &mut plan);
                model.carry_out(&plan, &[]);
            }
            Call::Unused => {
                let may_go = |heap: &Modelled| {
                    let is_idle = heap.uses.is_empty() && heap.arrives <= model.paging.1;
                    heap.is_resident && heap.locks == 0 && heap.period < model.period && is_idle
                };
                let expected: BTreeSet<_> =
                    model.heaps.iter().filter(|(_, heap)| may_go(heap)).map(|(&id, _)| id).collect();
                planner.plan_unused(now, &mut plan);
                let evicted: BTreeSet<_> = plan.evict.iter().copied().collect();
                // Heaps that several queues used stay in use until each queue is past the last use by any of
                // them.
                assert!(evicted.is_subset(&expected), "{evicted:?} of {expected:?}");
                if planner.in_flight() == 0 {
                    assert_eq!(evicted, expected);
                }
                model.carry_out(&plan, &[]);
                model.period += 1;
            }
            Call::Level { heap, level } => {
                if let Some(id) = pick(heap) {
                    planner.set_level(id, PriorityLevel::ALL[level], now).expect("the heap is live");
                }
            }
            Call::SetResident { heap, is_resident } => {
                let Some(id) = pick(heap) else { continue };
                let heap = model.heaps.get_mut(&id).expect("the heap is live");
                let answer = planner.set_resident(id, is_resident, now);
                if heap.locks > 0 && !is_resident {
                    assert_eq!(answer, Err(PlanError::Locked));
                } else if !heap.uses.is_empty() && !is_resident {
                    assert_eq!(answer, Err(PlanError::InUse));
                } else if answer.is_ok() {
                    if heap.is_resident != is_resident {
                        (heap.arrives, heap.period) = (0, model.period);
                    }
                    heap.is_resident = is_resident;
                } else {
                    assert_eq!((answer, is_resident), (Err(PlanError::InUse), false));
                }
            }
        }
        planner.audit().expect("the books are consistent");
        for group in SegmentGroup::ALL {
            assert_eq!(planner.usage(group).get(), model.usage(group));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn plans_agree_with_the_model(kind in prop::sample::select(kinds()), calls in prop::collection::vec(call(), 1..120)) {
        check(kind, calls);
    }
}
