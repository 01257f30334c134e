//! The source of an allocator's heaps.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

use heapwright_core::ByteSize;
use heapwright_core::placement::{HeapRetention, HeapTally};
use heapwright_d3d12::*;

use super::device::Devices;
use super::heap_time::HeapTimers;
use super::idle::{IdleClock, IdleThread};
use super::labels::Labels;
use super::ledger::{Account, Charge, Charged, Ledger, VideoMemory};
use super::managed::OwnMemory;
use super::owner::Owner;
use crate::adapter::check_adapter;
use crate::desc::{
    EmptyHeapPolicy, HEAP_GRANULARITY, ResourceAllocationFlags, ResourceAllocatorDesc, ResourceAllocatorFlags,
};
use crate::error::{Limit, MemorySource, Obstacle, Refusal, Row};
use crate::recording::{InstanceKind, Recording, Settings, allocator_fields};
use crate::residency::{ResidencyHeap, ResidencyManager};
use crate::{DeviceCaps, Error, SegmentGroup};

/// Memory to be created.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewMemory {
    pub(crate) account: Account,
    pub(crate) what: Charged,
    pub(crate) size: ByteSize,
    /// The flags with which it is created.
    pub(crate) flags: D3D12_HEAP_FLAGS,
    pub(crate) priority: Option<D3D12_RESIDENCY_PRIORITY>,
    /// The flags of the allocation for which it is created.
    pub(crate) allocation_flags: ResourceAllocationFlags,
}

impl NewMemory {
    /// Returns the refusal of the memory.
    pub(crate) fn refused(&self, obstacle: impl Into<Obstacle>) -> Refusal {
        let source = match self.what {
            Charged::Committed => MemorySource::Committed(self.size),
            Charged::Heap | Charged::Imported | Charged::InUnifiedMemory => MemorySource::NewHeap(self.size),
        };
        Refusal::of(source, obstacle.into())
    }
}

/// The device, budget, limits and residency manager of an allocator.
pub(crate) struct HeapSource {
    pub(crate) devices: Devices,
    pub(crate) adapter: Option<IDXGIAdapter3>,
    /// The residency manager of the heaps.
    pub(crate) residency: Option<ResidencyManager>,
    /// Shared by all nested allocators.
    pub(crate) own_memory: Arc<OwnMemory>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) timers: HeapTimers,
    /// Counts the operations of all nested allocators.
    pub(crate) tally: Arc<HeapTally>,
    pub(crate) retention: HeapRetention,
    pub(crate) clock: IdleClock,
    /// Releases the idle memory of this allocator and of those that are nested in it.
    pub(crate) idle_thread: IdleThread,
    /// Shared by all nested allocators.
    pub(crate) releasing: Arc<Mutex<()>>,
    pub(crate) desc: ResourceAllocatorDesc,
    pub(crate) max_heap_size: ByteSize,
    /// Flags of all heaps.
    pub(crate) extra_heap_flags: D3D12_HEAP_FLAGS,
    pub(crate) recording: Option<Arc<Recording>>,
    pub(crate) labels: Labels,
    /// The allocator.
    pub(crate) owner: Weak<dyn Owner>,
}

impl HeapSource {
    /// Creates the source of an allocator, except for the field `owner`. Checks the description and the manager
    /// against the device.
    pub(crate) fn new(
        device: &ID3D12Device,
        adapter: Option<&IDXGIAdapter3>,
        caps: &DeviceCaps,
        desc: ResourceAllocatorDesc,
        residency: Option<&ResidencyManager>,
        parent: Option<&Self>,
        owner: Weak<dyn Owner>,
    ) -> Result<Self, Error> {
        desc.check(caps)?;
        if let Some(manager) = residency {
            manager.check_device(device)?;
        }
        adapter.map_or(Ok(()), |adapter| check_adapter(device, adapter))?;
        if adapter.is_none() && residency.is_none() {
            if desc.flags.contains(ResourceAllocatorFlags::ALWAYS_IN_BUDGET) {
                let rule = "ALWAYS_IN_BUDGET requires an adapter or a residency manager";
                return Err(Error::invalid_argument("ResourceAllocatorDesc::flags", rule));
            }
            if desc.limits.share_of_budget.is_some() {
                let rule = "requires an adapter or a residency manager";
                return Err(Error::invalid_argument("HeapLimits::share_of_budget", rule));
            }
        }
        let devices = Devices::of(device);
        let of_parent = parent.and_then(|parent| parent.recording.as_deref());
        let recording =
            Recording::begin(&desc.record_options, InstanceKind::Allocator, device, of_parent, || {
                Settings {
                    options: desc.options(),
                    fields: allocator_fields(
                        &desc,
                        desc.resource_heap_tier.unwrap_or(caps.resource_heap_tier),
                    ),
                }
            })?;
        let being_created = parent.map_or_else(Arc::default, |parent| parent.ledger.being_created());
        let ledger = Ledger::new(desc.limits, VideoMemory::new(adapter, residency), being_created);
        Ok(Self {
            timers: HeapTimers::new(device, &ledger, recording.as_ref(), parent.map(|parent| &parent.timers)),
            recording,
            max_heap_size: max_heap_size(&desc, caps),
            extra_heap_flags: extra_heap_flags(&desc, &devices),
            ledger,
            tally: parent.map_or_else(Arc::default, |parent| Arc::new(parent.tally.beside())),
            retention: retention(&desc),
            clock: IdleClock::start(parent.map(|parent| &parent.clock)),
            idle_thread: IdleThread::default(),
            releasing: parent.map_or_else(Arc::default, |parent| Arc::clone(&parent.releasing)),
            adapter: adapter.cloned(),
            residency: residency.cloned(),
            own_memory: parent.map_or_else(Arc::default, |parent| Arc::clone(&parent.own_memory)),
            labels: Labels::default(),
            devices,
            desc,
            owner,
        })
    }

    /// Has a thread release what became empty, when it is not used for too long.
    #[inline]
    pub(crate) fn look_after_empty(&self) {
        if self.tally.became_empty() {
            self.wake_idle_thread();
        }
    }

    /// Has other threads wait that release empty memory of this allocator or of one that it is nested with. Otherwise
    /// one of them could miss a heap that another takes out of a set to release it, or that is empty only once the
    /// other has released a backing buffer.
    pub(crate) fn release_alone(&self) -> MutexGuard<'_, ()> {
        self.releasing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`release_alone`](Self::release_alone), unless another thread is releasing memory.
    pub(crate) fn try_release_alone(&self) -> Option<MutexGuard<'_, ()>> {
        match self.releasing.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    #[cold]
    fn wake_idle_thread(&self) {
        if !self.is_repeatable() && self.idle_thread.wake(&self.owner, &self.tally) {
            self.clock.restart();
        }
    }

    /// Returns whether calls do the work of the allocator's threads, in an order that a replay repeats: if a recording
    /// is made, or time is told.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.recording.is_some() || self.clock.is_told()
    }

    /// Returns the manager of memory for an allocation with these flags.
    #[inline]
    pub(crate) fn manager_for(&self, flags: ResourceAllocationFlags) -> Option<&ResidencyManager> {
        self.residency.as_ref().filter(|_| !flags.contains(ResourceAllocationFlags::NEVER_RESIDENT))
    }

    /// Returns whether memory for an allocation with these flags must not exceed the budget.
    pub(crate) fn is_within_budget(&self, flags: ResourceAllocationFlags) -> bool {
        flags.contains(ResourceAllocationFlags::WITHIN_BUDGET) || self.is_always_in_budget()
    }

    /// Returns whether the allocator or the residency manager forbids memory beyond the budget.
    #[inline]
    pub(crate) fn is_always_in_budget(&self) -> bool {
        self.desc.flags.contains(ResourceAllocatorFlags::ALWAYS_IN_BUDGET)
            || self.residency.as_ref().is_some_and(ResidencyManager::is_always_in_budget)
    }

    /// Returns whether empty heaps are never released to create a new one.
    pub(crate) fn never_over_allocates(&self) -> bool {
        self.desc.flags.contains(ResourceAllocatorFlags::NEVER_OVER_ALLOCATE)
    }

    /// Returns the bytes by which the process, including what a residency manager evicted, needs more than the budget.
    pub(crate) fn bytes_short(&self, group: SegmentGroup) -> ByteSize {
        if let Some(manager) = &self.residency {
            // Usage is within the budget, because heaps were evicted.
            let (demand, budget) = manager.demand_and_budget(group);
            return demand.saturating_sub(budget);
        }
        self.ledger.budget_row(group).map_or(ByteSize::ZERO, |row| row.missing(ByteSize::ZERO))
    }

    /// Returns whether `size` more bytes would exceed the budget of a segment group, if it is known.
    pub(crate) fn exceeds_budget(&self, group: SegmentGroup, size: ByteSize) -> Option<bool> {
        self.ledger.budget_row(group).map(|row| !row.missing(size).is_zero())
    }

    /// Returns the budget's row for new memory, if there is one.
    pub(crate) fn budget_row(&self, new: &NewMemory) -> Option<Row> {
        if self.manager_for(new.allocation_flags).is_some() && begins_evicted(new.flags) {
            // The memory needs no budget until it is used.
            return None;
        }
        self.ledger.budget_row(new.account.group)
    }

    /// Returns the rows that new memory must not exceed. What a residency manager can evict does not count towards its
    /// budget.
    pub(crate) fn rows(&self, new: &NewMemory) -> impl Iterator<Item = Row> + use<> {
        let budget = self.budget_row(new).filter(|_| self.is_within_budget(new.allocation_flags));
        let budget = match self.manager_for(new.allocation_flags) {
            Some(manager) => budget.map(|row| needed_row(manager, new.account.group, row.limit)),
            None => budget,
        };
        budget.into_iter().chain(self.ledger.rows(new.account))
    }

    /// Checks that new memory is within all rows.
    pub(crate) fn check(&self, new: &NewMemory) -> Result<(), Row> {
        self.rows(new).try_for_each(|row| row.check(new.size))
    }

    /// Returns the bytes that the allocator's limits and the budget leave, also where the budget may be exceeded.
    pub(crate) fn room(&self, new: &NewMemory) -> ByteSize {
        let of_budget = self.budget_row(new).map_or(ByteSize::MAX, |row| row.left());
        of_budget.min(self.ledger.left(new.account))
    }

    /// Creates memory that is charged to budget and limits, after a residency manager, if there is one for it, has made
    /// memory available. Memory that is created evicted needs no budget.
    pub(crate) fn make<T>(
        &self,
        new: &NewMemory,
        create: impl FnOnce() -> Result<T, Refusal>,
    ) -> Result<(T, Option<ResidencyHeap>, Charge), Refusal>
    where
        T: Clone + Into<ID3D12Pageable>,
    {
        let &NewMemory { account, what, size, allocation_flags, .. } = new;
        let refuse = |row| new.refused(row);
        // A residency manager charges what it manages itself.
        let needs_budget = self.manager_for(allocation_flags).is_none();
        let charge =
            || self.ledger.charge_budget(account.group, size, self.is_within_budget(allocation_flags));
        let _until_created = needs_budget.then(charge).transpose().map_err(refuse)?;
        let charge = self.ledger.charge(account, what, size).map_err(refuse)?;
        let is_unreported = self.ledger.video_memory.is_unreported(account.group);
        let check_first_report = || if is_unreported { self.check_first_report(new) } else { Ok(()) };
        let Some(manager) = self.manager_for(allocation_flags) else {
            let made = create()?;
            check_first_report().map_err(refuse)?;
            return Ok((made, None, charge));
        };
        let (group, begins_evicted) = (new.account.group, begins_evicted(new.flags));
        // Memory that is created evicted needs no budget.
        let needed = (!begins_evicted).then_some((group, size));
        let mut made = None;
        let managed =
            manager.create_memory(needed, self.is_within_budget(allocation_flags), new.priority, || {
                let object = made.insert(create()).as_ref().map(|object| object.clone().into());
                // The error is in `made`.
                object.map_err(|_| E_FAIL.into())
            });
        match (made, managed) {
            (Some(Err(refusal)), _) => Err(refusal),
            (Some(Ok(object)), Ok(managed)) => {
                check_first_report().map_err(refuse)?;
                Ok((object, Some(managed), charge))
            }
            (_, Err(error)) if error.is_over_budget() => {
                Err(refuse(needed_row(manager, group, Limit::Budget(group))))
            }
            // The device could not page.
            (_, Err(error)) if error.is_out_of_memory() => {
                Err(new.refused(Obstacle::Device(error.hresult())))
            }
            (_, Err(error)) => Err(error.into()),
            (None, Ok(_)) => Err(Error::device("ResidencyManager::create_heap", E_FAIL).into()),
        }
    }

    /// Checks that new memory is within the budget and its share, if nothing had been reported about the segment group
    /// before: a budget of zero cannot be told from none until something is counted.
    #[cold]
    fn check_first_report(&self, new: &NewMemory) -> Result<(), Row> {
        if let Some(manager) = &self.residency {
            manager.refresh();
        }
        self.check(&NewMemory { size: ByteSize::ZERO, ..*new })
    }

    /// Returns whether a heap may be prefetched. A heap that may never be needed must not evict others or exceed the
    /// budget.
    pub(crate) fn may_prefetch(
        &self,
        group: SegmentGroup,
        size: ByteSize,
        flags: ResourceAllocationFlags,
    ) -> bool {
        let is_limited = self.residency.is_some() || self.is_within_budget(flags);
        !is_limited || self.exceeds_budget(group, size) != Some(true)
    }
}

/// Returns a manager's row of a budget: what it cannot evict.
fn needed_row(manager: &ResidencyManager, group: SegmentGroup, limit: Limit) -> Row {
    let (held, most) = manager.needed_and_budget(group);
    Row { limit, held, most }
}

/// Returns whether memory with these heap flags is created evicted, and then needs no budget.
const fn begins_evicted(flags: D3D12_HEAP_FLAGS) -> bool {
    flags & D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT != 0
}

/// Returns how long empty heaps are kept where they are in use.
fn retention(desc: &ResourceAllocatorDesc) -> HeapRetention {
    match desc.empty_heap_policy {
        _ if desc.flags.contains(ResourceAllocatorFlags::ALWAYS_ON_DEMAND) => HeapRetention::NONE,
        EmptyHeapPolicy::Default | EmptyHeapPolicy::FixedPool => HeapRetention::default(),
        EmptyHeapPolicy::LeastMemory => HeapRetention::LEAST_MEMORY,
        EmptyHeapPolicy::FewestHitches | EmptyHeapPolicy::SegmentedPool => HeapRetention::FOR_EVER,
        EmptyHeapPolicy::UntilNextFree => HeapRetention::UNTIL_NEXT_FREE,
    }
}

/// Returns the maximum size of a heap.
fn max_heap_size(desc: &ResourceAllocatorDesc, caps: &DeviceCaps) -> ByteSize {
    let bits = caps.gpu_va_bits_per_process.saturating_sub(1);
    let addressable = ByteSize::new(1_u64.checked_shl(bits).unwrap_or(u64::MAX).saturating_sub(1));
    let most = desc.max_heap_size.map_or(addressable, |most| most.min(addressable));
    // Heap sizes are multiples of the granularity.
    ByteSize::new(most.get() & !(HEAP_GRANULARITY.get() - 1))
}

fn extra_heap_flags(desc: &ResourceAllocatorDesc, devices: &Devices) -> D3D12_HEAP_FLAGS {
    let cases = [
        (
            ResourceAllocatorFlags::CREATE_NOT_ZEROED,
            D3D12_HEAP_FLAG_CREATE_NOT_ZEROED,
            "the device does not support CREATE_NOT_ZEROED; heaps are zeroed",
        ),
        (
            ResourceAllocatorFlags::CREATE_NOT_RESIDENT,
            D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT,
            "the device does not support CREATE_NOT_RESIDENT; heaps are created resident",
        ),
    ];
    let mut flags = D3D12_HEAP_FLAG_NONE;
    for (asked, flag, warning) in cases {
        if !desc.flags.contains(asked) {
            continue;
        }
        if devices.known_heap_flags(flag) == 0 {
            tracing::warn!("{warning}");
        }
        flags |= devices.known_heap_flags(flag);
    }
    flags
}
