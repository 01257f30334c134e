//! `ID3D12PipelineLibrary1`: names of pipeline states, which a program keeps for its next run.
//!
//! Pipeline states are inert (`super::inert`), so a library stores their names and no code. Loading a state creates one
//! from its description.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use heapwright_d3d12::*;
use windows_core::{ComObject, GUID, Ref, implement};

use super::call;
use super::device::Device;
use super::inert::{self, PipelineState};
use super::methods::calls;
use super::object::{Child, implement_child, own};
use crate::debug::ObjectKind;
use crate::rules::Refusal;

/// The first bytes of a serialized library. They are followed by the names, each with a terminating zero, in UTF-16.
const HEADER: [u8; 16] = *b"heapwright names";

/// A name in UTF-16, without a terminating zero. It may be empty.
type Name = Vec<u16>;

/// The COM object of a pipeline library.
#[implement(ID3D12PipelineLibrary1, ID3DDestructionNotifier)]
pub(super) struct PipelineLibrary {
    child: Child,
    names: Mutex<BTreeSet<Name>>,
}

/// Returns the names in a serialized library; none without one.
///
/// # Safety
///
/// `blob` is null or points to `length` bytes.
pub(super) unsafe fn read_names(blob: *const c_void, length: usize) -> Result<BTreeSet<Name>, Refusal> {
    if length == 0 {
        return Ok(BTreeSet::new());
    }
    let refuse = |reason: &str| {
        Refusal::invalid(format!("pLibraryBlob {reason}"))
            .with_id(D3D12_MESSAGE_ID_CREATEPIPELINELIBRARY_INVALIDLIBRARYBLOB)
    };
    if blob.is_null() {
        return Err(refuse("is null and BlobLength is not 0"));
    }
    // SAFETY: by the COM contract, the blob has that many bytes; it is not null.
    let bytes = unsafe { std::slice::from_raw_parts(blob.cast::<u8>(), length) };
    let names = bytes.strip_prefix(&HEADER).ok_or_else(|| refuse("was not serialized by this runtime"))?;
    let (pairs, rest) = (names.chunks_exact(2), names.len() % 2);
    let units: Vec<u16> = pairs.map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    if rest != 0 || units.last().is_some_and(|&unit| unit != 0) {
        return Err(refuse("is truncated"));
    }
    Ok(units.split_inclusive(|&unit| unit == 0).map(|name| name[..name.len() - 1].to_vec()).collect())
}

impl PipelineLibrary {
    /// Creates a library with these names.
    pub(super) fn new(device: ComObject<Device>, names: BTreeSet<Name>) -> Self {
        let child = Child::new(device).counted(ObjectKind::PipelineLibrary);
        Self { child, names: Mutex::new(names) }
    }

    fn names(&self) -> MutexGuard<'_, BTreeSet<Name>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the serialized library.
    fn serialized(&self) -> Vec<u8> {
        let names = self.names();
        let units = names.iter().flat_map(|name| name.iter().copied().chain([0]));
        HEADER.into_iter().chain(units.flat_map(u16::to_le_bytes)).collect()
    }

    /// Creates the pipeline state of a name.
    ///
    /// # Safety
    ///
    /// `pipeline_name` is null or a zero-terminated UTF-16 string; `riid` is null or points to a GUID; `ppv` is null or
    /// points to writable space for one pointer.
    unsafe fn load(
        &self,
        call_name: &'static str,
        pipeline_name: PCWSTR,
        check: impl FnOnce() -> Result<(), Refusal>,
        riid: *const GUID,
        ppv: *mut *mut c_void,
    ) -> windows_core::Result<()> {
        // SAFETY: guaranteed by the caller.
        let name = unsafe { call::read_wide(pipeline_name) };
        let check = || {
            if !self.names().contains(&name) {
                let shown = String::from_utf16_lossy(&name);
                return Err(Refusal::invalid(format!("the library has no pipeline state named '{shown}'"))
                    .with_id(D3D12_MESSAGE_ID_LOADPIPELINE_NAMENOTFOUND));
            }
            check().map_err(|refusal| refusal.or_id(D3D12_MESSAGE_ID_LOADPIPELINE_INVALIDDESC))
        };
        let make = |()| Ok(ComObject::new(PipelineState::new(self.child.device.clone())));
        // SAFETY: guaranteed by the caller.
        unsafe { call::create(self.child.log(), call_name, riid, ppv, check, make) }
    }
}

implement_child!(PipelineLibrary_Impl);

impl ID3D12PipelineLibrary_Impl for PipelineLibrary_Impl {
    fn StorePipeline(
        &self,
        pname: &PCWSTR,
        ppipeline: Ref<'_, ID3D12PipelineState>,
    ) -> windows_core::Result<()> {
        call::run(self.log(), "ID3D12PipelineLibrary::StorePipeline", || {
            own::<PipelineState>(&self.child.device, ppipeline.as_ref(), "pPipeline")?;
            if pname.is_null() {
                return Err(Refusal::invalid("pName is null").with_id(D3D12_MESSAGE_ID_STOREPIPELINE_NONAME));
            }
            // SAFETY: by the COM contract, a name that is not null is a zero-terminated UTF-16 string.
            let name = unsafe { call::read_wide(*pname) };
            let shown = String::from_utf16_lossy(&name);
            if !self.names().insert(name) {
                return Err(Refusal::invalid(format!("the library has a pipeline state named '{shown}'"))
                    .with_id(D3D12_MESSAGE_ID_STOREPIPELINE_DUPLICATENAME));
            }
            Ok(())
        })
    }

    calls! {
        ID3D12PipelineLibrary:
        fn LoadGraphicsPipeline(
            name: &PCWSTR, desc: *const D3D12_GRAPHICS_PIPELINE_STATE_DESC, riid: *const GUID,
            ppv: *mut *mut c_void
        ) -> windows_core::Result<()> = load(*name, || inert::check_graphics(desc), riid, ppv);
        fn LoadComputePipeline(
            name: &PCWSTR, desc: *const D3D12_COMPUTE_PIPELINE_STATE_DESC, riid: *const GUID,
            ppv: *mut *mut c_void
        ) -> windows_core::Result<()> = load(*name, || inert::check_compute(desc), riid, ppv);
    }

    fn GetSerializedSize(&self) -> usize {
        call::run_infallible(self.log(), "ID3D12PipelineLibrary::GetSerializedSize", 0, || {
            self.serialized().len()
        })
    }

    fn Serialize(&self, pdata: *mut c_void, datasizeinbytes: usize) -> windows_core::Result<()> {
        call::run(self.log(), "ID3D12PipelineLibrary::Serialize", || {
            let bytes = self.serialized();
            if pdata.is_null() || datasizeinbytes < bytes.len() {
                return Err(Refusal::invalid(format!(
                    "pData is null, or DataSizeInBytes {datasizeinbytes} is less than the library's {} bytes",
                    bytes.len()
                ))
                .with_id(D3D12_MESSAGE_ID_PIPELINELIBRARY_SERIALIZE_NOTENOUGHMEMORY));
            }
            // SAFETY: by the COM contract, pData has DataSizeInBytes writable bytes, which are enough; the source is
            // ours.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), pdata.cast::<u8>(), bytes.len()) };
            Ok(())
        })
    }
}

impl ID3D12PipelineLibrary1_Impl for PipelineLibrary_Impl {
    calls! {
        ID3D12PipelineLibrary1:
        fn LoadPipeline(
            name: &PCWSTR, desc: *const D3D12_PIPELINE_STATE_STREAM_DESC, riid: *const GUID,
            ppv: *mut *mut c_void
        ) -> windows_core::Result<()> = load(*name, || inert::check_stream(desc), riid, ppv);
    }
}
