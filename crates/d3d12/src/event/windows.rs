//! Events implemented as event objects.

use std::io;
use std::time::{Duration, Instant};

use super::EventReset;
use crate::{
    CloseHandle, CompareObjectHandles, CreateEventW, DUPLICATE_SAME_ACCESS, DuplicateHandle,
    GetCurrentProcess, GetHandleInformation, HANDLE, INFINITE, PCWSTR, ResetEvent, SetEvent, WAIT_OBJECT_0,
    WAIT_TIMEOUT, WaitForSingleObject,
};

/// Pseudo handles of the current process (equal to INVALID_HANDLE_VALUE), thread and tokens. They can be duplicated, so
/// they are rejected explicitly.
const PSEUDO_HANDLES: std::ops::RangeInclusive<isize> = -6..=-1;

pub(super) fn create(reset: EventReset) -> io::Result<HANDLE> {
    // SAFETY: the call has no attributes and no name.
    let handle = unsafe { CreateEventW(None, reset == EventReset::Manual, false, PCWSTR::null()) };
    if handle.0.is_null() { Err(io::Error::last_os_error()) } else { Ok(handle) }
}

/// # Safety
///
/// `handle` must refer to an open event and must not be used afterwards.
pub(super) unsafe fn close(handle: HANDLE) {
    // CloseHandle fails only for handles that are not open.
    // SAFETY: guaranteed by the caller.
    let _ = unsafe { CloseHandle(handle) };
}

/// # Safety
///
/// `handle` must refer to an open event.
pub(super) unsafe fn set(handle: HANDLE) -> io::Result<()> {
    // SAFETY: guaranteed by the caller.
    check(unsafe { SetEvent(handle) }.as_bool())
}

/// # Safety
///
/// `handle` must refer to an open event.
pub(super) unsafe fn reset(handle: HANDLE) -> io::Result<()> {
    // SAFETY: guaranteed by the caller.
    check(unsafe { ResetEvent(handle) }.as_bool())
}

/// # Safety
///
/// `handle` must refer to an open event.
pub(super) unsafe fn wait(handle: HANDLE, _reset: EventReset, timeout: Option<Duration>) -> io::Result<bool> {
    // A timeout beyond the clock's range is unlimited.
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    loop {
        let milliseconds = deadline.map_or(INFINITE, |deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            // The longest limited wait is INFINITE - 1.
            u32::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(INFINITE).min(INFINITE - 1)
        });
        // SAFETY: guaranteed by the caller.
        let result = unsafe { WaitForSingleObject(handle, milliseconds) };
        if result == WAIT_OBJECT_0.cast_unsigned() {
            return Ok(true);
        }
        if result != WAIT_TIMEOUT.cast_unsigned() {
            return Err(io::Error::last_os_error());
        }
        if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            return Ok(false);
        }
    }
}

/// Duplicates the handle of an event.
///
/// # Safety
///
/// `handle` must refer to an event or not be open.
pub(super) unsafe fn duplicate(handle: HANDLE) -> io::Result<HANDLE> {
    check_is_kernel_object(handle)?;
    let mut copy = HANDLE::default();
    // SAFETY: the pointer is valid, and the call returns an error for invalid handles.
    check(unsafe {
        let process = GetCurrentProcess();
        let options = DUPLICATE_SAME_ACCESS.cast_unsigned();
        DuplicateHandle(process, handle, process, &raw mut copy, 0, false, options).as_bool()
    })?;
    Ok(copy)
}

/// Returns whether `handle` is open. The kind of the object can only be queried through ntdll.
pub(super) fn is_event(handle: HANDLE) -> bool {
    let mut flags = 0;
    // SAFETY: the pointer is valid, and the call returns an error for invalid handles.
    check_is_kernel_object(handle).is_ok()
        && unsafe { GetHandleInformation(handle, &raw mut flags) }.as_bool()
}

/// Returns whether two open handles refer to one kernel object.
pub(super) fn refer_to_same_event(a: HANDLE, b: HANDLE) -> bool {
    // SAFETY: the call changes nothing, and returns false for invalid handles.
    unsafe { CompareObjectHandles(a, b) }.as_bool()
}

fn check_is_kernel_object(handle: HANDLE) -> io::Result<()> {
    if handle.0.is_null() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the HANDLE 0 does not refer to an event"));
    }
    if PSEUDO_HANDLES.contains(&handle.0.addr().cast_signed()) {
        let message = "the HANDLE is a pseudo handle of the current process, thread or token, not an event";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    Ok(())
}

fn check(is_done: bool) -> io::Result<()> {
    if is_done { Ok(()) } else { Err(io::Error::last_os_error()) }
}
