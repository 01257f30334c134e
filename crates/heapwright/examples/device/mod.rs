//! The device that an example uses.

use std::error::Error;

use heapwright_loader::{DeviceName, Gpu};
use heapwright_runtime::{DeviceOptions, HostProfile, Instance, VulkanGpu};

/// The forms of a device's name.
const NAMES: &str = "host, host:PROFILE, vulkan, vulkan:INDEX, d3d12, d3d12:NUMBER and d3d12:PATH";

/// Returns the device that the program's arguments name: none, or the value of `--device`.
pub(crate) fn from_arguments(arguments: impl IntoIterator<Item = String>) -> Result<Option<String>, String> {
    let mut arguments = arguments.into_iter();
    let Some(first) = arguments.next() else { return Ok(None) };
    let device = match first.split_once('=') {
        Some(("--device", device)) => Some(device.to_owned()),
        None if first == "--device" => arguments.next(),
        _ => return Err(format!("unknown argument {first}; there is --device DEVICE alone")),
    };
    match (device, arguments.next()) {
        (Some(device), None) => Ok(Some(device)),
        (None, _) => Err(format!("--device needs a device, one of {NAMES}")),
        (Some(_), Some(more)) => Err(format!("unknown argument {more}; there is --device DEVICE alone")),
    }
}

/// Opens a device by the name that the program `heapwright` uses:
///
/// | name | device |
/// |---|---|
/// | none, or `host` | heapwright's own runtime, a simulated GPU: no Windows, no driver |
/// | `host:uma` | another simulated GPU, as `heapwright devices` lists them |
/// | `vulkan`, `vulkan:1` | heapwright's own runtime on a GPU with a Vulkan driver |
/// | `d3d12` | Windows' D3D12, its default adapter |
/// | `d3d12:1` | the second adapter, as `heapwright devices` numbers them |
/// | `d3d12:PATH` | a shared library that exports `D3D12CreateDevice` |
pub(crate) fn open(name: Option<&str>) -> Result<Gpu, Box<dyn Error>> {
    let profile = match name {
        None | Some("host") => Some(HostProfile::default_profile()),
        Some(name) => name.strip_prefix("host:").and_then(HostProfile::find),
    };
    if let Some(profile) = profile {
        let Instance { device, adapter, .. } = Instance::open(profile)?;
        return Ok(Gpu { device, adapter: profile.has_adapter.then_some(adapter) });
    }
    let name = name.unwrap_or_default();
    if let Some(index) = VulkanGpu::parse_name(name) {
        let Instance { device, adapter, .. } = Instance::open_vulkan(index, DeviceOptions::default(), &[])?;
        return Ok(Gpu { device, adapter: Some(adapter) });
    }
    let device = DeviceName::parse(name).ok_or_else(|| format!("{name}: none of {NAMES}"))?;
    // SAFETY: the user of the example names an implementation of D3D12.
    Ok(unsafe { device.open() }?)
}
