//! Devices of the system's Vulkan.

use heapwright::d3d12::ID3D12DeviceFactory;
use heapwright_loader::Gpu;
use heapwright_runtime::{DeviceOptions, Instance, VulkanError, VulkanGpu};

/// A device of the system's Vulkan: `vulkan:INDEX`, or `vulkan` for the first one.
#[derive(Clone, Debug)]
pub(crate) struct VulkanDevice {
    gpu: VulkanGpu,
}

impl VulkanDevice {
    /// Returns the usable devices of the system. Empty if the system has no Vulkan or no device.
    pub(super) fn of_system() -> Result<Vec<Self>, VulkanError> {
        match VulkanGpu::all() {
            Ok(gpus) => {
                let usable = gpus.into_iter().filter(|gpu| gpu.unsuitable.is_none());
                Ok(usable.map(|gpu| Self { gpu }).collect())
            }
            Err(error) if error.is_about_name() => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Finds the device with this name. Returns `None` if the name does not have the form of a Vulkan device's name.
    pub(super) fn find(name: &str) -> Option<Result<Self, VulkanError>> {
        let index = VulkanGpu::parse_name(name)?;
        Some(VulkanGpu::all().and_then(|mut gpus| match gpus.len() {
            0 => Err(VulkanError::NoDevice),
            count if index >= count => Err(VulkanError::NoSuchDevice { index, count }),
            _ => Ok(Self { gpu: gpus.swap_remove(index) }),
        }))
    }

    pub(super) fn name(&self) -> String {
        format!("vulkan:{}", self.gpu.index)
    }

    pub(super) fn description(&self) -> String {
        format!("GPU with a Vulkan {} driver", self.gpu.vulkan_version)
    }

    /// Opens the device, which shares no state with others that are open. The error says why it cannot be opened.
    pub(super) fn open(&self) -> Result<Gpu, String> {
        let opened = Instance::open_vulkan(self.gpu.index, DeviceOptions::default(), &[]);
        let Instance { device, adapter, .. } = opened.map_err(|error| error.to_string())?;
        Ok(Gpu { device, adapter: Some(adapter) })
    }

    /// Returns a factory of independent devices.
    pub(super) fn device_factory(&self) -> Option<ID3D12DeviceFactory> {
        let opened = Instance::open_vulkan(self.gpu.index, DeviceOptions::default(), &[]);
        opened.ok()?.device_factory()
    }
}
