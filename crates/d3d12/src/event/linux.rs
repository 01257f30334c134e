//! Events implemented as eventfds. An event is signalled while its counter is not zero.

use std::fs;
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};
use std::path::Path;
use std::time::{Duration, Instant};

use super::EventReset;
use crate::HANDLE;

/// Lowest file descriptor of an event, because a HANDLE of zero is invalid.
const LOWEST_FD: RawFd = 1;

pub(super) fn create(_reset: EventReset) -> io::Result<HANDLE> {
    // Nonblocking, because two waiters may wake up for one signal.
    // SAFETY: eventfd takes no pointers.
    let fd = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
    if fd >= LOWEST_FD {
        return Ok(to_handle(fd));
    }
    // The descriptor is 0, because standard input is closed.
    // SAFETY: the descriptor was just created and is not used elsewhere; dropping it closes it.
    let _standard_input = unsafe { OwnedFd::from_raw_fd(fd) };
    duplicate_fd(fd).map(to_handle)
}

/// # Safety
///
/// `handle` must refer to an open event and must not be used afterwards.
pub(super) unsafe fn close(handle: HANDLE) {
    // Handles of `create` and `duplicate` are valid descriptors.
    if let Ok(fd) = to_fd(handle) {
        // SAFETY: the caller guarantees that the descriptor is open and not used afterwards.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
    }
}

/// # Safety
///
/// `handle` must refer to an open event.
pub(super) unsafe fn set(handle: HANDLE) -> io::Result<()> {
    let fd = to_fd(handle)?;
    let one = 1_u64.to_ne_bytes();
    loop {
        // SAFETY: the buffer has eight bytes, and the caller guarantees that fd is an eventfd.
        if unsafe { libc::write(fd, one.as_ptr().cast(), one.len()) } >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::Interrupted => {}
            // The counter has its maximum, so the event is signalled.
            io::ErrorKind::WouldBlock => return Ok(()),
            _ => return Err(error),
        }
    }
}

/// # Safety
///
/// `handle` must refer to an open event.
pub(super) unsafe fn reset(handle: HANDLE) -> io::Result<()> {
    // SAFETY: guaranteed by the caller.
    unsafe { take(to_fd(handle)?) }.map(|_| ())
}

/// # Safety
///
/// `handle` must refer to an open event that was created with `reset`.
pub(super) unsafe fn wait(handle: HANDLE, reset: EventReset, timeout: Option<Duration>) -> io::Result<bool> {
    let fd = to_fd(handle)?;
    // A timeout beyond the clock's range is unlimited.
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    loop {
        if !poll(fd, deadline)? {
            return Ok(false);
        }
        // SAFETY: guaranteed by the caller.
        if reset == EventReset::Manual || unsafe { take(fd) }? {
            return Ok(true);
        }
        // Another waiter has reset the event.
    }
}

/// Duplicates the descriptor of an event.
///
/// # Safety
///
/// `handle` must refer to an event or not be open.
pub(super) unsafe fn duplicate(handle: HANDLE) -> io::Result<HANDLE> {
    let fd = to_fd(handle)?;
    if is_something_else(fd) {
        return Err(not_an_event(handle));
    }
    duplicate_fd(fd).map(to_handle)
}

/// Returns whether `handle` is open and refers to an event, as far as the kernel can tell. No descriptor is used.
pub(super) fn is_event(handle: HANDLE) -> bool {
    let Ok(fd) = to_fd(handle) else { return false };
    // SAFETY: this call takes no pointers, changes nothing, and returns EBADF for invalid descriptors.
    let is_open = unsafe { libc::fcntl(fd, libc::F_GETFD) } >= 0;
    is_open && !is_something_else(fd)
}

/// Returns whether two handles refer to the same event, or true if the kernel cannot tell. Another thread may close `b`
/// meanwhile.
pub(super) fn refer_to_same_event(a: HANDLE, b: HANDLE) -> bool {
    match (event_id(a), event_id(b)) {
        (Ok(a), Ok(b)) => a == b,
        // Closed, or no event any more: the kernel knows the id of the other one.
        (Ok(_), Err(error)) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData),
        (Err(_), _) => true,
    }
}

/// Returns the kernel's id of an eventfd, which is unique while it is open. Fails with `NotFound` if the handle is not
/// open, and with `InvalidData` if it is no eventfd.
fn event_id(handle: HANDLE) -> io::Result<u64> {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", to_fd(handle)?))?;
    let id = info.lines().find_map(|line| line.strip_prefix("eventfd-id:")?.trim().parse().ok());
    id.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// Returns whether `fd` is known to be open and not an eventfd. Always false without /proc.
fn is_something_else(fd: RawFd) -> bool {
    // The target of the link names the kind of the file.
    let kind = fs::read_link(format!("/proc/self/fd/{fd}"));
    kind.is_ok_and(|kind| kind != Path::new("anon_inode:[eventfd]"))
}

fn duplicate_fd(fd: RawFd) -> io::Result<RawFd> {
    // SAFETY: this call takes no pointers and returns EBADF for invalid descriptors.
    check(unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, LOWEST_FD) })
}

/// Waits until `fd` can be read. Returns false at the deadline.
fn poll(fd: RawFd, deadline: Option<Instant>) -> io::Result<bool> {
    loop {
        let milliseconds = deadline.map_or(-1, |deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            i32::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX)
        });
        let mut entry = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        // SAFETY: the pointer refers to one entry, as the count says.
        let ready = unsafe { libc::poll(&raw mut entry, 1, milliseconds) };
        if ready > 0 {
            return Ok(true);
        }
        if ready == 0 {
            // A deadline beyond the longest timeout of poll takes several calls.
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Ok(false);
            }
            continue;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Sets the counter to zero and returns whether it was not zero before.
///
/// # Safety
///
/// `fd` must be an open eventfd.
unsafe fn take(fd: RawFd) -> io::Result<bool> {
    let mut counter = [0_u8; 8];
    loop {
        // SAFETY: the buffer has eight bytes, the most that an eventfd writes.
        if unsafe { libc::read(fd, counter.as_mut_ptr().cast(), counter.len()) } >= 0 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::Interrupted => {}
            io::ErrorKind::WouldBlock => return Ok(false),
            _ => return Err(error),
        }
    }
}

fn to_handle(fd: RawFd) -> HANDLE {
    // Descriptors are not negative.
    HANDLE(std::ptr::without_provenance_mut(usize::try_from(fd).unwrap_or(0)))
}

fn to_fd(handle: HANDLE) -> io::Result<RawFd> {
    match RawFd::try_from(handle.0.addr()) {
        Ok(fd) if fd >= LOWEST_FD => Ok(fd),
        _ => Err(not_an_event(handle)),
    }
}

fn not_an_event(handle: HANDLE) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("the HANDLE {:#x} does not refer to an event", handle.0.addr()),
    )
}

/// Converts the result of a call that returns -1 for errors.
fn check(result: libc::c_int) -> io::Result<RawFd> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
