//! Manual write tracking: notifies a tool of the bytes that the CPU writes (DirectX-Specs, *D3D12 GPU Upload Heaps*,
//! "Detect modifications").
//!
//! Without a tool, `ManualWriteTrackingResourceSupported` is false, the heap flag
//! `D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING` is refused, and resources do not implement
//! `ID3D12ManualWriteTrackingResource`. [`install`]ing a tool changes all three for the whole process.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use heapwright_core::GpuVirtualAddress;
use heapwright_d3d12::{
    D3D12_RANGE, ID3D12ManualWriteTrackingResource, ID3D12ManualWriteTrackingResource_Impl,
    ID3D12ManualWriteTrackingResource_Vtbl,
};
use windows_core::{GUID, Interface};

/// A tool that is notified of CPU writes.
pub trait WriteTracker: Send + Sync {
    /// Called when the application reports a write to a resource, on the application's thread.
    ///
    /// D3D12 validates neither the subresource nor the range; this is left to the tool.
    fn track_write(&self, write: &TrackedWrite);
}

/// A write reported by an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackedWrite {
    /// GPU virtual address of the resource, for textures as well.
    pub resource: GpuVirtualAddress,
    /// The name that the application gave the resource.
    pub name: Option<String>,
    /// The subresource, as reported by the application.
    pub subresource: u32,
    /// The bytes of the subresource that were written.
    pub range: WrittenRange,
}

/// The range of bytes that were written in a subresource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenRange {
    /// Possibly all bytes: the application passed no range.
    Whole,
    /// No bytes: the range ends at or before its beginning.
    Nothing,
    /// The bytes from `begin` (inclusive) to `end` (exclusive).
    Bytes {
        /// Offset of the first byte.
        begin: usize,
        /// Offset past the last byte.
        end: usize,
    },
}

impl WrittenRange {
    /// Converts an optional range.
    pub(crate) fn new(range: Option<&D3D12_RANGE>) -> Self {
        match range {
            None => Self::Whole,
            Some(range) if range.End <= range.Begin => Self::Nothing,
            Some(range) => Self::Bytes { begin: range.Begin, end: range.End },
        }
    }
}

struct Installed {
    /// The number of the installation that `tool` is of. Each has a number of its own.
    number: u64,
    tool: Option<Arc<dyn WriteTracker>>,
}

static INSTALLED: RwLock<Installed> = RwLock::new(Installed { number: 0, tool: None });

/// Whether a tool is installed, for calls that must not take a lock. Changed under the lock.
static IS_INSTALLED: AtomicBool = AtomicBool::new(false);

/// An installed tool. Dropping this value removes the tool, unless another one has replaced it.
#[must_use = "dropping the installation removes the tool"]
pub struct Installation(u64);

/// Installs a tool for all devices of the process and replaces an installed one.
pub fn install(tool: Arc<dyn WriteTracker>) -> Installation {
    let mut installed = INSTALLED.write().unwrap_or_else(PoisonError::into_inner);
    installed.number += 1;
    let number = installed.number;
    let replaced = installed.tool.replace(tool);
    IS_INSTALLED.store(true, Ordering::Release);
    // A tool's own drop may call functions of this module.
    drop(installed);
    drop(replaced);
    Installation(number)
}

impl Drop for Installation {
    fn drop(&mut self) {
        let mut installed = INSTALLED.write().unwrap_or_else(PoisonError::into_inner);
        let removed = if installed.number == self.0 { installed.tool.take() } else { None };
        IS_INSTALLED.store(installed.tool.is_some(), Ordering::Release);
        drop(installed);
        drop(removed);
    }
}

impl fmt::Debug for Installation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Installation").finish()
    }
}

/// Returns whether a tool is installed.
pub(crate) fn is_installed() -> bool {
    IS_INSTALLED.load(Ordering::Acquire)
}

/// Notifies the tool, if one is installed. The call is made outside of the lock.
pub(crate) fn report(write: &TrackedWrite) {
    let tracker = INSTALLED.read().unwrap_or_else(PoisonError::into_inner).tool.clone();
    if let Some(tracker) = tracker {
        tracker.track_write(write);
    }
}

/// `ID3D12ManualWriteTrackingResource` for `#[implement]`. Objects return it from `QueryInterface` only while a tool is
/// installed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct TrackedResource(ID3D12ManualWriteTrackingResource);

/// The method table of [`TrackedResource`]: the original table, returned conditionally.
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

    /// Checks whether the table currently implements an interface.
    pub(crate) fn matches(iid: &GUID) -> bool {
        *iid == ID3D12ManualWriteTrackingResource::IID && is_installed()
    }
}
