//! Root signatures, pipeline states, command signatures, bundles and queries.

use std::mem::ManuallyDrop;

use heapwright_d3d12::*;

use super::commands::List;
use super::{created, returned};
use crate::answer::Answer;

/// Creates a root signature from its container.
pub(crate) fn create_root_signature(device: &ID3D12Device, container: &[u8]) -> Answer<ID3D12RootSignature> {
    // SAFETY: the slice is the blob.
    returned("CreateRootSignature", unsafe { device.CreateRootSignature(0, container) })
}

fn bytecode(container: &[u8]) -> D3D12_SHADER_BYTECODE {
    D3D12_SHADER_BYTECODE { pShaderBytecode: container.as_ptr().cast(), BytecodeLength: container.len() }
}

/// Creates a compute pipeline state from the container of its shader.
pub(crate) fn create_compute_state(
    device: &ID3D12Device,
    signature: &ID3D12RootSignature,
    shader: &[u8],
) -> Answer<ID3D12PipelineState> {
    let mut desc = D3D12_COMPUTE_PIPELINE_STATE_DESC {
        pRootSignature: ManuallyDrop::new(Some(signature.clone())),
        CS: bytecode(shader),
        ..Default::default()
    };
    // SAFETY: desc is valid, and the shader outlives the call.
    let state =
        returned("CreateComputePipelineState", unsafe { device.CreateComputePipelineState(&raw const desc) });
    // SAFETY: desc is not used any more.
    unsafe { ManuallyDrop::drop(&mut desc.pRootSignature) };
    state
}

/// Creates a graphics pipeline state for triangles, without a pixel shader and without render targets.
pub(crate) fn create_graphics_state(
    device: &ID3D12Device,
    signature: &ID3D12RootSignature,
    vertex_shader: &[u8],
) -> Answer<ID3D12PipelineState> {
    let mut desc = D3D12_GRAPHICS_PIPELINE_STATE_DESC {
        pRootSignature: ManuallyDrop::new(Some(signature.clone())),
        VS: bytecode(vertex_shader),
        SampleMask: u32::MAX,
        RasterizerState: D3D12_RASTERIZER_DESC {
            FillMode: D3D12_FILL_MODE_SOLID,
            CullMode: D3D12_CULL_MODE_NONE,
            ..Default::default()
        },
        PrimitiveTopologyType: D3D12_PRIMITIVE_TOPOLOGY_TYPE_TRIANGLE,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        ..Default::default()
    };
    // SAFETY: desc is valid, and the shader outlives the call.
    let state = returned("CreateGraphicsPipelineState", unsafe {
        device.CreateGraphicsPipelineState(&raw const desc)
    });
    // SAFETY: desc is not used any more.
    unsafe { ManuallyDrop::drop(&mut desc.pRootSignature) };
    state
}

/// Creates a command signature for draws, without a root signature.
pub(crate) fn create_command_signature(device: &ID3D12Device) -> Answer<ID3D12CommandSignature> {
    let draw = D3D12_INDIRECT_ARGUMENT_DESC { Type: D3D12_INDIRECT_ARGUMENT_TYPE_DRAW, ..Default::default() };
    let desc = D3D12_COMMAND_SIGNATURE_DESC {
        ByteStride: super::device::size_of_u32::<D3D12_DRAW_ARGUMENTS>(),
        NumArgumentDescs: 1,
        pArgumentDescs: &raw const draw,
        NodeMask: 0,
    };
    let mut signature = None;
    // SAFETY: desc has one argument, signature takes one interface.
    created(
        "CreateCommandSignature",
        unsafe { device.CreateCommandSignature(&raw const desc, None, &mut signature) },
        signature,
    )
}

/// The argument of a root parameter.
pub(crate) enum Argument<'a> {
    /// The address of the buffer of a shader resource view.
    Readable(u64),
    /// The address of the buffer of an unordered access view.
    Unordered(u64),
    /// A shader-visible heap with the descriptors of a table.
    Table(&'a ID3D12DescriptorHeap),
}

impl List {
    /// Sets a root signature, its arguments and a compute pipeline state, and dispatches rows of groups.
    pub(crate) fn dispatch(
        &self,
        (signature, state): (&ID3D12RootSignature, &ID3D12PipelineState),
        arguments: &[Argument<'_>],
        rows: u32,
    ) {
        // SAFETY: the objects are live, and outlive the list's execution: the caller waits for it.
        unsafe {
            self.0.SetComputeRootSignature(signature);
            self.0.SetPipelineState(state);
            for (index, argument) in (0..).zip(arguments) {
                match *argument {
                    Argument::Readable(address) => {
                        self.0.SetComputeRootShaderResourceView(index, D3D12_GPU_VIRTUAL_ADDRESS(address));
                    }
                    Argument::Unordered(address) => {
                        self.0.SetComputeRootUnorderedAccessView(index, D3D12_GPU_VIRTUAL_ADDRESS(address));
                    }
                    Argument::Table(heap) => {
                        self.set_descriptor_heap(heap);
                        let start = heap.GetGPUDescriptorHandleForHeapStart();
                        self.0.SetComputeRootDescriptorTable(index, start);
                    }
                }
            }
            self.0.Dispatch(1, rows, 1);
        }
    }

    /// Sets a root signature and a graphics pipeline state, and draws one triangle.
    pub(crate) fn draw(&self, signature: &ID3D12RootSignature, state: &ID3D12PipelineState) {
        // SAFETY: as in dispatch.
        unsafe {
            self.0.SetGraphicsRootSignature(signature);
            self.0.SetPipelineState(state);
            self.0.IASetPrimitiveTopology(D3D12_PRIMITIVE_TOPOLOGY(D3D_PRIMITIVE_TOPOLOGY_TRIANGLELIST));
            self.0.DrawInstanced(3, 1, 0, 0);
        }
    }

    pub(crate) fn execute_bundle(&self, bundle: &List) {
        // SAFETY: as in dispatch.
        unsafe { self.0.ExecuteBundle(&bundle.0) };
    }

    pub(crate) fn end_timestamp(&self, heap: &ID3D12QueryHeap, index: u32) {
        // SAFETY: as in dispatch.
        unsafe { self.0.EndQuery(heap, D3D12_QUERY_TYPE_TIMESTAMP, index) };
    }

    /// Resolves the first `count` timestamps of a heap.
    pub(crate) fn resolve_timestamps(
        &self,
        heap: &ID3D12QueryHeap,
        count: u32,
        (to, offset): (&ID3D12Resource, u64),
    ) {
        // SAFETY: as in dispatch.
        unsafe { self.0.ResolveQueryData(heap, D3D12_QUERY_TYPE_TIMESTAMP, 0, count, to, offset) };
    }
}
