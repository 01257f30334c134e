//! A fence: a value that queues and the CPU can set and wait for.
//!
//! A value is *reached* when the fence's value is greater than or equal to it. As in D3D12, the value can also be
//! decreased. A wait is released permanently by the first set that reaches its value after the wait began, even if the
//! fence is set back before the waiter runs (vkd3d-proton's test_fence_signal_availability records this for Windows).
//! It is also released when the fence's last object is released.

pub(crate) mod clock;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use self::clock::{Clock, FenceHistory};

/// What waits for a value: it signals an event or wakes a thread.
pub(crate) trait Waiter: Send {
    /// Returns whether the wait still matters. Fences drop waiters that are no longer wanted. Must not use a fence.
    fn is_wanted(&self) -> bool {
        true
    }

    /// Ends the wait. Called once, when the value is reached or the fence's last object is released.
    fn release(self: Box<Self>, fence: &Fence);
}

impl<F: FnOnce(&Fence) + Send> Waiter for F {
    fn release(self: Box<Self>, fence: &Fence) {
        self(fence);
    }
}

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
    /// The waits for values that are not reached.
    waiting: Vec<(u64, Box<dyn Waiter>)>,
    /// Length of `waiting` at which waiters that are not wanted are removed from it.
    sweep_at: usize,
}

/// One wait of a thread or queue for a fence value, or for the first of several. Fences do not keep it alive.
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
            state: Mutex::new(State { value, is_lost: false, waiting: Vec::new(), sweep_at: 0 }),
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

    /// Increases or decreases the value, and releases the waiters of all values that are now reached, on this thread
    /// and outside of the fence's lock. Has no effect once the fence is [lost](Self::lose).
    pub(crate) fn set(&self, value: u64) {
        self.change(value, false);
    }

    /// Sets the value to `u64::MAX` permanently, as D3D12 does for the fences of a removed device.
    pub(crate) fn lose(&self) {
        self.change(u64::MAX, true);
    }

    fn change(&self, value: u64, lose: bool) {
        let reached: Vec<_> = {
            let mut state = self.lock();
            state.is_lost |= lose;
            state.value = if state.is_lost { u64::MAX } else { value };
            let value = state.value;
            let (reached, waiting) = state.waiting.drain(..).partition(|&(at, _)| at <= value);
            state.waiting = waiting;
            reached
        };
        for (_, waiter) in reached {
            waiter.release(self);
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
            for (_, waiter) in waiting {
                waiter.release(self);
            }
        }
    }

    /// Releases `waiter` when `value` is reached: immediately and on this thread if it already is. O(1), amortized.
    pub(crate) fn on_reached(&self, value: u64, waiter: Box<dyn Waiter>) {
        {
            let mut state = self.lock();
            if state.value < value {
                if state.waiting.len() >= state.sweep_at {
                    state.waiting.retain(|(_, waiter)| waiter.is_wanted());
                    state.sweep_at = (state.waiting.len() * 2).max(16);
                }
                state.waiting.push((value, waiter));
                return;
            }
        }
        waiter.release(self);
    }

    /// Begins to wait for `value`.
    pub(crate) fn begin_wait(&self, value: u64) -> Arc<FenceWait> {
        FenceWait::for_any([(self, value)])
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
    /// Begins to wait for the first fence of `fences` that reaches its value.
    pub(crate) fn for_any<'a>(fences: impl IntoIterator<Item = (&'a Fence, u64)>) -> Arc<Self> {
        let wait = Arc::new(Self::default());
        for (fence, value) in fences {
            fence.on_reached(value, Box::new(WaitingThread { wait: Arc::downgrade(&wait), value }));
        }
        wait
    }

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

/// Releases a [`FenceWait`].
struct WaitingThread {
    wait: Weak<FenceWait>,
    value: u64,
}

impl Waiter for WaitingThread {
    fn is_wanted(&self) -> bool {
        self.wait.upgrade().is_some_and(|wait| !wait.is_released())
    }

    fn release(self: Box<Self>, fence: &Fence) {
        let Some(wait) = self.wait.upgrade() else { return };
        let clock = fence.history().reached(self.value).cloned();
        wait.lock().get_or_insert(Release { clock });
        wait.released.notify_all();
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
            fence.on_reached(value, Box::new(move |_: &Fence| _ = calls.fetch_add(value, Ordering::Relaxed)));
        }
        fence.set(5);
        assert_eq!(calls.load(Ordering::Relaxed), 11);
        fence.set(2);
        fence.set(100);
        assert_eq!(calls.load(Ordering::Relaxed), 20);
        let late = Arc::clone(&calls);
        fence.on_reached(7, Box::new(move |_: &Fence| _ = late.fetch_add(1, Ordering::Relaxed)));
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
    fn waits_that_nobody_needs_are_dropped() {
        let [never, soon] = [0, 0].map(Fence::new);
        let kept = never.begin_wait(2);
        for value in 1..=10_000 {
            drop(never.begin_wait(1));
            let any = FenceWait::for_any([(&never, 1), (&soon, value)]);
            assert!(!any.is_released());
            soon.set(value);
            assert!(any.is_released());
        }
        assert!(never.lock().waiting.len() <= 20, "{} waits", never.lock().waiting.len());
        assert!(soon.lock().waiting.is_empty());
        never.set(2);
        assert!(kept.is_released());
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
