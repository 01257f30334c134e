//! The device that an example runs on.

use std::error::Error;

use heapwright::d3d12::{ID3D12Device, IDXGIAdapter3};
use heapwright_loader::D3d12;
use heapwright_runtime::{HostProfile, Instance};

/// A device, and its adapter where there is one.
pub(crate) struct Gpu {
    pub(crate) device: ID3D12Device,
    pub(crate) adapter: Option<IDXGIAdapter3>,
}

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
    let d3d12 = match argument.strip_prefix("d3d12") {
        Some("") => D3d12::system()?.create_device(None)?,
        Some(name) if name.starts_with(':') => match name[1..].parse::<usize>() {
            Ok(number) => {
                let system = D3d12::system()?;
                let adapters = system.adapters()?;
                let adapter = adapters.get(number);
                let count = adapters.len();
                system
                    .create_device(Some(adapter.ok_or(format!("{argument}: there are {count} adapters"))?))?
            }
            Err(_) => D3d12::open(&name[1..])?.create_device(None)?,
        },
        _ => return Err(format!("{argument}: neither d3d12, nor d3d12:NUMBER, nor d3d12:PATH").into()),
    };
    Ok(Gpu { device: d3d12.device, adapter: d3d12.adapter })
}
