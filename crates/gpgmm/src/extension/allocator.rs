//! IAllocator, a second interface of the object of an IResourceAllocator.

use std::ffi::{CString, c_void};
use std::mem::offset_of;
use std::sync::Mutex;

use heapwright::d3d12::*;
use heapwright::defragmentation::DefragmentationDesc;
use heapwright::{ClearValue, Pool, ResourceAllocationDesc};
use windows_core::HRESULT;

use super::defragmentation::{Run, allocation_of};
use super::interfaces::{AllocatorMethods, IID_ALLOCATOR};
use super::pool::PoolObject;
use super::structures::{PlacedAllocationDesc, PoolDescription};
use super::text::Text;
use crate::allocation::Allocation;
use crate::allocator::{Allocator, realigned};
use crate::call::{self, Failure, Out};
use crate::interfaces::This;
use crate::object::{Object, Reference, SecondInterface, Unknown, body, recognize};

/// What an IAllocator points to: the pointer to its table.
#[repr(transparent)]
pub(crate) struct Extension(&'static AllocatorMethods);

impl Extension {
    pub(crate) const NEW: Self = Self(&METHODS);
}

/// Where the object has the second interface.
pub(crate) const SECOND: SecondInterface = SecondInterface {
    iid: IID_ALLOCATOR,
    offset: offset_of!(Object<Allocator>, body) + offset_of!(Allocator, extension),
};

static METHODS: AllocatorMethods = AllocatorMethods {
    unknown: Unknown::of_second::<Allocator>(),
    on_frame,
    create_pool,
    create_resource,
    set_user_data,
    get_user_data,
    defragment,
    get_report,
};

/// Returns the body of the allocator whose method was called.
///
/// # Safety
///
/// `this` is the second interface of an allocator, alive for `'a`.
unsafe fn allocator<'a>(this: This) -> &'a Allocator {
    // SAFETY: the caller's promise.
    unsafe { body(this.byte_sub(SECOND.offset)) }
}

/// Returns the pool of a parameter, or `None` for null.
///
/// # Safety
///
/// The pointer is null or points to a COM object that is alive for `'a`.
unsafe fn pool_of<'a>(pool: *const c_void) -> Result<Option<&'a Pool>, Failure> {
    if pool.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    match unsafe { recognize::<PoolObject>(pool) } {
        Some(pool) => Ok(Some(&pool.0)),
        None => Err(Failure::invalid_argument("pPool is of another library")),
    }
}

unsafe extern "system" fn on_frame(this: This) -> HRESULT {
    call::hresult("IAllocator::OnFrame", || {
        // SAFETY: C++ calls the method of a live object.
        unsafe { allocator(this) }.allocator.end_frame();
        Ok(S_OK)
    })
}

unsafe extern "system" fn create_pool(
    this: This,
    desc: *const PoolDescription,
    out: *mut *mut c_void,
) -> HRESULT {
    call::hresult("IAllocator::CreatePool", || {
        // SAFETY: C++ calls the method of a live object, with null or a description, and null or writable space.
        let (allocator, out, desc) = unsafe {
            (allocator(this), Out::required(out, "ppPoolOut")?, call::reference(desc, "pDesc")?.convert()?)
        };
        out.set(Reference::new(PoolObject(allocator.allocator.create_pool(desc)?)).into_raw());
        Ok(S_OK)
    })
}

unsafe extern "system" fn create_resource(
    this: This,
    desc: *const PlacedAllocationDesc,
    resource: *const D3D12_RESOURCE_DESC,
    initial_state: D3D12_RESOURCE_STATES,
    clear_value: *const D3D12_CLEAR_VALUE,
    out: *mut *mut c_void,
) -> HRESULT {
    call::hresult("IAllocator::CreateResource", || {
        // SAFETY: C++ calls the method of a live object, with null or descriptions and a clear value, and null or writable space.
        let (allocator, out, desc, resource, clear_value) = unsafe {
            (
                allocator(this),
                Out::required(out, "ppAllocationOut")?,
                call::reference(desc, "pDesc")?,
                call::reference(resource, "pResourceDesc")?,
                clear_value.as_ref().map(|value| ClearValue::from_d3d12(value)),
            )
        };
        let base = desc.base.convert()?;
        // SAFETY: null or a live object.
        let pool = unsafe { pool_of(desc.pool) }?;
        let wanted = ResourceAllocationDesc {
            pool,
            user_data: desc.user_data,
            custom_heap: desc.custom_heap(),
            ..base
        };
        let realigned = realigned(resource);
        let resource = realigned.as_ref().unwrap_or(resource);
        let made = allocator.allocator.create_resource(&wanted, resource, initial_state, clear_value)?;
        out.set(Allocation::object_of(made).into_raw());
        Ok(S_OK)
    })
}

unsafe extern "system" fn set_user_data(_this: This, allocation: *mut c_void, user_data: u64) -> HRESULT {
    call::hresult("IAllocator::SetUserData", || {
        // SAFETY: C++ passes null or a live object.
        unsafe { allocation_of(allocation) }?.set_user_data(user_data);
        Ok(S_OK)
    })
}

unsafe extern "system" fn get_user_data(_this: This, allocation: *mut c_void, out: *mut u64) -> HRESULT {
    call::hresult("IAllocator::GetUserData", || {
        // SAFETY: C++ passes null or a live object, and null or writable space.
        unsafe { call::write(out, "pUserDataOut", || Ok(allocation_of(allocation)?.read().user_data())) }
    })
}

unsafe extern "system" fn defragment(this: This, pool: *mut c_void, out: *mut *mut c_void) -> HRESULT {
    call::hresult("IAllocator::Defragment", || {
        // SAFETY: C++ calls the method of a live object, with null or another one, and null or writable space.
        let (allocator, out, pool) =
            unsafe { (allocator(this), Out::required(out, "ppDefragmentationOut")?, pool_of(pool)?) };
        let run = allocator.allocator.defragment(DefragmentationDesc { pool })?;
        out.set(Reference::new(Run(Mutex::new(run))).into_raw());
        Ok(S_OK)
    })
}

unsafe extern "system" fn get_report(this: This, out: *mut *mut c_void) -> HRESULT {
    call::hresult("IAllocator::GetReport", || {
        // SAFETY: C++ calls the method of a live object, with null or writable space.
        let (allocator, out) = unsafe { (allocator(this), Out::required(out, "ppReportOut")?) };
        let failed = |error: &dyn std::fmt::Display| Failure::Refused(E_FAIL, error.to_string());
        let json = serde_json::to_string(&allocator.allocator.report()).map_err(|error| failed(&error))?;
        // JSON escapes zero characters.
        let text = CString::new(json).map_err(|error| failed(&error))?;
        out.set(Reference::new(Text(text)).into_raw());
        Ok(S_OK)
    })
}
