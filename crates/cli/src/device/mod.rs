//! Devices that `--device` can name.
//!
//! - [`simulated`]: the simulated GPUs of the runtime's host driver.
//! - [`loaded`]: devices of the system's Direct3D 12 or of a shared library.
#![cfg_attr(feature = "vulkan", doc = "- [`vulkan`]: devices of the system's Vulkan.")]

mod loaded;
mod simulated;
#[cfg(feature = "vulkan")]
mod vulkan;

use heapwright::d3d12::ID3D12DeviceFactory;
use heapwright::d3d12::hresult::Named;
use heapwright_loader::{Gpu, LoadError};

use self::loaded::LoadedDevice;
use self::simulated::SimulatedGpu;
#[cfg(feature = "vulkan")]
use self::vulkan::VulkanDevice;
use crate::exit::Exit;

/// A device that the program can open.
#[derive(Clone, Debug)]
pub(crate) enum DeviceChoice {
    /// A built-in simulated GPU.
    Simulated(SimulatedGpu),
    /// A device of the system's Direct3D 12 or of a shared library.
    Loaded(LoadedDevice),
    /// A device of the system's Vulkan.
    #[cfg(feature = "vulkan")]
    Vulkan(VulkanDevice),
}

/// No device has the name, or its library cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoDevice {
    #[error("unknown device {name:?}; available: {}", list_of_names())]
    Unknown { name: String },
    #[error(transparent)]
    Load(#[from] LoadError),
    #[cfg(feature = "vulkan")]
    #[error(transparent)]
    Vulkan(#[from] heapwright_runtime::VulkanError),
}

impl NoDevice {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Load(error) if !error.is_about_name() => Exit::Failure,
            #[cfg(feature = "vulkan")]
            Self::Vulkan(error) if !error.is_about_name() => Exit::Failure,
            #[cfg(feature = "vulkan")]
            Self::Vulkan(_) => Exit::BadInput,
            Self::Unknown { .. } | Self::Load(_) => Exit::BadInput,
        }
    }
}

/// The device exists but cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot open device {name}: {reason}")]
pub(crate) struct CannotOpen {
    name: String,
    reason: String,
}

impl DeviceChoice {
    /// Returns the built-in simulated GPUs, the default first.
    pub(crate) fn simulated() -> impl Iterator<Item = Self> {
        SimulatedGpu::all().map(Self::Simulated)
    }

    /// Returns the devices of the system: the adapters of Direct3D 12, and the devices of Vulkan. Where the system has
    /// neither, there are none. Each kind that cannot be listed is an error beside the others.
    pub(crate) fn of_system() -> (Vec<Self>, Vec<NoDevice>) {
        let (mut devices, mut errors) = (Vec::new(), Vec::new());
        match LoadedDevice::of_system() {
            Ok(loaded) => devices.extend(loaded.into_iter().map(Self::Loaded)),
            Err(error) => errors.push(error.into()),
        }
        #[cfg(feature = "vulkan")]
        match VulkanDevice::of_system() {
            Ok(vulkan) => devices.extend(vulkan.into_iter().map(Self::Vulkan)),
            Err(error) => errors.push(error.into()),
        }
        (devices, errors)
    }

    /// Returns the device with this name, after loading its library if it has one.
    pub(crate) fn find(name: &str) -> Result<Self, NoDevice> {
        if let Some(gpu) = SimulatedGpu::find(name) {
            return Ok(Self::Simulated(gpu));
        }
        #[cfg(feature = "vulkan")]
        if let Some(device) = VulkanDevice::find(name) {
            return Ok(Self::Vulkan(device?));
        }
        match LoadedDevice::find(name) {
            Some(device) => Ok(Self::Loaded(device?)),
            None => Err(NoDevice::Unknown { name: name.to_owned() }),
        }
    }

    /// Returns the full name, which [`find`](Self::find) accepts.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Simulated(gpu) => gpu.name(),
            Self::Loaded(device) => device.name().to_owned(),
            #[cfg(feature = "vulkan")]
            Self::Vulkan(device) => device.name(),
        }
    }

    /// Returns whether this is the default of `--device`.
    pub(crate) fn is_default(&self) -> bool {
        matches!(self, Self::Simulated(gpu) if gpu.is_default())
    }

    /// Returns whether the adapter's CurrentUsage covers only the program's heaps. An operating system counts more.
    pub(crate) fn counts_exactly(&self) -> bool {
        !matches!(self, Self::Loaded(_))
    }

    /// Returns a description of one line.
    pub(crate) fn description(&self) -> String {
        match self {
            Self::Simulated(gpu) => gpu.description().to_owned(),
            Self::Loaded(device) => device.description(),
            #[cfg(feature = "vulkan")]
            Self::Vulkan(device) => device.description(),
        }
    }

    /// Opens the device. A simulated GPU is new and shares no state with others. Direct3D 12 returns an adapter's
    /// existing device while it is alive.
    pub(crate) fn open(&self) -> Result<Gpu, CannotOpen> {
        let opened = match self {
            Self::Simulated(gpu) => gpu.open().map_err(|error| format!("{:#}", Named(error.code()))),
            Self::Loaded(device) => device.open(),
            #[cfg(feature = "vulkan")]
            Self::Vulkan(device) => device.open(),
        };
        opened.map_err(|reason| CannotOpen { name: self.name(), reason })
    }

    /// Returns a factory of independent devices, or `None` if this Direct3D 12 does not support it.
    pub(crate) fn device_factory(&self) -> Option<ID3D12DeviceFactory> {
        match self {
            Self::Simulated(gpu) => gpu.device_factory(),
            Self::Loaded(device) => device.device_factory(),
            #[cfg(feature = "vulkan")]
            Self::Vulkan(device) => device.device_factory(),
        }
    }
}

fn list_of_names() -> String {
    let mut names = format!("{} (short for {})", SimulatedGpu::SHORT_NAME, SimulatedGpu::default().name());
    for gpu in SimulatedGpu::all() {
        names.push_str(", ");
        names.push_str(&gpu.name());
    }
    let system =
        if cfg!(windows) { "d3d12 (the system's default adapter), d3d12:N (adapter N), " } else { "" };
    let vulkan =
        if cfg!(feature = "vulkan") { "vulkan (the first Vulkan device), vulkan:INDEX, " } else { "" };
    format!("{names}, {vulkan}{system}d3d12:PATH (a library that exports D3D12CreateDevice)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_simulated_gpu_is_found_by_its_name() {
        for choice in DeviceChoice::simulated() {
            let found = DeviceChoice::find(&choice.name()).unwrap();
            assert_eq!(found.name(), choice.name());
            assert!(found.counts_exactly());
        }
        assert!(DeviceChoice::find("host").unwrap().is_default());
        assert_eq!(DeviceChoice::simulated().filter(DeviceChoice::is_default).count(), 1);
    }

    #[test]
    fn the_error_for_an_unknown_device_lists_all() {
        let names = [
            "",
            "vulkan:",
            "host:",
            "host:nothing",
            "hosts",
            "vulkan:x",
            "vulkan:00",
            "HOST",
            "D3D12",
            "d3d12:",
        ];
        for name in names {
            let error = DeviceChoice::find(name).unwrap_err();
            assert_eq!(error.exit(), Exit::BadInput);
            let message = error.to_string();
            assert!(message.starts_with(&format!("unknown device {name:?}; available: host ")), "{message}");
            for choice in DeviceChoice::simulated() {
                assert!(message.contains(&choice.name()), "{message}");
            }
            assert!(message.contains("d3d12:PATH"), "{message}");
            assert_eq!(message.lines().count(), 1);
        }
    }

    #[cfg(not(windows))]
    #[test]
    fn only_windows_has_system_devices() {
        assert!(LoadedDevice::of_system().unwrap().is_empty());
        for name in ["d3d12", "d3d12:0", "d3d12:99999999999999999999999"] {
            let error = DeviceChoice::find(name).unwrap_err();
            assert!(matches!(error, NoDevice::Load(LoadError::NotWindows)), "{name}: {error}");
            assert_eq!(error.exit(), Exit::BadInput);
        }
    }
}
