//! Events that an adapter signals when a budget changes.

use std::any::Any;
use std::sync::{Mutex, MutexGuard, PoisonError};

use heapwright_d3d12::HANDLE;
use heapwright_d3d12::event::EventSignal;

use crate::ddi::Driver;
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
    pub(super) unsafe fn register(&self, driver: &dyn Driver, event: HANDLE) -> Result<u32, Refusal> {
        // SAFETY: by the contract of RegisterVideoMemoryBudgetChangeNotificationEvent, the handle refers to an event.
        let signal = unsafe { EventSignal::new(event) }.map_err(|error| {
            Refusal::invalid(format!("hEvent is no event that can be signalled: {error}"))
        })?;
        let listener = driver.on_budget_change(Box::new(move || {
            if let Err(error) = signal.set() {
                tracing::error!(%error, "a budget change could not be signalled");
            }
        }));
        let mut registered = self.lock();
        registered.last_cookie = registered
            .last_cookie
            .checked_add(1)
            .ok_or_else(|| Refusal::out_of_memory("2^32 - 1 registrations have been made on this adapter"))?;
        let cookie = registered.last_cookie;
        registered.listeners.push((cookie, listener));
        Ok(cookie)
    }

    /// Ends the registration with the given cookie.
    pub(super) fn unregister(&self, cookie: u32) -> Result<(), Refusal> {
        let mut registered = self.lock();
        let position = registered.listeners.iter().position(|&(known, _)| known == cookie);
        let position =
            position.ok_or_else(|| Refusal::invalid(format!("{cookie} is no cookie of this adapter")))?;
        let ended = registered.listeners.swap_remove(position);
        drop(registered);
        drop(ended);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Registered> {
        self.registered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
