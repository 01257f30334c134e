//! Which device `--device` names, and opening it.
//!
//! - [`simulated`]: the GPUs of the runtime's host driver.
//! - [`loaded`]: Direct3D 12 of the system, or of a shared library.

mod loaded;
mod simulated;

use heapwright::d3d12::ID3D12DeviceFactory;
use heapwright::d3d12::hresult::Named;
use heapwright_loader::{Gpu, LoadError};

use self::loaded::LoadedDevice;
use self::simulated::SimulatedGpu;
use crate::exit::Exit;

/// A device that the program can open.
#[derive(Clone, Debug)]
pub(crate) enum DeviceChoice {
    /// A GPU that comes with the program.
    Simulated(SimulatedGpu),
    /// A D3D12 that the program does not come with.
    Loaded(LoadedDevice),
}

/// `--device` names nothing that can be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoDevice {
    #[error("no device {asked:?}; there are {}", list_of_names())]
    Unknown { asked: String },
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl NoDevice {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Load(error) if !error.is_about_name() => Exit::No,
            Self::Unknown { .. } | Self::Load(_) => Exit::BadInput,
        }
    }
}

/// The device exists and does not open.
#[derive(Debug, thiserror::Error)]
#[error("cannot open device {name}: {reason}")]
pub(crate) struct CannotOpen {
    name: String,
    reason: String,
}

impl DeviceChoice {
    /// The GPUs that come with the program, the default one first.
    pub(crate) fn simulated() -> impl Iterator<Item = Self> {
        SimulatedGpu::all().map(Self::Simulated)
    }

    /// The adapters of the system's D3D12; none where it has no D3D12.
    pub(crate) fn of_system() -> Result<Vec<Self>, LoadError> {
        Ok(LoadedDevice::of_system()?.into_iter().map(Self::Loaded).collect())
    }

    /// The device of that name. What is to be loaded is loaded.
    pub(crate) fn find(name: &str) -> Result<Self, NoDevice> {
        if let Some(gpu) = SimulatedGpu::find(name) {
            return Ok(Self::Simulated(gpu));
        }
        match LoadedDevice::find(name) {
            Some(device) => Ok(Self::Loaded(device?)),
            None => Err(NoDevice::Unknown { asked: name.to_owned() }),
        }
    }

    /// The name in full, as [`find`](Self::find) takes it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Simulated(gpu) => gpu.name(),
            Self::Loaded(device) => device.name().to_owned(),
        }
    }

    /// Whether it is the one that is taken without `--device`.
    pub(crate) fn is_default(&self) -> bool {
        matches!(self, Self::Simulated(gpu) if gpu.is_default())
    }

    /// Whether its adapter counts what the allocator holds and nothing else. An operating system counts more.
    pub(crate) fn counts_exactly(&self) -> bool {
        matches!(self, Self::Simulated(_))
    }

    /// One line for people.
    pub(crate) fn description(&self) -> String {
        match self {
            Self::Simulated(gpu) => gpu.description().to_owned(),
            Self::Loaded(device) => device.description(),
        }
    }

    /// Opens it. A simulated GPU is a fresh one, which shares nothing with one opened before; D3D12 hands out the device
    /// of an adapter again while it lives.
    pub(crate) fn open(&self) -> Result<Gpu, CannotOpen> {
        let opened = match self {
            Self::Simulated(gpu) => gpu.open().map_err(|error| format!("{:#}", Named(error.code()))),
            Self::Loaded(device) => device.open(),
        };
        opened.map_err(|reason| CannotOpen { name: self.name(), reason })
    }

    /// A factory of more devices on the adapter that it is opened with; none where its D3D12 has none.
    pub(crate) fn device_factory(&self) -> Option<ID3D12DeviceFactory> {
        match self {
            Self::Simulated(gpu) => gpu.device_factory(),
            Self::Loaded(device) => device.device_factory(),
        }
    }
}

fn list_of_names() -> String {
    let mut names = format!("{} (which is {})", SimulatedGpu::SHORT_NAME, SimulatedGpu::default().name());
    for gpu in SimulatedGpu::all() {
        names.push_str(", ");
        names.push_str(&gpu.name());
    }
    let system = if cfg!(windows) { "d3d12 (the system's), d3d12:N (its adapter N), " } else { "" };
    format!("{names}, {system}d3d12:PATH (a library that exports D3D12CreateDevice)")
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
    fn an_unknown_device_is_told_what_exists() {
        let names = ["", "vulkan", "host:", "host:nothing", "hosts", "vulkan:0", "HOST", "D3D12", "d3d12:"];
        for name in names {
            let error = DeviceChoice::find(name).unwrap_err();
            assert_eq!(error.exit(), Exit::BadInput);
            let message = error.to_string();
            assert!(
                message.starts_with(&format!("no device {name:?}; there are host (which is host:")),
                "{message}"
            );
            for choice in DeviceChoice::simulated() {
                assert!(message.contains(&choice.name()), "{message}");
            }
            assert!(message.contains("d3d12:PATH"), "{message}");
            assert_eq!(message.lines().count(), 1);
        }
    }

    #[cfg(not(windows))]
    #[test]
    fn only_windows_has_devices_of_its_own() {
        assert!(DeviceChoice::of_system().unwrap().is_empty());
        for name in ["d3d12", "d3d12:0", "d3d12:99999999999999999999999"] {
            let error = DeviceChoice::find(name).unwrap_err();
            assert!(matches!(error, NoDevice::Load(LoadError::NotWindows)), "{name}: {error}");
            assert_eq!(error.exit(), Exit::BadInput);
        }
    }
}
