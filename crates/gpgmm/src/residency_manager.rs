//! IResidencyManager.

use std::ffi::c_void;

use heapwright::ByteSize;
use heapwright::d3d12::*;
use heapwright::residency::{ResidencyHeapStatus, ResidencyList, ResidencyManager};
use windows_core::{GUID, HRESULT, Interface};

use crate::call::{self, Failure};
use crate::debug_name::{DebugName, WideChar};
use crate::descriptors::{ManagerStats, MemoryInfo, segment_group};
use crate::identity::{Registration, Registry};
use crate::interfaces::{
    DebugObject, IID_DEBUG_OBJECT, IID_RESIDENCY_MANAGER, ResidencyManagerMethods, This,
};
use crate::object::{Body, Reference, Unknown, body, recognize};
use crate::residency_heap::{Heap, Name};
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

static METHODS: ResidencyManagerMethods = ResidencyManagerMethods {
    debug_object: DebugObject { unknown: Unknown::of::<Manager>(), get_debug_name, set_debug_name },
    execute_command_lists,
    set_video_memory_reservation,
    query_video_memory_info,
    set_residency_status,
    query_stats,
};

impl Body for Manager {
    type Methods = ResidencyManagerMethods;

    fn methods() -> &'static ResidencyManagerMethods {
        &METHODS
    }

    const INTERFACES: &'static [GUID] = &[IID_DEBUG_OBJECT, IID_RESIDENCY_MANAGER];

    const IS_REGISTERED: bool = true;

    fn registration(&self) -> Option<Registration> {
        Some(Registration { registry: &MANAGERS, number: self.manager.id() })
    }
}

unsafe extern "system" fn get_debug_name(this: This) -> *const WideChar {
    call::value("IResidencyManager::GetDebugName", || {
        // SAFETY: C++ calls the method of a live object.
        let this = unsafe { body::<Manager>(this) };
        Name(this.name.get(|| this.manager.debug_name()))
    })
    .0
}

unsafe extern "system" fn set_debug_name(this: This, name: *const WideChar) -> HRESULT {
    call::hresult("IResidencyManager::SetDebugName", || {
        // SAFETY: C++ calls the method of a live object, with null or a terminated string.
        unsafe {
            let this = body::<Manager>(this);
            this.name.set(name, |name| {
                this.manager.set_debug_name(name);
                Ok(())
            })
        }
    })
}

unsafe extern "system" fn execute_command_lists(
    this: This,
    queue: *mut c_void,
    command_lists: *const *mut c_void,
    residency_lists: *const *mut c_void,
    count: u32,
) -> HRESULT {
    call::hresult("IResidencyManager::ExecuteCommandLists", || {
        // SAFETY: C++ calls the method of a live object; arrays of `count` pointers to live objects, or null.
        unsafe {
            let manager = &body::<Manager>(this).manager;
            let lists = residency_lists_of(residency_lists, count)?;
            match ID3D12CommandQueue::from_raw_borrowed(&queue) {
                Some(queue) if !command_lists.is_null() => {
                    execute(manager, queue, command_lists, &lists)?;
                }
                // Without a queue or lists, the heaps are made resident alone.
                _ => lists.into_iter().try_for_each(|list| manager.prefetch(list))?,
            }
        }
        Ok(S_OK)
    })
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
    if lists.is_null() {
        return Err(Failure::null("ppResidencyLists"));
    }
    (0..count as usize)
        .map(|index| {
            // SAFETY: the caller's promise.
            match unsafe { recognize::<List>(lists.add(index).read()) } {
                Some(List(list)) => Ok(list),
                None => {
                    let rule = format!("ppResidencyLists[{index}] is null or of another library");
                    Err(Failure::invalid_argument(rule))
                }
            }
        })
        .collect()
}

/// Executes command lists, each with the residency list beside it.
///
/// # Safety
///
/// `command_lists` points to as many pointers as there are lists, each null or to a command list, and the caller keeps the promises
/// of [`ResidencyManager::execute_command_lists`].
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
    call::hresult("IResidencyManager::SetVideoMemoryReservation", || {
        // SAFETY: C++ calls the method of a live object, with a reference.
        let (this, group) = unsafe { (body::<Manager>(this), call::reference(group, "heapSegment")?) };
        let reserved =
            this.manager.set_video_memory_reservation(segment_group(*group)?, ByteSize::new(bytes))?;
        // SAFETY: null or writable.
        if let Some(reserved_out) = unsafe { reserved_out.as_mut() } {
            *reserved_out = reserved.get();
        }
        Ok(S_OK)
    })
}

unsafe extern "system" fn query_video_memory_info(
    this: This,
    group: *const DXGI_MEMORY_SEGMENT_GROUP,
    info_out: *mut MemoryInfo,
) -> HRESULT {
    call::hresult("IResidencyManager::QueryVideoMemoryInfo", || {
        // SAFETY: C++ calls the method of a live object, with a reference.
        let (this, group) = unsafe { (body::<Manager>(this), call::reference(group, "heapSegment")?) };
        let info = this.manager.query_video_memory_info(segment_group(*group)?);
        if !info_out.is_null() {
            // SAFETY: writable.
            unsafe { info_out.write(info.into()) };
        }
        Ok(S_OK)
    })
}

unsafe extern "system" fn set_residency_status(this: This, heap: *mut c_void, status: *const u32) -> HRESULT {
    call::hresult("IResidencyManager::SetResidencyStatus", || {
        if heap.is_null() {
            return Err(Failure::null("pHeap"));
        }
        // SAFETY: C++ calls the method of a live object, with another one and a reference.
        let (this, heap, status) = unsafe {
            (body::<Manager>(this), recognize::<Heap>(heap), *call::reference(status, "newStatus")?)
        };
        let heap = heap.ok_or_else(|| Failure::invalid_argument("pHeap is of another library"))?;
        let status = match status {
            0 => ResidencyHeapStatus::Unknown,
            1 => ResidencyHeapStatus::Evicted,
            2 => ResidencyHeapStatus::Resident,
            other => {
                let rule = format!("newStatus: {other} is not a RESIDENCY_HEAP_STATUS value");
                return Err(Failure::invalid_argument(rule));
            }
        };
        this.manager.set_residency_status(heap.heap(), status)?;
        Ok(S_OK)
    })
}

unsafe extern "system" fn query_stats(this: This, stats_out: *mut ManagerStats) -> HRESULT {
    call::hresult("IResidencyManager::QueryStats", || {
        // SAFETY: C++ calls the method of a live object.
        let manager = unsafe { &body::<Manager>(this).manager };
        let stats = manager.stats();
        manager.record_counters();
        if stats_out.is_null() {
            return Ok(S_FALSE);
        }
        // SAFETY: writable space.
        unsafe { stats_out.write(stats.into()) };
        Ok(S_OK)
    })
}
