//! The memory that an image of the device needs, which decides the sizes and alignments of textures.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use ash::vk;
use heapwright_core::ByteSize;

use super::hardware;
use super::image_format::formats;
use super::logical_device::LogicalDevice;
use crate::ddi::{ResourceAllocation, TextureArgs, TextureDimension, TextureMemoryLayout};

/// The number of descriptions whose requirements are kept. The next one replaces all of them.
const KEPT: usize = 4096;

/// The requirements of the device's images, by their description.
pub(super) struct ImageRequirements {
    device: Arc<LogicalDevice>,
    kept: RwLock<HashMap<ImageDesc, Option<ResourceAllocation>>>,
}

/// An image, as Vulkan describes it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ImageDesc {
    flags: vk::ImageCreateFlags,
    image_type: vk::ImageType,
    format: vk::Format,
    extent: [u32; 3],
    mip_levels: u32,
    array_layers: u32,
    samples: vk::SampleCountFlags,
    usage: vk::ImageUsageFlags,
}

impl ImageRequirements {
    pub(super) fn new(device: &Arc<LogicalDevice>) -> Self {
        Self { device: Arc::clone(device), kept: RwLock::default() }
    }

    /// Returns the size and alignment that the device requires of an image for a texture with `texels` bytes of texels, or `None` if
    /// it has no such image.
    pub(super) fn of_texture(&self, texture: &TextureArgs, texels: ByteSize) -> Option<ResourceAllocation> {
        formats(texture).iter().find_map(|&format| self.of_image(ImageDesc::new(texture, format)?, texels))
    }

    fn of_image(&self, image: ImageDesc, texels: ByteSize) -> Option<ResourceAllocation> {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner).get(&image).copied();
        if let Some(requirements) = kept {
            return requirements;
        }
        let requirements = image.is_supported(&self.device, texels).then(|| image.requirements(&self.device));
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(image, requirements);
        requirements
    }
}

impl ImageDesc {
    /// Describes an image for a texture. Returns `None` if its texels are not arranged as Vulkan chooses.
    fn new(texture: &TextureArgs, format: vk::Format) -> Option<Self> {
        if texture.layout != TextureMemoryLayout::Unknown {
            return None;
        }
        use vk::ImageUsageFlags as Usage;
        let (extent, usage) = (texture.extent, texture.usage);
        let image_type = match texture.dimension {
            TextureDimension::Texture1D => vk::ImageType::TYPE_1D,
            TextureDimension::Texture2D => vk::ImageType::TYPE_2D,
            TextureDimension::Texture3D => vk::ImageType::TYPE_3D,
        };
        // Textures of one description may share their memory and its contents.
        let mut flags = vk::ImageCreateFlags::ALIAS;
        if !texture.format.is_planar() && !usage.depth_stencil {
            flags |= vk::ImageCreateFlags::MUTABLE_FORMAT | vk::ImageCreateFlags::EXTENDED_USAGE;
        }
        let could_be_cube = image_type == vk::ImageType::TYPE_2D
            && extent.width == extent.height
            && texture.array_size >= 6
            && !texture.is_multisampled();
        if could_be_cube {
            flags |= vk::ImageCreateFlags::CUBE_COMPATIBLE;
        }
        if image_type == vk::ImageType::TYPE_3D && usage.render_target {
            flags |= vk::ImageCreateFlags::TYPE_2D_ARRAY_COMPATIBLE;
        }
        let uses = [
            (true, Usage::TRANSFER_SRC | Usage::TRANSFER_DST),
            (!usage.deny_shader_resource, Usage::SAMPLED),
            (usage.unordered_access, Usage::STORAGE),
            (usage.render_target, Usage::COLOR_ATTACHMENT),
            (usage.depth_stencil, Usage::DEPTH_STENCIL_ATTACHMENT),
        ];
        Some(Self {
            flags,
            image_type,
            format,
            extent: [extent.width, extent.height, extent.depth],
            mip_levels: texture.mip_levels,
            array_layers: texture.array_size,
            samples: vk::SampleCountFlags::from_raw(texture.sample_count),
            usage: uses.iter().filter(|(has, _)| *has).fold(Usage::empty(), |all, (_, one)| all | *one),
        })
    }

    fn info(&self) -> vk::ImageCreateInfo<'static> {
        let [width, height, depth] = self.extent;
        vk::ImageCreateInfo::default()
            .flags(self.flags)
            .image_type(self.image_type)
            .format(self.format)
            .extent(vk::Extent3D { width, height, depth })
            .mip_levels(self.mip_levels)
            .array_layers(self.array_layers)
            .samples(self.samples)
            .tiling(vk::ImageTiling::OPTIMAL)
            .usage(self.usage)
            .sharing_mode(vk::SharingMode::EXCLUSIVE)
            .initial_layout(vk::ImageLayout::UNDEFINED)
    }

    /// Returns whether the device can create the image, of `texels` bytes without padding.
    fn is_supported(&self, device: &LogicalDevice, texels: ByteSize) -> bool {
        let info = vk::PhysicalDeviceImageFormatInfo2::default()
            .flags(self.flags)
            .format(self.format)
            .ty(self.image_type)
            .tiling(vk::ImageTiling::OPTIMAL)
            .usage(self.usage);
        let mut limits = vk::ImageFormatProperties2::default();
        let (instance, physical) = (device.instance().functions(), device.hardware().device);
        // SAFETY: the physical device belongs to the instance; the structures outlive the call.
        let supported = unsafe {
            instance.get_physical_device_image_format_properties2(physical, &info, &mut limits).is_ok()
        };
        let limits = limits.image_format_properties;
        let most = limits.max_extent;
        let fits =
            [(self.extent[0], most.width), (self.extent[1], most.height), (self.extent[2], most.depth)]
                .into_iter()
                .chain([
                    (self.mip_levels, limits.max_mip_levels),
                    (self.array_layers, limits.max_array_layers),
                ])
                .all(|(own, most)| own <= most);
        // D3D12 permits more mip levels than the extent has.
        let full_chain = self.extent.iter().max().map_or(0, |largest| u32::BITS - largest.leading_zeros());
        supported
            && fits
            && self.mip_levels <= full_chain
            && texels.get() <= limits.max_resource_size
            && limits.sample_counts.contains(self.samples)
    }

    /// Returns what the device requires of a supported image's memory.
    fn requirements(&self, device: &LogicalDevice) -> ResourceAllocation {
        let info = self.info();
        let request = vk::DeviceImageMemoryRequirements::default().create_info(&info);
        let mut requirements = vk::MemoryRequirements2::default();
        // SAFETY: the device is of version 1.3 and supports the image; the structures outlive the call.
        unsafe { device.functions().get_device_image_memory_requirements(&request, &mut requirements) };
        let requirements = requirements.memory_requirements;
        ResourceAllocation {
            size: ByteSize::new(requirements.size),
            alignment: hardware::alignment(requirements.alignment),
        }
    }
}

#[cfg(test)]
mod tests;
