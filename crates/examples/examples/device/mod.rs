//! The device that an example uses.

use std::error::Error;

use heapwright_loader::{DeviceName, Gpu};
use heapwright_runtime::{DeviceOptions, HostProfile, Instance, VulkanGpu};

/// The forms of a device's name.
const NAMES: &str = "host, host:PROFILE, vulkan, vulkan:INDEX, d3d12, d3d12:NUMBER and d3d12:PATH";

/// What `--help` prints.
pub(crate) const HELP: &str = "\
Usage: cargo run -p heapwright-examples --example NAME -- [--device DEVICE]

DEVICE is one of:
  host           heapwright's own runtime, a simulated GPU (the default)
  host:PROFILE   another simulated GPU, as `heapwright devices` lists them
  vulkan         heapwright's own runtime on a GPU with a Vulkan driver
  vulkan:INDEX   another of these GPUs
  d3d12          Windows' Direct3D 12 on its default adapter
  d3d12:NUMBER   Windows' Direct3D 12 on another adapter
  d3d12:PATH     a shared library that exports D3D12CreateDevice

HEAPWRIGHT_RECORD=session.hws records what the example does, for `heapwright report session.hws`.";

/// What the program's arguments ask for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// To run on the device with this name, or on the default one.
    Device(Option<String>),
    Help,
}

/// Returns what the program's arguments ask for: nothing, `--help`, or the value of `--device`.
pub(crate) fn from_arguments(arguments: impl IntoIterator<Item = String>) -> Result<Argument, String> {
    let mut arguments = arguments.into_iter();
    let Some(first) = arguments.next() else { return Ok(Argument::Device(None)) };
    if first == "--help" || first == "-h" {
        return Ok(Argument::Help);
    }
    let device = match first.split_once('=') {
        Some(("--device", device)) => Some(device.to_owned()),
        None if first == "--device" => arguments.next(),
        _ => return Err(format!("unknown argument {first}; there are --device DEVICE and --help")),
    };
    match (device, arguments.next()) {
        (Some(device), None) => Ok(Argument::Device(Some(device))),
        (None, _) => Err(format!("--device needs a device, one of {NAMES}")),
        (Some(_), Some(more)) => {
            Err(format!("unknown argument {more}; there are --device DEVICE and --help"))
        }
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
