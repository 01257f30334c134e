//! Trim notifications of `ID3D12Device15`.

use std::hint::black_box;
use std::panic::catch_unwind;
use std::sync::{Arc, Mutex, PoisonError};

use heapwright_core::ByteSize;
use heapwright_d3d12::hresult::Named;
use heapwright_d3d12::trim::*;
use heapwright_d3d12::{DXGI_ERROR_ALREADY_EXISTS, ID3D12Device};
use windows_core::{HRESULT, Interface};

/// The accumulated request of trim notifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TrimRequest {
    /// Evict heaps that were not used since the last periodic trim.
    pub(crate) is_periodic: bool,
    /// Restart the period. Takes precedence over `is_periodic`: their order is not recorded, and a restart evicts no
    /// used heap.
    pub(crate) restarts: bool,
    /// Minimum number of bytes to evict.
    pub(crate) bytes: ByteSize,
}

/// Collects notifications, and wakes a thread.
pub(super) struct TrimInbox {
    request: Mutex<TrimRequest>,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl TrimInbox {
    pub(super) fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self { request: Mutex::default(), wake: Box::new(wake) }
    }

    /// Takes the accumulated request.
    #[inline]
    pub(super) fn take(&self) -> TrimRequest {
        std::mem::take(&mut *self.request.lock().unwrap_or_else(PoisonError::into_inner))
    }

    #[inline]
    fn hear(&self, flags: D3D12_TRIM_NOTIFICATION_FLAGS, bytes: ByteSize) {
        let has = |flag| flags & flag != 0;
        {
            let mut request = self.request.lock().unwrap_or_else(PoisonError::into_inner);
            request.is_periodic |= has(D3D12_TRIM_NOTIFICATION_FLAG_PERIODIC_TRIM);
            request.restarts |= has(D3D12_TRIM_NOTIFICATION_FLAG_RESTART_PERIODIC_TRIM);
            if has(D3D12_TRIM_NOTIFICATION_FLAG_TRIM_TO_BUDGET) {
                // The bytes by which usage exceeds the budget now, which include those of an earlier notification.
                request.bytes = request.bytes.max(bytes);
            }
        }
        (self.wake)();
    }
}

/// Called by the operating system, on any thread. Takes a lock that is only held for a copy, and wakes a thread. It
/// holds no reference to the manager, so the manager is never dropped within it, where registrations cannot end.
///
/// D3D12 registers a function only once for each device: each `NUMBER` creates another function, for another manager.
unsafe extern "system" fn hear<const NUMBER: u32>(notification: *const D3D12_TRIM_NOTIFICATION) {
    // The linker may merge functions with the same code.
    black_box(NUMBER);
    let heard = catch_unwind(|| {
        // SAFETY: D3D12 passes a notification that lives until the call returns.
        let notification = unsafe { &*notification };
        // SAFETY: the context is that of the registration, which owns a reference to the inbox for as long as it lasts.
        let inbox = unsafe { &*notification.pContext.cast::<TrimInbox>().cast_const() };
        inbox.hear(notification.Flags, ByteSize::new(notification.NumBytesToTrim));
    });
    // A panic of a log subscriber must not unwind through D3D12.
    std::mem::forget(heard);
}

const FUNCTIONS: [unsafe extern "system" fn(*const D3D12_TRIM_NOTIFICATION); 8] =
    [hear::<0>, hear::<1>, hear::<2>, hear::<3>, hear::<4>, hear::<5>, hear::<6>, hear::<7>];

/// A registration with a device, which [`end`](Self::end) ends. It owns a reference to its inbox.
pub(super) struct TrimRegistration {
    device: ID3D12Device15,
    cookie: u32,
    inbox: *const TrimInbox,
}

// SAFETY: the device is free-threaded, and the pointer is a reference to an inbox, which is `Send` and `Sync`.
unsafe impl Send for TrimRegistration {}
// SAFETY: as above.
unsafe impl Sync for TrimRegistration {}

const _: () = {
    const fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<(ID3D12Device15, Arc<TrimInbox>)>();
};

impl TrimRegistration {
    /// Registers an inbox. Returns `None` if the device has no trim notifications, or (with a warning) refuses.
    #[inline]
    pub(super) fn start(device: &ID3D12Device, inbox: &Arc<TrimInbox>) -> Option<Self> {
        let device: ID3D12Device15 = device.cast().ok()?;
        let inbox = Arc::into_raw(Arc::clone(inbox));
        let mut result = DXGI_ERROR_ALREADY_EXISTS;
        for function in FUNCTIONS {
            let mut data = D3D12_REGISTER_TRIM_NOTIFICATION {
                pfnCallback: Some(function),
                pContext: inbox.cast_mut().cast(),
                CallbackCookie: 0,
            };
            // SAFETY: a live COM object and a structure of this call. The context lives until the registration has
            // ended.
            result = unsafe { device.RegisterTrimNotificationCallback(&raw mut data) };
            if result.is_ok() {
                return Some(Self { device, cookie: data.CallbackCookie, inbox });
            }
            // Another manager of the device has registered this function.
            if result != DXGI_ERROR_ALREADY_EXISTS {
                break;
            }
        }
        // SAFETY: from `Arc::into_raw` above, and registered with nobody.
        drop(unsafe { Arc::from_raw(inbox) });
        if result != heapwright_d3d12::E_NOTIMPL {
            tracing::warn!(
                "RegisterTrimNotificationCallback failed; no trim notifications: {:#}",
                Named(result)
            );
        }
        None
    }

    /// Ends the registration. The callback is not running when this returns and is not called again. Returns the
    /// registration with the error if D3D12 refuses, as it does within a trim notification callback.
    #[inline]
    pub(super) fn end(self) -> Result<(), (Self, HRESULT)> {
        // SAFETY: a live COM object, and the cookie of a registration that has not ended.
        let result = unsafe { self.device.UnregisterTrimNotificationCallback(self.cookie) };
        if result.is_err() {
            return Err((self, result));
        }
        // SAFETY: from `Arc::into_raw`, once; nobody calls the callback any more.
        drop(unsafe { Arc::from_raw(self.inbox) });
        Ok(())
    }
}
