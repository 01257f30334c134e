//! Carrying plans out.

use heapwright_core::residency::{
    ManagedHeapId, OverBudget, Plan, PlanOutcome, PlanRequest, QueueSlot, Submission, UnknownHeap, WaitFor,
};
use heapwright_core::{ByteSize, FenceValue};
use heapwright_d3d12::*;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::time::Duration;
use windows_core::HRESULT;

use super::budget::TrimRequest;
use super::gpu_wait::Patience;
use super::paged_object::PagedObjects;
use super::queue::ManagedQueue;
use super::shared::{Shared, State};
use super::worker::Worker;
use crate::Error;

/// How long the GPU may stand still before something is evicted that is expected to be used soon: longer than a frame takes, and short
/// enough where a queue waits for what is still to be submitted.
const RATHER_WAIT: Duration = Duration::from_millis(100);

/// Carries out one plan after the other. Its lists are used again, so that nothing is allocated in the long run.
#[derive(Debug)]
pub(crate) struct Pager {
    /// What the next plan is for: the heaps of the lists, one list after the other, and where each ends.
    pub(super) heaps: Vec<ManagedHeapId>,
    pub(super) list_ends: Vec<usize>,
    plan: Plan,
    to_evict: PagedObjects,
    to_make_resident: PagedObjects,
    completed: Vec<(QueueSlot, FenceValue)>,
    /// The last value of the paging fence that was enqueued.
    last_value: FenceValue,
}

/// On which terms.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ask {
    pub(super) incoming: [ByteSize; 2],
    pub(super) at_least: [ByteSize; 2],
    pub(super) may_wait: bool,
    pub(super) hurries: bool,
    pub(super) may_exceed: bool,
}

/// What was carried out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Done {
    /// What the paging fence must have come to; zero: nothing to wait for.
    pub(super) arrives: FenceValue,
    /// How many of the lists are resident together.
    pub(super) lists: usize,
    /// What is to be handed to the queue; `None` without one.
    pub(super) submission: Option<Submission>,
}

enum Step {
    Done(Done),
    Wait(WaitFor),
    /// The same, where it would also do without.
    RatherWait(WaitFor),
    OverBudget(OverBudget),
    /// The device has no memory; so many bytes were evicted, and where they were wanted.
    OutOfMemory {
        call: &'static str,
        evicted: [ByteSize; 2],
        wanted: [ByteSize; 2],
    },
}

impl Pager {
    pub(super) fn new(initial: FenceValue) -> Self {
        Self {
            heaps: Vec::new(),
            list_ends: Vec::new(),
            plan: Plan::default(),
            to_evict: PagedObjects::default(),
            to_make_resident: PagedObjects::default(),
            completed: Vec::new(),
            last_value: initial,
        }
    }

    /// The next value of the paging fence. The last number is what a fence has when the device is gone.
    fn next_value(&self) -> Option<FenceValue> {
        self.last_value.next().filter(|&next| next != FenceValue::DEVICE_REMOVED)
    }

    fn collect(&mut self, state: &State) {
        self.to_evict.clear();
        self.to_evict.extend(self.plan.evict.iter().filter_map(|&id| state.pageable(id)));
        self.to_make_resident.clear();
        self.to_make_resident.extend(self.plan.make_resident.iter().filter_map(|&id| state.pageable(id)));
    }
}

/// The lock of the queue that lists are handed to, with the last value that it was told to signal.
pub(super) type QueueGuard<'a> = MutexGuard<'a, FenceValue>;

impl Shared {
    /// Pages in what `fill` enters, for a submission to `queue` if there is one, and calls `finish` when it is done: with the queue's lock, so
    /// that nothing comes between.
    ///
    /// Waits for the GPU if it may, without any lock, and begins anew then.
    pub(super) fn page<T>(
        &self,
        queue: Option<&ManagedQueue>,
        mut ask: Ask,
        fill: impl Fn(&mut Pager) -> Result<(), Error>,
        finish: impl FnOnce(Done, Option<&mut QueueGuard<'_>>, &Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        // Whoever would not even wait is not refused for long.
        let mut asks_before_refusal = ask.may_wait;
        loop {
            let mut last = queue.map(ManagedQueue::lock);
            let mut pager = self.pager();
            pager.heaps.clear();
            pager.list_ends.clear();
            fill(&mut pager)?;
            let submission = match (queue, &last) {
                (Some(queue), Some(last)) => Some((queue.slot, self.next_value(last)?)),
                _ => None,
            };
            match self.step(&mut pager, submission, ask)? {
                Step::Done(done) => {
                    drop(pager);
                    return finish(done, last.as_mut(), self);
                }
                Step::Wait(target) => {
                    drop(pager);
                    drop(last);
                    if !self.wait_for(target, self.max_stall)? {
                        // Somebody waits for what is to come, perhaps for this very submission.
                        tracing::warn!(limit = ?self.max_stall, "the GPU does not get on; memory is not waited for any longer");
                        ask.may_wait = false;
                    }
                }
                Step::RatherWait(target) => {
                    drop(pager);
                    drop(last);
                    ask.hurries = !self.wait_for(target, self.max_stall.min(RATHER_WAIT))?;
                }
                // What the operating system said last may be old.
                Step::OverBudget(_) if std::mem::take(&mut asks_before_refusal) => self.ask(&mut pager),
                Step::OverBudget(over) => return Err(Error::over_budget(over)),
                Step::OutOfMemory { call, evicted, wanted } => {
                    let is_repeated = ask.at_least != [ByteSize::ZERO; 2];
                    if is_repeated && evicted == [ByteSize::ZERO; 2] {
                        return Err(Error::device(call, E_OUTOFMEMORY));
                    }
                    // The budget said that there was memory: it may be old.
                    self.ask(&mut pager);
                    for (at_least, wanted) in ask.at_least.iter_mut().zip(wanted) {
                        *at_least = if wanted.is_zero() { ByteSize::ZERO } else { self.evict_size };
                    }
                }
            }
        }
    }

    pub(super) fn next_value(&self, last: &FenceValue) -> Result<FenceValue, Error> {
        // The last number is what a fence has when the device is gone.
        let next = last.next().filter(|&next| next != FenceValue::DEVICE_REMOVED);
        next.ok_or_else(|| Error::invalid_argument("queue", "its fence is at the end of the numbers"))
    }

    /// Plans, and carries the plan out.
    fn step(
        &self,
        pager: &mut Pager,
        queue: Option<(QueueSlot, FenceValue)>,
        ask: Ask,
    ) -> Result<Step, Error> {
        self.poll(pager)?;
        let mut state = self.lock();
        state.apply_memory(&self.budgets);
        let time = self.elapsed();
        let submission = queue.map(|(slot, value)| state.planner.begin(slot, value, time));
        let now = submission.map_or(state.planner.moment(time), |submission| submission.moment());
        let Pager { heaps, list_ends, plan, .. } = pager;
        let request = PlanRequest {
            submission: submission.as_ref(),
            heaps,
            list_ends,
            incoming: ask.incoming,
            at_least: ask.at_least,
            may_wait: ask.may_wait,
            hurries: ask.hurries,
            may_exceed: ask.may_exceed,
            now,
        };
        let outcome = state.planner.plan(&request, plan);
        let refusal = match outcome {
            Ok(PlanOutcome::Ready) => None,
            Ok(PlanOutcome::Wait(target)) if plan.may_go_on => Some(Ok(Step::RatherWait(target))),
            Ok(PlanOutcome::Wait(target)) => Some(Ok(Step::Wait(target))),
            Ok(PlanOutcome::OverBudget(over)) => Some(Ok(Step::OverBudget(over))),
            Err(gone) => Some(Err(heap_is_gone(list_ends, gone))),
        };
        if let Some(refusal) = refusal {
            cancel(&mut state, submission.as_ref());
            return refusal;
        }
        pager.collect(&state);
        drop(state);

        let evicted = match pager.next_value() {
            None if !pager.to_make_resident.is_empty() => Err(Error::invalid_argument(
                "residency manager",
                "its paging fence is at the end of the numbers",
            )),
            _ => self.evict(pager),
        };
        if let Err(error) = evicted {
            let mut state = self.lock();
            state.planner.page_in_failed(&pager.plan, now);
            state.planner.evict_failed(&pager.plan, now);
            cancel(&mut state, submission.as_ref());
            return Err(error);
        }
        let arrives = match self.make_resident(pager) {
            Ok(arrives) => arrives,
            Err((call, hresult)) => {
                let mut state = self.lock();
                state.planner.page_in_failed(&pager.plan, now);
                cancel(&mut state, submission.as_ref());
                if hresult == E_OUTOFMEMORY {
                    let (evicted, wanted) = (pager.plan.bytes_out, pager.plan.bytes_in);
                    return Ok(Step::OutOfMemory { call, evicted, wanted });
                }
                return Err(Error::device(call, hresult));
            }
        };
        let mut state = self.lock();
        if let Some(value) = arrives {
            state.planner.paged_in(&pager.plan, value, now);
            state.counters.operations += 1;
            add(&mut state.counters.bytes_in, &pager.plan.bytes_in);
        }
        if pager.plan.over_budget != [ByteSize::ZERO; 2] && submission.is_some() {
            state.counters.over_budget += 1;
        }
        let arrives = arrives.unwrap_or(FenceValue::ZERO).max(pager.plan.arrives);
        Ok(Step::Done(Done { arrives, lists: pager.plan.lists, submission }))
    }

    /// Evicts what a plan gives up.
    fn evict(&self, pager: &mut Pager) -> Result<(), Error> {
        if pager.to_evict.is_empty() {
            return Ok(());
        }
        // SAFETY: live COM objects, which the GPU is done with, as the plan says; each was made resident once more than evicted.
        let hresult = unsafe { self.device.Evict(pager.to_evict.as_slice()) };
        pager.to_evict.clear();
        if hresult.is_err() {
            return Err(Error::device("ID3D12Device::Evict", hresult));
        }
        let mut state = self.lock();
        state.counters.operations += 1;
        add(&mut state.counters.bytes_out, &pager.plan.bytes_out);
        Ok(())
    }

    /// Has the device make resident what a plan wants, and answers when it will be.
    fn make_resident(&self, pager: &mut Pager) -> Result<Option<FenceValue>, (&'static str, HRESULT)> {
        if pager.to_make_resident.is_empty() {
            return Ok(None);
        }
        let Some(value) = pager.next_value() else {
            return Err(("the end of the paging fence's numbers", E_FAIL));
        };
        let Some(device) = &self.device3 else {
            let objects = std::mem::take(&mut pager.to_make_resident);
            let worker = self.worker.get_or_init(|| Worker::start(self));
            worker
                .make_resident(objects, value)
                .map_err(|hresult| ("ID3D12Device::MakeResident", hresult))?;
            pager.last_value = value;
            return Ok(Some(value));
        };
        let flags = if self.is_always_in_budget() {
            D3D12_RESIDENCY_FLAG_DENY_OVERBUDGET
        } else {
            D3D12_RESIDENCY_FLAG_NONE
        };
        // SAFETY: live COM objects of the device.
        let hresult = unsafe {
            let objects = pager.to_make_resident.as_slice();
            device.EnqueueMakeResident(flags, objects, &self.paging_fence, value.get())
        };
        pager.to_make_resident.clear();
        if hresult.is_err() {
            return Err(("ID3D12Device3::EnqueueMakeResident", hresult));
        }
        pager.last_value = value;
        Ok(Some(value))
    }

    /// Notes what the GPU has finished, on all queues.
    ///
    /// An error when the device is removed, or a worker could not page in: what the books have for resident may not be then, so nothing is
    /// evicted any more. A worker says that it failed before its fence says that it has ended.
    pub(super) fn poll(&self, pager: &mut Pager) -> Result<(), Error> {
        pager.completed.clear();
        self.queues.for_each(|queue| pager.completed.push((queue.slot, queue.completed())));
        let paging = self.paging_completed();
        if paging == FenceValue::DEVICE_REMOVED {
            return Err(self.removed());
        }
        self.check_failure()?;
        let mut state = self.lock();
        state.planner.complete_paging(paging);
        for &(slot, value) in &pager.completed {
            state.planner.complete(slot, value);
        }
        Ok(())
    }

    /// Evicts what is idle and above the budget, and of the rest what the policy no longer wants.
    pub(super) fn trim(&self, pager: &mut Pager) {
        self.evict_without_need(pager, |state, plan, now| {
            let request = PlanRequest { may_exceed: true, ..PlanRequest::new(now) };
            // No heaps, so none that could be gone.
            let _ = state.planner.plan(&request, plan);
        });
        let limit = [self.evict_size; 2];
        self.evict_without_need(pager, |state, plan, now| state.planner.plan_ahead(limit, now, plan));
    }

    fn evict_without_need(
        &self,
        pager: &mut Pager,
        plan: impl FnOnce(&mut State, &mut Plan, heapwright_core::residency::policy::Moment),
    ) -> [ByteSize; 2] {
        if self.poll(pager).is_err() {
            return [ByteSize::ZERO; 2];
        }
        let now = {
            let mut state = self.lock();
            state.apply_memory(&self.budgets);
            let now = state.planner.moment(self.elapsed());
            plan(&mut state, &mut pager.plan, now);
            pager.collect(&state);
            now
        };
        if let Err(error) = self.evict(pager) {
            tracing::warn!(%error, "the device evicts nothing");
            self.lock().planner.evict_failed(&pager.plan, now);
            return [ByteSize::ZERO; 2];
        }
        pager.plan.bytes_out
    }

    /// Evicts so many bytes of what is idle, as far as there are any, and answers how many it was.
    pub(super) fn evict_at_least(&self, bytes: [ByteSize; 2]) -> ByteSize {
        self.evict_bytes(&mut self.pager(), bytes)
    }

    fn evict_bytes(&self, pager: &mut Pager, bytes: [ByteSize; 2]) -> ByteSize {
        let [local, non_local] = self.evict_without_need(pager, |state, plan, now| {
            let request = PlanRequest { at_least: bytes, may_exceed: true, ..PlanRequest::new(now) };
            let _ = state.planner.plan(&request, plan);
        });
        local.saturating_add(non_local)
    }

    /// Does what trim notifications ask for: what was not used for a whole period goes, and so many bytes, of which that is a part. Local
    /// memory goes first, as notifications do not say whose budget they are about.
    pub(super) fn trim_as_told(&self, pager: &mut Pager, told: TrimRequest) {
        let mut left = told.bytes;
        if told.restarts {
            self.lock().planner.begin_period();
        } else if told.is_periodic {
            let [local, non_local] =
                self.evict_without_need(pager, |state, plan, now| state.planner.plan_unused(now, plan));
            left = left.saturating_sub(local).saturating_sub(non_local);
        }
        for group in 0..2 {
            if !left.is_zero() {
                let mut bytes = [ByteSize::ZERO; 2];
                bytes[group] = left;
                left = left.saturating_sub(self.evict_bytes(pager, bytes));
            }
        }
    }

    /// Waits for the GPU; `false` when what is waited for does not get on for as long as `limit`. No lock is held.
    fn wait_for(&self, target: WaitFor, limit: Duration) -> Result<bool, Error> {
        self.cpu_stalls.fetch_add(1, Ordering::Relaxed);
        let (queue, value) = match target {
            WaitFor::Paging(value) => (None, value),
            WaitFor::Submission(slot, value) => match self.queues.in_slot(slot) {
                Some(queue) => (Some(queue), value),
                // It is gone, so it has finished.
                None => return Ok(true),
            },
        };
        let fence = queue.as_ref().map_or(&self.paging_fence, |queue| &queue.fence);
        // Another number whenever it gets on. What other queues do says nothing: they may be busy for ever. A queue waits for paging.
        let progress = || {
            let own = queue.as_ref().map_or(0, |queue| queue.completed().get());
            own.wrapping_add(self.paging_completed().get())
        };
        let mut patience = Patience::new(limit, progress());
        self.events.wait(fence, value, Some((&mut patience, &progress)))
    }

    /// Waits until paging has come to a value.
    fn wait_until_paged(&self, value: FenceValue) -> Result<(), Error> {
        if value == FenceValue::ZERO {
            return Ok(());
        }
        self.events.wait(&self.paging_fence, value, None)?;
        // A fence is reached as well when there is nothing left to wait for.
        if self.paging_completed() == FenceValue::DEVICE_REMOVED {
            return Err(self.removed());
        }
        self.check_failure()
    }

    /// Counts a lock on a heap, and waits until it is resident.
    pub(super) fn lock_heap(&self, id: ManagedHeapId) -> Result<(), Error> {
        self.check_failure()?;
        let outcome = {
            let mut state = self.lock();
            state.planner.complete_paging(self.paging_completed());
            let now = state.planner.moment(self.elapsed());
            state.planner.lock(id, now).map_err(super::shared::heap_error)?
        };
        let resident = if outcome.is_missing {
            let ask = Ask { may_wait: true, may_exceed: !self.is_always_in_budget(), ..Ask::default() };
            let fill = |pager: &mut Pager| {
                pager.heaps.push(id);
                pager.list_ends.push(1);
                Ok(())
            };
            self.page(None, ask, fill, |done, _, _| Ok(done.arrives))
        } else {
            Ok(outcome.arrives)
        };
        resident.and_then(|arrives| self.wait_until_paged(arrives)).inspect_err(|_| {
            // It was counted above, and the heap may be gone by now.
            let _ = self.unlock_heap(id);
        })
    }
}

fn cancel(state: &mut State, submission: Option<&Submission>) {
    if let Some(submission) = submission {
        state.planner.cancel(submission);
    }
}

fn add(sums: &mut [ByteSize; 2], bytes: &[ByteSize; 2]) {
    for (sum, bytes) in sums.iter_mut().zip(bytes) {
        *sum = sum.saturating_add(*bytes);
    }
}

/// Which heap of which list is gone.
fn heap_is_gone(list_ends: &[usize], gone: UnknownHeap) -> Error {
    let list = list_ends.iter().position(|&end| gone.position < end).unwrap_or(0);
    let begin = list.checked_sub(1).map_or(0, |before| list_ends[before]);
    destroyed(list, gone.position - begin)
}

pub(super) fn destroyed(list: usize, position: usize) -> Error {
    let rule = format!("heap {position} of list {list} was destroyed after it was added");
    Error::invalid_argument("lists", rule)
}
