//! Events as the kernel's event objects.

use std::io;
use std::time::{Duration, Instant};

use super::EventReset;
use crate::{
    CloseHandle, CompareObjectHandles, CreateEventW, DUPLICATE_SAME_ACCESS, DuplicateHandle,
    GetCurrentProcess, GetHandleInformation, HANDLE, INFINITE, PCWSTR, ResetEvent, SetEvent, WAIT_OBJECT_0,
    WAIT_TIMEOUT, WaitForSingleObject,
};

/// What GetCurrentProcess (also known as INVALID_HANDLE_VALUE), GetCurrentThread and their relatives for tokens return.
/// They can be duplicated, into handles of what they stand for.
const PSEUDO_HANDLES: std::ops::RangeInclusive<isize> = -6..=-1;

pub(super) fn create(reset: EventReset) -> io::Result<HANDLE> {
    // SAFETY: no attributes and no name: nothing is pointed to.
    let handle = unsafe { CreateEventW(None, reset == EventReset::Manual, false, PCWSTR::null()) };
    if handle.0.is_null() { Err(io::Error::last_os_error()) } else { Ok(handle) }
}

/// # Safety
///
/// `handle` is an open event's, and not used afterwards.
pub(super) unsafe fn close(handle: HANDLE) {
    // SAFETY: the caller's promise. What CloseHandle could refuse is a handle that is not open.
    let _ = unsafe { CloseHandle(handle) };
}

/// # Safety
///
/// `handle` is an open event's.
pub(super) unsafe fn set(handle: HANDLE) -> io::Result<()> {
    // SAFETY: the caller's promise.
    check(unsafe { SetEvent(handle) }.as_bool())
}

/// # Safety
///
/// `handle` is an open event's.
pub(super) unsafe fn reset(handle: HANDLE) -> io::Result<()> {
    // SAFETY: the caller's promise.
    check(unsafe { ResetEvent(handle) }.as_bool())
}

/// # Safety
///
/// `handle` is an open event's. The kernel knows how it was made.
pub(super) unsafe fn wait(handle: HANDLE, _reset: EventReset, timeout: Option<Duration>) -> io::Result<bool> {
    // A timeout that leaves the clock's range is forever.
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    loop {
        let milliseconds = deadline.map_or(INFINITE, |deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            // The longest wait that ends is one short of what means forever.
            u32::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(INFINITE).min(INFINITE - 1)
        });
        // SAFETY: the caller's promise.
        let answer = unsafe { WaitForSingleObject(handle, milliseconds) };
        if answer == WAIT_OBJECT_0.cast_unsigned() {
            return Ok(true);
        }
        if answer != WAIT_TIMEOUT.cast_unsigned() {
            return Err(io::Error::last_os_error());
        }
        if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            return Ok(false);
        }
    }
}

/// A handle of our own for the event behind `handle`.
///
/// # Safety
///
/// `handle` is an event's, or names nothing that is open.
pub(super) unsafe fn duplicate(handle: HANDLE) -> io::Result<HANDLE> {
    check_is_kernel_object(handle)?;
    let mut copy = HANDLE::default();
    // SAFETY: the process's own pseudo handle, and a pointer to a handle that is written. What is no handle is answered
    // with an error.
    check(unsafe {
        let process = GetCurrentProcess();
        let options = DUPLICATE_SAME_ACCESS.cast_unsigned();
        DuplicateHandle(process, handle, process, &raw mut copy, 0, false, options).as_bool()
    })?;
    Ok(copy)
}

/// Whether `handle` is open. The kernel says no more of it without the help of ntdll.
pub(super) fn is_event(handle: HANDLE) -> bool {
    let mut flags = 0;
    // SAFETY: the flags are writable; the call changes nothing, and answers with an error for what is no handle.
    check_is_kernel_object(handle).is_ok()
        && unsafe { GetHandleInformation(handle, &raw mut flags) }.as_bool()
}

/// Returns whether two open handles refer to one kernel object.
pub(super) fn refer_to_same_event(a: HANDLE, b: HANDLE) -> bool {
    // SAFETY: the call changes nothing, and answers false for what is no handle.
    unsafe { CompareObjectHandles(a, b) }.as_bool()
}

fn check_is_kernel_object(handle: HANDLE) -> io::Result<()> {
    if handle.0.is_null() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the HANDLE 0 is no event"));
    }
    if PSEUDO_HANDLES.contains(&handle.0.addr().cast_signed()) {
        let message = "the HANDLE stands for the current process, thread or token and is no event";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    Ok(())
}

fn check(is_done: bool) -> io::Result<()> {
    if is_done { Ok(()) } else { Err(io::Error::last_os_error()) }
}
