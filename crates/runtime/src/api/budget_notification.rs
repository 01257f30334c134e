//! Events that an adapter signals when a budget changes.

use std::any::Any;
use std::sync::{Mutex, MutexGuard, PoisonError};

use heapwright_d3d12::HANDLE;
use heapwright_d3d12::event::EventSignal;

use crate::drivers::driver::Driver;
use crate::rules::Refusal;

/// The registrations of one adapter object. Dropping the adapter ends them.
#[derive(Default)]
pub(super) struct BudgetNotifications {
    registered: Mutex<Registered>,
}

#[derive(Default)]
struct Registered {
    last_cookie: u32,
    /// Cookies and listeners. Dropping a listener ends its registration.
    listeners: Vec<(u32, Box<dyn Any + Send + Sync>)>,
}

impl BudgetNotifications {
    /// Registers `event` to be signalled after each budget change, and returns the cookie of the registration.
    ///
    /// # Safety
    ///
    /// `event` is the handle of an event, or is not an open handle.
    pub(super) unsafe fn register(&self, driver: &Driver, event: HANDLE) -> Result<u32, Refusal> {
        // SAFETY: by the contract of RegisterVideoMemoryBudgetChangeNotificationEvent, the handle refers to an event.
        let signal = unsafe { EventSignal::new(event) }
            .map_err(|error| Refusal::invalid(format!("hEvent is not a valid event handle: {error}")))?;
        let listener = driver.on_budget_change(Box::new(move || {
            if let Err(error) = signal.set() {
                tracing::error!(%error, "failed to signal the event of a budget change");
            }
        }));
        let mut registered = self.lock();
        registered.last_cookie = registered.last_cookie.checked_add(1).ok_or_else(|| {
            Refusal::out_of_memory("no cookies left; an adapter allows 2^32 - 1 registrations")
        })?;
        let cookie = registered.last_cookie;
        registered.listeners.push((cookie, listener));
        Ok(cookie)
    }

    /// Ends the registration with the given cookie.
    pub(super) fn unregister(&self, cookie: u32) -> Result<(), Refusal> {
        let mut registered = self.lock();
        let position = registered.listeners.iter().position(|&(known, _)| known == cookie);
        let position = position.ok_or_else(|| {
            Refusal::invalid(format!("dwCookie {cookie} is not registered with this adapter"))
        })?;
        let ended = registered.listeners.swap_remove(position);
        drop(registered);
        drop(ended);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Registered> {
        self.registered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
