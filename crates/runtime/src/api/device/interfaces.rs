//! The methods of `ID3D12Device` to `ID3D12Device14` as D3D12 declares them.
//!
//! Memory's methods call `creation` and `features`. The others say that they are not there: E_NOTIMPL where there is a
//! result, a line in the log where there is none.

use std::ffi::c_void;
use std::ptr::null_mut;

use heapwright_d3d12::*;
use windows_core::{BOOL, GUID, PCWSTR, Ref, Result};

use super::Device_Impl;
use super::creation::{Initial, ResourceRequest, read_desc, read_desc1, read_descs};
use super::residency::read_objects;
use crate::api::adapter::luid;
use crate::api::call;
use crate::rules;

impl ID3D12Device_Impl for Device_Impl {
    fn GetNodeCount(&self) -> u32 {
        1
    }

    fn CreateCommandQueue(
        &self,
        _pdesc: *const D3D12_COMMAND_QUEUE_DESC,
        _riid: *const GUID,
        _ppcommandqueue: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device::CreateCommandQueue")
    }

    fn CreateCommandAllocator(
        &self,
        _type: D3D12_COMMAND_LIST_TYPE,
        _riid: *const GUID,
        _ppcommandallocator: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device::CreateCommandAllocator")
    }

    fn CreateGraphicsPipelineState(
        &self,
        _pdesc: *const D3D12_GRAPHICS_PIPELINE_STATE_DESC,
        _riid: *const GUID,
        _pppipelinestate: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device::CreateGraphicsPipelineState")
    }

    fn CreateComputePipelineState(
        &self,
        _pdesc: *const D3D12_COMPUTE_PIPELINE_STATE_DESC,
        _riid: *const GUID,
        _pppipelinestate: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device::CreateComputePipelineState")
    }

    fn CreateCommandList(
        &self,
        _nodemask: u32,
        _type: D3D12_COMMAND_LIST_TYPE,
        _pcommandallocator: Ref<'_, ID3D12CommandAllocator>,
        _pinitialstate: Ref<'_, ID3D12PipelineState>,
        _riid: *const GUID,
        _ppcommandlist: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device::CreateCommandList")
    }

    fn CheckFeatureSupport(
        &self,
        feature: D3D12_FEATURE,
        pfeaturesupportdata: *mut c_void,
        featuresupportdatasize: u32,
    ) -> Result<()> {
        call::run(self.log(), "ID3D12Device::CheckFeatureSupport", || {
            self.check_feature_support(feature, pfeaturesupportdata, featuresupportdatasize)
        })
    }

    fn CreateDescriptorHeap(
        &self,
        _pdescriptorheapdesc: *const D3D12_DESCRIPTOR_HEAP_DESC,
        _riid: *const GUID,
        _ppvheap: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device::CreateDescriptorHeap")
    }

    fn GetDescriptorHandleIncrementSize(&self, _descriptorheaptype: D3D12_DESCRIPTOR_HEAP_TYPE) -> u32 {
        call::ignored(self.log(), "ID3D12Device::GetDescriptorHandleIncrementSize");
        0
    }

    fn CreateRootSignature(
        &self,
        _nodemask: u32,
        _pblobwithrootsignature: *const c_void,
        _bloblengthinbytes: usize,
        _riid: *const GUID,
        _ppvrootsignature: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device::CreateRootSignature")
    }

    fn CreateConstantBufferView(
        &self,
        _pdesc: *const D3D12_CONSTANT_BUFFER_VIEW_DESC,
        _destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        call::ignored(self.log(), "ID3D12Device::CreateConstantBufferView");
    }

    fn CreateShaderResourceView(
        &self,
        _presource: Ref<'_, ID3D12Resource>,
        _pdesc: *const D3D12_SHADER_RESOURCE_VIEW_DESC,
        _destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        call::ignored(self.log(), "ID3D12Device::CreateShaderResourceView");
    }

    fn CreateUnorderedAccessView(
        &self,
        _presource: Ref<'_, ID3D12Resource>,
        _pcounterresource: Ref<'_, ID3D12Resource>,
        _pdesc: *const D3D12_UNORDERED_ACCESS_VIEW_DESC,
        _destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        call::ignored(self.log(), "ID3D12Device::CreateUnorderedAccessView");
    }

    fn CreateRenderTargetView(
        &self,
        _presource: Ref<'_, ID3D12Resource>,
        _pdesc: *const D3D12_RENDER_TARGET_VIEW_DESC,
        _destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        call::ignored(self.log(), "ID3D12Device::CreateRenderTargetView");
    }

    fn CreateDepthStencilView(
        &self,
        _presource: Ref<'_, ID3D12Resource>,
        _pdesc: *const D3D12_DEPTH_STENCIL_VIEW_DESC,
        _destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        call::ignored(self.log(), "ID3D12Device::CreateDepthStencilView");
    }

    fn CreateSampler(
        &self,
        _pdesc: *const D3D12_SAMPLER_DESC,
        _destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        call::ignored(self.log(), "ID3D12Device::CreateSampler");
    }

    fn CopyDescriptors(
        &self,
        _numdestdescriptorranges: u32,
        _pdestdescriptorrangestarts: *const D3D12_CPU_DESCRIPTOR_HANDLE,
        _pdestdescriptorrangesizes: *const u32,
        _numsrcdescriptorranges: u32,
        _psrcdescriptorrangestarts: *const D3D12_CPU_DESCRIPTOR_HANDLE,
        _psrcdescriptorrangesizes: *const u32,
        _descriptorheapstype: D3D12_DESCRIPTOR_HEAP_TYPE,
    ) {
        call::ignored(self.log(), "ID3D12Device::CopyDescriptors");
    }

    fn CopyDescriptorsSimple(
        &self,
        _numdescriptors: u32,
        _destdescriptorrangestart: &D3D12_CPU_DESCRIPTOR_HANDLE,
        _srcdescriptorrangestart: &D3D12_CPU_DESCRIPTOR_HANDLE,
        _descriptorheapstype: D3D12_DESCRIPTOR_HEAP_TYPE,
    ) {
        call::ignored(self.log(), "ID3D12Device::CopyDescriptorsSimple");
    }

    fn GetResourceAllocationInfo(
        &self,
        visiblemask: u32,
        numresourcedescs: u32,
        presourcedescs: *const D3D12_RESOURCE_DESC,
    ) -> D3D12_RESOURCE_ALLOCATION_INFO {
        // SAFETY: by the COM contract the array has that many descriptions; no infos are asked for.
        unsafe {
            let descs = read_descs(numresourcedescs, presourcedescs, rules::resource::upgrade);
            self.allocation_info("ID3D12Device::GetResourceAllocationInfo", visiblemask, descs, null_mut())
        }
    }

    fn GetCustomHeapProperties(&self, nodemask: u32, heaptype: D3D12_HEAP_TYPE) -> D3D12_HEAP_PROPERTIES {
        call::run_infallible(
            self.log(),
            "ID3D12Device::GetCustomHeapProperties",
            D3D12_HEAP_PROPERTIES::default(),
            || self.custom_heap_properties(nodemask, heaptype),
        )
    }

    fn CreateCommittedResource(
        &self,
        pheapproperties: *const D3D12_HEAP_PROPERTIES,
        heapflags: D3D12_HEAP_FLAGS,
        pdesc: *const D3D12_RESOURCE_DESC,
        initialresourcestate: D3D12_RESOURCE_STATES,
        poptimizedclearvalue: *const D3D12_CLEAR_VALUE,
        riidresource: *const GUID,
        ppvresource: *mut *mut c_void,
    ) -> Result<()> {
        // SAFETY: by the COM contract pDesc is null or points to a description.
        let desc = unsafe { read_desc(pdesc) };
        let initial = Initial::State(initialresourcestate);
        let request = ResourceRequest::new(desc, initial, poptimizedclearvalue, riidresource, ppvresource);
        let name = "ID3D12Device::CreateCommittedResource";
        self.create_committed_resource(name, pheapproperties, heapflags, &request)
    }

    fn CreateHeap(
        &self,
        pdesc: *const D3D12_HEAP_DESC,
        riid: *const GUID,
        ppvheap: *mut *mut c_void,
    ) -> Result<()> {
        self.create_heap("ID3D12Device::CreateHeap", pdesc, None, riid, ppvheap)
    }

    fn CreatePlacedResource(
        &self,
        pheap: Ref<'_, ID3D12Heap>,
        heapoffset: u64,
        pdesc: *const D3D12_RESOURCE_DESC,
        initialstate: D3D12_RESOURCE_STATES,
        poptimizedclearvalue: *const D3D12_CLEAR_VALUE,
        riid: *const GUID,
        ppvresource: *mut *mut c_void,
    ) -> Result<()> {
        // SAFETY: by the COM contract pDesc is null or points to a description.
        let desc = unsafe { read_desc(pdesc) };
        let initial = Initial::State(initialstate);
        let request = ResourceRequest::new(desc, initial, poptimizedclearvalue, riid, ppvresource);
        self.create_placed_resource("ID3D12Device::CreatePlacedResource", pheap, heapoffset, &request)
    }

    fn CreateReservedResource(
        &self,
        pdesc: *const D3D12_RESOURCE_DESC,
        initialstate: D3D12_RESOURCE_STATES,
        poptimizedclearvalue: *const D3D12_CLEAR_VALUE,
        riid: *const GUID,
        ppvresource: *mut *mut c_void,
    ) -> Result<()> {
        // SAFETY: by the COM contract pDesc is null or points to a description.
        let desc = unsafe { read_desc(pdesc) };
        let initial = Initial::State(initialstate);
        let request = ResourceRequest::new(desc, initial, poptimizedclearvalue, riid, ppvresource);
        self.create_reserved_resource("ID3D12Device::CreateReservedResource", &request)
    }

    fn CreateSharedHandle(
        &self,
        _pobject: Ref<'_, ID3D12DeviceChild>,
        _pattributes: *const SECURITY_ATTRIBUTES,
        _access: u32,
        _name: &PCWSTR,
    ) -> Result<HANDLE> {
        call::not_implemented(self.log(), "ID3D12Device::CreateSharedHandle")
    }

    fn OpenSharedHandle(
        &self,
        _nthandle: HANDLE,
        _riid: *const GUID,
        _ppvobj: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device::OpenSharedHandle")
    }

    fn OpenSharedHandleByName(&self, _name: &PCWSTR, _access: u32) -> Result<HANDLE> {
        call::not_implemented(self.log(), "ID3D12Device::OpenSharedHandleByName")
    }

    fn MakeResident(&self, numobjects: u32, ppobjects: *const Option<ID3D12Pageable>) -> Result<()> {
        call::run(self.log(), "ID3D12Device::MakeResident", || {
            // SAFETY: by the COM contract the array has that many elements.
            self.make_resident(unsafe { read_objects(numobjects, ppobjects) }?)
        })
    }

    fn Evict(&self, numobjects: u32, ppobjects: *const Option<ID3D12Pageable>) -> Result<()> {
        call::run(self.log(), "ID3D12Device::Evict", || {
            // SAFETY: by the COM contract the array has that many elements.
            self.evict(unsafe { read_objects(numobjects, ppobjects) }?)
        })
    }

    fn CreateFence(
        &self,
        _initialvalue: u64,
        _flags: D3D12_FENCE_FLAGS,
        _riid: *const GUID,
        _ppfence: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device::CreateFence")
    }

    fn GetDeviceRemovedReason(&self) -> Result<()> {
        // Nothing removes a device yet: it has no queues that could fault.
        Ok(())
    }

    fn GetCopyableFootprints(
        &self,
        _presourcedesc: *const D3D12_RESOURCE_DESC,
        _firstsubresource: u32,
        _numsubresources: u32,
        _baseoffset: u64,
        _playouts: *mut D3D12_PLACED_SUBRESOURCE_FOOTPRINT,
        _pnumrows: *mut u32,
        _prowsizeinbytes: *mut u64,
        _ptotalbytes: *mut u64,
    ) {
        call::ignored(self.log(), "ID3D12Device::GetCopyableFootprints");
    }

    fn CreateQueryHeap(
        &self,
        _pdesc: *const D3D12_QUERY_HEAP_DESC,
        _riid: *const GUID,
        _ppvheap: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device::CreateQueryHeap")
    }

    fn SetStablePowerState(&self, _enable: BOOL) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device::SetStablePowerState")
    }

    fn CreateCommandSignature(
        &self,
        _pdesc: *const D3D12_COMMAND_SIGNATURE_DESC,
        _prootsignature: Ref<'_, ID3D12RootSignature>,
        _riid: *const GUID,
        _ppvcommandsignature: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device::CreateCommandSignature")
    }

    fn GetResourceTiling(
        &self,
        _ptiledresource: Ref<'_, ID3D12Resource>,
        _pnumtilesforentireresource: *mut u32,
        _ppackedmipdesc: *mut D3D12_PACKED_MIP_INFO,
        _pstandardtileshapefornonpackedmips: *mut D3D12_TILE_SHAPE,
        _pnumsubresourcetilings: *mut u32,
        _firstsubresourcetilingtoget: u32,
        _psubresourcetilingsfornonpackedmips: *mut D3D12_SUBRESOURCE_TILING,
    ) {
        call::ignored(self.log(), "ID3D12Device::GetResourceTiling");
    }

    fn GetAdapterLuid(&self) -> LUID {
        luid(self.driver().identity())
    }
}

impl ID3D12Device1_Impl for Device_Impl {
    fn CreatePipelineLibrary(
        &self,
        _plibraryblob: *const c_void,
        _bloblength: usize,
        _riid: *const GUID,
        _pppipelinelibrary: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device1::CreatePipelineLibrary")
    }

    fn SetEventOnMultipleFenceCompletion(
        &self,
        _ppfences: *const Option<ID3D12Fence>,
        _pfencevalues: *const u64,
        _numfences: u32,
        _flags: D3D12_MULTIPLE_FENCE_WAIT_FLAGS,
        _hevent: HANDLE,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device1::SetEventOnMultipleFenceCompletion")
    }

    fn SetResidencyPriority(
        &self,
        numobjects: u32,
        ppobjects: *const Option<ID3D12Pageable>,
        ppriorities: *const D3D12_RESIDENCY_PRIORITY,
    ) -> Result<()> {
        call::run(self.log(), "ID3D12Device1::SetResidencyPriority", || {
            // SAFETY: by the COM contract both arrays have that many elements.
            self.set_residency_priority(unsafe { read_objects(numobjects, ppobjects) }?, ppriorities)
        })
    }
}

impl ID3D12Device2_Impl for Device_Impl {
    fn CreatePipelineState(
        &self,
        _pdesc: *const D3D12_PIPELINE_STATE_STREAM_DESC,
        _riid: *const GUID,
        _pppipelinestate: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device2::CreatePipelineState")
    }
}

impl ID3D12Device3_Impl for Device_Impl {
    fn OpenExistingHeapFromAddress(
        &self,
        _paddress: *const c_void,
        _riid: *const GUID,
        _ppvheap: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device3::OpenExistingHeapFromAddress")
    }

    fn OpenExistingHeapFromFileMapping(
        &self,
        _hfilemapping: HANDLE,
        _riid: *const GUID,
        _ppvheap: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device3::OpenExistingHeapFromFileMapping")
    }

    fn EnqueueMakeResident(
        &self,
        _flags: D3D12_RESIDENCY_FLAGS,
        _numobjects: u32,
        _ppobjects: *const Option<ID3D12Pageable>,
        _pfencetosignal: Ref<'_, ID3D12Fence>,
        _fencevaluetosignal: u64,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device3::EnqueueMakeResident")
    }
}

impl ID3D12Device4_Impl for Device_Impl {
    fn CreateCommandList1(
        &self,
        _nodemask: u32,
        _type: D3D12_COMMAND_LIST_TYPE,
        _flags: D3D12_COMMAND_LIST_FLAGS,
        _riid: *const GUID,
        _ppcommandlist: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device4::CreateCommandList1")
    }

    fn CreateProtectedResourceSession(
        &self,
        _pdesc: *const D3D12_PROTECTED_RESOURCE_SESSION_DESC,
        _riid: *const GUID,
        _ppsession: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device4::CreateProtectedResourceSession")
    }

    fn CreateCommittedResource1(
        &self,
        pheapproperties: *const D3D12_HEAP_PROPERTIES,
        heapflags: D3D12_HEAP_FLAGS,
        pdesc: *const D3D12_RESOURCE_DESC,
        initialresourcestate: D3D12_RESOURCE_STATES,
        poptimizedclearvalue: *const D3D12_CLEAR_VALUE,
        pprotectedsession: Ref<'_, ID3D12ProtectedResourceSession>,
        riidresource: *const GUID,
        ppvresource: *mut *mut c_void,
    ) -> Result<()> {
        // SAFETY: by the COM contract pDesc is null or points to a description.
        let desc = unsafe { read_desc(pdesc) };
        let initial = Initial::State(initialresourcestate);
        let request = ResourceRequest {
            protected_session: pprotectedsession.as_ref(),
            ..ResourceRequest::new(desc, initial, poptimizedclearvalue, riidresource, ppvresource)
        };
        let name = "ID3D12Device4::CreateCommittedResource1";
        self.create_committed_resource(name, pheapproperties, heapflags, &request)
    }

    fn CreateHeap1(
        &self,
        pdesc: *const D3D12_HEAP_DESC,
        pprotectedsession: Ref<'_, ID3D12ProtectedResourceSession>,
        riid: *const GUID,
        ppvheap: *mut *mut c_void,
    ) -> Result<()> {
        self.create_heap("ID3D12Device4::CreateHeap1", pdesc, pprotectedsession.as_ref(), riid, ppvheap)
    }

    fn CreateReservedResource1(
        &self,
        pdesc: *const D3D12_RESOURCE_DESC,
        initialstate: D3D12_RESOURCE_STATES,
        poptimizedclearvalue: *const D3D12_CLEAR_VALUE,
        pprotectedsession: Ref<'_, ID3D12ProtectedResourceSession>,
        riid: *const GUID,
        ppvresource: *mut *mut c_void,
    ) -> Result<()> {
        // SAFETY: by the COM contract pDesc is null or points to a description.
        let desc = unsafe { read_desc(pdesc) };
        let initial = Initial::State(initialstate);
        let request = ResourceRequest {
            protected_session: pprotectedsession.as_ref(),
            ..ResourceRequest::new(desc, initial, poptimizedclearvalue, riid, ppvresource)
        };
        self.create_reserved_resource("ID3D12Device4::CreateReservedResource1", &request)
    }

    fn GetResourceAllocationInfo1(
        &self,
        visiblemask: u32,
        numresourcedescs: u32,
        presourcedescs: *const D3D12_RESOURCE_DESC,
        presourceallocationinfo1: *mut D3D12_RESOURCE_ALLOCATION_INFO1,
    ) -> D3D12_RESOURCE_ALLOCATION_INFO {
        // SAFETY: by the COM contract both arrays have that many elements, the second may be null.
        unsafe {
            let descs = read_descs(numresourcedescs, presourcedescs, rules::resource::upgrade);
            let name = "ID3D12Device4::GetResourceAllocationInfo1";
            self.allocation_info(name, visiblemask, descs, presourceallocationinfo1)
        }
    }
}

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
        call::ignored(self.log(), "ID3D12Device5::RemoveDevice");
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
            self.allocation_info(name, visiblemask, descs, presourceallocationinfo1)
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
        self.create_committed_resource(name, pheapproperties, heapflags, &request)
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
        self.create_placed_resource("ID3D12Device8::CreatePlacedResource1", pheap, heapoffset, &request)
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
        _presourcedesc: *const D3D12_RESOURCE_DESC1,
        _firstsubresource: u32,
        _numsubresources: u32,
        _baseoffset: u64,
        _playouts: *mut D3D12_PLACED_SUBRESOURCE_FOOTPRINT,
        _pnumrows: *mut u32,
        _prowsizeinbytes: *mut u64,
        _ptotalbytes: *mut u64,
    ) {
        call::ignored(self.log(), "ID3D12Device8::GetCopyableFootprints1");
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
        _pdesc: *const D3D12_COMMAND_QUEUE_DESC,
        _creatorid: *const GUID,
        _riid: *const GUID,
        _ppcommandqueue: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device9::CreateCommandQueue1")
    }
}

impl ID3D12Device10_Impl for Device_Impl {
    fn CreateCommittedResource3(
        &self,
        pheapproperties: *const D3D12_HEAP_PROPERTIES,
        heapflags: D3D12_HEAP_FLAGS,
        pdesc: *const D3D12_RESOURCE_DESC1,
        initiallayout: D3D12_BARRIER_LAYOUT,
        poptimizedclearvalue: *const D3D12_CLEAR_VALUE,
        pprotectedsession: Ref<'_, ID3D12ProtectedResourceSession>,
        numcastableformats: u32,
        _pcastableformats: *const DXGI_FORMAT,
        riidresource: *const GUID,
        ppvresource: *mut *mut c_void,
    ) -> Result<()> {
        // SAFETY: by the COM contract pDesc is null or points to a description.
        let desc = unsafe { read_desc1(pdesc) };
        let initial = Initial::Layout(initiallayout);
        let request = ResourceRequest {
            protected_session: pprotectedsession.as_ref(),
            castable_format_count: numcastableformats,
            ..ResourceRequest::new(desc, initial, poptimizedclearvalue, riidresource, ppvresource)
        };
        let name = "ID3D12Device10::CreateCommittedResource3";
        self.create_committed_resource(name, pheapproperties, heapflags, &request)
    }

    fn CreatePlacedResource2(
        &self,
        pheap: Ref<'_, ID3D12Heap>,
        heapoffset: u64,
        pdesc: *const D3D12_RESOURCE_DESC1,
        initiallayout: D3D12_BARRIER_LAYOUT,
        poptimizedclearvalue: *const D3D12_CLEAR_VALUE,
        numcastableformats: u32,
        _pcastableformats: *const DXGI_FORMAT,
        riid: *const GUID,
        ppvresource: *mut *mut c_void,
    ) -> Result<()> {
        // SAFETY: by the COM contract pDesc is null or points to a description.
        let desc = unsafe { read_desc1(pdesc) };
        let initial = Initial::Layout(initiallayout);
        let request = ResourceRequest {
            castable_format_count: numcastableformats,
            ..ResourceRequest::new(desc, initial, poptimizedclearvalue, riid, ppvresource)
        };
        self.create_placed_resource("ID3D12Device10::CreatePlacedResource2", pheap, heapoffset, &request)
    }

    fn CreateReservedResource2(
        &self,
        pdesc: *const D3D12_RESOURCE_DESC,
        initiallayout: D3D12_BARRIER_LAYOUT,
        poptimizedclearvalue: *const D3D12_CLEAR_VALUE,
        pprotectedsession: Ref<'_, ID3D12ProtectedResourceSession>,
        numcastableformats: u32,
        _pcastableformats: *const DXGI_FORMAT,
        riid: *const GUID,
        ppvresource: *mut *mut c_void,
    ) -> Result<()> {
        // SAFETY: by the COM contract pDesc is null or points to a description.
        let desc = unsafe { read_desc(pdesc) };
        let initial = Initial::Layout(initiallayout);
        let request = ResourceRequest {
            protected_session: pprotectedsession.as_ref(),
            castable_format_count: numcastableformats,
            ..ResourceRequest::new(desc, initial, poptimizedclearvalue, riid, ppvresource)
        };
        self.create_reserved_resource("ID3D12Device10::CreateReservedResource2", &request)
    }
}

impl ID3D12Device11_Impl for Device_Impl {
    fn CreateSampler2(
        &self,
        _pdesc: *const D3D12_SAMPLER_DESC2,
        _destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        call::ignored(self.log(), "ID3D12Device11::CreateSampler2");
    }
}

impl ID3D12Device12_Impl for Device_Impl {
    fn GetResourceAllocationInfo3(
        &self,
        visiblemask: u32,
        numresourcedescs: u32,
        presourcedescs: *const D3D12_RESOURCE_DESC1,
        _pnumcastableformats: *const u32,
        _ppcastableformats: *const *const DXGI_FORMAT,
        presourceallocationinfo1: *mut D3D12_RESOURCE_ALLOCATION_INFO1,
    ) -> D3D12_RESOURCE_ALLOCATION_INFO {
        // Castable formats change nothing for a buffer, and textures are refused.
        // SAFETY: by the COM contract the arrays have that many elements, the last may be null.
        unsafe {
            let descs = read_descs(numresourcedescs, presourcedescs, |desc| *desc);
            let name = "ID3D12Device12::GetResourceAllocationInfo3";
            self.allocation_info(name, visiblemask, descs, presourceallocationinfo1)
        }
    }
}

impl ID3D12Device13_Impl for Device_Impl {
    fn OpenExistingHeapFromAddress1(
        &self,
        _paddress: *const c_void,
        _size: usize,
        _riid: *const GUID,
        _ppvheap: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device13::OpenExistingHeapFromAddress1")
    }
}

impl ID3D12Device14_Impl for Device_Impl {
    fn CreateRootSignatureFromSubobjectInLibrary(
        &self,
        _nodemask: u32,
        _plibraryblob: *const c_void,
        _bloblengthinbytes: usize,
        _subobjectname: &PCWSTR,
        _riid: *const GUID,
        _ppvrootsignature: *mut *mut c_void,
    ) -> Result<()> {
        call::not_implemented(self.log(), "ID3D12Device14::CreateRootSignatureFromSubobjectInLibrary")
    }
}
