//! The methods of `ID3D12GraphicsCommandList` to `ID3D12GraphicsCommandList10`, as D3D12 declares them.
//!
//! The methods that concern memory call the neighbouring modules. State that only pipelines read is accepted and has no
//! effect. Draws and dispatches are accepted and not executed.

use std::ffi::c_void;

use heapwright_d3d12::*;
use windows_core::{BOOL, Ref, Result};

use super::bindings::Pipeline;
use super::clears::ClearValues;
use super::resolves::{Mode, Resolve};
use super::{
    Allowed, CommandList, CommandList_Impl, clears, copies, read_array, render_passes, resolves,
    texture_copies, tiles,
};
use crate::api::call;
use crate::api::command_allocator::CommandAllocator;
use crate::api::inert::{CommandSignature, PipelineState, RootSignature};
use crate::api::methods::methods;
use crate::api::object::own;
use crate::api::query_heap::{self, QueryHeap};
use crate::api::resource::Resource;
use crate::format::ResolveMode;
use crate::rules::Refusal;

/// The message ids for a resolve without a target and without a source.
const RESOLVE_NULLS: [D3D12_MESSAGE_ID; 2] =
    [D3D12_MESSAGE_ID_RESOLVESUBRESOURCE_NULLDST, D3D12_MESSAGE_ID_RESOLVESUBRESOURCE_NULLSRC];

impl ID3D12CommandList_Impl for CommandList_Impl {
    fn GetType(&self) -> D3D12_COMMAND_LIST_TYPE {
        self.list_type
    }
}

impl ID3D12GraphicsCommandList_Impl for CommandList_Impl {
    fn Close(&self) -> Result<()> {
        call::run(self.log(), "ID3D12GraphicsCommandList::Close", || self.close())
    }

    fn Reset(
        &self,
        pallocator: Ref<'_, ID3D12CommandAllocator>,
        pinitialstate: Ref<'_, ID3D12PipelineState>,
    ) -> Result<()> {
        call::run(self.log(), "ID3D12GraphicsCommandList::Reset", || {
            if pinitialstate.is_some() {
                own::<PipelineState>(&self.child.device, pinitialstate.as_ref(), "pInitialState")?;
            }
            self.reset(own::<CommandAllocator>(&self.child.device, pallocator.as_ref(), "pAllocator")?)
        })
    }

    fn ClearState(&self, _ppipelinestate: Ref<'_, ID3D12PipelineState>) {
        let name = "ID3D12GraphicsCommandList::ClearState";
        self.record_outside_pass(name, Allowed::DirectAndCompute, |_, recording| {
            recording.clear_bindings();
            Ok(())
        });
    }

    fn Dispatch(&self, _threadgroupcountx: u32, _threadgroupcounty: u32, _threadgroupcountz: u32) {
        let name = "ID3D12GraphicsCommandList::Dispatch";
        self.skip(name, Allowed::State, |_, recording| {
            recording.check_outside_pass()?;
            recording.note_skipped(Pipeline::Compute);
            Ok(())
        });
    }

    fn CopyBufferRegion(
        &self,
        pdstbuffer: Ref<'_, ID3D12Resource>,
        dstoffset: u64,
        psrcbuffer: Ref<'_, ID3D12Resource>,
        srcoffset: u64,
        numbytes: u64,
    ) {
        let name = "ID3D12GraphicsCommandList::CopyBufferRegion";
        self.record_outside_pass(name, Allowed::All, |device, recording| {
            let ids = [D3D12_MESSAGE_ID_COPYBUFFERREGION_NULLDST, D3D12_MESSAGE_ID_COPYBUFFERREGION_NULLSRC];
            let target = (pdstbuffer.as_ref(), "pDstBuffer");
            let [target, source] =
                copies::own_pair(device, target, (psrcbuffer.as_ref(), "pSrcBuffer"), ids)?;
            copies::copy_buffer_region(recording, (target, dstoffset), (source, srcoffset), numbytes)
        });
    }

    fn CopyTextureRegion(
        &self,
        pdst: *const D3D12_TEXTURE_COPY_LOCATION,
        dstx: u32,
        dsty: u32,
        dstz: u32,
        psrc: *const D3D12_TEXTURE_COPY_LOCATION,
        psrcbox: *const D3D12_BOX,
    ) {
        let name = "ID3D12GraphicsCommandList::CopyTextureRegion";
        self.record_outside_pass(name, Allowed::All, |device, recording| {
            // SAFETY: by the COM contract, the pointers are null or point to their structures.
            let (target, source, source_box) =
                unsafe { (call::read(pdst, "pDst")?, call::read(psrc, "pSrc")?, psrcbox.as_ref()) };
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe {
                texture_copies::copy_texture_region(
                    device,
                    recording,
                    target,
                    [dstx, dsty, dstz],
                    source,
                    source_box,
                )
            }
        });
    }

    fn CopyResource(&self, pdstresource: Ref<'_, ID3D12Resource>, psrcresource: Ref<'_, ID3D12Resource>) {
        let name = "ID3D12GraphicsCommandList::CopyResource";
        self.record_outside_pass(name, Allowed::All, |device, recording| {
            let ids = [D3D12_MESSAGE_ID_COPYRESOURCE_NULLDST, D3D12_MESSAGE_ID_COPYRESOURCE_NULLSRC];
            let target = (pdstresource.as_ref(), "pDstResource");
            let [target, source] =
                copies::own_pair(device, target, (psrcresource.as_ref(), "pSrcResource"), ids)?;
            copies::copy_resource(recording, target, source)
        });
    }

    fn CopyTiles(
        &self,
        ptiledresource: Ref<'_, ID3D12Resource>,
        ptileregionstartcoordinate: *const D3D12_TILED_RESOURCE_COORDINATE,
        ptileregionsize: *const D3D12_TILE_REGION_SIZE,
        pbuffer: Ref<'_, ID3D12Resource>,
        bufferstartoffsetinbytes: u64,
        flags: D3D12_TILE_COPY_FLAGS,
    ) {
        let name = "ID3D12GraphicsCommandList::CopyTiles";
        self.record_outside_pass(name, Allowed::All, |device, recording| {
            let tiled = own::<Resource>(device, ptiledresource.as_ref(), "pTiledResource")?;
            let buffer = own::<Resource>(device, pbuffer.as_ref(), "pBuffer")?;
            let region = (ptileregionstartcoordinate, ptileregionsize);
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe { tiles::copy_tiles(recording, tiled, region, (buffer, bufferstartoffsetinbytes), flags) }
        });
    }

    fn ResolveSubresource(
        &self,
        pdstresource: Ref<'_, ID3D12Resource>,
        dstsubresource: u32,
        psrcresource: Ref<'_, ID3D12Resource>,
        srcsubresource: u32,
        format: DXGI_FORMAT,
    ) {
        let name = "ID3D12GraphicsCommandList::ResolveSubresource";
        self.record_outside_pass(name, Allowed::Direct, |device, recording| {
            let target = (pdstresource.as_ref(), "pDstResource");
            let [target, source] =
                copies::own_pair(device, target, (psrcresource.as_ref(), "pSrcResource"), RESOLVE_NULLS)?;
            let resolve = Resolve {
                target,
                target_subresource: dstsubresource,
                target_start: [0; 2],
                source,
                source_subresource: srcsubresource,
                rect: None,
                format,
                mode: Mode::Combine(ResolveMode::Average),
            };
            recording.commands.extend(resolve.whole_command()?);
            Ok(())
        });
    }

    fn SetPipelineState(&self, ppipelinestate: Ref<'_, ID3D12PipelineState>) {
        self.record("ID3D12GraphicsCommandList::SetPipelineState", Allowed::State, |device, _| {
            own::<PipelineState>(device, ppipelinestate.as_ref(), "pPipelineState").map(|_| ())
        });
    }

    fn ResourceBarrier(&self, numbarriers: u32, pbarriers: *const D3D12_RESOURCE_BARRIER) {
        self.record("ID3D12GraphicsCommandList::ResourceBarrier", Allowed::All, |device, recording| {
            // SAFETY: by the COM contract, the array has that many elements.
            let barriers = unsafe { read_array(numbarriers, pbarriers, "pBarriers") }?;
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe { self.check_barriers(barriers, &mut recording.notices)? };
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe { recording.check_pass_barriers(device, barriers)? };
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe { recording.note_barriers(device, barriers) }
        });
    }

    fn ExecuteBundle(&self, pcommandlist: Ref<'_, ID3D12GraphicsCommandList>) {
        self.skip("ID3D12GraphicsCommandList::ExecuteBundle", Allowed::Direct, |device, recording| {
            let bundle = own::<CommandList>(device, pcommandlist.as_ref(), "pCommandList")?;
            if bundle.list_type != D3D12_COMMAND_LIST_TYPE_BUNDLE {
                return Err(Refusal::invalid("pCommandList is not a bundle"));
            }
            let recorded =
                bundle.executable().map_err(|broken| Refusal::invalid(format!("pCommandList {broken}")))?;
            recording.note_bundle(&recorded);
            Ok(())
        });
    }

    fn SetDescriptorHeaps(
        &self,
        numdescriptorheaps: u32,
        ppdescriptorheaps: *const Option<ID3D12DescriptorHeap>,
    ) {
        let name = "ID3D12GraphicsCommandList::SetDescriptorHeaps";
        self.record_outside_pass(name, Allowed::State, |device, recording| {
            // SAFETY: by the COM contract, the array has that many elements.
            let heaps = unsafe { read_array(numdescriptorheaps, ppdescriptorheaps, "ppDescriptorHeaps") }?;
            clears::set_descriptor_heaps(device, recording, heaps)
        });
    }

    fn SetComputeRootSignature(&self, prootsignature: Ref<'_, ID3D12RootSignature>) {
        let name = "ID3D12GraphicsCommandList::SetComputeRootSignature";
        self.record(name, Allowed::State, |device, recording| {
            let signature = own::<RootSignature>(device, prootsignature.as_ref(), "pRootSignature")?;
            recording.set_root_signature(Pipeline::Compute, signature);
            Ok(())
        });
    }

    fn SetGraphicsRootSignature(&self, prootsignature: Ref<'_, ID3D12RootSignature>) {
        let name = "ID3D12GraphicsCommandList::SetGraphicsRootSignature";
        self.record(name, Allowed::Draw, |device, recording| {
            let signature = own::<RootSignature>(device, prootsignature.as_ref(), "pRootSignature")?;
            recording.set_root_signature(Pipeline::Graphics, signature);
            Ok(())
        });
    }

    fn SetComputeRootUnorderedAccessView(
        &self,
        rootparameterindex: u32,
        bufferlocation: D3D12_GPU_VIRTUAL_ADDRESS,
    ) {
        let name = "ID3D12GraphicsCommandList::SetComputeRootUnorderedAccessView";
        self.record(name, Allowed::State, |_, recording| {
            recording.set_unordered_view(Pipeline::Compute, rootparameterindex, bufferlocation.0);
            Ok(())
        });
    }

    fn SetGraphicsRootUnorderedAccessView(
        &self,
        rootparameterindex: u32,
        bufferlocation: D3D12_GPU_VIRTUAL_ADDRESS,
    ) {
        let name = "ID3D12GraphicsCommandList::SetGraphicsRootUnorderedAccessView";
        self.record(name, Allowed::Draw, |_, recording| {
            recording.set_unordered_view(Pipeline::Graphics, rootparameterindex, bufferlocation.0);
            Ok(())
        });
    }

    fn SOSetTargets(&self, startslot: u32, numviews: u32, pviews: *const D3D12_STREAM_OUTPUT_BUFFER_VIEW) {
        self.record("ID3D12GraphicsCommandList::SOSetTargets", Allowed::State, |_, recording| {
            // A null array unbinds that many slots.
            let count = if pviews.is_null() { 0 } else { numviews };
            // SAFETY: by the COM contract, the array has that many elements.
            let views = unsafe { read_array(count, pviews, "pViews") }?;
            recording.set_stream_output((startslot, numviews), views);
            Ok(())
        });
    }

    fn OMSetRenderTargets(
        &self,
        numrendertargetdescriptors: u32,
        prendertargetdescriptors: *const D3D12_CPU_DESCRIPTOR_HANDLE,
        rtssinglehandletodescriptorrange: BOOL,
        pdepthstencildescriptor: *const D3D12_CPU_DESCRIPTOR_HANDLE,
    ) {
        let name = "ID3D12GraphicsCommandList::OMSetRenderTargets";
        self.record_outside_pass(name, Allowed::Direct, |device, recording| {
            let targets = (numrendertargetdescriptors, prendertargetdescriptors);
            let is_range = rtssinglehandletodescriptorrange.as_bool();
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe { recording.set_render_targets(device, targets, is_range, pdepthstencildescriptor) };
            Ok(())
        });
    }

    fn ClearDepthStencilView(
        &self,
        depthstencilview: &D3D12_CPU_DESCRIPTOR_HANDLE,
        clearflags: D3D12_CLEAR_FLAGS,
        depth: f32,
        stencil: u8,
        numrects: u32,
        prects: *const D3D12_RECT,
    ) {
        let name = "ID3D12GraphicsCommandList::ClearDepthStencilView";
        self.record_outside_pass(name, Allowed::Direct, |device, recording| {
            let (values, rects) = ((depth, stencil), (numrects, prects));
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe {
                clears::clear_depth_stencil(device, recording, *depthstencilview, clearflags, values, rects)
            }
        });
    }

    fn ClearRenderTargetView(
        &self,
        rendertargetview: &D3D12_CPU_DESCRIPTOR_HANDLE,
        colorrgba: *const f32,
        numrects: u32,
        prects: *const D3D12_RECT,
    ) {
        let name = "ID3D12GraphicsCommandList::ClearRenderTargetView";
        self.record_outside_pass(name, Allowed::Direct, |device, recording| {
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe {
                clears::clear_render_target(
                    device,
                    recording,
                    *rendertargetview,
                    colorrgba,
                    (numrects, prects),
                )
            }
        });
    }

    fn ClearUnorderedAccessViewUint(
        &self,
        viewgpuhandleincurrentheap: &D3D12_GPU_DESCRIPTOR_HANDLE,
        viewcpuhandle: &D3D12_CPU_DESCRIPTOR_HANDLE,
        presource: Ref<'_, ID3D12Resource>,
        values: *const u32,
        numrects: u32,
        prects: *const D3D12_RECT,
    ) {
        let name = "ID3D12GraphicsCommandList::ClearUnorderedAccessViewUint";
        self.record_outside_pass(name, Allowed::DirectAndCompute, |device, recording| {
            // SAFETY: by the COM contract, Values is null or has four elements.
            let values = *unsafe { call::read(values.cast::<[u32; 4]>(), "Values") }?;
            let (handles, rects) = ((*viewgpuhandleincurrentheap, *viewcpuhandle), (numrects, prects));
            let values = ClearValues::Uint(values);
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe {
                clears::clear_unordered_access(device, recording, handles, presource.as_ref(), values, rects)
            }
        });
    }

    fn ClearUnorderedAccessViewFloat(
        &self,
        viewgpuhandleincurrentheap: &D3D12_GPU_DESCRIPTOR_HANDLE,
        viewcpuhandle: &D3D12_CPU_DESCRIPTOR_HANDLE,
        presource: Ref<'_, ID3D12Resource>,
        values: *const f32,
        numrects: u32,
        prects: *const D3D12_RECT,
    ) {
        let name = "ID3D12GraphicsCommandList::ClearUnorderedAccessViewFloat";
        self.record_outside_pass(name, Allowed::DirectAndCompute, |device, recording| {
            // SAFETY: by the COM contract, Values is null or has four elements.
            let values = *unsafe { call::read(values.cast::<[f32; 4]>(), "Values") }?;
            let (handles, rects) = ((*viewgpuhandleincurrentheap, *viewcpuhandle), (numrects, prects));
            let values = ClearValues::Float(values);
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe {
                clears::clear_unordered_access(device, recording, handles, presource.as_ref(), values, rects)
            }
        });
    }

    fn DiscardResource(&self, presource: Ref<'_, ID3D12Resource>, pregion: *const D3D12_DISCARD_REGION) {
        let name = "ID3D12GraphicsCommandList::DiscardResource";
        self.record_outside_pass(name, Allowed::DirectAndCompute, |device, recording| {
            let resource = own::<Resource>(device, presource.as_ref(), "pResource")?;
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe { self.check_discard(resource, pregion)? };
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe { recording.note_discard(self.list_type, resource, pregion) }
        });
    }

    fn BeginQuery(&self, pqueryheap: Ref<'_, ID3D12QueryHeap>, query_type: D3D12_QUERY_TYPE, index: u32) {
        self.record("ID3D12GraphicsCommandList::BeginQuery", Allowed::DirectAndCompute, |device, _| {
            let heap = own::<QueryHeap>(device, pqueryheap.as_ref(), "pQueryHeap")?;
            heap.check_queries(query_type, index, 1, true)
        });
    }

    fn EndQuery(&self, pqueryheap: Ref<'_, ID3D12QueryHeap>, query_type: D3D12_QUERY_TYPE, index: u32) {
        self.record("ID3D12GraphicsCommandList::EndQuery", Allowed::DirectAndCompute, |device, _| {
            let heap = own::<QueryHeap>(device, pqueryheap.as_ref(), "pQueryHeap")?;
            heap.check_queries(query_type, index, 1, false)
        });
    }

    fn ResolveQueryData(
        &self,
        pqueryheap: Ref<'_, ID3D12QueryHeap>,
        query_type: D3D12_QUERY_TYPE,
        startindex: u32,
        numqueries: u32,
        pdestinationbuffer: Ref<'_, ID3D12Resource>,
        aligneddestinationbufferoffset: u64,
    ) {
        let name = "ID3D12GraphicsCommandList::ResolveQueryData";
        self.record_outside_pass(name, Allowed::DirectAndCompute, |device, recording| {
            let heap = own::<QueryHeap>(device, pqueryheap.as_ref(), "pQueryHeap")?;
            heap.check_queries(query_type, startindex, numqueries, false)?;
            let target = own::<Resource>(device, pdestinationbuffer.as_ref(), "pDestinationBuffer")?;
            let size = u64::from(numqueries) * query_heap::result_size(query_type);
            copies::clear_query_results(recording, target, aligneddestinationbufferoffset, size)
        });
    }

    fn ExecuteIndirect(
        &self,
        pcommandsignature: Ref<'_, ID3D12CommandSignature>,
        _maxcommandcount: u32,
        pargumentbuffer: Ref<'_, ID3D12Resource>,
        _argumentbufferoffset: u64,
        _pcountbuffer: Ref<'_, ID3D12Resource>,
        _countbufferoffset: u64,
    ) {
        self.skip("ID3D12GraphicsCommandList::ExecuteIndirect", Allowed::State, |device, recording| {
            let signature = own::<CommandSignature>(device, pcommandsignature.as_ref(), "pCommandSignature")?;
            own::<Resource>(device, pargumentbuffer.as_ref(), "pArgumentBuffer")?;
            recording.note_indirect(signature);
            Ok(())
        });
    }

    methods! {
        ID3D12GraphicsCommandList, |list, name| list.draw(name);
        fn DrawInstanced(u32, u32, u32, u32);
        fn DrawIndexedInstanced(u32, u32, u32, i32, u32);
    }

    methods! {
        ID3D12GraphicsCommandList, |_, _| ();
        fn IASetPrimitiveTopology(D3D12_PRIMITIVE_TOPOLOGY);
        fn RSSetViewports(u32, *const D3D12_VIEWPORT);
        fn RSSetScissorRects(u32, *const D3D12_RECT);
        fn OMSetBlendFactor(*const f32);
        fn OMSetStencilRef(u32);
        fn IASetIndexBuffer(*const D3D12_INDEX_BUFFER_VIEW);
        fn IASetVertexBuffers(u32, u32, *const D3D12_VERTEX_BUFFER_VIEW);
        fn SetMarker(u32, *const c_void, u32);
        fn BeginEvent(u32, *const c_void, u32);
        fn EndEvent();
    }

    methods! {
        ID3D12GraphicsCommandList, |list, name| list.set_state(name, Allowed::State);
        fn SetComputeRootDescriptorTable(u32, &D3D12_GPU_DESCRIPTOR_HANDLE);
        fn SetComputeRoot32BitConstant(u32, u32, u32);
        fn SetComputeRoot32BitConstants(u32, u32, *const c_void, u32);
        fn SetComputeRootConstantBufferView(u32, D3D12_GPU_VIRTUAL_ADDRESS);
        fn SetComputeRootShaderResourceView(u32, D3D12_GPU_VIRTUAL_ADDRESS);
    }

    methods! {
        ID3D12GraphicsCommandList, |list, name| list.set_state(name, Allowed::Draw);
        fn SetGraphicsRootDescriptorTable(u32, &D3D12_GPU_DESCRIPTOR_HANDLE);
        fn SetGraphicsRoot32BitConstant(u32, u32, u32);
        fn SetGraphicsRoot32BitConstants(u32, u32, *const c_void, u32);
        fn SetGraphicsRootConstantBufferView(u32, D3D12_GPU_VIRTUAL_ADDRESS);
        fn SetGraphicsRootShaderResourceView(u32, D3D12_GPU_VIRTUAL_ADDRESS);
    }

    methods! {
        ID3D12GraphicsCommandList, |list, name| list.unsupported(name);
        fn SetPredication(Ref<'_, ID3D12Resource>, u64, D3D12_PREDICATION_OP);
    }
}

impl ID3D12GraphicsCommandList1_Impl for CommandList_Impl {
    fn ResolveSubresourceRegion(
        &self,
        pdstresource: Ref<'_, ID3D12Resource>,
        dstsubresource: u32,
        dstx: u32,
        dsty: u32,
        psrcresource: Ref<'_, ID3D12Resource>,
        srcsubresource: u32,
        psrcrect: *const D3D12_RECT,
        format: DXGI_FORMAT,
        resolvemode: D3D12_RESOLVE_MODE,
    ) {
        let name = "ID3D12GraphicsCommandList1::ResolveSubresourceRegion";
        self.record_outside_pass(name, Allowed::Direct, |device, recording| {
            let target = (pdstresource.as_ref(), "pDstResource");
            let [target, source] =
                copies::own_pair(device, target, (psrcresource.as_ref(), "pSrcResource"), RESOLVE_NULLS)?;
            let resolve = Resolve {
                target,
                target_subresource: dstsubresource,
                target_start: [dstx, dsty],
                source,
                source_subresource: srcsubresource,
                // SAFETY: by the COM contract, pSrcRect is null or points to a rectangle.
                rect: unsafe { psrcrect.as_ref() }.copied(),
                format,
                mode: resolves::mode(resolvemode)?,
            };
            recording.commands.extend(resolve.command()?);
            Ok(())
        });
    }

    methods! {
        ID3D12GraphicsCommandList1, |list, name| list.unsupported_outside_pass(name);
        fn AtomicCopyBufferUINT(
            Ref<'_, ID3D12Resource>, u64, Ref<'_, ID3D12Resource>, u64, u32, *const Option<ID3D12Resource>,
            *const D3D12_SUBRESOURCE_RANGE_UINT64
        );
        fn AtomicCopyBufferUINT64(
            Ref<'_, ID3D12Resource>, u64, Ref<'_, ID3D12Resource>, u64, u32, *const Option<ID3D12Resource>,
            *const D3D12_SUBRESOURCE_RANGE_UINT64
        );
    }

    methods! {
        ID3D12GraphicsCommandList1, |_, _| ();
        fn OMSetDepthBounds(f32, f32);
        fn SetSamplePositions(u32, u32, *const D3D12_SAMPLE_POSITION);
        fn SetViewInstanceMask(u32);
    }
}

impl ID3D12GraphicsCommandList2_Impl for CommandList_Impl {
    fn WriteBufferImmediate(
        &self,
        count: u32,
        pparams: *const D3D12_WRITEBUFFERIMMEDIATE_PARAMETER,
        pmodes: *const D3D12_WRITEBUFFERIMMEDIATE_MODE,
    ) {
        self.record("ID3D12GraphicsCommandList2::WriteBufferImmediate", Allowed::All, |_, recording| {
            // SAFETY: by the COM contract, the arrays have that many elements; pModes may be null.
            let (params, modes) = unsafe {
                let params = read_array(count, pparams, "pParams")?;
                (params, if pmodes.is_null() { &[] } else { read_array(count, pmodes, "pModes")? })
            };
            copies::write_buffer_immediate(recording, params, modes)
        });
    }
}

impl ID3D12GraphicsCommandList3_Impl for CommandList_Impl {
    methods! {
        ID3D12GraphicsCommandList3, |list, name| list.unsupported_outside_pass(name);
        fn SetProtectedResourceSession(Ref<'_, ID3D12ProtectedResourceSession>);
    }
}

impl ID3D12GraphicsCommandList4_Impl for CommandList_Impl {
    fn BeginRenderPass(
        &self,
        numrendertargets: u32,
        prendertargets: *const D3D12_RENDER_PASS_RENDER_TARGET_DESC,
        pdepthstencil: *const D3D12_RENDER_PASS_DEPTH_STENCIL_DESC,
        flags: D3D12_RENDER_PASS_FLAGS,
    ) {
        self.record("ID3D12GraphicsCommandList4::BeginRenderPass", Allowed::Direct, |device, recording| {
            // SAFETY: by the COM contract, the array has that many elements, and pDepthStencil is null or points to its
            // structure.
            let (targets, depth_stencil) = unsafe {
                (read_array(numrendertargets, prendertargets, "pRenderTargets")?, pdepthstencil.as_ref())
            };
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe { render_passes::begin(device, recording, targets, depth_stencil, flags) }
        });
    }

    fn EndRenderPass(&self) {
        self.record("ID3D12GraphicsCommandList4::EndRenderPass", Allowed::Direct, |_, recording| {
            render_passes::end(recording)
        });
    }

    methods! {
        ID3D12GraphicsCommandList4, |list, name| list.unsupported(name);
        fn InitializeMetaCommand(Ref<'_, ID3D12MetaCommand>, *const c_void, usize);
        fn ExecuteMetaCommand(Ref<'_, ID3D12MetaCommand>, *const c_void, usize);
        fn BuildRaytracingAccelerationStructure(
            *const D3D12_BUILD_RAYTRACING_ACCELERATION_STRUCTURE_DESC, u32,
            *const D3D12_RAYTRACING_ACCELERATION_STRUCTURE_POSTBUILD_INFO_DESC
        );
        fn EmitRaytracingAccelerationStructurePostbuildInfo(
            *const D3D12_RAYTRACING_ACCELERATION_STRUCTURE_POSTBUILD_INFO_DESC, u32,
            *const D3D12_GPU_VIRTUAL_ADDRESS
        );
        fn CopyRaytracingAccelerationStructure(
            D3D12_GPU_VIRTUAL_ADDRESS, D3D12_GPU_VIRTUAL_ADDRESS,
            D3D12_RAYTRACING_ACCELERATION_STRUCTURE_COPY_MODE
        );
        fn SetPipelineState1(Ref<'_, ID3D12StateObject>);
        fn DispatchRays(*const D3D12_DISPATCH_RAYS_DESC);
    }
}

impl ID3D12GraphicsCommandList5_Impl for CommandList_Impl {
    methods! {
        ID3D12GraphicsCommandList5, |_, _| ();
        fn RSSetShadingRate(D3D12_SHADING_RATE, *const D3D12_SHADING_RATE_COMBINER);
    }

    methods! {
        ID3D12GraphicsCommandList5, |list, name| list.unsupported(name);
        fn RSSetShadingRateImage(Ref<'_, ID3D12Resource>);
    }
}

impl ID3D12GraphicsCommandList6_Impl for CommandList_Impl {
    methods! {
        ID3D12GraphicsCommandList6, |list, name| list.draw(name);
        fn DispatchMesh(u32, u32, u32);
    }
}

impl ID3D12GraphicsCommandList7_Impl for CommandList_Impl {
    fn Barrier(&self, numbarriergroups: u32, pbarriergroups: *const D3D12_BARRIER_GROUP) {
        self.record("ID3D12GraphicsCommandList7::Barrier", Allowed::All, |device, recording| {
            // SAFETY: by the COM contract, the array has that many elements.
            let groups = unsafe { read_array(numbarriergroups, pbarriergroups, "pBarrierGroups") }?;
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe { self.check_barrier_groups(groups, &mut recording.notices)? };
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe { recording.check_pass_barrier_groups(device, groups)? };
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe { recording.note_barrier_groups(device, groups) }
        });
    }
}

impl ID3D12GraphicsCommandList8_Impl for CommandList_Impl {
    methods! {
        ID3D12GraphicsCommandList8, |_, _| ();
        fn OMSetFrontAndBackStencilRef(u32, u32);
    }
}

impl ID3D12GraphicsCommandList9_Impl for CommandList_Impl {
    methods! {
        ID3D12GraphicsCommandList9, |_, _| ();
        fn RSSetDepthBias(f32, f32, f32);
        fn IASetIndexBufferStripCutValue(D3D12_INDEX_BUFFER_STRIP_CUT_VALUE);
    }
}

impl ID3D12GraphicsCommandList10_Impl for CommandList_Impl {
    methods! {
        ID3D12GraphicsCommandList10, |list, name| list.unsupported(name);
        fn SetProgram(*const D3D12_SET_PROGRAM_DESC);
        fn DispatchGraph(*const D3D12_DISPATCH_GRAPH_DESC);
    }
}
