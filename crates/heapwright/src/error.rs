//! What can go wrong.

use std::fmt;

use heapwright_core::ByteSize;
use heapwright_d3d12::{
    DXGI_ERROR_DEVICE_HUNG, DXGI_ERROR_DEVICE_REMOVED, DXGI_ERROR_DEVICE_RESET,
    DXGI_ERROR_DRIVER_INTERNAL_ERROR, E_OUTOFMEMORY,
};
use windows_core::HRESULT;

use crate::HeapType;

/// What can go wrong, with what was asked and what stood in the way.
///
/// A caller has few reactions to choose from, and asks for them: [`is_out_of_memory`](Self::is_out_of_memory) (free
/// something, or use less), [`is_device_removed`](Self::is_device_removed) (begin anew),
/// [`is_invalid_argument`](Self::is_invalid_argument) (the call was wrong), [`is_unsupported`](Self::is_unsupported)
/// (the device or this version does not have it). Printed, it is one line.
#[derive(Debug, Clone)]
pub struct Error {
    kind: Box<Kind>,
}

#[derive(Debug, Clone)]
enum Kind {
    InvalidArgument { field: &'static str, rule: String },
    Unsupported { what: String },
    OutOfMemory(Shortage),
    Device { call: &'static str, hresult: HRESULT },
}

/// An allocation that found no memory: what was asked, what was tried, what is in use.
#[derive(Debug, Clone)]
pub(crate) struct Shortage {
    pub(crate) requested: ByteSize,
    pub(crate) heap_type: HeapType,
    /// The smallest heap that was tried.
    pub(crate) heap_size: ByteSize,
    /// What the allocator holds in heaps of this type, and how much of it is in use.
    pub(crate) reserved: ByteSize,
    pub(crate) used: ByteSize,
    /// Usage and budget of the segment group, where the adapter is known.
    pub(crate) video_memory: Option<(ByteSize, ByteSize)>,
    pub(crate) hresult: HRESULT,
}

impl Error {
    pub(crate) fn invalid_argument(field: &'static str, rule: impl Into<String>) -> Self {
        Kind::InvalidArgument { field, rule: rule.into() }.into()
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Kind::Unsupported { what: what.into() }.into()
    }

    pub(crate) fn out_of_memory(shortage: Shortage) -> Self {
        Kind::OutOfMemory(shortage).into()
    }

    pub(crate) fn device(call: &'static str, hresult: HRESULT) -> Self {
        Kind::Device { call, hresult }.into()
    }

    /// There is no memory for it, neither in the allocator's heaps nor from the device.
    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        match &*self.kind {
            Kind::OutOfMemory(_) => true,
            Kind::Device { hresult, .. } => *hresult == E_OUTOFMEMORY,
            _ => false,
        }
    }

    /// The device is gone; only a new one helps.
    #[must_use]
    pub fn is_device_removed(&self) -> bool {
        let removed = [
            DXGI_ERROR_DEVICE_REMOVED,
            DXGI_ERROR_DEVICE_HUNG,
            DXGI_ERROR_DEVICE_RESET,
            DXGI_ERROR_DRIVER_INTERNAL_ERROR,
        ];
        self.hresult().is_some_and(|hresult| removed.contains(&hresult))
    }

    /// The call itself was wrong; the message names the field and the rule.
    #[must_use]
    pub fn is_invalid_argument(&self) -> bool {
        matches!(&*self.kind, Kind::InvalidArgument { .. })
    }

    /// The device, or this version of heapwright, does not have what was asked for.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        matches!(&*self.kind, Kind::Unsupported { .. })
    }

    /// What the device answered, where it was asked.
    #[must_use]
    pub fn hresult(&self) -> Option<HRESULT> {
        match &*self.kind {
            Kind::OutOfMemory(shortage) => Some(shortage.hresult),
            Kind::Device { hresult, .. } => Some(*hresult),
            Kind::InvalidArgument { .. } | Kind::Unsupported { .. } => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.kind {
            Kind::InvalidArgument { field, rule } => write!(f, "{field}: {rule}"),
            Kind::Unsupported { what } => write!(f, "{what} is not supported"),
            Kind::Device { call, hresult } => write!(f, "{call} answered {:#010x}", hresult.0),
            Kind::OutOfMemory(shortage) => shortage.fmt(f),
        }
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requested, heap_type, heap_size, reserved, used, video_memory, hresult } = self;
        write!(
            f,
            "out of memory: no room for {requested} in {heap_type} heaps ({used} used of {reserved} held), "
        )?;
        write!(f, "and the device refused a heap of {heap_size} ({:#010x}", hresult.0)?;
        if let Some((usage, budget)) = video_memory {
            write!(f, "; {usage} of its budget of {budget} in use")?;
        }
        f.write_str(")")
    }
}

impl std::error::Error for Error {}

impl From<Kind> for Error {
    fn from(kind: Kind) -> Self {
        Self { kind: Box::new(kind) }
    }
}
