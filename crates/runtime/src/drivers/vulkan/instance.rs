//! The Vulkan instance: the loader, and the validation layer if it is requested.

use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

use ash::vk;

use super::error::VulkanError;
use super::hardware::Hardware;
use super::validation;

/// The environment variable that turns the validation layer on, if it is set and neither empty nor 0.
const VALIDATION: &str = "HEAPWRIGHT_VULKAN_VALIDATION";

/// The Khronos validation layer.
const VALIDATION_LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

/// A Vulkan instance, destroyed when dropped.
pub(super) struct VulkanInstance {
    functions: ash::Instance,
    messenger: Option<(ash::ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT)>,
    /// The loader, which outlives the functions.
    _entry: ash::Entry,
}

impl VulkanInstance {
    /// Loads the system's Vulkan loader and creates an instance.
    pub(super) fn load() -> Result<Arc<Self>, VulkanError> {
        // SAFETY: the system's Vulkan loader is what its name says.
        let entry = unsafe { ash::Entry::load() };
        Self::create(entry.map_err(|error| VulkanError::NoLoader { reason: error.to_string() })?)
    }

    fn create(entry: ash::Entry) -> Result<Arc<Self>, VulkanError> {
        let validates = std::env::var(VALIDATION).is_ok_and(|value| !value.is_empty() && value != "0");
        let application = vk::ApplicationInfo::default()
            .application_name(c"heapwright")
            .engine_name(c"heapwright")
            .api_version(vk::API_VERSION_1_3);
        let layers: &[*const _] = if validates { &[VALIDATION_LAYER.as_ptr()] } else { &[] };
        let extensions: &[*const _] = if validates { &[ash::ext::debug_utils::NAME.as_ptr()] } else { &[] };
        let layer = if validates { layer_version(&entry) } else { 0 };
        let mut messenger = messenger_info(layer);
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
        let mut instance = Self { functions, messenger: None, _entry: entry };
        if validates {
            let debug = ash::ext::debug_utils::Instance::new(&instance._entry, &instance.functions);
            // SAFETY: the extension is enabled, and the structure outlives the call.
            let messenger = unsafe { debug.create_debug_utils_messenger(&messenger_info(layer), None) }
                .map_err(VulkanError::of("vkCreateDebugUtilsMessengerEXT"))?;
            instance.messenger = Some((debug, messenger));
        }
        Ok(Arc::new(instance))
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

impl Drop for VulkanInstance {
    fn drop(&mut self) {
        // SAFETY: all devices of the instance hold a reference to it, so none is left; the messenger is the instance's.
        unsafe {
            if let Some((debug, messenger)) = self.messenger.take() {
                debug.destroy_debug_utils_messenger(messenger, None);
            }
            self.functions.destroy_instance(None);
        }
    }
}

/// Returns the version of the validation layer, or 0 if it is not installed.
fn layer_version(entry: &ash::Entry) -> u32 {
    // SAFETY: a plain call of the loader.
    let layers = unsafe { entry.enumerate_instance_layer_properties() }.unwrap_or_default();
    let own = |layer: &&vk::LayerProperties| layer.layer_name_as_c_str() == Ok(VALIDATION_LAYER);
    layers.iter().find(own).map_or(0, |layer| layer.spec_version)
}

/// Describes the receiver of messages of the validation layer, whose version is passed to it.
fn messenger_info(layer: u32) -> vk::DebugUtilsMessengerCreateInfoEXT<'static> {
    use vk::{DebugUtilsMessageSeverityFlagsEXT as Severity, DebugUtilsMessageTypeFlagsEXT as Type};
    let version = usize::try_from(layer).unwrap_or(0);
    let mut info = vk::DebugUtilsMessengerCreateInfoEXT::default()
        .message_severity(Severity::ERROR | Severity::WARNING)
        .message_type(Type::VALIDATION | Type::PERFORMANCE)
        .pfn_user_callback(Some(received));
    // The number itself: the pointer is not to be dereferenced.
    info.p_user_data = std::ptr::without_provenance_mut(version);
    info
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
    layer: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: guaranteed by the caller.
    let data = unsafe { data.as_ref() };
    let text = |of: fn(&vk::DebugUtilsMessengerCallbackDataEXT<'_>) -> *const c_char| {
        data.map(of).filter(|text| !text.is_null()).map(|text| {
            // SAFETY: the text is zero-terminated (guaranteed by the caller).
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        })
    };
    let id = text(|data| data.p_message_id_name).unwrap_or_default();
    if !validation::is_known_error(&id, u32::try_from(layer.addr()).unwrap_or(0)) {
        let message = text(|data| data.p_message);
        validation::report(message.unwrap_or_else(|| "a message without text".to_owned()));
    }
    vk::FALSE
}
