//! Devices of the system's Direct3D 12 or of a shared library.

use heapwright::d3d12::{ID3D12DeviceFactory, IDXGIAdapter3};
use heapwright_loader::{D3d12, DeviceName, Gpu, LoadError};

/// Hint for libraries that are implemented on Vulkan, whose HRESULT does not tell what is missing.
const VULKAN_HINT: &str = "; if the library uses Vulkan, as vkd3d-proton does, check that a suitable Vulkan driver is \
                           installed (vulkaninfo --summary lists drivers; VKD3D_DEBUG=warn enables vkd3d-proton's log)";

/// A device of a loaded Direct3D 12: `d3d12`, `d3d12:N` or `d3d12:PATH`.
#[derive(Clone, Debug)]
pub(crate) struct LoadedDevice {
    name: String,
    which: DeviceName,
    d3d12: D3d12,
    /// The adapter, or `None` for the default adapter.
    adapter: Option<IDXGIAdapter3>,
}

impl LoadedDevice {
    /// Returns the devices of the system's adapters. Empty if the system has no Direct3D 12.
    pub(super) fn of_system() -> Result<Vec<Self>, LoadError> {
        let d3d12 = match D3d12::system() {
            Ok(d3d12) => d3d12,
            Err(error) if error.is_about_name() => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let adapters = d3d12.adapters()?.into_iter().enumerate();
        let device = |(number, adapter)| Self {
            name: format!("d3d12:{number}"),
            which: DeviceName::Adapter(number),
            d3d12: d3d12.clone(),
            adapter: Some(adapter),
        };
        Ok(adapters.map(device).collect())
    }

    /// Loads the device with this name. Returns `None` if the name does not have the form of a loaded device's name.
    pub(super) fn find(name: &str) -> Option<Result<Self, LoadError>> {
        Some(Self::load(name, DeviceName::parse(name)?))
    }

    #[expect(unsafe_code, reason = "loads a library")]
    fn load(name: &str, which: DeviceName) -> Result<Self, LoadError> {
        let d3d12 = match &which {
            DeviceName::System | DeviceName::Adapter(_) => D3d12::system()?,
            // SAFETY: the help of `--device` requires the user to name an implementation of Direct3D 12.
            DeviceName::Library(path) => unsafe { D3d12::open(path) }?,
        };
        let adapter = match which {
            DeviceName::Adapter(number) => Some(d3d12.adapter(number)?),
            DeviceName::System | DeviceName::Library(_) => None,
        };
        Ok(Self { name: name.to_owned(), which, d3d12, adapter })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn description(&self) -> String {
        match &self.which {
            DeviceName::Library(path) => format!("Direct3D 12 of the library {}", path.display()),
            DeviceName::Adapter(_) => "Direct3D 12 of the system".to_owned(),
            DeviceName::System => "Direct3D 12 of the system, on its default adapter".to_owned(),
        }
    }

    /// Opens the device. An error contains the library's HRESULT and, for a shared library, a hint.
    pub(super) fn open(&self) -> Result<Gpu, String> {
        self.d3d12.create_device(self.adapter.as_ref()).map_err(|error| match (&self.which, &error) {
            (DeviceName::Library(_), LoadError::Call { .. }) => format!("{error}{VULKAN_HINT}"),
            _ => error.to_string(),
        })
    }

    pub(super) fn device_factory(&self) -> Option<ID3D12DeviceFactory> {
        self.d3d12.device_factory()
    }
}
