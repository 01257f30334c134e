//! The receiver of reports that a device is lost.

use std::sync::Arc;

use windows_core::HRESULT;

/// The receiver of the report, by a queue or the GPU's driver, that the device is lost.
pub(crate) trait RemovalSink: Send + Sync {
    /// Reports that the device is lost for `reason`. `message` says what happened and names the object.
    fn remove(&self, reason: HRESULT, message: String);

    /// Like [`remove`](Self::remove), for a caller that holds locks of the driver: on return the device is removed, and
    /// another thread reports the message, to callbacks which may call the driver, and ends the waits for fences. If
    /// the operating system has no thread, the message is only traced, and the waits end before the return.
    #[cfg_attr(not(any(feature = "vulkan", test)), expect(dead_code, reason = "only a real GPU is lost so"))]
    fn remove_elsewhere(self: Arc<Self>, reason: HRESULT, message: String);
}
