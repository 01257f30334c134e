//! A physical device: what the driver needs to know of it.

use std::ffi::CStr;

use ash::vk;
use heapwright_core::{Alignment, ByteSize};

use super::error::VulkanError;
use super::memory_types::MemoryTypes;

/// The uses of the buffers of memory that is imported.
pub(super) const COPIES: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::TRANSFER_SRC.as_raw() | vk::BufferUsageFlags::TRANSFER_DST.as_raw(),
);

/// Memory of this process, which is imported.
pub(super) const OWN_MEMORY: vk::ExternalMemoryHandleTypeFlags =
    vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;

/// A physical device.
#[derive(Clone)]
pub(super) struct Hardware {
    pub(super) device: vk::PhysicalDevice,
    pub(super) name: String,
    pub(super) vendor_id: u32,
    pub(super) device_id: u32,
    api_version: u32,
    kind: vk::PhysicalDeviceType,
    pub(super) memory: vk::PhysicalDeviceMemoryProperties,
    /// A queue family that copies, and the number of its queues.
    pub(super) queue_family: Option<(u32, u32)>,
    pub(super) extensions: Extensions,
    has_timeline: bool,
    has_maintenance4: bool,
    has_synchronization2: bool,
    /// Whether images can have block-compressed formats.
    pub(super) has_block_compression: bool,
    /// Whether buffers can be created at addresses of earlier ones.
    pub(super) has_capture_replay: bool,
    /// The alignment of memory of this process that can be imported for copies, if any can.
    pub(super) import_alignment: Option<u64>,
    /// Largest size of a buffer.
    pub(super) max_buffer: u64,
}

/// Optional extensions of a physical device.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extensions {
    pub(super) memory_budget: bool,
    pub(super) memory_priority: bool,
    pub(super) pageable_device_local_memory: bool,
}

impl Hardware {
    /// Describes a physical device.
    pub(super) fn query(instance: &ash::Instance, device: vk::PhysicalDevice) -> Self {
        let mut maintenance4 = vk::PhysicalDeviceMaintenance4Properties::default();
        // SAFETY: the physical device belongs to the instance; this call exists in every version.
        let basic = unsafe { instance.get_physical_device_properties(device) };
        let is_new_enough = basic.api_version >= vk::API_VERSION_1_3;
        let mut properties = vk::PhysicalDeviceProperties2::default();
        let mut vulkan12 = vk::PhysicalDeviceVulkan12Features::default();
        let mut vulkan13 = vk::PhysicalDeviceVulkan13Features::default();
        let mut features = vk::PhysicalDeviceFeatures2::default();
        if is_new_enough {
            properties = properties.push_next(&mut maintenance4);
            features = features.push_next(&mut vulkan12).push_next(&mut vulkan13);
        }
        // SAFETY: the instance is of version 1.3; the structures are those of the device's version.
        let (memory, families, names) = unsafe {
            if basic.api_version >= vk::API_VERSION_1_1 {
                instance.get_physical_device_properties2(device, &mut properties);
                instance.get_physical_device_features2(device, &mut features);
            }
            (
                instance.get_physical_device_memory_properties(device),
                instance.get_physical_device_queue_family_properties(device),
                // A device that cannot list its extensions is used without any.
                instance.enumerate_device_extension_properties(device).unwrap_or_default(),
            )
        };
        let has = |name: &CStr| {
            names.iter().any(|extension| extension.extension_name_as_c_str().is_ok_and(|own| own == name))
        };
        let has_block_compression = features.features.texture_compression_bc == vk::TRUE;
        Self {
            device,
            name: basic.device_name_as_c_str().map_or_else(
                |_| "a device without a name".to_owned(),
                |name| name.to_string_lossy().into_owned(),
            ),
            vendor_id: basic.vendor_id,
            device_id: basic.device_id,
            api_version: basic.api_version,
            kind: basic.device_type,
            memory,
            queue_family: queue_family(&families),
            extensions: Extensions {
                memory_budget: has(ash::ext::memory_budget::NAME),
                memory_priority: has(ash::ext::memory_priority::NAME),
                pageable_device_local_memory: has(ash::ext::memory_priority::NAME)
                    && has(ash::ext::pageable_device_local_memory::NAME),
            },
            has_timeline: vulkan12.timeline_semaphore == vk::TRUE,
            has_maintenance4: vulkan13.maintenance4 == vk::TRUE,
            has_synchronization2: vulkan13.synchronization2 == vk::TRUE,
            has_block_compression,
            has_capture_replay: vulkan12.buffer_device_address == vk::TRUE
                && vulkan12.buffer_device_address_capture_replay == vk::TRUE,
            import_alignment: (is_new_enough && has(ash::ext::external_memory_host::NAME))
                .then(|| import_alignment(instance, device))
                .flatten(),
            max_buffer: if maintenance4.max_buffer_size == 0 {
                u64::MAX
            } else {
                maintenance4.max_buffer_size
            },
        }
    }

    /// Checks that the driver can use the device.
    pub(super) fn check(&self) -> Result<(), VulkanError> {
        let needs = [
            (self.api_version >= vk::API_VERSION_1_3, "Vulkan 1.3"),
            (self.queue_family.is_some(), "a queue that can copy"),
            (self.has_timeline, "the feature timelineSemaphore"),
            (self.has_maintenance4, "the feature maintenance4"),
            (self.has_synchronization2, "the feature synchronization2"),
            (
                MemoryTypes::of(&self.memory, self.is_uma(), u32::MAX).is_some(),
                "memory that the CPU can access",
            ),
        ];
        match needs.into_iter().find(|(has, _)| !has) {
            None => Ok(()),
            Some((_, missing)) => Err(VulkanError::Unsuitable { name: self.name.clone(), missing }),
        }
    }

    /// Returns whether CPU and GPU share one memory.
    pub(super) fn is_uma(&self) -> bool {
        matches!(self.kind, vk::PhysicalDeviceType::INTEGRATED_GPU | vk::PhysicalDeviceType::CPU)
            || self
                .memory
                .memory_heaps_as_slice()
                .iter()
                .all(|heap| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL))
    }

    /// Returns the version of Vulkan that the device supports, as text.
    pub(super) fn version(&self) -> String {
        let version = self.api_version;
        format!("{}.{}", vk::api_version_major(version), vk::api_version_minor(version))
    }
}

/// The size of a memory heap.
pub(super) fn heap_size(memory: &vk::PhysicalDeviceMemoryProperties, heap: usize) -> ByteSize {
    ByteSize::new(memory.memory_heaps_as_slice().get(heap).map_or(0, |heap| heap.size))
}

/// Returns the alignment of memory of this process that can be imported for copies by a device that has the extension
/// for that, and Vulkan 1.1 or later.
fn import_alignment(instance: &ash::Instance, device: vk::PhysicalDevice) -> Option<u64> {
    use vk::ExternalMemoryFeatureFlags as Features;
    let mut own = vk::PhysicalDeviceExternalMemoryHostPropertiesEXT::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut own);
    let info = vk::PhysicalDeviceExternalBufferInfo::default().usage(COPIES).handle_type(OWN_MEMORY);
    let mut buffers = vk::ExternalBufferProperties::default();
    // SAFETY: the physical device belongs to the instance, and has the version and the extension that the functions and
    // structures belong to (condition of the function).
    unsafe {
        instance.get_physical_device_properties2(device, &mut properties);
        instance.get_physical_device_external_buffer_properties(device, &info, &mut buffers);
    }
    let features = buffers.external_memory_properties.external_memory_features;
    let can = features.contains(Features::IMPORTABLE) && !features.contains(Features::DEDICATED_ONLY);
    Some(own.min_imported_host_pointer_alignment).filter(|alignment| can && alignment.is_power_of_two())
}

/// Chooses a queue family that can copy. Returns its index and the number of its queues.
fn queue_family(families: &[vk::QueueFamilyProperties]) -> Option<(u32, u32)> {
    use vk::QueueFlags as Flags;
    let copies = |flags: Flags| flags.intersects(Flags::TRANSFER | Flags::GRAPHICS | Flags::COMPUTE);
    let usable =
        (0..).zip(families).filter(|(_, family)| family.queue_count > 0 && copies(family.queue_flags));
    let best = usable.max_by_key(|(index, family)| {
        (family.queue_flags.contains(Flags::GRAPHICS), family.queue_count, std::cmp::Reverse(*index))
    });
    best.map(|(index, family)| (index, family.queue_count))
}

/// Returns the alignment, or 1 for what is no power of two.
pub(super) fn alignment(bytes: u64) -> Alignment {
    Alignment::new(bytes).unwrap_or(Alignment::ONE)
}
