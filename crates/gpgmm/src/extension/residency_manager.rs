//! IBudgetManager's own methods.

use heapwright::ByteSize;
use heapwright::d3d12::*;
use heapwright::residency::ResidencyBudget;
use windows_core::{GUID, HRESULT};

use crate::call;
use crate::descriptors::segment_group;
use crate::object::{This, method};
use crate::residency_manager::Manager;

pub(crate) const IID_BUDGET_MANAGER: GUID = GUID::from_u128(0xe27c90b4_6d18_4f53_9a0e_c8357f1b2a0b);

/// `RESIDENCY_GROUP_STATS`.
#[derive(Default)]
#[repr(C)]
pub(crate) struct GroupStats {
    resident_size: u64,
    resident_count: u64,
    evicted_size: u64,
    evicted_count: u64,
    locked_size: u64,
    locked_count: u64,
    paged_in_size: u64,
    paged_out_size: u64,
}

pub(crate) unsafe extern "system" fn set_budget(
    this: This,
    group: DXGI_MEMORY_SEGMENT_GROUP,
    bytes: u64,
) -> HRESULT {
    // SAFETY: C++ calls the method of a live object.
    unsafe { set(this, "IBudgetManager::SetBudget", group, ResidencyBudget::Bytes(ByteSize::new(bytes))) }
}

pub(crate) unsafe extern "system" fn set_budget_share(
    this: This,
    group: DXGI_MEMORY_SEGMENT_GROUP,
    share: f64,
) -> HRESULT {
    // SAFETY: C++ calls the method of a live object.
    unsafe { set(this, "IBudgetManager::SetBudgetShare", group, ResidencyBudget::Share(share)) }
}

pub(crate) unsafe extern "system" fn reset_budget(this: This, group: DXGI_MEMORY_SEGMENT_GROUP) -> HRESULT {
    // SAFETY: C++ calls the method of a live object.
    unsafe { set(this, "IBudgetManager::ResetBudget", group, ResidencyBudget::AsDescribed) }
}

/// Sets a budget.
///
/// # Safety
///
/// `this` is a live IBudgetManager.
unsafe fn set(this: This, name: &str, group: DXGI_MEMORY_SEGMENT_GROUP, budget: ResidencyBudget) -> HRESULT {
    // SAFETY: the caller's promise.
    unsafe {
        method(this, name, |Manager { manager, .. }| {
            manager.set_budget(segment_group(group)?, budget)?;
            Ok(S_OK)
        })
    }
}

pub(crate) unsafe extern "system" fn query_group_stats(
    this: This,
    group: DXGI_MEMORY_SEGMENT_GROUP,
    out: *mut GroupStats,
) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or writable space.
    unsafe {
        method(this, "IBudgetManager::QueryGroupStats", |Manager { manager, .. }| {
            let stats = || {
                let stats = manager.stats();
                let stats = stats.of(segment_group(group)?);
                Ok(GroupStats {
                    resident_size: stats.resident.get(),
                    resident_count: stats.resident_count,
                    evicted_size: stats.evicted.get(),
                    evicted_count: stats.evicted_count,
                    locked_size: stats.locked.get(),
                    locked_count: stats.locked_count,
                    paged_in_size: stats.bytes_paged_in.get(),
                    paged_out_size: stats.bytes_paged_out.get(),
                })
            };
            call::write(out, "pStatsOut", stats)
        })
    }
}
