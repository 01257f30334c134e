//! Root signatures, pipeline states and draws, which are created and recorded but not executed.

use heapwright_d3d12::*;
use heapwright_runtime::exports;
use windows_core::Interface;

use crate::gpu::*;

fn root_signature(device: &ID3D12Device14) -> ID3D12RootSignature {
    let desc = D3D12_ROOT_SIGNATURE_DESC::default();
    let (mut blob, mut errors) = (std::ptr::null_mut(), std::ptr::null_mut());
    unsafe {
        let version = D3D_ROOT_SIGNATURE_VERSION_1_0;
        assert_eq!(exports::D3D12SerializeRootSignature(&desc, version, &mut blob, &mut errors), S_OK);
        assert!(!blob.is_null() && errors.is_null());
        let refused = exports::D3D12SerializeRootSignature(&desc, 77, &mut errors, std::ptr::null_mut());
        assert_eq!(refused, E_INVALIDARG);
        // The blob's first methods after those of IUnknown are GetBufferPointer and GetBufferSize.
        let object = ID3D10Blob::from_raw(blob);
        type Get = unsafe extern "system" fn(*mut std::ffi::c_void) -> usize;
        let vtable = *blob.cast::<*const [Get; 5]>();
        let (start, size) = ((*vtable)[3](blob), (*vtable)[4](blob));
        let bytes = std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(start), size);
        let made = device.CreateRootSignature(0, bytes).expect("a root signature");
        assert_eq!(code(device.CreateRootSignature::<ID3D12RootSignature>(0, &bytes[4..])), E_INVALIDARG);
        let iid = ID3D12RootSignatureDeserializer::IID;
        for deserialize in [
            exports::D3D12CreateRootSignatureDeserializer,
            exports::D3D12CreateVersionedRootSignatureDeserializer,
        ] {
            let mut out = std::ptr::dangling_mut();
            assert_eq!(deserialize(bytes.as_ptr().cast(), size, &raw const iid, &raw mut out), E_NOTIMPL);
            assert!(out.is_null());
        }
        drop(object);
        made
    }
}

fn pipeline(device: &ID3D12Device14) -> ID3D12PipelineState {
    let shader = [0_u8; 16];
    let mut desc = D3D12_COMPUTE_PIPELINE_STATE_DESC::default();
    let refused = unsafe { device.CreateComputePipelineState::<ID3D12PipelineState>(&desc) };
    assert_eq!(code(refused), E_INVALIDARG, "no shader");
    desc.CS = D3D12_SHADER_BYTECODE { pShaderBytecode: shader.as_ptr().cast(), BytecodeLength: shader.len() };
    unsafe { device.CreateComputePipelineState(&desc) }.expect("a pipeline state")
}

/// The draws of a list are reported once as not executed; all its other commands are executed.
#[test]
fn a_list_reports_skipped_draws_and_dispatches_once() {
    let (device, queue) = open_direct();
    let (signature, state) = (root_signature(&device), pipeline(&device));
    let [upload, readback] =
        [D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK].map(|heap_type| commit(&device, heap_type, 64));
    bytes(&upload).fill(7);
    messages(&device);
    unsafe {
        queue.list.SetPipelineState(&state);
        queue.list.SetGraphicsRootSignature(&signature);
        queue.list.SetGraphicsRootConstantBufferView(0, upload.GetGPUVirtualAddress());
        queue.list.IASetPrimitiveTopology(D3D12_PRIMITIVE_TOPOLOGY(D3D_PRIMITIVE_TOPOLOGY_TRIANGLELIST));
        assert_eq!(messages(&device).len(), 0, "setting state is not reported");
        queue.list.DrawInstanced(3, 1, 0, 0);
        queue.list.Dispatch(1, 1, 1);
        queue.list.DrawInstanced(3, 1, 0, 0);
        queue.list.CopyResource(&readback, &upload);
        let told = messages(&device);
        assert!(matches!(&told[..], [(_, text)] if text.contains("does not execute pipelines")), "{told:?}");
    }
    queue.run();
    assert_eq!(bytes(&readback), [7; 64]);
}

#[test]
fn bundles_are_recorded_and_executed_by_lists() {
    let (device, queue) = open_direct();
    let kind = D3D12_COMMAND_LIST_TYPE_BUNDLE;
    let state = pipeline(&device);
    unsafe {
        let allocator: ID3D12CommandAllocator = device.CreateCommandAllocator(kind).expect("an allocator");
        let bundle: ID3D12GraphicsCommandList =
            device.CreateCommandList(0, kind, &allocator, &state).expect("a bundle");
        bundle.DrawInstanced(3, 1, 0, 0);
        bundle.Close().succeeds();
        queue.list.ExecuteBundle(&bundle);
        queue.run();
        bundle.Reset(&allocator, &state).succeeds();
        queue.list.ExecuteBundle(&bundle);
        assert_eq!(code(queue.list.Close()), E_INVALIDARG, "it records");
        let upload = commit(&device, D3D12_HEAP_TYPE_UPLOAD, 64);
        bundle.CopyResource(&upload, &upload);
        assert_eq!(code(bundle.Close()), E_INVALIDARG, "copies are not allowed in a bundle");
        let desc = D3D12_COMMAND_QUEUE_DESC { Type: kind, ..Default::default() };
        assert_eq!(code(device.CreateCommandQueue::<ID3D12CommandQueue>(&desc)), E_INVALIDARG);
    }
}

#[test]
fn query_results_are_written_where_they_belong() {
    let (device, queue) = open_direct();
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 64);
    bytes(&readback).fill(0xee);
    let desc = D3D12_QUERY_HEAP_DESC { Type: D3D12_QUERY_HEAP_TYPE_TIMESTAMP, Count: 4, NodeMask: 0 };
    let mut heap = None::<ID3D12QueryHeap>;
    unsafe {
        device.CreateQueryHeap(&desc, &mut heap).expect("a heap");
        let heap = heap.expect("S_OK comes with a heap");
        let kind = D3D12_QUERY_TYPE_TIMESTAMP;
        queue.list.EndQuery(&heap, kind, 0);
        queue.list.EndQuery(&heap, kind, 3);
        queue.list.ResolveQueryData(&heap, kind, 0, 4, &readback, 8);
        queue.run();
        assert_eq!(bytes(&readback)[..8], [0xee; 8]);
        assert_eq!(bytes(&readback)[16..32], [0; 16], "queries that never ended");
        assert!(bytes(&readback)[8..16] != [0; 8] && bytes(&readback)[32..40] != [0; 8], "timestamps");
        assert_eq!(bytes(&readback)[40..], [0xee; 24]);
        assert_eq!(queue.close_after(|list| list.EndQuery(&heap, kind, 4)), E_INVALIDARG);
        assert_eq!(queue.close_after(|list| list.BeginQuery(&heap, kind, 0)), E_INVALIDARG);
    }
}

#[test]
fn results_of_many_queries_are_one_command() {
    let (device, queue) = open_direct();
    let count = 1 << 18;
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, u64::from(count) * 88);
    bytes(&readback).fill(0xee);
    let desc = D3D12_QUERY_HEAP_DESC {
        Type: D3D12_QUERY_HEAP_TYPE_PIPELINE_STATISTICS,
        Count: u32::MAX,
        NodeMask: 0,
    };
    let mut heap = None::<ID3D12QueryHeap>;
    unsafe {
        device.CreateQueryHeap(&desc, &mut heap).expect("a heap");
        let heap = heap.expect("S_OK comes with a heap");
        let kind = D3D12_QUERY_TYPE_PIPELINE_STATISTICS;
        let resolve = |list: &ID3D12GraphicsCommandList7, count| {
            list.ResolveQueryData(&heap, kind, 0, count, &readback, 0);
        };
        // As commands for 4 bytes each, these would take gigabytes of host memory.
        for _ in 0..4 {
            resolve(&queue.list, count);
        }
        resolve(&queue.list, 0);
        queue.run();
        assert_eq!(queue.close_after(|list| resolve(list, u32::MAX)), E_INVALIDARG, "too small a buffer");
    }
    assert!(bytes(&readback).iter().all(|byte| *byte == 0));
}

#[test]
fn a_command_signature_ends_with_its_one_command() {
    let device = open();
    let of = |kinds: &[D3D12_INDIRECT_ARGUMENT_TYPE]| {
        let arguments: Vec<_> = kinds
            .iter()
            .map(|&kind| D3D12_INDIRECT_ARGUMENT_DESC { Type: kind, ..Default::default() })
            .collect();
        let desc = D3D12_COMMAND_SIGNATURE_DESC {
            ByteStride: 64,
            NumArgumentDescs: u32::try_from(arguments.len()).expect("few"),
            pArgumentDescs: arguments.as_ptr(),
            NodeMask: 0,
        };
        let mut made = None::<ID3D12CommandSignature>;
        code(unsafe { device.CreateCommandSignature(&desc, None, &mut made) })
    };
    let (draw, constant) = (D3D12_INDIRECT_ARGUMENT_TYPE_DRAW, D3D12_INDIRECT_ARGUMENT_TYPE_CONSTANT);
    assert_eq!(of(&[draw]), S_OK);
    assert_eq!(of(&[constant, draw]), S_OK);
    for refused in [&[][..], &[constant], &[draw, constant], &[draw, draw]] {
        assert_eq!(of(refused), E_INVALIDARG, "{refused:?}");
    }
}
