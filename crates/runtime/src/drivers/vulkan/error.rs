//! Errors in finding and opening a Vulkan device.

use ash::vk;

/// A Vulkan device cannot be found or opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VulkanError {
    /// No Vulkan loader is installed, or it cannot be used.
    #[error("no Vulkan loader: {reason}")]
    NoLoader {
        /// The reason, as the operating system words it.
        reason: String,
    },
    /// The loader finds no device.
    #[error("no Vulkan device: the loader found no driver with a device (vulkaninfo --summary lists them)")]
    NoDevice,
    /// The validation layer was requested but is not installed.
    #[error(
        "HEAPWRIGHT_VULKAN_VALIDATION is set, but the layer VK_LAYER_KHRONOS_validation is not installed"
    )]
    NoValidationLayer,
    /// No device has the index.
    #[error("there is no Vulkan device {index}; the number of Vulkan devices is {count}")]
    NoSuchDevice {
        /// The requested index.
        index: usize,
        /// The number of devices.
        count: usize,
    },
    /// The device lacks something that the driver needs.
    #[error("the Vulkan device {name} lacks {missing}")]
    Unsuitable {
        /// The device's name.
        name: String,
        /// The version, feature or memory that is missing.
        missing: &'static str,
    },
    /// A Vulkan call failed.
    #[error("{call} failed: {result}")]
    Call {
        /// The name of the function.
        call: &'static str,
        /// The result, in Vulkan's words.
        result: String,
    },
}

impl VulkanError {
    /// Returns a closure for `map_err`.
    pub(super) fn of(call: &'static str) -> impl FnOnce(vk::Result) -> Self {
        move |result| Self::Call { call, result: format!("{result} ({})", result.as_raw()) }
    }

    /// Returns whether the named device does not exist here, as opposed to a device that exists and fails.
    #[must_use]
    pub fn is_about_name(&self) -> bool {
        matches!(self, Self::NoLoader { .. } | Self::NoDevice | Self::NoSuchDevice { .. })
    }
}
