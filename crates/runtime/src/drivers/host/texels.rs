//! Copies and fills of texels, a row of blocks at a time.

use super::address_space::PageFault;
use super::memory_access::GpuMemory;
use crate::ddi::command::TexelLocation;
use crate::ddi::driver_resource::{DriverResource, TexelRegion};

pub(super) fn copy(
    _memory: &GpuMemory,
    _target: &TexelLocation,
    _target_start: [u32; 3],
    _source: &TexelLocation,
    _region: TexelRegion,
) -> Result<(), PageFault> {
    todo!()
}

pub(super) fn fill(
    _memory: &GpuMemory,
    _target: &dyn DriverResource,
    _subresource: u32,
    _region: TexelRegion,
    _value: &[u8],
) -> Result<(), PageFault> {
    todo!()
}
