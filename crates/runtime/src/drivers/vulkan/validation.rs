//! Messages of the Vulkan validation layer.

use std::sync::{Mutex, PoisonError};

/// The number of messages that are kept.
const KEPT: usize = 1000;

static MESSAGES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Logs and keeps a message.
pub(super) fn report(message: String) {
    tracing::error!(target: "heapwright_runtime::vulkan", "Vulkan validation: {message}");
    let mut messages = MESSAGES.lock().unwrap_or_else(PoisonError::into_inner);
    if messages.len() < KEPT {
        messages.push(message);
    }
}

/// Returns the messages of the Vulkan validation layer since the process began: the first 1,000.
///
/// The layer is on if the environment variable HEAPWRIGHT_VULKAN_VALIDATION is set and neither empty nor 0. Messages are
/// also logged to `tracing`, as errors.
#[must_use]
pub fn validation_messages() -> Vec<String> {
    MESSAGES.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
