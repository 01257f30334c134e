//! What the user of an allocator holds.

use std::fmt;

use heapwright_core::{ByteSize, GpuVirtualAddress, HeapOffset};
use heapwright_d3d12::*;

use super::heaps::PlacedRange;
use super::{HeapType, Mapping};
use crate::Error;

/// A resource with the memory it lives in. Dropping it releases the resource and gives the memory back. O(1).
///
/// The resource is an ordinary `ID3D12Resource`. Keep the allocation as long as the GPU may use it: dropping gives the
/// bytes to whoever asks next, whatever references to the resource are still held.
pub struct ResourceAllocation {
    // Dropped in this order: the resource before the range that it lies in.
    resource: ID3D12Resource,
    heap: ID3D12Heap,
    /// Of a buffer.
    width: Option<ByteSize>,
    range: PlacedRange,
}

impl ResourceAllocation {
    pub(super) fn new(
        resource: ID3D12Resource,
        heap: ID3D12Heap,
        range: PlacedRange,
        desc: &D3D12_RESOURCE_DESC,
    ) -> Self {
        let is_buffer = desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER;
        Self { resource, heap, width: is_buffer.then_some(ByteSize::new(desc.Width)), range }
    }

    /// The resource.
    #[must_use]
    pub fn resource(&self) -> &ID3D12Resource {
        &self.resource
    }

    /// The heap that the resource is placed in, which others may share.
    #[must_use]
    pub fn heap(&self) -> &ID3D12Heap {
        &self.heap
    }

    /// Where the resource begins in the heap.
    #[must_use]
    pub fn offset(&self) -> HeapOffset {
        self.range.range().start()
    }

    /// Bytes of the heap that are this allocation's own, at least what was asked for.
    #[must_use]
    pub fn size(&self) -> ByteSize {
        self.range.range().size()
    }

    /// The kind of heap.
    #[must_use]
    pub fn heap_type(&self) -> HeapType {
        self.range.heap_type()
    }

    /// Where the GPU sees the first byte; `None` for resources without an address.
    #[must_use]
    pub fn gpu_virtual_address(&self) -> Option<GpuVirtualAddress> {
        // SAFETY: the resource is a live COM object.
        let D3D12_GPU_VIRTUAL_ADDRESS(address) = unsafe { self.resource.GetGPUVirtualAddress() };
        GpuVirtualAddress::new(address)
    }

    /// Maps the buffer for the CPU, as long as the mapping lives.
    ///
    /// # Errors
    ///
    /// Invalid argument for a texture, and for a heap type without CPU access; whatever else the device answers.
    pub fn map(&mut self) -> Result<Mapping<'_>, Error> {
        let Some(width) = self.width else {
            return Err(Error::invalid_argument("resource", "a texture has no bytes in a row to map"));
        };
        if !self.heap_type().is_cpu_accessible() {
            return Err(Error::invalid_argument(
                "heap_type",
                format!("a resource in {} heaps cannot be mapped", self.heap_type()),
            ));
        }
        Mapping::new(&self.resource, width)
    }
}

impl fmt::Debug for ResourceAllocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceAllocation")
            .field("heap_type", &self.heap_type())
            .field("range", &self.range.range())
            .field("gpu_virtual_address", &self.gpu_virtual_address())
            .finish_non_exhaustive()
    }
}
