//! The residency planner and a model of a device that check each other at every step. The fuzz target `residency` uses
//! this file, too.
//!
//! Each call is followed by the audit, and by a comparison of the usage of both segment groups with the
//! model. A plan evicts only heaps that are resident, not locked, not in use, not in transit and not needed,
//! and makes resident only heaps that are not, once each. It is within the budget, unless it may exceed the
//! budget and nothing else can be evicted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::*;

#[derive(Clone, Debug)]
#[cfg_attr(fuzzing, derive(arbitrary::Arbitrary))]
pub(crate) enum Step {
    Add {
        size: u8,
        group: bool,
        level: u8,
        status: u8,
    },
    Remove(u8),
    Submit {
        queue: u8,
        heaps: Vec<u8>,
        split: u8,
        may_wait: bool,
        may_exceed: bool,
        outcome: Outcome,
    },
    Prefetch {
        heaps: Vec<u8>,
        incoming: u8,
        outcome: Outcome,
    },
    /// Completes this many of the submissions in flight.
    Complete {
        queue: u8,
        count: u8,
    },
    CompletePaging,
    Lock(u8),
    Unlock(u8),
    Memory {
        group: bool,
        budget: u16,
    },
    Trim {
        at_least: [u8; 2],
    },
    Ahead(u8),
    Unused,
    Restart,
    Level {
        heap: u8,
        level: u8,
    },
    SetResident {
        heap: u8,
        is_resident: bool,
    },
}

/// The device's response to a plan.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(fuzzing, derive(arbitrary::Arbitrary))]
pub(crate) enum Outcome {
    Done,
    PageInFails,
    EvictFails,
}

fn index_of(group: SegmentGroup) -> usize {
    usize::from(group == SegmentGroup::NonLocal)
}

#[derive(Debug)]
struct Heap {
    size: u64,
    group: SegmentGroup,
    is_resident: bool,
    locks: u32,
    /// The unfinished submissions that use it.
    uses: BTreeSet<(usize, u64)>,
    arrives: u64,
    /// The period in which it was last used, became resident, or lost its last lock.
    period: u64,
}

pub(crate) struct ShadowedPlanner {
    planner: ResidencyPlanner,
    queues: Vec<QueueSlot>,
    heaps: BTreeMap<ManagedHeapId, Heap>,
    removed: Vec<ManagedHeapId>,
    submitted: Vec<u64>,
    completed: Vec<u64>,
    /// The last planned value, and the value reached.
    paging: (u64, u64),
    budget: [u64; 2],
    period: u64,
    time: Duration,
    plan: Plan,
}

impl ShadowedPlanner {
    pub(crate) fn new(create: impl Fn() -> Box<dyn EvictionPolicy>, queue_count: usize) -> Self {
        let mut planner = ResidencyPlanner::new(false, create);
        for group in SegmentGroup::ALL {
            planner.set_memory(group, GroupMemory { budget: ByteSize::new(1000), external: ByteSize::ZERO });
        }
        Self {
            queues: (0..queue_count).map(|_| planner.add_queue()).collect(),
            planner,
            heaps: BTreeMap::new(),
            removed: Vec::new(),
            submitted: vec![0; queue_count],
            completed: vec![0; queue_count],
            paging: (0, 0),
            budget: [1000; 2],
            period: 0,
            time: Duration::ZERO,
            plan: Plan::default(),
        }
    }

    fn pick(&self, index: u8) -> Option<ManagedHeapId> {
        self.heaps.keys().nth(usize::from(index).checked_rem(self.heaps.len())?).copied()
    }

    fn heap(&mut self, id: ManagedHeapId) -> &mut Heap {
        self.heaps.get_mut(&id).expect("it lives")
    }

    fn usage(&self, group: SegmentGroup) -> u64 {
        self.heaps.values().filter(|heap| heap.is_resident && heap.group == group).map(|heap| heap.size).sum()
    }

    /// Returns whether heaps are in use for no longer than the model says. A heap that several queues used stays in use
    /// until each queue is past the last use by any of them.
    fn is_exact(&self) -> bool {
        self.queues.len() == 1 || self.planner.in_flight() == 0
    }

    fn may_go(&self, heap: &Heap) -> bool {
        heap.is_resident && heap.locks == 0 && heap.uses.is_empty() && heap.arrives <= self.paging.1
    }

    /// Returns whether a heap outside of the set is in use or on its way now, and may be evicted later.
    fn waiting_helps(&self, group: SegmentGroup, set: &[ManagedHeapId]) -> bool {
        self.heaps.iter().any(|(id, heap)| {
            let may_become_idle = heap.is_resident && heap.locks == 0 && !self.may_go(heap);
            heap.group == group && heap.size > 0 && may_become_idle && !set.contains(id)
        })
    }

    /// Returns whether the end of a submission to the only queue frees a heap that the plan does not need, and none
    /// does before.
    fn frees_a_heap(&self, value: u64, request: &PlanRequest<'_>) -> bool {
        let first_end = |group, needed: &[ManagedHeapId]| {
            let others = self.heaps.iter().filter(|(id, _)| !needed.contains(id)).map(|(_, heap)| heap);
            let may_go = others
                .filter(|heap| heap.group == group && heap.size > 0 && heap.is_resident && heap.locks == 0);
            may_go.filter_map(|heap| heap.uses.last().map(|&(_, last)| last)).min()
        };
        // The plan needs the heaps of the first list, and as many more as fit.
        let first = &request.heaps[..request.list_ends.first().copied().unwrap_or(0)];
        self.queues.len() > 1
            || SegmentGroup::ALL.into_iter().any(|group| {
                let is_first = first_end(group, request.heaps).is_none_or(|first| value <= first);
                first_end(group, first).is_some_and(|end| end <= value) && is_first
            })
    }

    /// Applies the evictions and page-ins of a plan to the model, and checks that they are allowed.
    fn carry_out(&mut self, set: &[ManagedHeapId]) {
        let plan = std::mem::take(&mut self.plan);
        let (mut bytes_out, mut bytes_in) = ([0; 2], [0; 2]);
        for id in &plan.evict {
            let heap = &self.heaps[id];
            assert!(self.may_go(heap) && !set.contains(id), "{id:?} is evicted: {heap:?}");
            bytes_out[index_of(heap.group)] += heap.size;
            self.heap(*id).is_resident = false;
        }
        for id in &plan.make_resident {
            let heap = self.heap(*id);
            assert!(!heap.is_resident, "{id:?} is made resident once");
            heap.is_resident = true;
            bytes_in[index_of(heap.group)] += heap.size;
        }
        assert_eq!(
            (plan.bytes_out.map(ByteSize::get), plan.bytes_in.map(ByteSize::get)),
            (bytes_out, bytes_in)
        );
        self.plan = plan;
    }

    /// Requests a plan and carries it out. Returns how many heaps of `set` are then resident, or `None`.
    fn plan(&mut self, request: &PlanRequest<'_>, queue: Option<usize>, outcome: Outcome) -> Option<usize> {
        let set = request.heaps;
        match self.planner.plan(request, &mut self.plan).expect("they live") {
            PlanOutcome::Ready => {}
            PlanOutcome::Wait => {
                assert!(request.may_wait && !self.plan.awaited.is_empty());
                for &event in &self.plan.awaited {
                    let (value, reached, last) = match event {
                        WaitFor::Submission { queue: slot, value: fence, .. } => {
                            let at = self.queues.iter().position(|&queue| queue == slot).expect("a queue");
                            (fence.get(), self.completed[at], self.submitted[at])
                        }
                        WaitFor::Paging(fence) => (fence.get(), self.paging.1, self.paging.0),
                    };
                    assert!(reached < value && value <= last, "{event:?}: {reached} of {last} are reached");
                    if let WaitFor::Submission { .. } = event {
                        assert!(
                            self.frees_a_heap(value, request),
                            "{event:?} is not the first end that helps"
                        );
                    }
                }
                return None;
            }
            PlanOutcome::OverBudget(over) => {
                assert!(!request.may_exceed && over.needed > over.budget);
                assert!(!request.may_wait || !self.waiting_helps(over.group, set));
                return None;
            }
        }
        let end = match self.plan.lists {
            0 => 0,
            lists => request.list_ends[lists - 1],
        };
        self.carry_out(&set[..end]);
        assert!(set[..end].iter().all(|id| self.heaps[id].is_resident));
        for (index, group) in SegmentGroup::ALL.into_iter().enumerate() {
            let usage = self.usage(group) + request.incoming[index].get();
            let over = usage.saturating_sub(self.budget[index]);
            let brings = !self.plan.bytes_in[index].is_zero() || !request.incoming[index].is_zero();
            if over > 0 && brings {
                assert!(request.may_exceed, "over the budget without leave");
                assert_eq!(over, self.plan.over_budget[index].get());
                assert!(!request.may_wait || !self.waiting_helps(group, &set[..end]));
                if self.is_exact() {
                    let could = |(id, heap): (&ManagedHeapId, &Heap)| {
                        heap.group == group && self.may_go(heap) && !set[..end].contains(id)
                    };
                    assert!(!self.heaps.iter().any(could), "something else could go");
                }
            }
        }
        let plan = std::mem::take(&mut self.plan);
        let is_done = match outcome {
            Outcome::Done => {
                self.paging.0 += 1;
                self.planner.paged_in(&plan, FenceValue::new(self.paging.0));
                for &id in &plan.make_resident {
                    let (arrives, period) = (self.paging.0, self.period);
                    let heap = self.heap(id);
                    (heap.arrives, heap.period) = (arrives, period);
                }
                true
            }
            Outcome::PageInFails | Outcome::EvictFails => {
                self.planner.page_in_failed(&plan);
                for &id in &plan.make_resident {
                    self.heap(id).is_resident = false;
                }
                if matches!(outcome, Outcome::EvictFails) {
                    self.planner.evict_failed(&plan);
                    for &id in &plan.evict {
                        let period = self.period;
                        let heap = self.heap(id);
                        (heap.is_resident, heap.arrives, heap.period) = (true, 0, period);
                    }
                }
                // A failed submission counts as a use, until its queue has finished the work before it.
                if let Some(queue) = queue {
                    let (period, before) = (self.period, self.submitted[queue]);
                    for &id in &set[..end] {
                        let is_done = self.completed[queue] == before;
                        let heap = self.heap(id);
                        heap.period = period;
                        if !is_done {
                            heap.uses.insert((queue, before));
                        }
                    }
                }
                false
            }
        };
        self.plan = plan;
        is_done.then_some(end)
    }

    fn submit(
        &mut self,
        queue: usize,
        set: &[ManagedHeapId],
        split: usize,
        terms: (bool, bool),
        outcome: Outcome,
    ) {
        let value = self.submitted[queue] + 1;
        let submission = self.planner.begin(self.queues[queue], FenceValue::new(value));
        let are_resident = set.iter().all(|id| self.heaps[id].is_resident);
        assert_eq!(self.planner.are_resident(set), Ok(are_resident));
        let used = if are_resident {
            let touched = self.planner.touch(&submission, set).expect("they live");
            let arrives = set.iter().map(|id| self.heaps[id].arrives).max().unwrap_or(0);
            let waits = if arrives > self.paging.1 { arrives } else { 0 };
            assert_eq!(touched.get(), waits);
            Some(set.len())
        } else {
            let request = PlanRequest {
                submission: Some(&submission),
                heaps: set,
                list_ends: &[split.min(set.len()), set.len()],
                may_wait: terms.0,
                may_exceed: terms.1,
                ..Default::default()
            };
            self.plan(&request, Some(queue), outcome)
        };
        let Some(used) = used else { return self.planner.cancel(&submission) };
        self.submitted[queue] = value;
        let period = self.period;
        for &id in &set[..used] {
            let heap = self.heap(id);
            heap.uses.insert((queue, value));
            heap.period = period;
        }
    }

    /// Makes a call, and checks its result and the planner.
    pub(crate) fn step(&mut self, step: Step) {
        self.call(step);
        self.check();
    }

    fn call(&mut self, step: Step) {
        self.time += Duration::from_millis(16);
        self.planner.set_time(self.time);
        match step {
            Step::Add { size, group, level, status } if self.heaps.len() < 64 => {
                let group = SegmentGroup::ALL[usize::from(group)];
                let level = PriorityLevel::ALL[usize::from(level) % 5];
                let status = [Status::Unknown, Status::Evicted, Status::Resident][usize::from(status) % 3];
                let size = u64::from(size);
                let new = NewManagedHeap { group, size: ByteSize::new(size), level, status };
                let id = self.planner.add(new).expect("small");
                if status == Status::Unknown {
                    // Adopted, because the model has no unknown status.
                    self.planner.lock(id).expect("it lives");
                    assert_eq!(self.planner.unlock(id), Ok(0));
                }
                let (is_resident, period) = (status != Status::Evicted, self.period);
                let heap =
                    Heap { size, group, is_resident, locks: 0, uses: BTreeSet::new(), arrives: 0, period };
                assert!(self.heaps.insert(id, heap).is_none(), "an id is one heap's");
            }
            Step::Remove(index) => {
                let Some(id) = self.pick(index) else { return };
                assert_eq!(self.planner.remove(id), Ok(()));
                assert_eq!(self.planner.remove(id), Err(PlanError::Unknown));
                self.heaps.remove(&id);
                self.removed.push(id);
            }
            Step::Submit { queue, heaps, split, may_wait, may_exceed, outcome } => {
                let set: Vec<_> = heaps.iter().take(12).filter_map(|&index| self.pick(index)).collect();
                self.submit(
                    usize::from(queue) % self.queues.len(),
                    &set,
                    split.into(),
                    (may_wait, may_exceed),
                    outcome,
                );
            }
            Step::Prefetch { heaps, incoming, outcome } => {
                let set: Vec<_> = heaps.iter().take(12).filter_map(|&index| self.pick(index)).collect();
                let incoming = [ByteSize::new(incoming.into()), ByteSize::ZERO];
                let ends = [set.len()];
                let request = PlanRequest { heaps: &set, list_ends: &ends, incoming, ..Default::default() };
                self.plan(&request, None, outcome);
            }
            Step::Complete { queue, count } => {
                let queue = usize::from(queue) % self.queues.len();
                let value = (self.completed[queue] + u64::from(count)).min(self.submitted[queue]);
                self.completed[queue] = value;
                self.planner.complete(self.queues[queue], FenceValue::new(value));
                for heap in self.heaps.values_mut() {
                    heap.uses.retain(|&(used_by, at)| used_by != queue || at > value);
                }
            }
            Step::CompletePaging => {
                self.paging.1 = self.paging.0;
                self.planner.complete_paging(FenceValue::new(self.paging.1));
            }
            Step::Lock(index) => {
                let Some(id) = self.pick(index) else { return };
                let outcome = self.planner.lock(id).expect("it lives");
                let arrived = self.paging.1;
                let heap = self.heap(id);
                assert_eq!(outcome.is_missing, !heap.is_resident);
                if outcome.is_missing {
                    assert_eq!(self.planner.unlock(id), Ok(0));
                } else {
                    assert_eq!(outcome.arrives.get(), if heap.arrives > arrived { heap.arrives } else { 0 });
                    heap.locks += 1;
                }
            }
            Step::Unlock(index) => {
                let (Some(id), period) = (self.pick(index), self.period) else { return };
                let heap = self.heap(id);
                let left = heap.locks.checked_sub(1).ok_or(PlanError::NotLocked);
                heap.locks = left.unwrap_or(0);
                if left == Ok(0) {
                    heap.period = period;
                }
                assert_eq!(self.planner.unlock(id), left);
            }
            Step::Memory { group, budget } => {
                let group = SegmentGroup::ALL[usize::from(group)];
                self.budget[index_of(group)] = budget.into();
                let memory = GroupMemory { budget: ByteSize::new(budget.into()), external: ByteSize::ZERO };
                self.planner.set_memory(group, memory);
            }
            Step::Trim { at_least } => {
                let at_least = at_least.map(|bytes| ByteSize::new(bytes.into()));
                let request = PlanRequest { at_least, may_exceed: true, ..Default::default() };
                assert_eq!(self.planner.plan(&request, &mut self.plan), Ok(PlanOutcome::Ready));
                self.carry_out(&[]);
                for (index, group) in SegmentGroup::ALL.into_iter().enumerate() {
                    let could = |heap: &Heap| heap.group == group && heap.size > 0 && self.may_go(heap);
                    let is_short = self.usage(group) > self.budget[index]
                        || self.plan.bytes_out[index] < at_least[index];
                    let is_left = is_short && self.heaps.values().any(could);
                    assert!(!is_left || !self.is_exact(), "something could go");
                }
            }
            Step::Ahead(bytes) => {
                self.planner.plan_ahead([ByteSize::new(bytes.into()); 2], &mut self.plan);
                self.carry_out(&[]);
            }
            Step::Unused => {
                let is_due = |heap: &Heap| self.may_go(heap) && heap.period < self.period;
                let due: BTreeSet<_> =
                    self.heaps.iter().filter(|(_, heap)| is_due(heap)).map(|(&id, _)| id).collect();
                self.planner.plan_unused(&mut self.plan);
                let evicted: BTreeSet<_> = self.plan.evict.iter().copied().collect();
                assert!(evicted.is_subset(&due), "{evicted:?} of {due:?}");
                assert!(!self.is_exact() || evicted == due, "{evicted:?} of {due:?}");
                self.carry_out(&[]);
                self.period += 1;
            }
            Step::Restart => {
                self.planner.begin_period();
                self.period += 1;
            }
            Step::Level { heap, level } => {
                let Some(id) = self.pick(heap) else { return };
                assert_eq!(self.planner.set_level(id, PriorityLevel::ALL[usize::from(level) % 5]), Ok(()));
            }
            Step::SetResident { heap, is_resident } => {
                let (Some(id), period) = (self.pick(heap), self.period) else { return };
                let answer = self.planner.set_resident(id, is_resident);
                let heap = self.heap(id);
                match answer {
                    Err(PlanError::Locked) => assert!(heap.locks > 0 && !is_resident),
                    // A completed use may still count while other uses of its queues are unfinished.
                    Err(PlanError::InUse) => assert!(heap.locks == 0 && !is_resident),
                    Ok(()) => {
                        assert!(is_resident || (heap.locks == 0 && heap.uses.is_empty()));
                        if heap.is_resident != is_resident {
                            (heap.is_resident, heap.arrives, heap.period) = (is_resident, 0, period);
                        }
                    }
                    Err(other) => panic!("{other}"),
                }
            }
            Step::Add { .. } => {}
        }
    }

    fn check(&self) {
        self.planner.audit().expect("the books agree");
        for group in SegmentGroup::ALL {
            assert_eq!(self.planner.usage(group).get(), self.usage(group));
        }
        assert_eq!(self.planner.heaps().count(), self.heaps.len());
        assert!(self.removed.iter().all(|&id| self.planner.heap(id).is_none()), "an id is one heap's");
        for (id, heap) in self.planner.heaps() {
            let modelled = &self.heaps[&id];
            assert_eq!((heap.status == Status::Resident, heap.locks), (modelled.is_resident, modelled.locks));
            assert!(heap.is_in_use || modelled.uses.is_empty(), "{id:?} is in use");
        }
    }
}
