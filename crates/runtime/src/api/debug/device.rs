//! A device's debug interfaces besides the info queue: `ID3D12DebugDevice` to `2` and `ID3D12DeviceConfiguration`.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use heapwright_d3d12::*;
use windows_core::{GUID, OutRef, Result};

use crate::api::call;
use crate::api::device::Device_Impl;
use crate::api::methods::{calls, methods};
use crate::debug::{DebugSettings, LiveObjects, MessageLog};
use crate::rules::Refusal;

/// The debug state of a device.
pub(crate) struct DeviceDebug {
    log: Arc<MessageLog>,
    live: LiveObjects,
    settings: DebugSettings,
    /// `D3D12_DEBUG_FEATURE`; stored, without effect.
    feature_mask: AtomicU32,
}

impl DeviceDebug {
    /// Returns whether the debug layer and GPU-based validation were enabled when the device was created.
    pub(crate) fn validates_on_gpu(&self) -> bool {
        self.settings.is_layer_enabled && self.settings.is_gpu_based_validation_enabled
    }

    /// Creates the state of a new device with the current settings.
    pub(crate) fn new(settings: DebugSettings) -> Self {
        Self {
            log: Arc::new(MessageLog::new(settings.is_layer_enabled)),
            live: LiveObjects::default(),
            settings,
            feature_mask: AtomicU32::new(D3D12_DEBUG_FEATURE_NONE),
        }
    }

    /// The log of the device and its children.
    pub(crate) fn log(&self) -> &Arc<MessageLog> {
        &self.log
    }

    /// The counts of live children.
    pub(crate) fn live(&self) -> &LiveObjects {
        &self.live
    }
}

impl Drop for DeviceDebug {
    fn drop(&mut self) {
        // The driver's queues may keep the log longer, but applications free a callback's context with the device.
        self.log.unregister_all();
    }
}

/// The valid flags of `ReportLiveDeviceObjects`.
const REPORT_FLAGS: D3D12_RLDO_FLAGS = D3D12_RLDO_SUMMARY | D3D12_RLDO_DETAIL | D3D12_RLDO_IGNORE_INTERNAL;

/// The valid features of the debug layer.
const FEATURES: D3D12_DEBUG_FEATURE = D3D12_DEBUG_FEATURE_ALLOW_BEHAVIOR_CHANGING_DEBUG_AIDS
    | D3D12_DEBUG_FEATURE_CONSERVATIVE_RESOURCE_STATE_TRACKING
    | D3D12_DEBUG_FEATURE_DISABLE_VIRTUALIZED_BUNDLES_VALIDATION
    | D3D12_DEBUG_FEATURE_EMULATE_WINDOWS7;

impl Device_Impl {
    fn set_feature_mask(&self, mask: D3D12_DEBUG_FEATURE) -> std::result::Result<(), Refusal> {
        if mask & !FEATURES != 0 {
            return Err(Refusal::invalid(format!("unknown debug feature bits {:#x}", mask & !FEATURES)));
        }
        self.debug().feature_mask.store(mask, Ordering::Relaxed);
        if mask != D3D12_DEBUG_FEATURE_NONE {
            self.log().report(
                "ID3D12DebugDevice::SetFeatureMask",
                D3D12_MESSAGE_SEVERITY_INFO,
                D3D12_MESSAGE_ID_UNKNOWN,
                &"the mask is stored but has no effect in this runtime",
            );
        }
        Ok(())
    }

    /// Reports a message for each kind of live object, and one for the device with their sum.
    ///
    /// With the detail flag, D3D12 lists each object; this runtime reports only counts.
    fn report_live_objects(&self, flags: D3D12_RLDO_FLAGS) -> std::result::Result<(), Refusal> {
        if flags & !REPORT_FLAGS != 0 {
            return Err(Refusal::invalid(format!("unknown flag bits {:#x}", flags & !REPORT_FLAGS)));
        }
        let name = "ID3D12DebugDevice::ReportLiveDeviceObjects";
        let mut total = 0;
        for (interface, id, count) in self.debug().live.report() {
            total += count;
            let text = format!("live {interface} objects: {count}");
            self.log().report(name, D3D12_MESSAGE_SEVERITY_WARNING, id, &text);
        }
        let text = format!("live ID3D12Device with {total} live objects");
        self.log().report(name, D3D12_MESSAGE_SEVERITY_WARNING, D3D12_MESSAGE_ID_LIVE_DEVICE, &text);
        Ok(())
    }
}

/// Checks the parameters of a call that reads or writes the feature flags, the only parameter that is implemented.
fn check_parameter(
    parameter: D3D12_DEBUG_DEVICE_PARAMETER_TYPE,
    data: *const c_void,
    size: u32,
) -> std::result::Result<(), Refusal> {
    match parameter {
        D3D12_DEBUG_DEVICE_PARAMETER_FEATURE_FLAGS => {}
        D3D12_DEBUG_DEVICE_PARAMETER_GPU_BASED_VALIDATION_SETTINGS
        | D3D12_DEBUG_DEVICE_PARAMETER_GPU_SLOWDOWN_PERFORMANCE_FACTOR
        | D3D12_DEBUG_DEVICE_PARAMETER_BYTECODE_VALIDATION_MODE => {
            return Err(Refusal::not_implemented(format!("debug parameter {parameter}")));
        }
        other => {
            let rule = format!("Type {other} is not a valid D3D12_DEBUG_DEVICE_PARAMETER_TYPE");
            return Err(Refusal::invalid(rule));
        }
    }
    if usize::try_from(size).ok() != Some(size_of::<D3D12_DEBUG_FEATURE>()) {
        return Err(Refusal::invalid(format!("DataSize is {size}; must be 4 for the feature flags")));
    }
    if data.is_null() { Err(Refusal::invalid("pData is null")) } else { Ok(()) }
}

impl ID3D12DebugDevice_Impl for Device_Impl {
    calls! {
        ID3D12DebugDevice:
        fn SetFeatureMask(mask: D3D12_DEBUG_FEATURE) -> Result<()> = run(|device| device.set_feature_mask(mask));
        fn ReportLiveDeviceObjects(flags: D3D12_RLDO_FLAGS) -> Result<()>
            = run(|device| device.report_live_objects(flags));
    }

    fn GetFeatureMask(&self) -> D3D12_DEBUG_FEATURE {
        self.debug().feature_mask.load(Ordering::Relaxed)
    }
}

impl ID3D12DebugDevice1_Impl for Device_Impl {
    fn SetDebugParameter(
        &self,
        r#type: D3D12_DEBUG_DEVICE_PARAMETER_TYPE,
        pdata: *const c_void,
        datasize: u32,
    ) -> Result<()> {
        call::run(self.log(), "ID3D12DebugDevice1::SetDebugParameter", || {
            check_parameter(r#type, pdata, datasize)?;
            // SAFETY: by the COM contract pData points to DataSize bytes, which are the mask's four; it may be
            // unaligned.
            self.set_feature_mask(unsafe { pdata.cast::<D3D12_DEBUG_FEATURE>().read_unaligned() })
        })
    }

    fn GetDebugParameter(
        &self,
        r#type: D3D12_DEBUG_DEVICE_PARAMETER_TYPE,
        pdata: *mut c_void,
        datasize: u32,
    ) -> Result<()> {
        call::run(self.log(), "ID3D12DebugDevice1::GetDebugParameter", || {
            check_parameter(r#type, pdata, datasize)?;
            let mask = self.debug().feature_mask.load(Ordering::Relaxed);
            // SAFETY: by the COM contract pData points to DataSize bytes, which are the mask's four; it may be
            // unaligned.
            unsafe { pdata.cast::<D3D12_DEBUG_FEATURE>().write_unaligned(mask) };
            Ok(())
        })
    }

    fn ReportLiveDeviceObjects(&self, flags: D3D12_RLDO_FLAGS) -> Result<()> {
        ID3D12DebugDevice_Impl::ReportLiveDeviceObjects(self, flags)
    }
}

impl ID3D12DebugDevice2_Impl for Device_Impl {
    fn SetDebugParameter(
        &self,
        r#type: D3D12_DEBUG_DEVICE_PARAMETER_TYPE,
        pdata: *const c_void,
        datasize: u32,
    ) -> Result<()> {
        ID3D12DebugDevice1_Impl::SetDebugParameter(self, r#type, pdata, datasize)
    }

    fn GetDebugParameter(
        &self,
        r#type: D3D12_DEBUG_DEVICE_PARAMETER_TYPE,
        pdata: *mut c_void,
        datasize: u32,
    ) -> Result<()> {
        ID3D12DebugDevice1_Impl::GetDebugParameter(self, r#type, pdata, datasize)
    }
}

impl ID3D12DeviceConfiguration_Impl for Device_Impl {
    fn GetDesc(&self) -> D3D12_DEVICE_CONFIGURATION_DESC {
        let settings = &self.debug().settings;
        D3D12_DEVICE_CONFIGURATION_DESC {
            Flags: settings.device_flags(),
            GpuBasedValidationFlags: settings.gpu_based_validation_flags,
            SDKVersion: D3D12_SDK_VERSION.cast_unsigned(),
            NumEnabledExperimentalFeatures: 0,
        }
    }

    fn GetEnabledExperimentalFeatures(&self, _pguids: *mut GUID, numguids: u32) -> Result<()> {
        call::run(self.log(), "ID3D12DeviceConfiguration::GetEnabledExperimentalFeatures", || {
            if numguids == 0 {
                return Ok(());
            }
            Err(Refusal::invalid(format!("NumGuids is {numguids}, but no feature is enabled")))
        })
    }

    methods! {
        ID3D12DeviceConfiguration, |device, name| call::not_implemented(device.log(), name);
        fn SerializeVersionedRootSignature(
            *const D3D12_VERSIONED_ROOT_SIGNATURE_DESC, OutRef<'_, ID3D10Blob>, OutRef<'_, ID3D10Blob>
        ) -> Result<()>;
        fn CreateVersionedRootSignatureDeserializer(
            *const c_void, usize, *const GUID, *mut *mut c_void
        ) -> Result<()>;
    }
}
