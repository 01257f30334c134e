//! Settings of the debug layer that apply to devices created later.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use heapwright_d3d12::*;

/// The settings of `ID3D12Debug` and its successors.
///
/// Each device copies them when it is created, so later changes affect only later devices. When the layer is switched
/// on, D3D12 removes existing devices; in this runtime they continue without the layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DebugSettings {
    /// Whether messages are stored and visible through `ID3D12InfoQueue`.
    pub(crate) is_layer_enabled: bool,
    /// Whether the device tracks which contents are valid ([`aliasing`](crate::aliasing)), by the advanced usage model.
    pub(crate) is_gpu_based_validation_enabled: bool,
    /// Stored and reported, without effect.
    pub(crate) gpu_based_validation_flags: D3D12_GPU_BASED_VALIDATION_FLAGS,
    /// Stored and reported, without effect: queues are always validated in order.
    pub(crate) is_synchronized_queue_validation_enabled: bool,
    /// Stored and reported, without effect: unnamed objects stay unnamed.
    pub(crate) is_auto_name_enabled: bool,
    /// Stored and reported, without effect.
    pub(crate) is_legacy_barrier_validation_forced: bool,
}

impl DebugSettings {
    /// D3D12's defaults: the debug layer is off.
    pub(crate) const OFF: Self = Self {
        is_layer_enabled: false,
        is_gpu_based_validation_enabled: false,
        gpu_based_validation_flags: D3D12_GPU_BASED_VALIDATION_FLAGS_NONE,
        is_synchronized_queue_validation_enabled: true,
        is_auto_name_enabled: false,
        is_legacy_barrier_validation_forced: false,
    };

    /// The debug layer is on; all other settings are D3D12's defaults.
    pub(crate) const ON: Self = Self { is_layer_enabled: true, ..Self::OFF };

    /// Returns the settings as the flags of `ID3D12DeviceConfiguration`.
    pub(crate) fn device_flags(&self) -> D3D12_DEVICE_FLAGS {
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

/// Settings shared by several objects: those of the process, or of one `ID3D12DeviceFactory`.
#[derive(Debug, Clone)]
pub(crate) struct SharedSettings(Arc<Mutex<DebugSettings>>);

impl SharedSettings {
    /// Creates settings that are shared with no other object yet.
    pub(crate) fn new(settings: DebugSettings) -> Self {
        Self(Arc::new(Mutex::new(settings)))
    }

    /// The settings that `D3D12GetDebugInterface` gives access to and `D3D12CreateDevice` reads.
    pub(crate) fn of_process() -> &'static Self {
        static SETTINGS: OnceLock<SharedSettings> = OnceLock::new();
        SETTINGS.get_or_init(|| Self::new(DebugSettings::OFF))
    }

    /// Returns the current settings.
    pub(crate) fn get(&self) -> DebugSettings {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces all settings.
    pub(crate) fn set(&self, settings: DebugSettings) {
        self.change(|own| *own = settings);
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut DebugSettings)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
