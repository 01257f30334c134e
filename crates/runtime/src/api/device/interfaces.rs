//! The methods of `ID3D12Device` to `ID3D12Device14` as D3D12 declares them.
//!
//! Memory's methods call `creation` and `features`. The others say that they are not there: E_NOTIMPL where there is a
//! result, a line in the log where there is none.

use std::ffi::c_void;
use std::ptr::null_mut;

use heapwright_d3d12::*;
use windows_core::{BOOL, GUID, IUnknownImpl as _, PCWSTR, Ref, Result};

use super::Device_Impl;
use super::creation::{Initial, ResourceRequest, read_desc, read_desc1, read_descs, read_formats};
use super::layouts::{FootprintOutputs, FootprintRange};
use super::residency::read_objects;
use crate::api::adapter::luid;
use crate::api::{call, shared_handle};
use crate::rules;

impl ID3D12Device_Impl for Device_Impl {
    fn GetNodeCount(&self) -> u32 {
        1
    }

    fn CreateCommandQueue(
        &self,
        pdesc: *const D3D12_COMMAND_QUEUE_DESC,
        riid: *const GUID,
        ppcommandqueue: *mut *mut c_void,
    ) -> Result<()> {
        let out = (riid, ppcommandqueue);
        self.create_command_queue("ID3D12Device::CreateCommandQueue", pdesc, out)
    }

    fn CreateCommandAllocator(
        &self,
        list_type: D3D12_COMMAND_LIST_TYPE,
        riid: *const GUID,
        ppcommandallocator: *mut *mut c_void,
    ) -> Result<()> {
        self.create_command_allocator(list_type, (riid, ppcommandallocator))
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
        nodemask: u32,
        list_type: D3D12_COMMAND_LIST_TYPE,
        pcommandallocator: Ref<'_, ID3D12CommandAllocator>,
        pinitialstate: Ref<'_, ID3D12PipelineState>,
        riid: *const GUID,
        ppcommandlist: *mut *mut c_void,
    ) -> Result<()> {
        let (allocator, state) = (pcommandallocator.as_ref(), pinitialstate.as_ref());
        self.create_command_list(nodemask, list_type, allocator, state, (riid, ppcommandlist))
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
        pdescriptorheapdesc: *const D3D12_DESCRIPTOR_HEAP_DESC,
        riid: *const GUID,
        ppvheap: *mut *mut c_void,
    ) -> Result<()> {
        self.create_descriptor_heap(pdescriptorheapdesc, (riid, ppvheap))
    }

    fn GetDescriptorHandleIncrementSize(&self, descriptorheaptype: D3D12_DESCRIPTOR_HEAP_TYPE) -> u32 {
        self.descriptor_increment(descriptorheaptype)
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
        pdesc: *const D3D12_CONSTANT_BUFFER_VIEW_DESC,
        destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        let (name, heap_type) =
            ("ID3D12Device::CreateConstantBufferView", D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
        self.write_descriptor(name, *destdescriptor, heap_type, || self.constant_buffer_view(pdesc));
    }

    fn CreateShaderResourceView(
        &self,
        presource: Ref<'_, ID3D12Resource>,
        pdesc: *const D3D12_SHADER_RESOURCE_VIEW_DESC,
        destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        let (name, heap_type) =
            ("ID3D12Device::CreateShaderResourceView", D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
        self.write_descriptor(name, *destdescriptor, heap_type, || {
            self.shader_resource_view(presource.as_ref(), !pdesc.is_null())
        });
    }

    fn CreateUnorderedAccessView(
        &self,
        presource: Ref<'_, ID3D12Resource>,
        pcounterresource: Ref<'_, ID3D12Resource>,
        pdesc: *const D3D12_UNORDERED_ACCESS_VIEW_DESC,
        destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        let (name, heap_type) =
            ("ID3D12Device::CreateUnorderedAccessView", D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
        self.write_descriptor(name, *destdescriptor, heap_type, || {
            self.unordered_access_view(presource.as_ref(), pcounterresource.as_ref(), pdesc)
        });
    }

    fn CreateRenderTargetView(
        &self,
        presource: Ref<'_, ID3D12Resource>,
        pdesc: *const D3D12_RENDER_TARGET_VIEW_DESC,
        destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        let (name, heap_type) = ("ID3D12Device::CreateRenderTargetView", D3D12_DESCRIPTOR_HEAP_TYPE_RTV);
        self.write_descriptor(name, *destdescriptor, heap_type, || {
            self.render_target_view(presource.as_ref(), pdesc)
        });
    }

    fn CreateDepthStencilView(
        &self,
        presource: Ref<'_, ID3D12Resource>,
        pdesc: *const D3D12_DEPTH_STENCIL_VIEW_DESC,
        destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        let (name, heap_type) = ("ID3D12Device::CreateDepthStencilView", D3D12_DESCRIPTOR_HEAP_TYPE_DSV);
        self.write_descriptor(name, *destdescriptor, heap_type, || {
            self.depth_stencil_view(presource.as_ref(), pdesc)
        });
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
        numdestdescriptorranges: u32,
        pdestdescriptorrangestarts: *const D3D12_CPU_DESCRIPTOR_HANDLE,
        pdestdescriptorrangesizes: *const u32,
        numsrcdescriptorranges: u32,
        psrcdescriptorrangestarts: *const D3D12_CPU_DESCRIPTOR_HANDLE,
        psrcdescriptorrangesizes: *const u32,
        descriptorheapstype: D3D12_DESCRIPTOR_HEAP_TYPE,
    ) {
        // The call has no result; `run` has logged a refusal.
        let _ = call::run(self.log(), "ID3D12Device::CopyDescriptors", || {
            self.copy_descriptors(
                numdestdescriptorranges,
                pdestdescriptorrangestarts,
                pdestdescriptorrangesizes,
                numsrcdescriptorranges,
                psrcdescriptorrangestarts,
                psrcdescriptorrangesizes,
                descriptorheapstype,
            )
        });
    }

    fn CopyDescriptorsSimple(
        &self,
        numdescriptors: u32,
        destdescriptorrangestart: &D3D12_CPU_DESCRIPTOR_HANDLE,
        srcdescriptorrangestart: &D3D12_CPU_DESCRIPTOR_HANDLE,
        descriptorheapstype: D3D12_DESCRIPTOR_HEAP_TYPE,
    ) {
        let (target, source, count) = (destdescriptorrangestart, srcdescriptorrangestart, &numdescriptors);
        // The call has no result; `run` has logged a refusal.
        let _ = call::run(self.log(), "ID3D12Device::CopyDescriptorsSimple", || {
            self.copy_descriptors(1, target, count, 1, source, count, descriptorheapstype)
        });
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
        pobject: Ref<'_, ID3D12DeviceChild>,
        _pattributes: *const SECURITY_ATTRIBUTES,
        access: u32,
        name: &PCWSTR,
    ) -> Result<HANDLE> {
        call::run(self.log(), "ID3D12Device::CreateSharedHandle", || {
            // SAFETY: by the COM contract the name is null or a zero-terminated UTF-16 string.
            unsafe { shared_handle::create(self, pobject.as_ref(), access, *name) }
        })
    }

    fn OpenSharedHandle(&self, nthandle: HANDLE, riid: *const GUID, ppvobj: *mut *mut c_void) -> Result<()> {
        call::run(self.log(), "ID3D12Device::OpenSharedHandle", || {
            shared_handle::open(&self.to_object(), nthandle, riid, ppvobj)
        })
    }

    fn OpenSharedHandleByName(&self, name: &PCWSTR, access: u32) -> Result<HANDLE> {
        call::run(self.log(), "ID3D12Device::OpenSharedHandleByName", || {
            // SAFETY: by the COM contract the name is null or a zero-terminated UTF-16 string.
            unsafe { shared_handle::open_by_name(self, *name, access) }
        })
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
        initialvalue: u64,
        flags: D3D12_FENCE_FLAGS,
        riid: *const GUID,
        ppfence: *mut *mut c_void,
    ) -> Result<()> {
        self.create_fence(initialvalue, flags, (riid, ppfence))
    }

    fn GetDeviceRemovedReason(&self) -> Result<()> {
        match self.removal().reason() {
            None => Ok(()),
            Some(reason) => Err(windows_core::Error::from_hresult(reason)),
        }
    }

    fn GetCopyableFootprints(
        &self,
        presourcedesc: *const D3D12_RESOURCE_DESC,
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
        let _ = call::run(self.log(), "ID3D12Device::GetCopyableFootprints", || {
            // SAFETY: by the COM contract the description is readable and each array null or of numSubresources elements.
            unsafe { self.copyable_footprints(read_desc(presourcedesc), range, outputs) }
        });
    }

    fn CreateQueryHeap(
        &self,
        pdesc: *const D3D12_QUERY_HEAP_DESC,
        riid: *const GUID,
        ppvheap: *mut *mut c_void,
    ) -> Result<()> {
        self.create_query_heap(pdesc, (riid, ppvheap))
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
        ptiledresource: Ref<'_, ID3D12Resource>,
        pnumtilesforentireresource: *mut u32,
        ppackedmipdesc: *mut D3D12_PACKED_MIP_INFO,
        pstandardtileshapefornonpackedmips: *mut D3D12_TILE_SHAPE,
        pnumsubresourcetilings: *mut u32,
        firstsubresourcetilingtoget: u32,
        psubresourcetilingsfornonpackedmips: *mut D3D12_SUBRESOURCE_TILING,
    ) {
        // The call has no result; `run` has logged a refusal.
        let _ = call::run(self.log(), "ID3D12Device::GetResourceTiling", || {
            let tiling = self.tiling(ptiledresource)?;
            // SAFETY: by the COM contract each pointer is null or writable; the array has *pNumSubresourceTilings elements.
            unsafe {
                if let Some(out) = pnumtilesforentireresource.as_mut() {
                    *out = tiling.tile_count();
                }
                if let Some(out) = ppackedmipdesc.as_mut() {
                    *out = tiling.packed_mips();
                }
                if let Some(out) = pstandardtileshapefornonpackedmips.as_mut() {
                    *out = tiling.tile_shape();
                }
                let Some(count) = pnumsubresourcetilings.as_mut() else { return Ok(()) };
                let left = tiling.subresource_count().saturating_sub(firstsubresourcetilingtoget);
                *count = left.min(*count);
                if !psubresourcetilingsfornonpackedmips.is_null() {
                    for index in 0..*count {
                        let found = tiling.subresource(firstsubresourcetilingtoget + index);
                        let offset = usize::try_from(index).unwrap_or(0);
                        psubresourcetilingsfornonpackedmips.add(offset).write(found.unwrap_or_default());
                    }
                }
            }
            Ok(())
        });
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
        ppfences: *const Option<ID3D12Fence>,
        pfencevalues: *const u64,
        numfences: u32,
        flags: D3D12_MULTIPLE_FENCE_WAIT_FLAGS,
        hevent: HANDLE,
    ) -> Result<()> {
        call::run(self.log(), "ID3D12Device1::SetEventOnMultipleFenceCompletion", || {
            self.set_event_on_multiple_fence_completion(ppfences, pfencevalues, numfences, flags, hevent)
        })
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
        flags: D3D12_RESIDENCY_FLAGS,
        numobjects: u32,
        ppobjects: *const Option<ID3D12Pageable>,
        pfencetosignal: Ref<'_, ID3D12Fence>,
        fencevaluetosignal: u64,
    ) -> Result<()> {
        call::run(self.log(), "ID3D12Device3::EnqueueMakeResident", || {
            // SAFETY: by the COM contract the array has that many elements.
            let objects = unsafe { read_objects(numobjects, ppobjects) }?;
            self.enqueue_make_resident(flags, objects, pfencetosignal.as_ref(), fencevaluetosignal)
        })
    }
}

impl ID3D12Device4_Impl for Device_Impl {
    fn CreateCommandList1(
        &self,
        nodemask: u32,
        list_type: D3D12_COMMAND_LIST_TYPE,
        flags: D3D12_COMMAND_LIST_FLAGS,
        riid: *const GUID,
        ppcommandlist: *mut *mut c_void,
    ) -> Result<()> {
        self.create_command_list1(nodemask, list_type, flags, (riid, ppcommandlist))
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
        self.create_command_queue("ID3D12Device9::CreateCommandQueue1", pdesc, out)
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
        pcastableformats: *const DXGI_FORMAT,
        riidresource: *const GUID,
        ppvresource: *mut *mut c_void,
    ) -> Result<()> {
        // SAFETY: by the COM contract pDesc is null or points to a description, and the formats are as many as counted.
        let (desc, formats) =
            unsafe { (read_desc1(pdesc), read_formats(numcastableformats, pcastableformats)) };
        let desc = formats.clone().and(desc);
        let initial = Initial::Layout(initiallayout);
        let request = ResourceRequest {
            protected_session: pprotectedsession.as_ref(),
            castable_formats: formats.unwrap_or_default(),
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
        pcastableformats: *const DXGI_FORMAT,
        riid: *const GUID,
        ppvresource: *mut *mut c_void,
    ) -> Result<()> {
        // SAFETY: by the COM contract pDesc is null or points to a description, and the formats are as many as counted.
        let (desc, formats) =
            unsafe { (read_desc1(pdesc), read_formats(numcastableformats, pcastableformats)) };
        let desc = formats.clone().and(desc);
        let initial = Initial::Layout(initiallayout);
        let request = ResourceRequest {
            castable_formats: formats.unwrap_or_default(),
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
        pcastableformats: *const DXGI_FORMAT,
        riid: *const GUID,
        ppvresource: *mut *mut c_void,
    ) -> Result<()> {
        // SAFETY: by the COM contract pDesc is null or points to a description, and the formats are as many as counted.
        let (desc, formats) =
            unsafe { (read_desc(pdesc), read_formats(numcastableformats, pcastableformats)) };
        let desc = formats.clone().and(desc);
        let initial = Initial::Layout(initiallayout);
        let request = ResourceRequest {
            protected_session: pprotectedsession.as_ref(),
            castable_formats: formats.unwrap_or_default(),
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
