//! The methods of `ID3D12GraphicsCommandList1` to `ID3D12GraphicsCommandList10`, as D3D12 declares them.

use std::ffi::c_void;

use heapwright_d3d12::*;
use windows_core::Ref;

use super::copies::{RESOLVE_NULLS, operands};
use super::{Allowed, CommandList_Impl, read_array, render_passes};
use crate::api::methods::{calls, methods};
use crate::rules::commands::copies;
use crate::rules::commands::resolves::{self, Resolve};

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
        self.record_outside_pass(name, Allowed::Direct, |device, _| {
            let target = (pdstresource.as_ref(), "pDstResource");
            let [target, source] =
                operands(device, target, (psrcresource.as_ref(), "pSrcResource"), RESOLVE_NULLS)?;
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
            resolve.command()
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
    calls! {
        ID3D12GraphicsCommandList2:
        fn WriteBufferImmediate(
            count: u32, params: *const D3D12_WRITEBUFFERIMMEDIATE_PARAMETER,
            modes: *const D3D12_WRITEBUFFERIMMEDIATE_MODE
        ) = record(Allowed::All, |_, _| {
            let params = read_array(count, params, "pParams")?;
            // Without modes, all are the default.
            let modes = if modes.is_null() { &[] } else { read_array(count, modes, "pModes")? };
            copies::write_buffer_immediate(params, modes)
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
    calls! {
        ID3D12GraphicsCommandList4:
        fn BeginRenderPass(
            count: u32, targets: *const D3D12_RENDER_PASS_RENDER_TARGET_DESC,
            depth_stencil: *const D3D12_RENDER_PASS_DEPTH_STENCIL_DESC, flags: D3D12_RENDER_PASS_FLAGS
        ) = record(Allowed::Direct, |device, recording| {
            let targets = read_array(count, targets, "pRenderTargets")?;
            render_passes::begin(device, recording, targets, depth_stencil.as_ref(), flags)
        });
        fn EndRenderPass() = record(Allowed::Direct, |_, recording| render_passes::end(recording));
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
            unsafe { self.record_barrier_groups(device, recording, groups) }.map(|()| None)
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
