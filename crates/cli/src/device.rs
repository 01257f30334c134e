//! Devices that `--device` can name: the simulated GPUs of the runtime's host driver, devices of the system's Vulkan,
//! and those of the system's Direct3D 12 or of a shared library.

use heapwright::d3d12::hresult::Named;
use heapwright::d3d12::{ID3D12DeviceFactory, IDXGIAdapter3};
use heapwright_loader::{D3d12, DeviceName, Gpu, LoadError};
#[cfg(feature = "vulkan")]
use heapwright_runtime::{DeviceOptions, VulkanError, VulkanGpu};
use heapwright_runtime::{HostProfile, Instance};

use crate::exit::Failed;

/// A device that the program can open.
#[derive(Clone, Debug)]
pub(crate) struct DeviceChoice {
    /// The full name, which [`find`](Self::find) accepts.
    pub(crate) name: String,
    /// A description of one line.
    pub(crate) description: String,
    driver: Driver,
}

#[derive(Clone, Debug)]
enum Driver {
    Simulated(&'static HostProfile),
    /// Without an adapter, the device is on the default one. The hint is for errors.
    Loaded {
        d3d12: D3d12,
        adapter: Option<IDXGIAdapter3>,
        hint: &'static str,
    },
    /// The index of the device.
    #[cfg(feature = "vulkan")]
    Vulkan(usize),
}

/// Short name of the default simulated GPU, and the beginning of the names of all.
const HOST: &str = "host";

/// Hint for libraries that are implemented on Vulkan, whose HRESULT does not tell what is missing.
const VULKAN_HINT: &str = "; if the library uses Vulkan, as vkd3d-proton does, check that a suitable Vulkan driver is \
                           installed (vulkaninfo --summary lists drivers; VKD3D_DEBUG=warn enables vkd3d-proton's log)";

impl DeviceChoice {
    /// Returns the built-in simulated GPUs, the default first.
    pub(crate) fn simulated() -> impl Iterator<Item = Self> {
        HostProfile::all().iter().map(Self::of_profile)
    }

    fn of_profile(profile: &'static HostProfile) -> Self {
        Self {
            name: format!("{HOST}:{}", profile.name),
            description: profile.description.to_owned(),
            driver: Driver::Simulated(profile),
        }
    }

    #[cfg(feature = "vulkan")]
    fn of_vulkan(gpu: &VulkanGpu) -> Self {
        Self {
            name: format!("vulkan:{}", gpu.index),
            description: format!("GPU with a Vulkan {} driver", gpu.vulkan_version),
            driver: Driver::Vulkan(gpu.index),
        }
    }

    /// Returns the devices of the system: the adapters of Direct3D 12, and the devices of Vulkan. Where the system has
    /// neither, there are none. Each kind that cannot be listed is an error beside the others.
    pub(crate) fn of_system() -> (Vec<Self>, Vec<Failed>) {
        let (mut devices, mut errors) = (Vec::new(), Vec::new());
        match adapters() {
            Ok(loaded) => devices.extend(loaded),
            Err(error) if error.is_about_name() => {}
            Err(error) => errors.push(Failed::failure(error)),
        }
        #[cfg(feature = "vulkan")]
        match VulkanGpu::all() {
            Ok(gpus) => {
                let usable = gpus.iter().filter(|gpu| gpu.unsuitable.is_none());
                devices.extend(usable.map(Self::of_vulkan));
            }
            Err(error) if error.is_about_name() => {}
            Err(error) => errors.push(Failed::failure(error)),
        }
        (devices, errors)
    }

    /// Returns the device with this name, after loading its library if it has one.
    pub(crate) fn find(name: &str) -> Result<Self, Failed> {
        Self::find_unnamed(name).map_err(|failed| failed.of("--device"))
    }

    fn find_unnamed(name: &str) -> Result<Self, Failed> {
        let profile = match name.split_once(':') {
            None => (name == HOST).then(HostProfile::default_profile),
            Some((HOST, profile)) => HostProfile::find(profile),
            Some(_) => None,
        };
        if let Some(profile) = profile {
            return Ok(Self::of_profile(profile));
        }
        #[cfg(feature = "vulkan")]
        if let Some(index) = VulkanGpu::parse_name(name) {
            let found = VulkanGpu::all().and_then(|gpus| match gpus.get(index) {
                Some(gpu) => Ok(Self::of_vulkan(gpu)),
                None if gpus.is_empty() => Err(VulkanError::NoDevice),
                None => Err(VulkanError::NoSuchDevice { index, count: gpus.len() }),
            });
            return found.map_err(|error| of_name(error.is_about_name(), &error));
        }
        match DeviceName::parse(name) {
            Some(which) => Self::load(name, &which).map_err(|error| of_name(error.is_about_name(), &error)),
            None => Err(Failed::bad_input(format_args!(
                "unknown device {name:?}; available: {}",
                list_of_names()
            ))),
        }
    }

    #[expect(unsafe_code, reason = "loads a library")]
    fn load(name: &str, which: &DeviceName) -> Result<Self, LoadError> {
        let d3d12 = match which {
            DeviceName::System | DeviceName::Adapter(_) => D3d12::system()?,
            // SAFETY: the help of `--device` requires the user to name an implementation of Direct3D 12.
            DeviceName::Library(path) => unsafe { D3d12::open(path) }?,
        };
        let (adapter, description, hint) = match which {
            DeviceName::System => (None, "Direct3D 12 of the system, on its default adapter".to_owned(), ""),
            DeviceName::Adapter(number) => (Some(d3d12.adapter(*number)?), OF_SYSTEM.to_owned(), ""),
            DeviceName::Library(path) => {
                (None, format!("Direct3D 12 of the library {}", path.display()), VULKAN_HINT)
            }
        };
        Ok(Self { name: name.to_owned(), description, driver: Driver::Loaded { d3d12, adapter, hint } })
    }

    /// Returns whether this is the default of `--device`.
    pub(crate) fn is_default(&self) -> bool {
        matches!(self.driver, Driver::Simulated(profile) if profile.name == HostProfile::default_profile().name)
    }

    /// Returns whether the adapter's CurrentUsage covers only the program's heaps. An operating system counts more.
    pub(crate) fn counts_exactly(&self) -> bool {
        !matches!(self.driver, Driver::Loaded { .. })
    }

    /// Opens the device. A simulated GPU is new and shares no state with others. Direct3D 12 returns an adapter's
    /// existing device while it is alive.
    pub(crate) fn open(&self) -> Result<Gpu, Failed> {
        let opened = match &self.driver {
            Driver::Simulated(profile) => {
                let opened = Instance::open(profile).map_err(|error| format!("{:#}", Named(error.code())));
                opened.map(|Instance { device, adapter, .. }| Gpu {
                    device,
                    adapter: profile.has_adapter.then_some(adapter),
                })
            }
            Driver::Loaded { d3d12, adapter, hint } => {
                d3d12.create_device(adapter.as_ref()).map_err(|error| match error {
                    LoadError::Call { .. } => format!("{error}{hint}"),
                    _ => error.to_string(),
                })
            }
            #[cfg(feature = "vulkan")]
            Driver::Vulkan(index) => {
                let opened = Instance::open_vulkan(*index, DeviceOptions::default(), &[]);
                let gpu = |Instance { device, adapter, .. }| Gpu { device, adapter: Some(adapter) };
                opened.map(gpu).map_err(|error| error.to_string())
            }
        };
        opened.map_err(|reason| Failed::failure(format_args!("cannot open device {}: {reason}", self.name)))
    }

    /// Returns a factory of independent devices, or `None` if this Direct3D 12 does not support it.
    pub(crate) fn device_factory(&self) -> Option<ID3D12DeviceFactory> {
        match &self.driver {
            Driver::Simulated(profile) => Instance::open(profile).ok()?.device_factory(),
            Driver::Loaded { d3d12, .. } => d3d12.device_factory(),
            #[cfg(feature = "vulkan")]
            Driver::Vulkan(index) => {
                Instance::open_vulkan(*index, DeviceOptions::default(), &[]).ok()?.device_factory()
            }
        }
    }
}

const OF_SYSTEM: &str = "Direct3D 12 of the system";

/// Returns the devices of the adapters of the system's Direct3D 12.
fn adapters() -> Result<Vec<DeviceChoice>, LoadError> {
    let d3d12 = D3d12::system()?;
    let adapters = d3d12.adapters()?.into_iter().enumerate();
    let choice = |(number, adapter)| DeviceChoice {
        name: format!("d3d12:{number}"),
        description: OF_SYSTEM.to_owned(),
        driver: Driver::Loaded { d3d12: d3d12.clone(), adapter: Some(adapter), hint: "" },
    };
    Ok(adapters.map(choice).collect())
}

/// Returns the error of a device that cannot be found, because of its name or for another reason.
fn of_name(is_about_name: bool, error: &dyn std::error::Error) -> Failed {
    if is_about_name { Failed::bad_input(error) } else { Failed::failure(error) }
}

fn list_of_names() -> String {
    let default = HostProfile::default_profile().name;
    let mut names = vec![format!("{HOST} (short for {HOST}:{default})")];
    names.extend(DeviceChoice::simulated().map(|choice| choice.name));
    if cfg!(feature = "vulkan") {
        names.push("vulkan (the first Vulkan device), vulkan:INDEX".to_owned());
    }
    if cfg!(windows) {
        names.push("d3d12 (the system's default adapter), d3d12:N (adapter N)".to_owned());
    }
    names.push("d3d12:PATH (a library that exports D3D12CreateDevice)".to_owned());
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    #[test]
    fn every_simulated_gpu_is_found_by_its_name() {
        for choice in DeviceChoice::simulated() {
            let found = DeviceChoice::find(&choice.name).unwrap();
            assert_eq!(found.name, choice.name);
            assert!(found.counts_exactly());
        }
        assert!(DeviceChoice::find("host").unwrap().is_default());
        assert_eq!(DeviceChoice::simulated().filter(DeviceChoice::is_default).count(), 1);
    }

    #[test]
    fn the_error_for_an_unknown_device_lists_all() {
        for name in [
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
        ] {
            let error = DeviceChoice::find(name).unwrap_err();
            let message = error.to_string();
            let start = format!("--device: unknown device {name:?}; available: host (");
            assert!(error.exit == Exit::BadInput && message.starts_with(&start), "{message}");
            for choice in DeviceChoice::simulated() {
                assert!(message.contains(&choice.name), "{message}");
            }
            assert!(message.contains("d3d12:PATH") && message.lines().count() == 1, "{message}");
        }
    }
}
