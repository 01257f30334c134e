//! `ID3D12Debug` to `ID3D12Debug6`.

use heapwright_d3d12::*;
use windows_core::{BOOL, ComObject, implement};

use crate::debug::{DebugSettings, MessageLog, SharedSettings};
use crate::rules::{Notice, Notices};

/// The switches of the debug layer.
///
/// `ID3D12Debug1` and `ID3D12Debug2` are listed separately, because neither they nor `ID3D12Debug3` derive from one
/// another.
#[implement(ID3D12Debug6, ID3D12Debug1, ID3D12Debug2)]
pub(crate) struct DebugLayer {
    settings: SharedSettings,
}

impl DebugLayer {
    /// Creates the switches of `settings`.
    pub(crate) fn create(settings: SharedSettings) -> ComObject<Self> {
        ComObject::new(Self { settings })
    }

    /// Stores a setting without effect in this runtime, and reports that if it is enabled.
    fn keep(&self, name: &'static str, is_enabled: bool, change: impl FnOnce(&mut DebugSettings)) {
        self.settings.change(change);
        if is_enabled {
            let mut notices = Notices::default();
            notices.push(Notice::info(
                D3D12_MESSAGE_ID_UNKNOWN,
                "the setting is stored but has no effect in this runtime",
            ));
            MessageLog::unattached().notices(name, &notices);
        }
    }
}

impl ID3D12Debug_Impl for DebugLayer_Impl {
    fn EnableDebugLayer(&self) {
        self.settings.change(|settings| settings.is_layer_enabled = true);
    }
}

impl ID3D12Debug1_Impl for DebugLayer_Impl {
    fn EnableDebugLayer(&self) {
        ID3D12Debug_Impl::EnableDebugLayer(self);
    }

    fn SetEnableGPUBasedValidation(&self, enable: BOOL) {
        ID3D12Debug3_Impl::SetEnableGPUBasedValidation(self, enable);
    }

    fn SetEnableSynchronizedCommandQueueValidation(&self, enable: BOOL) {
        ID3D12Debug3_Impl::SetEnableSynchronizedCommandQueueValidation(self, enable);
    }
}

impl ID3D12Debug2_Impl for DebugLayer_Impl {
    fn SetGPUBasedValidationFlags(&self, flags: D3D12_GPU_BASED_VALIDATION_FLAGS) {
        ID3D12Debug3_Impl::SetGPUBasedValidationFlags(self, flags);
    }
}

impl ID3D12Debug3_Impl for DebugLayer_Impl {
    fn SetEnableGPUBasedValidation(&self, enable: BOOL) {
        let enable = enable.as_bool();
        self.settings.change(|settings| settings.is_gpu_based_validation_enabled = enable);
    }

    fn SetEnableSynchronizedCommandQueueValidation(&self, enable: BOOL) {
        let enable = enable.as_bool();
        // D3D12's default is on, so switching it off is the change to report.
        self.keep("ID3D12Debug::SetEnableSynchronizedCommandQueueValidation", !enable, |settings| {
            settings.is_synchronized_queue_validation_enabled = enable;
        });
    }

    fn SetGPUBasedValidationFlags(&self, flags: D3D12_GPU_BASED_VALIDATION_FLAGS) {
        let is_set = flags != D3D12_GPU_BASED_VALIDATION_FLAGS_NONE;
        self.keep("ID3D12Debug::SetGPUBasedValidationFlags", is_set, |settings| {
            settings.gpu_based_validation_flags = flags;
        });
    }
}

impl ID3D12Debug4_Impl for DebugLayer_Impl {
    fn DisableDebugLayer(&self) {
        self.settings.change(|settings| settings.is_layer_enabled = false);
    }
}

impl ID3D12Debug5_Impl for DebugLayer_Impl {
    fn SetEnableAutoName(&self, enable: BOOL) {
        let enable = enable.as_bool();
        self.keep("ID3D12Debug5::SetEnableAutoName", enable, |settings| {
            settings.is_auto_name_enabled = enable;
        });
    }
}

impl ID3D12Debug6_Impl for DebugLayer_Impl {
    fn SetForceLegacyBarrierValidation(&self, enable: BOOL) {
        let enable = enable.as_bool();
        self.keep("ID3D12Debug6::SetForceLegacyBarrierValidation", enable, |settings| {
            settings.is_legacy_barrier_validation_forced = enable;
        });
    }
}
