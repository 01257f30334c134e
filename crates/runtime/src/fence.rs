//! A fence: a value that queues and the CPU set, and that both wait for.
//!
//! *Reached* means that the fence's value is at least what is waited for. Values may also be set back, as in D3D12.

use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::aliasing::FenceHistory;

/// What a fence calls once a value is reached: signals an event, wakes a thread.
pub(crate) type OnReached = Box<dyn FnOnce() + Send>;

/// A fence's value and who waits for it.
pub struct Fence {
    state: Mutex<State>,
    changed: Condvar,
    /// Who signalled what, for the tracker of aliasing.
    history: Mutex<FenceHistory>,
}

struct State {
    value: u64,
    /// The device is gone: the value stays `u64::MAX`.
    is_lost: bool,
    waiting: Vec<(u64, OnReached)>,
}

impl Fence {
    /// A fence at `value`.
    #[must_use]
    pub fn new(value: u64) -> Self {
        Self {
            state: Mutex::new(State { value, is_lost: false, waiting: Vec::new() }),
            changed: Condvar::new(),
            history: Mutex::new(FenceHistory::new(value)),
        }
    }

    /// Who signalled what, for the tracker of aliasing.
    pub(crate) fn history(&self) -> MutexGuard<'_, FenceHistory> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value as of now.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.lock().value
    }

    /// Sets the value, upwards or downwards, and calls who waits for what is reached now. The calls happen on this thread,
    /// outside of the fence's lock. Without effect once the fence is [lost](Self::lose).
    pub fn set(&self, value: u64) {
        self.change(value, false);
    }

    /// Sets the value to `u64::MAX` for good, as D3D12 does with the fences of a device that is lost.
    pub fn lose(&self) {
        self.change(u64::MAX, true);
    }

    fn change(&self, value: u64, lose: bool) {
        let reached: Vec<OnReached> = {
            let mut state = self.lock();
            state.is_lost |= lose;
            state.value = if state.is_lost { u64::MAX } else { value };
            let value = state.value;
            let (reached, waiting) = state.waiting.drain(..).partition(|&(at, _)| at <= value);
            state.waiting = waiting;
            reached.into_iter().map(|(_, call): (u64, OnReached)| call).collect()
        };
        self.changed.notify_all();
        for call in reached {
            call();
        }
    }

    /// Calls `call` once `value` is reached, which may be at once and on this thread.
    pub(crate) fn on_reached(&self, value: u64, call: OnReached) {
        {
            let mut state = self.lock();
            if state.value < value {
                state.waiting.push((value, call));
                return;
            }
        }
        call();
    }

    /// Blocks until `value` is reached.
    pub fn wait(&self, value: u64) {
        let state = self.lock();
        let reached = self.changed.wait_while(state, |state| state.value < value);
        drop(reached.unwrap_or_else(PoisonError::into_inner));
    }

    /// Blocks until `value` is reached, at most for `timeout`; answers whether it was.
    #[must_use]
    pub fn wait_for(&self, value: u64, timeout: Duration) -> bool {
        let state = self.lock();
        let waited = self.changed.wait_timeout_while(state, timeout, |state| state.value < value);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fence").field("value", &self.value()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn whoever_waits_is_called_once_the_value_is_reached() {
        let fence = Fence::new(0);
        let calls = Arc::new(AtomicU64::new(0));
        for value in [1, 5, 5, 9] {
            let calls = Arc::clone(&calls);
            fence.on_reached(value, Box::new(move || _ = calls.fetch_add(value, Ordering::Relaxed)));
        }
        fence.set(5);
        assert_eq!(calls.load(Ordering::Relaxed), 11);
        fence.set(2);
        fence.set(100);
        assert_eq!(calls.load(Ordering::Relaxed), 20);
        let late = Arc::clone(&calls);
        fence.on_reached(7, Box::new(move || _ = late.fetch_add(1, Ordering::Relaxed)));
        assert_eq!(calls.load(Ordering::Relaxed), 21, "reached already");
    }

    #[test]
    fn a_thread_waits_until_another_signals() {
        let fence = Arc::new(Fence::new(3));
        assert!(fence.wait_for(3, Duration::ZERO));
        assert!(!fence.wait_for(4, Duration::from_millis(1)));
        let waiter = Arc::clone(&fence);
        let thread = std::thread::spawn(move || waiter.wait(10));
        fence.set(10);
        thread.join().expect("it returns");
    }
}
