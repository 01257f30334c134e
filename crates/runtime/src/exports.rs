//! The functions that d3d12.dll and dxgi.dll export, in their own shape.

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

use heapwright_d3d12::*;
use windows_core::{GUID, HRESULT, IUnknown, Interface};

use crate::api::adapter::Adapter;
use crate::api::call;
use crate::api::device::Device;
use crate::api::factory::Factory;
use crate::ddi::Driver;
use crate::debug::MessageLog;
use crate::drivers::host::HostDriver;
use crate::drivers::host::profile::HostProfile;
use crate::rules::Refusal;

/// The highest feature level that `D3D12CreateDevice` takes as a minimum.
pub(crate) const FEATURE_LEVEL: D3D_FEATURE_LEVEL = D3D_FEATURE_LEVEL_12_1;

/// The adapters of this process, the same for every factory: the default host profile.
fn process_adapters() -> &'static [Arc<dyn Driver>] {
    static ADAPTERS: OnceLock<Vec<Arc<dyn Driver>>> = OnceLock::new();
    ADAPTERS.get_or_init(|| vec![Arc::new(HostDriver::new(HostProfile::default_profile()))])
}

fn code(result: windows_core::Result<()>) -> HRESULT {
    result.map_or_else(|error| error.code(), |()| S_OK)
}

/// Creates a DXGI factory that enumerates this runtime's adapters.
///
/// # Safety
///
/// As in DXGI: `riid` is null or points to a GUID, `ppfactory` is null or points to space for one pointer.
#[allow(non_snake_case, reason = "DXGI's name")]
pub unsafe extern "system" fn CreateDXGIFactory2(
    flags: u32,
    riid: *const GUID,
    ppfactory: *mut *mut c_void,
) -> HRESULT {
    code(call::run(MessageLog::unattached(), "CreateDXGIFactory2", || {
        let factory = Factory::create(process_adapters().to_vec(), flags);
        call::hand_out(&factory, riid, ppfactory)
    }))
}

/// Creates a device on an adapter of this runtime, or on its first where `adapter` is null.
///
/// A null `ppdevice` asks whether a device could be created and is answered S_FALSE.
///
/// # Safety
///
/// As in D3D12: `adapter` is null or an interface pointer, `riid` is null or points to a GUID, `ppdevice` is null or
/// points to space for one pointer.
#[allow(non_snake_case, reason = "D3D12's name")]
pub unsafe extern "system" fn D3D12CreateDevice(
    adapter: *mut c_void,
    minimum_feature_level: D3D_FEATURE_LEVEL,
    riid: *const GUID,
    ppdevice: *mut *mut c_void,
) -> HRESULT {
    let check = || {
        if minimum_feature_level > FEATURE_LEVEL {
            return Err(Refusal::new(
                DXGI_ERROR_UNSUPPORTED,
                format!("feature level {minimum_feature_level:#x} is above {FEATURE_LEVEL:#x}"),
            ));
        }
        // SAFETY: by the caller's promise the pointer is null or an interface pointer, which outlives the borrow.
        match unsafe { IUnknown::from_raw_borrowed(&adapter) } {
            None => Ok(Arc::clone(&process_adapters()[0])),
            Some(adapter) => adapter
                .cast_object::<Adapter>()
                .map(|adapter| Arc::clone(adapter.driver()))
                .map_err(|_| Refusal::invalid("pAdapter is not an adapter of this runtime")),
        }
    };
    code(call::create(MessageLog::unattached(), "D3D12CreateDevice", riid, ppdevice, check, |driver| {
        Ok(Device::create(driver))
    }))
}
