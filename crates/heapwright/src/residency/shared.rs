//! What all handles of a residency manager share.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

use heapwright_core::residency::{
    GroupMemory, ManagedHeapId, NewManagedHeap, OverBudget, PlanError, ResidencyPlanner, Status,
};
use heapwright_core::{ByteSize, FenceValue};
use heapwright_d3d12::*;
use windows_core::{HRESULT, IUnknown, Interface};

use super::budget::{BackgroundUpdates, Budgets, PressureMonitor, unifies_memory};
use super::contained_policy::create_planner;
use super::desc::{
    ResidencyGroupStats, ResidencyHeapDesc, ResidencyHeapStatus, ResidencyManagerDesc, ResidencyManagerFlags,
    ResidencyManagerStats, level,
};
use super::gpu_wait::Events;
use super::pageable::{DeviceNames, PageableInfo, check_device, device_of};
use super::paged_object::PagedObject;
use super::pager::{Ask, Pager};
use super::queue::{ManagedQueue, ManagedQueues};
use super::worker::Worker;
use crate::{DeviceCaps, Error, SegmentGroup, VideoMemoryInfo};

/// How many submissions go by between two tries to get under a budget that has shrunk: what is in use now is not in use then.
const TRIM_INTERVAL: u64 = 4;

/// What all handles of a residency manager share.
///
/// # Locks
///
/// A queue's, then the pager's, then the state's, then a list's. None is held while the GPU is waited for.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Among all managers of the process, from 1.
    number: u64,
    pub(super) device: ID3D12Device,
    /// What the device's objects say is theirs.
    device_behind: Option<ID3D12Device>,
    device1: Option<ID3D12Device1>,
    pub(super) device3: Option<ID3D12Device3>,
    caps: DeviceCaps,
    flags: ResidencyManagerFlags,
    pub(super) evict_size: ByteSize,
    pub(super) max_stall: Duration,
    initial_fence_value: FenceValue,
    pub(super) budgets: Budgets,
    pub(super) pressure: PressureMonitor,
    state: Mutex<State>,
    pub(super) pager: Mutex<Pager>,
    pub(super) paging_fence: ID3D12Fence,
    pub(super) queues: ManagedQueues,
    pub(super) events: Events,
    background: OnceLock<BackgroundUpdates>,
    pub(super) worker: OnceLock<Worker>,
    pub(super) this: Weak<Self>,
    /// Whether the policy goes by time; reading a clock at each submission costs something.
    counts_time: bool,
    began: Instant,
    submissions: AtomicU64,
    next_trim: AtomicU64,
    asks_soon: AtomicBool,
    /// What the device answered to a worker; zero: nothing has failed.
    failure: AtomicI32,
    pub(super) cpu_stalls: AtomicU64,
    debug_name: Mutex<Option<Arc<str>>>,
}

/// The books, and the objects that they are about.
#[derive(Debug)]
pub(super) struct State {
    pub(super) planner: ResidencyPlanner,
    /// By slot.
    objects: Vec<Option<PagedObject>>,
    /// Their identities.
    identities: HashSet<usize>,
    /// What others use, as of the last sample, without what is promised and what was found to be the manager's since.
    external: [ByteSize; 2],
    /// What the planner was told last of what others use. It takes off what it finds to be its own.
    told: [ByteSize; 2],
    /// Room that was made for heaps that are being created.
    promised: [ByteSize; 2],
    pub(super) counters: Counters,
    /// Usage and budgets when pressure was looked at last.
    looked_at: [[ByteSize; 2]; 2],
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) bytes_in: [ByteSize; 2],
    pub(super) bytes_out: [ByteSize; 2],
    pub(super) operations: u64,
    pub(super) over_budget: u64,
}

/// Room for a heap that is being created, until this is dropped.
#[derive(Debug)]
pub(crate) struct Room<'a> {
    shared: &'a Shared,
    group: SegmentGroup,
    bytes: ByteSize,
}

impl Room<'_> {
    /// The heap is in the books now.
    fn settle(&mut self, state: &mut State) {
        let promised = &mut state.promised[index(self.group)];
        *promised = promised.saturating_sub(std::mem::take(&mut self.bytes));
        state.apply_memory(&self.shared.budgets);
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        if self.bytes.is_zero() {
            return;
        }
        let mut state = self.shared.lock();
        let promised = &mut state.promised[index(self.group)];
        *promised = promised.saturating_sub(self.bytes);
        state.apply_memory(&self.shared.budgets);
    }
}

/// Memory of a heap that is no longer in the books and still the device's, until this is dropped.
#[derive(Debug)]
pub(super) struct Leaving {
    shared: Arc<Shared>,
    group: SegmentGroup,
    bytes: ByteSize,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        let Self { ref shared, group, bytes } = *self;
        drop(Room { shared, group, bytes });
    }
}

pub(super) const fn index(group: SegmentGroup) -> usize {
    match group {
        SegmentGroup::Local => 0,
        SegmentGroup::NonLocal => 1,
    }
}

impl State {
    /// Hands budgets and usage to the planner. Cost: O(1), a few loads.
    #[inline]
    pub(super) fn apply_memory(&mut self, budgets: &Budgets) {
        for group in SegmentGroup::ALL {
            // Where all memory is local, the other group would overwrite it.
            if self.planner.effective_group(group) != group {
                continue;
            }
            let found = self.told[index(group)].saturating_sub(self.planner.memory(group).external);
            let others = &mut self.external[index(group)];
            *others = others.saturating_sub(found);
            let external = others.saturating_add(self.promised[index(group)]);
            self.told[index(group)] = external;
            self.planner.set_memory(group, GroupMemory { budget: budgets.budget(group), external });
        }
    }

    /// Usage of the segment groups, if it or a budget has changed since the last time. O(1).
    #[inline]
    pub(super) fn news(&mut self, budgets: &Budgets) -> Option<[ByteSize; 2]> {
        let usage = SegmentGroup::ALL.map(|group| self.planner.usage(group));
        let now = [usage, SegmentGroup::ALL.map(|group| budgets.budget(group))];
        (std::mem::replace(&mut self.looked_at, now) != now).then_some(usage)
    }

    /// The object of a heap.
    pub(super) fn pageable(&self, id: ManagedHeapId) -> Option<PagedObject> {
        self.objects.get(id.slot().index())?.clone()
    }
}

impl Shared {
    pub(super) fn new(
        device: &ID3D12Device,
        adapter: Option<&IDXGIAdapter3>,
        desc: &ResidencyManagerDesc,
    ) -> Result<Arc<Self>, Error> {
        static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);
        desc.check()?;
        let caps = DeviceCaps::query(device)?;
        let is_unified = unifies_memory(&caps, desc.flags);
        let budgets = Budgets::new(adapter, is_unified, desc)?;
        let initial = desc.initial_fence_value;
        // SAFETY: a live COM object, and a result of the interface that is asked for.
        let paging_fence: Result<ID3D12Fence, _> =
            unsafe { device.CreateFence(initial.get(), D3D12_FENCE_FLAG_NONE) };
        let paging_fence =
            paging_fence.map_err(|error| Error::device("ID3D12Device::CreateFence", error.code()))?;
        let mut planner = create_planner(is_unified, &desc.policy)?;
        let counts_time = planner.counts_time();
        planner.complete_paging(initial);
        let state = State {
            planner,
            objects: Vec::new(),
            identities: HashSet::new(),
            external: [ByteSize::ZERO; 2],
            told: [ByteSize::ZERO; 2],
            promised: [ByteSize::ZERO; 2],
            counters: Counters::default(),
            looked_at: [[ByteSize::ZERO; 2]; 2],
        };
        let shared = Arc::new_cyclic(|this| Self {
            number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed),
            device: device.clone(),
            device_behind: device_of(&paging_fence),
            device1: device.cast().ok(),
            device3: device.cast().ok(),
            caps,
            flags: desc.flags,
            evict_size: desc.effective_evict_size(),
            max_stall: desc.effective_max_stall(),
            initial_fence_value: initial,
            budgets,
            pressure: PressureMonitor::default(),
            state: Mutex::new(state),
            pager: Mutex::new(Pager::new(initial)),
            paging_fence,
            queues: ManagedQueues::default(),
            events: Events::default(),
            background: OnceLock::new(),
            worker: OnceLock::new(),
            this: Weak::clone(this),
            counts_time,
            began: Instant::now(),
            submissions: AtomicU64::new(0),
            next_trim: AtomicU64::new(0),
            asks_soon: AtomicBool::new(false),
            failure: AtomicI32::new(0),
            cpu_stalls: AtomicU64::new(0),
            debug_name: Mutex::default(),
        });
        {
            let mut state = shared.lock();
            state.sample(&shared.budgets, &SegmentGroup::ALL);
        }
        if desc.flags.contains(ResidencyManagerFlags::ALLOW_BACKGROUND_BUDGET_UPDATES) {
            if adapter.is_none() {
                tracing::warn!("there is no adapter to tell of changes of the budget");
            }
            let this = Weak::clone(&shared.this);
            let on_change = move |told| {
                if let Some(shared) = this.upgrade() {
                    let mut pager = shared.pager();
                    shared.trim_as_told(&mut pager, told);
                    shared.ask_and_trim(&mut pager);
                    drop(pager);
                    shared.tell_pressure();
                }
            };
            if let Some(updates) = BackgroundUpdates::start(adapter, Some(device), on_change) {
                let _ = shared.background.set(updates);
            }
        }
        Ok(shared)
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn is_always_in_budget(&self) -> bool {
        self.flags.contains(ResidencyManagerFlags::ALWAYS_IN_BUDGET)
    }

    #[inline]
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn pager(&self) -> MutexGuard<'_, Pager> {
        self.pager.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Time as policies count it.
    #[inline]
    pub(super) fn elapsed(&self) -> Duration {
        if self.counts_time { self.began.elapsed() } else { Duration::ZERO }
    }

    /// How far paging has come.
    #[inline]
    pub(super) fn paging_completed(&self) -> FenceValue {
        // SAFETY: a live COM object.
        FenceValue::new(unsafe { self.paging_fence.GetCompletedValue() })
    }

    /// The queue's entry, which is made when it is seen for the first time.
    #[inline]
    pub(super) fn queue(&self, queue: &ID3D12CommandQueue) -> Result<Arc<ManagedQueue>, Error> {
        match self.queues.find(queue) {
            Some(known) => Ok(known),
            None => self.add_queue(queue),
        }
    }

    #[cold]
    fn add_queue(&self, queue: &ID3D12CommandQueue) -> Result<Arc<ManagedQueue>, Error> {
        let pageable: &ID3D12Pageable = queue.into();
        check_device(self.device_names(), pageable)
            .map_err(|_| Error::invalid_argument("queue", "belongs to another device"))?;
        self.queues.add(
            &self.device,
            queue,
            self.initial_fence_value,
            || self.lock().planner.add_queue(),
            |slot| self.lock().planner.remove_queue(slot),
        )
    }

    fn device_names(&self) -> DeviceNames<'_> {
        DeviceNames { shown: &self.device, behind: self.device_behind.as_ref() }
    }

    pub(super) fn inspect(
        &self,
        pageable: &ID3D12Pageable,
        desc: &ResidencyHeapDesc,
    ) -> Result<(PagedObject, PageableInfo), Error> {
        PagedObject::inspect(self.device_names(), &self.caps, self.budgets.unifies_memory(), pageable, desc)
    }

    pub(super) fn add_heap(
        &self,
        new: NewManagedHeap,
        object: &PagedObject,
        mut room: Option<Room<'_>>,
    ) -> Result<ManagedHeapId, Error> {
        let identity = identity(object.pageable());
        // Declared before the lock: dropped after it, when it is settled.
        let mut state = self.lock();
        if state.identities.contains(&identity) {
            // The books would count it twice, and evict what they believe to be another's.
            return Err(Error::invalid_argument("pageable", "is managed already: it is one residency heap"));
        }
        let now = state.planner.moment(self.elapsed());
        let id = state
            .planner
            .add(new, now)
            .map_err(|error| Error::invalid_argument("residency heap", error.to_string()))?;
        state.identities.insert(identity);
        let slot = id.slot().index();
        if state.objects.len() <= slot {
            state.objects.resize(slot + 1, None);
        }
        state.objects[slot] = Some(object.clone());
        if let Some(room) = &mut room {
            room.settle(&mut state);
        }
        Ok(id)
    }

    /// Takes a heap out of the books. Its memory counts as used until what this answers is dropped, after the last reference to it.
    pub(super) fn remove_heap(self: &Arc<Self>, id: ManagedHeapId) -> Leaving {
        let (object, leaving) = {
            let mut state = self.lock();
            let heap = state.planner.heap(id);
            let removed = state.planner.remove(id);
            debug_assert!(removed.is_ok(), "a heap is removed once");
            let resident = heap.filter(|heap| heap.status != Status::Evicted);
            let (group, bytes) =
                resident.map_or((SegmentGroup::Local, ByteSize::ZERO), |heap| (heap.group, heap.size));
            let promised = &mut state.promised[index(group)];
            *promised = promised.saturating_add(bytes);
            state.apply_memory(&self.budgets);
            let object = state.objects.get_mut(id.slot().index()).and_then(Option::take);
            if let Some(object) = &object {
                state.identities.remove(&identity(object.pageable()));
            }
            (object, Leaving { shared: Arc::clone(self), group, bytes })
        };
        // Outside of the lock: it may be the last reference.
        drop(object);
        leaving
    }

    pub(super) fn unlock_heap(&self, id: ManagedHeapId) -> Result<u32, Error> {
        let mut state = self.lock();
        let now = state.planner.moment(self.elapsed());
        state.planner.unlock(id, now).map_err(heap_error)
    }

    pub(super) fn set_priority(
        &self,
        id: ManagedHeapId,
        pageable: &ID3D12Pageable,
        priority: D3D12_RESIDENCY_PRIORITY,
    ) -> Result<(), Error> {
        let level = level(priority).ok_or_else(|| {
            Error::invalid_argument("priority", format!("{priority:#x} is of none of D3D12's five levels"))
        })?;
        {
            let mut state = self.lock();
            let now = state.planner.moment(self.elapsed());
            state.planner.set_level(id, level, now).map_err(heap_error)?;
        }
        if let Some(device) = &self.device1 {
            let object = Some(pageable.clone());
            // SAFETY: one object and one priority, both readable; the object is alive.
            let hresult = unsafe { device.SetResidencyPriority(1, &object, &priority) };
            if hresult.is_err() {
                tracing::warn!(
                    "the device did not take the residency priority: {:#}",
                    hresult::Named(hresult)
                );
            }
        }
        Ok(())
    }

    /// Somebody else made a heap resident or evicted it.
    pub(super) fn set_status(&self, id: ManagedHeapId, status: ResidencyHeapStatus) -> Result<(), Error> {
        let is_resident = match status {
            ResidencyHeapStatus::Resident => true,
            ResidencyHeapStatus::Evicted => false,
            ResidencyHeapStatus::Unknown => {
                return Err(Error::invalid_argument(
                    "status",
                    "is unknown: who pages a heap knows where it is",
                ));
            }
        };
        // Not while a plan is carried out, and by what the GPU has finished.
        let mut pager = self.pager();
        self.poll(&mut pager)?;
        let mut state = self.lock();
        let now = state.planner.moment(self.elapsed());
        state.planner.set_resident(id, is_resident, now).map_err(heap_error)
    }

    /// Makes room for a heap that is to be created. With `must`, it fits into the budget then; otherwise what is idle goes, and nothing
    /// is waited for.
    pub(crate) fn make_room(
        &self,
        group: SegmentGroup,
        bytes: ByteSize,
        must: bool,
    ) -> Result<Room<'_>, Error> {
        /// How often others may be quicker to take the room that was made.
        const TRIES: u32 = 64;
        let group = if self.budgets.unifies_memory() { SegmentGroup::Local } else { group };
        let mut ask = Ask { may_wait: must, may_exceed: !must, ..Ask::default() };
        ask.incoming[index(group)] = bytes;
        let mut is_made = false;
        let mut tries = 0;
        loop {
            {
                // What the books call evicted is so once the pager has carried it out.
                let _pager = self.pager();
                let mut state = self.lock();
                state.apply_memory(&self.budgets);
                let (needed, budget) =
                    (state.planner.usage(group).saturating_add(bytes), self.budgets.budget(group));
                if needed <= budget || (is_made && !must) {
                    return Ok(self.promise(&mut state, group, bytes));
                }
                if tries == TRIES {
                    return Err(Error::over_budget(OverBudget { group, needed, budget }));
                }
            }
            self.page(None, ask, |_| Ok(()), |_, _, _| Ok(()))?;
            is_made = true;
            tries += 1;
        }
    }

    fn promise(&self, state: &mut State, group: SegmentGroup, bytes: ByteSize) -> Room<'_> {
        let promised = &mut state.promised[index(group)];
        *promised = promised.saturating_add(bytes);
        state.apply_memory(&self.budgets);
        Room { shared: self, group, bytes }
    }

    /// Notes a submission, and has the operating system asked after it, or after the next that succeeds, if it is time.
    #[inline]
    pub(super) fn count_submission(&self) {
        let before = self.submissions.fetch_add(1, Ordering::Relaxed);
        if self.budgets.refresh_due(before) {
            self.ask_soon();
        }
    }

    /// After a submission: asks the operating system if it is time, gives back what a shrunken budget no longer holds, tells of pressure.
    #[inline]
    pub(super) fn after_submission(&self) {
        let asks = self.asks_soon.load(Ordering::Relaxed);
        let is_over = SegmentGroup::ALL
            .into_iter()
            .any(|group| self.pressure.level(group) == super::budget::PressureLevel::Over);
        if asks || is_over {
            self.look_after_memory(asks);
            self.tell_pressure();
        }
    }

    #[cold]
    fn look_after_memory(&self, asks: bool) {
        if asks {
            self.asks_soon.store(false, Ordering::Relaxed);
            if let Some(updates) = self.background.get().filter(|updates| updates.is_healthy()) {
                updates.request();
                return;
            }
        }
        let submissions = self.submissions.load(Ordering::Relaxed);
        if !asks && submissions < self.next_trim.load(Ordering::Relaxed) {
            return;
        }
        self.next_trim.store(submissions.saturating_add(TRIM_INTERVAL), Ordering::Relaxed);
        // Whoever pages now makes room anyway.
        let mut pager = match self.pager.try_lock() {
            Ok(pager) => pager,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if asks { self.ask_and_trim(&mut pager) } else { self.trim(&mut pager) }
    }

    /// Has the operating system asked after the next submission.
    pub(super) fn ask_soon(&self) {
        self.asks_soon.store(true, Ordering::Relaxed);
    }

    /// Asks the operating system, and evicts what is idle and no longer fits.
    pub(super) fn ask_and_trim(&self, pager: &mut Pager) {
        self.ask(pager);
        self.trim(pager);
    }

    /// Asks the operating system what is used and what may be. The pager's lock keeps usage still meanwhile.
    pub(super) fn ask(&self, _pager: &mut Pager) {
        match self.budgets.refresh() {
            Ok(()) => self.lock().sample(&self.budgets, &SegmentGroup::ALL),
            // An old answer says nothing of what is resident now.
            Err(error) => {
                tracing::warn!(%error, "the adapter does not say what memory there is; what it said before holds");
                self.lock().apply_memory(&self.budgets);
            }
        }
    }

    /// Tells those who want to know how full the segment groups are. No lock is held when they are called.
    #[inline]
    pub(super) fn tell_pressure(&self) {
        let usage = {
            let state = self.lock();
            SegmentGroup::ALL.map(|group| state.planner.usage(group))
        };
        self.tell_pressure_at(usage);
    }

    /// As [`tell_pressure`](Self::tell_pressure), with usage known.
    #[inline]
    pub(super) fn tell_pressure_at(&self, usage: [ByteSize; 2]) {
        for group in SegmentGroup::ALL {
            // The other group does not exist there.
            if !self.budgets.unifies_memory() || group == SegmentGroup::Local {
                self.pressure.update(group, usage[index(group)], self.budgets.budget(group));
            }
        }
    }

    /// A worker could not page in what it was to.
    pub(super) fn note_failure(&self, hresult: HRESULT) {
        self.failure.store(hresult.0, Ordering::Relaxed);
    }

    pub(super) fn check_failure(&self) -> Result<(), Error> {
        match self.failure.load(Ordering::Relaxed) {
            0 => Ok(()),
            failure => Err(Error::device("ID3D12Device::MakeResident", HRESULT(failure))),
        }
    }

    /// Why the device is gone.
    #[cold]
    pub(super) fn removed(&self) -> Error {
        // SAFETY: a live COM object.
        let reason = unsafe { self.device.GetDeviceRemovedReason() };
        let reason = if reason.is_err() { reason } else { DXGI_ERROR_DEVICE_REMOVED };
        Error::device("ID3D12Device::GetDeviceRemovedReason", reason)
    }

    pub(super) fn video_memory_info(&self, group: SegmentGroup) -> VideoMemoryInfo {
        self.ask(&mut self.pager());
        let managed = self.lock().planner.totals(group).resident;
        self.budgets.video_memory_info(group, managed)
    }

    pub(super) fn set_reservation(&self, group: SegmentGroup, bytes: ByteSize) -> Result<ByteSize, Error> {
        let _pager = self.pager();
        let reserved = self.budgets.set_reservation(group, bytes)?;
        // The adapter was asked about this group alone.
        self.lock().sample(&self.budgets, &[group]);
        Ok(reserved)
    }

    pub(super) fn stats(&self) -> ResidencyManagerStats {
        let state = self.lock();
        let of = |group: SegmentGroup| {
            if state.planner.effective_group(group) != group {
                return ResidencyGroupStats::default();
            }
            let totals = state.planner.totals(group);
            ResidencyGroupStats {
                resident_count: totals.resident_count,
                resident: totals.resident,
                locked_count: totals.locked_count,
                locked: totals.locked,
                evicted_count: totals.evicted_count,
                evicted: totals.evicted,
                bytes_paged_in: state.counters.bytes_in[index(group)],
                bytes_paged_out: state.counters.bytes_out[index(group)],
            }
        };
        let [local, non_local] = SegmentGroup::ALL.map(of);
        ResidencyManagerStats {
            current_heap_usage: local.resident.saturating_add(non_local.resident),
            current_heap_count: local.resident_count.saturating_add(non_local.resident_count),
            local,
            non_local,
            paging_operations: state.counters.operations,
            cpu_stalls: self.cpu_stalls.load(Ordering::Relaxed),
            submissions_over_budget: state.counters.over_budget,
            budget_refreshes: self.budgets.refreshes(),
        }
    }

    pub(super) fn audit(&self) -> Result<(), String> {
        self.lock().planner.audit()
    }

    pub(super) fn debug_name(&self) -> &Mutex<Option<Arc<str>>> {
        &self.debug_name
    }
}

impl State {
    /// Takes over what the operating system said right now of usage: what is not the manager's is others'.
    fn sample(&mut self, budgets: &Budgets, groups: &[SegmentGroup]) {
        // First what was found since the last time: this one knows it.
        self.apply_memory(budgets);
        for &group in groups {
            if self.planner.effective_group(group) == group {
                let managed = self.planner.totals(group).resident;
                self.external[index(group)] = budgets.external(group, managed);
            }
        }
        self.apply_memory(budgets);
    }
}

/// The same for all interfaces of an object, and no other object's while it lives.
fn identity(pageable: &ID3D12Pageable) -> usize {
    pageable.cast::<IUnknown>().map_or(pageable.as_raw() as usize, |identity| identity.as_raw() as usize)
}

/// A heap that the books do not have as it was thought.
pub(super) fn heap_error(error: PlanError) -> Error {
    let rule = match error {
        PlanError::Unknown => "is gone",
        PlanError::NotLocked => "is not locked: every unlock needs its lock",
        PlanError::Locked => "is locked, and stays resident",
        PlanError::TooManyLocks => "has 2^32 - 1 locks",
        PlanError::InUse => "may still be used by the GPU",
        PlanError::TooMuch => "is too large beside the others: sizes add up to 2^64",
    };
    Error::invalid_argument("residency heap", rule)
}
