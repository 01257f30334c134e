//! The thread that waits for the operating system's notifications.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use heapwright_d3d12::IDXGIAdapter3;
use heapwright_d3d12::event::{Event, EventReset};

/// A thread that calls a closure after each change of a budget.
///
/// One registration speaks for all segment groups: DXGI does not say which budget has changed. Dropping it ends the registration and
/// the thread, and waits for the thread unless it is the thread that drops it.
pub(crate) struct BackgroundUpdates {
    adapter: IDXGIAdapter3,
    cookie: u32,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    /// A budget has changed, somebody wants to know, or the thread is to end.
    event: Event,
    ends: AtomicBool,
    is_healthy: AtomicBool,
}

impl BackgroundUpdates {
    /// Registers with the adapter, and starts the thread. `None`, and a warning, when something of that cannot be had.
    ///
    /// `on_change` is called on the thread, without any lock. A panic in it is logged and has no other consequence.
    pub(crate) fn start(adapter: &IDXGIAdapter3, on_change: impl Fn() + Send + 'static) -> Option<Self> {
        let event = match Event::new(EventReset::Auto) {
            Ok(event) => event,
            Err(error) => {
                tracing::warn!(%error, "no event for changes of the budget; it is asked for instead");
                return None;
            }
        };
        let shared =
            Arc::new(Shared { event, ends: AtomicBool::new(false), is_healthy: AtomicBool::new(true) });
        // SAFETY: the adapter is a live COM object. The handle is an event's, which is open until after the registration has ended:
        // `Drop` ends it, and the fields go after that.
        let registered =
            unsafe { adapter.RegisterVideoMemoryBudgetChangeNotificationEvent(shared.event.handle()) };
        let cookie = match registered {
            Ok(cookie) => cookie,
            Err(error) => {
                let code = error.code().0;
                tracing::warn!(
                    "the adapter does not tell of changes of the budget ({code:#010x}); it is asked for them"
                );
                return None;
            }
        };
        // From here on dropping it ends the registration.
        let mut updates =
            Self { adapter: adapter.clone(), cookie, shared: Arc::clone(&shared), thread: None };
        let name = "heapwright budget".to_owned();
        match std::thread::Builder::new().name(name).spawn(move || shared.run(on_change)) {
            Ok(thread) => {
                updates.thread = Some(thread);
                Some(updates)
            }
            Err(error) => {
                tracing::warn!(%error, "no thread to wait for changes of the budget; it is asked for instead");
                None
            }
        }
    }

    /// Whether changes still arrive.
    pub(crate) fn is_healthy(&self) -> bool {
        self.shared.is_healthy.load(Ordering::Relaxed)
    }

    /// Has the thread call the closure soon, as after a change. Requests that come before it does are one.
    pub(crate) fn request(&self) {
        self.shared.wake();
    }
}

impl Shared {
    fn run(&self, on_change: impl Fn()) {
        loop {
            let waited = self.event.wait(None);
            if self.ends.load(Ordering::Acquire) {
                return;
            }
            if let Err(error) = waited {
                self.is_healthy.store(false, Ordering::Relaxed);
                tracing::warn!(%error, "changes of the budget are no longer waited for; it is asked for instead");
                return;
            }
            if catch_unwind(AssertUnwindSafe(&on_change)).is_err() {
                tracing::error!("a panic after a change of the budget; the change is not taken over");
            }
        }
    }

    fn wake(&self) {
        if let Err(error) = self.event.set() {
            self.is_healthy.store(false, Ordering::Relaxed);
            tracing::warn!(%error, "the thread that waits for changes of the budget cannot be woken");
        }
    }
}

impl Drop for BackgroundUpdates {
    fn drop(&mut self) {
        // SAFETY: the adapter is a live COM object, and the cookie is that of a registration with it that has not ended.
        unsafe { self.adapter.UnregisterVideoMemoryBudgetChangeNotification(self.cookie) };
        self.shared.ends.store(true, Ordering::Release);
        self.shared.wake();
        let Some(thread) = self.thread.take() else { return };
        // The closure may hold the last reference to whoever holds this.
        if thread.thread().id() != std::thread::current().id() {
            let _panicked = thread.join();
        }
    }
}

impl fmt::Debug for BackgroundUpdates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackgroundUpdates")
            .field("cookie", &self.cookie)
            .field("is_healthy", &self.is_healthy())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, any(windows, target_os = "linux", target_os = "android")))]
mod tests {
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::sync::{Mutex, OnceLock};
    use std::time::Duration;

    use heapwright_core::ByteSize;
    use heapwright_runtime::ddi::SegmentGroup;
    use heapwright_runtime::{HostProfile, Instance};

    use super::super::faulty_adapter::FaultyAdapter;
    use super::*;

    /// Far above what any of it takes: what does not come by then does not come.
    const SOON: Duration = Duration::from_secs(20);

    fn gpu() -> Instance {
        Instance::open(HostProfile::default_profile()).expect("a fresh instance")
    }

    #[test]
    fn a_change_and_a_request_arrive() {
        let gpu = gpu();
        let (told, changes) = channel();
        let updates = BackgroundUpdates::start(&gpu.adapter, move || {
            let _gone = told.send(std::thread::current().id());
        })
        .expect("the adapter tells");
        for group in [SegmentGroup::Local, SegmentGroup::NonLocal] {
            gpu.set_budget(group, ByteSize::from_gib(1));
            let thread = changes.recv_timeout(SOON).expect("told");
            assert_ne!(thread, std::thread::current().id());
        }
        updates.request();
        changes.recv_timeout(SOON).expect("told");
        assert!(updates.is_healthy());
        drop(updates);
        // The thread has ended, and with it the closure.
        assert_eq!(changes.recv_timeout(SOON), Err(RecvTimeoutError::Disconnected));
        gpu.set_budget(SegmentGroup::Local, ByteSize::from_gib(2));
    }

    #[test]
    fn it_may_be_dropped_by_its_own_thread() {
        let gpu = gpu();
        let slot: Arc<OnceLock<Mutex<Option<BackgroundUpdates>>>> = Arc::default();
        let (told, dropped) = channel();
        let own = Arc::clone(&slot);
        let updates = BackgroundUpdates::start(&gpu.adapter, move || {
            let updates = own.wait().lock().expect("nobody panics").take();
            assert!(updates.is_some());
            drop(updates);
            let _gone = told.send(());
        })
        .expect("the adapter tells");
        slot.set(Mutex::new(Some(updates))).expect("set once");
        gpu.set_budget(SegmentGroup::Local, ByteSize::from_gib(1));
        dropped.recv_timeout(SOON).expect("dropped");
        assert_eq!(dropped.recv_timeout(SOON), Err(RecvTimeoutError::Disconnected), "the thread has ended");
    }

    #[test]
    fn an_adapter_that_does_not_tell_is_no_error() {
        let adapter = FaultyAdapter::new(ByteSize::from_gib(1), ByteSize::from_gib(1)).to_interface();
        assert!(BackgroundUpdates::start(&adapter, || unreachable!("nothing changes")).is_none());
    }

    #[test]
    fn a_panic_ends_nothing() {
        let gpu = gpu();
        let (told, changes) = channel();
        let calls = AtomicBool::new(false);
        let updates = BackgroundUpdates::start(&gpu.adapter, move || {
            let is_first = !calls.swap(true, Ordering::Relaxed);
            let _gone = told.send(is_first);
            assert!(!is_first, "a panic on purpose");
        })
        .expect("the adapter tells");
        gpu.set_budget(SegmentGroup::Local, ByteSize::from_gib(1));
        assert!(changes.recv_timeout(SOON).expect("told"));
        gpu.set_budget(SegmentGroup::Local, ByteSize::from_gib(2));
        assert!(!changes.recv_timeout(SOON).expect("told"));
        assert!(updates.is_healthy());
    }
}
