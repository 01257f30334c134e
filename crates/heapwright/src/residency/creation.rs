//! Creation of residency heaps.

use std::sync::Arc;

use heapwright_core::ByteSize;
use heapwright_core::residency::{NewManagedHeap, Status};
use heapwright_d3d12::*;

use super::books::PendingBytes;
use super::desc::{ResidencyHeapDesc, ResidencyHeapFlags};
use super::heap::ResidencyHeap;
use super::pageable::{DeviceNames, PageableInfo, device_of};
use super::paged_object::PagedObject;
use super::parts::ManagerParts;
use crate::Error;

/// Creates a residency heap without a manager for an existing object.
pub(super) fn unmanaged(desc: &ResidencyHeapDesc, pageable: &ID3D12Pageable) -> Result<ResidencyHeap, Error> {
    if desc.flags.contains(ResidencyHeapFlags::CREATE_RESIDENT) {
        tracing::warn!("CREATE_RESIDENT has no effect without a residency manager");
    }
    let flags = desc.flags.difference(ResidencyHeapFlags::CREATE_RESIDENT);
    check_unmanaged(&ResidencyHeapDesc { flags, ..*desc })?;
    adopt_unmanaged(desc, pageable)
}

/// Creates a residency heap without a manager for an object that `create` creates.
pub(super) fn create_unmanaged(
    desc: &ResidencyHeapDesc,
    create: impl FnOnce() -> Result<ID3D12Pageable, windows_core::Error>,
) -> Result<ResidencyHeap, Error> {
    check_unmanaged(desc)?;
    adopt_unmanaged(desc, &create().map_err(callback_failed)?)
}

/// Checks a description of a heap without a manager, before there is an object.
fn check_unmanaged(desc: &ResidencyHeapDesc) -> Result<(), Error> {
    desc.check()?;
    if !desc.flags.is_empty() {
        let rule = format!("{:?} requires a residency manager", desc.flags);
        return Err(Error::invalid_argument("ResidencyHeapDesc::flags", rule));
    }
    Ok(())
}

fn adopt_unmanaged(desc: &ResidencyHeapDesc, pageable: &ID3D12Pageable) -> Result<ResidencyHeap, Error> {
    let device =
        device_of(pageable).ok_or_else(|| Error::device("ID3D12DeviceChild::GetDevice", E_POINTER))?;
    let caps = crate::DeviceCaps::query(&device)?;
    let names = DeviceNames { shown: &device, behind: None };
    let (object, info) = PagedObject::inspect(names, &caps, true, pageable, desc)?;
    Ok(ResidencyHeap::from_parts(object, (info.size, info.alignment), info.segment_group, None))
}

fn callback_failed(error: windows_core::Error) -> Error {
    Error::device("the callback that creates the heap", error.code())
}

/// Creates a residency heap for an existing object.
pub(super) fn adopt(
    desc: &ResidencyHeapDesc,
    manager: &Arc<ManagerParts>,
    pageable: &ID3D12Pageable,
) -> Result<ResidencyHeap, Error> {
    desc.check()?;
    if desc.flags.contains(ResidencyHeapFlags::CREATE_IN_BUDGET) {
        let rule = "CREATE_IN_BUDGET is not allowed for an existing object";
        return Err(Error::invalid_argument("ResidencyHeapDesc::flags", rule));
    }
    let (object, info) = inspect(manager, pageable, desc)?;
    // The object counts as external usage until the operating system is queried again.
    manager.upkeep.refresh_soon();
    finish(desc, manager, object, &info, None)
}

const NO_FLAGS: ResidencyHeapFlags = ResidencyHeapFlags::empty();

/// Makes memory available, and creates a residency heap for an object that `create` creates.
pub(super) fn create(
    desc: &ResidencyHeapDesc,
    manager: &Arc<ManagerParts>,
    create: impl FnOnce() -> Result<ID3D12Pageable, windows_core::Error>,
) -> Result<ResidencyHeap, Error> {
    desc.check()?;
    let is_bound =
        desc.flags.contains(ResidencyHeapFlags::CREATE_IN_BUDGET) || manager.pager.always_in_budget;
    // If group and size are known in advance, memory is made available first, so that usage never exceeds the budget.
    let known = desc.segment_group.filter(|_| !desc.size.is_zero());
    // Held until the heap is in the books, so that two concurrent creations do not share the memory.
    let mut room = match known {
        Some(group) => Some(manager.pager.make_room(group, desc.size, is_bound)?),
        None => None,
    };
    let (object, info) = inspect(manager, &create().map_err(callback_failed)?, desc)?;
    let is_resident = info.was_created_resident != Some(false);
    let was_foreseen = known.is_some_and(|group| group == info.segment_group) && info.size <= desc.size;
    if is_resident && !was_foreseen {
        drop(room.take());
        if info.was_created_resident.is_some() {
            // The object exists already. Count it as the manager's, so that the operating system's report does not
            // count it a second time, and lock it, so that it is not evicted for itself.
            let heap = finish(&ResidencyHeapDesc { flags: NO_FLAGS, ..*desc }, manager, object, &info, None)?;
            heap.lock()?;
            drop(manager.pager.make_room(info.segment_group, ByteSize::ZERO, is_bound)?);
            if !desc.flags.contains(ResidencyHeapFlags::CREATE_LOCKED) {
                heap.unlock()?;
            }
            return Ok(heap);
        }
        room = Some(manager.pager.make_room(info.segment_group, info.size, is_bound)?);
    }
    if info.was_created_resident.is_none() {
        // The object counts as external usage until it is used.
        manager.upkeep.refresh_soon();
    }
    finish(desc, manager, object, &info, room)
}

fn inspect(
    manager: &ManagerParts,
    pageable: &ID3D12Pageable,
    desc: &ResidencyHeapDesc,
) -> Result<(PagedObject, PageableInfo), Error> {
    let pager = &manager.pager;
    pager.device.inspect(pageable, desc, pager.books.budgets.unifies_memory())
}

fn finish(
    desc: &ResidencyHeapDesc,
    manager: &Arc<ManagerParts>,
    object: PagedObject,
    info: &PageableInfo,
    room: Option<PendingBytes<'_>>,
) -> Result<ResidencyHeap, Error> {
    let status = match info.was_created_resident {
        Some(true) => Status::Resident,
        Some(false) => Status::Evicted,
        None => Status::Unknown,
    };
    let new = NewManagedHeap { group: info.segment_group, size: info.size, level: desc.level(), status };
    let id = manager.pager.books.add_heap(new, &object, room)?;
    let recording = manager.pager.recording.as_ref();
    let (size, alignment) = (info.size, info.alignment);
    let recorded = recording.and_then(|to| to.heap(id, object.pageable(), size.get(), alignment.get()));
    let manager = Some((Arc::clone(manager), id));
    let mut heap = ResidencyHeap::from_parts(object, (size, alignment), info.segment_group, manager);
    heap.set_recorded(recorded);
    if let Some(priority) = desc.priority {
        heap.set_residency_priority(priority)?;
    }
    let wants = |flag| desc.flags.contains(flag);
    if wants(ResidencyHeapFlags::CREATE_LOCKED) {
        heap.lock()?;
    } else if wants(ResidencyHeapFlags::CREATE_RESIDENT) && status == Status::Unknown {
        heap.lock()?;
        heap.unlock()?;
    }
    Ok(heap)
}
