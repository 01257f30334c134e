//! The source of an allocator's heaps.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use heapwright_core::ByteSize;
use heapwright_core::placement::{HeapRetention, HeapTally};
use heapwright_d3d12::*;

use super::accounts::Accounts;
use super::devices::Devices;
use super::heap_time::HeapTimers;
use super::idle_clock::IdleClock;
use super::idle_thread::IdleThread;
use super::managed::{OwnMemory, begins_evicted};
use super::nesting::Owner;
use crate::adapter::check_adapter;
use crate::desc::{EmptyHeapPolicy, HEAP_GRANULARITY, ResourceAllocatorDesc, ResourceAllocatorFlags};
use crate::error::Obstacle;
use crate::plan::Constraints;
use crate::recording::{InstanceKind, Recording, Settings, allocator_fields};
use crate::residency::ResidencyManager;
use crate::{DeviceCaps, Error, SegmentGroup, VideoMemoryInfo};

/// The device, budget, limits and residency manager of an allocator.
#[derive(Debug)]
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
    pub(crate) desc: ResourceAllocatorDesc,
    pub(crate) max_heap_size: ByteSize,
    /// Flags of all heaps.
    pub(crate) extra_heap_flags: D3D12_HEAP_FLAGS,
    pub(crate) recording: Option<Arc<Recording>>,
    /// The allocator, whose type this module does not know.
    pub(crate) allocator: Weak<dyn Any + Send + Sync>,
    /// The allocator again, as the interface that this module calls.
    pub(crate) owner: Weak<dyn Owner>,
}

impl HeapSource {
    /// Creates the source of an allocator, except for the field `allocator`. Checks the description and the manager
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
        let is_budget_known = adapter.is_some() || residency.is_some();
        if desc.flags.contains(ResourceAllocatorFlags::ALWAYS_IN_BUDGET) && !is_budget_known {
            let rule = "ALWAYS_IN_BUDGET requires an adapter or a residency manager";
            return Err(Error::invalid_argument("ResourceAllocatorDesc::flags", rule));
        }
        let devices = Devices::of(device);
        let of_parent = parent.and_then(|parent| parent.recording.as_deref());
        let recording =
            Recording::begin(&desc.record_options, InstanceKind::Allocator, of_parent, || Settings {
                options: desc.options(),
                fields: allocator_fields(&desc, desc.resource_heap_tier.unwrap_or(caps.resource_heap_tier)),
            })?;
        let accounts = Accounts::new(desc.limits);
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
            adapter: adapter.cloned(),
            residency: residency.cloned(),
            being_created: parent.map_or_else(Arc::default, |parent| Arc::clone(&parent.being_created)),
            own_memory: parent.map_or_else(Arc::default, |parent| Arc::clone(&parent.own_memory)),
            devices,
            desc,
            allocator: Weak::<()>::new(),
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

    /// If time is told, or a recording is made, calls do its work, in an order that can be repeated.
    #[cold]
    fn wake_idle_thread(&self) {
        if self.recording.is_none() && !self.clock.is_told() && self.idle_thread.wake(&self.owner) {
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

    /// Returns usage and budget of a segment group, if the adapter is known and reports them.
    pub(crate) fn video_memory(&self, group: SegmentGroup) -> Option<(ByteSize, ByteSize)> {
        if let Some(manager) = &self.residency {
            let (usage, budget) = manager.usage_and_budget(group);
            return (budget != ByteSize::MAX).then_some((usage, budget));
        }
        let info = VideoMemoryInfo::query(self.adapter.as_ref()?, group).ok()?;
        // Some implementations other than Windows' report zeros for memory that they do not count.
        if info.budget.is_zero() && info.current_usage.is_zero() {
            return None;
        }
        Some((info.current_usage, info.budget))
    }

    /// Returns the bytes by which the process, including what a residency manager evicted, needs more than the budget.
    pub(crate) fn bytes_short(&self, group: SegmentGroup) -> ByteSize {
        let known = match &self.residency {
            // Usage is within the budget, because heaps were evicted.
            Some(manager) => Some(manager.demand_and_budget(group)),
            None => self.video_memory(group),
        };
        known.map_or(ByteSize::ZERO, |(demand, budget)| demand.saturating_sub(budget))
    }

    /// Checks whether `size` more bytes are within the operating system's budget, if it applies, after `empty` bytes
    /// are released.
    pub(crate) fn check_budget(
        &self,
        group: SegmentGroup,
        size: ByteSize,
        constraints: Constraints,
        empty: ByteSize,
    ) -> Result<(), Obstacle> {
        if !constraints.within_budget {
            return Ok(());
        }
        let known = match self.manager_for(constraints) {
            // Memory that a manager can evict does not count, and empty heaps can be evicted.
            Some(manager) => Some((manager.needed_and_budget(group), ByteSize::ZERO)),
            None => self.video_memory(group).map(|known| (known, empty)),
        };
        // The adapter's existence was checked. If its query fails, there is no budget to check.
        let Some(((usage, budget), empty)) = known else { return Ok(()) };
        if usage.saturating_sub(empty).saturating_add(size) > budget {
            return Err(Obstacle::Budget { group, budget, usage });
        }
        Ok(())
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
        self.check_budget(group, bytes.saturating_add(size), constraints, ByteSize::ZERO)?;
        *bytes = bytes.saturating_add(size);
        Ok(Some(BudgetCharge { being_created: Arc::clone(&self.being_created), group, size }))
    }

    /// Returns the bytes by which `size` more bytes would exceed the budget, if usage and budget are known.
    pub(crate) fn bytes_over_budget(
        &self,
        group: SegmentGroup,
        size: ByteSize,
        flags: D3D12_HEAP_FLAGS,
        constraints: Constraints,
    ) -> ByteSize {
        if self.manager_for(constraints).is_some() && begins_evicted(flags) {
            // The memory needs no budget until it is used.
            return ByteSize::ZERO;
        }
        let Some((usage, budget)) = self.video_memory(group) else { return ByteSize::ZERO };
        usage.saturating_add(size).saturating_sub(budget)
    }

    /// Returns whether a heap may be prefetched. A heap that may never be needed must not evict others or exceed the
    /// budget.
    pub(crate) fn may_prefetch(&self, group: SegmentGroup, size: ByteSize, constraints: Constraints) -> bool {
        match &self.residency {
            Some(manager) => {
                let (usage, budget) = manager.usage_and_budget(group);
                usage.saturating_add(size) <= budget
            }
            None => self.check_budget(group, size, constraints, ByteSize::ZERO).is_ok(),
        }
    }
}

/// Bytes that are being created. Dropping this ends that.
#[derive(Debug)]
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
        EmptyHeapPolicy::FewestHitches => HeapRetention::FEWEST_HITCHES,
        EmptyHeapPolicy::SegmentedPool => HeapRetention::FOR_EVER,
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
