//! Heaps and resources without a driver, for the tracker alone.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use heapwright_core::{ByteSize, GpuVirtualAddress};

use crate::ddi::driver_resource::{DriverResource, TexelRegion, TexelRows};
use crate::ddi::{
    DriverError, DriverHeap, GpuVirtualAddressRange, PagingWork, ResourceAllocation, SegmentGroup,
};
use crate::residency::PageableRecord;

/// A heap or resource of which the tracker uses only the address.
pub(crate) struct Stub(GpuVirtualAddress);

impl Stub {
    /// Creates a stub 2^36 bytes after the previous one.
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self(GpuVirtualAddress::new(number << 36).expect("not null"))
    }
}

impl DriverHeap for Stub {
    fn gpu_virtual_address(&self) -> GpuVirtualAddress {
        self.0
    }
    fn size(&self) -> ByteSize {
        ByteSize::new(0)
    }
    fn map(&self, _: u64, _: u64) -> Result<NonNull<u8>, DriverError> {
        Err(DriverError::NotCpuAccessible)
    }
    fn record(&self) -> &PageableRecord {
        unreachable!("the tracker does not call this")
    }
    fn segment_group(&self) -> SegmentGroup {
        SegmentGroup::Local
    }
    fn make_resident(&self) -> Result<Option<PagingWork>, DriverError> {
        Ok(None)
    }
    fn evict(&self) -> Result<Option<PagingWork>, DriverError> {
        Ok(None)
    }
    fn set_name(&self, _: Option<&str>) {}
}

impl DriverResource for Stub {
    fn gpu_virtual_address(&self) -> GpuVirtualAddress {
        self.0
    }
    fn existing_allocation_info(&self) -> ResourceAllocation {
        unreachable!("the tracker does not call this")
    }
    fn allocation(&self) -> GpuVirtualAddressRange {
        unreachable!("the tracker does not call this")
    }
    fn map(&self, _: u32) -> Result<Option<NonNull<u8>>, DriverError> {
        Err(DriverError::NotCpuAccessible)
    }
    unsafe fn write_subresource(
        &self,
        _: u32,
        _: TexelRegion,
        _: TexelRows<*const u8>,
    ) -> Result<(), DriverError> {
        Err(DriverError::NotCpuAccessible)
    }
    unsafe fn read_subresource(
        &self,
        _: u32,
        _: TexelRegion,
        _: TexelRows<*mut u8>,
    ) -> Result<(), DriverError> {
        Err(DriverError::NotCpuAccessible)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}
