//! Messages of the Vulkan validation layer.

use std::sync::{Mutex, PoisonError};

use ash::vk;

/// The number of messages that are kept.
const KEPT: usize = 1000;

static MESSAGES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A message about overlapping ranges of a copy, which the layer of this version, Debian bookworm's, sends for sparse buffers
/// whose ranges do not overlap. Later versions compute them correctly (KhronosGroup/Vulkan-ValidationLayers, issue 6144 of
/// July 2023 and pull request 6316).
const KNOWN_ERROR: (&str, u32) = ("VUID-vkCmdCopyBuffer-pRegions-00117", vk::make_api_version(0, 1, 3, 239));

/// Returns whether a message is a known error of the layer of this version.
pub(super) fn is_known_error(id: &str, layer: u32) -> bool {
    (id, layer) == KNOWN_ERROR
}

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
