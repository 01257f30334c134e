//! A fence: a value that queues and the CPU can set and wait for.
//!
//! A value is *reached* when the fence's value is greater than or equal to it. As in D3D12, the value can also be
//! decreased. A wait is released permanently by the first set that reaches its value after the wait began, even if the
//! fence is set back before the waiter runs (vkd3d-proton's test_fence_signal_availability records this for Windows).
//! It is also released when the fence's last object is released.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::aliasing::{Clock, FenceHistory};

/// A callback for when a value is reached. It signals an event or wakes a thread.
pub(crate) type OnReached = Box<dyn FnOnce(&Fence) + Send>;

/// A fence's value and its waits.
pub(crate) struct Fence {
    state: Mutex<State>,
    /// Number of the application's objects that share the value.
    objects: AtomicUsize,
    /// History of signals, for the aliasing tracker.
    history: Mutex<FenceHistory>,
}

struct State {
    value: u64,
    /// Whether the device is removed. The value then stays `u64::MAX`.
    is_lost: bool,
    waiting: Vec<(u64, OnReached)>,
}

/// One wait for a fence value.
#[derive(Debug, Default)]
pub(crate) struct FenceWait {
    state: Mutex<Option<Release>>,
    released: Condvar,
}

/// The end of a wait.
#[derive(Debug)]
struct Release {
    /// State of the aliasing clock at the signal. `None` if no signal released the wait.
    clock: Option<Clock>,
}

impl Fence {
    /// Creates a fence with the given value.
    pub(crate) fn new(value: u64) -> Self {
        Self {
            state: Mutex::new(State { value, is_lost: false, waiting: Vec::new() }),
            objects: AtomicUsize::new(0),
            history: Mutex::new(FenceHistory::new(value)),
        }
    }

    /// Locks the history of signals, for the aliasing tracker.
    pub(crate) fn history(&self) -> MutexGuard<'_, FenceHistory> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the current value.
    pub(crate) fn value(&self) -> u64 {
        self.lock().value
    }

    /// Increases or decreases the value, and calls the callbacks of all values that are now reached. Callbacks run on
    /// this thread, outside of the fence's lock. Has no effect once the fence is [lost](Self::lose).
    pub(crate) fn set(&self, value: u64) {
        self.change(value, false);
    }

    /// Sets the value to `u64::MAX` permanently, as D3D12 does for the fences of a removed device.
    pub(crate) fn lose(&self) {
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
        for call in reached {
            call(self);
        }
    }

    /// Counts one more of the application's objects that share the value.
    pub(crate) fn add_object(&self) {
        self.objects.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one object less. Releasing the last one ends all waits, because the application can no longer signal the
    /// fence.
    pub(crate) fn remove_object(&self) {
        if self.objects.fetch_sub(1, Ordering::AcqRel) == 1 {
            let waiting = std::mem::take(&mut self.lock().waiting);
            for (_, call) in waiting {
                call(self);
            }
        }
    }

    /// Calls `call` when `value` is reached: immediately and on this thread if it already is.
    pub(crate) fn on_reached(&self, value: u64, call: OnReached) {
        {
            let mut state = self.lock();
            if state.value < value {
                state.waiting.push((value, call));
                return;
            }
        }
        call(self);
    }

    /// Begins to wait for `value`.
    pub(crate) fn begin_wait(&self, value: u64) -> Arc<FenceWait> {
        let wait = Arc::new(FenceWait::default());
        let waiting = Arc::clone(&wait);
        self.on_reached(
            value,
            Box::new(move |fence| {
                let clock = fence.history().reached(value).cloned();
                *waiting.lock() = Some(Release { clock });
                waiting.released.notify_all();
            }),
        );
        wait
    }

    /// Blocks until `value` is reached.
    pub(crate) fn wait(&self, value: u64) {
        self.begin_wait(value).block();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FenceWait {
    /// Blocks until the wait is released.
    pub(crate) fn block(&self) {
        let released = self.released.wait_while(self.lock(), |release| release.is_none());
        drop(released.unwrap_or_else(PoisonError::into_inner));
    }

    /// Blocks until the wait is released or `timeout` has elapsed. Returns whether the wait was released.
    pub(crate) fn block_for(&self, timeout: Duration) -> bool {
        let waited = self.released.wait_timeout_while(self.lock(), timeout, |release| release.is_none());
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Returns whether the wait was released.
    pub(crate) fn is_released(&self) -> bool {
        self.lock().is_some()
    }

    /// Returns the aliasing clock at the signal that released the wait.
    pub(crate) fn clock(&self) -> Option<Clock> {
        self.lock().as_ref()?.clock.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Release>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn waiters_are_called_when_the_value_is_reached() {
        let fence = Fence::new(0);
        let calls = Arc::new(AtomicU64::new(0));
        for value in [1, 5, 5, 9] {
            let calls = Arc::clone(&calls);
            fence.on_reached(value, Box::new(move |_| _ = calls.fetch_add(value, Ordering::Relaxed)));
        }
        fence.set(5);
        assert_eq!(calls.load(Ordering::Relaxed), 11);
        fence.set(2);
        fence.set(100);
        assert_eq!(calls.load(Ordering::Relaxed), 20);
        let late = Arc::clone(&calls);
        fence.on_reached(7, Box::new(move |_| _ = late.fetch_add(1, Ordering::Relaxed)));
        assert_eq!(calls.load(Ordering::Relaxed), 21, "reached already");
    }

    #[test]
    fn a_thread_waits_until_another_signals() {
        let fence = Arc::new(Fence::new(3));
        assert!(fence.begin_wait(3).block_for(Duration::ZERO));
        assert!(!fence.begin_wait(4).block_for(Duration::from_millis(1)));
        let waiter = Arc::clone(&fence);
        let thread = std::thread::spawn(move || waiter.wait(10));
        fence.set(10);
        thread.join().expect("the waiting thread does not panic");
    }

    #[test]
    fn waits_end_permanently_and_with_the_last_object() {
        let fence = Fence::new(0);
        (0..2).for_each(|_| fence.add_object());
        let [first, second] = [5, 6].map(|value| fence.begin_wait(value));
        fence.set(5);
        fence.set(0);
        assert!(first.is_released() && !second.is_released());
        assert!(!fence.begin_wait(5).is_released(), "the value was set back before this wait began");
        fence.remove_object();
        assert!(!second.is_released());
        fence.remove_object();
        assert!(second.is_released());
        assert_eq!(fence.value(), 0);
    }
}
