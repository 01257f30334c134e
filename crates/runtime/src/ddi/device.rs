//! Devices, as their driver sees them.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use heapwright_core::{ByteSize, GpuVirtualAddress};

use super::command::RemovalSink;

/// The arguments of device creation (the DDI's `D3D12DDIARG_CREATEDEVICE_0109`).
///
/// Only the members that a driver in Rust needs are here. References and trait objects replace the DDI's handles and
/// callback tables, and there is only one version: this crate's.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DeviceArgs<'a> {
    /// `pReserveRanges` and `NumReserveRanges` (Recreate-at-GPUVA specification): GPU virtual addresses that no object
    /// gets during the device's life, unless it is created at one of them.
    ///
    /// The ranges are as the application recorded them: in any order, not aligned, possibly empty, and possibly
    /// overlapping, like the range of a placed buffer and that of its heap. A driver reserves enough around each range
    /// that the original object can be created there again.
    pub(crate) reserve_ranges: &'a [GpuVirtualAddressRange],
}

/// A range of GPU virtual addresses (the DDI's `D3D12DDI_GPU_VIRTUAL_ADDRESS_RANGE`).
///
/// The range is as the application specified it: the size may be zero, and the end may exceed 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuVirtualAddressRange {
    /// The first address.
    pub start: GpuVirtualAddress,
    /// Size of the range, in bytes.
    pub size: ByteSize,
}

impl fmt::Display for GpuVirtualAddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of GPU virtual addresses starting at {}", self.size, self.start)
    }
}

/// The driver's part of one device. Dropping it is the DDI's `DestroyDevice`; all objects of the device are dropped
/// before.
pub(crate) trait DriverDevice: Send + Sync {
    /// Has the loss of the GPU reported to `removal` for as long as that lives, whichever call notices it. A simulated GPU
    /// is never lost.
    fn report_loss(&self, _removal: &Arc<dyn RemovalSink>) {}

    /// Returns `self` for a downcast to the driver's own type. A driver receives only objects that it created.
    fn as_any(&self) -> &dyn Any;
}
