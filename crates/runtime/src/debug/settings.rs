//! What the debug layer is asked to do, before a device is created.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use heapwright_d3d12::*;

/// What `ID3D12Debug` and its successors set.
///
/// Each device takes a copy when it is created, so later changes are for later devices. D3D12 removes devices that exist
/// when the layer is switched on; here they go on without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DebugSettings {
    /// Messages are stored, and `ID3D12InfoQueue` shows them.
    pub(crate) is_layer_enabled: bool,
    /// The device tracks which contents are valid ([`aliasing`](crate::aliasing)), by the advanced usage model.
    pub(super) is_gpu_based_validation_enabled: bool,
    /// Kept and reported, as above.
    pub(super) gpu_based_validation_flags: D3D12_GPU_BASED_VALIDATION_FLAGS,
    /// Kept and reported; queues are always checked in their order.
    pub(super) is_synchronized_queue_validation_enabled: bool,
    /// Kept and reported; objects without a name stay so.
    pub(super) is_auto_name_enabled: bool,
    /// Kept and reported.
    pub(super) is_legacy_barrier_validation_forced: bool,
}

impl DebugSettings {
    /// Everything as D3D12 begins with it: the debug layer is off.
    pub(super) const OFF: Self = Self {
        is_layer_enabled: false,
        is_gpu_based_validation_enabled: false,
        gpu_based_validation_flags: D3D12_GPU_BASED_VALIDATION_FLAGS_NONE,
        is_synchronized_queue_validation_enabled: true,
        is_auto_name_enabled: false,
        is_legacy_barrier_validation_forced: false,
    };

    /// The debug layer is on, all else as D3D12 begins with it.
    pub(crate) const ON: Self = Self { is_layer_enabled: true, ..Self::OFF };

    /// The settings in the flags that `ID3D12DeviceConfiguration` shows.
    pub(super) fn device_flags(&self) -> D3D12_DEVICE_FLAGS {
        [
            (self.is_layer_enabled, D3D12_DEVICE_FLAG_DEBUG_LAYER_ENABLED),
            (self.is_gpu_based_validation_enabled, D3D12_DEVICE_FLAG_GPU_BASED_VALIDATION_ENABLED),
            (
                !self.is_synchronized_queue_validation_enabled,
                D3D12_DEVICE_FLAG_SYNCHRONIZED_COMMAND_QUEUE_VALIDATION_DISABLED,
            ),
            (self.is_auto_name_enabled, D3D12_DEVICE_FLAG_AUTO_DEBUG_NAME_ENABLED),
            (self.is_legacy_barrier_validation_forced, D3D12_DEVICE_FLAG_FORCE_LEGACY_STATE_VALIDATION),
        ]
        .into_iter()
        .filter(|(is_set, _)| *is_set)
        .fold(D3D12_DEVICE_FLAG_NONE, |flags, (_, flag)| flags | flag)
    }
}

/// Settings that several objects change: those of the process, or of one `ID3D12DeviceFactory`.
#[derive(Debug, Clone)]
pub(crate) struct SharedSettings(Arc<Mutex<DebugSettings>>);

impl SharedSettings {
    /// Settings of their own.
    pub(crate) fn new(settings: DebugSettings) -> Self {
        Self(Arc::new(Mutex::new(settings)))
    }

    /// What `D3D12GetDebugInterface` changes and `D3D12CreateDevice` reads.
    pub(crate) fn of_process() -> &'static Self {
        static SETTINGS: OnceLock<SharedSettings> = OnceLock::new();
        SETTINGS.get_or_init(|| Self::new(DebugSettings::OFF))
    }

    /// The settings as they are now.
    pub(crate) fn get(&self) -> DebugSettings {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes all settings over.
    pub(crate) fn set(&self, settings: DebugSettings) {
        self.change(|own| *own = settings);
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut DebugSettings)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
