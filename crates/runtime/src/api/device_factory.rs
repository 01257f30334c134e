//! `ID3D12DeviceFactory`: creation of devices with independent settings.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use heapwright_d3d12::*;
use windows_core::{ComObject, GUID, IUnknown, Interface, Ref, Result, implement};

use super::adapter::Adapter;
use super::debug::DebugLayer;
use super::device::Device;
use super::tools::{ToolSettings, Tools};
use super::{call, process_device};
use crate::ddi::{DeviceArgs, GpuVirtualAddressRange};
use crate::debug::{DebugSettings, MessageLog, SharedSettings};
use crate::rules::{Refusal, feature_level, recreate};

/// The valid flags. None has an effect: every call creates a new device, and no device is a singleton.
const FLAGS: D3D12_DEVICE_FACTORY_FLAGS = D3D12_DEVICE_FACTORY_FLAG_ALLOW_RETURNING_EXISTING_DEVICE
    | D3D12_DEVICE_FACTORY_FLAG_ALLOW_RETURNING_INCOMPATIBLE_EXISTING_DEVICE
    | D3D12_DEVICE_FACTORY_FLAG_DISALLOW_STORING_NEW_DEVICE_AS_SINGLETON;

/// Creates devices with the debug settings of this object instead of the process's, and with the address ranges
/// reserved that its tools name.
///
/// The reserved ranges belong to this factory only, as DirectX-Specs, *Recreate At GPUVA*, requires.
/// `InitializeFromGlobalState` and `ApplyToGlobalState` transfer debug settings only: the process has no list of
/// ranges, because it would apply to whatever creates the next device.
#[implement(ID3D12DeviceFactory)]
pub(crate) struct DeviceFactory {
    settings: SharedSettings,
    tools: ToolSettings,
    flags: AtomicU32,
}

impl DeviceFactory {
    /// Creates a factory that starts with the current debug settings of the process.
    pub(crate) fn create() -> ComObject<Self> {
        ComObject::new(Self {
            settings: SharedSettings::new(SharedSettings::of_process().get()),
            tools: ToolSettings::default(),
            flags: AtomicU32::new(D3D12_DEVICE_FACTORY_FLAG_NONE),
        })
    }
}

impl ID3D12DeviceFactory_Impl for DeviceFactory_Impl {
    fn InitializeFromGlobalState(&self) -> Result<()> {
        self.settings.set(SharedSettings::of_process().get());
        Ok(())
    }

    fn ApplyToGlobalState(&self) -> Result<()> {
        SharedSettings::of_process().set(self.settings.get());
        Ok(())
    }

    fn SetFlags(&self, flags: D3D12_DEVICE_FACTORY_FLAGS) -> Result<()> {
        call::run(MessageLog::unattached(), "ID3D12DeviceFactory::SetFlags", || {
            if flags & !FLAGS != 0 {
                return Err(Refusal::invalid(format!("unknown flag bits {:#x}", flags & !FLAGS)));
            }
            self.flags.store(flags, Ordering::Relaxed);
            Ok(())
        })
    }

    fn GetFlags(&self) -> D3D12_DEVICE_FACTORY_FLAGS {
        self.flags.load(Ordering::Relaxed)
    }

    fn GetConfigurationInterface(
        &self,
        clsid: *const GUID,
        iid: *const GUID,
        ppv: *mut *mut c_void,
    ) -> Result<()> {
        call::run(MessageLog::unattached(), "ID3D12DeviceFactory::GetConfigurationInterface", || {
            // SAFETY: by the COM contract, ppv is null or points to space for one pointer.
            unsafe { call::clear(ppv) };
            // SAFETY: by the COM contract, clsid is null or points to a GUID.
            let class = unsafe { call::read(clsid, "clsid") }?;
            if *class == CLSID_D3D12Debug {
                // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
                return unsafe { call::hand_out(&DebugLayer::create(self.settings.clone()), iid, ppv) };
            }
            if *class == CLSID_D3D12Tools {
                // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
                return unsafe { call::hand_out(&Tools::create(self.tools.clone()), iid, ppv) };
            }
            Err(no_class(class))
        })
    }

    fn EnableExperimentalFeatures(
        &self,
        numfeatures: u32,
        piids: *const GUID,
        _pconfigurationstructs: *const c_void,
        _pconfigurationstructsizes: *const u32,
    ) -> Result<()> {
        call::run(MessageLog::unattached(), "ID3D12DeviceFactory::EnableExperimentalFeatures", || {
            check_experimental_features(numfeatures, piids)
        })
    }

    fn CreateDevice(
        &self,
        adapter: Ref<'_, IUnknown>,
        featurelevel: D3D_FEATURE_LEVEL,
        riid: *const GUID,
        ppvdevice: *mut *mut c_void,
    ) -> Result<()> {
        // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
        unsafe {
            create_device(
                "ID3D12DeviceFactory::CreateDevice",
                adapter.as_ref(),
                featurelevel,
                self.settings.get(),
                &self.tools.reserve_ranges(),
                (riid, ppvdevice),
            )
        }
    }
}

/// Creates a device for the call `name`, with `reserve_ranges` reserved, and writes the requested interface to `out`.
///
/// # Safety
///
/// In `out`, the first pointer is null or points to a GUID; the second is null or points to writable space for one
/// pointer.
pub(crate) unsafe fn create_device(
    name: &'static str,
    adapter: Option<&IUnknown>,
    minimum_feature_level: D3D_FEATURE_LEVEL,
    settings: DebugSettings,
    reserve_ranges: &[GpuVirtualAddressRange],
    out: (*const GUID, *mut *mut c_void),
) -> Result<()> {
    let check = || {
        let driver = match adapter {
            None => {
                let adapters = &process_device::get()?.adapters;
                adapters.first().map(Arc::clone).ok_or_else(|| Refusal::invalid("no adapter is available"))?
            }
            Some(adapter) => adapter
                .cast_object::<Adapter>()
                .map(|adapter| Arc::clone(adapter.driver()))
                .map_err(|_| Refusal::invalid("pAdapter is not an adapter of this runtime"))?,
        };
        feature_level::check_minimum(minimum_feature_level, driver.caps())?;
        recreate::check_ranges(reserve_ranges, driver.caps())?;
        Ok(driver)
    };
    let (riid, ppv) = out;
    // SAFETY: guaranteed by the caller.
    unsafe {
        call::create(MessageLog::unattached(), name, riid, ppv, check, |driver| {
            let args = DeviceArgs::new(reserve_ranges);
            let choice = process_device::get()?;
            let device = Device::create(driver, &args, settings, choice.options)?;
            if choice.aliasing.is_some() {
                device.aliasing().set(choice.aliasing);
            }
            Ok(Device::shown(&device))
        })
    }
}

/// Returns the error for a class without an object.
pub(crate) fn no_class(class: &GUID) -> Refusal {
    let missing = [
        (CLSID_D3D12SDKConfiguration, "D3D12SDKConfiguration"),
        (CLSID_D3D12Tools, "D3D12Tools without ID3D12DeviceFactory::GetConfigurationInterface"),
        (CLSID_D3D12DeviceRemovedExtendedData, "D3D12DeviceRemovedExtendedData"),
        (CLSID_D3D12DSRDeviceFactory, "D3D12DSRDeviceFactory"),
    ];
    missing.iter().find(|(id, _)| id == class).map_or_else(
        || Refusal::new(E_NOINTERFACE, format!("{class:?} is not a D3D12 class")),
        |(_, name)| Refusal::not_implemented(format!("class {name}")),
    )
}

/// Refuses all experimental features. Enabling none of them succeeds.
pub(crate) fn check_experimental_features(count: u32, ids: *const GUID) -> std::result::Result<(), Refusal> {
    match count {
        0 => Ok(()),
        _ if ids.is_null() => Err(Refusal::invalid(format!("pIIDs is null and NumFeatures is {count}"))),
        _ => Err(Refusal::new(E_NOINTERFACE, "this runtime does not support experimental features")),
    }
}
