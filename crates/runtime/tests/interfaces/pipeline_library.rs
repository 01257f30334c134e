//! Pipeline libraries, which keep the names of pipeline states.

use heapwright_d3d12::*;
use windows_core::{HRESULT, Interface};

use crate::gpu::*;

fn wide(text: &str) -> Vec<u16> {
    text.encode_utf16().chain([0]).collect()
}

fn library(device: &ID3D12Device14, blob: &[u8]) -> Result<ID3D12PipelineLibrary1, HRESULT> {
    unsafe { device.CreatePipelineLibrary(blob) }.map_err(|error| error.code())
}

fn compute_desc(shader: &[u8]) -> D3D12_COMPUTE_PIPELINE_STATE_DESC {
    let shader =
        D3D12_SHADER_BYTECODE { pShaderBytecode: shader.as_ptr().cast(), BytecodeLength: shader.len() };
    D3D12_COMPUTE_PIPELINE_STATE_DESC { CS: shader, ..Default::default() }
}

fn serialized(library: &ID3D12PipelineLibrary1) -> Vec<u8> {
    let mut blob = vec![0_u8; unsafe { library.GetSerializedSize() }];
    unsafe { library.Serialize(blob.as_mut_ptr().cast(), blob.len()) }.succeeds();
    blob
}

fn load(library: &ID3D12PipelineLibrary1, name: &str) -> Result<ID3D12PipelineState, HRESULT> {
    let (name, desc) = (wide(name), compute_desc(b"DXBC"));
    unsafe { library.LoadComputePipeline(PCWSTR(name.as_ptr()), &desc) }.map_err(|error| error.code())
}

/// Names survive serialization, and only stored names load.
#[test]
fn stored_pipelines_load() {
    let device = open();
    let first = library(&device, &[]).expect("an empty library");
    let state: ID3D12PipelineState =
        unsafe { device.CreateComputePipelineState(&compute_desc(b"DXBC")) }.expect("a pipeline state");
    let store = |library: &ID3D12PipelineLibrary1, name: &str| unsafe {
        let name = wide(name);
        code(library.StorePipeline(PCWSTR(name.as_ptr()), &state))
    };
    assert_eq!(load(&first, "blur").map(drop), Err(E_INVALIDARG));
    for name in ["blur", "", "Δ"] {
        assert_eq!(store(&first, name), S_OK, "{name}");
        assert_eq!(store(&first, name), E_INVALIDARG, "{name} is stored");
    }
    assert_eq!(code(unsafe { first.StorePipeline(PCWSTR::null(), &state) }), E_INVALIDARG);
    let second = library(&open(), &serialized(&first)).expect("serialized by this runtime");
    for library in [&first, &second] {
        for name in ["blur", "", "Δ"] {
            assert_eq!(load(library, name).map(drop), Ok(()), "{name}");
        }
        assert_eq!(load(library, "blu").map(drop), Err(E_INVALIDARG));
    }
    let child: ID3D12Device = {
        let mut device = None;
        unsafe { second.GetDevice(&mut device) }.succeeds();
        device.expect("S_OK comes with a device")
    };
    assert_ne!(child.as_raw(), device.as_raw());
}

/// A damaged blob is refused, and a library is written to enough memory only.
#[test]
fn blobs_are_checked() {
    let device = open();
    let empty = serialized(&library(&device, &[]).expect("an empty library"));
    assert_eq!(library(&device, &empty).map(drop), Ok(()));
    for damaged in
        [&empty[1..], &empty[..8], b"DXBC", &[&empty[..], b"a"].concat(), &[&empty[..], b"a\0"].concat()]
    {
        assert_eq!(library(&device, damaged).map(drop), Err(E_INVALIDARG), "{damaged:?}");
    }
    let library = library(&device, &[]).expect("an empty library");
    let mut short = vec![0_u8; empty.len() - 1];
    assert_eq!(code(unsafe { library.Serialize(short.as_mut_ptr().cast(), short.len()) }), E_INVALIDARG);
    assert!(short.iter().all(|&byte| byte == 0));
}

#[test]
fn the_feature_names_libraries() {
    let (answer, cache) =
        feature(&open(), D3D12_FEATURE_SHADER_CACHE, D3D12_FEATURE_DATA_SHADER_CACHE::default());
    assert_eq!(answer, S_OK);
    assert_ne!(cache.SupportFlags & D3D12_SHADER_CACHE_SUPPORT_LIBRARY, 0);
}
