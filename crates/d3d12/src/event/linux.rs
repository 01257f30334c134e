//! Events as eventfds. The counter is not zero while the event is signalled.

use std::fs;
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};
use std::path::Path;
use std::time::{Duration, Instant};

use super::EventReset;
use crate::HANDLE;

/// The lowest number that an event's file descriptor has, since a HANDLE of zero is no event.
const LOWEST_FD: RawFd = 1;

pub(super) fn create(_reset: EventReset) -> io::Result<HANDLE> {
    // SAFETY: eventfd takes no pointers. Reads that find nothing must not block: two waiters may see one signal.
    let fd = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
    if fd >= LOWEST_FD {
        return Ok(to_handle(fd));
    }
    // Standard input was closed, and the event took its number.
    // SAFETY: the descriptor was just created and nobody else knows it; dropping it closes it.
    let _standard_input = unsafe { OwnedFd::from_raw_fd(fd) };
    duplicate_fd(fd).map(to_handle)
}

/// # Safety
///
/// `handle` is an open event's, and not used afterwards.
pub(super) unsafe fn close(handle: HANDLE) {
    // A handle that came from `create` or `duplicate` holds a descriptor.
    if let Ok(fd) = to_fd(handle) {
        // SAFETY: by the caller's promise the descriptor is open and ours alone from here on.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
    }
}

/// # Safety
///
/// `handle` is an open event's.
pub(super) unsafe fn set(handle: HANDLE) -> io::Result<()> {
    let fd = to_fd(handle)?;
    let one = 1_u64.to_ne_bytes();
    loop {
        // SAFETY: the buffer has the eight bytes that are written; by the caller's promise fd is an eventfd.
        if unsafe { libc::write(fd, one.as_ptr().cast(), one.len()) } >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::Interrupted => {}
            // The counter is full: the event is signalled.
            io::ErrorKind::WouldBlock => return Ok(()),
            _ => return Err(error),
        }
    }
}

/// # Safety
///
/// `handle` is an open event's.
pub(super) unsafe fn reset(handle: HANDLE) -> io::Result<()> {
    // SAFETY: the caller's promise.
    unsafe { take(to_fd(handle)?) }.map(|_| ())
}

/// # Safety
///
/// `handle` is an open event's that `create` made with `reset`.
pub(super) unsafe fn wait(handle: HANDLE, reset: EventReset, timeout: Option<Duration>) -> io::Result<bool> {
    let fd = to_fd(handle)?;
    // A timeout that leaves the clock's range is forever.
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    loop {
        if !poll(fd, deadline)? {
            return Ok(false);
        }
        // SAFETY: the caller's promise.
        if reset == EventReset::Manual || unsafe { take(fd) }? {
            return Ok(true);
        }
        // Another waiter was faster.
    }
}

/// A descriptor of our own for the event behind `handle`.
///
/// # Safety
///
/// `handle` is an event's, or names nothing that is open.
pub(super) unsafe fn duplicate(handle: HANDLE) -> io::Result<HANDLE> {
    let fd = to_fd(handle)?;
    if is_something_else(fd) {
        return Err(no_event(handle));
    }
    duplicate_fd(fd).map(to_handle)
}

/// Whether `handle` is open, and an event as far as the kernel tells. No descriptor is opened, closed, read or written.
pub(super) fn is_event(handle: HANDLE) -> bool {
    let Ok(fd) = to_fd(handle) else { return false };
    // SAFETY: fcntl takes no pointers here, changes nothing, and answers EBADF for what is no descriptor.
    let is_open = unsafe { libc::fcntl(fd, libc::F_GETFD) } >= 0;
    is_open && !is_something_else(fd)
}

/// Returns whether two open events are one, or true where the kernel does not say.
pub(super) fn refer_to_same_event(a: HANDLE, b: HANDLE) -> bool {
    match (event_id(a), event_id(b)) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    }
}

/// The number that the kernel gives an eventfd, and no other while that one is open.
fn event_id(handle: HANDLE) -> Option<u64> {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", to_fd(handle).ok()?)).ok()?;
    info.lines().find_map(|line| line.strip_prefix("eventfd-id:"))?.trim().parse().ok()
}

/// Whether the kernel says that `fd` is open and no eventfd. Without /proc it does not say.
fn is_something_else(fd: RawFd) -> bool {
    // The link's text is the kernel's name of the file's kind.
    let kind = fs::read_link(format!("/proc/self/fd/{fd}"));
    kind.is_ok_and(|kind| kind != Path::new("anon_inode:[eventfd]"))
}

fn duplicate_fd(fd: RawFd) -> io::Result<RawFd> {
    // SAFETY: fcntl takes no pointers here, and answers EBADF for what is no descriptor.
    check(unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, LOWEST_FD) })
}

/// Waits until `fd` can be read; false when the deadline came first.
fn poll(fd: RawFd, deadline: Option<Instant>) -> io::Result<bool> {
    loop {
        let milliseconds = deadline.map_or(-1, |deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            i32::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX)
        });
        let mut entry = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        // SAFETY: the pointer is to one entry, as the count says.
        let ready = unsafe { libc::poll(&raw mut entry, 1, milliseconds) };
        if ready > 0 {
            return Ok(true);
        }
        if ready == 0 {
            // A deadline further away than the longest poll is waited for in parts.
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

/// Sets the counter to zero and answers whether it was something else.
///
/// # Safety
///
/// `fd` is an open eventfd.
unsafe fn take(fd: RawFd) -> io::Result<bool> {
    let mut counter = [0_u8; 8];
    loop {
        // SAFETY: the buffer has the eight bytes that an eventfd writes at most.
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
    // A descriptor is not negative, so it fits.
    HANDLE(std::ptr::without_provenance_mut(usize::try_from(fd).unwrap_or(0)))
}

fn to_fd(handle: HANDLE) -> io::Result<RawFd> {
    match RawFd::try_from(handle.0.addr()) {
        Ok(fd) if fd >= LOWEST_FD => Ok(fd),
        _ => Err(no_event(handle)),
    }
}

fn no_event(handle: HANDLE) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("the HANDLE {:#x} is no event", handle.0.addr()))
}

/// The result of a call that answers -1 for an error.
fn check(result: libc::c_int) -> io::Result<RawFd> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
