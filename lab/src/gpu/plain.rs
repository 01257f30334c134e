//! Plain Vulkan on the same device, for comparison.

use std::time::{Duration, Instant};

use ash::vk;

use super::Result;

/// A device with one queue.
pub struct Plain {
    entry: Option<ash::Entry>,
    /// The instance.
    pub instance: ash::Instance,
    /// The physical device.
    pub physical: vk::PhysicalDevice,
    /// The device.
    pub device: ash::Device,
    /// The device's name and its driver's.
    pub name: String,
    queue: vk::Queue,
    pool: vk::CommandPool,
}

/// A buffer with its own memory.
pub struct PlainBuffer {
    /// The buffer.
    pub buffer: vk::Buffer,
    memory: vk::DeviceMemory,
}

impl Plain {
    /// Opens the device with an index in the loader's order.
    ///
    /// # Errors
    ///
    /// Returns Vulkan's errors.
    pub fn open(index: usize) -> Result<Self> {
        // SAFETY: plain calls in Vulkan's order; structures outlive the calls; the family exists on every device.
        unsafe {
            let entry = ash::Entry::load()?;
            let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
            let info = vk::InstanceCreateInfo::default().application_info(&application);
            let instance = entry.create_instance(&info, None)?;
            let physical = *instance.enumerate_physical_devices()?.get(index).ok_or("no such device")?;
            let mut driver = vk::PhysicalDeviceDriverProperties::default();
            let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut driver);
            instance.get_physical_device_properties2(physical, &mut properties);
            let version = properties.properties.api_version;
            let name = properties.properties.device_name_as_c_str()?.to_string_lossy().into_owned();
            let name = format!(
                "{name}, Vulkan {}.{}, driver {} {}",
                vk::api_version_major(version),
                vk::api_version_minor(version),
                driver.driver_name_as_c_str()?.to_string_lossy(),
                driver.driver_info_as_c_str()?.to_string_lossy()
            );
            let priorities = [1.0];
            let queues =
                [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&priorities)];
            let device = instance.create_device(
                physical,
                &vk::DeviceCreateInfo::default().queue_create_infos(&queues),
                None,
            )?;
            let queue = device.get_device_queue(0, 0);
            let info = vk::CommandPoolCreateInfo::default();
            let pool = device.create_command_pool(&info, None)?;
            Ok(Self { entry: Some(entry), instance, physical, device, name, queue, pool })
        }
    }

    /// Returns the memory type of the GPU's own memory; where there is none, that which the CPU accesses, too.
    ///
    /// # Errors
    ///
    /// Returns an error if there is neither.
    pub fn local_memory(&self) -> Result<u32> {
        let local = self.memory_type(true, false, false).or_else(|| self.memory_type(true, true, true));
        Ok(local.ok_or("no local memory type")?)
    }

    /// Returns the memory type that has exactly the wanted flags among these three, in the largest heap.
    #[must_use]
    pub fn memory_type(&self, device_local: bool, visible: bool, cached: bool) -> Option<u32> {
        use vk::MemoryPropertyFlags as Flags;
        // SAFETY: the physical device is the instance's.
        let memory = unsafe { self.instance.get_physical_device_memory_properties(self.physical) };
        let heaps = memory.memory_heaps_as_slice().to_vec();
        let types = (0..).zip(memory.memory_types_as_slice().to_vec());
        let fits = |flags: Flags| {
            flags.contains(Flags::DEVICE_LOCAL) == device_local
                && flags.contains(Flags::HOST_VISIBLE | Flags::HOST_COHERENT) == visible
                && flags.contains(Flags::HOST_CACHED) == cached
        };
        types
            .filter(|(_, own)| fits(own.property_flags))
            .max_by_key(|(index, own)| (heaps[own.heap_index as usize].size, std::cmp::Reverse(*index)))
            .map(|(index, _)| index)
    }

    /// Returns the number of bytes that this process uses of the memory heap of a memory type, if the device says that.
    #[must_use]
    pub fn used(&self, memory_type: u32) -> Option<u64> {
        let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
        let mut memory = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
        // SAFETY: the physical device is the instance's. A device without the extension ignores its structure.
        unsafe { self.instance.get_physical_device_memory_properties2(self.physical, &mut memory) };
        let memory = memory.memory_properties;
        let heap = memory.memory_types_as_slice().get(usize::try_from(memory_type).ok()?)?.heap_index;
        let used = budget.heap_usage.get(usize::try_from(heap).ok()?).copied();
        used.filter(|&bytes| bytes > 0)
    }

    /// Creates a buffer with memory of a type.
    ///
    /// # Errors
    ///
    /// Returns Vulkan's errors.
    pub fn buffer(&self, size: u64, memory_type: u32) -> Result<PlainBuffer> {
        let usage = vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
        // SAFETY: plain calls; the memory is as large as required and bound at its start.
        unsafe {
            let buffer =
                self.device.create_buffer(&vk::BufferCreateInfo::default().size(size).usage(usage), None)?;
            let needs = self.device.get_buffer_memory_requirements(buffer);
            let info =
                vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(memory_type);
            let memory = self.device.allocate_memory(&info, None)?;
            self.device.bind_buffer_memory(buffer, memory, 0)?;
            Ok(PlainBuffer { buffer, memory })
        }
    }

    /// Maps a buffer.
    ///
    /// # Errors
    ///
    /// Returns Vulkan's errors.
    pub fn map(&self, buffer: &PlainBuffer) -> Result<*mut u8> {
        // SAFETY: the memory is host-visible and not mapped.
        let start =
            unsafe { self.device.map_memory(buffer.memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()) }?;
        Ok(start.cast())
    }

    /// Destroys a buffer that the GPU does not use.
    pub fn destroy(&self, buffer: PlainBuffer) {
        // SAFETY: copies are waited for, so nothing uses the buffer.
        unsafe {
            self.device.destroy_buffer(buffer.buffer, None);
            self.device.free_memory(buffer.memory, None);
        }
    }

    /// Copies the first `size` bytes `count` times, and returns the time from submission to completion.
    ///
    /// # Errors
    ///
    /// Returns Vulkan's errors.
    pub fn copy(
        &self,
        target: &PlainBuffer,
        source: &PlainBuffer,
        size: u64,
        count: usize,
    ) -> Result<Duration> {
        // SAFETY: the buffers are alive and at least as large; the fence is waited for before anything is destroyed.
        unsafe {
            let info =
                vk::CommandBufferAllocateInfo::default().command_pool(self.pool).command_buffer_count(1);
            let buffers = self.device.allocate_command_buffers(&info)?;
            self.device.begin_command_buffer(buffers[0], &vk::CommandBufferBeginInfo::default())?;
            for _ in 0..count {
                let regions = [vk::BufferCopy { src_offset: 0, dst_offset: 0, size }];
                self.device.cmd_copy_buffer(buffers[0], source.buffer, target.buffer, &regions);
            }
            self.device.end_command_buffer(buffers[0])?;
            let fence = self.device.create_fence(&vk::FenceCreateInfo::default(), None)?;
            let start = Instant::now();
            let submits = [vk::SubmitInfo::default().command_buffers(&buffers)];
            self.device.queue_submit(self.queue, &submits, fence)?;
            self.device.wait_for_fences(&[fence], true, u64::MAX)?;
            let time = start.elapsed();
            self.device.destroy_fence(fence, None);
            self.device.free_command_buffers(self.pool, &buffers);
            Ok(time)
        }
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        // SAFETY: all buffers are destroyed, and nothing is in execution.
        unsafe {
            self.device.destroy_command_pool(self.pool, None);
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
        self.entry = None;
    }
}
