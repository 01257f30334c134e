//! The interfaces: IIDs, and tables of methods in the order in which the platform's C++ compilers lay them out.
//!
//! On Windows this is Microsoft's order. It differs from the order of the declarations in two ways: overloads of one name
//! are in reverse order, and a method that returns a structure takes a pointer to it after `this`. Compilers for Linux keep the
//! order of the declarations, and return structures as C does, with the pointer before `this`. MinGW follows neither on Windows;
//! the header has declarations for it that result in Microsoft's order.

use std::ffi::c_void;

use heapwright::d3d12::*;
use windows_core::{GUID, HRESULT};

use crate::debug_name::WideChar;
use crate::descriptors::{
    AllocationDesc, AllocationInfo, AllocatorStats, HeapInfo, ManagerStats, MemoryInfo,
};
use crate::object::Unknown;

pub(crate) const IID_DEBUG_OBJECT: GUID = GUID::from_u128(0x1e2f3ab8_9d4f_4f0c_9a43_52e0f1a6c3d1);
pub(crate) const IID_RESIDENCY_HEAP: GUID = GUID::from_u128(0x6f0c3f4e_2f52_4a87_8a0f_0bb0a7d2e912);
pub(crate) const IID_RESIDENCY_LIST: GUID = GUID::from_u128(0x83a5b0d7_7b8e_4d65_b5ab_9ad1c27f4e23);
pub(crate) const IID_RESIDENCY_MANAGER: GUID = GUID::from_u128(0xb41d86c9_50f3_4c1e_8e69_3d6ff0c85a34);
pub(crate) const IID_RESOURCE_ALLOCATION: GUID = GUID::from_u128(0xd7682f15_c4ae_47d2_93b7_e81c5b9d2f45);
pub(crate) const IID_RESOURCE_ALLOCATOR: GUID = GUID::from_u128(0xf9e3714a_16db_4f38_a2c5_74d0368e1b56);

/// The `this` of a method.
pub(crate) type This = *mut c_void;

/// A method that returns a structure.
#[cfg(windows)]
pub(crate) type Returning<T> = unsafe extern "system" fn(This, *mut T) -> *mut T;
#[cfg(not(windows))]
pub(crate) type Returning<T> = unsafe extern "system" fn(This) -> T;

/// Defines a method that returns a structure: `returning!(name, Structure, |this| value)`.
macro_rules! returning {
    ($name:ident, $structure:ty, $body:expr) => {
        #[cfg(windows)]
        unsafe extern "system" fn $name(
            this: crate::interfaces::This,
            out: *mut $structure,
        ) -> *mut $structure {
            let body: unsafe fn(crate::interfaces::This) -> $structure = $body;
            // SAFETY: C++ calls the method of a live object, with space for the structure.
            unsafe { out.write(body(this)) };
            out
        }

        #[cfg(not(windows))]
        unsafe extern "system" fn $name(this: crate::interfaces::This) -> $structure {
            let body: unsafe fn(crate::interfaces::This) -> $structure = $body;
            // SAFETY: C++ calls the method of a live object.
            unsafe { body(this) }
        }
    };
}
pub(crate) use returning;

/// IDebugObject's methods.
#[repr(C)]
pub(crate) struct DebugObject {
    pub(crate) unknown: Unknown,
    pub(crate) get_debug_name: unsafe extern "system" fn(This) -> *const WideChar,
    pub(crate) set_debug_name: unsafe extern "system" fn(This, *const WideChar) -> HRESULT,
}

/// IResidencyHeap's methods.
#[repr(C)]
pub(crate) struct ResidencyHeapMethods {
    pub(crate) debug_object: DebugObject,
    pub(crate) get_info: Returning<HeapInfo>,
    pub(crate) lock: unsafe extern "system" fn(This) -> HRESULT,
    pub(crate) unlock: unsafe extern "system" fn(This) -> HRESULT,
    pub(crate) get_residency_manager: unsafe extern "system" fn(This, *mut *mut c_void) -> HRESULT,
}

/// IResidencyList's methods.
#[repr(C)]
pub(crate) struct ResidencyListMethods {
    pub(crate) unknown: Unknown,
    pub(crate) add: unsafe extern "system" fn(This, *mut c_void) -> HRESULT,
    pub(crate) reset: unsafe extern "system" fn(This) -> HRESULT,
}

/// IResidencyManager's methods.
#[repr(C)]
pub(crate) struct ResidencyManagerMethods {
    pub(crate) debug_object: DebugObject,
    pub(crate) execute_command_lists:
        unsafe extern "system" fn(This, *mut c_void, *const *mut c_void, *const *mut c_void, u32) -> HRESULT,
    pub(crate) set_video_memory_reservation:
        unsafe extern "system" fn(This, *const DXGI_MEMORY_SEGMENT_GROUP, u64, *mut u64) -> HRESULT,
    pub(crate) query_video_memory_info:
        unsafe extern "system" fn(This, *const DXGI_MEMORY_SEGMENT_GROUP, *mut MemoryInfo) -> HRESULT,
    pub(crate) set_residency_status: unsafe extern "system" fn(This, *mut c_void, *const u32) -> HRESULT,
    pub(crate) query_stats: unsafe extern "system" fn(This, *mut ManagerStats) -> HRESULT,
}

/// IResourceAllocation's methods.
#[repr(C)]
pub(crate) struct ResourceAllocationMethods {
    pub(crate) debug_object: DebugObject,
    pub(crate) map: unsafe extern "system" fn(This, u32, *const D3D12_RANGE, *mut *mut c_void) -> HRESULT,
    pub(crate) unmap: unsafe extern "system" fn(This, u32, *const D3D12_RANGE),
    pub(crate) get_resource: unsafe extern "system" fn(This) -> *mut c_void,
    pub(crate) get_gpu_virtual_address: unsafe extern "system" fn(This) -> u64,
    pub(crate) get_offset_from_resource: unsafe extern "system" fn(This) -> u64,
    pub(crate) get_info: Returning<AllocationInfo>,
    pub(crate) get_memory: unsafe extern "system" fn(This) -> *mut c_void,
    pub(crate) get_resource_allocator: unsafe extern "system" fn(This, *mut *mut c_void) -> HRESULT,
}

type ImportResource =
    unsafe extern "system" fn(This, *const AllocationDesc, *mut c_void, *mut *mut c_void) -> HRESULT;

/// IResourceAllocator's methods.
#[repr(C)]
pub(crate) struct ResourceAllocatorMethods {
    pub(crate) debug_object: DebugObject,
    #[cfg(windows)]
    pub(crate) import_resource: ImportResource,
    pub(crate) create_resource: unsafe extern "system" fn(
        This,
        *const AllocationDesc,
        *const D3D12_RESOURCE_DESC,
        D3D12_RESOURCE_STATES,
        *const D3D12_CLEAR_VALUE,
        *mut *mut c_void,
    ) -> HRESULT,
    #[cfg(not(windows))]
    pub(crate) import_resource: ImportResource,
    pub(crate) release_resource_heaps: unsafe extern "system" fn(This, u64, *mut u64) -> HRESULT,
    pub(crate) query_stats: unsafe extern "system" fn(This, *mut AllocatorStats) -> HRESULT,
    pub(crate) check_feature_support: unsafe extern "system" fn(This, u32, *mut c_void, u32) -> HRESULT,
}
