//! The functions that d3d12.dll and dxgi.dll export, in their own shape.
//!
//! A Rust program may call them here; the library `heapwright_d3d12_runtime` of the crate heapwright-runtime-cdylib exports
//! them under their own names, for programs in C and C++.
//!
//! All factories of the process enumerate the same adapters: one, of the default host profile.

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

use heapwright_d3d12::*;
use windows_core::{GUID, HRESULT, IUnknown, Interface};

use crate::api::adapter::Adapter;
use crate::api::call;
use crate::api::device::Device;
use crate::api::device_factory::DeviceFactory;
use crate::api::factory::Factory;
use crate::ddi::{DeviceArgs, Driver, GpuVirtualAddressRange};
use crate::debug::{DebugLayer, DebugSettings, MessageLog, SharedSettings};
use crate::drivers::host::HostDriver;
use crate::drivers::host::profile::HostProfile;
use crate::rules::{Options, Refusal, recreate};

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

fn run(name: &'static str, body: impl FnOnce() -> Result<(), Refusal>) -> HRESULT {
    code(call::run(MessageLog::unattached(), name, body))
}

fn create_factory(name: &'static str, flags: u32, riid: *const GUID, ppfactory: *mut *mut c_void) -> HRESULT {
    run(name, || {
        // SAFETY: the callers' promise: ppfactory is null or points to space for one pointer.
        unsafe { call::clear(ppfactory) };
        call::hand_out(&Factory::create(process_adapters().to_vec(), flags), riid, ppfactory)
    })
}

/// Creates a DXGI factory that enumerates this runtime's adapters.
///
/// # Safety
///
/// As in DXGI: `riid` is null or points to a GUID, `ppfactory` is null or points to space for one pointer.
#[allow(non_snake_case, reason = "DXGI's name")]
pub unsafe extern "system" fn CreateDXGIFactory(riid: *const GUID, ppfactory: *mut *mut c_void) -> HRESULT {
    create_factory("CreateDXGIFactory", 0, riid, ppfactory)
}

/// Creates a DXGI factory that enumerates this runtime's adapters; the same as [`CreateDXGIFactory`].
///
/// # Safety
///
/// As in DXGI: `riid` is null or points to a GUID, `ppfactory` is null or points to space for one pointer.
#[allow(non_snake_case, reason = "DXGI's name")]
pub unsafe extern "system" fn CreateDXGIFactory1(riid: *const GUID, ppfactory: *mut *mut c_void) -> HRESULT {
    create_factory("CreateDXGIFactory1", 0, riid, ppfactory)
}

/// Creates a DXGI factory that enumerates this runtime's adapters.
///
/// `flags` are kept for `IDXGIFactory3::GetCreationFlags`.
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
    create_factory("CreateDXGIFactory2", flags, riid, ppfactory)
}

/// Creates a device on an adapter of this runtime, or on its first where `adapter` is null.
///
/// A null `ppdevice` asks whether a device could be created and is answered S_FALSE. The device has the debug layer where
/// `ID3D12Debug::EnableDebugLayer` came before.
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
    // SAFETY: by the caller's promise the pointer is null or an interface pointer, which outlives the borrow.
    let adapter = unsafe { IUnknown::from_raw_borrowed(&adapter) };
    let settings = SharedSettings::of_process().get();
    code(create_device("D3D12CreateDevice", adapter, minimum_feature_level, settings, &[], (riid, ppdevice)))
}

/// Creates a device for the call `name`, with `reserve_ranges` reserved, and writes the interface that `out` asks for.
pub(crate) fn create_device(
    name: &'static str,
    adapter: Option<&IUnknown>,
    minimum_feature_level: D3D_FEATURE_LEVEL,
    settings: DebugSettings,
    reserve_ranges: &[GpuVirtualAddressRange],
    out: (*const GUID, *mut *mut c_void),
) -> windows_core::Result<()> {
    let check = || {
        if minimum_feature_level > FEATURE_LEVEL {
            return Err(Refusal::new(
                DXGI_ERROR_UNSUPPORTED,
                format!("feature level {minimum_feature_level:#x} is above {FEATURE_LEVEL:#x}"),
            ));
        }
        let driver = match adapter {
            None => Arc::clone(&process_adapters()[0]),
            Some(adapter) => adapter
                .cast_object::<Adapter>()
                .map(|adapter| Arc::clone(adapter.driver()))
                .map_err(|_| Refusal::invalid("pAdapter is not an adapter of this runtime"))?,
        };
        recreate::check_ranges(reserve_ranges, driver.caps())?;
        Ok(driver)
    };
    let (riid, ppv) = out;
    call::create(MessageLog::unattached(), name, riid, ppv, check, |driver| {
        let args = DeviceArgs { reserve_ranges };
        let device = Device::create(driver, &args, settings, Options::default())?;
        Ok(Device::shown(&device))
    })
}

/// Hands out the debug layer's switches, which hold for devices that are created afterwards.
///
/// # Safety
///
/// As in D3D12: `riid` is null or points to a GUID, `ppvdebug` is null or points to space for one pointer.
#[allow(non_snake_case, reason = "D3D12's name")]
pub unsafe extern "system" fn D3D12GetDebugInterface(
    riid: *const GUID,
    ppvdebug: *mut *mut c_void,
) -> HRESULT {
    run("D3D12GetDebugInterface", || {
        // SAFETY: the caller's promise.
        unsafe { call::clear(ppvdebug) };
        call::hand_out(&DebugLayer::create(SharedSettings::of_process().clone()), riid, ppvdebug)
    })
}

/// Hands out an object of a class: `CLSID_D3D12Debug` or `CLSID_D3D12DeviceFactory`.
///
/// D3D12's other classes answer E_NOTIMPL, `CLSID_D3D12SDKConfiguration` among them: the runtime is the one that is
/// loaded. `CLSID_D3D12Tools` is a class of `ID3D12DeviceFactory::GetConfigurationInterface` alone: what tools set is for the
/// devices of one factory (document RECREATE). What is no class answers E_NOINTERFACE.
///
/// # Safety
///
/// As in D3D12: `rclsid` and `riid` are null or point to a GUID, `ppv` is null or points to space for one pointer.
#[allow(non_snake_case, reason = "D3D12's name")]
pub unsafe extern "system" fn D3D12GetInterface(
    rclsid: *const GUID,
    riid: *const GUID,
    ppv: *mut *mut c_void,
) -> HRESULT {
    run("D3D12GetInterface", || {
        // SAFETY: the caller's promise.
        unsafe { call::clear(ppv) };
        // SAFETY: the caller's promise.
        let class = unsafe { call::read(rclsid, "rclsid") }?;
        if *class == CLSID_D3D12Debug {
            return call::hand_out(&DebugLayer::create(SharedSettings::of_process().clone()), riid, ppv);
        }
        if *class == CLSID_D3D12DeviceFactory {
            return call::hand_out(&DeviceFactory::create(), riid, ppv);
        }
        Err(no_class(class))
    })
}

/// Why there is no object of a class.
pub(crate) fn no_class(class: &GUID) -> Refusal {
    let missing = [
        (CLSID_D3D12SDKConfiguration, "D3D12SDKConfiguration"),
        (CLSID_D3D12Tools, "D3D12Tools but through ID3D12DeviceFactory::GetConfigurationInterface"),
        (CLSID_D3D12DeviceRemovedExtendedData, "D3D12DeviceRemovedExtendedData"),
        (CLSID_D3D12DSRDeviceFactory, "D3D12DSRDeviceFactory"),
    ];
    missing.iter().find(|(id, _)| id == class).map_or_else(
        || Refusal::new(E_NOINTERFACE, format!("{class:?} is no class of D3D12's")),
        |(_, name)| Refusal::not_implemented(format!("class {name}")),
    )
}

/// Refuses each experimental feature, in D3D12's words for a feature that it does not know.
///
/// # Safety
///
/// As in D3D12: `piids` is null or points to `numfeatures` GUIDs. The other pointers are not used.
#[allow(non_snake_case, reason = "D3D12's name")]
pub unsafe extern "system" fn D3D12EnableExperimentalFeatures(
    numfeatures: u32,
    piids: *const GUID,
    _pconfigurationstructs: *mut c_void,
    _pconfigurationstructsizes: *mut u32,
) -> HRESULT {
    run("D3D12EnableExperimentalFeatures", || check_experimental_features(numfeatures, piids))
}

/// No feature is experimental here; to enable none of them succeeds.
pub(crate) fn check_experimental_features(count: u32, ids: *const GUID) -> Result<(), Refusal> {
    match count {
        0 => Ok(()),
        _ if ids.is_null() => Err(Refusal::invalid(format!("pIIDs is null and NumFeatures is {count}"))),
        _ => Err(Refusal::new(E_NOINTERFACE, "this runtime has no experimental features")),
    }
}
