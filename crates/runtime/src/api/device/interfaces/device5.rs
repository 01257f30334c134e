//! `ID3D12Device5` to `ID3D12Device9`.

use std::ffi::c_void;

use heapwright_d3d12::*;
use windows_core::{BOOL, GUID, Ref, Result};

use crate::api::call;
use crate::api::device::Device_Impl;
use crate::api::device::creation::{CastableFormats, Initial, ResourceRequest, read_desc1, read_descs};
use crate::api::device::layouts::{FootprintOutputs, FootprintRange};

impl ID3D12Device5_Impl for Device_Impl {
    fn CreateLifetimeTracker(
        &self,
        _powner: Ref<'_, ID3D12LifetimeOwner>,
        _riid: *const GUID,
        _ppvtracker: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device5::CreateLifetimeTracker")
    }

    fn RemoveDevice(&self) {
        call::run_infallible(self.log(), "ID3D12Device5::RemoveDevice", (), || {
            self.removal().remove_on_request()
        });
    }

    fn EnumerateMetaCommands(
        &self,
        _pnummetacommands: *mut u32,
        _pdescs: *mut D3D12_META_COMMAND_DESC,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device5::EnumerateMetaCommands")
    }

    fn EnumerateMetaCommandParameters(
        &self,
        _commandid: *const GUID,
        _stage: D3D12_META_COMMAND_PARAMETER_STAGE,
        _ptotalstructuresizeinbytes: *mut u32,
        _pparametercount: *mut u32,
        _pparameterdescs: *mut D3D12_META_COMMAND_PARAMETER_DESC,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device5::EnumerateMetaCommandParameters")
    }

    fn CreateMetaCommand(
        &self,
        _commandid: *const GUID,
        _nodemask: u32,
        _pcreationparametersdata: *const c_void,
        _creationparametersdatasizeinbytes: usize,
        _riid: *const GUID,
        _ppmetacommand: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device5::CreateMetaCommand")
    }

    fn CreateStateObject(
        &self,
        _pdesc: *const D3D12_STATE_OBJECT_DESC,
        _riid: *const GUID,
        _ppstateobject: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device5::CreateStateObject")
    }

    fn GetRaytracingAccelerationStructurePrebuildInfo(
        &self,
        _pdesc: *const D3D12_BUILD_RAYTRACING_ACCELERATION_STRUCTURE_INPUTS,
        _pinfo: *mut D3D12_RAYTRACING_ACCELERATION_STRUCTURE_PREBUILD_INFO,
    ) {
        call::ignored(self.log(), "ID3D12Device5::GetRaytracingAccelerationStructurePrebuildInfo");
    }

    fn CheckDriverMatchingIdentifier(
        &self,
        _serializeddatatype: D3D12_SERIALIZED_DATA_TYPE,
        _pidentifiertocheck: *const D3D12_SERIALIZED_DATA_DRIVER_MATCHING_IDENTIFIER,
    ) -> D3D12_DRIVER_MATCHING_IDENTIFIER_STATUS {
        call::ignored(self.log(), "ID3D12Device5::CheckDriverMatchingIdentifier");
        D3D12_DRIVER_MATCHING_IDENTIFIER_UNSUPPORTED_TYPE
    }
}

impl ID3D12Device6_Impl for Device_Impl {
    fn SetBackgroundProcessingMode(
        &self,
        _mode: D3D12_BACKGROUND_PROCESSING_MODE,
        _measurementsaction: D3D12_MEASUREMENTS_ACTION,
        _heventtosignaluponcompletion: HANDLE,
        _pbfurthermeasurementsdesired: *mut BOOL,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device6::SetBackgroundProcessingMode")
    }
}

impl ID3D12Device7_Impl for Device_Impl {
    fn AddToStateObject(
        &self,
        _paddition: *const D3D12_STATE_OBJECT_DESC,
        _pstateobjecttogrowfrom: Ref<'_, ID3D12StateObject>,
        _riid: *const GUID,
        _ppnewstateobject: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device7::AddToStateObject")
    }

    fn CreateProtectedResourceSession1(
        &self,
        _pdesc: *const D3D12_PROTECTED_RESOURCE_SESSION_DESC1,
        _riid: *const GUID,
        _ppsession: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device7::CreateProtectedResourceSession1")
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

    fn CreateSamplerFeedbackUnorderedAccessView(
        &self,
        _ptargetedresource: Ref<'_, ID3D12Resource>,
        _pfeedbackresource: Ref<'_, ID3D12Resource>,
        _destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        call::ignored(self.log(), "ID3D12Device8::CreateSamplerFeedbackUnorderedAccessView");
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
}

impl ID3D12Device9_Impl for Device_Impl {
    fn CreateShaderCacheSession(
        &self,
        _pdesc: *const D3D12_SHADER_CACHE_SESSION_DESC,
        _riid: *const GUID,
        _ppvsession: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device9::CreateShaderCacheSession")
    }

    fn ShaderCacheControl(
        &self,
        _kinds: D3D12_SHADER_CACHE_KIND_FLAGS,
        _control: D3D12_SHADER_CACHE_CONTROL_FLAGS,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device9::ShaderCacheControl")
    }

    fn CreateCommandQueue1(
        &self,
        pdesc: *const D3D12_COMMAND_QUEUE_DESC,
        _creatorid: *const GUID,
        riid: *const GUID,
        ppcommandqueue: *mut *mut c_void,
    ) -> Result<()> {
        // Creators tell queues of one process apart in schedulers; there is none here.
        let out = (riid, ppcommandqueue);
        // SAFETY: by the COM contract the pointers are null or point to what the method says.
        unsafe { self.create_command_queue("ID3D12Device9::CreateCommandQueue1", pdesc, out) }
    }
}
