//! The methods of `ID3D12GraphicsCommandList`, as D3D12 declares them.
//!
//! The methods that concern memory call the neighbouring modules. State that only pipelines read is accepted and has no
//! effect. Draws and dispatches are accepted and not executed.

use std::ffi::c_void;
use std::sync::Arc;

use heapwright_d3d12::*;
use windows_core::{BOOL, Ref, Result};

use super::bindings::Pipeline;
use super::copies::{RESOLVE_NULLS, copy_side, operands};
use super::{Allowed, CommandList, CommandList_Impl, read_array, views};
use crate::api::call;
use crate::api::command_allocator::CommandAllocator;
use crate::api::inert::{CommandSignature, PipelineState};
use crate::api::methods::{calls, methods};
use crate::api::object::own;
use crate::api::query_heap::{self, QueryHeap};
use crate::api::resource::{Resource, operand};
use crate::drivers::command::Command;
use crate::format::ResolveMode;
use crate::rules::Refusal;
use crate::rules::commands::clears::ClearValues;
use crate::rules::commands::discard::{self, Region};
use crate::rules::commands::render_passes::check_outside;
use crate::rules::commands::resolves::{Mode, Resolve};
use crate::rules::commands::texture_copies;
use crate::rules::commands::{copies, tiles};

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
            Ok(None)
        });
    }

    fn Dispatch(&self, _threadgroupcountx: u32, _threadgroupcounty: u32, _threadgroupcountz: u32) {
        let name = "ID3D12GraphicsCommandList::Dispatch";
        self.skip(name, Allowed::State, |_, recording| {
            check_outside(recording.render_pass.as_ref())?;
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
            let [target, source] = operands(device, target, (psrcbuffer.as_ref(), "pSrcBuffer"), ids)?;
            let (target, source) = ((target, dstoffset), (source, srcoffset));
            copies::copy_buffer_region(target, source, numbytes, &mut recording.notices)
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
            // SAFETY: by the COM contract, Type determines which member of the union the application wrote.
            let (target, source) = unsafe {
                (
                    copy_side(device, target, &texture_copies::TARGET)?,
                    copy_side(device, source, &texture_copies::SOURCE)?,
                )
            };
            let (start, notices) = ([dstx, dsty, dstz], &mut recording.notices);
            texture_copies::copy_texture_region(target, start, source, source_box, notices)
        });
    }

    fn CopyResource(&self, pdstresource: Ref<'_, ID3D12Resource>, psrcresource: Ref<'_, ID3D12Resource>) {
        let name = "ID3D12GraphicsCommandList::CopyResource";
        self.record_outside_pass(name, Allowed::All, |device, recording| {
            let ids = [D3D12_MESSAGE_ID_COPYRESOURCE_NULLDST, D3D12_MESSAGE_ID_COPYRESOURCE_NULLSRC];
            let target = (pdstresource.as_ref(), "pDstResource");
            let [target, source] = operands(device, target, (psrcresource.as_ref(), "pSrcResource"), ids)?;
            copies::copy_resource(target, source, &mut recording.notices)
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
            let tiled = operand(device, ptiledresource.as_ref(), "pTiledResource")?;
            let buffer = (operand(device, pbuffer.as_ref(), "pBuffer")?, bufferstartoffsetinbytes);
            // SAFETY: by the COM contract, both pointers are null or point to their structures.
            let region = unsafe {
                (
                    call::read(ptileregionstartcoordinate, "pTileRegionStartCoordinate")?,
                    call::read(ptileregionsize, "pTileRegionSize")?,
                )
            };
            tiles::copy_tiles(tiled, region, buffer, flags, &mut recording.notices).map(Some)
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
        self.record_outside_pass(name, Allowed::Direct, |device, _| {
            let target = (pdstresource.as_ref(), "pDstResource");
            let [target, source] =
                operands(device, target, (psrcresource.as_ref(), "pSrcResource"), RESOLVE_NULLS)?;
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
            resolve.whole_command()
        });
    }

    fn ResourceBarrier(&self, numbarriers: u32, pbarriers: *const D3D12_RESOURCE_BARRIER) {
        self.record("ID3D12GraphicsCommandList::ResourceBarrier", Allowed::All, |device, recording| {
            // SAFETY: by the COM contract, the array has that many elements.
            let barriers = unsafe { read_array(numbarriers, pbarriers, "pBarriers") }?;
            // SAFETY: by the COM contract, each pointer is null or points to what the method documents.
            unsafe { self.record_barriers(device, recording, barriers) }.map(|()| None)
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

    fn DiscardResource(&self, presource: Ref<'_, ID3D12Resource>, pregion: *const D3D12_DISCARD_REGION) {
        let name = "ID3D12GraphicsCommandList::DiscardResource";
        self.record_outside_pass(name, Allowed::DirectAndCompute, |device, recording| {
            let resource = operand(device, presource.as_ref(), "pResource")?;
            // SAFETY: by the COM contract, pRegion is null (the whole resource) or points to a region.
            let region = unsafe { pregion.as_ref() }.map(|region| {
                let (first, count) = (region.FirstSubresource, region.NumSubresources);
                // SAFETY: by the COM contract, pRects has NumRects elements.
                let rects = unsafe { read_array(region.NumRects, region.pRects, "pRegion->pRects") }?;
                Ok::<_, Refusal>(Region { first, count, rects })
            });
            let region = region.transpose()?;
            discard::check(self.list_type, resource, region.as_ref())?;
            recording.note_discard(self.list_type, resource, region.as_ref());
            Ok(None)
        });
    }

    fn EndQuery(&self, pqueryheap: Ref<'_, ID3D12QueryHeap>, query_type: D3D12_QUERY_TYPE, index: u32) {
        self.record("ID3D12GraphicsCommandList::EndQuery", Allowed::DirectAndCompute, |device, _| {
            let heap = own::<QueryHeap>(device, pqueryheap.as_ref(), "pQueryHeap")?;
            heap.check_queries(query_type, index, 1, false)?;
            let is_timestamp = query_type == D3D12_QUERY_TYPE_TIMESTAMP;
            let timestamps = || Arc::clone(heap.timestamps());
            Ok(is_timestamp.then(|| Command::EndTimestamp { timestamps: timestamps(), index }))
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
        self.record_outside_pass(name, Allowed::DirectAndCompute, |device, _| {
            let heap = own::<QueryHeap>(device, pqueryheap.as_ref(), "pQueryHeap")?;
            heap.check_resolver(false)?;
            heap.check_resolved(query_type, startindex, numqueries)?;
            let target = operand(device, pdestinationbuffer.as_ref(), "pDestinationBuffer")?;
            let size = u64::from(numqueries) * query_heap::result_size(query_type);
            let is_timestamp = query_type == D3D12_QUERY_TYPE_TIMESTAMP;
            let timestamps = is_timestamp.then(|| (Arc::clone(heap.timestamps()), startindex));
            copies::resolve_queries(target, aligneddestinationbufferoffset, size, timestamps)
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

    calls! {
        ID3D12GraphicsCommandList:
        fn SetPipelineState(state: Ref<'_, ID3D12PipelineState>) = record(
            Allowed::State,
            |device, _| own::<PipelineState>(device, state.as_ref(), "pPipelineState").map(|_| None)
        );
        fn BeginQuery(heap: Ref<'_, ID3D12QueryHeap>, query_type: D3D12_QUERY_TYPE, index: u32) = record(
            Allowed::DirectAndCompute,
            |device, _| own::<QueryHeap>(device, heap.as_ref(), "pQueryHeap")?
                .check_queries(query_type, index, 1, true)
                .map(|()| None)
        );
        fn SetDescriptorHeaps(count: u32, heaps: *const Option<ID3D12DescriptorHeap>) = record_outside_pass(
            Allowed::State, |device, recording| views::set_descriptor_heaps(device, recording, (count, heaps))
        );
        fn SetComputeRootSignature(signature: Ref<'_, ID3D12RootSignature>) = record(
            Allowed::State,
            |device, recording| recording.set_root_signature(device, Pipeline::Compute, signature.as_ref())
        );
        fn SetGraphicsRootSignature(signature: Ref<'_, ID3D12RootSignature>) = record(
            Allowed::Draw,
            |device, recording| recording.set_root_signature(device, Pipeline::Graphics, signature.as_ref())
        );
        fn SetComputeRootUnorderedAccessView(index: u32, address: D3D12_GPU_VIRTUAL_ADDRESS) = record(
            Allowed::State, |_, recording| recording.set_unordered_view(Pipeline::Compute, index, address)
        );
        fn SetGraphicsRootUnorderedAccessView(index: u32, address: D3D12_GPU_VIRTUAL_ADDRESS) = record(
            Allowed::Draw, |_, recording| recording.set_unordered_view(Pipeline::Graphics, index, address)
        );
        fn SOSetTargets(first: u32, count: u32, views: *const D3D12_STREAM_OUTPUT_BUFFER_VIEW) = record(
            Allowed::State, |_, recording| recording.set_stream_output(first, count, views)
        );
        fn OMSetRenderTargets(
            count: u32, targets: *const D3D12_CPU_DESCRIPTOR_HANDLE, is_range: BOOL,
            depth_stencil: *const D3D12_CPU_DESCRIPTOR_HANDLE
        ) = record_outside_pass(
            Allowed::Direct,
            |device, recording| {
                recording.set_render_targets(device, (count, targets), is_range.as_bool(), depth_stencil)
            }
        );
        fn ClearDepthStencilView(
            view: &D3D12_CPU_DESCRIPTOR_HANDLE, flags: D3D12_CLEAR_FLAGS, depth: f32, stencil: u8, count: u32,
            rects: *const D3D12_RECT
        ) = record_outside_pass(
            Allowed::Direct,
            |device, recording| {
                views::clear_depth_stencil(device, recording, *view, flags, (depth, stencil), (count, rects))
            }
        );
        fn ClearRenderTargetView(
            view: &D3D12_CPU_DESCRIPTOR_HANDLE, color: *const f32, count: u32, rects: *const D3D12_RECT
        ) = record_outside_pass(
            Allowed::Direct, |device, _| views::clear_render_target(device, *view, color, (count, rects))
        );
        fn ClearUnorderedAccessViewUint(
            gpu: &D3D12_GPU_DESCRIPTOR_HANDLE, cpu: &D3D12_CPU_DESCRIPTOR_HANDLE, resource: Ref<'_, ID3D12Resource>,
            values: *const u32, count: u32, rects: *const D3D12_RECT
        ) = record_outside_pass(Allowed::DirectAndCompute, |device, recording| {
            let values = ClearValues::Uint(*call::read(values.cast(), "Values")?);
            views::clear_unordered_access(device, recording, (*gpu, *cpu), resource.as_ref(), values, (count, rects))
        });
        fn ClearUnorderedAccessViewFloat(
            gpu: &D3D12_GPU_DESCRIPTOR_HANDLE, cpu: &D3D12_CPU_DESCRIPTOR_HANDLE, resource: Ref<'_, ID3D12Resource>,
            values: *const f32, count: u32, rects: *const D3D12_RECT
        ) = record_outside_pass(Allowed::DirectAndCompute, |device, recording| {
            let values = ClearValues::Float(*call::read(values.cast(), "Values")?);
            views::clear_unordered_access(device, recording, (*gpu, *cpu), resource.as_ref(), values, (count, rects))
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
