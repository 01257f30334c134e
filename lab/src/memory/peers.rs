//! VMA and gpu-allocator, through their Vulkan paths, with their defaults.

use ash::vk::{self, Handle as _};
use gpu_allocator::MemoryLocation;
use gpu_allocator::vulkan::{AllocationCreateDesc, AllocationScheme, AllocatorCreateDesc};
use heapwright_core::ByteSize;
use vk_mem::Alloc as _;

use super::allocators::{Failed, MemoryAllocator};
use super::meter::DeviceCall;
use super::prices::Prices;
use super::vulkan_device::VulkanDevice;

fn buffer_info(size: ByteSize) -> vk::BufferCreateInfo<'static> {
    vk::BufferCreateInfo::default().size(size.get()).usage(vk::BufferUsageFlags::STORAGE_BUFFER)
}

/// VMA 3, by vk-mem. `vmaCreateBuffer` with `VMA_MEMORY_USAGE_AUTO_PREFER_DEVICE`. With `BLOCK_MIB`, blocks have so
/// many MiB instead of VMA's default.
pub struct Vma<const BLOCK_MIB: u64 = 0> {
    /// Declared, and therefore dropped, before the device.
    allocator: vk_mem::Allocator,
    device: VulkanDevice,
}

impl<const BLOCK_MIB: u64> MemoryAllocator for Vma<BLOCK_MIB> {
    type Buffer = (vk::Buffer, vk_mem::Allocation);

    fn new(_prices: &Prices) -> Result<Self, Failed> {
        let device = VulkanDevice::open();
        let mut info =
            vk_mem::AllocatorCreateInfo::new(&device.instance, &device.device, device.physical_device);
        info.vulkan_api_version = vk::API_VERSION_1_3;
        // 0 is VMA's default.
        info.preferred_large_heap_block_size = BLOCK_MIB << 20;
        // SAFETY: the device outlives the allocator, since the fields are dropped in this order.
        let allocator = unsafe { vk_mem::Allocator::new(info) }.map_err(Failed::new)?;
        Ok(Self { allocator, device })
    }

    fn allocate(&mut self, size: ByteSize) -> Result<Self::Buffer, Failed> {
        let info = vk_mem::AllocationCreateInfo {
            usage: vk_mem::MemoryUsage::AutoPreferDevice,
            ..Default::default()
        };
        // SAFETY: the description of the buffer is valid, and the device is alive.
        unsafe { self.allocator.create_buffer(&buffer_info(size), &info) }.map_err(Failed::new)
    }

    fn free(&mut self, (buffer, mut allocation): Self::Buffer) -> Result<(), Failed> {
        // SAFETY: both belong together, and nothing uses them.
        unsafe { self.allocator.destroy_buffer(buffer, &mut allocation) };
        Ok(())
    }

    fn take_calls(&mut self, calls: &mut Vec<DeviceCall>) {
        self.device.take_calls(calls);
    }
}

/// gpu-allocator, with a buffer, its requirements, an allocation and binding, as its documentation shows.
pub struct GpuAllocator {
    /// Declared, and therefore dropped, before the device.
    allocator: gpu_allocator::vulkan::Allocator,
    device: VulkanDevice,
}

impl MemoryAllocator for GpuAllocator {
    type Buffer = (vk::Buffer, gpu_allocator::vulkan::Allocation);

    fn new(_prices: &Prices) -> Result<Self, Failed> {
        let device = VulkanDevice::open();
        let allocator = gpu_allocator::vulkan::Allocator::new(&AllocatorCreateDesc {
            instance: device.instance.clone(),
            device: device.device.clone(),
            physical_device: device.physical_device,
            debug_settings: Default::default(),
            buffer_device_address: false,
            allocation_sizes: Default::default(),
        });
        Ok(Self { allocator: allocator.map_err(Failed::new)?, device })
    }

    fn allocate(&mut self, size: ByteSize) -> Result<Self::Buffer, Failed> {
        let device = &self.device.device;
        // SAFETY: the description of the buffer is valid, and the device is alive.
        let buffer = unsafe { device.create_buffer(&buffer_info(size), None) }.map_err(Failed::new)?;
        // SAFETY: the buffer was just created.
        let requirements = unsafe { device.get_buffer_memory_requirements(buffer) };
        let allocation = self.allocator.allocate(&AllocationCreateDesc {
            name: "buffer",
            requirements,
            location: MemoryLocation::GpuOnly,
            linear: true,
            allocation_scheme: AllocationScheme::GpuAllocatorManaged,
        });
        let allocation = allocation.map_err(Failed::new)?;
        // SAFETY: the allocation was made for the buffer's requirements.
        let memory = unsafe { allocation.memory() };
        debug_assert!(!memory.is_null());
        // SAFETY: the buffer is not bound, and the range of the memory fits it.
        unsafe { device.bind_buffer_memory(buffer, memory, allocation.offset()) }.map_err(Failed::new)?;
        Ok((buffer, allocation))
    }

    fn free(&mut self, (buffer, allocation): Self::Buffer) -> Result<(), Failed> {
        // SAFETY: nothing uses the buffer.
        unsafe { self.device.device.destroy_buffer(buffer, None) };
        self.allocator.free(allocation).map_err(Failed::new)
    }

    fn take_calls(&mut self, calls: &mut Vec<DeviceCall>) {
        self.device.take_calls(calls);
    }
}
