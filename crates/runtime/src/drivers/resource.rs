//! Resources in a heap or in addresses of their own.

use std::ptr::NonNull;
use std::sync::Arc;

use heapwright_core::{ByteSize, GpuVirtualAddress};
use heapwright_d3d12::DXGI_FORMAT_R24G8_TYPELESS;

use super::heap::DriverHeap;
use super::layout::TextureLayout;
use super::reserved::ReservedMemory;
use super::tiles::TileTable;
use crate::ddi::{
    CreateAtFault, DriverError, GpuVirtualAddressRange, ResourceAllocation, ResourceArgs, ResourceKind,
};

/// A resource: its range of addresses and the layout of its texels. Dropping the last reference releases what it holds.
pub(crate) struct DriverResource {
    /// The layout of the texels; `None` for a buffer.
    layout: Option<Box<TextureLayout>>,
    allocation: ResourceAllocation,
    start: GpuVirtualAddress,
    memory: Memory,
}

enum Memory {
    /// A range of a heap from an offset on.
    Heap { heap: Arc<DriverHeap>, offset: u64 },
    /// Addresses of its own, mapped tile by tile.
    Reserved(ReservedMemory),
}

impl DriverResource {
    /// Creates a resource at an offset of a heap, which it keeps alive. The runtime has checked both.
    ///
    /// # Errors
    ///
    /// [`DriverError::CannotCreateAt`] for an address other than the heap's plus the offset.
    pub(crate) fn placed(
        args: &ResourceArgs,
        allocation: ResourceAllocation,
        heap: Arc<DriverHeap>,
        offset: u64,
    ) -> Result<Self, DriverError> {
        let start = heap
            .gpu_virtual_address()
            .checked_add(ByteSize::new(offset))
            .ok_or(DriverError::OutOfAddressSpace { requested: allocation.size })?;
        if let Some(wanted) = args.create_at.filter(|&wanted| wanted != start) {
            let range = GpuVirtualAddressRange { start: wanted, size: allocation.size };
            return Err(DriverError::CannotCreateAt {
                range,
                fault: CreateAtFault::Elsewhere { address: start },
            });
        }
        Ok(Self { layout: layout(args), allocation, start, memory: Memory::Heap { heap, offset } })
    }

    /// Creates a resource at addresses of its own.
    pub(crate) fn reserved(
        args: &ResourceArgs,
        allocation: ResourceAllocation,
        memory: ReservedMemory,
    ) -> Self {
        let start = memory.addresses().start;
        Self { layout: layout(args), allocation, start, memory: Memory::Reserved(memory) }
    }

    /// The tiles of a reserved resource; `None` for a placed one.
    pub(super) fn tiles(&self) -> Option<&TileTable> {
        match &self.memory {
            Memory::Reserved(reserved) => Some(reserved.tiles()),
            Memory::Heap { .. } => None,
        }
    }

    /// Returns whether a plane stores three of four bytes: depth of 24 bits. Copies to it set the fourth byte to zero,
    /// as vkd3d-proton's test_copy_texture_ds_edge_cases records for Windows.
    pub(super) fn keeps_24_bits(&self, subresource: u32) -> bool {
        let Some(texture) = self.layout().map(TextureLayout::texture) else { return false };
        texture.format.family == DXGI_FORMAT_R24G8_TYPELESS
            && texture.subresource(subresource).is_some_and(|at| at.plane == 0)
    }

    /// The layout of the texels; `None` for a buffer.
    pub(super) fn layout(&self) -> Option<&TextureLayout> {
        self.layout.as_deref()
    }

    /// Returns a pointer to bytes of the resource by their offset.
    pub(super) fn bytes(&self, offset: u64, size: u64) -> Result<NonNull<u8>, DriverError> {
        match &self.memory {
            Memory::Heap { heap, offset: base } => {
                let outside = DriverError::HostOutOfMemory { requested: ByteSize::new(size) };
                heap.map(base.checked_add(offset).ok_or(outside)?, size)
            }
            Memory::Reserved(_) => Err(DriverError::NotCpuAccessible),
        }
    }

    /// The GPU virtual address of the first byte. Textures have one as well, which the runtime does not expose.
    pub(crate) fn gpu_virtual_address(&self) -> GpuVirtualAddress {
        self.start
    }

    /// The size and alignment of the resource (the DDI's `CheckExistingResourceAllocationInfo`).
    pub(crate) fn existing_allocation_info(&self) -> ResourceAllocation {
        self.allocation
    }

    /// The addresses that the resource occupies: those of its heap, in multiples of its alignment, or a reserved
    /// resource's own.
    pub(crate) fn allocation(&self) -> GpuVirtualAddressRange {
        let size = match &self.memory {
            Memory::Reserved(reserved) => return reserved.addresses(),
            Memory::Heap { .. } => {
                let ResourceAllocation { size, alignment } = self.allocation;
                size.align_up(alignment).unwrap_or(size)
            }
        };
        GpuVirtualAddressRange { start: self.start, size }
    }

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
    pub(crate) fn map(&self, subresource: u32) -> Result<Option<NonNull<u8>>, DriverError> {
        let Some(layout) = &self.layout else {
            return self.bytes(0, self.allocation.size.get()).map(Some);
        };
        // Fails if the CPU cannot access the resource.
        self.bytes(0, 1)?;
        let defined = layout.subresource(subresource).filter(|at| at.is_defined(layout.texture().layout));
        let Some(offset) = defined.and_then(|at| at.block_offset(0, 0, 0)) else { return Ok(None) };
        self.bytes(offset, self.allocation.size.get().saturating_sub(offset)).map(Some)
    }
}

/// Computes the layout of a resource's texels; `None` for a buffer.
fn layout(args: &ResourceArgs) -> Option<Box<TextureLayout>> {
    match args.kind {
        ResourceKind::Buffer { .. } => None,
        ResourceKind::Texture(texture) => Some(Box::new(TextureLayout::of_texture(texture))),
    }
}
