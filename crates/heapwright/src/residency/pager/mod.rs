//! The state that all handles of a manager share, and what carries out its plans, one at a time.
//!
//! * `page`: plans for submissions and for what is needed now, until one succeeds.
//! * `upkeep`: queries of the operating system, evictions that no submission needs, and pressure callbacks.
//! * `gpu_wait`: waits for the GPU.

mod gpu_wait;
mod page;
mod upkeep;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

use heapwright_core::residency::{ManagedHeapId, OverBudget, Plan, PlanRequest, QueueSlot, ResidencyPlanner};
use heapwright_core::{ByteSize, FenceValue};
use heapwright_d3d12::*;
use windows_core::HRESULT;

use self::gpu_wait::Events;
pub(super) use self::page::PagedIn;
use self::upkeep::Upkeep;
use super::books::{Books, BooksState, heap_error};
use super::budget::{Budgets, ManagedGroups};
use super::desc::{ResidencyManagerDesc, ResidencyManagerFlags};
use super::device::{ManagedDevice, PagedObjects, completed, create_fence};
use super::queue::{ManagedQueue, ManagedQueues};
use super::recorded::ManagerRecording;
use crate::adapter::check_adapter;
use crate::recording::{Recording, object_name};
use crate::{Architecture, DeviceCaps, Error, SegmentGroup};

/// The state of a residency manager. Carries out what the planner of the books decides: evicts, makes resident, and
/// waits for the GPU.
pub(crate) struct Pager {
    /// The number of the manager, unique in the process, from 1.
    pub(super) number: u64,
    pub(super) device: ManagedDevice,
    pub(super) books: Books,
    pub(super) queues: ManagedQueues,
    pub(super) paging_fence: ID3D12Fence,
    pub(super) always_in_budget: bool,
    evict_size: ByteSize,
    max_stall: Duration,
    current: Mutex<CurrentPlan>,
    pub(super) upkeep: Upkeep,
    events: Events,
    cpu_stalls: AtomicU64,
    pub(super) recording: Option<ManagerRecording>,
    pub(super) debug_name: Mutex<Option<Arc<str>>>,
    this: Weak<Self>,
}

/// The plan that is being carried out. Its vectors are reused, so that nothing is allocated in the steady state.
#[derive(Default)]
pub(super) struct CurrentPlan {
    plan: Plan,
    to_evict: PagedObjects,
    to_make_resident: PagedObjects,
    completed: Vec<(QueueSlot, FenceValue)>,
    /// The last value of the paging fence that was enqueued.
    last_value: FenceValue,
}

/// Bytes that count as used although no heap in the books has them, until this is dropped. The heap is being created or
/// released.
pub(super) struct PendingBytes {
    pub(super) pager: Arc<Pager>,
    pub(super) group: SegmentGroup,
    pub(super) bytes: ByteSize,
}

impl Drop for PendingBytes {
    fn drop(&mut self) {
        if !self.bytes.is_zero() {
            self.pager.books.release_pending(self.group, self.bytes);
        }
    }
}

/// The lock of the pager.
pub(super) type PlanGuard<'a> = MutexGuard<'a, CurrentPlan>;

impl Pager {
    #[inline]
    pub(super) fn new(
        device: &ID3D12Device,
        adapter: Option<&IDXGIAdapter3>,
        desc: &ResidencyManagerDesc,
    ) -> Result<Arc<Self>, Error> {
        static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);
        let start = Instant::now();
        desc.check()?;
        let caps = DeviceCaps::query(device)?;
        let recording = ManagerRecording::begin(desc, device, caps.architecture != Architecture::Discrete)?;
        let groups = ManagedGroups::of(&caps, desc.flags);
        let is_unified = groups == ManagedGroups::Local;
        adapter.map_or(Ok(()), |adapter| check_adapter(device, adapter))?;
        let budgets = Budgets::new(adapter, groups, desc)?;
        let initial = desc.initial_fence_value;
        let paging_fence = create_fence(device, initial)?;
        let mut planner = ResidencyPlanner::new(is_unified, || desc.policy.create());
        planner.complete_paging(initial);
        let pager = Arc::new_cyclic(|this| Self {
            number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed),
            device: ManagedDevice::new(device, caps, is_unified, &paging_fence),
            books: Books::new(budgets, planner),
            queues: ManagedQueues::new(initial),
            paging_fence,
            always_in_budget: desc.flags.contains(ResidencyManagerFlags::ALWAYS_IN_BUDGET),
            evict_size: if desc.evict_size.is_zero() { ByteSize::from_mib(50) } else { desc.evict_size },
            max_stall: if desc.max_stall.is_zero() { Duration::from_secs(2) } else { desc.max_stall },
            current: Mutex::new(CurrentPlan { last_value: initial, ..CurrentPlan::default() }),
            upkeep: Upkeep::default(),
            events: Events::default(),
            cpu_stalls: AtomicU64::new(0),
            recording,
            debug_name: Mutex::default(),
            this: Weak::clone(this),
        });
        if desc.flags.contains(ResidencyManagerFlags::ALLOW_BACKGROUND_BUDGET_UPDATES) {
            let sends_notifications = pager.start_background_updates(adapter);
            if desc.refresh_interval == 0 && !sends_notifications {
                pager.books.budgets.query_after_each_submission();
            }
        }
        if let Some(recording) = &pager.recording {
            recording.created(start);
        }
        Ok(pager)
    }

    pub(super) fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref().map(|it| &*it.recording)
    }

    /// Makes a call, which is recorded with its duration.
    pub(super) fn traced<T>(
        &self,
        name: &'static str,
        args: impl FnOnce() -> String,
        call: impl FnOnce() -> T,
    ) -> T {
        Recording::traced(self.recording(), name, args, call)
    }

    /// Makes a call whose duration is recorded. What it does is recorded as it happens.
    pub(super) fn timed<T>(&self, name: &'static str, call: impl FnOnce() -> T) -> T {
        Recording::timed(self.recording(), name, call)
    }

    pub(super) fn lock(&self) -> PlanGuard<'_> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn try_lock(&self) -> Option<PlanGuard<'_>> {
        match self.current.try_lock() {
            Ok(current) => Some(current),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Returns the entry of a queue, which is created when the queue is used for the first time.
    #[inline]
    pub(super) fn queue(&self, queue: &ID3D12CommandQueue) -> Result<Arc<ManagedQueue>, Error> {
        match self.queues.find(queue) {
            Some(known) => Ok(known),
            None => self.queues.add(
                &self.device,
                queue,
                || self.books.lock().planner.add_queue(),
                |slot| self.books.lock().planner.remove_queue(slot),
            ),
        }
    }

    /// Returns the value that the paging fence has reached.
    #[inline]
    pub(super) fn paging_completed(&self) -> FenceValue {
        completed(&self.paging_fence)
    }

    /// Returns the value that the paging fence has reached.
    ///
    /// # Errors
    ///
    /// The device is removed: its fences have reached every value, and what the books consider resident may not be.
    #[inline]
    pub(super) fn paged(&self) -> Result<FenceValue, Error> {
        let paged = self.paging_completed();
        if paged == FenceValue::DEVICE_REMOVED { Err(self.device.removed()) } else { Ok(paged) }
    }

    /// Returns how often a thread waited for the GPU.
    pub(super) fn cpu_stalls(&self) -> u64 {
        self.cpu_stalls.load(Ordering::Relaxed)
    }

    /// Evicts the heaps that the plan selected. Returns whether the device refused none of them; those that it refused
    /// are not in the plan any more.
    fn evict(&self, current: &mut CurrentPlan) -> Result<bool, Error> {
        if current.to_evict.is_empty() {
            return Ok(true);
        }
        let hresult = self.device.evict(current.to_evict.as_slice());
        if hresult == E_INVALIDARG {
            self.evict_one_by_one(current);
        }
        current.to_evict.clear();
        if hresult.is_err() && hresult != E_INVALIDARG {
            return Err(Error::device("ID3D12Device::Evict", hresult));
        }
        if let Some(recording) = &self.recording {
            recording.evicted(&current.plan.evict);
        }
        let mut state = self.books.lock();
        state.counters.operations += 1;
        add(&mut state.counters.bytes_out, &current.plan.bytes_out);
        Ok(hresult.is_ok())
    }

    /// Evicts the heaps of the plan that the device accepts. The others are resident, and locked from now on.
    #[cold]
    #[inline]
    fn evict_one_by_one(&self, current: &mut CurrentPlan) {
        let CurrentPlan { plan, to_evict, .. } = current;
        let mut objects = to_evict.as_slice().iter();
        // While the pager is locked, the objects are those of the plan, in its order.
        plan.evict.retain(|&id| {
            let Some(object) = objects.next() else { return false };
            let hresult = self.device.evict(std::slice::from_ref(object));
            if hresult.is_ok() {
                return true;
            }
            let mut state = self.books.lock();
            if let Some(heap) = state.planner.heap(id) {
                let group = heap.group.index();
                plan.bytes_out[group] = plan.bytes_out[group].saturating_sub(heap.size);
                tracing::warn!(
                    name = object.as_ref().and_then(|object| object_name(object)),
                    size = %heap.size,
                    "the device refuses to evict a managed object: {:#}; it stays locked. A placed resource is paged with \
                     its heap, which must be managed instead",
                    hresult::Named(hresult)
                );
                state.counters.refused += 1;
                // Neither fails for a heap that is in the books and was not locked.
                let _ = state.planner.set_resident(id, true).and_then(|()| state.planner.lock(id));
            }
            false
        });
    }

    /// Makes the plan's heaps resident when the paging fence reaches `value`.
    fn make_resident(
        &self,
        current: &mut CurrentPlan,
        value: FenceValue,
    ) -> Result<(), (&'static str, HRESULT)> {
        let objects = &mut current.to_make_resident;
        let made = self.device.make_resident(objects, self.always_in_budget, &self.paging_fence, value);
        objects.clear();
        made?;
        if let Some(recording) = &self.recording {
            recording.made_resident(&current.plan.make_resident);
        }
        current.last_value = value;
        Ok(())
    }

    /// Queries the operating system. The pager must be locked.
    pub(super) fn refresh(&self) {
        self.books.refresh(self.paging_completed());
    }

    /// Records what the GPU has finished, on all queues.
    ///
    /// # Errors
    ///
    /// The device is removed, so nothing more is evicted.
    fn poll(&self, current: &mut CurrentPlan) -> Result<(), Error> {
        // Until the values are in the books, no slot must become another queue's, whose fence begins anew.
        let queues = self.queues.read();
        current.completed.clear();
        current.completed.extend(queues.iter().map(|queue| (queue.slot, queue.completed())));
        let paging = self.paged()?;
        let mut state = self.books.lock();
        state.planner.complete_paging(paging);
        for &(slot, value) in &current.completed {
            state.planner.complete(slot, value);
        }
        Ok(())
    }

    /// Waits until the paging fence has reached a value.
    fn wait_until_paged(&self, value: FenceValue) -> Result<(), Error> {
        if value == FenceValue::ZERO {
            return Ok(());
        }
        self.events.wait(&[(self.paging_fence.clone(), value)], None)?;
        self.paged().map(drop)
    }

    /// Counts a lock on a heap, and waits until it is resident.
    pub(super) fn lock_heap(&self, id: ManagedHeapId) -> Result<(), Error> {
        self.lock_heap_by(id, self.request(&[id], &[1]))
    }

    /// Makes a heap resident for others, and keeps it so until it is removed from the books. Does not wait for the GPU.
    pub(super) fn give_back(&self, id: ManagedHeapId) -> Result<(), Error> {
        self.lock_heap_by(id, PlanRequest { may_wait: false, ..self.request(&[id], &[1]) })
    }

    fn lock_heap_by(&self, id: ManagedHeapId, request: PlanRequest<'_>) -> Result<(), Error> {
        let outcome = self.books.lock().planner.lock(id).map_err(heap_error)?;
        let resident = if outcome.is_missing { self.page_now(request) } else { Ok(outcome.arrives) };
        resident.and_then(|arrives| self.wait_until_paged(arrives)).inspect_err(|_| {
            // Undo the count. The heap may have been removed.
            let _ = self.books.unlock_heap(id);
        })
    }

    /// Records that other code made a heap resident or evicted it.
    #[inline]
    pub(super) fn set_resident(&self, id: ManagedHeapId, is_resident: bool) -> Result<(), Error> {
        // Not while a plan is carried out, and based on what the GPU has finished.
        let mut current = self.lock();
        self.poll(&mut current)?;
        self.books.lock().planner.set_resident(id, is_resident).map_err(heap_error)
    }

    /// Makes memory available for a new heap. If the heap `must` fit into the budget, waits for the GPU; otherwise only
    /// idle heaps are evicted.
    pub(super) fn make_room(
        self: &Arc<Self>,
        group: SegmentGroup,
        bytes: ByteSize,
        must: bool,
    ) -> Result<PendingBytes, Error> {
        /// How often other threads may take the memory before this one gives up.
        const TRIES: u32 = 64;
        let group = self.books.budgets.effective_group(group);
        let mut request = PlanRequest { may_wait: must, may_exceed: !must, ..Default::default() };
        request.incoming[group.index()] = bytes;
        let mut is_made = false;
        let mut tries = 0;
        loop {
            {
                // Heaps that the books consider evicted are evicted once the plan is carried out.
                let _current = self.lock();
                let mut state = self.books.lock_updated();
                let needed = state.planner.usage(group).saturating_add(bytes);
                let budget = self.books.budgets.budget(group);
                if needed <= budget || (is_made && !must) {
                    self.books.reserve_pending(&mut state, group, bytes);
                    return Ok(PendingBytes { pager: Arc::clone(self), group, bytes });
                }
                if tries == TRIES {
                    return Err(Error::over_budget(&OverBudget { group, needed, budget }));
                }
            }
            self.page_now(request)?;
            is_made = true;
            tries += 1;
        }
    }

    /// Checks that a new heap of a segment group is within the budget, if the operating system had not reported
    /// anything about the group before: a budget of zero cannot be told from none until something is counted.
    pub(super) fn check_first_report(&self, group: SegmentGroup) -> Result<(), Error> {
        let group = self.books.budgets.effective_group(group);
        if !self.books.budgets.is_unreported(group) {
            return Ok(());
        }
        let current = self.lock();
        self.refresh();
        drop(current);
        let (needed, budget) =
            (self.books.lock_updated().planner.usage(group), self.books.budgets.budget(group));
        if needed <= budget { Ok(()) } else { Err(Error::over_budget(&OverBudget { group, needed, budget })) }
    }
}

impl CurrentPlan {
    /// Looks up the objects of the plan.
    fn collect_objects(&mut self, state: &BooksState) {
        self.to_evict.set(state.objects(&self.plan.evict));
        self.to_make_resident.set(state.objects(&self.plan.make_resident));
    }
}

fn add(sums: &mut [ByteSize; 2], bytes: &[ByteSize; 2]) {
    for (sum, bytes) in sums.iter_mut().zip(bytes) {
        *sum = sum.saturating_add(*bytes);
    }
}

#[cfg(test)]
mod tests;
