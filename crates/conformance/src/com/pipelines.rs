//! Root signatures, pipeline states, command signatures, bundles and queries.

use std::mem::ManuallyDrop;

use heapwright_d3d12::*;

use super::commands::List;
use super::{created, returned};
use crate::answer::Answer;

// Containers in the format DXBC, as words: the letters, a checksum of what follows, the version, the size and the parts. The tokens of the
// shaders are those of d3d11TokenizedProgramFormat.hpp.

/// An empty root signature of version 1.0 with ALLOW_INPUT_ASSEMBLER_INPUT_LAYOUT.
#[rustfmt::skip]
const ROOT_SIGNATURE: [u32; 17] = [
    0x4342_5844, 0x05bb_d62e, 0xc74d_3646, 0xde14_07a5, 0x0d99_273d, 0x0000_0001, 0x0000_0044, 0x0000_0001,
    0x0000_0024, 0x3053_5452, 0x0000_0018, 0x0000_0001, 0x0000_0000, 0x0000_0018, 0x0000_0000, 0x0000_0018,
    0x0000_0001,
];

/// A compute shader of model 5.0 with one thread in a group, which returns.
#[rustfmt::skip]
const COMPUTE_SHADER: [u32; 29] = [
    0x4342_5844, 0x1acc_3ad0, 0x71c7_b057, 0xc72c_4306, 0xf432_cb57, 0x0000_0001, 0x0000_0074, 0x0000_0003,
    0x0000_002c, 0x0000_003c, 0x0000_004c, 0x4e47_5349, 0x0000_0008, 0x0000_0000, 0x0000_0008, 0x4e47_534f,
    0x0000_0008, 0x0000_0000, 0x0000_0008, 0x5845_4853, 0x0000_0020, 0x0005_0050, 0x0000_0008, 0x0100_086a,
    0x0400_009b, 0x0000_0001, 0x0000_0001, 0x0000_0001, 0x0100_003e,
];

/// A vertex shader of model 5.0 whose SV_Position is (0, 0, 0, 0).
#[rustfmt::skip]
const VERTEX_SHADER: [u32; 46] = [
    0x4342_5844, 0x29db_4ddc, 0x8b9d_cb50, 0xb941_57d6, 0x4990_49a4, 0x0000_0001, 0x0000_00b8, 0x0000_0003,
    0x0000_002c, 0x0000_003c, 0x0000_0070, 0x4e47_5349, 0x0000_0008, 0x0000_0000, 0x0000_0008, 0x4e47_534f,
    0x0000_002c, 0x0000_0001, 0x0000_0008, 0x0000_0020, 0x0000_0000, 0x0000_0001, 0x0000_0003, 0x0000_0000,
    0x0000_000f, 0x505f_5653, 0x7469_736f, 0x006e_6f69, 0x5845_4853, 0x0000_0040, 0x0001_0050, 0x0000_0010,
    0x0100_086a, 0x0400_0067, 0x0010_20f2, 0x0000_0000, 0x0000_0001, 0x0800_0036, 0x0010_20f2, 0x0000_0000,
    0x0000_4002, 0x0000_0000, 0x0000_0000, 0x0000_0000, 0x0000_0000, 0x0100_003e,
];

/// Creates an empty root signature.
pub(crate) fn create_root_signature(device: &ID3D12Device) -> Answer<ID3D12RootSignature> {
    let blob: Vec<u8> = ROOT_SIGNATURE.iter().flat_map(|word| word.to_le_bytes()).collect();
    // SAFETY: the slice is the blob.
    returned("CreateRootSignature", unsafe { device.CreateRootSignature(0, &blob) })
}

fn shader(words: &'static [u32]) -> D3D12_SHADER_BYTECODE {
    D3D12_SHADER_BYTECODE { pShaderBytecode: words.as_ptr().cast(), BytecodeLength: size_of_val(words) }
}

/// Creates a compute pipeline state with a shader that does nothing.
pub(crate) fn create_compute_state(
    device: &ID3D12Device,
    signature: &ID3D12RootSignature,
) -> Answer<ID3D12PipelineState> {
    let mut desc = D3D12_COMPUTE_PIPELINE_STATE_DESC {
        pRootSignature: ManuallyDrop::new(Some(signature.clone())),
        CS: shader(&COMPUTE_SHADER),
        ..Default::default()
    };
    // SAFETY: desc is valid, and the shader is static.
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
) -> Answer<ID3D12PipelineState> {
    let mut desc = D3D12_GRAPHICS_PIPELINE_STATE_DESC {
        pRootSignature: ManuallyDrop::new(Some(signature.clone())),
        VS: shader(&VERTEX_SHADER),
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
    // SAFETY: desc is valid, and the shader is static.
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

impl List {
    /// Sets a root signature and a compute pipeline state, and dispatches one group.
    pub(crate) fn dispatch(&self, signature: &ID3D12RootSignature, state: &ID3D12PipelineState) {
        // SAFETY: the objects are live, and outlive the list's execution: the caller waits for it.
        unsafe {
            self.0.SetComputeRootSignature(signature);
            self.0.SetPipelineState(state);
            self.0.Dispatch(1, 1, 1);
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
