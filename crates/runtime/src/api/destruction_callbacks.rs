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
    /// The id that was given out last, from 1 on.
    last_id: u32,
}

struct Callback {
    function: unsafe extern "system" fn(*mut c_void),
    data: *mut c_void,
    /// `None` if the application did not ask for an id. The callback then cannot be unregistered.
    id: Option<u32>,
}

// SAFETY: the data is only passed back to the application's callback. An object may be released on any thread, so
// whoever registers a callback promises that any thread may call it.
unsafe impl Send for Callback {}

impl DestructionCallbacks {
    /// Implements `RegisterDestructionCallback` and writes the callback's id to `id`, if there is one. A call without
    /// it takes no number (Windows, by vkd3d-proton's test_destruction_notifier_callback).
    ///
    /// # Safety
    ///
    /// The callback may be called with its data from any thread, until it is unregistered.
    pub(super) unsafe fn register(
        &self,
        function: PFN_DESTRUCTION_CALLBACK,
        data: *const c_void,
        id: Option<&mut u32>,
    ) -> Result<(), Refusal> {
        let function = function.ok_or_else(|| Refusal::new(DXGI_ERROR_INVALID_CALL, "callbackFn is null"))?;
        let mut state = self.state();
        let mut callback = Callback { function, data: data.cast_mut(), id: None };
        if let Some(out) = id {
            state.last_id =
                state.last_id.checked_add(1).ok_or_else(|| Refusal::out_of_memory("no ids left"))?;
            *out = state.last_id;
            callback.id = Some(state.last_id);
        }
        state.callbacks.push(callback);
        Ok(())
    }

    /// Implements `UnregisterDestructionCallback`.
    pub(super) fn unregister(&self, id: u32) -> Result<(), Refusal> {
        let mut state = self.state();
        let at = state.callbacks.iter().position(|callback| callback.id == Some(id)).ok_or_else(|| {
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
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let callbacks = std::mem::take(&mut state.callbacks);
        for Callback { function, data, .. } in callbacks {
            // SAFETY: the contract of `register`.
            unsafe { function(data) };
        }
    }
}
