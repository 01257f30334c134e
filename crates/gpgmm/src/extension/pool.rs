//! IPool.

use std::ffi::c_void;

use heapwright::d3d12::*;
use heapwright::{HeapType, Pool, PoolDesc, ResourceKind, SuballocationAlgorithm};
use windows_core::{GUID, HRESULT};

use crate::call::{self, Failure};
use crate::debug_name::{self, WideChar};
use crate::descriptors::{alignment, enumerator, heap_type, size};
use crate::object::{Body, Methods, This, method};

/// `POOL_DESC`.
#[repr(C)]
pub(crate) struct PoolDescription {
    name: *const WideChar,
    heap_type: D3D12_HEAP_TYPE,
    resources: u32,
    extra_heap_flags: D3D12_HEAP_FLAGS,
    algorithm: u32,
    heap_size: u64,
    min_heap_count: u32,
    max_heap_count: u32,
    min_alignment: u64,
}

impl PoolDescription {
    /// # Safety
    ///
    /// The name is null or a zero-terminated string.
    pub(super) unsafe fn convert(&self) -> Result<PoolDesc, Failure> {
        let resources =
            [ResourceKind::Buffers, ResourceKind::Textures, ResourceKind::RenderTargets, ResourceKind::Any];
        let algorithms = [SuballocationAlgorithm::Default, SuballocationAlgorithm::Linear];
        Ok(PoolDesc {
            // SAFETY: the caller's promise.
            name: unsafe { debug_name::text(self.name) }.unwrap_or_default(),
            heap_type: match self.heap_type {
                0 => HeapType::Default,
                named => heap_type("POOL_DESC::HeapType", named)?,
            },
            resources: enumerator("POOL_DESC::Resources", "POOL_RESOURCES", self.resources, &resources)?,
            extra_heap_flags: self.extra_heap_flags,
            algorithm: enumerator("POOL_DESC::Algorithm", "POOL_ALGORITHM", self.algorithm, &algorithms)?,
            heap_size: size(self.heap_size),
            min_heap_count: self.min_heap_count,
            max_heap_count: (self.max_heap_count != 0).then_some(self.max_heap_count),
            min_alignment: alignment("POOL_DESC::MinAlignment", self.min_alignment)?,
            ..Default::default()
        })
    }
}

/// `POOL_TOTALS`.
#[repr(C)]
struct PoolTotals {
    used_size: u64,
    reserved_size: u64,
    allocation_count: u64,
    heap_count: u64,
}

/// The body of an IPool.
pub(super) struct PoolObject(pub(super) Pool);

static METHODS: Methods<2> =
    Methods::of::<PoolObject>([get_totals as *const (), release_empty_heaps as *const ()]);

const IID_POOL: GUID = GUID::from_u128(0x0c5b7a52_6c4e_4f0b_9d05_2f7a52f3b101);

impl Body for PoolObject {
    fn methods() -> *const c_void {
        METHODS.as_table()
    }

    const INTERFACES: &'static [GUID] = &[IID_POOL];
}

unsafe extern "system" fn get_totals(this: This, out: *mut PoolTotals) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or writable space.
    unsafe {
        method(this, "IPool::GetTotals", |PoolObject(pool)| {
            let totals = pool.totals();
            let converted = PoolTotals {
                used_size: totals.used.get(),
                reserved_size: totals.reserved.get(),
                allocation_count: totals.allocation_count,
                heap_count: totals.heap_count,
            };
            call::write(out, "pTotalsOut", || Ok(converted))
        })
    }
}

unsafe extern "system" fn release_empty_heaps(this: This, out: *mut u64) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or writable space.
    unsafe {
        method(this, "IPool::ReleaseEmptyHeaps", |PoolObject(pool)| {
            let _ = call::store(out, pool.release_empty_heaps().get());
            Ok(S_OK)
        })
    }
}
