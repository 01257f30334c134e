//! IPool.

use heapwright::Pool;
use heapwright::d3d12::*;
use windows_core::{GUID, HRESULT};

use super::interfaces::{IID_POOL, PoolMethods};
use super::structures::PoolTotals;
use crate::call;
use crate::interfaces::This;
use crate::object::{Body, Unknown, body};

/// The body of an IPool.
pub(super) struct PoolObject(pub(super) Pool);

static METHODS: PoolMethods =
    PoolMethods { unknown: Unknown::of::<PoolObject>(), get_totals, release_empty_heaps };

impl Body for PoolObject {
    type Methods = PoolMethods;

    fn methods() -> &'static PoolMethods {
        &METHODS
    }

    const INTERFACES: &'static [GUID] = &[IID_POOL];
}

unsafe extern "system" fn get_totals(this: This, out: *mut PoolTotals) -> HRESULT {
    call::hresult("IPool::GetTotals", || {
        // SAFETY: C++ calls the method of a live object, with null or writable space.
        unsafe { call::write(out, "pTotalsOut", || Ok((&body::<PoolObject>(this).0).into())) }
    })
}

unsafe extern "system" fn release_empty_heaps(this: This, out: *mut u64) -> HRESULT {
    call::hresult("IPool::ReleaseEmptyHeaps", || {
        // SAFETY: C++ calls the method of a live object, with null or writable space.
        let (pool, out) = unsafe { (&body::<PoolObject>(this).0, out.as_mut()) };
        let released = pool.release_empty_heaps().get();
        if let Some(out) = out {
            *out = released;
        }
        Ok(S_OK)
    })
}
