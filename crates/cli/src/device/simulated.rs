//! Simulated GPUs of the runtime's host driver.

use heapwright::d3d12::ID3D12DeviceFactory;
use heapwright::d3d12::windows_core::Result;
use heapwright_loader::Gpu;
use heapwright_runtime::{HostProfile, Instance};

/// A simulated GPU: `host:PROFILE`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimulatedGpu {
    profile: &'static HostProfile,
}

impl Default for SimulatedGpu {
    fn default() -> Self {
        Self { profile: HostProfile::default_profile() }
    }
}

impl SimulatedGpu {
    /// Short name of the default simulated GPU.
    pub(super) const SHORT_NAME: &str = "host";

    /// Returns all simulated GPUs, the default first.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        HostProfile::all().iter().map(|profile| Self { profile })
    }

    /// Returns the simulated GPU with this name: `host` for the default profile, or `host:PROFILE`.
    pub(super) fn find(name: &str) -> Option<Self> {
        match name.split_once(':') {
            None => (name == Self::SHORT_NAME).then(Self::default),
            Some((Self::SHORT_NAME, profile)) => HostProfile::find(profile).map(|profile| Self { profile }),
            Some(_) => None,
        }
    }

    pub(super) fn name(self) -> String {
        format!("{}:{}", Self::SHORT_NAME, self.profile.name)
    }

    pub(super) fn is_default(self) -> bool {
        self.profile.name == HostProfile::default_profile().name
    }

    pub(super) fn description(self) -> &'static str {
        self.profile.description
    }

    /// Opens a new device, which shares no state with others.
    pub(super) fn open(self) -> Result<Gpu> {
        let Instance { device, adapter, .. } = Instance::open(self.profile)?;
        Ok(Gpu { device, adapter: self.profile.has_adapter.then_some(adapter) })
    }

    /// Returns a factory of independent devices, or `None` if the profile does not support it.
    pub(super) fn device_factory(self) -> Option<ID3D12DeviceFactory> {
        Instance::open(self.profile).ok()?.device_factory()
    }
}
