//! `ID3D12DeviceFactory`: creation of devices with independent settings.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use heapwright_d3d12::*;
use windows_core::{ComObject, GUID, IUnknown, Ref, Result, implement};

use super::call;
use super::tools::{ToolSettings, Tools};
use crate::debug::{DebugLayer, MessageLog, SharedSettings};
use crate::exports;
use crate::rules::Refusal;

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
            Err(exports::no_class(class))
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
            exports::check_experimental_features(numfeatures, piids)
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
            exports::create_device(
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
