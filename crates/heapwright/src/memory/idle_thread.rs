//! The thread that releases empty heaps by time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;

use super::idle_clock::{MOST_PERIODS, PERIOD};
use super::nesting::Owner;

/// The number of periods after which nothing is left to release if no heap becomes empty: heaps that contain only unused slabs or
/// buffers leave after up to twice the longest time.
const LAST_PERIOD: u64 = 2 * MOST_PERIODS + 2;

/// A thread that releases idle memory once in a period. It is started when a heap first becomes empty, sleeps while nothing can be idle,
/// and ends with its allocator, so that a DLL can be unloaded.
#[derive(Debug, Default)]
pub(crate) struct IdleThread {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Whether the thread is awake, or is about to be.
    is_awake: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    has_ended: bool,
    thread: Option<JoinHandle<()>>,
}

impl IdleThread {
    /// Has the thread call [`release_idle`](Owner::release_idle) of the allocator for as long as that may release something. Returns whether
    /// it slept.
    pub(crate) fn wake(&self, owner: &Weak<dyn Owner>) -> bool {
        let Shared { is_awake, changed, .. } = &*self.shared;
        if is_awake.load(Ordering::Relaxed) || is_awake.swap(true, Ordering::SeqCst) {
            return false;
        }
        // Under the lock, so that the thread does not miss it between looking and waiting.
        let mut state = self.shared.lock();
        if state.thread.is_none() && !state.has_ended {
            let (shared, owner) = (Arc::clone(&self.shared), Weak::clone(owner));
            let thread = std::thread::Builder::new().name("heapwright idle".to_owned());
            match thread.spawn(move || shared.run(&owner)) {
                Ok(thread) => state.thread = Some(thread),
                Err(error) => {
                    tracing::warn!(%error, "failed to spawn the thread that releases empty heaps by time");
                }
            }
        }
        changed.notify_all();
        true
    }

    /// Ends the thread, and waits for its end unless this is the thread.
    pub(crate) fn end(&self) {
        let thread = {
            let mut state = self.shared.lock();
            state.has_ended = true;
            state.thread.take()
        };
        self.shared.changed.notify_all();
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _panicked = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end of a period in which the thread is awake. Returns `false` at the end of the thread.
    fn wait(&self) -> bool {
        let sleeps = |state: &mut State| !state.has_ended && !self.is_awake.load(Ordering::SeqCst);
        let state = self.changed.wait_while(self.lock(), sleeps).unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(state, PERIOD, |state| !state.has_ended);
        !waited.unwrap_or_else(PoisonError::into_inner).0.has_ended
    }

    fn run(&self, owner: &Weak<dyn Owner>) {
        let mut quiet_periods = 0;
        while self.wait() {
            // This may become the last handle of the allocator.
            let Some(owner) = owner.upgrade() else { return };
            quiet_periods = if owner.take_became_empty() { 0 } else { quiet_periods + 1 };
            owner.release_idle();
            if quiet_periods > LAST_PERIOD {
                quiet_periods = 0;
                self.is_awake.store(false, Ordering::SeqCst);
                // A heap that became empty before this did not wake the thread.
                self.is_awake.fetch_or(owner.became_empty(), Ordering::SeqCst);
            }
        }
    }
}
