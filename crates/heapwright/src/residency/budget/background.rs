//! The thread that waits for the operating system's notifications of budget changes and of advisable trims.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use heapwright_d3d12::event::{Event, EventReset};
use heapwright_d3d12::hresult::Named;
use heapwright_d3d12::{ID3D12Device, IDXGIAdapter3};

use super::trim::{TrimInbox, TrimRegistration, TrimRequest};

/// A thread that calls a closure after each change of a budget and each trim notification.
///
/// One registration covers all segment groups, because DXGI does not say which budget has changed. Dropping it ends the
/// registrations and the thread. The drop waits for the thread, except on that thread itself and in another trim
/// notification callback. Registrations cannot end in such a callback, so the thread ends them after it has returned.
pub(crate) struct BackgroundUpdates {
    budget: Option<(IDXGIAdapter3, u32)>,
    trim: Option<TrimRegistration>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    /// Set when a budget has changed, when an update is requested, or when the thread must end.
    event: Event,
    ends: AtomicBool,
    is_healthy: AtomicBool,
    /// The registration that the thread must end, because the thread that dropped it could not.
    left: Mutex<Option<TrimRegistration>>,
}

impl BackgroundUpdates {
    /// Registers with the adapter and the device, and starts the thread. Returns `None`, with a warning, if neither
    /// sends notifications or the thread cannot be created.
    ///
    /// `on_change` is called on the thread, without any lock, with the accumulated request of the trim notifications. A
    /// panic in it is logged and otherwise ignored.
    pub(crate) fn start(
        adapter: Option<&IDXGIAdapter3>,
        device: Option<&ID3D12Device>,
        on_change: impl Fn(TrimRequest) + Send + 'static,
    ) -> Option<Self> {
        let event = match Event::new(EventReset::Auto) {
            Ok(event) => event,
            Err(error) => {
                tracing::warn!(%error, "failed to create an event for budget changes; polling the budget instead");
                return None;
            }
        };
        let shared = Arc::new(Shared {
            event,
            ends: AtomicBool::new(false),
            is_healthy: AtomicBool::new(true),
            left: Mutex::default(),
        });
        let waker = Arc::clone(&shared);
        let inbox = Arc::new(TrimInbox::new(move || waker.wake()));
        // From here on, dropping `updates` ends the registrations.
        let mut updates = Self {
            budget: adapter.and_then(|adapter| shared.register(adapter)),
            trim: device.and_then(|device| TrimRegistration::start(device, &inbox)),
            shared: Arc::clone(&shared),
            thread: None,
        };
        if updates.budget.is_none() && updates.trim.is_none() {
            return None;
        }
        let name = "heapwright budget".to_owned();
        match std::thread::Builder::new().name(name).spawn(move || shared.run(|| on_change(inbox.take()))) {
            Ok(thread) => {
                updates.thread = Some(thread);
                Some(updates)
            }
            Err(error) => {
                tracing::warn!(%error, "failed to spawn the budget thread; polling the budget instead");
                None
            }
        }
    }

    /// Returns whether notifications still arrive.
    #[inline]
    pub(crate) fn is_healthy(&self) -> bool {
        self.shared.is_healthy.load(Ordering::Relaxed)
    }

    /// Makes the thread call the closure soon, as after a change. Requests before the call are merged.
    #[inline]
    pub(crate) fn request(&self) {
        self.shared.wake();
    }
}

impl Shared {
    /// Registers the event with the adapter.
    #[inline]
    fn register(&self, adapter: &IDXGIAdapter3) -> Option<(IDXGIAdapter3, u32)> {
        // SAFETY: the adapter is a live COM object. The handle is an event's, which is open until after the
        // registration has ended: dropping `BackgroundUpdates` ends it, which has a reference to the event.
        let registered =
            unsafe { adapter.RegisterVideoMemoryBudgetChangeNotificationEvent(self.event.handle()) };
        match registered {
            Ok(cookie) => Some((adapter.clone(), cookie)),
            Err(error) => {
                let code = Named(error.code());
                tracing::warn!(
                    "RegisterVideoMemoryBudgetChangeNotificationEvent failed ({code:#}); polling the budget instead"
                );
                None
            }
        }
    }

    fn run(&self, on_change: impl Fn()) {
        loop {
            let waited = self.event.wait(None);
            if self.ends.load(Ordering::Acquire) {
                self.end_what_is_left();
                return;
            }
            if let Err(error) = waited {
                self.is_healthy.store(false, Ordering::Relaxed);
                tracing::warn!(%error, "waiting for budget changes failed; polling the budget instead");
                return;
            }
            if catch_unwind(AssertUnwindSafe(&on_change)).is_err() {
                tracing::error!("panic while handling a budget change; the change is ignored");
            }
        }
    }

    /// Ends a registration that could not end within a callback.
    #[inline]
    fn end_what_is_left(&self) {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Err((registration, hresult))) = left.map(TrimRegistration::end) {
            tracing::warn!(
                "UnregisterTrimNotificationCallback failed; leaking the registration: {:#}",
                Named(hresult)
            );
            // The callback may still be called, so the objects that it uses must stay alive.
            std::mem::forget(registration);
        }
    }

    #[inline]
    fn wake(&self) {
        if let Err(error) = self.event.set() {
            self.is_healthy.store(false, Ordering::Relaxed);
            tracing::warn!(%error, "waking the budget thread failed; polling the budget instead");
        }
    }
}

impl Drop for BackgroundUpdates {
    #[inline]
    fn drop(&mut self) {
        if let Some((adapter, cookie)) = self.budget.take() {
            // SAFETY: the adapter is a live COM object, and the cookie is that of a registration with it that has not
            // ended.
            unsafe { adapter.UnregisterVideoMemoryBudgetChangeNotification(cookie) };
        }
        let ended = self.trim.take().map_or(Ok(()), TrimRegistration::end);
        let is_left = ended.is_err();
        if let Err((registration, _)) = ended {
            *self.shared.left.lock().unwrap_or_else(PoisonError::into_inner) = Some(registration);
        }
        self.shared.ends.store(true, Ordering::Release);
        self.shared.wake();
        let Some(thread) = self.thread.take() else { return };
        // The closure may hold the last reference to the owner of this. A registration that is left ends after this
        // call returns.
        if !is_left && thread.thread().id() != std::thread::current().id() {
            let _panicked = thread.join();
        }
    }
}

#[cfg(test)]
#[cfg(any(windows, target_os = "linux", target_os = "android"))]
mod tests {
    use std::sync::OnceLock;
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    use heapwright_core::ByteSize;
    use heapwright_runtime::SegmentGroup;
    use heapwright_runtime::{HostProfile, Instance};

    use super::super::budgets::tests::faulty_adapter::FaultyAdapter;
    use super::*;

    /// Far longer than any of it takes; a message that has not arrived by then will not arrive.
    const SOON: Duration = Duration::from_secs(20);

    #[inline]
    fn gpu() -> Instance {
        Instance::open(HostProfile::default_profile()).expect("the instance opens")
    }

    #[test]
    #[inline]
    fn changes_and_requests_wake_the_thread() {
        let gpu = gpu();
        let (told, changes) = channel();
        let updates = BackgroundUpdates::start(Some(&gpu.adapter), None, move |_| {
            let _gone = told.send(std::thread::current().id());
        })
        .expect("the adapter sends notifications");
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
    #[inline]
    fn the_updates_may_be_dropped_on_their_own_thread() {
        let gpu = gpu();
        let slot: Arc<OnceLock<Mutex<Option<BackgroundUpdates>>>> = Arc::default();
        let (told, dropped) = channel();
        let own = Arc::clone(&slot);
        let updates = BackgroundUpdates::start(Some(&gpu.adapter), None, move |_| {
            let updates = own.wait().lock().expect("no panic").take();
            assert!(updates.is_some());
            drop(updates);
            let _gone = told.send(());
        })
        .expect("the adapter sends notifications");
        assert!(slot.set(Mutex::new(Some(updates))).is_ok(), "set only once");
        gpu.set_budget(SegmentGroup::Local, ByteSize::from_gib(1));
        dropped.recv_timeout(SOON).expect("dropped");
        assert_eq!(dropped.recv_timeout(SOON), Err(RecvTimeoutError::Disconnected), "the thread ended");
    }

    #[test]
    #[inline]
    fn adapters_without_notifications_are_allowed() {
        let adapter = FaultyAdapter::new(ByteSize::from_gib(1), ByteSize::from_gib(1)).to_interface();
        assert!(BackgroundUpdates::start(Some(&adapter), None, |_| unreachable!("no change")).is_none());
    }

    #[test]
    #[inline]
    fn a_panic_does_not_end_the_thread() {
        let gpu = gpu();
        let (told, changes) = channel();
        let calls = AtomicBool::new(false);
        let updates = BackgroundUpdates::start(Some(&gpu.adapter), None, move |_| {
            let is_first = !calls.swap(true, Ordering::Relaxed);
            let _gone = told.send(is_first);
            assert!(!is_first, "intended panic");
        })
        .expect("the adapter sends notifications");
        gpu.set_budget(SegmentGroup::Local, ByteSize::from_gib(1));
        assert!(changes.recv_timeout(SOON).expect("told"));
        gpu.set_budget(SegmentGroup::Local, ByteSize::from_gib(2));
        assert!(!changes.recv_timeout(SOON).expect("told"));
        assert!(updates.is_healthy());
    }
}
