//! The frame around the body of every COM method: catching panics, logging errors and returning objects.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use heapwright_d3d12::{DXGI_ERROR_DEVICE_REMOVED, E_FAIL, ID3D12Device, PCWSTR, S_FALSE, S_OK};
use windows_core::{ComObject, ComObjectInner, Error, GUID, HRESULT, IUnknownImpl, Interface};

use crate::ddi::DriverError;
use crate::debug::MessageLog;
use crate::rules::Refusal;

/// Runs the body of the COM method `name`. A refusal is logged to `log` and becomes its HRESULT; a panic becomes
/// E_FAIL.
pub(crate) fn run<T>(
    log: &MessageLog,
    name: &'static str,
    body: impl FnOnce() -> Result<T, Refusal>,
) -> windows_core::Result<T> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(refusal)) => {
            log.refused(name, &refusal);
            Err(Error::from_hresult(refusal.hresult()))
        }
        Err(_panic) => {
            log.panicked(name);
            Err(Error::from_hresult(E_FAIL))
        }
    }
}

/// Runs the body of a COM method that cannot fail. If the body panics, logs the panic and returns `fallback`.
pub(crate) fn run_infallible<T>(
    log: &MessageLog,
    name: &'static str,
    fallback: T,
    body: impl FnOnce() -> T,
) -> T {
    run(log, name, || Ok(body())).unwrap_or(fallback)
}

/// Converts a result to an HRESULT.
pub(crate) fn code(result: windows_core::Result<()>) -> HRESULT {
    result.map_or_else(|error| error.code(), |()| S_OK)
}

/// Returns E_NOTIMPL for a method that the runtime does not implement, and logs it.
pub(crate) fn not_implemented<T>(log: &MessageLog, name: &'static str) -> windows_core::Result<T> {
    run(log, name, || Err(Refusal::call_not_implemented()))
}

/// Logs that a method without a return value is not implemented.
pub(crate) fn ignored(log: &MessageLog, name: &'static str) {
    log.refused(name, &Refusal::not_implemented("call ignored"));
}

/// Runs a method that creates an object. `check` validates the request and `make` creates the object.
///
/// As in D3D12, a null `ppv` requests the check alone, which returns S_FALSE on success.
///
/// # Safety
///
/// `riid` is null or points to a GUID, `ppv` is null or points to writable space for one pointer.
pub(crate) unsafe fn create<P, T: HandedOut>(
    log: &MessageLog,
    name: &'static str,
    riid: *const GUID,
    ppv: *mut *mut c_void,
    check: impl FnOnce() -> Result<P, Refusal>,
    make: impl FnOnce(P) -> Result<T, Refusal>,
) -> windows_core::Result<()> {
    let body = |is_wanted: bool| {
        let plan = check()?;
        is_wanted.then(|| make(plan)).transpose()
    };
    // SAFETY: guaranteed by the caller.
    unsafe { create_if_wanted(log, name, riid, ppv, body) }
}

/// As [`create`], where `body` checks the request, and creates the object if it is wanted.
///
/// # Safety
///
/// As of [`create`].
pub(crate) unsafe fn create_if_wanted<T: HandedOut>(
    log: &MessageLog,
    name: &'static str,
    riid: *const GUID,
    ppv: *mut *mut c_void,
    body: impl FnOnce(bool) -> Result<Option<T>, Refusal>,
) -> windows_core::Result<()> {
    let is_check_only = run(log, name, || {
        // SAFETY: guaranteed by the caller.
        unsafe { clear(ppv) };
        let Some(made) = body(!ppv.is_null())? else { return Ok(true) };
        // SAFETY: guaranteed by the caller; without an out pointer, nothing is made.
        unsafe { hand_out(&made, riid, ppv)? };
        Ok(false)
    })?;
    if is_check_only { Err(Error::from_hresult(S_FALSE)) } else { Ok(()) }
}

/// Sets an out pointer to null, so that a failing call leaves nothing in it.
///
/// # Safety
///
/// `ppv` is null or points to writable space for one pointer.
pub(crate) unsafe fn clear(ppv: *mut *mut c_void) {
    // SAFETY: guaranteed by the caller.
    if let Some(out) = unsafe { ppv.as_mut() } {
        *out = std::ptr::null_mut();
    }
}

/// An object that can be returned to the application: one of this runtime's objects, or an interface of one.
pub(crate) trait HandedOut {
    /// `QueryInterface`.
    ///
    /// # Safety
    ///
    /// `riid` points to a GUID, and `ppv` to writable space for one pointer.
    unsafe fn query_interface(&self, riid: *const GUID, ppv: *mut *mut c_void) -> HRESULT;
}

impl<T: ComObjectInner> HandedOut for ComObject<T> {
    unsafe fn query_interface(&self, riid: *const GUID, ppv: *mut *mut c_void) -> HRESULT {
        // SAFETY: guaranteed by the caller.
        unsafe { self.QueryInterface(riid, ppv) }
    }
}

impl HandedOut for ID3D12Device {
    unsafe fn query_interface(&self, riid: *const GUID, ppv: *mut *mut c_void) -> HRESULT {
        // SAFETY: guaranteed by the caller; the device is a live COM object.
        unsafe { self.query(riid, ppv) }
    }
}

/// Writes the interface `riid` of `object` to `ppv` and adds a reference for it.
///
/// # Safety
///
/// `riid` is null or points to a GUID, `ppv` is null or points to writable space for one pointer.
pub(crate) unsafe fn hand_out(
    object: &impl HandedOut,
    riid: *const GUID,
    ppv: *mut *mut c_void,
) -> Result<(), Refusal> {
    if riid.is_null() {
        return Err(Refusal::invalid("riid is null"));
    }
    if ppv.is_null() {
        return Err(Refusal::invalid("the output pointer for the interface is null"));
    }
    // SAFETY: guaranteed by the caller; neither is null.
    let result = unsafe { object.query_interface(riid, ppv) };
    if result.is_err() {
        return Err(Refusal::new(result, "the object does not support the requested interface"));
    }
    Ok(())
}

/// Returns a reference to a structure that the caller passed by pointer.
///
/// # Safety
///
/// `pointer` is null or points to a readable `T` for the life of the result.
pub(crate) unsafe fn read<'a, T>(pointer: *const T, name: &'static str) -> Result<&'a T, Refusal> {
    // SAFETY: guaranteed by the caller.
    unsafe { pointer.as_ref() }.ok_or_else(|| Refusal::invalid(format!("{name} is null")))
}

impl From<DriverError> for Refusal {
    fn from(error: DriverError) -> Self {
        match error {
            DriverError::OutOfMemory { .. }
            | DriverError::OutOfDeviceMemory { .. }
            | DriverError::HostOutOfMemory { .. }
            | DriverError::OutOfAddressSpace { .. } => Self::out_of_memory(error.to_string()),
            DriverError::DeviceLost { .. } => Self::new(DXGI_ERROR_DEVICE_REMOVED, error.to_string()),
            DriverError::AddressesInvalid { .. }
            | DriverError::AddressesInUse { .. }
            | DriverError::CannotCreateAt { .. }
            | DriverError::NotCpuAccessible
            | DriverError::NotResident
            | DriverError::ReservationTooLarge { .. } => Self::invalid(error.to_string()),
        }
    }
}

/// Returns the UTF-16 units of `string` before its terminating zero. Returns an empty vector for a null pointer.
///
/// # Safety
///
/// `string` is null or a zero-terminated UTF-16 string. It may be unaligned.
pub(super) unsafe fn read_wide(string: PCWSTR) -> Vec<u16> {
    if string.is_null() {
        return Vec::new();
    }
    (0..)
        .map(|index| {
            // SAFETY: the caller guarantees a terminating zero, and no earlier unit was it: `take_while` requests no
            // unit after it.
            unsafe { string.0.add(index).read_unaligned() }
        })
        .take_while(|&unit| unit != 0)
        .collect()
}
