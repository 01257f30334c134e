//! Manual write tracking: how a tool hears which bytes the CPU wrote (document UPLOAD, *Detect modifications*).
//!
//! Without a tool `ManualWriteTrackingResourceSupported` is false, the heap flag
//! `D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING` is refused, and resources do not answer to
//! `ID3D12ManualWriteTrackingResource`. [`install`]ing one changes all three, for the whole process, as tools do.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use heapwright_core::GpuVirtualAddress;
use heapwright_d3d12::{
    D3D12_RANGE, ID3D12ManualWriteTrackingResource, ID3D12ManualWriteTrackingResource_Impl,
    ID3D12ManualWriteTrackingResource_Vtbl,
};
use windows_core::{GUID, Interface};

/// A tool that wants to know what the CPU wrote.
pub trait WriteTracker: Send + Sync {
    /// The application says that it wrote bytes of a resource. Called on the application's thread.
    ///
    /// D3D12 checks neither subresource nor range; that is the tool's business.
    fn track_write(&self, write: &TrackedWrite);
}

/// What an application said of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackedWrite {
    /// Where the GPU sees the resource, textures too.
    pub resource: GpuVirtualAddress,
    /// The name that the application gave the resource.
    pub name: Option<String>,
    /// The subresource, as the application gave it.
    pub subresource: u32,
    /// Which bytes of the subresource.
    pub range: WrittenRange,
}

/// Which bytes of a subresource were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenRange {
    /// Any of them: the application passed no range.
    Whole,
    /// None of them: the range ends at or before its beginning.
    Nothing,
    /// From `begin` up to, and without, `end`.
    Bytes {
        /// The first byte.
        begin: usize,
        /// One past the last.
        end: usize,
    },
}

impl WrittenRange {
    /// What an optional range says.
    pub(crate) fn new(range: Option<&D3D12_RANGE>) -> Self {
        match range {
            None => Self::Whole,
            Some(range) if range.End <= range.Begin => Self::Nothing,
            Some(range) => Self::Bytes { begin: range.Begin, end: range.End },
        }
    }
}

static TRACKER: RwLock<Option<Arc<dyn WriteTracker>>> = RwLock::new(None);

/// A tool that is installed; dropping it takes the tool away.
#[must_use = "dropping the installation takes the tool away"]
pub struct Installation(());

/// Installs a tool for all devices of the process, in the place of one that is installed.
pub fn install(tracker: Arc<dyn WriteTracker>) -> Installation {
    *TRACKER.write().unwrap_or_else(PoisonError::into_inner) = Some(tracker);
    Installation(())
}

impl Drop for Installation {
    fn drop(&mut self) {
        *TRACKER.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl fmt::Debug for Installation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Installation").finish()
    }
}

/// Whether there is a tool.
pub(crate) fn is_installed() -> bool {
    TRACKER.read().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// Tells the tool, if there is one. It is called outside of the lock.
pub(crate) fn report(write: &TrackedWrite) {
    let tracker = TRACKER.read().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some(tracker) = tracker {
        tracker.track_write(write);
    }
}

/// `ID3D12ManualWriteTrackingResource` for `#[implement]`, which objects answer to only while a tool is there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct TrackedResource(ID3D12ManualWriteTrackingResource);

/// The function table of [`TrackedResource`]: the original's, found under a condition.
#[repr(C)]
#[allow(non_camel_case_types, reason = "`#[implement]` derives the name")]
pub(crate) struct TrackedResource_Vtbl {
    base__: ID3D12ManualWriteTrackingResource_Vtbl,
}

// SAFETY: the type is a transparent wrapper of the interface, and the table's only field is the interface's own table.
unsafe impl Interface for TrackedResource {
    type Vtable = TrackedResource_Vtbl;
    const IID: GUID = ID3D12ManualWriteTrackingResource::IID;
}

impl TrackedResource_Vtbl {
    pub(crate) const fn new<Identity: ID3D12ManualWriteTrackingResource_Impl, const OFFSET: isize>() -> Self {
        Self { base__: ID3D12ManualWriteTrackingResource_Vtbl::new::<Identity, OFFSET>() }
    }

    /// Whether the table serves an interface, now.
    pub(crate) fn matches(iid: &GUID) -> bool {
        *iid == ID3D12ManualWriteTrackingResource::IID && is_installed()
    }
}
