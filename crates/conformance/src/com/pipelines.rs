//! Root signatures, pipeline states and dispatches.

use std::mem::ManuallyDrop;

use heapwright_d3d12::*;

use super::commands::List;
use super::returned;
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
}
