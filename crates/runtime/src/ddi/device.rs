//! A device, as its driver sees it.

use std::any::Any;
use std::fmt;

use heapwright_core::{ByteSize, GpuVirtualAddress};

/// What a device is created with (the DDI's `D3D12DDIARG_CREATEDEVICE_0109`).
///
/// Of that structure's members these are the ones that a driver in Rust has a use for. Its handles and callback tables are
/// references and trait objects here, and the versions that it negotiates are one: this crate's.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DeviceArgs<'a> {
    /// `pReserveRanges` and `NumReserveRanges` (document RECREATE): GPU virtual addresses that nothing is given while the
    /// device lives, unless it is created at one of them.
    ///
    /// They come as the application recorded them: in any order, aligned to nothing, and one may be empty or overlap another, as
    /// the range of a placed buffer does with that of its heap. A driver reserves so much around them that what had them can be
    /// created there again.
    pub(crate) reserve_ranges: &'a [GpuVirtualAddressRange],
}

/// GPU virtual addresses from the first one on (the DDI's `D3D12DDI_GPU_VIRTUAL_ADDRESS_RANGE`).
///
/// As applications give it: the size may be zero, and the end may have more than 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuVirtualAddressRange {
    /// The first address.
    pub start: GpuVirtualAddress,
    /// How many bytes.
    pub size: ByteSize,
}

impl fmt::Display for GpuVirtualAddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of GPU virtual addresses from {}", self.size, self.start)
    }
}

/// What a driver holds for one device. Dropping it is the DDI's `DestroyDevice`, which comes after all that the device made
/// is gone.
pub(crate) trait DriverDevice: Send + Sync {
    /// The driver's own type; a driver is handed back only what it made.
    fn as_any(&self) -> &dyn Any;
}
