//! A device of the first D3D12: `ID3D12Device` without the numbered interfaces that were added later.
//!
//! This is a separate object in front of the full device, because the interfaces that QueryInterface returns are fixed
//! for each class. It owns the full device, which refers back to it weakly, so that `GetDevice` of its children returns
//! the object that the application has.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use heapwright_d3d12::heap_clock::IHeapwrightHeapClock;
use heapwright_d3d12::*;
use windows_core::{BOOL, ComObject, GUID, Interface as _, Ref, Result, Weak, implement};

use super::Device;
use crate::api::methods::pass_on;

/// The first-generation object that the application has for a device. Empty while there is none.
#[derive(Default)]
pub(super) struct Shown(Mutex<Option<Weak<ID3D12Device>>>);

impl Shown {
    /// Returns the object in front of `device`. It is the same object for as long as the application holds a reference.
    pub(super) fn of(&self, device: &ComObject<Device>) -> ID3D12Device {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shown) = known.as_ref().and_then(Weak::upgrade) {
            return shown;
        }
        let shown: ID3D12Device = FirstGenerationDevice { device: device.clone() }.into();
        *known = shown.downgrade().ok();
        shown
    }
}

/// A device that only implements `ID3D12Device`.
#[implement(ID3D12Device, IHeapwrightHeapClock)]
pub(super) struct FirstGenerationDevice {
    device: ComObject<Device>,
}

impl FirstGenerationDevice {
    /// Returns the full device.
    pub(super) fn device(&self) -> &ComObject<Device> {
        &self.device
    }
}

/// The features that the first D3D12 could report.
const FIRST_FEATURES: [D3D12_FEATURE; 7] = [
    D3D12_FEATURE_D3D12_OPTIONS,
    D3D12_FEATURE_ARCHITECTURE,
    D3D12_FEATURE_FEATURE_LEVELS,
    D3D12_FEATURE_FORMAT_SUPPORT,
    D3D12_FEATURE_MULTISAMPLE_QUALITY_LEVELS,
    D3D12_FEATURE_FORMAT_INFO,
    D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT,
];

pass_on! {
    impl ID3D12Object_Impl for FirstGenerationDevice_Impl by device: {}
    fn GetPrivateData(*const GUID, *mut u32, *mut c_void) -> Result<()>;
    fn SetPrivateData(*const GUID, u32, *const c_void) -> Result<()>;
    fn SetPrivateDataInterface(*const GUID, Ref<'_, windows_core::IUnknown>) -> Result<()>;
    fn SetName(&PCWSTR) -> Result<()>;
}

pass_on! {
    impl ID3D12Device_Impl for FirstGenerationDevice_Impl by device: {
        // Not logged: programs call this to find out which features exist.
        fn CheckFeatureSupport(&self, feature: D3D12_FEATURE, data: *mut c_void, size: u32) -> Result<()> {
            if !FIRST_FEATURES.contains(&feature) {
                return Err(windows_core::Error::from_hresult(E_INVALIDARG));
            }
            self.device.CheckFeatureSupport(feature, data, size)
        }
    }
    fn GetNodeCount() -> u32;
    fn CreateCommandQueue(*const D3D12_COMMAND_QUEUE_DESC, *const GUID, *mut *mut c_void) -> Result<()>;
    fn CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE, *const GUID, *mut *mut c_void) -> Result<()>;
    fn CreateGraphicsPipelineState(
        *const D3D12_GRAPHICS_PIPELINE_STATE_DESC, *const GUID, *mut *mut c_void
    ) -> Result<()>;
    fn CreateComputePipelineState(
        *const D3D12_COMPUTE_PIPELINE_STATE_DESC, *const GUID, *mut *mut c_void
    ) -> Result<()>;
    fn CreateCommandList(
        u32, D3D12_COMMAND_LIST_TYPE, Ref<'_, ID3D12CommandAllocator>, Ref<'_, ID3D12PipelineState>,
        *const GUID, *mut *mut c_void
    ) -> Result<()>;
    fn CreateDescriptorHeap(*const D3D12_DESCRIPTOR_HEAP_DESC, *const GUID, *mut *mut c_void) -> Result<()>;
    fn GetDescriptorHandleIncrementSize(D3D12_DESCRIPTOR_HEAP_TYPE) -> u32;
    fn CreateRootSignature(u32, *const c_void, usize, *const GUID, *mut *mut c_void) -> Result<()>;
    fn CreateConstantBufferView(*const D3D12_CONSTANT_BUFFER_VIEW_DESC, &D3D12_CPU_DESCRIPTOR_HANDLE);
    fn CreateShaderResourceView(
        Ref<'_, ID3D12Resource>, *const D3D12_SHADER_RESOURCE_VIEW_DESC, &D3D12_CPU_DESCRIPTOR_HANDLE
    );
    fn CreateUnorderedAccessView(
        Ref<'_, ID3D12Resource>, Ref<'_, ID3D12Resource>, *const D3D12_UNORDERED_ACCESS_VIEW_DESC,
        &D3D12_CPU_DESCRIPTOR_HANDLE
    );
    fn CreateRenderTargetView(
        Ref<'_, ID3D12Resource>, *const D3D12_RENDER_TARGET_VIEW_DESC, &D3D12_CPU_DESCRIPTOR_HANDLE
    );
    fn CreateDepthStencilView(
        Ref<'_, ID3D12Resource>, *const D3D12_DEPTH_STENCIL_VIEW_DESC, &D3D12_CPU_DESCRIPTOR_HANDLE
    );
    fn CreateSampler(*const D3D12_SAMPLER_DESC, &D3D12_CPU_DESCRIPTOR_HANDLE);
    fn CopyDescriptors(
        u32, *const D3D12_CPU_DESCRIPTOR_HANDLE, *const u32, u32, *const D3D12_CPU_DESCRIPTOR_HANDLE,
        *const u32, D3D12_DESCRIPTOR_HEAP_TYPE
    );
    fn CopyDescriptorsSimple(
        u32, &D3D12_CPU_DESCRIPTOR_HANDLE, &D3D12_CPU_DESCRIPTOR_HANDLE, D3D12_DESCRIPTOR_HEAP_TYPE
    );
    fn GetResourceAllocationInfo(u32, u32, *const D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_ALLOCATION_INFO;
    fn GetCustomHeapProperties(u32, D3D12_HEAP_TYPE) -> D3D12_HEAP_PROPERTIES;
    fn CreateCommittedResource(
        *const D3D12_HEAP_PROPERTIES, D3D12_HEAP_FLAGS, *const D3D12_RESOURCE_DESC, D3D12_RESOURCE_STATES,
        *const D3D12_CLEAR_VALUE, *const GUID, *mut *mut c_void
    ) -> Result<()>;
    fn CreateHeap(*const D3D12_HEAP_DESC, *const GUID, *mut *mut c_void) -> Result<()>;
    fn CreatePlacedResource(
        Ref<'_, ID3D12Heap>, u64, *const D3D12_RESOURCE_DESC, D3D12_RESOURCE_STATES, *const D3D12_CLEAR_VALUE,
        *const GUID, *mut *mut c_void
    ) -> Result<()>;
    fn CreateReservedResource(
        *const D3D12_RESOURCE_DESC, D3D12_RESOURCE_STATES, *const D3D12_CLEAR_VALUE, *const GUID,
        *mut *mut c_void
    ) -> Result<()>;
    fn CreateSharedHandle(
        Ref<'_, ID3D12DeviceChild>, *const SECURITY_ATTRIBUTES, u32, &PCWSTR
    ) -> Result<HANDLE>;
    fn OpenSharedHandle(HANDLE, *const GUID, *mut *mut c_void) -> Result<()>;
    fn OpenSharedHandleByName(&PCWSTR, u32) -> Result<HANDLE>;
    fn MakeResident(u32, *const Option<ID3D12Pageable>) -> Result<()>;
    fn Evict(u32, *const Option<ID3D12Pageable>) -> Result<()>;
    fn CreateFence(u64, D3D12_FENCE_FLAGS, *const GUID, *mut *mut c_void) -> Result<()>;
    fn GetDeviceRemovedReason() -> Result<()>;
    fn GetCopyableFootprints(
        *const D3D12_RESOURCE_DESC, u32, u32, u64, *mut D3D12_PLACED_SUBRESOURCE_FOOTPRINT, *mut u32,
        *mut u64, *mut u64
    );
    fn CreateQueryHeap(*const D3D12_QUERY_HEAP_DESC, *const GUID, *mut *mut c_void) -> Result<()>;
    fn SetStablePowerState(BOOL) -> Result<()>;
    fn CreateCommandSignature(
        *const D3D12_COMMAND_SIGNATURE_DESC, Ref<'_, ID3D12RootSignature>, *const GUID, *mut *mut c_void
    ) -> Result<()>;
    fn GetResourceTiling(
        Ref<'_, ID3D12Resource>, *mut u32, *mut D3D12_PACKED_MIP_INFO, *mut D3D12_TILE_SHAPE, *mut u32, u32,
        *mut D3D12_SUBRESOURCE_TILING
    );
    fn GetAdapterLuid() -> LUID;
}
