//! `ID3D12Device5` to `ID3D12Device9`.

use std::ffi::c_void;

use heapwright_d3d12::*;
use windows_core::{BOOL, GUID, Ref, Result};

use crate::api::call;
use crate::api::device::Device_Impl;
use crate::api::device::creation::{CastableFormats, Initial, ResourceRequest, read_desc1, read_descs};
use crate::api::device::layouts::{FootprintOutputs, FootprintRange};
use crate::api::methods::methods;

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

    methods! {
        ID3D12Device5, |device, name| call::not_implemented(device.log(), name);
        fn CreateLifetimeTracker(Ref<'_, ID3D12LifetimeOwner>, *const GUID, *mut *mut c_void) -> Result<()>;
        fn EnumerateMetaCommands(*mut u32, *mut D3D12_META_COMMAND_DESC) -> Result<()>;
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
    fn GetResourceAllocationInfo2(
        &self,
        visiblemask: u32,
        numresourcedescs: u32,
        presourcedescs: *const D3D12_RESOURCE_DESC1,
        presourceallocationinfo1: *mut D3D12_RESOURCE_ALLOCATION_INFO1,
    ) -> D3D12_RESOURCE_ALLOCATION_INFO {
        // SAFETY: by the COM contract both arrays have that many elements, the second may be null.
        unsafe {
            let descs = read_descs(numresourcedescs, presourcedescs, |desc| *desc);
            let name = "ID3D12Device8::GetResourceAllocationInfo2";
            self.allocation_info(name, visiblemask, descs, CastableFormats::NONE, presourceallocationinfo1)
        }
    }

    fn CreateCommittedResource2(
        &self,
        pheapproperties: *const D3D12_HEAP_PROPERTIES,
        heapflags: D3D12_HEAP_FLAGS,
        pdesc: *const D3D12_RESOURCE_DESC1,
        initialresourcestate: D3D12_RESOURCE_STATES,
        poptimizedclearvalue: *const D3D12_CLEAR_VALUE,
        pprotectedsession: Ref<'_, ID3D12ProtectedResourceSession>,
        riidresource: *const GUID,
        ppvresource: *mut *mut c_void,
    ) -> Result<()> {
        // SAFETY: by the COM contract pDesc is null or points to a description.
        let desc = unsafe { read_desc1(pdesc) };
        let initial = Initial::State(initialresourcestate);
        let request = ResourceRequest {
            protected_session: pprotectedsession.as_ref(),
            ..ResourceRequest::new(desc, initial, poptimizedclearvalue, riidresource, ppvresource)
        };
        let name = "ID3D12Device8::CreateCommittedResource2";
        // SAFETY: by the COM contract the pointers are null or point to what the method says.
        unsafe { self.create_committed_resource(name, pheapproperties, heapflags, &request) }
    }

    fn CreatePlacedResource1(
        &self,
        pheap: Ref<'_, ID3D12Heap>,
        heapoffset: u64,
        pdesc: *const D3D12_RESOURCE_DESC1,
        initialstate: D3D12_RESOURCE_STATES,
        poptimizedclearvalue: *const D3D12_CLEAR_VALUE,
        riid: *const GUID,
        ppvresource: *mut *mut c_void,
    ) -> Result<()> {
        // SAFETY: by the COM contract pDesc is null or points to a description.
        let desc = unsafe { read_desc1(pdesc) };
        let initial = Initial::State(initialstate);
        let request = ResourceRequest::new(desc, initial, poptimizedclearvalue, riid, ppvresource);
        // SAFETY: by the COM contract the pointers are null or point to what the method says.
        unsafe {
            self.create_placed_resource("ID3D12Device8::CreatePlacedResource1", pheap, heapoffset, &request)
        }
    }

    fn GetCopyableFootprints1(
        &self,
        presourcedesc: *const D3D12_RESOURCE_DESC1,
        firstsubresource: u32,
        numsubresources: u32,
        baseoffset: u64,
        playouts: *mut D3D12_PLACED_SUBRESOURCE_FOOTPRINT,
        pnumrows: *mut u32,
        prowsizeinbytes: *mut u64,
        ptotalbytes: *mut u64,
    ) {
        let range =
            FootprintRange { first: firstsubresource, count: numsubresources, base_offset: baseoffset };
        let outputs = FootprintOutputs {
            layouts: playouts,
            row_counts: pnumrows,
            row_sizes: prowsizeinbytes,
            total: ptotalbytes,
        };
        // The call has no result; `run` has logged a refusal.
        let _ = call::run(self.log(), "ID3D12Device8::GetCopyableFootprints1", || {
            // SAFETY: by the COM contract the description is readable and each array null or of numSubresources elements.
            unsafe { self.copyable_footprints(read_desc1(presourcedesc), range, outputs) }
        });
    }

    methods! {
        ID3D12Device8, |device, name| call::ignored(device.log(), name);
        fn CreateSamplerFeedbackUnorderedAccessView(
            Ref<'_, ID3D12Resource>, Ref<'_, ID3D12Resource>, &D3D12_CPU_DESCRIPTOR_HANDLE
        );
    }
}

impl ID3D12Device9_Impl for Device_Impl {
    fn CreateCommandQueue1(
        &self,
        pdesc: *const D3D12_COMMAND_QUEUE_DESC,
        _creatorid: *const GUID,
        riid: *const GUID,
        ppcommandqueue: *mut *mut c_void,
    ) -> Result<()> {
        // Creators tell queues of one process apart in schedulers; there is none here.
        let name = "ID3D12Device9::CreateCommandQueue1";
        // SAFETY: by the COM contract the pointers are null or point to what the method says.
        unsafe { self.create_command_queue(name, pdesc, riid, ppcommandqueue) }
    }

    methods! {
        ID3D12Device9, |device, name| call::not_implemented(device.log(), name);
        fn CreateShaderCacheSession(
            *const D3D12_SHADER_CACHE_SESSION_DESC, *const GUID, *mut *mut c_void
        ) -> Result<()>;
        fn ShaderCacheControl(D3D12_SHADER_CACHE_KIND_FLAGS, D3D12_SHADER_CACHE_CONTROL_FLAGS) -> Result<()>;
    }
}
