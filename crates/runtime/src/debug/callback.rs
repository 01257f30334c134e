//! Message callbacks of the application.

use std::ffi::c_void;

use heapwright_d3d12::{
    D3D12_MESSAGE_CATEGORY, D3D12_MESSAGE_ID, D3D12_MESSAGE_SEVERITY, D3D12MessageFunc, PCSTR,
};

use super::message::Message;

/// The type of a non-null `D3D12MessageFunc`.
pub(crate) type MessageFunction = unsafe extern "system" fn(
    D3D12_MESSAGE_CATEGORY,
    D3D12_MESSAGE_SEVERITY,
    D3D12_MESSAGE_ID,
    PCSTR,
    *mut c_void,
);

// Checks that the alias above is the metadata's type without its Option.
const _: fn(MessageFunction) -> D3D12MessageFunc = |function| Some(function);

/// A registered function.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Callback {
    function: MessageFunction,
    context: *mut c_void,
    /// Identifies the registration; never zero.
    pub(crate) cookie: u32,
    /// Whether the function also receives messages that the storage filter denies.
    pub(crate) ignores_filters: bool,
}

// SAFETY: the context is only passed to the application's function, and whoever registered the two promised that
// they may be used from any thread (`Callback::new`).
unsafe impl Send for Callback {}

impl Callback {
    /// # Safety
    ///
    /// `function` must be callable with `context` from any thread, until it is unregistered and the calls that began
    /// before have returned.
    pub(crate) unsafe fn new(
        function: MessageFunction,
        context: *mut c_void,
        cookie: u32,
        ignores_filters: bool,
    ) -> Self {
        Self { function, context, cookie, ignores_filters }
    }

    /// Calls the function with a message.
    pub(crate) fn call(&self, message: &Message) {
        let kind = message.kind;
        let text = PCSTR(message.description().as_ptr());
        // SAFETY: by the promise to `new`, the function may be called with this context; the text is zero-terminated
        // and lives until the call returns.
        unsafe { (self.function)(kind.category, kind.severity, kind.id, text, self.context) }
    }
}
