//! Devices of a D3D12 that is loaded: the system's, or that of a shared library.

use heapwright::d3d12::{ID3D12DeviceFactory, IDXGIAdapter3};
use heapwright_loader::{D3d12, DeviceName, Gpu, LoadError};

/// A D3D12 that is a file is one over Vulkan as a rule, and its HRESULT does not tell what it lacks.
const VULKAN_HINT: &str = "; where the library is over Vulkan, as vkd3d-proton is, that may mean that there is no Vulkan driver, or \
                           none that it can use (vulkaninfo --summary lists them; VKD3D_DEBUG=warn has vkd3d-proton say more)";

/// A device of a D3D12 that was loaded: `d3d12`, `d3d12:N` or `d3d12:PATH`.
#[derive(Clone, Debug)]
pub(crate) struct LoadedDevice {
    name: String,
    which: DeviceName,
    d3d12: D3d12,
    /// None for the one that the D3D12 chooses.
    adapter: Option<IDXGIAdapter3>,
}

impl LoadedDevice {
    /// The adapters of the system; none where it has no D3D12.
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

    /// The device of that name; none if the name is not that of one to be loaded.
    pub(super) fn find(name: &str) -> Option<Result<Self, LoadError>> {
        Some(Self::load(name, DeviceName::parse(name)?))
    }

    #[expect(unsafe_code, reason = "loads a library")]
    fn load(name: &str, which: DeviceName) -> Result<Self, LoadError> {
        let d3d12 = match &which {
            DeviceName::System | DeviceName::Adapter(_) => D3d12::system()?,
            // SAFETY: whoever writes the command line names a D3D12, as `--device` asks.
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
            DeviceName::Adapter(_) => "an adapter of the system's Direct3D 12".to_owned(),
            DeviceName::System => "the system's Direct3D 12, on its default adapter".to_owned(),
        }
    }

    /// On error what the library answered, and what is often behind it.
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
