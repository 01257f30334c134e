//! Heaps without a driver, and resources in them, for the tracker alone.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress};

use crate::ddi::driver_resource::DriverResource;
use crate::ddi::{
    DriverError, DriverHeap, PagingWork, ResourceAllocation, ResourceArgs, ResourceKind, SegmentGroup,
};
use crate::residency::PageableRecord;

/// A heap of which the tracker uses only the address.
pub(super) struct Stub(GpuVirtualAddress);

impl Stub {
    /// Creates a stub 2^36 bytes after the previous one.
    pub(super) fn new() -> Self {
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

/// Creates a resource in a heap that contains nothing else.
pub(crate) fn resource_apart() -> Arc<DriverResource> {
    let args = ResourceArgs {
        kind: ResourceKind::Buffer { width: ByteSize::new(1) },
        tight_alignment: false,
        alignment_restriction: Alignment::ONE,
        create_at: None,
    };
    let allocation = ResourceAllocation { size: ByteSize::new(1), alignment: Alignment::ONE };
    let resource = DriverResource::placed(&args, allocation, Arc::new(Stub::new()), 0);
    Arc::new(resource.expect("the heap is not at the end of the address space"))
}
