//! `ID3D12Device5` to `ID3D12Device9`.

use std::ffi::c_void;

use heapwright_d3d12::*;
use windows_core::{BOOL, GUID, Ref, Result};

use crate::api::call;
use crate::api::device::Device_Impl;
use crate::api::device::creation::{CastableFormats, in_session, in_state, read_desc1, read_descs};
use crate::api::device::layouts::{FootprintOutputs, FootprintRange};
use crate::api::methods::{calls, methods};
use crate::rules::Refusal;
use crate::rules::resource::alone;

impl ID3D12Device5_Impl for Device_Impl {
    fn RemoveDevice(&self) {
        call::run_infallible(self.log(), "ID3D12Device5::RemoveDevice", (), || {
            self.removal().remove_on_request()
        });
    }

    fn CheckDriverMatchingIdentifier(
        &self,
        _serializeddatatype: D3D12_SERIALIZED_DATA_TYPE,
        _pidentifiertocheck: *const D3D12_SERIALIZED_DATA_DRIVER_MATCHING_IDENTIFIER,
    ) -> D3D12_DRIVER_MATCHING_IDENTIFIER_STATUS {
        call::ignored(self.log(), "ID3D12Device5::CheckDriverMatchingIdentifier");
        D3D12_DRIVER_MATCHING_IDENTIFIER_UNSUPPORTED_TYPE
    }

    fn EnumerateMetaCommands(
        &self,
        pnummetacommands: *mut u32,
        _pdescs: *mut D3D12_META_COMMAND_DESC,
    ) -> Result<()> {
        call::run(self.log(), "ID3D12Device5::EnumerateMetaCommands", || {
            // SAFETY: by the COM contract, pNumMetaCommands is null or points to a writable number.
            let count = unsafe { pnummetacommands.as_mut() };
            *count.ok_or_else(|| Refusal::invalid("pNumMetaCommands is null"))? = 0;
            Ok(())
        })
    }

    methods! {
        ID3D12Device5, |device, name| call::not_implemented(device.log(), name);
        fn CreateLifetimeTracker(Ref<'_, ID3D12LifetimeOwner>, *const GUID, *mut *mut c_void) -> Result<()>;
        fn EnumerateMetaCommandParameters(
            *const GUID, D3D12_META_COMMAND_PARAMETER_STAGE, *mut u32, *mut u32,
            *mut D3D12_META_COMMAND_PARAMETER_DESC
        ) -> Result<()>;
        fn CreateMetaCommand(
            *const GUID, u32, *const c_void, usize, *const GUID, *mut *mut c_void
        ) -> Result<()>;
        fn CreateStateObject(*const D3D12_STATE_OBJECT_DESC, *const GUID, *mut *mut c_void) -> Result<()>;
    }

    methods! {
        ID3D12Device5, |device, name| call::ignored(device.log(), name);
        fn GetRaytracingAccelerationStructurePrebuildInfo(
            *const D3D12_BUILD_RAYTRACING_ACCELERATION_STRUCTURE_INPUTS,
            *mut D3D12_RAYTRACING_ACCELERATION_STRUCTURE_PREBUILD_INFO
        );
    }
}

impl ID3D12Device6_Impl for Device_Impl {
    methods! {
        ID3D12Device6, |device, name| call::not_implemented(device.log(), name);
        fn SetBackgroundProcessingMode(
            D3D12_BACKGROUND_PROCESSING_MODE, D3D12_MEASUREMENTS_ACTION, HANDLE, *mut BOOL
        ) -> Result<()>;
    }
}

impl ID3D12Device7_Impl for Device_Impl {
    methods! {
        ID3D12Device7, |device, name| call::not_implemented(device.log(), name);
        fn AddToStateObject(
            *const D3D12_STATE_OBJECT_DESC, Ref<'_, ID3D12StateObject>, *const GUID, *mut *mut c_void
        ) -> Result<()>;
        fn CreateProtectedResourceSession1(
            *const D3D12_PROTECTED_RESOURCE_SESSION_DESC1, *const GUID, *mut *mut c_void
        ) -> Result<()>;
    }
}

impl ID3D12Device8_Impl for Device_Impl {
    calls! {
        ID3D12Device8:
        fn CreateCommittedResource2(
            properties: *const D3D12_HEAP_PROPERTIES, heap_flags: D3D12_HEAP_FLAGS,
            desc: *const D3D12_RESOURCE_DESC1, state: D3D12_RESOURCE_STATES,
            clear_value: *const D3D12_CLEAR_VALUE, session: Ref<'_, ID3D12ProtectedResourceSession>,
            riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_committed(
            properties, heap_flags, in_session(in_state(read_desc1(desc), state, clear_value), session.as_ref()), (riid, ppv)
        );
        fn CreatePlacedResource1(
            heap: Ref<'_, ID3D12Heap>, offset: u64, desc: *const D3D12_RESOURCE_DESC1,
            state: D3D12_RESOURCE_STATES, clear_value: *const D3D12_CLEAR_VALUE,
            riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_placed(
            heap.as_ref(), offset, in_state(read_desc1(desc), state, clear_value), (riid, ppv)
        );
        fn GetResourceAllocationInfo2(
            visible_mask: u32, count: u32, descs: *const D3D12_RESOURCE_DESC1,
            infos: *mut D3D12_RESOURCE_ALLOCATION_INFO1
        ) -> D3D12_RESOURCE_ALLOCATION_INFO = allocation_info(
            visible_mask, read_descs(count, descs, |desc| alone(*desc)), CastableFormats::NONE, infos
        );
        fn GetCopyableFootprints1(
            desc: *const D3D12_RESOURCE_DESC1, first: u32, count: u32, base_offset: u64,
            layouts: *mut D3D12_PLACED_SUBRESOURCE_FOOTPRINT, row_counts: *mut u32, row_sizes: *mut u64,
            total: *mut u64
        ) = copyable_footprints(
            read_desc1(desc).map(alone), FootprintRange { first, count, base_offset },
            FootprintOutputs { layouts, row_counts, row_sizes, total }
        );
    }

    methods! {
        ID3D12Device8, |device, name| call::ignored(device.log(), name);
        fn CreateSamplerFeedbackUnorderedAccessView(
            Ref<'_, ID3D12Resource>, Ref<'_, ID3D12Resource>, &D3D12_CPU_DESCRIPTOR_HANDLE
        );
    }
}

impl ID3D12Device9_Impl for Device_Impl {
    calls! {
        ID3D12Device9:
        // Creator ids let schedulers tell the queues of one process apart. There is no scheduler here, so they are
        // ignored.
        fn CreateCommandQueue1(
            desc: *const D3D12_COMMAND_QUEUE_DESC, _creator: *const GUID, riid: *const GUID,
            ppv: *mut *mut c_void
        ) -> Result<()> = create_command_queue(desc, riid, ppv);
    }

    methods! {
        ID3D12Device9, |device, name| call::not_implemented(device.log(), name);
        fn CreateShaderCacheSession(
            *const D3D12_SHADER_CACHE_SESSION_DESC, *const GUID, *mut *mut c_void
        ) -> Result<()>;
        fn ShaderCacheControl(D3D12_SHADER_CACHE_KIND_FLAGS, D3D12_SHADER_CACHE_CONTROL_FLAGS) -> Result<()>;
    }
}
