//! `MakeResident`, `Evict`, `EnqueueMakeResident` and residency priorities.

use std::sync::Arc;
use std::time::Instant;

use heapwright_core::ByteSize;
use heapwright_d3d12::*;
use windows_core::Interface;

use super::{Device, Device_Impl};
use crate::api::command_list::read_array;
use crate::api::descriptor_heap::DescriptorHeap;
use crate::api::fence::Fence;
use crate::api::heap::Heap;
use crate::api::object::{Child, Owned, own};
use crate::api::query_heap::QueryHeap;
use crate::api::resource::Resource;
use crate::ddi::{DriverError, SegmentGroup};
use crate::drivers::heap::DriverHeap;
use crate::drivers::paging_work::PagingWork;
use crate::residency::{Call, PageableKind, PageableRecord};
use crate::rules::Refusal;

const PRIORITY_LEVELS: [D3D12_RESIDENCY_PRIORITY; 5] = [
    D3D12_RESIDENCY_PRIORITY_MINIMUM,
    D3D12_RESIDENCY_PRIORITY_LOW,
    D3D12_RESIDENCY_PRIORITY_NORMAL,
    D3D12_RESIDENCY_PRIORITY_HIGH,
    D3D12_RESIDENCY_PRIORITY_MAXIMUM,
];

/// Converts a priority to a fraction: 0 for MINIMUM, 0.5 for NORMAL, and 1 for MAXIMUM.
fn fraction(priority: D3D12_RESIDENCY_PRIORITY) -> f32 {
    // The levels are unsigned numbers, MAXIMUM above the largest signed one. The upper half has the level and 16 bits
    // fit exactly; the lower half only ranks objects within a level.
    let [least, own, most] = [D3D12_RESIDENCY_PRIORITY_MINIMUM, priority, D3D12_RESIDENCY_PRIORITY_MAXIMUM]
        .map(|level| f32::from(u16::try_from(level.cast_unsigned() >> 16).unwrap_or(u16::MAX)));
    ((own - least) / (most - least)).clamp(0.0, 1.0)
}

/// The memory or the residency count behind a pageable object.
enum Pageable<'a> {
    /// Memory of the object's own.
    Memory(&'a DriverHeap),
    /// Only a count in the ledger. The object is never paged.
    Counted(&'a PageableRecord),
}

impl<'a> Pageable<'a> {
    fn of(child: &'a Child) -> Option<Self> {
        let counted = || child.residency.as_deref().map(Self::Counted);
        child.memory.as_deref().map(Self::Memory).or_else(counted)
    }

    fn make_resident(&self) -> Result<Option<PagingWork>, DriverError> {
        match self {
            Self::Memory(memory) => memory.make_resident(),
            Self::Counted(_) => Ok(None),
        }
    }

    fn evict(&self) -> Result<Option<PagingWork>, DriverError> {
        match self {
            Self::Memory(memory) => memory.evict(),
            Self::Counted(_) => Ok(None),
        }
    }

    /// Checks whether a call charges the object to `group`. To be called after counting the object and before the
    /// ledger counts the call.
    fn is_charged_to(&self, group: SegmentGroup) -> bool {
        matches!(self, Self::Memory(memory) if memory.segment_group() == group && memory.record().count() == 0)
    }

    fn record(&self) -> &PageableRecord {
        match self {
            Self::Memory(memory) => memory.record(),
            Self::Counted(record) => record,
        }
    }
}

/// Reads the objects of one call.
///
/// # Safety
///
/// `objects` is null or points to `count` elements that stay readable while the result is in use.
pub(super) unsafe fn read_objects<'a>(
    count: u32,
    objects: *const Option<ID3D12Pageable>,
) -> Result<&'a [Option<ID3D12Pageable>], Refusal> {
    // SAFETY: guaranteed by the caller.
    unsafe { read_array(count, objects, "ppObjects") }
}

/// A refusal, and the paging work that reverts what the call has done. It runs when the batch has ended.
type Reverted = (Refusal, Vec<PagingWork>);

/// Counts and charges all objects, or none of them. Returns the paging work that remains to be done: allocation and
/// copies.
fn count_all(pageables: &[Pageable<'_>]) -> Result<Vec<PagingWork>, Reverted> {
    let mut works = Vec::new();
    for (index, pageable) in pageables.iter().enumerate() {
        match pageable.make_resident() {
            Ok(work) => works.extend(work),
            Err(error) => return Err((error.into(), take_back(&pageables[..index]))),
        }
    }
    Ok(works)
}

/// Reverts `count_all`, except for the returned work.
fn take_back(pageables: &[Pageable<'_>]) -> Vec<PagingWork> {
    // An error means that another thread evicted the object, which is what is to be done.
    pageables.iter().filter_map(|pageable| pageable.evict().ok().flatten()).collect()
}

/// Runs the work that reverts a call, and returns the call's refusal.
fn reverted((refusal, works): Reverted) -> Refusal {
    // A heap that cannot be paged out keeps its memory; a device that is lost reports that itself.
    let _ = PagingWork::run_all(works, Instant::now());
    refusal
}

impl Device {
    /// Creates the record of an object that takes no video memory and is never paged: only its residency is counted.
    pub(in crate::api) fn counted_only(&self, kind: PageableKind) -> Arc<PageableRecord> {
        Arc::new(self.driver().residency().created(kind, ByteSize::ZERO, true))
    }
}

impl Device_Impl {
    /// Makes all objects resident, or none of them if one cannot be.
    pub(super) fn make_resident(&self, objects: &[Option<ID3D12Pageable>]) -> Result<(), Refusal> {
        let checked = self.removal().check_present().and_then(|()| self.pageables(objects));
        let batch = self.driver().residency().begin(Call::MakeResident);
        let pageables = checked?;
        let works = match count_all(&pageables) {
            Ok(works) => works,
            Err(failed) => {
                drop(batch);
                return Err(reverted(failed));
            }
        };
        batch.made_resident(pageables.iter().map(Pageable::record));
        // Outside of the batch: allocation and paging take time, and other calls need not wait for them.
        let (_, paged) = PagingWork::run_all(works, Instant::now());
        paged.map_err(|error| self.take_back_counted(Call::MakeResident, &pageables, error.into()))
    }

    /// Reverts a call that is counted already, and returns its refusal.
    fn take_back_counted(&self, call: Call, pageables: &[Pageable<'_>], refusal: Refusal) -> Refusal {
        let batch = self.driver().residency().reopen(call);
        let works = take_back(pageables);
        batch.take_back(pageables.iter().map(Pageable::record));
        reverted((refusal, works))
    }

    /// Makes all objects resident on the paging thread and then signals `fence`. A refused call changes nothing.
    pub(super) fn enqueue_make_resident(
        &self,
        flags: D3D12_RESIDENCY_FLAGS,
        objects: &[Option<ID3D12Pageable>],
        fence: Option<&ID3D12Fence>,
        value: u64,
    ) -> Result<(), Refusal> {
        let check = || {
            if flags & !D3D12_RESIDENCY_FLAG_DENY_OVERBUDGET != 0 {
                return Err(Refusal::invalid(format!(
                    "Flags {flags:#x} has unknown bits; only DENY_OVERBUDGET is allowed"
                )));
            }
            let fence = own::<Fence>(self, fence, "pFenceToSignal")?;
            self.removal().check_present()?;
            // Before the batch, so that the thread pages in the order in which the calls are counted.
            Ok((fence, self.pageables(objects)?, self.paging.next()?))
        };
        let checked = check();
        let batch = self.driver().residency().begin(Call::EnqueueMakeResident);
        let (fence, pageables, next) = checked?;
        let counted = count_all(&pageables).and_then(|works| {
            // Charged, but not yet allocated.
            if flags & D3D12_RESIDENCY_FLAG_DENY_OVERBUDGET != 0 && self.is_over_budget(&pageables) {
                let refusal = Refusal::out_of_memory(
                    "making the objects resident would exceed the budget, and DENY_OVERBUDGET is set",
                );
                return Err((refusal, take_back(&pageables)));
            }
            Ok(works)
        });
        let mut works = match counted {
            Ok(works) => works,
            Err(failed) => {
                drop((batch, next));
                return Err(reverted(failed));
            }
        };
        batch.made_resident(pageables.iter().map(Pageable::record));
        // Outside of the batch, but within the call: there is no refusal later.
        let enqueued = match PagingWork::begin_all(&mut works) {
            Ok(()) => next.enqueue(works, self.removal(), Arc::clone(fence.value()), value),
            Err(error) => Err((error.into(), works)),
        };
        enqueued.map_err(|(refusal, works)| {
            // Other calls may wait for what has begun.
            let _ = PagingWork::run_all(works, Instant::now());
            self.take_back_counted(Call::EnqueueMakeResident, &pageables, refusal)
        })
    }

    /// Checks whether usage exceeds the budget of a segment group to which the call charges objects.
    ///
    /// Objects that are already resident are not charged, and a segment group without any of the call's objects does
    /// not matter. Neither causes a refusal.
    fn is_over_budget(&self, pageables: &[Pageable<'_>]) -> bool {
        [SegmentGroup::Local, SegmentGroup::NonLocal].into_iter().any(|group| {
            let memory = self.driver().video_memory(group);
            memory.current_usage > memory.budget
                && pageables.iter().any(|pageable| pageable.is_charged_to(group))
        })
    }

    /// Evicts all objects, or none of them if one would be evicted more often than it was made resident.
    ///
    /// A removed device evicts as well: the documentation does not exclude it, and giving up memory needs no GPU.
    pub(super) fn evict(&self, objects: &[Option<ID3D12Pageable>]) -> Result<(), Refusal> {
        let checked = self.pageables(objects);
        let batch = self.driver().residency().begin(Call::Evict);
        let pageables = checked?;
        batch.check_evicts(pageables.iter().map(Pageable::record)).map_err(|index| {
            Refusal::invalid(format!(
                "ppObjects[{index}] would be evicted more often than it was made resident"
            ))
        })?;
        let mut works = Vec::new();
        for pageable in &pageables {
            works.extend(pageable.evict()?);
        }
        batch.evicted(pageables.iter().map(Pageable::record));
        // Outside of the batch: paging out waits for queues, which need the ledger to release what they used.
        let (_, paged) = PagingWork::run_all(works, Instant::now());
        Ok(paged?)
    }

    /// Passes the priorities of a valid `SetResidencyPriority` call to the driver.
    ///
    /// # Safety
    ///
    /// `priorities` is null or points to one priority for each object.
    pub(super) unsafe fn set_residency_priority(
        &self,
        objects: &[Option<ID3D12Pageable>],
        priorities: *const D3D12_RESIDENCY_PRIORITY,
    ) -> Result<(), Refusal> {
        let pageables = self.pageables(objects)?;
        if priorities.is_null() && !objects.is_empty() {
            return Err(Refusal::invalid("pPriorities is null"));
        }
        // SAFETY: by the COM contract, there is a priority for each object.
        let priority_of = |index| unsafe { priorities.add(index).read() };
        for index in 0..objects.len() {
            let priority: D3D12_RESIDENCY_PRIORITY = priority_of(index);
            // The upper half is one of D3D12's levels; the lower half ranks objects within the level.
            if !PRIORITY_LEVELS.iter().any(|level| level >> 16 == priority >> 16) {
                return Err(Refusal::invalid(format!(
                    "pPriorities[{index}] {priority:#x} is not a valid D3D12_RESIDENCY_PRIORITY"
                )));
            }
        }
        for (index, pageable) in pageables.iter().enumerate() {
            if let Pageable::Memory(memory) = pageable {
                memory.set_priority(fraction(priority_of(index)));
            }
        }
        Ok(())
    }

    /// Returns the memory or the residency count behind each object.
    fn pageables<'a>(&self, objects: &'a [Option<ID3D12Pageable>]) -> Result<Vec<Pageable<'a>>, Refusal> {
        let mut pageables = Vec::with_capacity(objects.len());
        for (index, object) in objects.iter().enumerate() {
            let object =
                object.as_ref().ok_or_else(|| Refusal::invalid(format!("ppObjects[{index}] is null")))?;
            let none = || {
                Refusal::invalid(format!(
                    "ppObjects[{index}] is not a pageable object created by this runtime"
                ))
            };
            let child: &'a Child = if let Ok(heap) = object.cast_object_ref::<Heap>() {
                heap.child()
            } else if let Ok(resource) = object.cast_object_ref::<Resource>() {
                resource.pageable_child().ok_or_else(|| {
                    Refusal::invalid(format!(
                        "ppObjects[{index}] is a placed or reserved resource; residency applies to its heaps"
                    ))
                })?
            } else if let Ok(heap) = object.cast_object_ref::<DescriptorHeap>() {
                heap.child()
            } else if let Ok(heap) = object.cast_object_ref::<QueryHeap>() {
                heap.child()
            } else {
                return Err(none());
            };
            if !child.belongs_to(self) {
                return Err(Refusal::invalid(format!("ppObjects[{index}] belongs to another device")));
            }
            pageables.push(Pageable::of(child).ok_or_else(none)?);
        }
        Ok(pageables)
    }
}
