//! The source of an allocator's heaps.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

use heapwright_core::ByteSize;
use heapwright_core::placement::{HeapRetention, HeapTally};
use heapwright_d3d12::*;

use super::accounts::{Account, Accounts, Charge, Charged, Limited, VideoMemory};
use super::device::Devices;
use super::heap_time::HeapTimers;
use super::idle::{IdleClock, IdleThread};
use super::labels::Labels;
use super::managed::OwnMemory;
use super::owner::Owner;
use crate::adapter::check_adapter;
use crate::desc::{EmptyHeapPolicy, HEAP_GRANULARITY, ResourceAllocatorDesc, ResourceAllocatorFlags};
use crate::error::{MemorySource, Obstacle, Refusal};
use crate::recording::{InstanceKind, Recording, Settings, allocator_fields};
use crate::residency::{ResidencyHeap, ResidencyManager};
use crate::{DeviceCaps, Error, SegmentGroup};

/// Constraints on the source of memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Constraints {
    pub(crate) may_create_heap: bool,
    pub(crate) within_budget: bool,
    /// The residency manager does not manage the memory.
    pub(crate) never_resident: bool,
}

/// Memory to be created.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewMemory {
    pub(crate) account: Account,
    pub(crate) what: Charged,
    pub(crate) size: ByteSize,
    /// The flags with which it is created.
    pub(crate) flags: D3D12_HEAP_FLAGS,
    pub(crate) priority: Option<D3D12_RESIDENCY_PRIORITY>,
    /// Whether the device has created it already, so that the budget counts it.
    pub(crate) exists: bool,
}

/// The device, budget, limits and residency manager of an allocator.
pub(crate) struct HeapSource {
    pub(crate) devices: Devices,
    pub(crate) adapter: Option<IDXGIAdapter3>,
    /// The residency manager of the heaps.
    pub(crate) residency: Option<ResidencyManager>,
    /// Shared by all nested allocators.
    pub(crate) own_memory: Arc<OwnMemory>,
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) timers: HeapTimers,
    /// Bytes that are being created in each segment group, and that the adapter may not count yet. Shared by all nested
    /// allocators.
    pub(crate) being_created: Arc<Mutex<[ByteSize; 2]>>,
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
        let accounts = Accounts::new(desc.limits, VideoMemory::new(adapter, residency));
        Ok(Self {
            timers: HeapTimers::new(
                device,
                &accounts,
                recording.as_ref(),
                parent.map(|parent| &parent.timers),
            ),
            recording,
            max_heap_size: max_heap_size(&desc, caps),
            extra_heap_flags: extra_heap_flags(&desc, &devices),
            accounts,
            tally: parent.map_or_else(Arc::default, |parent| Arc::new(parent.tally.beside())),
            retention: retention(&desc),
            clock: IdleClock::start(parent.map(|parent| &parent.clock)),
            idle_thread: IdleThread::default(),
            releasing: parent.map_or_else(Arc::default, |parent| Arc::clone(&parent.releasing)),
            adapter: adapter.cloned(),
            residency: residency.cloned(),
            being_created: parent.map_or_else(Arc::default, |parent| Arc::clone(&parent.being_created)),
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

    /// If time is told, or a recording is made, calls do its work, in an order that can be repeated.
    #[cold]
    fn wake_idle_thread(&self) {
        if self.recording.is_none()
            && !self.clock.is_told()
            && self.idle_thread.wake(&self.owner, &self.tally)
        {
            self.clock.restart();
        }
    }

    /// Returns the manager of memory that is created under these constraints.
    #[inline]
    pub(crate) fn manager_for(&self, constraints: Constraints) -> Option<&ResidencyManager> {
        self.residency.as_ref().filter(|_| !constraints.never_resident)
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

    /// Returns the constraints on memory that the allocator uses itself.
    pub(crate) fn own_constraints(&self) -> Constraints {
        Constraints {
            may_create_heap: true,
            within_budget: self.is_always_in_budget(),
            never_resident: false,
        }
    }

    /// Returns the bytes by which the process, including what a residency manager evicted, needs more than the budget.
    pub(crate) fn bytes_short(&self, group: SegmentGroup) -> ByteSize {
        let known = match &self.residency {
            // Usage is within the budget, because heaps were evicted.
            Some(manager) => Some(manager.demand_and_budget(group)),
            None => self.accounts.video_memory.usage_and_budget(group),
        };
        known.map_or(ByteSize::ZERO, |(demand, budget)| demand.saturating_sub(budget))
    }

    /// Returns whether `size` more bytes would exceed the budget of a segment group, if it is known.
    pub(crate) fn exceeds_budget(&self, group: SegmentGroup, size: ByteSize) -> Option<bool> {
        let (usage, budget) = self.accounts.video_memory.usage_and_budget(group)?;
        Some(usage.saturating_add(size) > budget)
    }

    /// Returns what limits more memory with these heap flags. The budgets are those of now.
    pub(crate) fn limits(
        &self,
        account: Account,
        flags: D3D12_HEAP_FLAGS,
        constraints: Constraints,
    ) -> Limits<'_> {
        Limits {
            account,
            flags,
            constraints,
            budget: self.budget(account.group, flags, constraints),
            of_type: self.accounts.of_type(account.heap_type),
            of_group: self.accounts.of_group(account.group),
        }
    }

    /// Returns the same limits with the budgets of now.
    pub(crate) fn limits_of_now(&self, limits: &Limits<'_>) -> Limits<'_> {
        self.limits(limits.account, limits.flags, limits.constraints)
    }

    fn budget(&self, group: SegmentGroup, flags: D3D12_HEAP_FLAGS, constraints: Constraints) -> Budget {
        let manager = self.manager_for(constraints);
        if manager.is_some() && begins_evicted(flags) {
            // The memory needs no budget until it is used.
            return Budget { group, known: None, hard: None, is_managed: true };
        }
        let known = self.accounts.video_memory.usage_and_budget(group);
        let hard = match manager {
            _ if !constraints.within_budget => None,
            Some(manager) => Some(manager.needed_and_budget(group)),
            // The adapter's existence was checked. If its query fails, there is no budget to check.
            None => known,
        };
        Budget { group, known, hard, is_managed: manager.is_some() }
    }

    /// Charges `size` bytes to the budget until they are created, or returns the budget that they would exceed. A
    /// residency manager charges what it manages itself.
    pub(crate) fn charge_budget(
        &self,
        group: SegmentGroup,
        size: ByteSize,
        constraints: Constraints,
    ) -> Result<Option<BudgetCharge>, Obstacle> {
        if self.manager_for(constraints).is_some() {
            return Ok(None);
        }
        let mut being_created = self.being_created.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = &mut being_created[group.index()];
        if constraints.within_budget {
            let budget = self.budget(group, D3D12_HEAP_FLAG_NONE, constraints);
            budget.check(bytes.saturating_add(size), ByteSize::ZERO, ByteSize::ZERO)?;
        }
        *bytes = bytes.saturating_add(size);
        Ok(Some(BudgetCharge { being_created: Arc::clone(&self.being_created), group, size }))
    }

    /// Creates memory that is charged to budget and limits, after a residency manager, if there is one for it, has made
    /// memory available. Memory that is created evicted needs no budget.
    pub(crate) fn make<T>(
        &self,
        new: &NewMemory,
        constraints: Constraints,
        create: impl FnOnce() -> Result<T, Refusal>,
    ) -> Result<(T, Option<ResidencyHeap>, Charge), Refusal>
    where
        T: Clone + Into<ID3D12Pageable>,
    {
        let source = match new.what {
            Charged::Committed => MemorySource::Committed(new.size),
            Charged::Heap | Charged::Imported | Charged::InUnifiedMemory => MemorySource::NewHeap(new.size),
        };
        let refuse = |obstacle| Refusal::of(source, obstacle);
        let _until_created = match new.exists {
            true => None,
            false => self.charge_budget(new.account.group, new.size, constraints).map_err(refuse)?,
        };
        let charge = self.accounts.charge(new.account, new.what, new.size).map_err(refuse)?;
        let is_unreported = self.accounts.video_memory.is_unreported(new.account.group);
        let check_first_report =
            || if is_unreported { self.check_first_report(new, constraints) } else { Ok(()) };
        let Some(manager) = self.manager_for(constraints) else {
            let made = create()?;
            check_first_report().map_err(refuse)?;
            return Ok((made, None, charge));
        };
        let (group, begins_evicted) = (new.account.group, begins_evicted(new.flags));
        // Memory that is created evicted needs no budget.
        let needed = (!begins_evicted).then_some((group, new.size));
        let mut made = None;
        let managed = manager.create_memory(needed, constraints.within_budget, new.priority, || {
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
                let (usage, budget) = manager.usage_and_budget(group);
                Err(refuse(Obstacle::Budget { group, budget, usage }))
            }
            // The device could not page.
            (_, Err(error)) if error.is_out_of_memory() => Err(refuse(Obstacle::Device(error.hresult()))),
            (_, Err(error)) => Err(error.into()),
            (None, Ok(_)) => Err(Error::device("ResidencyManager::create_heap", E_FAIL).into()),
        }
    }

    /// Checks that new memory is within the budget and its share, if nothing had been reported about the segment group
    /// before: a budget of zero cannot be told from none until something is counted.
    #[cold]
    fn check_first_report(&self, new: &NewMemory, constraints: Constraints) -> Result<(), Obstacle> {
        if let Some(manager) = &self.residency {
            manager.refresh();
        }
        let limits = self.limits(new.account, new.flags, constraints);
        limits.check(ByteSize::ZERO, &GivenBack::default())
    }

    /// Returns whether a heap may be prefetched. A heap that may never be needed must not evict others or exceed the
    /// budget.
    pub(crate) fn may_prefetch(&self, group: SegmentGroup, size: ByteSize, constraints: Constraints) -> bool {
        match &self.residency {
            Some(manager) => {
                let (usage, budget) = manager.usage_and_budget(group);
                usage.saturating_add(size) <= budget
            }
            None => self
                .budget(group, D3D12_HEAP_FLAG_NONE, constraints)
                .check(size, ByteSize::ZERO, ByteSize::ZERO)
                .is_ok(),
        }
    }
}

/// The budget and the limits for more memory of a heap type in a segment group. A request determines them once, and
/// again after it released memory.
pub(crate) struct Limits<'a> {
    pub(crate) account: Account,
    flags: D3D12_HEAP_FLAGS,
    pub(crate) constraints: Constraints,
    budget: Budget,
    /// The allocator's limit for the heap type.
    of_type: Limited<'a>,
    /// The allocator's limit for the segment group, a share of its budget.
    of_group: Limited<'a>,
}

/// What limits memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitKind {
    /// The allocator's limit for the heap type.
    HeapType,
    /// The allocator's limit for the segment group, a share of the budget.
    SegmentGroup,
    /// The operating system's budget, towards which the heaps of all nested allocators count.
    Budget,
}

impl LimitKind {
    pub(crate) const ALL: [Self; 3] = [Self::HeapType, Self::SegmentGroup, Self::Budget];
}

/// The memory that may be released before new memory is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct GivenBack {
    /// Bytes that count towards each limit, in the order of [`LimitKind::ALL`].
    pub(crate) bytes: [ByteSize; 3],
    /// Bytes of other allocators of the process, which count towards the budget alone.
    pub(crate) by_others: ByteSize,
    /// Heaps of the kind, if it is a pool's.
    pub(crate) heap_count: u64,
}

impl GivenBack {
    /// Returns the bytes that count towards a limit.
    pub(crate) fn bytes_of(&self, kind: LimitKind) -> ByteSize {
        self.bytes[kind as usize]
    }
}

impl Limits<'_> {
    /// Checks whether `size` more bytes are permitted after some memory is released.
    pub(crate) fn check(&self, size: ByteSize, given_back: &GivenBack) -> Result<(), Obstacle> {
        let [of_type, of_group, of_budget] = given_back.bytes;
        self.budget.check(size, of_budget, given_back.by_others)?;
        self.of_type.check(size, of_type)?;
        self.of_group.check(size, of_group)
    }

    /// Returns the bytes by which `size` more bytes would exceed a limit. The budget counts also where it may be
    /// exceeded.
    pub(crate) fn bytes_over(&self, kind: LimitKind, size: ByteSize) -> ByteSize {
        match kind {
            LimitKind::HeapType => self.of_type.bytes_over(size),
            LimitKind::SegmentGroup => self.of_group.bytes_over(size),
            LimitKind::Budget => self
                .budget
                .known
                .map_or(ByteSize::ZERO, |(used, budget)| used.saturating_add(size).saturating_sub(budget)),
        }
    }

    /// Returns the bytes by which `size` more bytes would exceed the budget, if it must not be exceeded.
    pub(crate) fn bytes_over_hard_budget(&self, size: ByteSize) -> ByteSize {
        let over = self.budget.hard.map(|(usage, budget)| usage.saturating_add(size).saturating_sub(budget));
        over.unwrap_or_default()
    }

    /// Returns the bytes that the allocator's limits leave.
    pub(crate) fn left(&self) -> ByteSize {
        self.of_type.left().min(self.of_group.left())
    }
}

/// The budget of a segment group at one moment.
#[derive(Debug, Clone, Copy)]
struct Budget {
    group: SegmentGroup,
    /// Usage and budget, if they are known and apply to the memory.
    known: Option<(ByteSize, ByteSize)>,
    /// The usage that remains if everything is evicted that can be, and the budget, if it must not be exceeded.
    hard: Option<(ByteSize, ByteSize)>,
    is_managed: bool,
}

impl Budget {
    /// Checks whether `size` more bytes are within the budget, if it must not be exceeded, after `empty` bytes are
    /// released, and others by other allocators.
    fn check(&self, size: ByteSize, empty: ByteSize, by_others: ByteSize) -> Result<(), Obstacle> {
        let Some((usage, budget)) = self.hard else { return Ok(()) };
        // A manager can evict empty heaps, so they are not in `usage`.
        let empty = if self.is_managed { ByteSize::ZERO } else { empty }.saturating_add(by_others);
        if usage.saturating_sub(empty).saturating_add(size) > budget {
            return Err(Obstacle::Budget { group: self.group, budget, usage });
        }
        Ok(())
    }
}

/// Returns whether memory with these heap flags is created evicted, and then needs no budget.
const fn begins_evicted(flags: D3D12_HEAP_FLAGS) -> bool {
    flags & D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT != 0
}

/// Bytes that are being created. Dropping this ends that.
pub(crate) struct BudgetCharge {
    being_created: Arc<Mutex<[ByteSize; 2]>>,
    group: SegmentGroup,
    size: ByteSize,
}

impl Drop for BudgetCharge {
    fn drop(&mut self) {
        let mut being_created = self.being_created.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = &mut being_created[self.group.index()];
        *bytes = bytes.saturating_sub(self.size);
    }
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
