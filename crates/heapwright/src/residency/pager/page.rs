//! Plans for submissions and for what is needed now, until one succeeds.

use std::sync::atomic::Ordering;

use heapwright_core::residency::{
    ManagedHeapId, OverBudget, PlanOutcome, PlanRequest, PlannedWork, Submission, WaitFor,
};
use heapwright_core::{ByteSize, FenceValue};
use heapwright_d3d12::*;

use super::super::device::{completed, next_value};
use super::super::queue::{ManagedQueue, QueueGuard, SubmittedHeaps};
use super::gpu_wait::Patience;
use super::{CurrentPlan, Pager, add};
use crate::Error;

/// Lists of a submission whose heaps are resident together.
pub(in crate::residency) struct PagedIn<'q> {
    /// The paging fence value to wait for; zero if there is nothing to wait for.
    pub(in crate::residency) arrives: FenceValue,
    /// The number of lists.
    pub(in crate::residency) lists: usize,
    /// The lock of the queue, so that no other submission intervenes.
    pub(in crate::residency) guard: QueueGuard<'q>,
    /// The submission to execute.
    pub(in crate::residency) submission: Submission,
}

/// The result of planning and carrying out one plan.
enum Step {
    Done { arrives: FenceValue, lists: usize },
    Obstacle(Obstacle),
}

/// What prevents a plan.
enum Obstacle {
    /// Memory is in use.
    InUse(Awaited),
    OverBudget(OverBudget),
    /// The device has refused to evict some heaps, which are locked now.
    Refused,
    /// The device is out of memory after `evicted` bytes were evicted; `wanted` bytes were requested.
    OutOfMemory {
        call: &'static str,
        evicted: [ByteSize; 2],
        wanted: [ByteSize; 2],
    },
}

/// Fence values, the first of which is waited for.
struct Awaited {
    fences: Vec<(ID3D12Fence, FenceValue)>,
    /// Whether all of them were planned after the first wait of the request.
    is_later: bool,
}

/// The attempts to carry out a request, which permits more from one to the next.
struct Attempts<'a> {
    request: PlanRequest<'a>,
    /// Whether the budget may be exceeded, once it was queried again.
    may_exceed: bool,
    /// Whether budget and usage are queried before the request is refused, or exceeds the budget.
    refreshes: bool,
    /// The work that was planned before the first wait.
    before_waits: Option<PlannedWork>,
    patience: Patience,
}

impl<'a> Attempts<'a> {
    fn new(pager: &Pager, mut request: PlanRequest<'a>) -> Self {
        // A request that must not even wait is not worth a query.
        let (may_exceed, refreshes) = (request.may_exceed, request.may_wait);
        request.may_exceed &= !refreshes;
        Self { request, may_exceed, refreshes, before_waits: None, patience: Patience::new(pager.max_stall) }
    }

    /// Prepares the next attempt, or fails. Releases the pager's `locks` before it waits for the GPU.
    fn overcome<L>(&mut self, pager: &Pager, locks: L, obstacle: Obstacle) -> Result<(), Error> {
        match obstacle {
            Obstacle::InUse(awaited) => {
                drop(locks);
                self.request.may_wait = pager.wait_for(&awaited, &mut self.patience)?;
                if !self.request.may_wait {
                    let limit = self.patience.limit();
                    if awaited.is_later {
                        tracing::warn!(
                            "the submissions of other threads have kept the memory in use for {limit:?}; not waiting for it any longer"
                        );
                    } else {
                        // The GPU waits for work that is not submitted yet, perhaps by this very call.
                        tracing::warn!("no GPU progress for {limit:?}; not waiting for it any longer");
                    }
                }
            }
            // The last sample of budget and usage may be out of date.
            Obstacle::OverBudget(_) if std::mem::take(&mut self.refreshes) => {
                pager.refresh();
                self.request.may_exceed = self.may_exceed;
            }
            Obstacle::OverBudget(over) => return Err(Error::over_budget(&over)),
            Obstacle::Refused => {}
            Obstacle::OutOfMemory { call, evicted, wanted } => {
                let is_repeated = self.request.at_least != [ByteSize::ZERO; 2];
                if is_repeated && evicted == [ByteSize::ZERO; 2] {
                    return Err(Error::device(call, E_OUTOFMEMORY));
                }
                // According to the budget there was enough memory; the budget may be out of date.
                pager.refresh();
                for (at_least, wanted) in self.request.at_least.iter_mut().zip(wanted) {
                    *at_least = if wanted.is_zero() { ByteSize::ZERO } else { pager.evict_size };
                }
            }
        }
        Ok(())
    }
}

impl Pager {
    /// Returns a request for heaps that are needed now. It may wait for the GPU, and exceeds the budget as a last
    /// resort, if that is allowed.
    pub(in crate::residency) fn request<'a>(
        &self,
        heaps: &'a [ManagedHeapId],
        list_ends: &'a [usize],
    ) -> PlanRequest<'a> {
        let may_exceed = !self.always_in_budget;
        PlanRequest { heaps, list_ends, may_wait: true, may_exceed, ..Default::default() }
    }

    /// Pages in the heaps of a submission to `queue`. Waits for the GPU without a lock.
    #[inline]
    pub(in crate::residency) fn page_submission<'q>(
        &self,
        queue: &'q ManagedQueue,
        heaps: &SubmittedHeaps,
    ) -> Result<PagedIn<'q>, Error> {
        let mut attempts = Attempts::new(self, self.request(&heaps.heaps, &heaps.list_ends));
        loop {
            let guard = queue.lock();
            let mut current = self.lock();
            let value = guard.next_value()?;
            let submission = self.books.lock().planner.begin(queue.slot, value);
            let step = self.step(&mut current, Some(&submission), heaps, &mut attempts);
            if let Ok(Step::Done { arrives, lists }) = step {
                return Ok(PagedIn { arrives, lists, guard, submission });
            }
            // A submission that is not executed uses nothing.
            self.books.lock().planner.cancel(&submission);
            if let Step::Obstacle(obstacle) = step? {
                attempts.overcome(self, (current, guard), obstacle)?;
            }
        }
    }

    /// Carries out a request without a submission, and returns the paging fence value to wait for. Waits for the GPU
    /// without a lock, if the request allows it.
    pub(in crate::residency) fn page_now(&self, request: PlanRequest<'_>) -> Result<FenceValue, Error> {
        let mut attempts = Attempts::new(self, request);
        loop {
            let mut current = self.lock();
            match self.step(&mut current, None, &SubmittedHeaps::default(), &mut attempts)? {
                Step::Done { arrives, .. } => return Ok(arrives),
                Step::Obstacle(obstacle) => attempts.overcome(self, current, obstacle)?,
            }
        }
    }

    /// Carries out a request without a submission, unless memory that it needs is in use, for which it might wait.
    #[inline]
    pub(in crate::residency) fn page_if_possible(&self, request: PlanRequest<'_>) -> Result<(), Error> {
        let mut attempts = Attempts::new(self, request);
        loop {
            let mut current = self.lock();
            match self.step(&mut current, None, &SubmittedHeaps::default(), &mut attempts)? {
                Step::Done { .. } | Step::Obstacle(Obstacle::InUse(_)) => return Ok(()),
                Step::Obstacle(obstacle) => attempts.overcome(self, current, obstacle)?,
            }
        }
    }

    /// Plans, and carries out the plan. The lists of the submission have these `heaps`.
    fn step(
        &self,
        current: &mut CurrentPlan,
        submission: Option<&Submission>,
        heaps: &SubmittedHeaps,
        attempts: &mut Attempts<'_>,
    ) -> Result<Step, Error> {
        self.poll(current)?;
        // Until the queues to wait for are known, their slots must not become those of others.
        let queues = self.queues.read();
        let mut state = self.books.lock_updated();
        let request = PlanRequest { submission, ..attempts.request };
        let plan = &mut current.plan;
        let planned = state.planner.planned_work();
        let mut awaited = |events: &[WaitFor]| {
            let before = attempts.before_waits.get_or_insert(planned);
            let is_later = !events.iter().any(|&event| before.includes(event));
            let events = events.iter().filter(|&&event| is_later || before.includes(event));
            let fences = events.map(|event| match *event {
                WaitFor::Submission { queue, value, .. } => {
                    let known = queues.iter().find(|known| known.slot == queue);
                    (known.expect("a queue with unfinished submissions stays").fence.clone(), value)
                }
                WaitFor::Paging(value) => (self.paging_fence.clone(), value),
            });
            Awaited { fences: fences.collect(), is_later }
        };
        let obstacle = match state.planner.plan(&request, plan).map_err(|gone| heaps.heap_is_gone(gone))? {
            PlanOutcome::Ready => None,
            PlanOutcome::Wait => Some(Obstacle::InUse(awaited(&plan.awaited))),
            PlanOutcome::OverBudget(over) => Some(Obstacle::OverBudget(over)),
        };
        if let Some(obstacle) = obstacle {
            return Ok(Step::Obstacle(obstacle));
        }
        current.collect_objects(&state);
        drop(state);
        drop(queues);

        // The value that the paging fence reaches afterwards, if anything is to become resident.
        let value = if current.to_make_resident.is_empty() {
            Ok(None)
        } else {
            let rule = "its paging fence value has reached the maximum";
            let value = next_value(current.last_value);
            value.ok_or_else(|| Error::invalid_argument("residency manager", rule)).map(Some)
        };
        let value = match value.and_then(|value| Ok((self.evict(current)?, value))) {
            Ok((true, value)) => value,
            Ok((false, _)) => {
                self.books.lock().planner.page_in_failed(&current.plan);
                return Ok(Step::Obstacle(Obstacle::Refused));
            }
            Err(error) => {
                let mut state = self.books.lock();
                state.planner.page_in_failed(&current.plan);
                state.planner.evict_failed(&current.plan);
                return Err(error);
            }
        };
        if let Some(Err((call, hresult))) = value.map(|value| self.make_resident(current, value)) {
            self.books.lock().planner.page_in_failed(&current.plan);
            if hresult == E_OUTOFMEMORY {
                let (evicted, wanted) = (current.plan.bytes_out, current.plan.bytes_in);
                return Ok(Step::Obstacle(Obstacle::OutOfMemory { call, evicted, wanted }));
            }
            return Err(Error::device(call, hresult));
        }
        let mut state = self.books.lock();
        if let Some(value) = value {
            state.planner.paged_in(&current.plan, value);
            state.pages_in(current.plan.bytes_in, value, self.paging_completed());
            state.counters.operations += 1;
            add(&mut state.counters.bytes_in, &current.plan.bytes_in);
        }
        if current.plan.over_budget != [ByteSize::ZERO; 2] && submission.is_some() {
            state.counters.over_budget += 1;
        }
        let arrives = value.unwrap_or(FenceValue::ZERO).max(current.plan.arrives);
        Ok(Step::Done { arrives, lists: current.plan.lists })
    }

    /// Waits for the GPU without a lock. Returns `false` if the patience is exhausted.
    fn wait_for(&self, awaited: &Awaited, patience: &mut Patience) -> Result<bool, Error> {
        self.cpu_stalls.fetch_add(1, Ordering::Relaxed);
        // Progress of other queues does not count, because they may be busy forever. Paging counts, as a queue waits
        // for it.
        let progress = || {
            let awaited = awaited.fences.iter().map(|(fence, _)| completed(fence).get());
            awaited.fold(self.paging_completed().get(), u64::wrapping_add)
        };
        self.events.wait_patiently(&awaited.fences, awaited.is_later, patience, &progress)
    }
}
