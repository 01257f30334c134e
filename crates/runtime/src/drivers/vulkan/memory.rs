//! Vulkan's memory as a value that frees itself: an allocation, and one buffer across it.

use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use ash::vk;
use heapwright_core::ByteSize;

use super::hardware::{COPIES, OWN_MEMORY};
use super::logical_device::LogicalDevice;
use crate::ddi::DriverError;

/// The uses of the buffers of heaps: all that D3D12 has without further features.
const USAGE: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::TRANSFER_SRC.as_raw()
        | vk::BufferUsageFlags::TRANSFER_DST.as_raw()
        | vk::BufferUsageFlags::UNIFORM_BUFFER.as_raw()
        | vk::BufferUsageFlags::STORAGE_BUFFER.as_raw()
        | vk::BufferUsageFlags::INDEX_BUFFER.as_raw()
        | vk::BufferUsageFlags::VERTEX_BUFFER.as_raw()
        | vk::BufferUsageFlags::INDIRECT_BUFFER.as_raw(),
);

/// A buffer with memory of its own, both freed when dropped.
///
/// The memory is dedicated to the buffer, which is many times cheaper on some devices than memory that several buffers
/// could share.
pub(super) struct Buffer {
    device: Arc<LogicalDevice>,
    buffer: vk::Buffer,
    /// Null until it is allocated.
    memory: vk::DeviceMemory,
    /// The size of the buffer.
    size: u64,
    /// The address of the first byte in this process, once mapped.
    mapped: OnceLock<usize>,
}

/// A buffer's address on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeviceAddress {
    /// The buffer needs none.
    None,
    /// Any that a later buffer can be created at.
    Any,
    /// This one. Whether the buffer has it, [`Buffer::address`] tells.
    At(u64),
}

impl DeviceAddress {
    /// Returns the uses and flags of a buffer with such an address.
    fn kind(self) -> (vk::BufferUsageFlags, vk::BufferCreateFlags) {
        match self {
            Self::None => (USAGE, vk::BufferCreateFlags::empty()),
            Self::Any | Self::At(_) => (
                USAGE | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS,
                vk::BufferCreateFlags::DEVICE_ADDRESS_CAPTURE_REPLAY,
            ),
        }
    }

    /// Returns the memory that a buffer with such an address needs. O(1), without creating it.
    pub(super) fn requirements(self, device: &LogicalDevice, size: u64) -> vk::MemoryRequirements {
        let (usage, flags) = self.kind();
        let info = vk::BufferCreateInfo::default().size(size).usage(usage).flags(flags);
        let request = vk::DeviceBufferMemoryRequirements::default().create_info(&info);
        let mut requirements = vk::MemoryRequirements2::default();
        // SAFETY: the device is of version 1.3; the structures outlive the call.
        unsafe { device.functions().get_device_buffer_memory_requirements(&request, &mut requirements) };
        requirements.memory_requirements
    }
}

impl Buffer {
    /// Creates a buffer and its memory, of a memory type.
    pub(super) fn create(
        device: &Arc<LogicalDevice>,
        size: u64,
        memory_type: u32,
        priority: f32,
        address: DeviceAddress,
    ) -> Result<Self, DriverError> {
        let (usage, flags) = address.kind();
        let info = vk::BufferCreateInfo::default().size(size).usage(usage).flags(flags);
        let mut created = Self::without_memory(device, &info)?;
        let mut flags = vk::MemoryAllocateFlagsInfo::default();
        let mut opaque = vk::MemoryOpaqueCaptureAddressAllocateInfo::default();
        let mut dedicated = vk::MemoryDedicatedAllocateInfo::default().buffer(created.buffer);
        let mut with_priority = vk::MemoryPriorityAllocateInfoEXT::default().priority(priority);
        let mut info = vk::MemoryAllocateInfo::default()
            .allocation_size(created.requirements().size)
            .memory_type_index(memory_type)
            .push_next(&mut dedicated);
        if address != DeviceAddress::None {
            use vk::MemoryAllocateFlags as Flags;
            flags.flags = Flags::DEVICE_ADDRESS | Flags::DEVICE_ADDRESS_CAPTURE_REPLAY;
            info = info.push_next(&mut flags);
        }
        // What Vulkan calls the opaque address of memory is the address of its buffer on the devices that are asked for
        // one, which was found out when the device was opened.
        if let DeviceAddress::At(at) = address {
            opaque.opaque_capture_address = at;
            info = info.push_next(&mut opaque);
        }
        if device.hardware().extensions.memory_priority {
            info = info.push_next(&mut with_priority);
        }
        // SAFETY: the memory type exists; the size is what the buffer requires; structures outlive the call; features
        // and extensions are enabled where they are used.
        created.memory = unsafe { device.functions().allocate_memory(&info, None) }.map_err(|result| {
            if result == vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS {
                return DriverError::OutOfAddressSpace { requested: ByteSize::new(size) };
            }
            device.creating("vkAllocateMemory", ByteSize::new(size))(result)
        })?;
        created.bind()
    }

    /// Imports memory of this process, for copies. Returns `None` if the driver refuses that. Each error but the loss
    /// of the device counts as a lack of memory, as the memory can be allocated instead.
    ///
    /// # Safety
    ///
    /// The bytes are mapped until the result is dropped, and nothing accesses them that the GPU's work is not ordered
    /// with. Start and size are multiples of the device's alignment for imports.
    pub(super) unsafe fn import(
        device: &Arc<LogicalDevice>,
        start: NonNull<u8>,
        size: u64,
        memory_type: u32,
    ) -> Result<Option<Self>, DriverError> {
        let mut created = Self::importing(device, size)?;
        let requirements = created.requirements();
        let is_usable = requirements.memory_type_bits.checked_shr(memory_type).unwrap_or(0) & 1 != 0;
        if !is_usable || requirements.size > size {
            return Ok(None);
        }
        let mut import = vk::ImportMemoryHostPointerInfoEXT::default()
            .handle_type(OWN_MEMORY)
            .host_pointer(start.as_ptr().cast());
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(size)
            .memory_type_index(memory_type)
            .push_next(&mut import);
        let requested = ByteSize::new(size);
        // SAFETY: the caller's promise; the extension is enabled, as the device has an alignment for imports.
        created.memory = match unsafe { device.functions().allocate_memory(&info, None) } {
            Ok(memory) => memory,
            Err(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE) => return Ok(None),
            Err(lost @ vk::Result::ERROR_DEVICE_LOST) => {
                return Err(device.creating("vkAllocateMemory", requested)(lost));
            }
            Err(_) => return Err(DriverError::HostOutOfMemory { requested }),
        };
        created.bind().map(Some)
    }

    /// Returns the memory types, as bits, that memory of this process can be imported to for copies.
    pub(super) fn import_types(device: &Arc<LogicalDevice>, size: u64) -> Option<u32> {
        Some(Self::importing(device, size).ok()?.requirements().memory_type_bits)
    }

    fn importing(device: &Arc<LogicalDevice>, size: u64) -> Result<Self, DriverError> {
        let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(OWN_MEMORY);
        let info = vk::BufferCreateInfo::default().size(size).usage(COPIES).push_next(&mut external);
        Self::without_memory(device, &info)
    }

    fn without_memory(
        device: &Arc<LogicalDevice>,
        info: &vk::BufferCreateInfo<'_>,
    ) -> Result<Self, DriverError> {
        let requested = ByteSize::new(info.size);
        if info.size > device.hardware().max_buffer {
            return Err(DriverError::OutOfDeviceMemory { requested });
        }
        // SAFETY: the features of the flags are enabled; structures outlive the call.
        let buffer = unsafe { device.functions().create_buffer(info, None) }
            .map_err(device.creating("vkCreateBuffer", requested))?;
        let (memory, mapped) = (vk::DeviceMemory::null(), OnceLock::new());
        Ok(Self { device: Arc::clone(device), buffer, memory, size: info.size, mapped })
    }

    fn requirements(&self) -> vk::MemoryRequirements {
        // SAFETY: the buffer is the device's.
        unsafe { self.device.functions().get_buffer_memory_requirements(self.buffer) }
    }

    fn bind(self) -> Result<Self, DriverError> {
        // SAFETY: buffer and memory are the device's and new; the memory is as large as required and of an allowed
        // type, and its alignment is that of an allocation's start.
        let bound = unsafe { self.device.functions().bind_buffer_memory(self.buffer, self.memory, 0) };
        bound.map_err(self.device.creating("vkBindBufferMemory", ByteSize::new(self.size)))?;
        Ok(self)
    }

    pub(super) fn handle(&self) -> vk::Buffer {
        self.buffer
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// The GPU address of the first byte, of a buffer that was created with an address.
    pub(super) fn address(&self) -> u64 {
        let info = vk::BufferDeviceAddressInfo::default().buffer(self.buffer);
        // SAFETY: the buffer was created for addresses (condition of the method), and has memory.
        unsafe { self.device.functions().get_buffer_device_address(&info) }
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

    /// Copies bytes into the buffer, whose memory is host-visible, and with which the GPU is done.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), DriverError> {
        let target = self.range(offset, bytes.len())?;
        // SAFETY: the range is in the mapped memory, which nothing else accesses: the CPU has the only reference, and
        // the GPU's work with the buffer is done.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), target.as_ptr(), bytes.len()) };
        Ok(())
    }

    /// Copies bytes out of the buffer, under the conditions of [`write`](Self::write).
    pub(super) fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), DriverError> {
        let source = self.range(offset, bytes.len())?;
        // SAFETY: as for writing.
        unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    fn range(&self, offset: u64, len: usize) -> Result<NonNull<u8>, DriverError> {
        let requested = ByteSize::from_usize(len);
        let outside = DriverError::HostOutOfMemory { requested };
        let end = offset.checked_add(requested.get()).filter(|&end| end <= self.size).ok_or(outside)?;
        let offset = usize::try_from(end - requested.get()).map_err(|_| outside)?;
        // SAFETY: the offset is within the buffer, which is within the mapped memory.
        Ok(unsafe { self.map()?.add(offset) })
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: buffer and memory are the device's, or null; no submission uses them, since each is waited for by an
        // owner.
        unsafe {
            self.device.functions().destroy_buffer(self.buffer, None);
            self.device.functions().free_memory(self.memory, None);
        }
    }
}

#[cfg(test)]
mod tests;
