//! `ID3DDestructionNotifier`: callbacks of the application, called when an object is destroyed.

use std::ffi::c_void;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use heapwright_d3d12::{DXGI_ERROR_INVALID_CALL, DXGI_ERROR_NOT_FOUND, PFN_DESTRUCTION_CALLBACK};

use crate::rules::Refusal;

/// The registered callbacks of an object, in the order of their registration. Dropping the value calls them.
#[derive(Default)]
pub(super) struct DestructionCallbacks {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    callbacks: Vec<Callback>,
    /// The id that was given out last.
    last_id: u32,
}

struct Callback {
    function: unsafe extern "system" fn(*mut c_void),
    data: *mut c_void,
    id: u32,
}

// SAFETY: the data is only passed back to the application's callback. An object may be released on any thread, so whoever
// registers a callback promises that any thread may call it.
unsafe impl Send for Callback {}

impl DestructionCallbacks {
    /// Implements `RegisterDestructionCallback` and returns the callback's id, which is not zero.
    ///
    /// # Safety
    ///
    /// The callback may be called with its data from any thread, until it is unregistered.
    pub(super) unsafe fn register(
        &self,
        function: PFN_DESTRUCTION_CALLBACK,
        data: *const c_void,
    ) -> Result<u32, Refusal> {
        let function = function.ok_or_else(|| Refusal::new(DXGI_ERROR_INVALID_CALL, "callbackFn is null"))?;
        let mut state = self.state();
        let id = state.last_id.checked_add(1).ok_or_else(|| Refusal::out_of_memory("no ids left"))?;
        state.last_id = id;
        state.callbacks.push(Callback { function, data: data.cast_mut(), id });
        Ok(id)
    }

    /// Implements `UnregisterDestructionCallback`.
    pub(super) fn unregister(&self, id: u32) -> Result<(), Refusal> {
        let mut state = self.state();
        let at = state.callbacks.iter().position(|callback| callback.id == id).ok_or_else(|| {
            Refusal::new(DXGI_ERROR_NOT_FOUND, format!("callbackID {id} is not registered"))
        })?;
        state.callbacks.remove(at);
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for DestructionCallbacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DestructionCallbacks").finish_non_exhaustive()
    }
}

impl Drop for DestructionCallbacks {
    fn drop(&mut self) {
        // Outside of the lock.
        let callbacks = std::mem::take(&mut self.state().callbacks);
        for Callback { function, data, .. } in callbacks {
            // SAFETY: the contract of `register`.
            unsafe { function(data) };
        }
    }
}
