//! Simulates a workload under a policy: core's planner plans, a device of the host driver carries the plans
//! out, and a simulated clock measures the time.

mod clock;
mod device;

use std::time::Duration;

use heapwright::{ByteSize, FenceValue, SegmentGroup};
use heapwright_core::residency::policy::EvictionPolicy;
use heapwright_core::residency::{
    GroupMemory, ManagedHeapId, NewManagedHeap, Plan, PlanOutcome, PlanRequest, PriorityLevel, QueueSlot,
    ResidencyPlanner, Status, WaitFor,
};

use self::clock::{Clock, Moved, PagingCost};
use self::device::{CallFailed, Device};
use super::workload::{HeapNumber, WorkHeap, Workload, as_index};

/// The result of simulating a workload under a policy.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// The total bytes passed to MakeResident.
    pub bytes_in: ByteSize,
    /// The total bytes passed to Evict.
    pub bytes_out: ByteSize,
    /// The bytes that were evicted ahead of need, part of `bytes_out`.
    pub bytes_ahead: ByteSize,
    /// How often the CPU waited for the GPU before something could be evicted.
    pub stalls: u64,
    /// The total time of those waits.
    pub stall_time: Duration,
    /// The longest of those waits.
    pub longest_stall: Duration,
    /// The time from the end of the previous frame to the end of each; for the first frame, from the
    /// beginning.
    pub frame_times: Vec<Duration>,
    /// The number of frames with usage over the budget, because a submission's own heaps exceed it.
    pub over_budget_frames: u64,
}

/// An error that indicates a defect in the program or its dependencies, except for
/// [`TooLarge`](Self::TooLarge).
#[derive(Debug, thiserror::Error)]
enum SimulationError {
    #[error("{0}")]
    Call(#[from] CallFailed),
    #[error(
        "the workload is larger than the simulated GPU: cannot create a heap of {size} with {used} of heaps alive \
         ({error}); all heaps that are alive at the same time must fit into the address space of a process"
    )]
    TooLarge { size: ByteSize, used: ByteSize, error: CallFailed },
    #[error("the residency planner failed: {0}")]
    Planner(String),
    #[error(
        "usage of the {group} segment group is {device} according to the adapter, but {planner} according to the \
         planner"
    )]
    Usage { group: SegmentGroup, device: ByteSize, planner: ByteSize },
    #[error(
        "usage of the {group} segment group, {usage}, exceeds both the budget, {budget}, and the heaps that must be \
         resident, {needed}"
    )]
    OverBudget { group: SegmentGroup, usage: ByteSize, budget: ByteSize, needed: ByteSize },
}

/// An error, with the frame in which it occurred.
#[derive(Debug, thiserror::Error)]
#[error("frame {frame}: {error}")]
pub struct SimulationFailed {
    frame: usize,
    error: SimulationError,
}

impl SimulationFailed {
    /// Returns whether the workload needs more than the device has, which is an error in the workload.
    pub fn is_too_large(&self) -> bool {
        matches!(self.error, SimulationError::TooLarge { .. })
    }
}

/// The default limit of bytes evicted ahead of need at a time: that of `ResidencyManagerDesc::evict_size`.
pub const EVICT_AHEAD: ByteSize = ByteSize::from_mib(50);

/// The number of submissions between two attempts to evict heaps ahead of need: that of a `ResidencyManager`.
const AHEAD_INTERVAL: usize = 32;

/// Simulates all frames under a policy, of which one is created for each priority of a segment group. Evicts up to
/// `evict_ahead` bytes ahead of need as often as a residency manager does. Calls `progress` at the beginning of each
/// frame.
///
/// # Errors
///
/// Returns an error if the device refuses a call, if its usage differs from the planner's, or if usage
/// exceeds the budget without need.
pub fn simulate(
    workload: &Workload,
    policy: &dyn Fn() -> Box<dyn EvictionPolicy>,
    evict_ahead: ByteSize,
    progress: &mut dyn FnMut(usize),
) -> Result<Outcome, SimulationFailed> {
    let at = |frame| move |error| SimulationFailed { frame, error };
    let mut simulation = Simulation::new(workload, policy).map_err(at(0))?;
    for frame in 0..workload.frames.len() {
        progress(frame);
        simulation.frame(frame, evict_ahead).map_err(at(frame))?;
    }
    Ok(simulation.outcome)
}

struct Simulation<'a> {
    workload: &'a Workload,
    planner: ResidencyPlanner,
    plan: Plan,
    device: Device,
    clock: Clock,
    queues: Vec<QueueSlot>,
    /// The ids by heap number; `None` for heaps that are not live.
    ids: Vec<Option<ManagedHeapId>>,
    /// The heap number in each slot of the planner.
    numbers: Vec<HeapNumber>,
    /// The heaps to release as soon as the GPU has finished using them.
    dying: Vec<HeapNumber>,
    /// The budgets last passed to the planner.
    budget: [ByteSize; 2],
    /// The total size of live heaps, resident or not.
    living: ByteSize,
    /// The end of each frame.
    ends: Vec<Duration>,
    /// The heaps of the current submission.
    set: Vec<ManagedHeapId>,
    outcome: Outcome,
    is_over_budget: bool,
}

impl<'a> Simulation<'a> {
    fn new(
        workload: &'a Workload,
        policy: &dyn Fn() -> Box<dyn EvictionPolicy>,
    ) -> Result<Self, SimulationError> {
        let mut planner = ResidencyPlanner::new(false, policy);
        let queues = (0..workload.queue_count).map(|_| planner.add_queue()).collect();
        let mut simulation = Self {
            workload,
            planner,
            plan: Plan::default(),
            device: Device::open(workload)?,
            clock: Clock::new(workload.queue_count, PagingCost::PCI_EXPRESS_4),
            queues,
            ids: vec![None; workload.heaps.len()],
            numbers: Vec::new(),
            dying: Vec::new(),
            budget: [ByteSize::MAX; 2],
            living: ByteSize::ZERO,
            ends: Vec::new(),
            set: Vec::new(),
            outcome: Outcome::default(),
            is_over_budget: false,
        };
        if let Some(first) = workload.frames.first() {
            simulation.set_budget(first.budget)?;
        }
        Ok(simulation)
    }

    fn frame(&mut self, number: usize, evict_ahead: ByteSize) -> Result<(), SimulationError> {
        let workload = self.workload;
        let frame = &workload.frames[number];
        self.is_over_budget = false;
        if let Some(&end) =
            number.checked_sub(workload.frames_in_flight).and_then(|before| self.ends.get(before))
        {
            self.clock.wait_until(end);
        }
        self.catch_up()?;
        self.set_budget(frame.budget)?;
        self.make_room(&frame.born)?;
        for &heap in &frame.born {
            self.create(heap)?;
        }
        let before = self.ends.last().copied().unwrap_or_default();
        let mut end = before;
        for submission in frame.submissions.clone() {
            end = end.max(self.submit(submission)?);
            if (submission + 1).is_multiple_of(AHEAD_INTERVAL) {
                self.evict_ahead(evict_ahead)?;
            }
        }
        self.dying.extend(&frame.died);
        self.ends.push(end);
        self.outcome.frame_times.push(end - before);
        self.outcome.over_budget_frames += u64::from(self.is_over_budget);
        Ok(())
    }

    /// Passes all completed events to the planner.
    fn catch_up(&mut self) -> Result<(), SimulationError> {
        for (number, &queue) in self.queues.iter().enumerate() {
            self.planner.complete(queue, self.clock.completed(number));
        }
        self.planner.complete_paging(self.clock.paging_completed());
        self.release_dead()
    }

    fn release_dead(&mut self) -> Result<(), SimulationError> {
        let dying = std::mem::take(&mut self.dying);
        for number in dying {
            let id = self.id(number)?;
            if self.planner.heap(id).is_some_and(|heap| heap.is_in_use) {
                self.dying.push(number);
                continue;
            }
            self.planner.remove(id).map_err(refused)?;
            self.ids[as_index(number)] = None;
            self.device.release(number);
            self.living = self.living.saturating_sub(self.workload.heap(number).size);
        }
        self.check_usage()
    }

    /// Sets the budgets, and evicts heaps in excess of them that the GPU does not need.
    fn set_budget(&mut self, budget: [ByteSize; 2]) -> Result<(), SimulationError> {
        if self.budget == budget {
            return Ok(());
        }
        self.budget = budget;
        for group in SegmentGroup::ALL {
            let budget = budget[group.index()];
            self.device.set_budget(group, budget);
            self.planner.set_memory(group, GroupMemory { budget, external: ByteSize::ZERO });
        }
        self.planner.set_time(self.clock.now());
        let request = PlanRequest { may_exceed: true, ..Default::default() };
        self.plan_and_carry_out(&request)?;
        Ok(())
    }

    /// Makes room for heaps to be created, for all together because the frame needs them all.
    fn make_room(&mut self, born: &[HeapNumber]) -> Result<(), SimulationError> {
        let mut incoming = [ByteSize::ZERO; 2];
        for heap in born.iter().map(|&number| self.workload.heap(number)).filter(|heap| heap.is_resident) {
            let bytes = &mut incoming[heap.group.index()];
            *bytes = bytes.saturating_add(heap.size);
        }
        let is_short = |group: SegmentGroup| {
            let bytes = incoming[group.index()];
            !bytes.is_zero() && self.planner.usage(group).saturating_add(bytes) > self.budget[group.index()]
        };
        if !SegmentGroup::ALL.into_iter().any(is_short) {
            return Ok(());
        }
        self.planner.set_time(self.clock.now());
        let request = PlanRequest { incoming, may_wait: true, may_exceed: true, ..Default::default() };
        self.plan_and_carry_out(&request)?;
        for group in SegmentGroup::ALL {
            let (usage, bytes) = (self.planner.usage(group), incoming[group.index()]);
            self.check_need(group, usage.saturating_add(bytes), bytes)?;
        }
        Ok(())
    }

    fn create(&mut self, number: HeapNumber) -> Result<(), SimulationError> {
        let heap = *self.workload.heap(number);
        let WorkHeap { size, group, is_resident } = heap;
        let level = PriorityLevel::Normal;
        self.planner.set_time(self.clock.now());
        self.device.create(number, &heap).map_err(|error| match error.is_out_of_memory() {
            true => SimulationError::TooLarge { size, used: self.living, error },
            false => error.into(),
        })?;
        self.living = self.living.saturating_add(size);
        let status = if is_resident { Status::Resident } else { Status::Evicted };
        let id = self.planner.add(NewManagedHeap { group, size, level, status }).map_err(refused)?;
        self.ids[as_index(number)] = Some(id);
        let slot = id.slot().index();
        if slot >= self.numbers.len() {
            self.numbers.resize(slot + 1, 0);
        }
        self.numbers[slot] = number;
        self.check_usage()
    }

    /// Makes a submission. Returns the time at which the GPU has finished it.
    fn submit(&mut self, number: usize) -> Result<Duration, SimulationError> {
        let workload = self.workload;
        let work = workload.submissions[number];
        self.catch_up()?;
        let mut set = std::mem::take(&mut self.set);
        set.clear();
        let mut needed = [ByteSize::ZERO; 2];
        for &heap in workload.uses(number) {
            set.push(self.id(heap)?);
            let &WorkHeap { size, group, .. } = workload.heap(heap);
            needed[group.index()] = needed[group.index()].saturating_add(size);
        }
        let value = self.clock.next_value(work.queue);
        self.planner.set_time(self.clock.now());
        let submission = self.planner.begin(self.queues[work.queue], value);
        let is_full = SegmentGroup::ALL.into_iter().any(|group| self.excess(group) > ByteSize::ZERO);
        let arrives = if !is_full && self.planner.are_resident(&set).map_err(refused)? {
            self.planner.touch(&submission, &set).map_err(refused)?
        } else {
            let list_ends = [set.len()];
            let mut arrives = FenceValue::ZERO;
            loop {
                // Usage may exceed the budget even without this submission, because the budget decreased. The
                // excess is evicted first.
                let request = PlanRequest {
                    submission: Some(&submission),
                    heaps: &set,
                    list_ends: &list_ends,
                    at_least: SegmentGroup::ALL.map(|group| self.excess(group)),
                    may_wait: true,
                    may_exceed: true,
                    ..Default::default()
                };
                let carried_out = self.plan_and_carry_out(&request)?;
                arrives = arrives.max(carried_out.arrives);
                let is_over = SegmentGroup::ALL.into_iter().any(|group| self.excess(group) > ByteSize::ZERO);
                if !is_over || !carried_out.has_evicted {
                    break;
                }
            }
            arrives
        };
        for group in SegmentGroup::ALL {
            self.check_budget(group, needed[group.index()])?;
        }
        self.set = set;
        Ok(self.clock.submit(work.queue, work.gpu, arrives))
    }

    /// Lets the policy evict heaps that are not worth keeping.
    fn evict_ahead(&mut self, limit: ByteSize) -> Result<(), SimulationError> {
        self.planner.set_time(self.clock.now());
        let mut plan = std::mem::take(&mut self.plan);
        self.planner.plan_ahead([limit; 2], &mut plan);
        let ahead = plan.bytes_out.into_iter().fold(ByteSize::ZERO, ByteSize::saturating_add);
        self.outcome.bytes_ahead = self.outcome.bytes_ahead.saturating_add(ahead);
        self.plan = plan;
        self.carry_out().map(drop)
    }

    /// Plans, waits as the planner requires, and carries the plan out.
    fn plan_and_carry_out(&mut self, request: &PlanRequest<'_>) -> Result<CarriedOut, SimulationError> {
        loop {
            match self.planner.plan(request, &mut self.plan).map_err(refused)? {
                PlanOutcome::Ready => return self.carry_out(),
                PlanOutcome::OverBudget(over) => return Err(SimulationError::Planner(over.to_string())),
                PlanOutcome::Wait => {
                    let end = |event: &WaitFor| match *event {
                        WaitFor::Paging(value) => Some(self.clock.arrival_of(value)),
                        WaitFor::Submission { queue, value, .. } => {
                            let queue = self.queues.iter().position(|&known| known == queue)?;
                            Some(self.clock.end_of(queue, value))
                        }
                    };
                    let first = self.plan.awaited.iter().filter_map(end).min();
                    let first = first.ok_or_else(|| refused("the plan waits for no known event"))?;
                    let waited = self.clock.wait_until(first);
                    if waited.is_zero() {
                        return Err(refused("the plan waits for a fence value that has been reached"));
                    }
                    self.outcome.stalls += 1;
                    self.outcome.stall_time = self.outcome.stall_time.saturating_add(waited);
                    self.outcome.longest_stall = self.outcome.longest_stall.max(waited);
                    self.catch_up()?;
                }
            }
        }
    }

    /// Carries the plan out on the device.
    fn carry_out(&mut self) -> Result<CarriedOut, SimulationError> {
        let Self { plan, device, numbers, workload, .. } = self;
        let number_of = |id: &ManagedHeapId| numbers[id.slot().index()];
        let sum = |ids: &[ManagedHeapId]| {
            let sizes = ids.iter().map(|id| workload.heap(number_of(id)).size);
            Moved { heaps: ids.len(), bytes: sizes.fold(ByteSize::ZERO, ByteSize::saturating_add) }
        };
        let (out, into) = (sum(&plan.evict), sum(&plan.make_resident));
        let mut carried_out = CarriedOut { arrives: plan.arrives, has_evicted: out.heaps > 0 };
        if out.heaps > 0 {
            device.evict(plan.evict.iter().map(number_of))?;
        }
        if into.heaps > 0 {
            device.make_resident(plan.make_resident.iter().map(number_of))?;
        }
        if out.heaps + into.heaps > 0 {
            let value = self.clock.page(out, into);
            if into.heaps > 0 {
                carried_out.arrives = carried_out.arrives.max(value);
            }
            self.planner.paged_in(&self.plan, value);
        }
        self.outcome.bytes_out = self.outcome.bytes_out.saturating_add(out.bytes);
        self.outcome.bytes_in = self.outcome.bytes_in.saturating_add(into.bytes);
        self.check_usage()?;
        Ok(carried_out)
    }

    fn id(&self, number: HeapNumber) -> Result<ManagedHeapId, SimulationError> {
        self.ids[as_index(number)]
            .ok_or_else(|| refused(format!("heap {number} is used while it does not exist")))
    }

    fn excess(&self, group: SegmentGroup) -> ByteSize {
        self.planner.usage(group).saturating_sub(self.budget[group.index()])
    }

    /// Checks that the adapter's usage equals the planner's.
    fn check_usage(&self) -> Result<(), SimulationError> {
        for group in SegmentGroup::ALL {
            let (device, planner) = (self.device.usage(group), self.planner.usage(group));
            if device != planner {
                return Err(SimulationError::Usage { group, device, planner });
            }
        }
        Ok(())
    }

    /// Checks that usage exceeds the budget only if `needed`, which must be resident at once, exceeds it.
    fn check_budget(&mut self, group: SegmentGroup, needed: ByteSize) -> Result<(), SimulationError> {
        self.check_need(group, self.device.usage(group), needed)
    }

    fn check_need(
        &mut self,
        group: SegmentGroup,
        usage: ByteSize,
        needed: ByteSize,
    ) -> Result<(), SimulationError> {
        let budget = self.budget[group.index()];
        if usage <= budget {
            return Ok(());
        }
        self.is_over_budget = true;
        if needed > budget && usage <= needed {
            return Ok(());
        }
        Err(SimulationError::OverBudget { group, usage, budget, needed })
    }
}

/// The result of carrying out a plan.
#[derive(Debug, Clone, Copy)]
struct CarriedOut {
    /// The value that the paging fence must reach before the GPU begins.
    arrives: FenceValue,
    has_evicted: bool,
}

fn refused(reason: impl ToString) -> SimulationError {
    SimulationError::Planner(reason.to_string())
}
