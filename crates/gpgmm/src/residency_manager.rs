//! IResidencyManager.

use std::ffi::c_void;
use std::sync::Arc;

use heapwright::d3d12::*;
use heapwright::residency::{ResidencyHeapStatus, ResidencyList, ResidencyManager};
use heapwright::{ByteSize, Error};
use windows_core::{GUID, HRESULT, Interface};

use crate::call;
use crate::debug_name::{DebugName, IID_DEBUG_OBJECT, Named, get_debug_name, set_debug_name};
use crate::descriptors::{ManagerStats, enumerator, segment_group};
use crate::extension::residency_manager as extension;
use crate::failure::Failure;
use crate::identity::{Registration, Registry};
use crate::object::{Body, Methods, Reference, This, method, parameter, recognize};
use crate::residency_heap::Heap;
use crate::residency_list::List;

/// The body of an IResidencyManager.
pub(crate) struct Manager {
    pub(crate) manager: ResidencyManager,
    name: DebugName,
}

static MANAGERS: Registry = Registry::new();

impl Manager {
    /// Returns the object that stands for a manager.
    pub(crate) fn of(manager: ResidencyManager) -> Reference<Self> {
        let registration = Registration { registry: &MANAGERS, number: manager.id() };
        registration.find_or_create(|| Self { manager, name: DebugName::default() })
    }
}

static METHODS: Methods<11> = Methods::of::<Manager>([
    get_debug_name::<Manager> as *const (),
    set_debug_name::<Manager> as *const (),
    execute_command_lists as *const (),
    set_video_memory_reservation as *const (),
    query_video_memory_info as *const (),
    set_residency_status as *const (),
    query_stats as *const (),
    extension::set_budget as *const (),
    extension::set_budget_share as *const (),
    extension::reset_budget as *const (),
    extension::query_group_stats as *const (),
]);

const IID_RESIDENCY_MANAGER: GUID = GUID::from_u128(0xb41d86c9_50f3_4c1e_8e69_3d6ff0c85a34);

impl Body for Manager {
    fn methods() -> *const c_void {
        METHODS.as_table()
    }

    const INTERFACES: &'static [GUID] =
        &[IID_DEBUG_OBJECT, IID_RESIDENCY_MANAGER, extension::IID_BUDGET_MANAGER];

    const IS_REGISTERED: bool = true;

    fn registration(&self) -> Option<Registration> {
        Some(Registration { registry: &MANAGERS, number: self.manager.id() })
    }
}

impl Named for Manager {
    const INTERFACE: &'static str = "IResidencyManager";

    fn debug_name(&self) -> &DebugName {
        &self.name
    }

    fn library_name(&self) -> Option<Arc<str>> {
        self.manager.debug_name()
    }

    fn set_library_name(&self, name: &str) -> Result<(), Error> {
        self.manager.set_debug_name(name);
        Ok(())
    }
}

unsafe extern "system" fn execute_command_lists(
    this: This,
    queue: *mut c_void,
    command_lists: *const *mut c_void,
    residency_lists: *const *mut c_void,
    count: u32,
) -> HRESULT {
    // SAFETY: C++ calls the method of a live object; arrays of `count` pointers to live objects, or null.
    unsafe {
        method(this, "IResidencyManager::ExecuteCommandLists", |Manager { manager, .. }| {
            let lists = residency_lists_of(residency_lists, count)?;
            match ID3D12CommandQueue::from_raw_borrowed(&queue) {
                Some(queue) if !command_lists.is_null() => {
                    execute(manager, queue, command_lists, &lists)?;
                }
                // Without a queue or lists, the heaps are made resident alone.
                _ => lists.into_iter().try_for_each(|list| prefetch(manager, list))?,
            }
            Ok(S_OK)
        })
    }
}

/// Returns the elements of an array of IResidencyList.
///
/// # Safety
///
/// `lists` is null or points to `count` pointers, each null or to an object that is alive for `'a`.
unsafe fn residency_lists_of<'a>(
    lists: *const *mut c_void,
    count: u32,
) -> Result<Vec<&'a ResidencyList>, Failure> {
    if count == 0 {
        return Err(Failure::invalid_argument("count is zero"));
    }
    // SAFETY: the caller's promise.
    let lists = unsafe { call::array(lists, count, "ppResidencyLists") }?;
    let list_of = |(index, &list): (usize, &*mut c_void)| {
        // SAFETY: the caller's promise.
        let list = unsafe { recognize(list) }.map(|List(list)| list);
        list.ok_or_else(|| {
            Failure::invalid_argument(format!("ppResidencyLists[{index}] is null or of another library"))
        })
    };
    lists.iter().enumerate().map(list_of).collect()
}

/// Makes the heaps of a list resident. Heaps that exceed the budget by themselves are an error only where a submission
/// would be one.
fn prefetch(manager: &ResidencyManager, list: &ResidencyList) -> Result<(), Error> {
    match manager.prefetch(list) {
        Err(error) if error.is_over_budget() && !manager.is_always_in_budget() => {
            tracing::warn!("IResidencyManager::ExecuteCommandLists: {error}");
            Ok(())
        }
        prefetched => prefetched,
    }
}

/// Executes command lists, each with the residency list beside it.
///
/// # Safety
///
/// `command_lists` points to as many pointers as there are lists, each null or to a command list, and the caller keeps
/// the promises of [`ResidencyManager::execute_command_lists`].
unsafe fn execute(
    manager: &ResidencyManager,
    queue: &ID3D12CommandQueue,
    command_lists: *const *mut c_void,
    lists: &[&ResidencyList],
) -> Result<(), Failure> {
    // SAFETY: the caller's promise.
    let command_lists = unsafe { std::slice::from_raw_parts(command_lists, lists.len()) };
    let pairs = command_lists.iter().zip(lists).enumerate();
    let pairs: Result<Vec<_>, Failure> = pairs
        .map(|(index, (command_list, &list))| {
            // SAFETY: the caller's promise.
            let command_list = unsafe { ID3D12CommandList::from_raw_borrowed(command_list) };
            let command_list = command_list
                .ok_or_else(|| Failure::invalid_argument(format!("ppCommandLists[{index}] is null")))?;
            Ok((command_list, list))
        })
        .collect();
    // SAFETY: the caller's promises.
    unsafe { manager.execute_command_lists(queue, &pairs?) }?;
    Ok(())
}

unsafe extern "system" fn set_video_memory_reservation(
    this: This,
    group: *const DXGI_MEMORY_SEGMENT_GROUP,
    bytes: u64,
    reserved_out: *mut u64,
) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with a reference, and null or writable space.
    unsafe {
        method(this, "IResidencyManager::SetVideoMemoryReservation", |Manager { manager, .. }| {
            let group = segment_group(*call::reference(group, "heapSegment")?)?;
            let reserved = manager.set_video_memory_reservation(group, ByteSize::new(bytes))?;
            let _ = call::store(reserved_out, reserved.get());
            Ok(S_OK)
        })
    }
}

unsafe extern "system" fn query_video_memory_info(
    this: This,
    group: *const DXGI_MEMORY_SEGMENT_GROUP,
    info_out: *mut DXGI_QUERY_VIDEO_MEMORY_INFO,
) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with a reference, and null or writable space.
    unsafe {
        method(this, "IResidencyManager::QueryVideoMemoryInfo", |Manager { manager, .. }| {
            let group = segment_group(*call::reference(group, "heapSegment")?)?;
            let info = manager.query_video_memory_info(group);
            let info = DXGI_QUERY_VIDEO_MEMORY_INFO {
                Budget: info.budget.get(),
                CurrentUsage: info.current_usage.get(),
                AvailableForReservation: info.available_for_reservation.get(),
                CurrentReservation: info.current_reservation.get(),
            };
            let _ = call::store(info_out, info);
            Ok(S_OK)
        })
    }
}

unsafe extern "system" fn set_residency_status(this: This, heap: *mut c_void, status: *const u32) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with another one and a reference.
    unsafe {
        method(this, "IResidencyManager::SetResidencyStatus", |Manager { manager, .. }| {
            let heap: &Heap = parameter(heap, "pHeap")?;
            let statuses =
                [ResidencyHeapStatus::Unknown, ResidencyHeapStatus::Evicted, ResidencyHeapStatus::Resident];
            let status = *call::reference(status, "newStatus")?;
            let status = enumerator("newStatus", "RESIDENCY_HEAP_STATUS", status, &statuses)?;
            manager.set_residency_status(heap.heap(), status)?;
            Ok(S_OK)
        })
    }
}

unsafe extern "system" fn query_stats(this: This, stats_out: *mut ManagerStats) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or writable space.
    unsafe {
        method(this, "IResidencyManager::QueryStats", |Manager { manager, .. }| {
            let stats = manager.stats();
            manager.record_counters();
            let stats = ManagerStats {
                current_heap_usage: stats.current_heap_usage.get(),
                current_heap_count: stats.current_heap_count,
            };
            Ok(call::store(stats_out, stats))
        })
    }
}
