//! Vulkan's memory and buffers as values that free themselves.

use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use ash::vk;
use heapwright_core::ByteSize;

use super::logical_device::LogicalDevice;
use crate::ddi::DriverError;

/// The uses of the buffers of heaps: all that D3D12 has without further features.
pub(super) const BUFFER_USAGE: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::TRANSFER_SRC.as_raw()
        | vk::BufferUsageFlags::TRANSFER_DST.as_raw()
        | vk::BufferUsageFlags::UNIFORM_BUFFER.as_raw()
        | vk::BufferUsageFlags::STORAGE_BUFFER.as_raw()
        | vk::BufferUsageFlags::INDEX_BUFFER.as_raw()
        | vk::BufferUsageFlags::VERTEX_BUFFER.as_raw()
        | vk::BufferUsageFlags::INDIRECT_BUFFER.as_raw()
        | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS.as_raw(),
);

/// The uses of the buffers of memory that is imported.
pub(super) const COPIES: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::TRANSFER_SRC.as_raw() | vk::BufferUsageFlags::TRANSFER_DST.as_raw(),
);

/// Memory of this process, which is imported.
pub(super) const OWN_MEMORY: vk::ExternalMemoryHandleTypeFlags =
    vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;

/// The flags of buffers that get their memory by sparse binding. They are used while only some parts have memory: one part is
/// copied while another is bound.
pub(super) const SPARSE: vk::BufferCreateFlags = vk::BufferCreateFlags::from_raw(
    vk::BufferCreateFlags::SPARSE_BINDING.as_raw() | vk::BufferCreateFlags::SPARSE_RESIDENCY.as_raw(),
);

/// The priority of memory whose priority the application has not set (`D3D12_RESIDENCY_PRIORITY_NORMAL`).
pub(super) const NORMAL_PRIORITY: f32 = 0.5;

/// An allocation of device memory, freed when dropped.
pub(super) struct Memory {
    device: Arc<LogicalDevice>,
    memory: vk::DeviceMemory,
    size: u64,
    /// The address of the first byte in this process, once mapped.
    mapped: OnceLock<usize>,
}

impl Memory {
    /// Allocates memory of a memory type, to be bound by sparse binding.
    pub(super) fn allocate(
        device: &Arc<LogicalDevice>,
        size: u64,
        memory_type: u32,
        priority: f32,
    ) -> Result<Self, DriverError> {
        Self::allocate_for(device, size, memory_type, priority, None)
    }

    /// Allocates memory of a memory type, for one buffer alone if one is given.
    fn allocate_for(
        device: &Arc<LogicalDevice>,
        size: u64,
        memory_type: u32,
        priority: f32,
        buffer: Option<&Buffer>,
    ) -> Result<Self, DriverError> {
        let requested = ByteSize::new(size);
        if size > device.hardware().max_allocation {
            return Err(DriverError::OutOfDeviceMemory { requested });
        }
        let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let mut opaque = vk::MemoryOpaqueCaptureAddressAllocateInfo::default();
        let mut dedicated = vk::MemoryDedicatedAllocateInfo::default();
        let mut with_priority = vk::MemoryPriorityAllocateInfoEXT::default().priority(priority);
        let mut info = vk::MemoryAllocateInfo::default().allocation_size(size).memory_type_index(memory_type);
        if let Some(buffer) = buffer {
            dedicated.buffer = buffer.handle();
            info = info.push_next(&mut dedicated);
            if let Binding::Replayable { at } = buffer.binding {
                flags.flags |= vk::MemoryAllocateFlags::DEVICE_ADDRESS_CAPTURE_REPLAY;
                opaque.opaque_capture_address = at.unwrap_or(0);
            }
        }
        info = info.push_next(&mut flags);
        if opaque.opaque_capture_address != 0 {
            info = info.push_next(&mut opaque);
        }
        if device.hardware().extensions.memory_priority {
            info = info.push_next(&mut with_priority);
        }
        // SAFETY: the memory type exists; the size is what the buffer requires, if there is one; structures outlive the call; the
        // extension is enabled where it is used.
        let memory =
            unsafe { device.functions().allocate_memory(&info, None) }.map_err(|result| match result {
                vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS => {
                    DriverError::OutOfAddressSpace { requested }
                }
                other => device.creating("vkAllocateMemory", requested)(other),
            })?;
        Ok(Self { device: Arc::clone(device), memory, size, mapped: OnceLock::new() })
    }

    /// Imports memory of this process. Returns `None` if the driver refuses that. Each error but the loss of the device counts as a
    /// lack of memory, as the memory can be allocated instead.
    ///
    /// # Safety
    ///
    /// The bytes are mapped until the result is dropped, and nothing accesses them that the GPU's work is not ordered with. Start
    /// and size are multiples of the device's alignment for imports.
    pub(super) unsafe fn import(
        device: &Arc<LogicalDevice>,
        start: NonNull<u8>,
        size: u64,
        memory_type: u32,
    ) -> Result<Option<Self>, DriverError> {
        let requested = ByteSize::new(size);
        let mut import = vk::ImportMemoryHostPointerInfoEXT::default()
            .handle_type(OWN_MEMORY)
            .host_pointer(start.as_ptr().cast());
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(size)
            .memory_type_index(memory_type)
            .push_next(&mut import);
        // SAFETY: the caller's promise; the extension is enabled, as the device has an alignment for imports.
        let imported = unsafe { device.functions().allocate_memory(&info, None) };
        let memory = match imported {
            Ok(memory) => memory,
            Err(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE) => return Ok(None),
            Err(lost @ vk::Result::ERROR_DEVICE_LOST) => {
                return Err(device.creating("vkAllocateMemory", requested)(lost));
            }
            Err(_) => return Err(DriverError::HostOutOfMemory { requested }),
        };
        Ok(Some(Self { device: Arc::clone(device), memory, size, mapped: OnceLock::new() }))
    }

    pub(super) fn handle(&self) -> vk::DeviceMemory {
        self.memory
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// The value by which a later process requests memory whose buffer has the same address.
    pub(super) fn opaque_address(&self) -> u64 {
        let info = vk::DeviceMemoryOpaqueCaptureAddressInfo::default().memory(self.memory);
        // SAFETY: the memory was allocated for addresses that can be requested again (condition of the method).
        unsafe { self.device.functions().get_device_memory_opaque_capture_address(&info) }
    }

    /// Sets the priority, if the device supports that.
    pub(super) fn set_priority(&self, priority: f32) {
        self.device.set_priority(self.memory, priority);
    }

    /// Maps the memory, which is host-visible. The pointer is to its first byte and valid until the value is dropped.
    pub(super) fn map(&self) -> Result<NonNull<u8>, DriverError> {
        let pointer = |address: usize| NonNull::new(std::ptr::with_exposed_provenance_mut::<u8>(address));
        let requested = ByteSize::new(self.size);
        if let Some(pointer) = self.mapped.get().copied().and_then(pointer) {
            return Ok(pointer);
        }
        // Two threads may get here at once; memory must not be mapped twice.
        let _one = self.device.mapping();
        if let Some(pointer) = self.mapped.get().copied().and_then(pointer) {
            return Ok(pointer);
        }
        // SAFETY: the memory is host-visible, alive and, under the lock, not mapped.
        let mapped = unsafe {
            self.device.functions().map_memory(self.memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())
        };
        let mapped = mapped.map_err(self.device.creating("vkMapMemory", requested))?;
        let address = *self.mapped.get_or_init(|| mapped.expose_provenance());
        pointer(address).ok_or(DriverError::HostOutOfMemory { requested })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the memory is the device's; no submission uses it, since each is waited for by an owner of the memory.
        unsafe { self.device.functions().free_memory(self.memory, None) };
    }
}

/// A buffer, destroyed when dropped.
pub(super) struct Buffer {
    device: Arc<LogicalDevice>,
    buffer: vk::Buffer,
    size: u64,
    requirements: vk::MemoryRequirements,
    binding: Binding,
}

/// How a buffer gets its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    /// Once, after creation.
    Whole,
    /// Once, after creation; memory of this process. For copies only.
    Imported,
    /// Once, after creation, at an address that a later process can get again, or that one had in an earlier process.
    Replayable { at: Option<u64> },
    /// By sparse binding, which can change; with an address as above if the device supports that.
    Sparse { at: Option<u64> },
}

impl Binding {
    fn is_sparse(self) -> bool {
        matches!(self, Self::Sparse { .. })
    }

    /// The address from an earlier process.
    fn at(self) -> Option<u64> {
        match self {
            // The address of a replayable buffer is that of its memory.
            Self::Whole | Self::Imported | Self::Replayable { .. } => None,
            Self::Sparse { at } => at,
        }
    }
}

impl Buffer {
    /// Creates a buffer without memory.
    pub(super) fn create(
        device: &Arc<LogicalDevice>,
        size: u64,
        binding: Binding,
    ) -> Result<Self, DriverError> {
        let requested = ByteSize::new(size);
        if size > device.hardware().max_buffer {
            return Err(DriverError::OutOfDeviceMemory { requested });
        }
        let is_sparse = binding.is_sparse();
        if is_sparse && !device.take_sparse(size) {
            return Err(DriverError::OutOfAddressSpace { requested });
        }
        let mut flags = vk::BufferCreateFlags::empty();
        let mut opaque = vk::BufferOpaqueCaptureAddressCreateInfo::default();
        let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(OWN_MEMORY);
        let mut info = vk::BufferCreateInfo::default()
            .size(size)
            .usage(BUFFER_USAGE)
            .sharing_mode(vk::SharingMode::EXCLUSIVE);
        if is_sparse {
            flags |= SPARSE;
        }
        match binding {
            Binding::Whole => {}
            Binding::Imported => info = info.usage(COPIES).push_next(&mut external),
            Binding::Replayable { .. } | Binding::Sparse { .. } => {
                if device.hardware().has_capture_replay {
                    flags |= vk::BufferCreateFlags::DEVICE_ADDRESS_CAPTURE_REPLAY;
                }
            }
        }
        // What Vulkan calls an opaque address is the address itself, which was checked when the device was opened. The caller
        // compares the address that results.
        if let Some(at) = binding.at() {
            opaque.opaque_capture_address = at;
            info = info.push_next(&mut opaque);
        }
        // SAFETY: the features of the flags are enabled; structures outlive the call.
        let created = unsafe { device.functions().create_buffer(&info.flags(flags), None) };
        let buffer = created.map_err(|result| {
            if is_sparse {
                device.give_back_sparse(size);
            }
            match result {
                vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS => {
                    DriverError::OutOfAddressSpace { requested }
                }
                other => device.creating("vkCreateBuffer", requested)(other),
            }
        })?;
        // SAFETY: the buffer is the device's.
        let requirements = unsafe { device.functions().get_buffer_memory_requirements(buffer) };
        Ok(Self { device: Arc::clone(device), buffer, size, requirements, binding })
    }

    pub(super) fn handle(&self) -> vk::Buffer {
        self.buffer
    }

    /// The size with which the buffer was created.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// The memory that the buffer needs.
    pub(super) fn requirements(&self) -> vk::MemoryRequirements {
        self.requirements
    }

    /// Allocates memory of a memory type for this buffer alone, which is not sparse and has none, and binds it. A driver may
    /// have a much faster way to do that than for memory that other buffers could share.
    pub(super) fn allocate(&self, memory_type: u32, priority: f32) -> Result<Memory, DriverError> {
        let size = self.requirements.size;
        let memory = Memory::allocate_for(&self.device, size, memory_type, priority, Some(self))?;
        self.bind(&memory)?;
        Ok(memory)
    }

    /// Binds memory, as large as required, to a buffer that is not sparse and has none.
    pub(super) fn bind(&self, memory: &Memory) -> Result<(), DriverError> {
        // SAFETY: buffer and memory are the device's; the memory is as large as required and of an allowed type, and
        // its alignment is that of an allocation's start.
        let bound = unsafe { self.device.functions().bind_buffer_memory(self.buffer, memory.handle(), 0) };
        bound.map_err(self.device.creating("vkBindBufferMemory", ByteSize::new(self.size)))
    }

    /// The GPU address of the first byte: of a sparse buffer, or of one with memory.
    pub(super) fn address(&self) -> u64 {
        let info = vk::BufferDeviceAddressInfo::default().buffer(self.buffer);
        // SAFETY: the buffer was created for addresses, and is sparse or has memory (condition of the method).
        unsafe { self.device.functions().get_buffer_device_address(&info) }
    }

    /// The value by which a later process requests a sparse buffer at the same address.
    pub(super) fn opaque_address(&self) -> u64 {
        let info = vk::BufferDeviceAddressInfo::default().buffer(self.buffer);
        // SAFETY: the buffer was created for addresses that can be requested again (condition of the method).
        unsafe { self.device.functions().get_buffer_opaque_capture_address(&info) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the buffer is the device's; no submission uses it, since each is waited for by an owner of the buffer.
        unsafe { self.device.functions().destroy_buffer(self.buffer, None) };
        if self.binding.is_sparse() {
            self.device.give_back_sparse(self.size);
        }
    }
}

/// A buffer in memory that the CPU accesses, for copies to and from the GPU.
pub(super) struct StagingBuffer {
    buffer: Buffer,
    memory: Memory,
}

impl StagingBuffer {
    /// Creates a staging buffer in memory of a host-visible type.
    pub(super) fn create(
        device: &Arc<LogicalDevice>,
        size: u64,
        memory_type: u32,
    ) -> Result<Self, DriverError> {
        let buffer = Buffer::create(device, size, Binding::Whole)?;
        let memory = buffer.allocate(memory_type, NORMAL_PRIORITY)?;
        memory.map()?;
        Ok(Self { buffer, memory })
    }

    pub(super) fn handle(&self) -> vk::Buffer {
        self.buffer.handle()
    }

    pub(super) fn size(&self) -> u64 {
        self.buffer.size()
    }

    /// Copies bytes into the buffer.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), DriverError> {
        let target = self.range(offset, bytes.len())?;
        // SAFETY: the range is in the mapped memory, which nothing else accesses: the CPU has the only reference, and
        // the GPU's work with the buffer is done.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), target.as_ptr(), bytes.len()) };
        Ok(())
    }

    /// Copies bytes out of the buffer.
    pub(super) fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), DriverError> {
        let source = self.range(offset, bytes.len())?;
        // SAFETY: as for writing.
        unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    fn range(&self, offset: u64, len: usize) -> Result<NonNull<u8>, DriverError> {
        let requested = ByteSize::from_usize(len);
        let outside = DriverError::HostOutOfMemory { requested };
        let end = offset.checked_add(requested.get()).filter(|&end| end <= self.size()).ok_or(outside)?;
        let offset = usize::try_from(end - requested.get()).map_err(|_| outside)?;
        // SAFETY: the offset is within the buffer, which is within the mapped memory.
        Ok(unsafe { self.memory.map()?.add(offset) })
    }
}

#[cfg(test)]
mod tests;
