//! The Vulkan instance: the loader, and the validation layer if it is requested.

use std::ffi::{CStr, c_void};
use std::sync::{Mutex, PoisonError};

use ash::vk;

use super::error::VulkanError;
use super::hardware::Hardware;

/// The environment variable that turns the validation layer on, if it is set and neither empty nor 0.
const VALIDATION: &str = "HEAPWRIGHT_VULKAN_VALIDATION";

/// The Khronos validation layer.
const VALIDATION_LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

/// The process's Vulkan instance. It is never destroyed: the loader unloads a driver with the last instance, and a
/// process cannot load NVIDIA's more than about thirty times, as each time takes thread-local memory for good.
static INSTANCE: Mutex<Option<&VulkanInstance>> = Mutex::new(None);

/// A Vulkan instance.
pub(super) struct VulkanInstance {
    functions: ash::Instance,
    /// The loader, which outlives the functions.
    _entry: ash::Entry,
}

impl VulkanInstance {
    /// Returns the process's instance. The first call, and each one after a failure, loads the system's Vulkan loader
    /// and creates it.
    pub(super) fn load() -> Result<&'static Self, VulkanError> {
        let mut of_process = INSTANCE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(instance) = *of_process {
            return Ok(instance);
        }
        // SAFETY: the system's Vulkan loader is what its name says.
        let entry = unsafe { ash::Entry::load() };
        let instance =
            Self::create(entry.map_err(|error| VulkanError::NoLoader { reason: error.to_string() })?)?;
        Ok(of_process.insert(Box::leak(Box::new(instance))))
    }

    fn create(entry: ash::Entry) -> Result<Self, VulkanError> {
        let validates = std::env::var(VALIDATION).is_ok_and(|value| !value.is_empty() && value != "0");
        let application = vk::ApplicationInfo::default()
            .application_name(c"heapwright")
            .engine_name(c"heapwright")
            .api_version(vk::API_VERSION_1_3);
        let layers: &[*const _] = if validates { &[VALIDATION_LAYER.as_ptr()] } else { &[] };
        let extensions: &[*const _] = if validates { &[ash::ext::debug_utils::NAME.as_ptr()] } else { &[] };
        let mut messenger = messenger_info();
        let mut info = vk::InstanceCreateInfo::default()
            .application_info(&application)
            .enabled_layer_names(layers)
            .enabled_extension_names(extensions);
        if validates {
            info = info.push_next(&mut messenger);
        }
        // SAFETY: the structures and names outlive the call.
        let functions = unsafe { entry.create_instance(&info, None) }.map_err(|result| match result {
            vk::Result::ERROR_LAYER_NOT_PRESENT => VulkanError::NoValidationLayer,
            vk::Result::ERROR_INCOMPATIBLE_DRIVER => VulkanError::NoDevice,
            other => VulkanError::of("vkCreateInstance")(other),
        })?;
        let instance = Self { functions, _entry: entry };
        if validates {
            let debug = ash::ext::debug_utils::Instance::new(&instance._entry, &instance.functions);
            // SAFETY: the extension is enabled, and the structure outlives the call. The messenger lives as long as the
            // instance.
            let messenger = unsafe { debug.create_debug_utils_messenger(&messenger_info(), None) };
            if let Err(result) = messenger {
                // SAFETY: nothing else has used the instance.
                unsafe { instance.functions.destroy_instance(None) };
                return Err(VulkanError::of("vkCreateDebugUtilsMessengerEXT")(result));
            }
        }
        Ok(instance)
    }

    /// The instance's functions.
    pub(super) fn functions(&self) -> &ash::Instance {
        &self.functions
    }

    /// Describes all physical devices, in the loader's order.
    pub(super) fn hardware(&self) -> Result<Vec<Hardware>, VulkanError> {
        // SAFETY: the instance is alive.
        let devices = unsafe { self.functions.enumerate_physical_devices() };
        let devices = match devices {
            Err(vk::Result::ERROR_INITIALIZATION_FAILED) => Err(VulkanError::NoDevice),
            other => other.map_err(VulkanError::of("vkEnumeratePhysicalDevices")),
        }?;
        Ok(devices.into_iter().map(|device| Hardware::query(&self.functions, device)).collect())
    }
}

/// Describes the receiver of messages of the validation layer.
fn messenger_info() -> vk::DebugUtilsMessengerCreateInfoEXT<'static> {
    use vk::{DebugUtilsMessageSeverityFlagsEXT as Severity, DebugUtilsMessageTypeFlagsEXT as Type};
    vk::DebugUtilsMessengerCreateInfoEXT::default()
        .message_severity(Severity::ERROR | Severity::WARNING)
        .message_type(Type::VALIDATION | Type::PERFORMANCE)
        .pfn_user_callback(Some(received))
}

/// Receives a message of the validation layer.
///
/// # Safety
///
/// As Vulkan calls it: `data` is null or points to a message, whose texts are null or zero-terminated.
unsafe extern "system" fn received(
    _severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _types: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    _user: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: guaranteed by the caller.
    let text = unsafe { data.as_ref() }.map(|data| data.p_message).filter(|text| !text.is_null());
    // SAFETY: the text is zero-terminated (guaranteed by the caller).
    let message = text.map(|text| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
    report(message.unwrap_or_else(|| "a message without text".to_owned()));
    vk::FALSE
}

/// The number of messages that are kept.
const KEPT_MESSAGES: usize = 1000;

static MESSAGES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Logs and keeps a message.
fn report(message: String) {
    tracing::error!(target: "heapwright_runtime::vulkan", "Vulkan validation: {message}");
    let mut messages = MESSAGES.lock().unwrap_or_else(PoisonError::into_inner);
    if messages.len() < KEPT_MESSAGES {
        messages.push(message);
    }
}

/// Returns the messages of the Vulkan validation layer since the process began: the first 1,000.
///
/// The layer is on if the environment variable HEAPWRIGHT_VULKAN_VALIDATION is set and neither empty nor 0. Messages
/// are also logged to `tracing`, as errors.
#[must_use]
pub fn validation_messages() -> Vec<String> {
    MESSAGES.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
