//! The buffer across a heap, which gives the heap its GPU virtual addresses, and the memory bound to it.

use std::sync::Arc;

use ash::vk;
use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress};

use super::logical_device::LogicalDevice;
use super::memory::{Binding, Buffer, Memory, NORMAL_PRIORITY};
use crate::ddi::{CreateAtFault, DriverError, GpuVirtualAddressRange};

/// The buffer across a heap or a reserved resource. The heap's bytes are a range of the buffer's, as Vulkan does not let
/// the alignment of a buffer's address be chosen.
pub(super) struct HeapBuffer {
    device: Arc<LogicalDevice>,
    buffer: Buffer,
    /// Offset of the heap's first byte in the buffer.
    base: u64,
    address: GpuVirtualAddress,
    size: u64,
    /// Granularity of sparse binding.
    granularity: u64,
}

impl HeapBuffer {
    /// Creates the buffer of a heap whose memory is bound later, by sparse binding. `at` is an address from an earlier
    /// process.
    pub(super) fn sparse(
        device: &Arc<LogicalDevice>,
        size: ByteSize,
        alignment: Alignment,
        at: Option<GpuVirtualAddress>,
    ) -> Result<Self, DriverError> {
        let create = |padding: u64| {
            let binding = Binding::Sparse { at: at.map(GpuVirtualAddress::get) };
            let buffer = Buffer::create(device, padded(size, padding)?, binding)?;
            Self::new(device, buffer, size, alignment)
        };
        match (create(0)?, at) {
            (Some(buffer), None) => Ok(buffer),
            (buffer, Some(at)) => buffer.filter(|own| own.address == at).ok_or_else(|| elsewhere(at, size)),
            (None, None) => {
                create(alignment.get())?.ok_or(DriverError::OutOfAddressSpace { requested: size })
            }
        }
    }

    /// Creates the buffer of a heap with its memory, which stays bound to it. `at` is an address from an earlier process.
    pub(super) fn whole(
        device: &Arc<LogicalDevice>,
        size: ByteSize,
        alignment: Alignment,
        memory_type: u32,
        at: Option<GpuVirtualAddress>,
    ) -> Result<(Self, Memory), DriverError> {
        let binding = if device.hardware().has_capture_replay {
            Binding::Replayable { at: at.map(GpuVirtualAddress::get) }
        } else {
            Binding::Whole
        };
        let create = |padding: u64| {
            let buffer = Buffer::create(device, padded(size, padding)?, binding)?;
            let memory = buffer.allocate(memory_type, NORMAL_PRIORITY)?;
            Ok(Self::new(device, buffer, size, alignment)?.map(|buffer| (buffer, memory)))
        };
        match (create(0)?, at) {
            (Some(whole), None) => Ok(whole),
            (whole, Some(at)) => whole.filter(|own| own.0.address == at).ok_or_else(|| elsewhere(at, size)),
            (None, None) => {
                create(alignment.get())?.ok_or(DriverError::OutOfAddressSpace { requested: size })
            }
        }
    }

    /// Finds the heap's range in a buffer. Returns `None` if the buffer has no room for the alignment of the range's
    /// address.
    fn new(
        device: &Arc<LogicalDevice>,
        buffer: Buffer,
        size: ByteSize,
        alignment: Alignment,
    ) -> Result<Option<Self>, DriverError> {
        let none = DriverError::OutOfAddressSpace { requested: size };
        let first = buffer.address();
        let aligned = ByteSize::new(first).align_up(alignment).ok_or(none)?.get();
        let base = aligned - first;
        let address = GpuVirtualAddress::new(aligned).ok_or(none)?;
        let granularity = buffer.requirements().alignment.max(1);
        let created =
            Self { device: Arc::clone(device), buffer, base, address, size: size.get(), granularity };
        let (start, len) = created.window();
        let fits = start.checked_add(len).is_some_and(|end| end <= created.buffer.requirements().size);
        Ok(fits.then_some(created))
    }

    pub(super) fn handle(&self) -> vk::Buffer {
        self.buffer.handle()
    }

    /// Offset of the heap's first byte in the buffer.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    pub(super) fn address(&self) -> GpuVirtualAddress {
        self.address
    }

    /// The number of bytes that memory is bound to.
    pub(super) fn bound_size(&self) -> u64 {
        self.window().1
    }

    /// The range of the buffer that memory is bound to: the heap's, in whole granules.
    fn window(&self) -> (u64, u64) {
        let start = self.base - self.base % self.granularity;
        let bytes = self.base - start + self.size;
        (start, bytes.checked_next_multiple_of(self.granularity).unwrap_or(u64::MAX))
    }

    /// The buffer itself.
    pub(super) fn whole_buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Divides the memory of a sparse buffer into parts of a size, which are bound one by one.
    pub(super) fn parts(&self, size: u64) -> Vec<PartRange> {
        let largest = self.device.hardware().max_allocation.min(size);
        let part = (largest - largest % self.granularity).max(self.granularity);
        let (mut offset, mut left) = self.window();
        let heap_end = self.base + self.size;
        let mut parts = Vec::new();
        while left > 0 {
            let size = left.min(part);
            let start = offset.max(self.base);
            let len = (offset + size).min(heap_end).saturating_sub(start);
            parts.push(PartRange { offset, size, bytes: (start, len) });
            offset += size;
            left -= size;
        }
        parts
    }
}

/// A range of a sparse buffer with memory of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartRange {
    /// The first byte in the buffer.
    offset: u64,
    /// The number of bytes.
    pub(super) size: u64,
    /// The heap's bytes among them: their offset in the buffer, and their number.
    pub(super) bytes: (u64, u64),
}

impl PartRange {
    /// The binding of memory to the range.
    pub(super) fn bound_to(&self, memory: &Memory) -> vk::SparseMemoryBind {
        self.unbound().memory(memory.handle())
    }

    /// The binding of no memory to the range.
    pub(super) fn unbound(&self) -> vk::SparseMemoryBind {
        vk::SparseMemoryBind::default().resource_offset(self.offset).size(self.size)
    }
}

/// The error of an object that the device did not create at the requested address.
fn elsewhere(start: GpuVirtualAddress, size: ByteSize) -> DriverError {
    let range = GpuVirtualAddressRange { start, size };
    DriverError::CannotCreateAt { range, fault: CreateAtFault::InUse { address: start } }
}

fn padded(size: ByteSize, padding: u64) -> Result<u64, DriverError> {
    size.get().checked_add(padding).ok_or(DriverError::OutOfAddressSpace { requested: size })
}
