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
use crate::api::device::creation::{CastableFormats, in_state, read_desc, read_descs};
use crate::api::device::layouts::{FootprintOutputs, FootprintRange};
use crate::api::device::residency::read_objects;
use crate::api::fence::{self, Fence};
use crate::api::inert::{self, CommandSignature, PipelineState, RootSignature};
use crate::api::methods::{calls, methods};
use crate::api::object::own;
use crate::api::{call, shared_handle};
use crate::rules::resource::{alone, upgrade};

const VIEWS: D3D12_DESCRIPTOR_HEAP_TYPE = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;

impl ID3D12Device_Impl for Device_Impl {
    fn GetNodeCount(&self) -> u32 {
        1
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

    fn GetDescriptorHandleIncrementSize(&self, descriptorheaptype: D3D12_DESCRIPTOR_HEAP_TYPE) -> u32 {
        self.descriptor_increment(descriptorheaptype)
    }

    fn CreateSampler(
        &self,
        _pdesc: *const D3D12_SAMPLER_DESC,
        _destdescriptor: &D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        // Samplers are not stored, because nothing samples.
    }

    fn GetDeviceRemovedReason(&self) -> Result<()> {
        match self.removal().reason() {
            None => Ok(()),
            Some(reason) => Err(windows_core::Error::from_hresult(reason)),
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
        fn CreateCommandAllocator(
            list_type: D3D12_COMMAND_LIST_TYPE, riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_child(
            riid, ppv, || check_list_type(list_type), |device, ()| Ok(CommandAllocator::new(device, list_type))
        );
        fn CreateGraphicsPipelineState(
            desc: *const D3D12_GRAPHICS_PIPELINE_STATE_DESC, riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_child(
            riid, ppv, || inert::check_graphics(desc), |device, ()| Ok(PipelineState::new(device))
        );
        fn CreateComputePipelineState(
            desc: *const D3D12_COMPUTE_PIPELINE_STATE_DESC, riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_child(
            riid, ppv, || inert::check_compute(desc), |device, ()| Ok(PipelineState::new(device))
        );
        fn CheckFeatureSupport(feature: D3D12_FEATURE, data: *mut c_void, size: u32) -> Result<()>
            = run(|device| device.check_feature_support(feature, data, size));
        fn CreateDescriptorHeap(
            desc: *const D3D12_DESCRIPTOR_HEAP_DESC, riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_child(
            riid, ppv, || call::read(desc, "pDescriptorHeapDesc").and_then(descriptor_heap::check_desc),
            DescriptorHeap::new
        );
        fn CreateRootSignature(
            node_mask: u32, blob: *const c_void, length: usize, riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_child(
            riid, ppv, || inert::check_root_signature(node_mask, blob, length),
            |device, ()| Ok(RootSignature::new(device))
        );
        fn CreateConstantBufferView(
            desc: *const D3D12_CONSTANT_BUFFER_VIEW_DESC, at: &D3D12_CPU_DESCRIPTOR_HANDLE
        ) = create_view(at, VIEWS, |device| device.constant_buffer_view(desc));
        fn CreateShaderResourceView(
            resource: Ref<'_, ID3D12Resource>, desc: *const D3D12_SHADER_RESOURCE_VIEW_DESC,
            at: &D3D12_CPU_DESCRIPTOR_HANDLE
        ) = create_view(at, VIEWS, |device| device.shader_resource_view(resource.as_ref(), desc));
        fn CreateUnorderedAccessView(
            resource: Ref<'_, ID3D12Resource>, counter: Ref<'_, ID3D12Resource>,
            desc: *const D3D12_UNORDERED_ACCESS_VIEW_DESC, at: &D3D12_CPU_DESCRIPTOR_HANDLE
        ) = create_view(
            at, VIEWS, |device| device.unordered_access_view(resource.as_ref(), counter.as_ref(), desc)
        );
        fn CreateRenderTargetView(
            resource: Ref<'_, ID3D12Resource>, desc: *const D3D12_RENDER_TARGET_VIEW_DESC,
            at: &D3D12_CPU_DESCRIPTOR_HANDLE
        ) = create_view(
            at, D3D12_DESCRIPTOR_HEAP_TYPE_RTV, |device| device.render_target_view(resource.as_ref(), desc)
        );
        fn CreateDepthStencilView(
            resource: Ref<'_, ID3D12Resource>, desc: *const D3D12_DEPTH_STENCIL_VIEW_DESC,
            at: &D3D12_CPU_DESCRIPTOR_HANDLE
        ) = create_view(
            at, D3D12_DESCRIPTOR_HEAP_TYPE_DSV, |device| device.depth_stencil_view(resource.as_ref(), desc)
        );
        fn CopyDescriptors(
            target_count: u32, targets: *const D3D12_CPU_DESCRIPTOR_HANDLE, target_sizes: *const u32,
            source_count: u32, sources: *const D3D12_CPU_DESCRIPTOR_HANDLE, source_sizes: *const u32,
            heap_type: D3D12_DESCRIPTOR_HEAP_TYPE
        ) = copy_descriptors((target_count, targets, target_sizes), (source_count, sources, source_sizes), heap_type);
        fn CopyDescriptorsSimple(
            count: u32, target: &D3D12_CPU_DESCRIPTOR_HANDLE, source: &D3D12_CPU_DESCRIPTOR_HANDLE,
            heap_type: D3D12_DESCRIPTOR_HEAP_TYPE
        ) = copy_descriptors((1, target, &count), (1, source, &count), heap_type);
        fn CreateSharedHandle(
            object: Ref<'_, ID3D12DeviceChild>, _attributes: *const SECURITY_ATTRIBUTES, access: u32, name: &PCWSTR
        ) -> Result<HANDLE> = run(|device| shared_handle::create(device, object.as_ref(), access, *name));
        fn OpenSharedHandle(handle: HANDLE, riid: *const GUID, ppv: *mut *mut c_void) -> Result<()>
            = run(|device| shared_handle::open(&device.to_object(), handle, riid, ppv));
        fn OpenSharedHandleByName(name: &PCWSTR, access: u32) -> Result<HANDLE>
            = run(|device| shared_handle::open_by_name(device, *name, access));
        fn MakeResident(count: u32, objects: *const Option<ID3D12Pageable>) -> Result<()>
            = run(|device| device.make_resident(read_objects(count, objects)?));
        fn Evict(count: u32, objects: *const Option<ID3D12Pageable>) -> Result<()>
            = run(|device| device.evict(read_objects(count, objects)?));
        fn CreateFence(
            value: u64, flags: D3D12_FENCE_FLAGS, riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_child(
            riid, ppv, || fence::check_flags(flags), |device, ()| Ok(Fence::new(device, value, flags))
        );
        fn CreateQueryHeap(
            desc: *const D3D12_QUERY_HEAP_DESC, riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_query_heap(desc, D3D12_QUERY_HEAP_FLAG_NONE, riid, ppv);
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
            properties, heap_flags, in_state(read_desc(desc), state, clear_value), (riid, ppv)
        );
        fn CreatePlacedResource(
            heap: Ref<'_, ID3D12Heap>, offset: u64, desc: *const D3D12_RESOURCE_DESC,
            state: D3D12_RESOURCE_STATES, clear_value: *const D3D12_CLEAR_VALUE,
            riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_placed(
            heap.as_ref(), offset, in_state(read_desc(desc), state, clear_value), (riid, ppv)
        );
        fn CreateReservedResource(
            desc: *const D3D12_RESOURCE_DESC, state: D3D12_RESOURCE_STATES,
            clear_value: *const D3D12_CLEAR_VALUE, riid: *const GUID, ppv: *mut *mut c_void
        ) -> Result<()> = create_reserved(in_state(read_desc(desc), state, clear_value), (riid, ppv));
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
