//! `ID3D12Device`.

use std::ffi::c_void;
use std::ptr::null_mut;

use heapwright_d3d12::sdk_619::D3D12_QUERY_HEAP_FLAG_NONE;
use heapwright_d3d12::*;
use windows_core::{BOOL, ComObject, GUID, IUnknownImpl as _, Ref, Result};

use crate::api::adapter::luid;
use crate::api::command_allocator::{CommandAllocator, check_list_type};
use crate::api::command_list::CommandList;
use crate::api::command_queue::check_node_mask;
use crate::api::descriptor_heap::{self, DescriptorHeap};
use crate::api::device::Device_Impl;
use crate::api::device::creation::{CastableFormats, ResourceRequest, read_desc, read_descs};
use crate::api::device::layouts::{FootprintOutputs, FootprintRange};
use crate::api::device::residency::read_objects;
use crate::api::fence::{self, Fence};
use crate::api::inert::{self, CommandSignature, PipelineState, RootSignature};
use crate::api::methods::{calls, methods};
use crate::api::object::own;
use crate::api::query_heap::{self, QueryHeap};
use crate::api::{call, shared_handle};
use crate::rules::resource::{alone, upgrade};

impl ID3D12Device_Impl for Device_Impl {
    fn GetNodeCount(&self) -> u32 {
        1
    }

    fn CreateCommandAllocator(
        &self,
        list_type: D3D12_COMMAND_LIST_TYPE,
        riid: *const GUID,
        ppcommandallocator: *mut *mut c_void,
    ) -> Result<()> {
        let name = "ID3D12Device::CreateCommandAllocator";
        let check = || check_list_type(list_type);
        let make = |device, ()| Ok(CommandAllocator::new(device, list_type));
        // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
        unsafe { self.create_child(name, riid, ppcommandallocator, check, make) }
    }

    fn CreateGraphicsPipelineState(
        &self,
        pdesc: *const D3D12_GRAPHICS_PIPELINE_STATE_DESC,
        riid: *const GUID,
        pppipelinestate: *mut *mut c_void,
    ) -> Result<()> {
        let name = "ID3D12Device::CreateGraphicsPipelineState";
        // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
        let check = || unsafe { inert::check_graphics(pdesc) };
        // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
        unsafe {
            self.create_child(name, riid, pppipelinestate, check, |device, ()| Ok(PipelineState::new(device)))
        }
    }

    fn CreateComputePipelineState(
        &self,
        pdesc: *const D3D12_COMPUTE_PIPELINE_STATE_DESC,
        riid: *const GUID,
        pppipelinestate: *mut *mut c_void,
    ) -> Result<()> {
        let name = "ID3D12Device::CreateComputePipelineState";
        // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
        let check = || unsafe { inert::check_compute(pdesc) };
        // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
        unsafe {
            self.create_child(name, riid, pppipelinestate, check, |device, ()| Ok(PipelineState::new(device)))
        }
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
        // `CommandList::open` checks whether the device was removed.
        let check = || {
            check_node_mask(nodemask)?;
            check_list_type(list_type)?;
            if pinitialstate.is_some() {
                own::<PipelineState>(self, pinitialstate.as_ref(), "pInitialState")?;
            }
            own::<CommandAllocator>(self, pcommandallocator.as_ref(), "pCommandAllocator")
        };
        let make =
            |allocator: &_| Ok(ComObject::new(CommandList::open(self.to_object(), allocator, list_type)?));
        let name = "ID3D12Device::CreateCommandList";
        // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
        unsafe { call::create(self.log(), name, riid, ppcommandlist, check, make) }
    }

    fn CheckFeatureSupport(
        &self,
        feature: D3D12_FEATURE,
        pfeaturesupportdata: *mut c_void,
        featuresupportdatasize: u32,
    ) -> Result<()> {
        call::run(self.log(), "ID3D12Device::CheckFeatureSupport", || {
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe { self.check_feature_support(feature, pfeaturesupportdata, featuresupportdatasize) }
        })
    }

    fn CreateDescriptorHeap(
        &self,
        pdescriptorheapdesc: *const D3D12_DESCRIPTOR_HEAP_DESC,
        riid: *const GUID,
        ppvheap: *mut *mut c_void,
    ) -> Result<()> {
        let name = "ID3D12Device::CreateDescriptorHeap";
        // SAFETY: by the COM contract, pDescriptorHeapDesc is null or points to a description.
        let desc = unsafe { call::read(pdescriptorheapdesc, "pDescriptorHeapDesc") };
        let check = || desc.and_then(descriptor_heap::check_desc);
        // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
        unsafe { self.create_child(name, riid, ppvheap, check, DescriptorHeap::new) }
    }

    fn GetDescriptorHandleIncrementSize(&self, descriptorheaptype: D3D12_DESCRIPTOR_HEAP_TYPE) -> u32 {
        self.descriptor_increment(descriptorheaptype)
    }

    fn CreateRootSignature(
        &self,
        nodemask: u32,
        pblobwithrootsignature: *const c_void,
        bloblengthinbytes: usize,
        riid: *const GUID,
        ppvrootsignature: *mut *mut c_void,
    ) -> Result<()> {
        // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
        let check =
            || unsafe { inert::check_root_signature(nodemask, pblobwithrootsignature, bloblengthinbytes) };
        let name = "ID3D12Device::CreateRootSignature";
        // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
        unsafe {
            self.create_child(name, riid, ppvrootsignature, check, |device, ()| {
                Ok(RootSignature::new(device))
            })
        }
    }

    fn CreateConstantBufferView(
        &self,
        pdesc: *const D3D12_CONSTANT_BUFFER_VIEW_DESC,
        destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        let (name, heap_type) =
            ("ID3D12Device::CreateConstantBufferView", D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
        // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
        // The method returns nothing, and the error is logged.
        let _ = self.write_descriptor(name, *destdescriptor, heap_type, || unsafe {
            self.constant_buffer_view(pdesc)
        });
    }

    fn CreateShaderResourceView(
        &self,
        presource: Ref<'_, ID3D12Resource>,
        pdesc: *const D3D12_SHADER_RESOURCE_VIEW_DESC,
        destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        let (name, heap_type) =
            ("ID3D12Device::CreateShaderResourceView", D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
        // The method returns nothing, and the error is logged.
        let _ = self.write_descriptor(name, *destdescriptor, heap_type, || {
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe { self.shader_resource_view(presource.as_ref(), pdesc) }
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
        // The method returns nothing, and the error is logged.
        let _ = self.write_descriptor(name, *destdescriptor, heap_type, || {
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe { self.unordered_access_view(presource.as_ref(), pcounterresource.as_ref(), pdesc) }
        });
    }

    fn CreateRenderTargetView(
        &self,
        presource: Ref<'_, ID3D12Resource>,
        pdesc: *const D3D12_RENDER_TARGET_VIEW_DESC,
        destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        let (name, heap_type) = ("ID3D12Device::CreateRenderTargetView", D3D12_DESCRIPTOR_HEAP_TYPE_RTV);
        // The method returns nothing, and the error is logged.
        let _ = self.write_descriptor(name, *destdescriptor, heap_type, || {
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe { self.render_target_view(presource.as_ref(), pdesc) }
        });
    }

    fn CreateDepthStencilView(
        &self,
        presource: Ref<'_, ID3D12Resource>,
        pdesc: *const D3D12_DEPTH_STENCIL_VIEW_DESC,
        destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        let (name, heap_type) = ("ID3D12Device::CreateDepthStencilView", D3D12_DESCRIPTOR_HEAP_TYPE_DSV);
        // The method returns nothing, and the error is logged.
        let _ = self.write_descriptor(name, *destdescriptor, heap_type, || {
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe { self.depth_stencil_view(presource.as_ref(), pdesc) }
        });
    }

    fn CreateSampler(
        &self,
        _pdesc: *const D3D12_SAMPLER_DESC,
        _destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        // Samplers are not stored, because nothing samples.
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
        // The method returns nothing; `run` has already logged the error.
        let _ = call::run(self.log(), "ID3D12Device::CopyDescriptors", || {
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe {
                self.copy_descriptors(
                    numdestdescriptorranges,
                    pdestdescriptorrangestarts,
                    pdestdescriptorrangesizes,
                    numsrcdescriptorranges,
                    psrcdescriptorrangestarts,
                    psrcdescriptorrangesizes,
                    descriptorheapstype,
                )
            }
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
        // The method returns nothing; `run` has already logged the error.
        let _ = call::run(self.log(), "ID3D12Device::CopyDescriptorsSimple", || {
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe { self.copy_descriptors(1, target, count, 1, source, count, descriptorheapstype) }
        });
    }

    fn GetCustomHeapProperties(&self, nodemask: u32, heaptype: D3D12_HEAP_TYPE) -> D3D12_HEAP_PROPERTIES {
        call::run_infallible(
            self.log(),
            "ID3D12Device::GetCustomHeapProperties",
            D3D12_HEAP_PROPERTIES::default(),
            || self.custom_heap_properties(nodemask, heaptype),
        )
    }

    fn CreateSharedHandle(
        &self,
        pobject: Ref<'_, ID3D12DeviceChild>,
        _pattributes: *const SECURITY_ATTRIBUTES,
        access: u32,
        name: &PCWSTR,
    ) -> Result<HANDLE> {
        call::run(self.log(), "ID3D12Device::CreateSharedHandle", || {
            // SAFETY: by the COM contract, the name is null or a zero-terminated UTF-16 string.
            unsafe { shared_handle::create(self, pobject.as_ref(), access, *name) }
        })
    }

    fn OpenSharedHandle(&self, nthandle: HANDLE, riid: *const GUID, ppvobj: *mut *mut c_void) -> Result<()> {
        call::run(self.log(), "ID3D12Device::OpenSharedHandle", || {
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe { shared_handle::open(&self.to_object(), nthandle, riid, ppvobj) }
        })
    }

    fn OpenSharedHandleByName(&self, name: &PCWSTR, access: u32) -> Result<HANDLE> {
        call::run(self.log(), "ID3D12Device::OpenSharedHandleByName", || {
            // SAFETY: by the COM contract, the name is null or a zero-terminated UTF-16 string.
            unsafe { shared_handle::open_by_name(self, *name, access) }
        })
    }

    fn MakeResident(&self, numobjects: u32, ppobjects: *const Option<ID3D12Pageable>) -> Result<()> {
        call::run(self.log(), "ID3D12Device::MakeResident", || {
            // SAFETY: by the COM contract, the array has that many elements.
            self.make_resident(unsafe { read_objects(numobjects, ppobjects) }?)
        })
    }

    fn Evict(&self, numobjects: u32, ppobjects: *const Option<ID3D12Pageable>) -> Result<()> {
        call::run(self.log(), "ID3D12Device::Evict", || {
            // SAFETY: by the COM contract, the array has that many elements.
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
        let name = "ID3D12Device::CreateFence";
        let check = || fence::check_flags(flags);
        let make = |device, ()| Ok(Fence::new(device, initialvalue, flags));
        // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
        unsafe { self.create_child(name, riid, ppfence, check, make) }
    }

    fn GetDeviceRemovedReason(&self) -> Result<()> {
        match self.removal().reason() {
            None => Ok(()),
            Some(reason) => Err(windows_core::Error::from_hresult(reason)),
        }
    }

    fn CreateQueryHeap(
        &self,
        pdesc: *const D3D12_QUERY_HEAP_DESC,
        riid: *const GUID,
        ppvheap: *mut *mut c_void,
    ) -> Result<()> {
        let name = "ID3D12Device::CreateQueryHeap";
        // SAFETY: by the COM contract, pDesc is null or points to a description.
        let desc = unsafe { call::read(pdesc, "pDesc") };
        let check = || desc.and_then(query_heap::check_desc);
        let make = |device, desc: &_| QueryHeap::new(device, desc, D3D12_QUERY_HEAP_FLAG_NONE);
        // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
        unsafe { self.create_child(name, riid, ppvheap, check, make) }
    }

    fn CreateCommandSignature(
        &self,
        pdesc: *const D3D12_COMMAND_SIGNATURE_DESC,
        prootsignature: Ref<'_, ID3D12RootSignature>,
        riid: *const GUID,
        ppvcommandsignature: *mut *mut c_void,
    ) -> Result<()> {
        let check = || {
            if prootsignature.is_some() {
                own::<RootSignature>(self, prootsignature.as_ref(), "pRootSignature")?;
            }
            // SAFETY: by the COM contract, pDesc is null or points to a description.
            unsafe { inert::check_command_signature(pdesc) }
        };
        let name = "ID3D12Device::CreateCommandSignature";
        // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
        unsafe {
            self.create_child(name, riid, ppvcommandsignature, check, |device, arguments| {
                Ok(CommandSignature::new(device, arguments))
            })
        }
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
        // The method returns nothing; `run` has already logged the error.
        let _ = call::run(self.log(), "ID3D12Device::GetResourceTiling", || {
            let tiling = self.tiling(ptiledresource)?;
            // SAFETY: by the COM contract, each pointer is null or writable; the array has *pNumSubresourceTilings
            // elements.
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

    calls! {
        ID3D12Device:
        fn CreateCommandQueue(
            desc: *const D3D12_COMMAND_QUEUE_DESC, riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_command_queue(desc, riid, ppv);
        fn CreateHeap(desc: *const D3D12_HEAP_DESC, riid: *const GUID, ppv: *mut *mut c_void) -> Result<()>
            = create_heap(desc, None, riid, ppv);
        fn CreateCommittedResource(
            properties: *const D3D12_HEAP_PROPERTIES, heap_flags: D3D12_HEAP_FLAGS,
            desc: *const D3D12_RESOURCE_DESC, state: D3D12_RESOURCE_STATES,
            clear_value: *const D3D12_CLEAR_VALUE, riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_committed(
            properties, heap_flags, ResourceRequest::in_state(read_desc(desc), state, clear_value, (riid, ppv))
        );
        fn CreatePlacedResource(
            heap: Ref<'_, ID3D12Heap>, offset: u64, desc: *const D3D12_RESOURCE_DESC,
            state: D3D12_RESOURCE_STATES, clear_value: *const D3D12_CLEAR_VALUE,
            riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_placed(
            heap.as_ref(), offset, ResourceRequest::in_state(read_desc(desc), state, clear_value, (riid, ppv))
        );
        fn CreateReservedResource(
            desc: *const D3D12_RESOURCE_DESC, state: D3D12_RESOURCE_STATES,
            clear_value: *const D3D12_CLEAR_VALUE, riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_reserved(
            ResourceRequest::in_state(read_desc(desc), state, clear_value, (riid, ppv))
        );
        fn GetResourceAllocationInfo(
            visible_mask: u32, count: u32, descs: *const D3D12_RESOURCE_DESC
        ) -> D3D12_RESOURCE_ALLOCATION_INFO = allocation_info(
            visible_mask, read_descs(count, descs, |desc| alone(upgrade(desc))), CastableFormats::NONE, null_mut()
        );
        fn GetCopyableFootprints(
            desc: *const D3D12_RESOURCE_DESC, first: u32, count: u32, base_offset: u64,
            layouts: *mut D3D12_PLACED_SUBRESOURCE_FOOTPRINT, row_counts: *mut u32, row_sizes: *mut u64,
            total: *mut u64
        ) = copyable_footprints(
            read_desc(desc).map(alone), FootprintRange { first, count, base_offset },
            FootprintOutputs { layouts, row_counts, row_sizes, total }
        );
    }

    methods! {
        ID3D12Device, |device, name| call::not_implemented(device.log(), name);
        fn SetStablePowerState(BOOL) -> Result<()>;
    }
}
