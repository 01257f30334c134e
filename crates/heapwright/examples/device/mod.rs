//! The device that an example runs on.

use std::error::Error;

use heapwright_loader::{DeviceName, Gpu};
use heapwright_runtime::{HostProfile, Instance};

/// Opens what an argument names:
///
/// | argument | device |
/// |---|---|
/// | none | heapwright's own runtime, a simulated GPU: no Windows, no driver |
/// | `d3d12` | Windows' D3D12, its default adapter |
/// | `d3d12:1` | the second adapter, as `heapwright devices` numbers them |
/// | `d3d12:PATH` | a shared library that exports `D3D12CreateDevice` |
pub(crate) fn open(argument: Option<&str>) -> Result<Gpu, Box<dyn Error>> {
    let Some(argument) = argument else {
        let Instance { device, adapter, .. } = Instance::open(HostProfile::default_profile())?;
        return Ok(Gpu { device, adapter: Some(adapter) });
    };
    let name = DeviceName::parse(argument)
        .ok_or_else(|| format!("{argument}: neither d3d12, nor d3d12:NUMBER, nor d3d12:PATH"))?;
    Ok(name.open()?)
}
