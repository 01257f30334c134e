//! Resources as a driver holds them.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

use heapwright_core::GpuVirtualAddress;

use super::{DriverError, DriverHeap, GpuVirtualAddressRange, ResourceAllocation};

/// Where a resource's bytes are to be.
#[derive(Clone)]
pub(crate) enum ResourcePlacement {
    /// At an offset of a heap, which the resource keeps alive.
    Heap {
        /// The heap.
        heap: Arc<dyn DriverHeap>,
        /// Bytes from its beginning; checked by the runtime.
        offset: u64,
    },
    /// In address space of its own, whose tiles are mapped to heaps later.
    Reserved,
}

/// A resource that a driver made; the last reference gives back what it holds.
pub(crate) trait DriverResource: Send + Sync {
    /// Where the GPU sees the first byte. Textures have an address too, which the runtime does not show.
    fn gpu_virtual_address(&self) -> GpuVirtualAddress;

    /// What the resource takes, the DDI's `CheckExistingResourceAllocationInfo`.
    fn existing_allocation_info(&self) -> ResourceAllocation;

    /// The addresses that the resource takes: of its heap, whole multiples of its alignment; a reserved resource's own.
    fn allocation(&self) -> GpuVirtualAddressRange;

    /// Makes a subresource accessible to the CPU.
    ///
    /// `None` where the layout is the driver's own (UNKNOWN layout textures): such a subresource is written and read with
    /// [`write_subresource`](Self::write_subresource) and [`read_subresource`](Self::read_subresource). The pointer
    /// stays valid until the resource's heap is dropped.
    ///
    /// # Errors
    ///
    /// [`DriverError::NotCpuAccessible`] for a heap without CPU access; the system's out of memory.
    fn map(&self, subresource: u32) -> Result<Option<NonNull<u8>>, DriverError>;

    /// Copies texels from the CPU into a region of a subresource.
    ///
    /// # Safety
    ///
    /// `rows` describes readable memory for the whole region, whose bounds lie within the subresource.
    ///
    /// # Errors
    ///
    /// As [`map`](Self::map).
    unsafe fn write_subresource(
        &self,
        subresource: u32,
        region: TexelRegion,
        rows: TexelRows<*const u8>,
    ) -> Result<(), DriverError>;

    /// Copies texels of a region of a subresource to the CPU.
    ///
    /// # Safety
    ///
    /// `rows` describes writable memory for the whole region, whose bounds lie within the subresource.
    ///
    /// # Errors
    ///
    /// As [`map`](Self::map).
    unsafe fn read_subresource(
        &self,
        subresource: u32,
        region: TexelRegion,
        rows: TexelRows<*mut u8>,
    ) -> Result<(), DriverError>;

    /// The driver's own type; a driver is handed back only what it made.
    fn as_any(&self) -> &dyn Any;
}

/// A box of texels: half-open, not empty, in texels of the subresource, and on block boundaries of its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TexelRegion {
    /// The first texel in x, y and z.
    pub(crate) start: [u32; 3],
    /// The number of texels in x, y and z.
    pub(crate) size: [u32; 3],
}

/// Rows of texel blocks in linear memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TexelRows<P> {
    /// The first block.
    pub(crate) start: P,
    /// Bytes from one row of blocks to the next.
    pub(crate) row_pitch: usize,
    /// Bytes from one depth slice to the next.
    pub(crate) slice_pitch: usize,
}
