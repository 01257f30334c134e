//! Resources, as a driver implements them.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

use heapwright_core::GpuVirtualAddress;

use super::{DriverError, DriverHeap, GpuVirtualAddressRange, ResourceAllocation};

/// The memory that a resource is created in.
#[derive(Clone)]
pub(crate) enum ResourcePlacement {
    /// A range of a heap, which the resource keeps alive.
    Heap {
        /// The heap.
        heap: Arc<dyn DriverHeap>,
        /// Offset in the heap, in bytes; checked by the runtime.
        offset: u64,
    },
    /// Separate address space, whose tiles are mapped to heaps later.
    Reserved,
}

/// A resource of a driver. Dropping the last reference releases what it holds.
pub(crate) trait DriverResource: Send + Sync {
    /// The GPU virtual address of the first byte. Textures have one as well, which the runtime does not expose.
    fn gpu_virtual_address(&self) -> GpuVirtualAddress;

    /// The size and alignment of the resource (the DDI's `CheckExistingResourceAllocationInfo`).
    fn existing_allocation_info(&self) -> ResourceAllocation;

    /// The addresses that the resource occupies: those of its heap, in multiples of its alignment, or a reserved
    /// resource's own.
    fn allocation(&self) -> GpuVirtualAddressRange;

    /// Maps a subresource for the CPU.
    ///
    /// Returns `None` if the layout is the driver's own (textures of layout UNKNOWN). The CPU accesses such a
    /// subresource with [`write_subresource`](Self::write_subresource) and
    /// [`read_subresource`](Self::read_subresource). The pointer stays valid until the resource's heap is dropped.
    ///
    /// # Errors
    ///
    /// [`DriverError::NotCpuAccessible`] for a heap without CPU access, [`DriverError::HostOutOfMemory`] if the
    /// operating system cannot commit memory.
    fn map(&self, subresource: u32) -> Result<Option<NonNull<u8>>, DriverError>;

    /// Copies texels from CPU memory to a region of a subresource.
    ///
    /// # Safety
    ///
    /// `rows` describes readable memory for the whole region, whose bounds lie within the subresource.
    ///
    /// # Errors
    ///
    /// The errors of [`map`](Self::map).
    unsafe fn write_subresource(
        &self,
        subresource: u32,
        region: TexelRegion,
        rows: TexelRows<*const u8>,
    ) -> Result<(), DriverError>;

    /// Copies texels from a region of a subresource to CPU memory.
    ///
    /// # Safety
    ///
    /// `rows` describes writable memory for the whole region, whose bounds lie within the subresource.
    ///
    /// # Errors
    ///
    /// The errors of [`map`](Self::map).
    unsafe fn read_subresource(
        &self,
        subresource: u32,
        region: TexelRegion,
        rows: TexelRows<*mut u8>,
    ) -> Result<(), DriverError>;

    /// Returns `self` for a downcast to the driver's own type. A driver receives only objects that it created.
    fn as_any(&self) -> &dyn Any;
}

/// A box of texels: half-open, not empty, within the subresource, and on block boundaries of its format.
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
    /// Distance between rows of blocks, in bytes.
    pub(crate) row_pitch: usize,
    /// Distance between depth slices, in bytes.
    pub(crate) slice_pitch: usize,
}
