//! The interfaces: IIDs, and tables of methods, which are the same for all compilers, because no method is overloaded or returns a
//! structure.

use std::ffi::{c_char, c_void};

use heapwright::d3d12::*;
use windows_core::{GUID, HRESULT};

use super::structures::{
    Budget, PlacedAllocationDesc, PoolDescription, PoolTotals, Progress, VirtualAllocation, VirtualTotals,
};
use crate::interfaces::This;
use crate::object::Unknown;

pub(super) const IID_POOL: GUID = GUID::from_u128(0x0c5b7a52_6c4e_4f0b_9d05_2f7a52f3b101);
pub(super) const IID_MOVE: GUID = GUID::from_u128(0x3de41f8a_15c7_4b9e_8b60_7e6f0a94c202);
pub(super) const IID_DEFRAGMENTATION: GUID = GUID::from_u128(0x5f90d3b6_8a21_4c73_a4e8_91d0c6b7e303);
pub(super) const IID_TEXT: GUID = GUID::from_u128(0x7b2c68e0_d94f_4a15_b7c3_50e8f1a2d404);
pub(super) const IID_ALLOCATOR: GUID = GUID::from_u128(0x9e1d5c74_2b36_4d88_96f2_c37b04d5f505);
pub(super) const IID_VIRTUAL_BLOCK: GUID = GUID::from_u128(0xb8a40f19_71ce_4562_85d3_06f92ce8a606);

/// IPool's methods.
#[repr(C)]
pub(super) struct PoolMethods {
    pub(super) unknown: Unknown,
    pub(super) get_totals: unsafe extern "system" fn(This, *mut PoolTotals) -> HRESULT,
    pub(super) release_empty_heaps: unsafe extern "system" fn(This, *mut u64) -> HRESULT,
}

/// IMove's methods.
#[repr(C)]
pub(super) struct MoveMethods {
    pub(super) unknown: Unknown,
    pub(super) get_user_data: unsafe extern "system" fn(This) -> u64,
    pub(super) get_size: unsafe extern "system" fn(This) -> u64,
    pub(super) get_destination: unsafe extern "system" fn(This, *mut *mut c_void, *mut u64) -> HRESULT,
    pub(super) get_destination_memory: unsafe extern "system" fn(This, *mut *mut c_void) -> HRESULT,
    pub(super) create_resource: unsafe extern "system" fn(
        This,
        *mut c_void,
        D3D12_RESOURCE_STATES,
        *const D3D12_CLEAR_VALUE,
        *mut *mut c_void,
    ) -> HRESULT,
    pub(super) complete: unsafe extern "system" fn(This, *mut c_void) -> HRESULT,
}

/// IDefragmentation's methods.
#[repr(C)]
pub(super) struct DefragmentationMethods {
    pub(super) unknown: Unknown,
    pub(super) step:
        unsafe extern "system" fn(This, *const Budget, u32, *mut *mut c_void, *mut u32, *mut u32) -> HRESULT,
    pub(super) get_progress: unsafe extern "system" fn(This, *mut Progress) -> HRESULT,
}

/// IText's methods.
#[repr(C)]
pub(super) struct TextMethods {
    pub(super) unknown: Unknown,
    pub(super) get_text: unsafe extern "system" fn(This) -> *const c_char,
    pub(super) get_size: unsafe extern "system" fn(This) -> u64,
}

/// IAllocator's methods.
#[repr(C)]
pub(crate) struct AllocatorMethods {
    pub(super) unknown: Unknown,
    pub(super) on_frame: unsafe extern "system" fn(This) -> HRESULT,
    pub(super) create_pool:
        unsafe extern "system" fn(This, *const PoolDescription, *mut *mut c_void) -> HRESULT,
    pub(super) create_resource: unsafe extern "system" fn(
        This,
        *const PlacedAllocationDesc,
        *const D3D12_RESOURCE_DESC,
        D3D12_RESOURCE_STATES,
        *const D3D12_CLEAR_VALUE,
        *mut *mut c_void,
    ) -> HRESULT,
    pub(super) set_user_data: unsafe extern "system" fn(This, *mut c_void, u64) -> HRESULT,
    pub(super) get_user_data: unsafe extern "system" fn(This, *mut c_void, *mut u64) -> HRESULT,
    pub(super) defragment: unsafe extern "system" fn(This, *mut c_void, *mut *mut c_void) -> HRESULT,
    pub(super) get_report: unsafe extern "system" fn(This, *mut *mut c_void) -> HRESULT,
}

/// IVirtualBlock's methods.
#[repr(C)]
pub(crate) struct VirtualBlockMethods {
    pub(super) unknown: Unknown,
    pub(super) allocate: unsafe extern "system" fn(This, u64, u64, u64, *mut VirtualAllocation) -> HRESULT,
    pub(super) free: unsafe extern "system" fn(This, u64) -> HRESULT,
    pub(super) get_allocation: unsafe extern "system" fn(This, u64, *mut VirtualAllocation) -> HRESULT,
    pub(super) clear: unsafe extern "system" fn(This) -> HRESULT,
    pub(super) get_totals: unsafe extern "system" fn(This, *mut VirtualTotals) -> HRESULT,
}
