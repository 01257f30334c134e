//! Where an allocator's heaps come from.

use std::any::Any;
use std::sync::{Arc, Weak};

use heapwright_core::ByteSize;
use heapwright_d3d12::*;

use super::accounts::Accounts;
use super::devices::Devices;
use super::managed::{OwnMemory, begins_evicted};
use crate::desc::{HEAP_GRANULARITY, ResourceAllocatorDesc, ResourceAllocatorFlags};
use crate::error::Obstacle;
use crate::plan::Constraints;
use crate::residency::ResidencyManager;
use crate::{DeviceCaps, Error, SegmentGroup, VideoMemoryInfo};

/// The device, budget, limits and residency manager of an allocator.
#[derive(Debug)]
pub(crate) struct HeapSource {
    pub(crate) devices: Devices,
    pub(crate) adapter: Option<IDXGIAdapter3>,
    /// Decides which heaps are resident.
    pub(crate) residency: Option<ResidencyManager>,
    /// Shared by all allocators that are nested with this one.
    pub(crate) own_memory: Arc<OwnMemory>,
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) desc: ResourceAllocatorDesc,
    pub(crate) max_heap_size: ByteSize,
    /// Flags of all heaps.
    pub(crate) extra_heap_flags: D3D12_HEAP_FLAGS,
    /// The allocator, whose type this module does not know.
    pub(crate) allocator: Weak<dyn Any + Send + Sync>,
}

impl HeapSource {
    /// The source of an allocator, which is yet to be filled in. Checks the description against the device, and the manager.
    pub(crate) fn new(
        device: &ID3D12Device,
        adapter: Option<&IDXGIAdapter3>,
        caps: &DeviceCaps,
        desc: ResourceAllocatorDesc,
        residency: Option<&ResidencyManager>,
        parent: Option<&Self>,
    ) -> Result<Self, Error> {
        desc.check(caps)?;
        if let Some(manager) = residency {
            manager.check_device(device)?;
        }
        let is_budget_known = adapter.is_some() || residency.is_some();
        if desc.flags.contains(ResourceAllocatorFlags::ALWAYS_IN_BUDGET) && !is_budget_known {
            let rule = "ALWAYS_IN_BUDGET needs the adapter, which says what the budget is";
            return Err(Error::invalid_argument("ResourceAllocatorDesc::flags", rule));
        }
        let devices = Devices::of(device);
        Ok(Self {
            max_heap_size: max_heap_size(&desc, caps),
            extra_heap_flags: extra_heap_flags(&desc, &devices),
            accounts: Accounts::new(desc.limits),
            adapter: adapter.cloned(),
            residency: residency.cloned(),
            own_memory: parent.map_or_else(Arc::default, |parent| Arc::clone(&parent.own_memory)),
            devices,
            desc,
            allocator: Weak::<()>::new(),
        })
    }

    /// The manager of what is created under these constraints.
    #[inline]
    pub(crate) fn manager_for(&self, constraints: Constraints) -> Option<&ResidencyManager> {
        self.residency.as_ref().filter(|_| !constraints.never_resident)
    }

    /// Whether nothing is created beyond the budget: the allocator says so, or the residency manager.
    #[inline]
    pub(crate) fn is_always_in_budget(&self) -> bool {
        self.desc.flags.contains(ResourceAllocatorFlags::ALWAYS_IN_BUDGET)
            || self.residency.as_ref().is_some_and(ResidencyManager::is_always_in_budget)
    }

    /// Whether no empty heap goes back to make room for a new one.
    pub(crate) fn never_over_allocates(&self) -> bool {
        self.desc.flags.contains(ResourceAllocatorFlags::NEVER_OVER_ALLOCATE)
    }

    /// The constraints on memory that the allocator takes for itself.
    pub(crate) fn own_constraints(&self) -> Constraints {
        Constraints {
            may_create_heap: true,
            within_budget: self.is_always_in_budget(),
            never_resident: false,
        }
    }

    /// Usage and budget of a segment group, where the adapter is known and answers.
    pub(crate) fn video_memory(&self, group: SegmentGroup) -> Option<(ByteSize, ByteSize)> {
        if let Some(manager) = &self.residency {
            let (usage, budget) = manager.usage_and_budget(group);
            return (budget != ByteSize::MAX).then_some((usage, budget));
        }
        let info = VideoMemoryInfo::query(self.adapter.as_ref()?, group).ok()?;
        // Some D3D12s beside Windows' answer zeros for what they do not count.
        if info.budget.is_zero() && info.current_usage.is_zero() {
            return None;
        }
        Some((info.current_usage, info.budget))
    }

    /// Checks whether so many bytes more are within the operating system's budget, if that matters, once `empty` bytes are given back.
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
            // What a manager can evict does not stand in the way, empty heaps least of all.
            Some(manager) => Some((manager.needed_and_budget(group), ByteSize::ZERO)),
            None => self.video_memory(group).map(|known| (known, empty)),
        };
        // That there is an adapter was checked. One that does not answer has no budget to be within.
        let Some(((usage, budget), empty)) = known else { return Ok(()) };
        if usage.saturating_sub(empty).saturating_add(size) > budget {
            return Err(Obstacle::Budget { group, budget, usage });
        }
        Ok(())
    }

    /// How far `size` bytes more would take usage above the budget, where both are known.
    pub(crate) fn bytes_over_budget(
        &self,
        group: SegmentGroup,
        size: ByteSize,
        flags: D3D12_HEAP_FLAGS,
        constraints: Constraints,
    ) -> ByteSize {
        if self.manager_for(constraints).is_some() && begins_evicted(flags) {
            // It needs no room until it is used.
            return ByteSize::ZERO;
        }
        let Some((usage, budget)) = self.video_memory(group) else { return ByteSize::ZERO };
        usage.saturating_add(size).saturating_sub(budget)
    }

    /// Returns whether a heap may be made in advance: one that may never be needed evicts nothing and exceeds no budget.
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

/// The largest heap that may be made.
fn max_heap_size(desc: &ResourceAllocatorDesc, caps: &DeviceCaps) -> ByteSize {
    let bits = caps.gpu_va_bits_per_process.saturating_sub(1);
    let addressable = ByteSize::new(1_u64.checked_shl(bits).unwrap_or(u64::MAX).saturating_sub(1));
    let most = desc.max_heap_size.map_or(addressable, |most| most.min(addressable));
    // Heaps come in units, so what is left of one is no use.
    ByteSize::new(most.get() & !(HEAP_GRANULARITY.get() - 1))
}

fn extra_heap_flags(desc: &ResourceAllocatorDesc, devices: &Devices) -> D3D12_HEAP_FLAGS {
    let cases = [
        (
            ResourceAllocatorFlags::CREATE_NOT_ZEROED,
            D3D12_HEAP_FLAG_CREATE_NOT_ZEROED,
            "the device does not know CREATE_NOT_ZEROED; heaps are zeroed",
        ),
        (
            ResourceAllocatorFlags::CREATE_NOT_RESIDENT,
            D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT,
            "the device does not know CREATE_NOT_RESIDENT; heaps are created resident",
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
