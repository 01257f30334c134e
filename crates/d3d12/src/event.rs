//! Operating system events behind a [`HANDLE`], which `ID3D12Fence::SetEventOnCompletion` and DXGI's budget
//! notifications signal.
//!
//! [`Event`] is the side of who waits, [`EventSignal`] the side of who signals an event that somebody else owns.
//!
//! | system | what a HANDLE holds |
//! |---|---|
//! | Windows | an event object of the kernel |
//! | Linux, Android | the number of an eventfd, the convention of vkd3d-proton's native build |
//! | other | nothing: every function answers an error of kind `Unsupported` |
//!
//! A HANDLE of zero is no event on any system.

use std::io;
use std::time::Duration;

use crate::HANDLE;

#[cfg_attr(windows, path = "event/windows.rs")]
#[cfg_attr(any(target_os = "linux", target_os = "android"), path = "event/linux.rs")]
#[cfg_attr(not(any(windows, target_os = "linux", target_os = "android")), path = "event/unsupported.rs")]
mod system;

/// What ends the signalled state of an [`Event`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventReset {
    /// A wait that succeeds: each signal lets one waiter go on. Signals that nobody waited for count as one.
    Auto,
    /// [`Event::reset`]: a signal lets all waiters go on until then.
    Manual,
}

/// An event that this process can wait for.
///
/// Any number of threads may signal it and wait for it. Dropping it closes the HANDLE; those who were given the HANDLE
/// must not use it from then on, which an [`EventSignal`] made of it is free of.
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

// SAFETY: an event is made to be signalled and waited for from any thread; the HANDLE is a number that names it.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// Creates an event that is not signalled.
    ///
    /// # Errors
    ///
    /// What the operating system answers, for one when the process has no handles left.
    pub fn new(reset: EventReset) -> io::Result<Self> {
        Ok(Self { handle: system::create(reset)?, reset })
    }

    /// The HANDLE to hand to D3D12 or DXGI. It stays the event's own.
    pub fn handle(&self) -> HANDLE {
        self.handle
    }

    /// Creates another HANDLE to this event, which the caller closes with [`close`].
    ///
    /// # Errors
    ///
    /// What the operating system answers, for one when the process has no handles left.
    pub fn duplicate_handle(&self) -> io::Result<HANDLE> {
        // SAFETY: the handle is an event's, open as long as self.
        unsafe { system::duplicate(self.handle) }
    }

    /// Returns whether `handle` is open and refers to this event.
    ///
    /// Any value may be passed. Linux before 5.2 or without /proc tells only whether the handle is an open event. By the
    /// time that the caller looks at the result, another thread may have closed the handle.
    pub fn is_behind(&self, handle: HANDLE) -> bool {
        system::is_event(handle) && system::refer_to_same_event(self.handle, handle)
    }

    /// Signals the event; an event that is signalled already stays so.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub fn set(&self) -> io::Result<()> {
        // SAFETY: the handle is an event's, open as long as self.
        unsafe { system::set(self.handle) }
    }

    /// Ends the signalled state.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub fn reset(&self) -> io::Result<()> {
        // SAFETY: the handle is an event's, open as long as self.
        unsafe { system::reset(self.handle) }
    }

    /// Waits for the event to be signalled, for at most `timeout` (forever without one), and answers whether it was.
    ///
    /// A timeout is rounded up to whole milliseconds. An [`EventReset::Auto`] event is reset by the wait that it ends.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub fn wait(&self, timeout: Option<Duration>) -> io::Result<bool> {
        // SAFETY: the handle is an event's, open as long as self, and made with this reset.
        unsafe { system::wait(self.handle, self.reset, timeout) }
    }

    /// Whether the event is signalled, without waiting. As every wait, this resets an [`EventReset::Auto`] event.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub fn is_set(&self) -> io::Result<bool> {
        self.wait(Some(Duration::ZERO))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the handle is open and nothing of self is used afterwards.
        unsafe { system::close(self.handle) }
    }
}

/// The means to signal an event of somebody else: of an application that passed a HANDLE.
///
/// It holds a HANDLE of its own to the same event, so that the application may close its one at any time.
#[derive(Debug)]
pub struct EventSignal {
    handle: HANDLE,
}

// SAFETY: as for `Event`.
unsafe impl Send for EventSignal {}
// SAFETY: as for `Event`.
unsafe impl Sync for EventSignal {}

impl EventSignal {
    /// Takes hold of the event behind `handle`, which stays the caller's.
    ///
    /// # Errors
    ///
    /// `InvalidInput` where the handle is seen to be no event, else what the operating system answers.
    ///
    /// # Safety
    ///
    /// `handle` is an event's, or names nothing that is open in this process.
    pub unsafe fn new(handle: HANDLE) -> io::Result<Self> {
        // SAFETY: the caller's promise.
        Ok(Self { handle: unsafe { system::duplicate(handle) }? })
    }

    /// Signals the event; an event that is signalled already stays so.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub fn set(&self) -> io::Result<()> {
        // SAFETY: the handle is an event's by the promise to `new`, and open as long as self.
        unsafe { system::set(self.handle) }
    }
}

impl Drop for EventSignal {
    fn drop(&mut self) {
        // SAFETY: the handle is open and nothing of self is used afterwards.
        unsafe { system::close(self.handle) }
    }
}

/// Signals the event of an application, which passed `handle`.
///
/// For a signal that comes later than the call which passed the handle, [`EventSignal`] is safe against the application
/// closing it.
///
/// # Errors
///
/// What the operating system answers.
///
/// # Safety
///
/// `handle` is an event's, and open.
pub unsafe fn signal(handle: HANDLE) -> io::Result<()> {
    // SAFETY: the caller's promise.
    unsafe { system::set(handle) }
}

/// Closes a HANDLE that the caller owns: that of an [`Event::duplicate_handle`], or a shared handle, which D3D12's
/// `CreateSharedHandle` and `OpenSharedHandleByName` leave to the application.
///
/// # Safety
///
/// `handle` is open, nobody else closes it, and it is not used afterwards.
pub unsafe fn close(handle: HANDLE) {
    // SAFETY: the caller's promise. Closing does not depend on what a handle refers to.
    unsafe { system::close(handle) }
}

/// Whether `handle` is open in this process and nothing else than an event, as far as the operating system tells.
///
/// Nothing is signalled, and nothing is opened or closed: any value may be passed. Windows tells only whether the handle is
/// open and is none of those that stand for the current process, thread or token; Linux without /proc only whether it is open.
/// By the time that the caller looks at the result, another thread may have closed the handle.
pub fn is_event(handle: HANDLE) -> bool {
    system::is_event(handle)
}

#[cfg(all(test, any(windows, target_os = "linux", target_os = "android")))]
mod tests;
