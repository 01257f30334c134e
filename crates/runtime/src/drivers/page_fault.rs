//! Accesses that the GPU could not perform.

use std::fmt;

use heapwright_d3d12::{DXGI_ERROR_DEVICE_HUNG, DXGI_ERROR_DEVICE_REMOVED};
use windows_core::HRESULT;

/// An access that the GPU could not perform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageFault {
    address: u64,
    cause: FaultCause,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FaultCause {
    /// No object has the address, or none any more.
    Unmapped,
    /// A tile of a reserved resource is mapped to NULL, on a GPU where accesses to it are undefined.
    NullTile,
    /// The heap with this description is not resident.
    Evicted(String),
    /// The operating system could not commit memory.
    HostOutOfMemory,
    /// The GPU's own driver lost the device, or failed in a way after which its state is unknown.
    #[cfg_attr(not(feature = "vulkan"), expect(dead_code, reason = "the simulated GPU is never lost"))]
    DeviceLost(String),
}

impl PageFault {
    pub(super) fn new(address: u64, cause: FaultCause) -> Self {
        Self { address, cause }
    }

    /// The reason for the removal of the device.
    pub(super) fn reason(&self) -> HRESULT {
        match self.cause {
            FaultCause::DeviceLost(_) => DXGI_ERROR_DEVICE_REMOVED,
            FaultCause::Unmapped
            | FaultCause::NullTile
            | FaultCause::Evicted(_)
            | FaultCause::HostOutOfMemory => DXGI_ERROR_DEVICE_HUNG,
        }
    }
}

impl fmt::Display for PageFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.address;
        let mut fault = |why: &str| write!(f, "page fault at GPU address {address:#x}: {why}");
        match &self.cause {
            FaultCause::Unmapped => fault("no heap is mapped there, or the heap was released"),
            FaultCause::NullTile => {
                fault("the tile is mapped to NULL; accessing it is undefined on tiled resources tier 1")
            }
            FaultCause::Evicted(name) => fault(&format!("{name} is not resident")),
            FaultCause::HostOutOfMemory => write!(f, "out of host memory at GPU address {address:#x}"),
            FaultCause::DeviceLost(what) => write!(f, "the GPU is lost: {what}"),
        }
    }
}
