//! Trim notifications of `ID3D12Device15`: callbacks of the application, called when trimming is advisable.

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use heapwright_core::ByteSize;
use heapwright_d3d12::trim::{
    D3D12_REGISTER_TRIM_NOTIFICATION, D3D12_TRIM_NOTIFICATION, D3D12_TRIM_NOTIFICATION_FLAG_PERIODIC_TRIM,
    D3D12_TRIM_NOTIFICATION_FLAG_RESTART_PERIODIC_TRIM, D3D12_TRIM_NOTIFICATION_FLAG_TRIM_TO_BUDGET,
    D3D12_TRIM_NOTIFICATION_FLAGS,
};
use heapwright_d3d12::{DXGI_ERROR_ALREADY_EXISTS, DXGI_ERROR_NOT_FOUND};

use crate::rules::Refusal;

/// A `D3D12_PFN_TRIM_NOTIFICATION_CALLBACK` that is not null.
type Function = unsafe extern "system" fn(*const D3D12_TRIM_NOTIFICATION);

/// The registered callbacks, in the order of their registration.
#[derive(Default)]
pub(crate) struct TrimNotifications {
    state: Mutex<State>,
    /// Held while callbacks run, so that `unregister` returns only when the callback is no longer running.
    calling: Mutex<()>,
}

#[derive(Default)]
struct State {
    registrations: Vec<Registration>,
    /// Cookie of the next registration. The first is zero, which the specification allows; programs must not treat it
    /// as invalid.
    next_cookie: u32,
    /// The thread that is running callbacks.
    caller: Option<ThreadId>,
}

#[derive(Clone, Copy)]
struct Registration {
    function: Function,
    context: *mut c_void,
    cookie: u32,
}

// SAFETY: the context is only passed back to the application's callback. By the specification, whoever registers a
// callback promises that any thread may call it.
unsafe impl Send for Registration {}

impl TrimNotifications {
    /// Implements `RegisterTrimNotificationCallback` and returns the cookie.
    ///
    /// # Safety
    ///
    /// The callback may be called with its context from any thread, until it is unregistered.
    pub(super) unsafe fn register(&self, data: &D3D12_REGISTER_TRIM_NOTIFICATION) -> Result<u32, Refusal> {
        let function = data.pfnCallback.ok_or_else(|| Refusal::invalid("pfnCallback is null"))?;
        let mut state = self.state();
        state.check_caller()?;
        if state.registrations.iter().any(|one| std::ptr::fn_addr_eq(one.function, function)) {
            return Err(Refusal::new(DXGI_ERROR_ALREADY_EXISTS, "pfnCallback is already registered"));
        }
        let cookie = state.next_cookie;
        if cookie == u32::MAX {
            return Err(Refusal::out_of_memory("no cookies left"));
        }
        state.next_cookie += 1;
        state.registrations.push(Registration { function, context: data.pContext, cookie });
        Ok(cookie)
    }

    /// Implements `UnregisterTrimNotificationCallback`. Returns when the callback is not running.
    pub(super) fn unregister(&self, cookie: u32) -> Result<(), Refusal> {
        // Checked first: a caller inside of a callback would wait for itself.
        self.state().check_caller()?;
        let _no_callback_runs = self.calling.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.state();
        let at = state.registrations.iter().position(|one| one.cookie == cookie);
        let at = at.ok_or_else(|| {
            Refusal::new(DXGI_ERROR_NOT_FOUND, format!("CallbackCookie {cookie} is not registered"))
        })?;
        state.registrations.remove(at);
        Ok(())
    }

    /// Calls every callback on this thread and returns their number.
    pub(crate) fn raise(
        &self,
        flags: D3D12_TRIM_NOTIFICATION_FLAGS,
        bytes: ByteSize,
    ) -> Result<usize, Refusal> {
        let (periodic, restart) =
            (D3D12_TRIM_NOTIFICATION_FLAG_PERIODIC_TRIM, D3D12_TRIM_NOTIFICATION_FLAG_RESTART_PERIODIC_TRIM);
        if flags & !(periodic | restart | D3D12_TRIM_NOTIFICATION_FLAG_TRIM_TO_BUDGET) != 0 {
            return Err(Refusal::invalid(format!(
                "{flags:#x} has bits that are not D3D12_TRIM_NOTIFICATION_FLAGS"
            )));
        }
        if flags & periodic != 0 && flags & restart != 0 {
            return Err(Refusal::invalid("PERIODIC_TRIM and RESTART_PERIODIC_TRIM are mutually exclusive"));
        }
        self.state().check_caller()?;
        let _calling = self.calling.lock().unwrap_or_else(PoisonError::into_inner);
        let registrations = {
            let mut state = self.state();
            state.caller = Some(std::thread::current().id());
            state.registrations.clone()
        };
        for one in &registrations {
            let notification =
                D3D12_TRIM_NOTIFICATION { pContext: one.context, Flags: flags, NumBytesToTrim: bytes.get() };
            // SAFETY: whoever registered the callback promised that any thread may call it with its context until it is
            // unregistered. Unregistering waits for the lock that is held here. The notification outlives the call.
            unsafe { (one.function)(&raw const notification) };
        }
        self.state().caller = None;
        Ok(registrations.len())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Refuses calls that the specification does not allow in a callback.
    fn check_caller(&self) -> Result<(), Refusal> {
        if self.caller == Some(std::thread::current().id()) {
            return Err(Refusal::invalid("not allowed in a trim notification callback"));
        }
        Ok(())
    }
}
