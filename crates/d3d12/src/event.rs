//! Events of the operating system, referred to by a [`HANDLE`]. `ID3D12Fence::SetEventOnCompletion` and DXGI's budget
//! notifications signal such events.
//!
//! [`Event`] owns an event that can be waited for. [`EventSignal`] signals an event of someone else.
//!
//! | system | meaning of a HANDLE |
//! |---|---|
//! | Windows | handle of an event object |
//! | Linux, Android | file descriptor of an eventfd, as in vkd3d-proton's native build |
//! | other | none; all functions return an error of kind `Unsupported` |
//!
//! Zero is not a valid HANDLE on any system.

use std::io;
use std::time::Duration;

use crate::HANDLE;

#[cfg_attr(windows, path = "event/windows.rs")]
#[cfg_attr(any(target_os = "linux", target_os = "android"), path = "event/linux.rs")]
#[cfg_attr(not(any(windows, target_os = "linux", target_os = "android")), path = "event/unsupported.rs")]
mod system;

/// The way in which an [`Event`] is reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventReset {
    /// A successful wait resets the event, so each signal wakes one waiter. Several signals before a wait count as one.
    Auto,
    /// [`Event::reset`] resets the event. Until then, a signal wakes all waiters.
    Manual,
}

/// An event that this process can wait for.
///
/// Any number of threads may signal it and wait for it. Dropping the event closes its HANDLE, which must not be used
/// afterwards. An [`EventSignal`] created from it remains valid.
///
/// ```
/// # #[cfg(any(windows, target_os = "linux"))] {
/// use heapwright_d3d12::event::{Event, EventReset};
/// use std::time::Duration;
///
/// let event = Event::new(EventReset::Auto)?;
/// assert!(!event.wait(Some(Duration::from_millis(1)))?);
/// event.set()?; // or: fence.SetEventOnCompletion(value, event.handle())
/// assert!(event.wait(None)?);
/// assert!(!event.is_set()?, "the wait reset it");
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Event {
    handle: HANDLE,
    reset: EventReset,
}

// SAFETY: events may be signalled and waited for from any thread, and a HANDLE is a number.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// Creates an event that is not signalled.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error, for example if the process has too many open handles.
    pub fn new(reset: EventReset) -> io::Result<Self> {
        Ok(Self { handle: system::create(reset)?, reset })
    }

    /// Returns the HANDLE to pass to Direct3D 12 or DXGI. The event still owns it.
    pub fn handle(&self) -> HANDLE {
        self.handle
    }

    /// Creates another HANDLE for this event. The caller must close it with [`close`].
    ///
    /// # Errors
    ///
    /// Returns the operating system's error, for example if the process has too many open handles.
    pub fn duplicate_handle(&self) -> io::Result<HANDLE> {
        // SAFETY: the handle refers to an event and is open as long as self.
        unsafe { system::duplicate(self.handle) }
    }

    /// Returns whether `handle` is open and refers to this event.
    ///
    /// Any value may be passed. On Linux before 5.2 or without /proc, the result only tells whether the handle refers
    /// to an open event. Another thread may close the handle before the caller uses the result.
    pub fn is_behind(&self, handle: HANDLE) -> bool {
        system::is_event(handle) && system::refer_to_same_event(self.handle, handle)
    }

    /// Signals the event. This has no effect if it is already signalled.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error.
    pub fn set(&self) -> io::Result<()> {
        // SAFETY: the handle refers to an event and is open as long as self.
        unsafe { system::set(self.handle) }
    }

    /// Resets the event to the unsignalled state.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error.
    pub fn reset(&self) -> io::Result<()> {
        // SAFETY: the handle refers to an event and is open as long as self.
        unsafe { system::reset(self.handle) }
    }

    /// Waits until the event is signalled or `timeout` has elapsed, and returns whether it was signalled.
    ///
    /// `None` waits without limit. The timeout is rounded up to milliseconds. A successful wait resets an
    /// [`EventReset::Auto`] event.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error.
    pub fn wait(&self, timeout: Option<Duration>) -> io::Result<bool> {
        // SAFETY: the handle refers to an event that was created with `reset`, and is open as long as self.
        unsafe { system::wait(self.handle, self.reset, timeout) }
    }

    /// Returns whether the event is signalled, without waiting. Like a wait, this resets an [`EventReset::Auto`] event.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error.
    pub fn is_set(&self) -> io::Result<bool> {
        self.wait(Some(Duration::ZERO))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the handle is open and not used afterwards.
        unsafe { system::close(self.handle) }
    }
}

/// A reference to an event of someone else, such as an application that passed a HANDLE, for signalling it.
///
/// It owns a duplicate of the HANDLE, so the application may close its HANDLE at any time.
#[derive(Debug)]
pub struct EventSignal {
    handle: HANDLE,
}

// SAFETY: as for `Event`.
unsafe impl Send for EventSignal {}
// SAFETY: as for `Event`.
unsafe impl Sync for EventSignal {}

impl EventSignal {
    /// Duplicates `handle`, which the caller still owns.
    ///
    /// # Errors
    ///
    /// Returns `InvalidInput` if the handle is known not to refer to an event, or the operating system's error.
    ///
    /// # Safety
    ///
    /// `handle` must refer to an event or not be open in this process.
    pub unsafe fn new(handle: HANDLE) -> io::Result<Self> {
        // SAFETY: guaranteed by the caller.
        Ok(Self { handle: unsafe { system::duplicate(handle) }? })
    }

    /// Signals the event. This has no effect if it is already signalled.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error.
    pub fn set(&self) -> io::Result<()> {
        // SAFETY: the caller of `new` guaranteed that the handle refers to an event; it is open as long as self.
        unsafe { system::set(self.handle) }
    }
}

impl Drop for EventSignal {
    fn drop(&mut self) {
        // SAFETY: the handle is open and not used afterwards.
        unsafe { system::close(self.handle) }
    }
}

/// Signals the event of `handle`.
///
/// To signal an event after the call in which an application passed the handle, use [`EventSignal`], because the
/// application may close it.
///
/// # Errors
///
/// Returns the operating system's error.
///
/// # Safety
///
/// `handle` must be open and refer to an event.
pub unsafe fn signal(handle: HANDLE) -> io::Result<()> {
    // SAFETY: guaranteed by the caller.
    unsafe { system::set(handle) }
}

/// Closes a HANDLE that the caller owns: one of [`Event::duplicate_handle`], or a shared handle of `CreateSharedHandle`
/// or `OpenSharedHandleByName`.
///
/// # Safety
///
/// `handle` must be open and owned by the caller, and must not be used afterwards.
pub unsafe fn close(handle: HANDLE) {
    // SAFETY: guaranteed by the caller. Any kind of handle may be closed.
    unsafe { system::close(handle) }
}

/// Returns whether `handle` is open in this process and refers to an event, as far as the operating system can tell.
///
/// Any value may be passed; no handle is signalled, opened or closed. On Windows, the result is also true for open
/// handles of other objects, except pseudo handles of the current process, thread or token. On Linux without /proc, it
/// is true for all open file descriptors. Another thread may close the handle before the caller uses the result.
pub fn is_event(handle: HANDLE) -> bool {
    system::is_event(handle)
}

#[cfg(all(test, any(windows, target_os = "linux", target_os = "android")))]
mod tests;
