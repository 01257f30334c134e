//! Systems without a common meaning of HANDLE.

use std::io;
use std::time::Duration;

use super::EventReset;
use crate::HANDLE;

fn unsupported<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "events are supported only on Windows, Linux and Android"))
}

pub(super) fn create(_reset: EventReset) -> io::Result<HANDLE> {
    unsupported()
}

/// # Safety
///
/// There are no requirements, because the handle is not used.
pub(super) unsafe fn close(_handle: HANDLE) {}

/// # Safety
///
/// There are no requirements, because the handle is not used.
pub(super) unsafe fn set(_handle: HANDLE) -> io::Result<()> {
    unsupported()
}

/// # Safety
///
/// There are no requirements, because the handle is not used.
pub(super) unsafe fn reset(_handle: HANDLE) -> io::Result<()> {
    unsupported()
}

/// # Safety
///
/// There are no requirements, because the handle is not used.
pub(super) unsafe fn wait(
    _handle: HANDLE,
    _reset: EventReset,
    _timeout: Option<Duration>,
) -> io::Result<bool> {
    unsupported()
}

/// # Safety
///
/// There are no requirements, because the handle is not used.
pub(super) unsafe fn duplicate(_handle: HANDLE) -> io::Result<HANDLE> {
    unsupported()
}

pub(super) fn is_event(_handle: HANDLE) -> bool {
    false
}

pub(super) fn refer_to_same_event(_a: HANDLE, _b: HANDLE) -> bool {
    false
}
