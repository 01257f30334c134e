//! Devices of a D3D12 that is loaded: the system's, or that of a shared library.

use heapwright::d3d12::IDXGIAdapter3;
use heapwright_loader::{D3d12, Gpu, LoadError};

use super::NoDevice;

/// A device of a D3D12 that was loaded: `d3d12`, `d3d12:N` or `d3d12:PATH`.
#[derive(Clone, Debug)]
pub(crate) struct LoadedDevice {
    name: String,
    place: Place,
    d3d12: D3d12,
    /// None for the one that the D3D12 chooses.
    adapter: Option<IDXGIAdapter3>,
}

/// Where a device is looked for.
#[derive(Clone, Copy, Debug)]
enum Place {
    System,
    Library,
}

/// What follows the name of the system's D3D12.
const D3D12: &str = "d3d12";

impl LoadedDevice {
    /// The adapters of the system; none where it has no D3D12.
    pub(super) fn of_system() -> Result<Vec<Self>, LoadError> {
        let d3d12 = match D3d12::system() {
            Ok(d3d12) => d3d12,
            Err(error) if error.is_about_library() => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let adapters = d3d12.adapters()?.into_iter().enumerate();
        let device = |(number, adapter)| Self {
            name: format!("{D3D12}:{number}"),
            place: Place::System,
            d3d12: d3d12.clone(),
            adapter: Some(adapter),
        };
        Ok(adapters.map(device).collect())
    }

    /// The device of that name; none if the name is not that of one to be loaded.
    pub(super) fn find(name: &str) -> Option<Result<Self, NoDevice>> {
        let rest = name.strip_prefix(D3D12)?;
        if rest.is_empty() {
            return Some(Self::default_of_system(name));
        }
        let rest = rest.strip_prefix(':').filter(|rest| !rest.is_empty())?;
        let is_number = rest.bytes().all(|byte| byte.is_ascii_digit());
        Some(if is_number { Self::adapter_of_system(name, rest) } else { Self::of_library(name, rest) })
    }

    fn default_of_system(name: &str) -> Result<Self, NoDevice> {
        Ok(Self { name: name.to_owned(), place: Place::System, d3d12: D3d12::system()?, adapter: None })
    }

    fn adapter_of_system(name: &str, number: &str) -> Result<Self, NoDevice> {
        let d3d12 = D3d12::system()?;
        let mut adapters = d3d12.adapters()?;
        let count = adapters.len();
        // A number that does not fit is past the last as well.
        let place = number.parse().ok().filter(|&place: &usize| place < count);
        let place = place.ok_or_else(|| NoDevice::NoAdapter { asked: name.to_owned(), count })?;
        let adapter = Some(adapters.swap_remove(place));
        Ok(Self { name: name.to_owned(), place: Place::System, d3d12, adapter })
    }

    fn of_library(name: &str, path: &str) -> Result<Self, NoDevice> {
        Ok(Self { name: name.to_owned(), place: Place::Library, d3d12: D3d12::open(path)?, adapter: None })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn description(&self) -> String {
        match (self.place, &self.adapter) {
            (Place::Library, _) => format!("Direct3D 12 of the library {}", self.d3d12.library().display()),
            (Place::System, Some(_)) => "an adapter of the system's Direct3D 12".to_owned(),
            (Place::System, None) => "the system's Direct3D 12, on its default adapter".to_owned(),
        }
    }

    pub(super) fn open(&self) -> Result<Gpu, LoadError> {
        self.d3d12.create_device(self.adapter.as_ref())
    }
}
