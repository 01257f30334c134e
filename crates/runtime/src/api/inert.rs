//! Pipeline objects: root signatures, pipeline states, command signatures and blobs.
//!
//! They exist so that programs get past their initialization. They are checked for obvious errors, created, named,
//! counted and released. Shaders and root signatures are never read, and nothing that needs one is executed.
#![allow(non_snake_case, reason = "the names of ID3DBlob's methods")]

use std::ffi::c_void;

use heapwright_d3d12::*;
use windows_core::{ComObject, IUnknown, IUnknown_Vtbl, Interface, implement, interface};

use super::call;
use super::command_queue::check_node_mask;
use super::device::Device;
use super::object::{Child, implement_child, implement_pageable};
use crate::debug::ObjectKind;
use crate::rules::Refusal;

/// Implements the methods of an object that is a child of a device and nothing else.
macro_rules! inert {
    ($name:ident, $outer:ident, $implement:ident) => {
        impl $name {
            pub(super) fn new(device: ComObject<Device>) -> Self {
                Self { child: Child::new(device).counted(ObjectKind::$name) }
            }
        }

        $implement!($outer);
    };
}

/// The COM object of a root signature.
#[implement(ID3D12RootSignature, ID3DDestructionNotifier)]
pub(super) struct RootSignature {
    child: Child,
}

/// The COM object of a graphics or compute pipeline state.
#[implement(ID3D12PipelineState, ID3DDestructionNotifier)]
pub(super) struct PipelineState {
    child: Child,
}

/// The COM object of a command signature, which describes the arguments of `ExecuteIndirect`.
#[implement(ID3D12CommandSignature, ID3DDestructionNotifier)]
pub(super) struct CommandSignature {
    child: Child,
    /// Whether the command draws. Otherwise it dispatches.
    pub(super) draws: bool,
    /// Whether the arguments include addresses of unordered access views.
    pub(super) sets_unordered_views: bool,
}

impl CommandSignature {
    pub(super) fn new(device: ComObject<Device>, arguments: &[D3D12_INDIRECT_ARGUMENT_DESC]) -> Self {
        let has = |kind| arguments.iter().any(|argument| argument.Type == kind);
        let child = Child::new(device).counted(ObjectKind::CommandSignature);
        let draws =
            !has(D3D12_INDIRECT_ARGUMENT_TYPE_DISPATCH) && !has(D3D12_INDIRECT_ARGUMENT_TYPE_DISPATCH_RAYS);
        let sets_unordered_views = has(D3D12_INDIRECT_ARGUMENT_TYPE_UNORDERED_ACCESS_VIEW);
        Self { child, draws, sets_unordered_views }
    }
}

implement_pageable!(CommandSignature_Impl);

inert!(RootSignature, RootSignature_Impl, implement_child);
inert!(PipelineState, PipelineState_Impl, implement_pageable);

impl ID3D12RootSignature_Impl for RootSignature_Impl {}
impl ID3D12CommandSignature_Impl for CommandSignature_Impl {}

impl ID3D12PipelineState_Impl for PipelineState_Impl {
    fn GetCachedBlob(&self) -> windows_core::Result<ID3D10Blob> {
        Blob::create(b"heapwright")
    }
}

/// `ID3DBlob`, as its header declares it. The bindings only have its name.
#[interface("8ba5fb08-5195-40e2-ac58-0d989c3a0102")]
pub(crate) unsafe trait BlobInterface: IUnknown {
    fn GetBufferPointer(&self) -> *mut c_void;
    fn GetBufferSize(&self) -> usize;
}

/// An immutable array of bytes that a function returns.
#[implement(BlobInterface)]
pub(crate) struct Blob {
    bytes: Box<[u8]>,
}

impl Blob {
    pub(crate) fn create(bytes: &[u8]) -> windows_core::Result<ID3D10Blob> {
        BlobInterface::from(Self { bytes: bytes.into() }).cast()
    }
}

impl BlobInterface_Impl for Blob_Impl {
    unsafe fn GetBufferPointer(&self) -> *mut c_void {
        self.bytes.as_ptr().cast_mut().cast()
    }

    unsafe fn GetBufferSize(&self) -> usize {
        self.bytes.len()
    }
}

/// The first bytes of a serialized root signature, as of all output of D3D's compilers.
const CONTAINER: [u8; 4] = *b"DXBC";

/// Returns a container without parts. `D3D12SerializeRootSignature` returns it, because nothing reads more of it.
pub(crate) fn empty_container() -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&CONTAINER);
    // After 16 bytes of hash follow the version 1, the total size and the number of parts, 0.
    bytes[20] = 1;
    bytes[24] = 32;
    bytes
}

/// Checks that `blob` can be a serialized root signature or a shader that contains one.
///
/// # Safety
///
/// `blob` is null or points to `length` bytes.
pub(super) unsafe fn check_root_signature(
    node_mask: u32,
    blob: *const c_void,
    length: usize,
) -> Result<(), Refusal> {
    check_node_mask(node_mask)?;
    if blob.is_null() || length < CONTAINER.len() {
        return Err(Refusal::invalid("pBlobWithRootSignature is null or too short"));
    }
    // SAFETY: by the COM contract, the blob has that many bytes; it is not null.
    let start = unsafe { blob.cast::<[u8; 4]>().read_unaligned() };
    if start != CONTAINER {
        return Err(Refusal::invalid("pBlobWithRootSignature is not a DXBC container"));
    }
    Ok(())
}

/// Checks a shader that a pipeline state requires.
fn check_shader(shader: &D3D12_SHADER_BYTECODE, name: &str) -> Result<(), Refusal> {
    if shader.pShaderBytecode.is_null() || shader.BytecodeLength == 0 {
        return Err(Refusal::invalid(format!("{name} has no shader bytecode")));
    }
    Ok(())
}

/// Checks the description of a graphics pipeline state.
///
/// # Safety
///
/// `desc` is null or points to a description.
pub(super) unsafe fn check_graphics(desc: *const D3D12_GRAPHICS_PIPELINE_STATE_DESC) -> Result<(), Refusal> {
    // SAFETY: by the COM contract, pDesc is null or points to a description.
    let desc = unsafe { call::read(desc, "pDesc") }?;
    check_node_mask(desc.NodeMask)?;
    check_shader(&desc.VS, "VS")
}

/// Checks the description of a compute pipeline state.
///
/// # Safety
///
/// `desc` is null or points to a description.
pub(super) unsafe fn check_compute(desc: *const D3D12_COMPUTE_PIPELINE_STATE_DESC) -> Result<(), Refusal> {
    // SAFETY: by the COM contract, pDesc is null or points to a description.
    let desc = unsafe { call::read(desc, "pDesc") }?;
    check_node_mask(desc.NodeMask)?;
    check_shader(&desc.CS, "CS")
}

/// Checks the description of a pipeline state stream, of which only the pointer and the length are read.
///
/// # Safety
///
/// `desc` is null or points to a description of a stream with the given length.
pub(super) unsafe fn check_stream(desc: *const D3D12_PIPELINE_STATE_STREAM_DESC) -> Result<(), Refusal> {
    // SAFETY: by the COM contract, pDesc is null or points to a description.
    let desc = unsafe { call::read(desc, "pDesc") }?;
    if desc.pPipelineStateSubobjectStream.is_null() || desc.SizeInBytes == 0 {
        return Err(Refusal::invalid("pPipelineStateSubobjectStream is null or SizeInBytes is 0"));
    }
    Ok(())
}

/// Checks the description of a command signature and returns its arguments. There must be exactly one command, as the
/// last argument (reference of `ID3D12Device::CreateCommandSignature`).
///
/// # Safety
///
/// `desc` is null or points to a description whose `pArgumentDescs` has `NumArgumentDescs` elements.
pub(super) unsafe fn check_command_signature<'a>(
    desc: *const D3D12_COMMAND_SIGNATURE_DESC,
) -> Result<&'a [D3D12_INDIRECT_ARGUMENT_DESC], Refusal> {
    // SAFETY: by the COM contract, pDesc is null or points to a description.
    let desc = unsafe { call::read(desc, "pDesc") }?;
    check_node_mask(desc.NodeMask)?;
    // SAFETY: by the COM contract, the array has that many elements.
    let arguments = unsafe {
        super::command_list::read_array(desc.NumArgumentDescs, desc.pArgumentDescs, "pArgumentDescs")
    }?;
    let is_command = |argument: &D3D12_INDIRECT_ARGUMENT_DESC| {
        matches!(
            argument.Type,
            D3D12_INDIRECT_ARGUMENT_TYPE_DRAW
                | D3D12_INDIRECT_ARGUMENT_TYPE_DRAW_INDEXED
                | D3D12_INDIRECT_ARGUMENT_TYPE_DISPATCH
                | D3D12_INDIRECT_ARGUMENT_TYPE_DISPATCH_RAYS
                | D3D12_INDIRECT_ARGUMENT_TYPE_DISPATCH_MESH
        )
    };
    if arguments.iter().filter(|argument| is_command(argument)).count() != 1
        || !arguments.last().is_some_and(is_command)
    {
        return Err(Refusal::invalid(
            "pArgumentDescs must have exactly one draw or dispatch, as its last element",
        ));
    }
    Ok(arguments)
}
